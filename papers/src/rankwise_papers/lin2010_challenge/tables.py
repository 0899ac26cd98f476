"""The report's tables with columns for the open sets beside the published one."""

from __future__ import annotations

from collections.abc import Sequence

from rankwise.experiments import Experiment, Results, ResultTable, Value
from rankwise_papers.lin2010_challenge.chosen_tables import Chosen, mean_over_folds
from rankwise_papers.lin2010_challenge.order_tables import (
    minutes_table,
    order_table,
    penalty_table,
)
from rankwise_papers.lin2010_challenge.plan import (
    CF_LETOR,
    COSTS,
    DEGREES,
    ROUNDS,
    WEIGHTS,
    Extent,
)
from rankwise_papers.lin2010_challenge.value_tables import (
    SCHEMES,
    TITLES,
    YAHOO,
    Published,
    paper_only,
    read_published_rows,
    values_on_sets,
    yahoo,
)
from rankwise_papers.shared_tables import ABSENT

_SPREAD = "standard deviation over folds"
# Published weights stand beside ours on the sets that have the challenge's five grades.
_FIVE_GRADES = ("mslr-slices", CF_LETOR)


def tables(experiment: Experiment, results: Results, extent: Extent) -> Sequence[ResultTable]:
    """All tables, with columns for the data sets of the extent."""
    published = read_published_rows(experiment)
    sets = {data: Chosen(results, data, extent) for data in extent.folds}
    return [
        _online(sets, published),
        _terms(sets, published),
        _degrees(sets, published),
        *(_weights(data, chosen, published) for data, chosen in sets.items()),
        order_table(sets, published),
        minutes_table(sets, published),
        penalty_table(sets),
    ]


def _online(sets: dict[str, Chosen], published: Published) -> ResultTable:
    rows = {
        "ORSVM": ("ORSVM, C by validation", "orsvm/err"),
        "ORSVM small": ("ORSVM, C by small sets", "orsvm/small"),
        "ORSVM absolute": ("ORSVM, absolute costs", "orsvm/absolute"),
        "Poly-ORSVM": ("Poly-ORSVM, best degree", "powers/err"),
        "Poly-ORSVM absolute": ("Poly-ORSVM, absolute costs", "powers/absolute"),
        "ORBoost": ("ORBoost-All, best weights", "orboost"),
        "ridge": ("ridge regression", "ridge"),
    }
    values = []
    for name, (label, method) in rows.items():
        row = published.get(("online", name, "online"))
        values += yahoo(label, row, ("ERR", "nDCG@10"))
        values += values_on_sets(sets, label, method, (("test", "ERR"), ("test", "nDCG")))
    return _table(
        "online",
        "Ordinal methods of the table of online results (ours: test parts)",
        values,
        "Every setting (C, degree, weights and rounds) is chosen by ERR on the validation part; "
        "by small sets: C of the largest mean ERR on the validation part over models of 100 small "
        "sets (20 on CF-LETOR, fewer in a quick run), then fitted on the whole training part. "
        "Costs are ERR-oriented unless absolute is said. Ridge regression on the grades is no part "
        "of the report.",
    )


def _terms(sets: dict[str, Chosen], published: Published) -> ResultTable:
    table, split = "Poly-ORSVM terms", "internal validation"
    rows = {
        "features alone": ("powers1", None),
        "random terms": ("cross", published[table, "random terms C=1", split]),
        "non-cross terms": ("powers2", published[table, "non-cross terms C=0.01", split]),
    }
    values = []
    for costs in COSTS:
        for name, (method, row) in rows.items():
            label, row = (name, row) if costs == "err" else (f"{name}, absolute costs", None)
            values += yahoo(label, row, ("validation ERR",))
            values += values_on_sets(
                sets, label, f"{method}/{costs}", (("vali", "ERR"), ("test", "ERR"))
            )
    return _table(
        "poly-terms",
        "Poly-ORSVM terms: squares against as many random products of two features",
        values,
        "Random terms: mean over draws (three, one in a quick run), each with its own C. Published "
        "with C = 1 for random terms (0.4467 with C = 0.1) and 0.01 for non-cross terms.",
    )


def _degrees(sets: dict[str, Chosen], published: Published) -> ResultTable:
    found = {
        setting.partition(" C=")[0]: row
        for (table, setting, _), row in published.items()
        if table == "Poly-ORSVM degree"
    }
    values = []
    wanted = (("vali", "ERR"), ("test", "ERR"), ("test", "nDCG"))
    for costs in COSTS:
        for degree in DEGREES:
            name = f"degree {degree}"
            label = name if costs == "err" else f"{name}, absolute costs"
            row = found[name] if costs == "err" else None
            values += yahoo(label, row, ("ERR", "nDCG@10"))
            values += values_on_sets(sets, label, f"powers{degree}/{costs}", wanted)
    return _table(
        "poly-degree",
        "Poly-ORSVM degree: powers of every feature up to that degree",
        values,
        "C chosen by ERR on the validation part. Published: online; the text at hand does not say "
        "with which costs.",
    )


def _weights(data: str, chosen: Chosen, published: Published) -> ResultTable:
    values = []
    splits = {"training": "train", "internal validation": "vali", "online": "test"}
    shown = {"train": "training", "vali": "validation", "test": "test (online)"}
    for rounds in ROUNDS:
        for weight in WEIGHTS:
            label = f"{SCHEMES[weight]}, T={rounds}"
            found = chosen.rounds(weight, rounds)
            for part in splits.values():
                for measure in ("ERR", "nDCG"):
                    mean, spread = mean_over_folds(found, part, measure)
                    column = f"{shown[part]} {measure}"
                    note = "" if found is not None else ABSENT
                    values.append(Value(label, column, mean, spread, note=note))
    for (table, setting, _), row in published.items():
        if table == "ORBoost weights" and data in _FIVE_GRADES:
            part = shown[splits[row["split"]]]
            for measure, name in (("ERR", "err"), ("nDCG", "ndcg")):
                values.append(paper_only(f"{YAHOO} {setting}", f"{part} {measure}", row[name]))
    return _table(
        f"orboost-weights-{data}",
        f"ORBoost-All with stumps under row weights, {TITLES[data]}",
        values,
        "The text at hand describes w1 only; query, both and gain are our readings of \"emphasize "
        "high-rank instances and balance the influence of queries\".",
    )  # fmt: skip


def _table(name: str, title: str, values: Sequence[Value], caption: str) -> ResultTable:
    return ResultTable(name, title, values, caption, _SPREAD)
