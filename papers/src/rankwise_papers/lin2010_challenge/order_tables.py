"""Which setting is ahead, what it costs, and which C were chosen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rankwise.experiments import ResultTable, Value
from rankwise_papers.lin2010_challenge.chosen_tables import Chosen
from rankwise_papers.lin2010_challenge.plan import DEGREES, ROUNDS, WEIGHTS
from rankwise_papers.lin2010_challenge.value_tables import (
    SCHEMES,
    TITLES,
    YAHOO,
    Published,
    difference,
    paper_only,
)
from rankwise_papers.shared_tables import ABSENT


def order_table(sets: dict[str, Chosen], published: Published) -> ResultTable:
    """Differences in ERR of pairs of settings, ours with their paired error."""

    values = []
    for label, a, b, paper in _claims(published):
        for data, chosen in sets.items():
            pair = (chosen.at(a), chosen.at(b))
            values.append(difference(label, TITLES[data], pair, paper))
    for weight in WEIGHTS[1:]:
        for data, chosen in sets.items():
            pair = (chosen.rounds(weight, 1000), chosen.rounds("none", 1000))
            label = f"{SCHEMES[weight]}, minus no weights, T=1000"
            values.append(difference(label, TITLES[data], pair, None))
    for more, fewer in ((1000, 100), (5000, 1000)):
        for data, chosen in sets.items():
            pair = (chosen.rounds("rank", more), chosen.rounds("rank", fewer))
            values.append(difference(f"w1, T={more} minus T={fewer}", TITLES[data], pair, None))
    return ResultTable(
        "order",
        "Which setting is ahead: differences in test ERR",
        values,
        "Positive: the first of the two has the larger ERR. Over the queries of all test parts, "
        "paired. Settings are chosen as in the tables above.",
        error_is="standard error of the mean over queries",
    )


def _claims(published: Published) -> list[tuple[str, str, str, float | None]]:
    """Label, the two methods, and the published difference if there is one."""

    def err(table: str, setting: str) -> float:
        return float(published[table, setting, "online"]["err"])

    degree = {
        k: err("Poly-ORSVM degree", f"degree {k} C={C}")
        for k, C in zip(DEGREES, ("0.1", "0.01", "0.001", "0.001"), strict=True)
    }
    methods = {"ORSVM": "orsvm/err", "Poly-ORSVM": "powers/err", "ORBoost": "orboost"}
    claims: list[tuple[str, str, str, float | None]] = [
        (f"{a} minus {b}", methods[a], methods[b], err("online", a) - err("online", b))
        for a, b in (("ORSVM", "Poly-ORSVM"), ("ORSVM", "ORBoost"), ("ORBoost", "Poly-ORSVM"))
    ]
    for costs, suffix in (("err", ""), ("absolute", ", absolute costs")):
        claims += [
            (
                f"degree {k} minus {j}{suffix}", f"powers{k}/{costs}", f"powers{j}/{costs}",
                None if suffix else degree[k] - degree[j],
            )
            for k, j in ((2, 1), (3, 2), (4, 3), (4, 1))
        ]  # fmt: skip
        claims.append(
            (f"non-cross minus random terms{suffix}", f"powers2/{costs}", f"cross/{costs}", None)
        )
    ridge = "minus ridge regression"
    return [
        *claims,
        ("ORSVM, ERR-oriented minus absolute costs", "orsvm/err", "orsvm/absolute", None),
        ("Poly-ORSVM, ERR-oriented minus absolute costs", "powers/err", "powers/absolute", None),
        ("ORSVM, C by small sets minus by validation", "orsvm/small", "orsvm/err", None),
        (f"ORSVM {ridge}", "orsvm/err", "ridge", None),
        (f"ORSVM, absolute costs, {ridge}", "orsvm/absolute", "ridge", None),
        (f"Poly-ORSVM, absolute costs, {ridge}", "powers/absolute", "ridge", None),
        (f"ORBoost {ridge}", "orboost", "ridge", None),
    ]


def minutes_table(sets: dict[str, Chosen], published: Published) -> ResultTable:
    paper = {
        setting: row["minutes"] for (_, setting, _), row in published.items() if row["minutes"]
    }
    degrees = [minutes for setting, minutes in paper.items() if setting.startswith("degree")]
    rows: list[tuple[str, Callable[[Chosen], Any], str]] = [
        ("ORSVM", partial(Chosen.at, method="orsvm/err"), "")
    ]
    for k, minutes in zip(DEGREES, degrees, strict=True):
        find = partial(Chosen.at, method=f"powers{k}/err")
        rows.append((f"Poly-ORSVM, degree {k}", find, minutes))
    for T in ROUNDS[1:]:
        find = partial(Chosen.rounds, weight="rank", rounds=T)
        rows.append((f"ORBoost-All, w1, T={T}", find, paper[f"w1 T={T}"]))
    values = []
    for label, find, minutes in rows:
        values += [paper_only(label, YAHOO, minutes)] if minutes else []
        for data, chosen in sets.items():
            found = find(chosen)
            ours = (
                None if found is None else float(np.mean([fold["seconds"] for fold in found])) / 60
            )
            note = "" if found is not None else ABSENT
            values.append(Value(label, TITLES[data], ours, larger_is_better=None, note=note))
    return ResultTable(
        "minutes",
        "Minutes of training at the chosen setting, mean of the folds",
        values,
        "On one of our training parts (9,500 rows of 46 features of MQ2008, 9,700 of 45 of "
        "OHSUMED, 1,800 of 136 of the slices, 12,000 of 140 of CF-LETOR); published for 473,134 "
        "rows of 519 features on other hardware.",
        digits=3,
    )


def penalty_table(sets: dict[str, Chosen]) -> ResultTable:
    rows = {
        "ORSVM, by validation": "orsvm/err",
        "ORSVM, by small sets": "orsvm/small",
        "ORSVM, absolute costs": "orsvm/absolute",
        **{f"Poly-ORSVM, degree {k}": f"powers{k}/err" for k in DEGREES},
        **{f"Poly-ORSVM, degree {k}, absolute costs": f"powers{k}/absolute" for k in DEGREES},
    }
    values = []
    for label, method in rows.items():
        for data, chosen in sets.items():
            found = chosen.at(method)
            logs = [] if found is None else [np.log10(fold["C"]) for fold in found]
            for name, extreme in (("least", min), ("largest", max)):
                ours = float(extreme(logs)) if logs else None
                note = "" if logs else ABSENT
                values.append(Value(label, f"{TITLES[data]} {name}", ours, note=note))
    return ResultTable(
        "chosen-C",
        "log10 of the chosen C, least and largest of the folds",
        values,
        "C multiplies the costs as they are, which are small for ERR; the published C belong to "
        "another scale. Tried: -1 to 6, with absolute costs -3 to 2.",
        digits=0,
    )
