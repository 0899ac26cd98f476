"""The ensemble beside every model in it, with paired tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rankwise.experiments.base import Table, Value
from rankwise.experiments.challenge_methods import plan
from rankwise.experiments.challenge_methods.chosen_tables import Methods, absent
from rankwise.experiments.challenge_methods.ensemble import MAIN
from rankwise.experiments.lin2010_challenge.chosen_tables import Setting
from rankwise.experiments.lin2010_challenge.value_tables import TITLES
from rankwise.metrics.significance import holm, paired_test
from rankwise.typing import Float64Array

_BEST = "best model by validation"


def ensemble_table(data: str, of: Methods) -> Table:
    """The ensemble of 20, or that of 18 where there is no other."""
    whole, smaller = (plan.ensemble_name(with_boltz) for with_boltz in (True, False))
    found = of.at(whole) or of.at(smaller)
    name, title = f"ensemble-{data}", f"{TITLES[data]}: the ensemble and the models it is made of"
    if found is None:
        return Table(name, title, [Value("ensemble", "ERR", note=absent(whole))])
    models = list(found[0]["models"])
    rows: dict[str, list[Setting]] = {
        model: [one["models"][model] for one in found] for model in models
    }
    rows[_BEST] = [max(one["models"].values(), key=lambda m: m["vali"]["ERR"]) for one in found]
    rows |= {how: [one["variants"][how] for one in found] for how in found[0]["variants"]}
    p = {row: paired_test(_queries(found), _queries(one)).p_value for row, one in rows.items()}
    corrected = dict(zip(models, holm([p[model] for model in models]).tolist(), strict=True))
    label = f"ensemble of {len(models)}: {MAIN}"
    values = _measures(label, found)
    for row, one in rows.items():
        values += _measures(row, one)
        lead = _queries(found) - _queries(one)
        error = float(lead.std(ddof=1) / np.sqrt(len(lead)))
        values.append(Value(row, "the ensemble's lead", float(lead.mean()), error))
        values.append(Value(row, "p", p[row]))
        if row in corrected:
            values.append(Value(row, "p (Holm)", corrected[row]))
    n_held = _span(found, lambda one: one["n_held_out"])
    C = _span(found, lambda one: f"{one['C'][MAIN]:.2g}")
    return Table(
        name,
        title,
        values,
        f"Fitted on 80 % of the training queries; RankLR on their scores for the other {n_held}, "
        f"its C by five folds of these ({C}). ERR, nDCG@10 of the test parts, means of the folds. "
        "Lead: difference in ERR over all test queries; p: paired t test, two-sided; Holm over the "
        "models. Below the models the best of them by ERR on the validation part of each fold, and "
        "other ways to put them together.",
        error_is="standard error of the mean over queries",
    )


def _measures(row: str, found: Sequence[Setting]) -> list[Value]:
    return [
        Value(row, column, float(np.mean([one[part][measure] for one in found])))
        for part, measure, column in (
            ("vali", "ERR", "validation ERR"), ("test", "ERR", "ERR"), ("test", "nDCG", "nDCG@10"),
        )
    ]  # fmt: skip


def _queries(found: Sequence[Setting]) -> Float64Array:
    return np.concatenate([np.array(one["queries"]) for one in found])


def _span(found: Sequence[Setting], of: Callable[[Setting], object]) -> str:
    """Distinct values over the folds."""
    return ", ".join(dict.fromkeys(str(of(one)) for one in found))
