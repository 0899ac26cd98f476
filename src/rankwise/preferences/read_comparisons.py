"""Comparisons from tables with one row per comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from rankwise.checks.rows import check_weight
from rankwise.datasets.column_names import (
    FIRST_ITEM_NAMES,
    SECOND_ITEM_NAMES,
    WINNER_NAMES,
)
from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES
from rankwise.preferences.comparisons import Comparisons
from rankwise.preferences.item_codes import code_clusters, code_items
from rankwise.preferences.outcome_words import are_numbers, code_outcomes
from rankwise.preferences.preference_tables import PreferenceTable, name_file_of

Covariate = str | tuple[str, str]


def read_comparisons(
    source: Any,
    *,
    item_a: str | None = None,
    item_b: str | None = None,
    winner: str | None = None,
    covariates: Sequence[Covariate] = (),
    clusters: Sequence[str] = (),
    sample_weight: str | Literal[False] | None = None,
    sep: str | None = None,
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> Comparisons:
    """Read comparisons of two items from a file or a frame with one row per comparison.

    Parameters
    ----------
    source : path or frame
        CSV, TSV, Parquet or JSON-lines file (FastChat's votes), plain or compressed, or a frame of
        pandas, Polars or Arrow.
    item_a, item_b : str, optional
        Columns of the first and the second item (default: item_a, model_a, a, first, left, home,
        player1 and the like; and item_b and so on).
    winner : str, optional
        Column of outcomes (default: winner, preferred, preference, outcome or result). A value is
        the name of an item of the row, "first" or "second" (also "a", "b", "left", "right",
        "model_a", "model_b" or the names of the two columns), "tie" (also "draw", "both",
        "neither", "tie (bothbad)"), "True" if the first item won or "False", or a number: 1 if the
        first item won, 0.5 or 0.
    covariates : sequence of str or (str, str), optional
        Columns of advantages of the first item, or pairs of columns whose difference, first minus
        second, is one: ("length_a", "length_b").
    clusters : sequence of str, optional
        Columns of annotators, prompts and the like.
    sample_weight : str or False, optional
        Column of weights (default, if present: sample_weight or weight); False: no weights.
    sep : str of length 1, optional
        Column separator of text files (default: from the suffix).
    max_decompressed_bytes : int >= 1
        Maximum size of the decompressed text, in bytes; by default 16 GiB, and at most 200 times
        the file if it is more than 64 MiB.

    Returns
    -------
    Comparisons
        Ids are text, as written. Rows of weight 0 are left out. Other columns are not read.

    Raises
    ------
    ValueError
        If a column is missing, a value is missing or is no outcome, or an item is compared with
        itself. The message names the row, or file and line.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankwise.preferences import read_comparisons
    >>> votes = pd.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "z"],
    ...                       "winner": ["model_a", "tie"], "judge": ["ann", "bob"]})
    >>> games = read_comparisons(votes, clusters=["judge"])
    >>> games.items.tolist(), games.outcome.tolist(), games.cluster_names
    (['x', 'y', 'z'], [0, 1], ('judge',))
    """
    named = (item_a, item_b, winner, sample_weight)
    with name_file_of(source):
        table = PreferenceTable.of(source, sep=sep, max_decompressed_bytes=max_decompressed_bytes)
        return _read_table(table, named, covariates, list(clusters))


def _read_table(
    table: PreferenceTable,
    named: tuple[str | None, str | None, str | None, str | Literal[False] | None],
    covariates: Sequence[Covariate],
    clusters: list[str],
) -> Comparisons:
    item_a, item_b, winner, sample_weight = named
    columns = (
        table.find("first item", item_a, FIRST_ITEM_NAMES),
        table.find("second item", item_b, SECOND_ITEM_NAMES),
    )
    outcomes = table.find("winner", winner, WINNER_NAMES)
    parts = [(name,) if isinstance(name, str) else tuple(name) for name in covariates]
    used = [name for part in parts for name in part]
    weights = table.find_weight(sample_weight, [*used, *clusters])
    table.check("covariates", used)
    table.check("clusters", clusters)
    first, second, items = code_items(
        (table.values(columns[0]), table.values(columns[1])), "items", table.where
    )
    results = table.values(outcomes)
    outcome = code_outcomes(
        results, first, second, items, numbers=are_numbers(results, items), sides=columns,
        where=table.where,
    )  # fmt: skip
    n = len(first)
    weight = np.ones(n) if weights is None else check_weight(table.numbers("weight", weights), n)
    Z = np.zeros((n, len(parts)))
    for column, part in enumerate(parts):
        numbers = [table.numbers("covariates", name) for name in part]
        Z[:, column] = numbers[0] if len(numbers) == 1 else numbers[0] - numbers[1]
    codes = np.zeros((n, len(clusters)), dtype=np.int64)
    for column, name in enumerate(clusters):
        codes[:, column] = code_clusters(table.values(name), f"clusters {name!r}", table.where)
    names = tuple(" - ".join(part) for part in parts)
    made = Comparisons(items, first, second, outcome, weight, Z, names, codes, tuple(clusters))
    return made.checked(table.where)
