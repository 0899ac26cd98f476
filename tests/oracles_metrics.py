"""Measures of one ranked query as plain loops, written from their definitions."""

from __future__ import annotations

import itertools
import math

NAN = float("nan")


def order(y, f, ties="stable"):
    """Row numbers by descending score."""
    tie_key = {
        "stable": lambda i: i,
        "docid": lambda i: -i,
        "worst": lambda i: y[i],
        "best": lambda i: -y[i],
    }[ties]
    return sorted(range(len(y)), key=lambda i: (-f[i], tie_key(i)))


def ranked(y, f, ties="stable"):
    return [y[i] for i in order(y, f, ties)]


def orders_of_ties(y, f):
    """Every order of the rows that the scores allow, equally likely."""
    levels = [[i for i in range(len(f)) if f[i] == level] for level in sorted(set(f), reverse=True)]
    for parts in itertools.product(*(itertools.permutations(level) for level in levels)):
        yield [y[i] for part in parts for i in part]


def gain_of(grade, gain):
    if gain == "exp2":
        return 2.0**grade - 1.0
    return float(grade) if gain == "linear" else float(gain[int(grade)])


def discount_of(rank, discount):
    if discount == "log2":
        return 1.0 / math.log2(1 + rank)
    return 1.0 if rank <= 2 else 1.0 / math.log2(rank)


def dcg_of_list(grades, gain, discount, k):
    return sum(
        gain_of(grade, gain) * discount_of(rank, discount)
        for rank, grade in enumerate(grades[:k], start=1)
    )


def expected(y, f, ties, value):
    """``value`` of the ranked grades; with ties="mean" its mean over all orders of the ties."""
    if ties != "mean":
        return value(ranked(y, f, ties))
    values = [value(grades) for grades in orders_of_ties(y, f)]
    return math.fsum(values) / len(values)


def dcg(y, f, k=None, gain="exp2", discount="log2", ties="stable", empty=0):
    if not any(grade > 0 for grade in y):
        return empty
    return expected(y, f, ties, lambda grades: dcg_of_list(grades, gain, discount, k))


def ndcg(y, f, k=None, gain="exp2", discount="log2", ties="stable", empty=NAN, short="pad"):
    ideal = dcg_of_list(sorted(y, reverse=True), gain, discount, k)
    if ideal == 0:
        return empty
    if short == "zero" and len(y) < k:
        return 0.0
    return dcg(y, f, k, gain, discount, ties) / ideal


def mean_ndcg(y, f, gain="exp2", discount="log2", ties="stable", empty=NAN):
    if not any(grade > 0 for grade in y):
        return empty
    ks = range(1, len(y) + 1)
    return sum(ndcg(y, f, k, gain, discount, ties, empty=0.0) for k in ks) / len(y)


def average_precision(y, f, k=None, rel=1, norm="all", ties="stable", empty=NAN):
    n_relevant = sum(grade >= rel for grade in y)
    if n_relevant == 0:
        return empty

    def value(grades):
        hits, total = 0, 0.0
        for rank, grade in enumerate(grades[:k], start=1):
            if grade >= rel:
                hits += 1
                total += hits / rank
        return total

    most = min(n_relevant, k) if norm == "cutoff" and k else n_relevant
    return expected(y, f, ties, value) / most


def average_precision_of_blocks(y, f, rel=1, empty=NAN):
    n_relevant = sum(grade >= rel for grade in y)
    if n_relevant == 0:
        return empty
    total = 0.0
    for i in range(len(y)):
        if y[i] >= rel:
            above = [j for j in range(len(y)) if f[j] >= f[i]]
            total += sum(y[j] >= rel for j in above) / len(above)
    return total / n_relevant


def hits_in(grades, rel, k):
    return sum(grade >= rel for grade in grades[:k])


def precision(y, f, k=None, rel=1, ties="stable", empty=0.0, short="pad"):
    if not any(grade >= rel for grade in y):
        return empty
    m = len(y)
    if k is not None and m < k and short == "zero":
        return 0.0
    most = m if k is None else min(k, m) if short == "cut" else k
    return expected(y, f, ties, lambda grades: hits_in(grades, rel, k)) / most


def recall(y, f, k=None, rel=1, ties="stable", empty=NAN):
    n_relevant = sum(grade >= rel for grade in y)
    if n_relevant == 0:
        return empty
    return expected(y, f, ties, lambda grades: hits_in(grades, rel, k)) / n_relevant


def r_precision(y, f, rel=1, ties="stable", empty=NAN):
    n_relevant = sum(grade >= rel for grade in y)
    if n_relevant == 0:
        return empty
    return expected(y, f, ties, lambda grades: hits_in(grades, rel, n_relevant)) / n_relevant


def success(y, f, k=None, rel=1, ties="stable", empty=0.0):
    if not any(grade >= rel for grade in y):
        return empty
    return expected(y, f, ties, lambda grades: float(hits_in(grades, rel, k) > 0))


def reciprocal_rank(y, f, k=None, rel=1, ties="stable", empty=0.0):
    if not any(grade >= rel for grade in y):
        return empty

    def value(grades):
        for rank, grade in enumerate(grades[:k], start=1):
            if grade >= rel:
                return 1.0 / rank
        return 0.0

    return expected(y, f, ties, value)


def err(y, f, k=None, gain="exp2", max_grade=4, ties="stable", empty=0.0):
    if not any(grade > 0 for grade in y):
        return empty

    def value(grades):
        total, reached = 0.0, 1.0
        for rank, grade in enumerate(grades[:k], start=1):
            stop = (2.0**grade - 1) / 2.0**max_grade if gain == "exp2" else grade / max_grade
            total += reached * stop / rank
            reached *= 1.0 - stop
        return total

    return expected(y, f, ties, value)


def rbp(y, f, k=None, p=0.8, rel=1, ties="stable", empty=0.0):
    if not any(grade >= rel for grade in y):
        return empty

    def value(grades):
        return sum(
            (1 - p) * p ** (rank - 1)
            for rank, grade in enumerate(grades[:k], start=1)
            if grade >= rel
        )

    return expected(y, f, ties, value)


def letor_script(y, f, k, *, version, rel=1):
    """(NDCG@k, P@k, AP, MeanNDCG) of one query as the LETOR scripts count it into their means.

    The list ends at the last document: NDCG@k beyond it is 0, in version 4 and for MSLR P@k
    goes on with irrelevant documents, in version 3 it is 0 too.
    """
    grades = ranked(y, f)

    def cumulated(labels):
        sums = []
        for position, grade in enumerate(labels):
            gain = 2.0**grade - 1.0
            weight = 1.0 if position < 2 else math.log(2.0) / math.log(position + 1.0)
            sums.append((sums[-1] if sums else 0.0) + gain * weight)
        return sums

    ratios = [
        (reached / best if best else 0.0)
        for reached, best in zip(cumulated(grades), cumulated(sorted(y, reverse=True)), strict=True)
    ]
    at_k = ratios[k - 1] if k <= len(y) else 0.0
    if k <= len(y) or version == 4:
        precision_at_k = hits_in(grades, rel, k) / k
    else:
        precision_at_k = 0.0
    ap = average_precision(y, f, rel=rel, empty=0.0)
    return at_k, precision_at_k, ap, sum(ratios) / len(ratios)
