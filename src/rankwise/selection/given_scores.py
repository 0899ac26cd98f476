"""Contestants that learn nothing: scores that a system gave already."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.trec import Run
from rankwise.datasets.readers.trec_ids import string_codes
from rankwise.typing import Float64Array

COLUMN = "column:"


class RowScores(NamedTuple):
    """Scores of judged rows; ``retrieved`` False where the system gave none, None: nowhere."""

    scores: Float64Array
    retrieved: NDArray[np.bool_] | None
    note: str = ""


@runtime_checkable
class GivenScores(Protocol):
    """Scores by what identifies a row."""

    def of(self, data: RankingData) -> RowScores:
        """Scores of the rows of a test part."""
        ...

    def describe(self) -> str:
        """Where the scores come from, for the record."""
        ...


@dataclass(frozen=True, eq=False)
class RunScores:
    """Scores of a TREC run, by query and document id.

    A judged row that the run did not retrieve is never found, as trec_eval has it.
    """

    run: Run

    def of(self, data: RankingData) -> RowScores:
        """Scores of the rows of a test part.

        Raises
        ------
        ValueError
            When the data have no document ids, or no row of them is in the run.
        """
        if data.doc_ids is None:
            raise ValueError(
                f"a run ({self.run.tag}) needs document ids, and the data have none. Give every "
                "row its id: a comment '#docid = …' in LETOR text, a column doc_id of a table."
            )
        (of_run, of_rows), n_queries = string_codes(self.run.qid, data.qid.astype(str))
        (in_run, in_rows), _ = string_codes(self.run.doc_ids, data.doc_ids.astype(str))
        run_keys, keys = of_run + in_run * n_queries, of_rows + in_rows * n_queries
        order = np.argsort(run_keys, kind="stable")
        place = np.minimum(np.searchsorted(run_keys[order], keys), max(len(order) - 1, 0))
        entry = order[place] if len(order) else np.zeros(len(keys), dtype=np.int64)
        retrieved = run_keys[entry] == keys if len(order) else np.zeros(len(keys), dtype=bool)
        if not retrieved.any():
            raise ValueError(
                f"the run ({self.run.tag}) has none of the {len(keys)} test rows: its first entry "
                f"is query {self.run.qid[:1].tolist()}, document {self.run.doc_ids[:1].tolist()}; "
                f"the first row is query {str(data.qid[0])!r}, document {str(data.doc_ids[0])!r}."
            )
        if retrieved.all():
            return RowScores(self.run.scores[entry], None)
        missing = int((~retrieved).sum())
        note = f"{missing} of {len(keys)} test rows are not in the run and count as never found"
        return RowScores(np.where(retrieved, self.run.scores[entry], -np.inf), retrieved, note)

    def describe(self) -> str:
        """The tag and size of the run."""
        return f"run {self.run.tag} of {len(self.run)} entries"


@dataclass(frozen=True)
class ColumnScores:
    """A feature of the data as the score: by its name, or its number in LETOR text, from 1."""

    name: str

    def of(self, data: RankingData) -> RowScores:
        """Scores of the rows of a test part.

        Raises
        ------
        ValueError
            When there is no such feature, or it has missing values.
        """
        names = data.feature_names or [str(number + 1) for number in range(data.n_features)]
        if self.name not in names:
            near = get_close_matches(self.name, names, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"There are {len(names)} features."
            raise ValueError(f"{COLUMN}{self.name} must name a feature of the data. {hint}")
        values = data.X[:, [names.index(self.name)]]
        dense = values if isinstance(values, np.ndarray) else values.toarray()
        scores = dense[:, 0].astype(np.float64)
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores)))
            raise ValueError(
                f"{COLUMN}{self.name} must hold a finite score in every row, got {scores[row]} at "
                f"test row {row}."
            )
        return RowScores(scores, None)

    def describe(self) -> str:
        """The name of the column."""
        return f"column {self.name} of the data"
