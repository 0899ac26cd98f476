"""Which defaults lose least: rounds of ORBoost, order of rows of perceptrons, classes of McRank.

    python -m benchmarks.study_defaults [orboost] [perceptrons] [mc_rank] [afterwards] [cuts]

The ten sets of :mod:`benchmarks.study_sets` are none of those that the documentation reports. Every
figure is a mean over random splits whose seeds are 0, 1, ...; all parameters that are compared are
written out here, so that the study prints the same whatever the defaults have become. The last two
parts chose nothing: they measure ORBoost on the sets of ``ordinal-benchmark``. Needs statsmodels
and, in the folder of ``RANKWISE_DATA``, three sets of Kaggle and those of ``ordinal-benchmark``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from benchmarks.study_sets import StudySet, load_sets, split
from rankwise import AggregatePRank, McRank, ORBoost, PRank, VotedPRank, WidrowHoff
from rankwise_papers.ordinal_benchmark.sets import SETS, make_task

ROUNDS = (5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000)
PER_ROOT = (1, 2, 3, 4, 6)
TRAINING_PARTS = (150, 2000, 10_000)
BOOSTING_SPLITS, ONLINE_SPLITS, GRADE_SPLITS = 5, 5, 2
PASSES = (1, 5)
LARGEST_ONLINE_PART = 1000
N_CLASSES = (4, 8, 16, 32)
LARGEST_GRADE_PART = 300
BENCHMARK_SPLITS = 3
ROUNDS_OF_CUTS = (10, 30, 100, 300)


def main(arguments: Sequence[str]) -> None:
    """Print the parts that are named, or all of them."""
    choices = {"orboost": orboost, "perceptrons": perceptrons, "mc_rank": mc_rank}
    checks = {"afterwards": afterwards, "cuts": cuts}
    print("study_defaults: Defaults of ORBoost, perceptrons and McRank", flush=True)
    for name in arguments or [*choices, *checks]:
        if name in checks:
            checks[name]()
        else:
            choices[name](load_sets())


# ORBoost ------------------------------------------------------------------------------------------


def orboost(sets: dict[str, StudySet]) -> None:
    """Mean absolute error by rule for the number of rounds, as a ratio to the best fixed one.

    n is the number of distinct training rows.
    """
    form: Any
    for form in ("all", "lr"):
        errors = {
            f"{name} {size}": _boosting_errors(form, data, size)
            for name, data in sets.items()
            for size in _sizes(data)
        }
        ratios = {}
        for cell, by_rule in errors.items():
            best = min(error for rule, error in by_rule.items() if isinstance(rule, int))
            ratios[cell] = {str(rule): error / best for rule, error in by_rule.items()}
        title = f'ORBoost(form="{form}"): mean absolute error over that of the best fixed number'
        _print_ratios(title, "set and training rows", ratios)


def _sizes(data: StudySet) -> list[int]:
    """Training rows: 150, 2,000 and 10,000, or what the set has."""
    return sorted({min(most, 2 * len(data.y) // 3) for most in TRAINING_PARTS})


def _boosting_errors(form: Any, data: StudySet, size: int) -> dict[Any, float]:
    found: dict[Any, list[float]] = {}
    for seed in range(BOOSTING_SPLITS):
        train, test = split(data.y, seed, size)
        X, y = data.X[train], data.y[train]
        curve = _error_curve(form, X, y, data.X[test], data.y[test])
        distinct = len(np.unique(np.column_stack([X, y]), axis=0))
        rules: dict[Any, int] = {rounds: rounds for rounds in ROUNDS}
        for factor in PER_ROOT:
            rules[f"{factor} sqrt(n)"] = min(math.ceil(factor * math.sqrt(distinct)), max(ROUNDS))
        kept = len(y) - len(y) // 5
        held = _error_curve(form, X[:kept], y[:kept], X[kept:], y[kept:])
        rules["a fifth held out"] = int(np.argmin(held)) + 1
        for rule, rounds in rules.items():
            found.setdefault(rule, []).append(float(curve[rounds - 1]))
    return {rule: float(np.mean(values)) for rule, values in found.items()}


def _error_curve(
    form: Any, X: NDArray, y: NDArray, X_test: NDArray, y_test: NDArray
) -> NDArray[np.float64]:
    """Mean absolute error after every round; the last one stands for rounds that are not there."""
    model = ORBoost(max(ROUNDS), form).fit(X, y)
    errors = [float(np.abs(p - y_test).mean()) for p in model.staged_predict(X_test)]
    return np.array(errors + errors[-1:] * (max(ROUNDS) - len(errors)))


def afterwards() -> None:
    """Default number of rounds and 1,000 on the sets of ordinal-benchmark, after the choice."""
    title = "Afterwards: mean absolute error of ORBoost() and of 1,000 rounds, ordinal-benchmark"
    print(f"\n{title}\n")
    print(f"{'':16}  default  1,000 rounds")
    means = []
    for known in SETS:
        found = []
        for number in range(BENCHMARK_SPLITS):
            task = make_task(known, number)
            X, y = task.Z[task.train], task.y[task.train]
            test = task.Z[task.test], task.y[task.test]
            models = ORBoost(), ORBoost(n_estimators=1000)
            found.append([-model.fit(X, y).score(*test) for model in models])
        means.append(np.mean(found, axis=0))
        print(f"{known.key:16}  {means[-1][0]:7.4f}  {means[-1][1]:12.4f}", flush=True)
    default, most = np.transpose(means)
    print(f"{'mean of all sets':16}  {default.mean():7.4f}  {most.mean():12.4f}")
    print(f"{'ahead':16}  {np.sum(default < most):7d}  {np.sum(most < default):12d}", flush=True)


def cuts() -> None:
    """Rows whose value is the middle at which a stump cuts: above the cut, or below it."""
    changes, rows = [], []
    form: Any
    for known in SETS:
        for number in range(BENCHMARK_SPLITS):
            task = make_task(known, number)
            X, y = task.Z[task.test], task.y[task.test]
            for form in ("all", "lr"):
                above = ORBoost(max(ROUNDS_OF_CUTS), form)
                above.fit(task.Z[task.train], task.y[task.train])
                below = copy(above)
                middles = np.nextafter(above.ensemble_.thresholds, np.inf)
                below.ensemble_ = replace(above.ensemble_, thresholds=middles)
                errors = [
                    np.array([np.abs(p - y).mean() for p in model.staged_predict(X)])
                    for model in (above, below)
                ]
                at = [min(n, above.n_estimators_) - 1 for n in ROUNDS_OF_CUTS]
                changes += np.abs(errors[0] - errors[1])[at].tolist()
                rows += [len(y)] * len(at)
    print("\nCuts: test errors of ORBoost with the middles above the cuts and below, ", end="")
    print("ordinal-benchmark\n")
    print("            errors  changed  mean change  largest change  test rows there")
    at = int(np.argmax(changes))
    print(f"both forms  {len(changes):6d}  {np.count_nonzero(changes):7d}", end="")
    print(f"  {np.mean(changes):11.4f}  {changes[at]:14.4f}  {rows[at]:15d}", flush=True)


# Perceptrons --------------------------------------------------------------------------------------


def perceptrons(sets: dict[str, StudySet]) -> None:
    """Mean absolute error by order of the rows, as a ratio to that of the median class."""
    learners = {
        "PRank": lambda **params: PRank(**params),
        "VotedPRank": lambda **params: VotedPRank(**params),
        "AggregatePRank": lambda **params: AggregatePRank(**params),
        "WidrowHoff": lambda **params: WidrowHoff(**params),
    }
    for learner, make in learners.items():
        ratios: dict[str, dict[str, float]] = {}
        for name, data in sets.items():
            found: dict[str, list[float]] = {}
            for seed in range(ONLINE_SPLITS):
                for rule, error in _online_errors(make, data, seed):
                    found.setdefault(rule, []).append(error)
            ratios[name] = {rule: float(np.mean(values)) for rule, values in found.items()}
        title = f"{learner}: mean absolute error over that of the median class"
        _print_ratios(title, "set", ratios)


def _online_errors(make: Any, data: StudySet, seed: int) -> Iterator[tuple[str, float]]:
    """Rows as drawn, then sorted by class, each in their order and shuffled."""
    train, test = split(data.y, seed, LARGEST_ONLINE_PART)
    mean, deviation = data.X[train].mean(axis=0), data.X[train].std(axis=0)
    X = (data.X - mean) / np.where(deviation > 0, deviation, 1.0) / math.sqrt(data.X.shape[1])
    median = np.sort(data.y[train])[len(train) // 2]
    constant = float(np.abs(data.y[test] - median).mean())
    by_class = train[np.argsort(data.y[train], kind="stable")]
    for order, rows in (("drawn", train), ("by class", by_class)):
        for passes in PASSES:
            for shuffle in (False, True):
                model = make(n_epochs=passes, shuffle=shuffle, random_state=0)
                model.fit(X[rows], data.y[rows])
                error = np.abs(model.predict(X[test]) - data.y[test]).mean()
                read = "shuffled" if shuffle else "as given"
                yield f"{order}, {read}, {passes}", float(error) / constant


# McRank -------------------------------------------------------------------------------------------


def mc_rank(sets: dict[str, StudySet]) -> None:
    """Share of misordered pairs of real targets by number of classes, as a ratio to the best."""
    ratios = {}
    for name, data in sets.items():
        errors = {f"{k} classes": _misordered(k, data) for k in N_CLASSES}
        best = min(errors.values())
        ratios[name] = {rule: error / best for rule, error in errors.items()}
    title = "McRank: misordered pairs over those of the best number of classes"
    _print_ratios(title, "set", ratios)


def _misordered(n_classes: int, data: StudySet) -> float:
    found = []
    for seed in range(GRADE_SPLITS):
        train, test = split(data.y, seed, LARGEST_GRADE_PART)
        model = McRank(n_estimators=100, learning_rate=0.1, max_classes=n_classes, random_state=0)
        scores = model.fit(data.Z[train], data.target[train]).predict(data.Z[test])
        found.append((1.0 - kendalltau(scores, data.target[test]).statistic) / 2.0)
    return float(np.mean(found))


# Printing -----------------------------------------------------------------------------------------


def _print_ratios(title: str, unit: str, ratios: dict[str, dict[str, float]]) -> None:
    """A row for every rule: mean and worst over the sets, then every set."""
    names = list(ratios)
    print(f"\n{title}")
    for number, name in enumerate(names, 1):
        print(f"  {number:>2}  {name}")
    rules: Iterable[str] = next(iter(ratios.values()))
    width = max(len(rule) for rule in rules)
    heads = "".join(f"{number:>6}" for number in range(1, len(names) + 1))
    print(f"\n{'':{width}}   mean  worst{heads}   ({unit})")
    for rule in rules:
        row = [ratios[name][rule] for name in names]
        cells = "".join(f"{value:6.2f}" for value in row)
        print(f"{rule:{width}}  {np.mean(row):.3f}  {max(row):.3f}{cells}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
