"""The ensemble beside every model in it, with paired tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rankwise.experiments import ResultTable, Value
from rankwise.metrics.significance import holm, paired_test
from rankwise_papers.challenge_methods import plan
from rankwise_papers.challenge_methods.chosen_tables import ABSENT, Methods, absent
from rankwise_papers.challenge_methods.ensemble import MAIN
from rankwise_papers.lin2010_challenge.chosen_tables import (
    Setting,
    mean_difference,
    mean_over_folds,
    queries,
)
from rankwise_papers.lin2010_challenge.value_tables import TITLES

_BEST = "best model by validation"
_RECIPES = (MAIN, "RankLR, degree 1", "mean of scaled scores")


def ensemble_table(data: str, methods: Methods) -> ResultTable:
    """The ensemble of 20, or the ensemble of 18 if there is no other."""
    whole, smaller = (plan.ensemble_name(with_boltz) for with_boltz in (True, False))
    found = methods.at(whole) or methods.at(smaller)
    name, title = f"ensemble-{data}", f"{TITLES[data]}: the ensemble and the models it is made of"
    if found is None:
        return ResultTable(name, title, [Value("ensemble", "ERR", note=absent(whole))])
    models = list(found[0]["models"])
    rows: dict[str, list[Setting]] = {
        model: [fold["models"][model] for fold in found] for model in models
    }
    rows[_BEST] = [max(fold["models"].values(), key=lambda m: m["vali"]["ERR"]) for fold in found]
    rows |= {how: [fold["variants"][how] for fold in found] for how in found[0]["variants"]}
    p = {row: paired_test(queries(found), queries(folds)).p_value for row, folds in rows.items()}
    corrected = dict(zip(models, holm([p[model] for model in models]).tolist(), strict=True))
    label = f"ensemble of {len(models)}: {MAIN}"
    values = _measures(label, found)
    for row, folds in rows.items():
        values += _measures(row, folds)
        values.append(Value(row, "the ensemble's lead", *mean_difference(found, folds)))
        values.append(Value(row, "p", p[row]))
        if row in corrected:
            values.append(Value(row, "p (Holm)", corrected[row]))
    n_held = _span(found, lambda fold: fold["n_held_out"])
    C = _span(found, lambda fold: f"{fold['C'][MAIN]:.2g}")
    return ResultTable(
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


def recipe_table(sets: Mapping[str, Methods]) -> ResultTable:
    """The top trained on a fifth of the queries beside one trained on out-of-fold scores."""
    names = {
        "80/20": plan.ensemble_name(False),
        "out of fold": plan.ensemble_name(False, out_of_fold=True),
    }
    values = []
    for how in _RECIPES:
        found = {
            (data, recipe): _variant(methods.at(name), how)
            for data, methods in sets.items()
            for recipe, name in names.items()
        }
        for recipe in names:
            for data in sets:
                variants = found[data, recipe]
                for measure, title in (("ERR", "ERR"), ("nDCG", "nDCG@10")):
                    mean, spread = mean_over_folds(variants, "test", measure)
                    column = f"{TITLES[data]} {title}"
                    note = "" if variants else ABSENT
                    values.append(Value(f"{how}, {recipe}", column, mean, spread, note=note))
        for data in sets:
            mean, error = mean_difference(found[data, "out of fold"], found[data, "80/20"])
            note = "" if mean is not None else ABSENT
            values.append(
                Value(f"{how}: out of fold minus 80/20", f"{TITLES[data]} ERR", mean, error,
                      note=note)
            )  # fmt: skip
    return ResultTable(
        "recipes",
        "Two recipes for the ensemble of 18: test parts",
        values,
        "80/20: the models are fitted on 80 % of the training queries, the top on their scores for "
        "the rest. Out of fold: the top learns from scores of all training queries, each by models "
        "fitted without its fifth, and reads those of models fitted on all of them. Mean: nothing "
        "is trained on top, so that it differs by the models' training queries alone. BoltzRank "
        "is left out of both for time.",
        "standard deviation over folds; of a difference standard error of the mean over queries",
    )


def _variant(found: Sequence[Setting] | None, how: str) -> Sequence[Setting] | None:
    """The top of the ensemble itself, or another way to put its models together."""
    if found is None or how == MAIN:
        return found
    return [fold["variants"][how] for fold in found]


def _measures(row: str, found: Sequence[Setting]) -> list[Value]:
    return [
        Value(row, column, float(np.mean([fold[part][measure] for fold in found])))
        for part, measure, column in (
            ("vali", "ERR", "validation ERR"), ("test", "ERR", "ERR"), ("test", "nDCG", "nDCG@10"),
        )
    ]  # fmt: skip


def _span(found: Sequence[Setting], show: Callable[[Setting], object]) -> str:
    """Distinct values over the folds."""
    return ", ".join(dict.fromkeys(str(show(fold)) for fold in found))
