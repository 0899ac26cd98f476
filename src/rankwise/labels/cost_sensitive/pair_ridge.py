"""Ridge regression for all pairs of classes jointly: differences of linear class scores.

Minimises ``sum_n sum_{a<b} w_nab (t_nab - (s_b(x_n) - s_a(x_n)))^2 + alpha sum_k |beta_k|^2`` with
``s_k(x) = x' beta_k + b_k``. The sum over pairs is a Laplacian form in the scores of a row. The
normal equations therefore have the moments of the pairs (a, b) as blocks, and the pairs of a row
are never built.
"""

from __future__ import annotations

import numpy as np

from rankwise.labels.cost_sensitive.binary_ridge import (
    QuestionMoments,
    centre_of,
    row_space,
    solve_positive,
)
from rankwise.labels.cost_sensitive.contrasts import Contrasts
from rankwise.runtime.threads import single_threaded_blas, thread_map
from rankwise.typing import Float64Array, Matrix


def fit_pair_ridge(
    X: Matrix, contrasts: Contrasts, n_classes: int, alpha: float, n_threads: int
) -> tuple[Float64Array, Float64Array]:
    """Coefficients (n_classes, n_features) and intercepts (n_classes,); the intercepts sum to 0.

    ``contrasts`` holds the questions of all pairs. ``alpha > 0`` does not penalise intercepts.
    Needs ``8 K^2 (d + 1)^2`` bytes of memory, and O(K^3 d^3) time in addition to the moments of the
    pairs.
    """
    centre = centre_of(X)
    with single_threaded_blas():
        rows, rotation = row_space(X if centre is None else X - centre)
        moments = QuestionMoments(rows, contrasts)
        found = thread_map(moments.of, range(contrasts.n_questions), n_threads)
        width = rows.shape[1] + 1
        gram = np.zeros((n_classes, width, n_classes, width))
        total = np.zeros((n_classes, width))
        for (of_pair, answer), a, b in zip(found, contrasts.first, contrasts.second, strict=True):
            gram[a, :, b] = gram[b, :, a] = -of_pair
            gram[a, :, a] += of_pair
            gram[b, :, b] += of_pair
            total[a] -= answer
            total[b] += answer
        heaviest = max((of_pair[-1, -1] for of_pair, _ in found), default=0.0)
        if heaviest == 0:
            return np.zeros((n_classes, X.shape[1])), np.zeros(n_classes)
        classes = np.arange(n_classes)
        for column in range(width - 1):
            gram[classes, column, classes, column] += alpha
        gram[:, -1, :, -1] += heaviest / n_classes  # fixes the common shift of the intercepts
        size = n_classes * width
        theta = solve_positive(gram.reshape(size, size), total.ravel()).reshape(n_classes, width)
    coef = theta[:, :-1] if rotation is None else np.asarray((rotation @ theta[:, :-1].T).T)
    intercept = theta[:, -1] if centre is None else theta[:, -1] - coef @ centre
    return coef, intercept
