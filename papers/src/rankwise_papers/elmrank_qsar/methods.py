"""ELMRank, LS-SVR, SVR and RankSVM on training rows, tuned by cross-validation on them alone."""

from __future__ import annotations

from itertools import product

import numpy as np

from rankwise import RankSVM
from rankwise.typing import Float64Array, Int64Array
from rankwise_papers.elmrank_recommendation.elm_methods import node_draws
from rankwise_papers.elmrank_recommendation.kernel_grid import fit_grid
from rankwise_papers.elmrank_recommendation.kernel_methods import linear_and_rbf
from rankwise_papers.tuned_draws import tune_draws

N_FOLDS, SVR_FOLDS = 10, 5
LAM = 10.0 ** np.arange(-7, 2.5, 0.5)  # of LS-SVR, in LSRRank's scale
SVR_GRID = {
    "C": 4.0 ** np.arange(-1, 5),
    "gamma": 4.0 ** np.arange(-4, 1),
    "epsilon": np.array([0.05, 0.2, 0.5]),
}
# Of RankSVM: lam multiplies the squared norm against the mean of the hinges over all pairs.
RANK_SVM_LAM = 10.0 ** np.arange(-4, 0)
RANK_SVM_GAMMA = (0.03, 0.1, 0.3, 1.0)


def random_folds(n: int, n_folds: int, seed: int, n_draws: int = 1) -> Int64Array:
    """Fold of every row for each draw, shape (n_draws, n), sizes differing by one at most."""
    rng = np.random.default_rng(seed)
    number = np.arange(n) % min(n_folds, n)
    return np.stack([rng.permutation(number) for _ in range(n_draws)])


def elmrank(
    X: Float64Array, y: Float64Array, X_test: Float64Array, n_draws: int, seed: int
) -> Float64Array:
    """Scores of every draw by the paper's protocol, shape (n_draws, n_test)."""
    maps = node_draws(X.shape[1], n_draws, seed)
    folds = random_folds(len(y), N_FOLDS, seed, n_draws)
    return tune_draws(X, y, X_test, maps, folds).draw_scores


def ls_svr(X: Float64Array, y: Float64Array, X_test: Float64Array, seed: int) -> Float64Array:
    """LS-SVR with an RBF kernel, width and penalty by ten folds.

    Its unpenalised intercept makes it LSRRank: on one group both have the same scores but for a
    constant, so no measure here can tell them apart.
    """
    fold = random_folds(len(y), N_FOLDS, seed)[0]
    both = np.concatenate([X, X_test])
    grids = [
        fit_grid(K, K_test, y, fold, LAM)
        for name, K, K_test in linear_and_rbf(both, len(y))
        if name != "linear"
    ]
    errors = np.stack([grid.errors for grid in grids])
    width, lam = np.unravel_index(errors.argmin(), errors.shape)
    return grids[int(width)].scores[lam]


def svr(X: Float64Array, y: Float64Array, X_test: Float64Array, seed: int) -> Float64Array:
    """Support vector regression with an RBF kernel; C, gamma and epsilon by five folds."""
    from sklearn.svm import SVR

    fold = random_folds(len(y), SVR_FOLDS, seed)[0]
    models = [
        SVR(kernel="rbf", C=C, gamma=gamma, epsilon=epsilon)
        for C, gamma, epsilon in product(*SVR_GRID.values())
    ]
    errors = np.zeros(len(models))
    for number in range(fold.max() + 1):
        train = fold != number
        for place, model in enumerate(models):
            scores = model.fit(X[train], y[train]).predict(X[~train])
            errors[place] += np.square(y[~train] - scores).sum()
    return models[errors.argmin()].fit(X, y).predict(X_test)


def rank_svm(
    X: Float64Array, y: Float64Array, X_test: Float64Array, seed: int, kernel: str
) -> Float64Array:
    """RankSVM whose margin of a pair is the difference of its activities, after Agarwal et al.

    lam, and the width of an RBF kernel, by the ranking error of five folds.
    """
    fold = random_folds(len(y), SVR_FOLDS, seed)[0]
    n_pairs = 0.5 * len(y) * (len(y) - 1)
    ranker = RankSVM(
        C=(0.5 / (RANK_SVM_LAM * n_pairs)).tolist(),
        loss="hinge",
        kernel=kernel,
        gamma=list(RANK_SVM_GAMMA) if kernel == "rbf" else None,
        margin="difference",
        measure="RankingError",
        cv=[(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(fold.max() + 1)],
        max_iter=10_000,
    )
    return ranker.fit(X, y, qid=0).predict(X_test)
