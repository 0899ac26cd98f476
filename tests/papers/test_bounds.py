"""The bounds of ``examples/plot_bounds.py`` hold what ``docs/bounds.rst`` says of them."""

from __future__ import annotations

import contextlib
import io
import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate

ROOT = Path(__file__).parents[2]
SIZES = [(237, 100), (188, 100)]
LAMBDAS = 10.0 ** np.arange(-5, 2)


@pytest.fixture(scope="module")
def example():
    """Names of the example after its run, and what it printed."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        names = runpy.run_path(str(ROOT / "examples" / "plot_bounds.py"))
    plt.close("all")
    return names, printed.getvalue().splitlines()


def expected_deviation(m, n, radius, reach, factor=1024):
    """Integral of the least of 1 and Lemma 4's bound: what the proof of Theorem 2 bounds."""

    def probability(deviation):
        covers = n * np.log(64 * radius * (1 + 2 * reach) / deviation)
        return np.exp(min(0.0, covers - deviation**2 * m / (factor * (1 + reach) ** 4)))

    end = 100 * (1 + reach) ** 2 * np.sqrt(n / m)
    grid = np.linspace(end / 20_000, end, 20_000)
    assert probability(end) < 1e-12
    return integrate.trapezoid([probability(x) for x in grid], grid) + grid[0]


@pytest.mark.parametrize(("m", "n"), [*SIZES, (50, 100), (5000, 100)])
def test_the_corrected_theorem_follows_from_lemma_4(example, m, n):
    bound = example[0]["theorem_2"]
    assert m * (n * np.log(m) - np.log(n - 1)) >= 16
    for lam in LAMBDAS[::3]:
        reach = np.sqrt(n) / np.sqrt(lam)
        assert expected_deviation(m, n, reach, reach) <= bound(m, n, lam, True)


def test_the_printed_theorem_does_not_with_a_constant_of_one(example):
    lam = 1e-5
    reach = 1 / np.sqrt(lam)
    assert expected_deviation(237, 100, reach, reach) > example[0]["theorem_2"](
        237, 100, lam, False
    )


@pytest.mark.parametrize(("m", "n"), SIZES)
@pytest.mark.parametrize("corrected", [False, True])
def test_both_are_vacuous_for_every_penalty(example, m, n, corrected):
    names = example[0]
    for lam in LAMBDAS:
        risk, most = names["largest"](lam, corrected)
        assert 4.65 < names["theorem_2"](m, n, lam, corrected) / risk < 34.5
        assert 1.9 < names["lemma_4"](m, n, lam, corrected) / most < 7.45


def test_what_is_possible_is(rng):
    """No loss in the ball exceeds (M + 2 reach)^2, and a constant's risk is at most M^2 / 2."""
    n, R = 20, 0.7
    phi = rng.random((100, n))
    beta = rng.standard_normal((n, 200))
    f = phi @ (R * beta / np.linalg.norm(beta, axis=0))
    y = rng.integers(0, 2, 100).astype(float)  # M = 1
    difference = np.subtract.outer(y, y)[None] - (f.T[:, :, None] - f.T[:, None, :])
    assert np.abs(difference).max() <= 1 + 2 * R * np.sqrt(n)
    assert (np.subtract.outer(y, y) ** 2).mean() <= 0.5


def test_the_page_shows_what_the_example_prints(example):
    page = (ROOT / "docs" / "bounds.rst").read_text("utf-8")
    lines = [line for line in example[1] if line.startswith(("set ", "DHFR  ", "COX2  "))]
    lines += [line for line in example[1] if line.endswith(" rows")]
    assert len(lines) == 21
    for line in lines:
        assert f"   {line}\n" in page


def test_curves_fall_faster_than_the_rate(example):
    names = example[0]
    sizes = np.array([160, 320, 640, 1280])
    curve = np.array([np.mean([names["excess"](m, 1e-5, s) for s in range(3)]) for m in sizes])
    exponents = np.diff(np.log(curve)) / np.diff(np.log(sizes))
    rate = np.diff(np.log(names["rate"](sizes))) / np.diff(np.log(sizes))
    assert (exponents < -0.7).all()
    assert (rate > -0.45).all()


def test_the_curve_of_dhfr(example, data_root):
    lines = [line for line in example[1] if line.startswith("DHFR: ")]
    page = " ".join((ROOT / "docs" / "bounds.rst").read_text("utf-8").split())
    assert lines[0] == "DHFR: MSD = 0.67 + 6.9 √(log m / m), off by 0.11"
    assert lines[1] == "DHFR: MSD = 1.84 + 25.1 1/m, off by 0.22"
    assert r"0.67 + 6.9\sqrt{\log m/m}" in page
    assert "1.84 + 25.1/m" in page
    assert lines[2].startswith("DHFR: MSD of a constant 3.71")
