"""
What ELMRank's bounds say
=========================

Theorem 2 and Lemma 4 of the ELMRank paper, evaluated at its own sizes, as printed and as
corrected (:doc:`/errata`), and learning curves beside the rate that the theorem promises.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

from rankwise import ELMRank
from rankwise.datasets import load_qsar
from rankwise.report.axes import light

ROWS = {
    "DHFR": 237,
    "COX2": 188,
}  # training rows of the paper's QSAR experiment
N_NODES = 100
LAMBDAS = (1e-5, 1e-3, 1e-1, 1e1)  # of the protocol's 1e-5, 1e-4, ..., 1e1
PRINTED, CORRECTED = (
    1.0,
    np.sqrt(N_NODES),
)  # |phi_i(x)| <= 1; norm of the n values of phi(x)

# %%
# The formulas
# ------------
# Labels lie in [0, M]; everything is in units of M². A fitted function lies in the ball of
# radius R = M / √λ, so that its values lie within ``reach = kappa / √λ``.


def theorem_2(m, n, lam, corrected):
    """Bound on the sample error of Theorem 2; printed: with the constant C~ = 1."""
    if not corrected:
        return (
            32
            * (1 + PRINTED / np.sqrt(lam)) ** 2
            * np.sqrt(n * np.log(m / (n - 1)) / m)
        )
    rate = np.sqrt((n * np.log(m) - np.log(n - 1)) / m)
    return 64 * (1 + CORRECTED / np.sqrt(lam)) ** 2 * rate


def lemma_4(m, n, lam, corrected):
    """Smallest deviation to which Lemma 4 gives a probability below 1."""
    reach = (CORRECTED if corrected else PRINTED) / np.sqrt(lam)
    radius = (
        reach if corrected else 1 / np.sqrt(lam)
    )  # Lemma 1: of the values, or of the weights
    scale = 1024 * (1 + reach) ** 4 / m

    def log_bound(deviation):
        return (
            n * np.log(64 * radius * (1 + 2 * reach) / deviation)
            - deviation**2 / scale
        )

    return brentq(
        log_bound, 1e-9 * np.sqrt(scale), 64 * radius * (1 + 2 * reach) + 1
    )


def largest(lam, corrected):
    """What no function of the ball can exceed: its risk, and its deviation in Lemma 4."""
    risk = (1 + 2 * (CORRECTED if corrected else PRINTED) / np.sqrt(lam)) ** 2
    return risk, risk + 9  # the risk of f* is at most (3 M)²


CONSTANT = (
    0.5  # twice a variance on [0, M]: the excess risk of f = 0 is no larger
)

# %%
# At the paper's sizes
# --------------------
# A bound says nothing where it is larger than what it bounds can be at all.
print(
    "set   version      lambda   Theorem 2  / possible  / constant     Lemma 4  / possible"
)
for name, m in ROWS.items():
    for corrected in (False, True):
        for lam in LAMBDAS:
            bound, deviation = (
                f(m, N_NODES, lam, corrected) for f in (theorem_2, lemma_4)
            )
            risk, most = largest(lam, corrected)
            version = "corrected" if corrected else "printed"
            print(
                f"{name}  {version:10}  {lam:7.0e}  {bound:10.2e}  {bound / risk:10.1f}"
                f"  {bound / CONSTANT:10.1e}  {deviation:10.2e}  {deviation / most:10.1f}"
            )

# %%
# How many rows would be enough for Theorem 2 to promise less than the constant's excess?
for corrected in (False, True):
    version = "corrected" if corrected else "printed"
    for lam in (LAMBDAS[0], LAMBDAS[-1]):
        enough = brentq(
            lambda log_m, lam=lam, corrected=corrected: (
                theorem_2(np.exp(log_m), N_NODES, lam, corrected) - CONSTANT
            ),
            np.log(10 * N_NODES),
            60,
        )
        print(f"{version}, lambda = {lam:g}: {np.exp(enough):.1e} rows")

# %%
# The rate, on a problem whose best function is known
# ---------------------------------------------------
# The excess risk is twice the variance of f - f*. It falls like 1/m, faster than √(log m / m),
# until what is left is the price of the penalty.


def rate(m):
    """√(log m / m)."""
    return np.sqrt(np.log(m) / m)


def fitted(X, y, lam, seed, n_draws=1):
    """ELMRank's equation (7): without the second ridge, as in the theorem."""
    return ELMRank(N_NODES, lam, n_draws=n_draws, random_state=seed).fit(
        X, y, qid=0
    )


def best(X):
    """The function f* of the synthetic problem."""
    return 2 * X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 3]


def excess(m, lam, seed):
    """Excess risk of one fit on m rows."""
    rng = np.random.default_rng(seed)
    X = rng.random((m, 5))
    ranker = fitted(X, best(X) + 0.5 * rng.standard_normal(m), lam, seed)
    return 2 * np.var(best(NEW) - ranker.predict(NEW))


NEW = np.random.default_rng(99).random((4000, 5))
sizes = np.array([20, 40, 80, 160, 320, 640, 1280, 2560])
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for lam in (1e-3, 1e-5):
    curve = np.array(
        [np.mean([excess(m, lam, seed) for seed in range(10)]) for m in sizes]
    )
    steps = np.diff(np.log(curve)) / np.diff(np.log(sizes))
    print(
        f"lambda = {lam:g}: exponent of m from size to size {np.round(steps, 2)}"
    )
    axes.loglog(
        sizes,
        curve,
        "o-",
        color=light("accent" if lam == 1e-3 else "worse"),
        label=f"excess risk, λ = {lam:g}",
    )
axes.loglog(
    sizes, 2 * rate(sizes), "--", color=light("muted"), label="2 √(log m / m)"
)
axes.set(
    xlabel="training rows m",
    ylabel="excess MSD",
    title="A known function of five features",
)
axes.legend()
print(
    f"√(log m / m): {np.round(np.diff(np.log(rate(sizes))) / np.diff(np.log(sizes)), 2)}"
)

# %%
# On compounds
# ------------
# Where the DHFR set is at hand, the paper's Figure 1: MSD of the test compounds, mean of ten
# random training sets, and least-squares fits of two rates to it.
try:
    dhfr = load_qsar("dhfr")
except FileNotFoundError as error:
    print(f"DHFR is not here: {error}")
else:
    X = (dhfr.X - dhfr.X.min(axis=0)) / np.ptp(dhfr.X, axis=0)
    sizes = np.arange(10, len(dhfr.train), 10)
    curve = np.zeros(len(sizes))
    for seed in range(10):
        drawn = np.random.default_rng(seed).permutation(dhfr.train)
        for i, m in enumerate(sizes):
            ranker = fitted(
                X[drawn[:m]], dhfr.y[drawn[:m]], 1e-2, seed, n_draws=5
            )
            error = dhfr.y[dhfr.test] - ranker.predict(X[dhfr.test])
            curve[i] += 2 * np.var(error) / 10
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.plot(sizes, curve, "o", color=light("ink"), label="test MSD, λ = 0.01")
    shapes = {"√(log m / m)": rate(sizes), "1/m": 1 / sizes}
    for colour, (label, shape) in zip(
        ("accent", "worse"), shapes.items(), strict=True
    ):
        design = np.column_stack([np.ones(len(sizes)), shape])
        a, b = np.linalg.lstsq(design, curve, rcond=None)[0]
        off = np.sqrt(np.mean((design @ [a, b] - curve) ** 2))
        print(f"DHFR: MSD = {a:.2f} + {b:.1f} {label}, off by {off:.2f}")
        axes.plot(
            sizes,
            design @ [a, b],
            "--",
            color=light(colour),
            label=f"{a:.2f} + {b:.1f} {label}",
        )
    constant = 2 * np.var(dhfr.y[dhfr.test])
    print(
        f"DHFR: MSD of a constant {constant:.2f}, of the last fit {curve[-1]:.2f}"
    )
    axes.axhline(
        constant, color=light("muted"), linewidth=1, label="a constant"
    )
    axes.set(xlabel="training compounds m", ylabel="MSD", title="DHFR")
    axes.legend()
plt.show()
