"""Judgements of people and of a machine: means, biases by rank and length, agreement."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.interval_errors.cell import Cell, Outcome
from rankwise.metrics import kappa_interval
from rankwise.selection import (
    bias_by_length,
    bias_by_rank,
    difference_bounds,
    evaluate_with_judge,
)

Generator = np.random.Generator
N_MACHINE = 200
CERTAIN = 0.8
Qrels = dict[str, dict[str, int]]


def _judges(rng: Generator, rate: float, n_human: int, n_all: int, accuracy: float = 0.9,
            n_documents: int = 3) -> tuple[Qrels, Qrels]:  # fmt: skip
    """Documents of which a share is relevant, by a human for some queries and by a machine."""
    truth = rng.random((n_all, n_documents)) < rate
    said = np.where(rng.random(truth.shape) < accuracy, truth, ~truth)
    human, machine = (
        {
            f"q{q}": {f"d{d}": int(row[d]) for d in range(n_documents)}
            for q, row in enumerate(labels[:n])
        }
        for labels, n in ((truth, n_human), (said, n_all))
    )
    return human, machine


def _run(rng: Generator, n_queries: int, n_documents: int = 3) -> dict[str, dict[str, float]]:
    return {
        f"q{q}": {f"d{d}": float(s) for d, s in enumerate(rng.random(n_documents))}
        for q in range(n_queries)
    }


def _mean(rng: Generator, rate: float, n_human: int) -> Outcome:
    """Precision of a system at the first document: a share."""
    human, machine = _judges(rng, rate, n_human, n_human + N_MACHINE)
    runs = {"a": _run(rng, n_human + N_MACHINE)}
    found = evaluate_with_judge(human, machine, runs, "P@1").means["P@1"]["a"]
    return Outcome(float(not found.low <= rate <= found.high))


def _difference(rng: Generator, rate: float, n_human: int) -> Outcome:
    """Two systems that are equally good: mostly they differ by 0."""
    human, machine = _judges(rng, rate, n_human, n_human + N_MACHINE)
    runs = {name: _run(rng, n_human + N_MACHINE) for name in "ab"}
    found = evaluate_with_judge(human, machine, runs, "P@1").differences["P@1"]["a", "b"]
    return Outcome(float(not found.low <= 0.0 <= found.high))


def _bias(rng: Generator, rate: float, n_human: int) -> Outcome:
    """Bias of a machine that errs for one document in twenty: its interval and its p-value."""
    human, machine = _judges(rng, rate, n_human, n_human, accuracy=0.95)
    truth = 0.05 * (1.0 - 2.0 * rate)
    found = bias_by_rank(human, machine, {"a": _run(rng, n_human)}, k=3)
    return Outcome(float(np.mean([not row.low <= truth <= row.high for row in found])))


def _bias_of_systems(rng: Generator, rate: float, n_human: int) -> Outcome:
    """Five systems that mostly rank the same documents first."""
    human, machine = _judges(rng, rate, n_human, n_human, accuracy=0.95)
    truth = 0.05 * (1.0 - 2.0 * rate)
    base = _run(rng, n_human)
    runs = {f"s{s}": base if s < 4 else _run(rng, n_human) for s in range(5)}
    found = bias_by_rank(human, machine, runs, k=1)
    return Outcome(float(np.mean([not row.low <= truth <= row.high for row in found])))


def _length(rng: Generator, rate: float, n_queries: int) -> Outcome:
    """Groups of equal bias, by documents whose lengths are lognormal."""
    human, machine = _judges(rng, rate, n_queries, n_queries, accuracy=0.95)
    names = [f"d{d}" for d in range(3)]
    lengths = {f"{q}{d}": float(np.exp(rng.normal(5.0, 1.0))) for q in human for d in names}
    human, machine = ({q: {q + d: g for d, g in docs.items()} for q, docs in by.items()}
                      for by in (human, machine))  # fmt: skip
    found = bias_by_length(human, machine, lengths, n_groups=3)
    truth = 0.05 * (1.0 - 2.0 * rate)
    return Outcome(float(np.mean([not g.low <= truth <= g.high for g in found.groups])))


def _slope(rng: Generator, rate: float, n_queries: int) -> Outcome | None:
    """The errors of the machine do not depend on lengths."""
    human, machine = _judges(rng, rate, n_queries, n_queries, accuracy=0.95)
    names = [f"d{d}" for d in range(3)]
    lengths = {f"{q}{d}": float(np.exp(rng.normal(5.0, 1.0))) for q in human for d in names}
    human, machine = ({q: {q + d: g for d, g in docs.items()} for q, docs in by.items()}
                      for by in (human, machine))  # fmt: skip
    found = bias_by_length(human, machine, lengths)
    if np.isnan(found.low):
        return None
    return Outcome(float(not found.low <= 0.0 <= found.high))


def _kappa(rng: Generator, n: int, rate: float, accuracy: float, size: int = 1) -> Outcome | None:
    """Two classes; the second judge agrees with a share. Labels of a cluster are alike."""
    labels = np.repeat(rng.random(n) < rate, size)
    labels = np.where(rng.random(n * size) < 0.8, labels, rng.random(n * size) < rate)
    says = np.where(rng.random(n * size) < accuracy, labels, ~labels)
    positive = rate * accuracy + (1 - rate) * (1 - accuracy)
    by_chance = rate * positive + (1 - rate) * (1 - positive)
    truth = (accuracy - by_chance) / (1 - by_chance)
    qid = np.repeat(np.arange(n), size) if size > 1 else None
    found = kappa_interval(labels.astype(int), says.astype(int), qid=qid, classes=[0, 1])
    if np.isnan(found.low):
        return None
    return Outcome(float(not found.low <= truth <= found.high), named=bool(found.notes))


def _certainty(rng: Generator, n_queries: int, measure: str) -> Outcome | None:
    """Whether a sign of certainty .8 or more is wrong, or a bound; a lesser certainty is none."""
    truth, _ = _judges(rng, 0.3, n_queries, n_queries, n_documents=8)
    runs = {name: _run(rng, n_queries, 8) for name in "ab"}
    known = {q: {d: g for d, g in docs.items() if rng.random() < 0.5} for q, docs in truth.items()}
    known = {q: docs or {"d0": truth[q]["d0"]} for q, docs in known.items()}
    pair = [("a", "b")]
    (found,) = difference_bounds(known, runs, measure, pairs=pair)
    (complete,) = difference_bounds(truth, runs, measure, pairs=pair)
    if not found.low <= complete.difference <= found.high:
        return Outcome(1.0)
    if complete.difference == 0 or found.certainty < CERTAIN:
        return None
    return Outcome(float(np.sign(found.expected) != np.sign(complete.difference)))


CELLS = (
    [
        Cell(f"evaluate_with_judge, {what}", f"share {rate}, {n} human queries", 0.05,
             partial(draw, rate=rate, n_human=n), draws=400)
        for what, draw in (("mean", _mean), ("difference", _difference))
        for rate in (0.01, 0.05, 0.5, 0.97)
        for n in (5, 20, 100)
    ]
    + [
        Cell(name, f"share {rate}, {n} queries", 0.05, partial(draw, rate=rate, n_human=n))
        for name, draw in (
            ("bias_by_rank", _bias), ("bias_by_rank, five systems", _bias_of_systems))
        for rate in (0.05, 0.5)
        for n in (5, 20, 100)
    ]
    + [
        Cell(name, f"share {rate}, {n} queries", 0.05, partial(draw, rate=rate, n_queries=n))
        for name, draw in (("bias_by_length, groups", _length), ("bias_by_length, slope", _slope))
        for rate in (0.05, 0.5)
        for n in (5, 20, 100)
    ]
    + [
        Cell("kappa_interval", f"{n} x {size}, share {rate}, accuracy {accuracy}", 0.05,
             partial(_kappa, n=n, rate=rate, accuracy=accuracy, size=size))
        for n, size in ((5, 1), (20, 1), (100, 1), (10, 5), (50, 5))
        for rate in (0.05, 0.5)
        for accuracy in (0.6, 0.9, 0.99)
    ]
    + [
        Cell("difference_bounds, certainty", f"{measure}, {n} queries", 1.0 - CERTAIN,
             partial(_certainty, n_queries=n, measure=measure), draws=300)
        for measure in ("P@3", "nDCG@5", "AP@8", "RR@5")
        for n in (3, 20)
    ]
)  # fmt: skip
