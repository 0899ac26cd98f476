"""Values of the tables: ours on the open sets, the report's in columns of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankwise.experiments import Experiment, Value
from rankwise_papers.lin2010_challenge.chosen_tables import Chosen, mean_difference, mean_over_folds
from rankwise_papers.lin2010_challenge.plan import CF_LETOR
from rankwise_papers.shared_tables import ABSENT

Published = dict[tuple[str, str, str], dict[str, str]]
TITLES = {
    "mq2008": "MQ2008", "ohsumed": "OHSUMED", "lambdarank": "lambdarank",
    "mslr-slices": "MSLR slices", "yahoo-ltrc-1": "Yahoo! sample", CF_LETOR: "CF-LETOR",
}  # fmt: skip
YAHOO = "Yahoo!"
CLOSED = (
    "Yahoo!'s set of the challenge is closed, its terms forbid to pass it on: no value of ours is "
    "on the same rows."
)
OTHER_DATA = (
    "The published difference is that of two values on Yahoo!'s closed set; what can be compared "
    "is its sign."
)
DIGIT = 0.5e-4
SCHEMES = {
    "none": "no weights",
    "rank": "by rank, y + 1 (w1)",
    "query": "by query, 1 / m_q",
    "rank_query": "by both, (y + 1) / m_q",
    "gain": "by gain, 2^y",
}


def read_published_rows(experiment: Experiment) -> Published:
    """Rows of the report by table, setting (of the online results: method) and split."""
    found: Published = {}
    for row in experiment.published("published.csv"):
        table = row["source_table"]
        setting = row["method"] if table == "online" else row["setting"]
        found[table, setting, row["split"]] = row
    return found


def values_on_sets(
    sets: Mapping[str, Chosen],
    label: str,
    method: str,
    wanted: Sequence[tuple[str, str]],
    absent: str = ABSENT,
) -> list[Value]:
    """A method's values on every set: mean and spread over folds, or why there are none."""
    shown = {"ERR": "ERR", "nDCG": "nDCG@10"}
    only_test = all(part == "test" for part, _ in wanted)
    names = {"train": "training ", "vali": "validation ", "test": "" if only_test else "test "}
    values = []
    for data, chosen in sets.items():
        found = chosen.at(method)
        for part, measure in wanted:
            mean, spread = mean_over_folds(found, part, measure)
            column = f"{TITLES[data]} {names[part]}{shown[measure]}"
            values.append(Value(label, column, mean, spread, note="" if found else absent))
    return values


def difference(
    label: str,
    column: str,
    pair: tuple[Any, Any],
    paper: float | None,
    absent: str = ABSENT,
    source: str = "differences of Tables 3, 4 and 7",
) -> Value:
    """Paired difference in test ERR beside the difference of two published values."""
    mean, error = mean_difference(*pair)
    return Value(
        label, column, mean, error, paper, source=source,
        tolerance=None if paper is None else DIGIT,
        not_evidence="" if paper is None else OTHER_DATA,
        note="" if mean is not None else absent,
    )  # fmt: skip


def yahoo(label: str, row: dict[str, str] | None, names: Sequence[str]) -> list[Value]:
    """Published values in separate columns, if there are any."""
    published = {name: row["ndcg" if name.startswith("nDCG") else "err"] for name in names if row}
    return [paper_only(label, f"{YAHOO} {name}", value) for name, value in published.items()]


def paper_only(label: str, column: str, published: str) -> Value:
    return Value(
        label, column, paper=float(published), tolerance=DIGIT, source="report", note=CLOSED
    )
