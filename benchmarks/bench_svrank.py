"""SVRank: many small problems, and one of thousands of rows, beside scikit-learn's SVR.

    RANKWISE_DATA=... python -m benchmarks.bench_svrank

SVR solves another problem (pointwise, with an intercept) on the same kernel values: its time is for
orientation, at scikit-learn's own tolerance (1e-3) and at 1e-6 of y. SVRank stops at a duality gap
of 1e-6 of the objective. Small: 50 problems of 60 rows of ratings with a Gaussian kernel and nine
values of lam, 10^2 ... 10^-6, warm from one to the next; SVR with C = 1 / (m lam). Linear: the
training part of OHSUMED's first fold, one lam. Kernel: its first 2,000 rows with a Gaussian kernel.
"""

from __future__ import annotations

from statistics import mean

import numpy as np
from sklearn.svm import SVR

from benchmarks._timing import interleave, report
from rankwise import SVRank, SVRRanker
from rankwise.datasets import load_dataset
from rankwise.runtime.threads import single_threaded_blas
from rankwise_papers.svrank_path import svrank_path

LAMS = 10.0 ** np.arange(2, -6.1, -1)


def small_problems(n: int = 50, m: int = 60) -> list[tuple[np.ndarray, np.ndarray]]:
    """Kernel values and ratings 1..5 of m items, from the ratings of 300 reviewers."""
    problems = []
    for seed in range(n):
        rng = np.random.default_rng(seed)
        X = np.where(rng.random((m, 300)) < 0.3, rng.integers(1, 6, (m, 300)), 3.0)
        X[:, :100] = np.clip(np.round(X[:, :100] + 0.7 * rng.normal(size=(m, 1))), 1, 5)
        y = np.clip(np.round(X[:, :50].mean(axis=1) + 0.8 * rng.normal(size=m)), 1, 5)
        D = ((X[:, None] - X[None]) ** 2).sum(-1)
        problems.append((np.exp(-D / np.median(D[D > 0])), y))
    return problems


def main() -> None:
    problems = small_problems()

    def paths(epsilon: float) -> None:
        with single_threaded_blas():
            for K, y in problems:
                for result in svrank_path(K, y, LAMS, epsilon):
                    assert result.converged

    def machines(epsilon: float, tol: float) -> None:
        for K, y in problems:
            for lam in LAMS:
                machine = SVR(kernel="precomputed", C=1 / (len(y) * lam), epsilon=epsilon, tol=tol)
                machine.fit(K, y)

    for epsilon in (0.0, 0.5):
        times = interleave(
            {
                "SVRank": lambda epsilon=epsilon: paths(epsilon),
                "SVR": lambda epsilon=epsilon: machines(epsilon, 1e-3),
                "SVR, tol 1e-6": lambda epsilon=epsilon: machines(epsilon, 1e-6),
            },
            repeats=3,
        )
        fits = len(problems) * len(LAMS)
        each = ", ".join(f"{name} {t.median / fits * 1e3:.2f} ms" for name, t in times.items())
        print(f"      60 rows, epsilon {epsilon}, per fit: {each}")
        steps = [mean(r.n_iter for r in svrank_path(K, y, LAMS, epsilon)) for K, y in problems]
        print(f"      Newton steps per fit: {mean(steps):.1f}")
        report(f"SVRank, 60 rows, epsilon {epsilon}", times["SVRank"], times["SVR"], within=3)

    train = load_dataset("ohsumed", fold=1).train
    X, y, qid = train.X.astype(np.float64), train.y, train.qid
    for epsilon in (0.0, 0.5):
        times = interleave(
            {
                "SVRank": lambda epsilon=epsilon: SVRank("linear", lam=1e-3, epsilon=epsilon).fit(
                    X, y, qid=qid
                ),
                "SVRRanker": lambda epsilon=epsilon: SVRRanker(
                    "linear", C=0.1, epsilon=epsilon
                ).fit(X, y),
                "SVR": lambda epsilon=epsilon: SVR(kernel="linear", C=0.1, epsilon=epsilon).fit(
                    X, y
                ),
            },
            repeats=3,
        )
        what = f"{len(y)} x {X.shape[1]} rows, linear, epsilon {epsilon}"
        report(f"SVRank, {what}", times["SVRank"], times["SVR"], within=1)
        report(f"SVRRanker, {what}", times["SVRRanker"], times["SVR"], within=1)

    part = slice(0, 2000)
    for lam in (1.0, 1e-3):
        times = interleave(
            {
                "SVRank": lambda lam=lam: SVRank(lam=lam).fit(X[part], y[part], qid=qid[part]),
                "SVR": lambda lam=lam: SVR(gamma=1.0, C=1 / (2000 * lam)).fit(X[part], y[part]),
            },
            repeats=1,
        )
        report(f"SVRank, 2,000 rows, rbf, lam {lam:g}", times["SVRank"], times["SVR"], within=10)


if __name__ == "__main__":
    main()
