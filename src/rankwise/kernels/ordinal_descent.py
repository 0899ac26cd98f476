"""Dual coordinate descent on thresholds that share one score, with powers of the features.

A row of scaled features t has the columns ``t, t^2, ..., t^degree``, which are never stored.
Weights have the shape (degree, d) for dense rows and (d, degree) for CSR rows, for contiguous
access.

Row n asks the questions k = 0 .. K-2, "is the class above k?", with sign ``s_k = 1`` for k < y and
-1 otherwise. The dual value of question k lies in [0, C w_k] (hinge) or is >= 0 (squared hinge).
All questions of a row are solved exactly and at once. Given the score f after the step, every value
is ``clip((a_k + 1 - s_k (f + theta_k)) / (1 + D_k), 0, U_k)``. The difference between f and the
score that results from these values is piecewise linear and increasing in f, so its root is found
by walking through the pieces.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import REASSOCIATE, njit


@njit(fastmath=REASSOCIATE)
def _dot(x, inverse, w):
    """``sum_pj w[p, j] (x_j inverse_j)^(p + 1)``."""
    degree, d = w.shape
    total = 0.0
    # Written out up to degree 4, so that the loop over columns is vectorised and holds no loop.
    # Nesting (Horner) needs one product per power.
    if degree == 1:
        w1 = w[0]
        for j in range(d):
            total += x[j] * inverse[j] * w1[j]
    elif degree == 2:
        w1, w2 = w[0], w[1]
        for j in range(d):
            t = x[j] * inverse[j]
            total += t * (w1[j] + t * w2[j])
    elif degree == 3:
        w1, w2, w3 = w[0], w[1], w[2]
        for j in range(d):
            t = x[j] * inverse[j]
            total += t * (w1[j] + t * (w2[j] + t * w3[j]))
    elif degree == 4:
        w1, w2, w3, w4 = w[0], w[1], w[2], w[3]
        for j in range(d):
            t = x[j] * inverse[j]
            total += t * (w1[j] + t * (w2[j] + t * (w3[j] + t * w4[j])))
    else:
        for j in range(d):
            t = x[j] * inverse[j]
            value = 0.0
            for p in range(degree - 1, -1, -1):
                value = t * (w[p, j] + value)
            total += value
    return total


@njit(fastmath=REASSOCIATE)
def _add(x, inverse, factor, w):
    """Add ``factor (x_j inverse_j)^(p + 1)`` to ``w[p, j]``."""
    degree, d = w.shape
    # The usual degree reads a row once.
    if degree == 4:
        w1, w2, w3, w4 = w[0], w[1], w[2], w[3]
        for j in range(d):
            t = x[j] * inverse[j]
            v = factor * t
            w1[j] += v
            v *= t
            w2[j] += v
            v *= t
            w3[j] += v
            w4[j] += v * t
    else:
        # Two powers per read of the row.
        for p in range(0, degree - 1, 2):
            wp, wq = w[p], w[p + 1]
            for j in range(d):
                t = x[j] * inverse[j]
                v = factor * t ** (p + 1)
                wp[j] += v
                wq[j] += v * t
        if degree % 2 == 1:
            wp = w[degree - 1]
            for j in range(d):
                wp[j] += factor * (x[j] * inverse[j]) ** degree


@njit(fastmath=REASSOCIATE)
def _dot_csr(data, indices, start, stop, inverse, w):
    degree = w.shape[1]
    total = 0.0
    for entry in range(start, stop):
        j = indices[entry]
        t = data[entry] * inverse[j]
        value = 0.0
        for p in range(degree - 1, -1, -1):
            value = t * (w[j, p] + value)
        total += value
    return total


@njit(fastmath=REASSOCIATE)
def _add_csr(data, indices, start, stop, inverse, factor, w):
    degree = w.shape[1]
    for entry in range(start, stop):
        j = indices[entry]
        t = data[entry] * inverse[j]
        value = factor
        for p in range(degree):
            value *= t
            w[j, p] += value


@njit
def _set_values(score, y, theta, a, upper, damping, new):
    """Write the dual values for a score after the step; return the change of their signed sum."""
    change = 0.0
    for k in range(len(theta)):
        sign = 1.0 if k < y else -1.0
        value = (a[k] + 1.0 - sign * (score + theta[k])) / (1.0 + damping[k])
        new[k] = min(max(value, 0.0), upper[k])
        change += sign * (new[k] - a[k])
    return change


@njit
def _solve_row(score, norm, y, theta, a, upper, damping, new):
    """Write the optimal values of a row's questions; return the change of their signed sum."""
    f = score
    # phi(f): f minus the score that the optimal values for f would give. It increases with slope >=
    # 1, so its root lies on the side that its sign at the start says.
    phi = -norm * _set_values(f, y, theta, a, upper, damping, new)
    rising = phi < 0.0
    # Two knots a question: no more pieces than that and one.
    for _ in range(2 * len(theta) + 1):
        slope, end = 1.0, np.inf if rising else -np.inf
        for k in range(len(theta)):
            sign = 1.0 if k < y else -1.0
            # Scores at which the question's value reaches 0 and its upper bound; between them it
            # moves.
            zero = sign * (a[k] + 1.0) - theta[k]
            full = sign * (a[k] + 1.0 - upper[k] * (1.0 + damping[k])) - theta[k]
            low, high = min(zero, full), max(zero, full)
            if rising:
                # Half open: at a knot only the piece ahead counts.
                if low <= f < high:
                    slope += norm / (1.0 + damping[k])
                if low > f:
                    end = min(end, low)
                elif high > f:
                    end = min(end, high)
            else:
                if low < f <= high:
                    slope += norm / (1.0 + damping[k])
                if high < f:
                    end = max(end, high)
                elif low < f:
                    end = max(end, low)
        root = f - phi / slope
        if (rising and root <= end) or (not rising and root >= end):
            f = root
            break
        # The root lies beyond the next knot: go there, and on.
        phi += slope * (end - f)
        f = end
    return _set_values(f, y, theta, a, upper, damping, new)


@njit
def _visit(score, norm, y, theta, a, weight, squared, slack, scratch):
    """Solve one row.

    Returns the change of the signed sum, the row's previous share of the duality gap, its largest
    violation of optimality, and whether all its values are at bounds that are active by more than
    ``slack``. ``theta`` and ``a`` are modified in place.
    """
    upper, damping, new = scratch[0], scratch[1], scratch[2]
    gap, violation, held = 0.0, 0.0, True
    for k in range(len(theta)):
        upper[k], damping[k] = weight[k], 0.0
        # Its value can only be 0.
        if weight[k] == 0.0:
            continue
        sign = 1.0 if k < y else -1.0
        excess = sign * (score + theta[k]) - 1.0
        gradient = excess
        if squared:
            upper[k], damping[k] = np.inf, 0.5 / weight[k]
            gradient += damping[k] * a[k]
            gap += a[k] * excess + 0.5 * damping[k] * a[k] * a[k]
            if excess < 0.0:
                gap += weight[k] * excess * excess
        elif excess >= 0.0:
            # Fenchel-Young gap, loss + conjugate + a excess: >= 0, and 0 at the optimum.
            gap += a[k] * excess
        else:
            gap += (a[k] - weight[k]) * excess
        if a[k] == 0.0:
            violation = max(violation, -gradient)
            # At a bound, and the gradient presses it there by more than the slack.
            held = held and gradient > slack
        elif a[k] == upper[k]:
            violation = max(violation, gradient)
            held = held and -gradient > slack
        else:
            violation = max(violation, abs(gradient))
            held = False
    change = 0.0
    # An optimal row is left alone: solving it again would only add rounding.
    if violation > 0.0:
        change = _solve_row(score, norm, y, theta, a, upper, damping, new)
        for k in range(len(theta)):
            theta[k] += (1.0 if k < y else -1.0) * (new[k] - a[k])
            a[k] = new[k]
    return change, gap, violation, held


@njit
def descend_rows(X, inverse, rows, order, codes, weight, norms, state, squared, slack):
    """Make one pass over the row numbers ``order``, and move rows held at bounds to its end.

    ``state``: weights w (degree, d), thresholds (K - 1,), dual values (n, K - 1), all modified in
    place. Row i of the problem is row ``rows[i]`` of X. Returns the number of rows left, the sum of
    the gaps and the largest violation.
    """
    w, theta, alpha = state
    scratch = np.empty((3, len(theta)))
    n_left, i, gap, largest = len(order), 0, 0.0, 0.0
    while i < n_left:
        r = order[i]
        x = X[rows[r]]
        score = _dot(x, inverse, w)
        change, gap_r, violation, held = _visit(
            score, norms[r], codes[r], theta, alpha[r], weight[r], squared, slack, scratch
        )
        gap += gap_r
        largest = max(largest, violation)
        if change != 0.0:
            _add(x, inverse, change, w)
        if held:
            n_left -= 1
            # Shrinking: the row leaves, and the last one left takes its place and is next.
            order[i], order[n_left] = order[n_left], r
        else:
            i += 1
    return n_left, gap, largest


@njit
def descend_csr(csr, inverse, rows, order, codes, weight, norms, state, squared, slack):
    """Like :func:`descend_rows`, for CSR ``(data, indices, indptr)`` and weights (d, degree)."""
    data, indices, indptr = csr
    w, theta, alpha = state
    scratch = np.empty((3, len(theta)))
    n_left, i, gap, largest = len(order), 0, 0.0, 0.0
    while i < n_left:
        r = order[i]
        start, stop = indptr[rows[r]], indptr[rows[r] + 1]
        score = _dot_csr(data, indices, start, stop, inverse, w)
        change, gap_r, violation, held = _visit(
            score, norms[r], codes[r], theta, alpha[r], weight[r], squared, slack, scratch
        )
        gap += gap_r
        largest = max(largest, violation)
        if change != 0.0:
            _add_csr(data, indices, start, stop, inverse, change, w)
        if held:
            n_left -= 1
            order[i], order[n_left] = order[n_left], r
        else:
            i += 1
    return n_left, gap, largest


# Products with all rows ---------------------------------------------------------------------------


@njit
def scores_rows(X, inverse, rows, w, out):
    """Scores of ``X[rows]``; w (degree, d)."""
    for i in range(len(rows)):
        out[i] = _dot(X[rows[i]], inverse, w)


@njit
def scores_csr(csr, inverse, rows, w, out):
    """Scores of CSR rows; w (d, degree)."""
    data, indices, indptr = csr
    for i in range(len(rows)):
        out[i] = _dot_csr(data, indices, indptr[rows[i]], indptr[rows[i] + 1], inverse, w)


@njit
def add_rows(X, inverse, rows, factors, w):
    """Add the sum of the rows' columns, each times its factor, to ``w`` (degree, d)."""
    for i in range(len(rows)):
        if factors[i] != 0.0:
            _add(X[rows[i]], inverse, factors[i], w)


@njit
def add_csr(csr, inverse, rows, factors, w):
    """Like :func:`add_rows`, for CSR rows; w (d, degree)."""
    data, indices, indptr = csr
    for i in range(len(rows)):
        if factors[i] != 0.0:
            start, stop = indptr[rows[i]], indptr[rows[i] + 1]
            _add_csr(data, indices, start, stop, inverse, factors[i], w)


@njit(fastmath=REASSOCIATE)
def norms_rows(X, inverse, rows, degree, out):
    """Squared norms of the rows' columns."""
    for i in range(len(rows)):
        x, total = X[rows[i]], 0.0
        for j in range(len(x)):
            square = (x[j] * inverse[j]) ** 2
            value = 0.0
            for _ in range(degree):
                # square + square^2 + ... by nesting.
                value = square * (1.0 + value)
            total += value
        out[i] = total


@njit(fastmath=REASSOCIATE)
def norms_csr(csr, inverse, rows, degree, out):
    """Squared norms of the columns of CSR rows."""
    data, indices, indptr = csr
    for i in range(len(rows)):
        total = 0.0
        for entry in range(indptr[rows[i]], indptr[rows[i] + 1]):
            square = (data[entry] * inverse[indices[entry]]) ** 2
            value = 0.0
            for _ in range(degree):
                value = square * (1.0 + value)
            total += value
        out[i] = total


@njit
def respond(scores, theta, codes, weight, centre, bend, squared, outputs):
    """Dual values of the bent hinge at scores, for Newton steps.

    ``alpha = clip((bend centre + weight (1 - m)) / (bend + h), 0, upper)`` with the margins
    ``m = s (score + theta)``. The squared hinge has h = 1/2, no upper bound and a bend of 0. Writes
    to ``outputs`` ``alpha`` and minus its derivative with respect to m, both (n, K - 1), and the
    sums of ``s alpha`` by row, (n,), and by threshold, (K - 1,). Returns the loss, the contribution
    of the dual values to the dual objective, the bent loss, and
    ``bend |alpha - centre|^2 / weight``.
    """
    alpha, curvature, signed, thresholds = outputs
    loss, dual, bent, moved = 0.0, 0.0, 0.0, 0.0
    h = 0.5 if squared else 0.0
    thresholds[:] = 0.0
    for n in range(len(scores)):
        total = 0.0
        for k in range(len(theta)):
            w = weight[n, k]
            if w == 0.0:
                alpha[n, k], curvature[n, k] = 0.0, 0.0
                continue
            sign = 1.0 if k < codes[n] else -1.0
            short = 1.0 - sign * (scores[n] + theta[k])
            raw = (bend * centre[n, k] + w * short) / (bend + h)
            a = max(raw, 0.0)
            # At a bound the value does not follow the score: no curvature.
            slope = w / (bend + h) if raw > 0.0 else 0.0
            if not squared and raw >= w:
                a, slope = w, 0.0
            alpha[n, k], curvature[n, k] = a, slope
            total += sign * a
            thresholds[k] += sign * a
            beyond = max(short, 0.0)
            loss += w * beyond * beyond if squared else w * beyond
            dual += a - 0.5 * h * a * a / w
            away = bend * (a - centre[n, k]) ** 2 / w
            bent += a * short - 0.5 * h * a * a / w - 0.5 * away
            moved += away
        signed[n] = total
    return loss, dual, bent, moved
