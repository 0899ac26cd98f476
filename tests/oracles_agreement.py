"""Rank-agreement measures pair by pair, as their definitions read; one query at a time."""

from __future__ import annotations

import math


def all_pairs(m):
    return [(i, j) for i in range(m) for j in range(m) if i < j]


def msd(y, f):
    m = len(y)
    return sum(((y[i] - y[j]) - (f[i] - f[j])) ** 2 for i in range(m) for j in range(m)) / m**2


def m1d(y, f):
    m = len(y)
    return sum(abs((y[i] - y[j]) - (f[i] - f[j])) for i in range(m) for j in range(m)) / m**2


def misranking(y, f, ties):
    m = len(y)
    wrong = preferred = 0.0
    for i in range(m):
        for j in range(m):
            if y[i] > y[j]:
                preferred += 1
                wrong += 1.0 if f[i] < f[j] else ties if f[i] == f[j] else 0.0
    return wrong / preferred if preferred else math.nan


def ranking_error(y, f):
    pairs = all_pairs(len(y))
    total = 0.0
    for i, j in pairs:
        misordered = (y[i] - y[j]) * (f[i] - f[j]) < 0
        total += abs(y[i] - y[j]) * (misordered + 0.5 * (f[i] == f[j]))
    return total / len(pairs) if pairs else math.nan


def sign(value):
    return (value > 0) - (value < 0)


def tau(y, f, variant):
    pairs = all_pairs(len(y))
    agreement = sum(sign(y[i] - y[j]) * sign(f[i] - f[j]) for i, j in pairs)
    untied_y = sum(y[i] != y[j] for i, j in pairs)
    untied_f = sum(f[i] != f[j] for i, j in pairs)
    if not untied_y:
        return math.nan
    if variant == "a":
        return agreement / len(pairs)
    return agreement / math.sqrt(untied_y * untied_f) if untied_f else 0.0


def average_ranks(x):
    return [sum(b < a for b in x) + (sum(b == a for b in x) + 1) / 2 for a in x]


def pearson(y, f):
    """Correlation by the sums over pairs of differences, which need no mean."""
    pairs = all_pairs(len(y))
    yy = sum((y[i] - y[j]) ** 2 for i, j in pairs)
    ff = sum((f[i] - f[j]) ** 2 for i, j in pairs)
    yf = sum((y[i] - y[j]) * (f[i] - f[j]) for i, j in pairs)
    if not yy:
        return math.nan
    return yf / math.sqrt(yy * ff) if ff else 0.0


def spearman(y, f):
    return pearson(average_ranks(y), average_ranks(f))


def mean_absolute_error(y, f):
    return sum(abs(a - b) for a, b in zip(y, f, strict=True)) / len(y) if len(y) else math.nan


def zero_one(y, f):
    return sum(a != b for a, b in zip(y, f, strict=True)) / len(y) if len(y) else math.nan


def macro_absolute_error(y, f):
    """Mean over the labels of the mean distance of the rows that have it."""
    if not len(y):
        return math.nan
    means = []
    for label in sorted(set(y)):
        off = [abs(a - b) for a, b in zip(y, f, strict=True) if a == label]
        means.append(sum(off) / len(off))
    return sum(means) / len(means)


def within(y, f, ranks):
    return sum(abs(a - b) <= ranks for a, b in zip(y, f, strict=True)) / len(y)


def kappa(y, f, distance):
    """1 less the mean distance over that of a label and any row's score."""
    if not len(set(y)) > 1:
        return math.nan
    observed = sum(distance(a, b) for a, b in zip(y, f, strict=True)) / len(y)
    return 1 - observed / (sum(distance(a, b) for a in y for b in f) / len(y) ** 2)
