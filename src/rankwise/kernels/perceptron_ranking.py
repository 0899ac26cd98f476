"""Online learning of ordered classes, row by row: ranking perceptrons and least mean squares.

A hypothesis is a column of ``weights`` and a row of ascending ``thresholds``. It predicts the
number of thresholds that the score reaches. After a wrong prediction, PRank moves every threshold
on the wrong side of the score (or equal to it) away from the score by one: ``lowered`` thresholds
next below the true class, and ``raised`` thresholds next above it. The thresholds stay ascending.
The weights move by ``lowered - raised`` times the row. Many hypotheses share the columns of a row,
and the coin of each hypothesis decides whether it sees the row. The order of summation does not
depend on the number of hypotheses, threads or zeros, so dense and sparse rows give bit-identical
results.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit

# Columns of ``tallies``: rows since the last mistake, mistakes, sum of the rank errors.
SURVIVAL, MISTAKES, LOSS = 0, 1, 2


@njit
def add_scaled(out, factor, row):
    """``out += factor * row``."""
    for p in range(len(out)):
        out[p] += factor * row[p]


@njit
def class_of(score, thresholds):
    """Number of thresholds that the score reaches."""
    number = 0
    while number < len(thresholds) and score >= thresholds[number]:
        number += 1
    return number


@njit
def count(code, predicted, tally):
    """Add one row to the tallies of a hypothesis."""
    if predicted == code:
        tally[SURVIVAL] += 1
    else:
        # The hypothesis that follows the mistake has one vote until its next mistake.
        tally[SURVIVAL] = 1
        tally[MISTAKES] += 1
        tally[LOSS] += abs(predicted - code)


@njit
def move(score, code, thresholds, tally, moves):
    """Move the thresholds if the class is wrong, and write (lowered, raised) to ``moves``."""
    # Both are written even if nothing moves: the history is replayed from them.
    moves[0], moves[1] = 0, 0
    predicted = class_of(score, thresholds)
    count(code, predicted, tally)
    if predicted == code:
        return
    for k in range(code - 1, -1, -1):
        # Thresholds ascend: the rest are on the right side too.
        if score > thresholds[k]:
            break
        thresholds[k] -= 1.0
        moves[0] += 1
    for k in range(code, len(thresholds)):
        if score < thresholds[k]:
            break
        thresholds[k] += 1.0
        moves[1] += 1


@njit
def move_all(scores, code, coins, thresholds, tallies, moves, lo, steps):
    """Move the hypotheses from ``lo`` on; return whether any moved."""
    moved = False
    for p in range(len(scores)):
        own = moves[lo + p]
        own[0], own[1] = 0, 0
        if coins[lo + p]:
            move(scores[p], code, thresholds[lo + p], tallies[lo + p], own)
        steps[p] = own[0] - own[1]
        moved = moved or own[0] + own[1] > 0
    return moved


@njit
def prank_rows(X, codes, coins, weights, thresholds, tallies, moves, lo, hi):
    """Update hypotheses ``lo`` to ``hi`` with PRank on each row of X in turn, in place.

    X is (n, D), float64, and ``codes`` (n,), int64, are class numbers. ``coins`` (n, P), bool, says
    which PRanks see which row. Changes ``weights`` (D, P) and ``thresholds`` (P, K - 1), float64,
    and ``tallies`` (P, 3), int64; ``moves`` (n, P, 2), int32, becomes how many thresholds each row
    lowered and raised.
    """
    scores, steps = np.empty(hi - lo), np.empty(hi - lo)
    for i in range(X.shape[0]):
        scores[:] = 0.0
        if hi - lo == 1:  # avoids slices of a single weight
            for j in range(X.shape[1]):
                scores[0] += X[i, j] * weights[j, lo]
        else:
            for j in range(X.shape[1]):
                add_scaled(scores, X[i, j], weights[j, lo:hi])
        # Most rows move nothing once the ranks are learnt, and are then read only once.
        if move_all(scores, codes[i], coins[i], thresholds, tallies, moves[i], lo, steps):
            for j in range(X.shape[1]):
                add_scaled(weights[j, lo:hi], X[i, j], steps)


@njit
def prank_csr(data, indices, indptr, codes, coins, weights, thresholds, tallies, moves, span):
    """Like :func:`prank_rows`, for CSR rows; ``span`` holds lo and hi."""
    lo, hi = span
    scores, steps = np.empty(hi - lo), np.empty(hi - lo)
    for i in range(len(codes)):
        scores[:] = 0.0
        for entry in range(indptr[i], indptr[i + 1]):
            j, x = indices[entry], data[entry]
            add_scaled(scores, x, weights[j, lo:hi])
        if move_all(scores, codes[i], coins[i], thresholds, tallies, moves[i], lo, steps):
            for entry in range(indptr[i], indptr[i + 1]):
                j, x = indices[entry], data[entry]
                add_scaled(weights[j, lo:hi], x, steps)


@njit
def prank_value(values, code, coins, weights, thresholds, tallies, moves):
    """Process one row, given by its kernel values with the support rows and, last, itself.

    The first ``len(values) - 1`` rows of ``weights`` are the coefficients of the support; the next
    one becomes the coefficients of the row. Returns whether any threshold moved.
    """
    n_support = len(values) - 1
    scores = np.zeros(weights.shape[1])
    for m in range(n_support):
        add_scaled(scores, values[m], weights[m])
    return move_all(scores, code, coins, thresholds, tallies, moves, 0, weights[n_support])


@njit
def lms_step(score, square, code, eta, thresholds, tally):
    """Step of least mean squares, as a multiple of the row; class numbers count from 1.

    The step size is at most ``1 / square``, which makes the score equal the class number. Beyond
    twice that value, the error would grow.
    """
    count(code, class_of(score, thresholds), tally)
    error = code + 1 - score
    return error / square if eta * square > 1.0 else error * eta


@njit
def lms_rows(X, codes, eta, weights, thresholds, tally):
    """Update the weights by least mean squares on each row of X in turn, in place."""
    for i in range(X.shape[0]):
        score, square = 0.0, 0.0
        for j in range(X.shape[1]):
            score += X[i, j] * weights[j]
            square += X[i, j] * X[i, j]
        step = lms_step(score, square, codes[i], eta, thresholds, tally)
        for j in range(X.shape[1]):
            weights[j] += step * X[i, j]


@njit
def lms_csr(data, indices, indptr, codes, eta, weights, thresholds, tally):
    """Like :func:`lms_rows`, for CSR rows."""
    for i in range(len(codes)):
        score, square = 0.0, 0.0
        for entry in range(indptr[i], indptr[i + 1]):
            score += data[entry] * weights[indices[entry]]
            square += data[entry] * data[entry]
        step = lms_step(score, square, codes[i], eta, thresholds, tally)
        for entry in range(indptr[i], indptr[i + 1]):
            weights[indices[entry]] += step * data[entry]


@njit
def lms_value(values, code, eta, weights, thresholds, tally):
    """Like :func:`prank_value`, for least mean squares."""
    n_support = len(values) - 1
    score = 0.0
    for m in range(n_support):
        score += values[m] * weights[m]
    weights[n_support] = lms_step(score, values[n_support], code, eta, thresholds, tally)
    return weights[n_support] != 0.0


@njit
def count_votes(scores, thresholds, voices, votes):
    """Add the votes of every hypothesis p, ``voices[p]``, to ``votes[i, class of row i]``.

    ``scores``: (n, P); ``thresholds``: (P, K - 1); ``voices``: (P,); ``votes``: (n, K), in place.
    """
    for i in range(scores.shape[0]):
        for p in range(scores.shape[1]):
            votes[i, class_of(scores[i, p], thresholds[p])] += voices[p]


@njit
def replay_thresholds(moves, codes, path):
    """Write the thresholds after m moves to ``path[m]``, from ``path[0]`` on; (M + 1, K - 1)."""
    for m in range(len(codes)):
        for k in range(path.shape[1]):
            path[m + 1, k] = path[m, k]
        # Thresholds move by one each, next to the class: two counts hold a whole step.
        for k in range(codes[m] - moves[m, 0], codes[m]):
            path[m + 1, k] -= 1.0
        for k in range(codes[m], codes[m] + moves[m, 1]):
            path[m + 1, k] += 1.0


@njit
def replay_votes(values, steps, path, voices, votes):
    """Add the votes of all hypotheses in the history of one PRank.

    ``values``: (n, M), kernel values of rows with the rows it was wrong on; ``steps``: (M,); their
    coefficients; ``path``: (M + 1, K - 1), its thresholds; ``voices``: (M + 1,); ``votes``:
    (n, K), in place.
    """
    for i in range(values.shape[0]):
        score = 0.0
        votes[i, class_of(score, path[0])] += voices[0]
        for m in range(values.shape[1]):
            score += steps[m] * values[i, m]
            votes[i, class_of(score, path[m + 1])] += voices[m + 1]
