"""ProportionalOdds beside mord's LogisticAT and statsmodels' OrderedModel.

    python -m benchmarks.bench_proportional_odds

20,000 rows of 20 features in five classes. statsmodels solves the same problem without a penalty
(its BFGS, without standard errors). mord minimises all-threshold losses with ``alpha=1/C`` instead,
which is another objective of the same size. Then 200,000 rows of 50 features, ours alone.
"""

from __future__ import annotations

import warnings

import mord
import numpy as np
from statsmodels.miscmodels.ordinal_model import OrderedModel

from benchmarks._timing import interleave, report
from rankwise import ProportionalOdds

CLASSES = 5


def graded(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Normal features, and classes of equal size by a linear utility with logistic noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    utility = X @ rng.standard_normal(d) / np.sqrt(d) + rng.logistic(size=n)
    return X, np.digitize(utility, np.quantile(utility, np.arange(1, CLASSES) / CLASSES))


def main() -> None:
    X, y = graded(20_000, 20)

    def fit_mord() -> None:
        with warnings.catch_warnings():
            # mord 0.7 passes an option that SciPy 1.18 will drop.
            warnings.filterwarnings("ignore", "scipy.optimize: The `disp`", DeprecationWarning)
            mord.LogisticAT(alpha=1.0).fit(X, y)

    def fit_statsmodels() -> float:
        model = OrderedModel(y, X, distr="logit")
        return model.fit(method="bfgs", maxiter=500, disp=0, skip_hessian=True).llf

    ours = ProportionalOdds(C=1.0)
    free = ProportionalOdds(C=np.inf)
    sides = {
        "penalised": lambda: ours.fit(X, y),
        "mord": fit_mord,
        "free": lambda: free.fit(X, y),
        "statsmodels": fit_statsmodels,
    }
    times = interleave(sides, repeats=3)
    print(f"      log-likelihood {free.log_likelihood_:.6f}, statsmodels {fit_statsmodels():.6f}")
    report("20,000 x 20, 5 classes, C = 1", times["penalised"], times["mord"], faster=1)
    report("20,000 x 20, 5 classes, no penalty", times["free"], times["statsmodels"], faster=1)
    X, y = graded(200_000, 50)
    for link in ("logit", "probit", "cloglog"):
        model = ProportionalOdds(C=1.0, link=link)
        time = interleave({link: lambda model=model: model.fit(X, y)}, repeats=3)[link]
        print(f"      200,000 x 50, {link}: {time.median:.2f} s, {model.n_iter_} steps", flush=True)


if __name__ == "__main__":
    main()
