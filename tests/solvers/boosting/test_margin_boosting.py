"""Boosting of ordinal margins against loops over rows, thresholds and cuts."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from rankwise.solvers.boosting.margin_boosting import LARGEST_STEP, MarginBoosting, class_order
from rankwise.solvers.boosting.perceptron_search import PerceptronSearch
from rankwise.solvers.boosting.rounds import SLACK, run_round
from rankwise.solvers.boosting.stump_search import StumpSearch

FORMS = pytest.mark.parametrize("form", ["all", "lr"])


def naive_thresholds(H, y, w, n_classes, form):
    """Closed forms; out of order ones pooled until none is."""
    pools = []
    for k in range(n_classes - 1):
        low, high = (y <= k, y > k) if form == "all" else (y == k, y == k + 1)
        pools.append([(w * np.exp(H))[low].sum(), (w * np.exp(-H))[high].sum(), 1])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] >= pools[-1][0] * pools[-2][1]:
            below, above, width = pools.pop()
            pools[-1] = [pools[-1][0] + below, pools[-1][1] + above, pools[-1][2] + width]
    return np.concatenate([[0.5 * np.log(a / b)] * m for a, b, m in pools])


def naive_terms(H, y, w, thresholds, form):
    """Terms of the loss that a step up makes smaller, and those that a step down does."""
    k = np.arange(len(thresholds))
    near = (k == y[:, None]) | (k == y[:, None] - 1) | (form == "all")
    above = y[:, None] > k
    terms = w[:, None] * near * np.exp(np.where(above, -1, 1) * (H[:, None] - thresholds))
    return (terms * above).sum(1), (terms * ~above).sum(1)


def naive_boost(X, y, w, n_classes, form, n_rounds):
    """Every cut of every column in every round, first by feature and threshold on ties."""
    H = np.zeros(len(y))
    losses, stumps = [], []
    for _ in range(n_rounds + 1):
        thresholds = naive_thresholds(H, y, w, n_classes, form)
        up, down = naive_terms(H, y, w, thresholds, form)
        losses.append(up.sum() + down.sum())
        best = (0.0,)
        for j in range(X.shape[1]):
            values = np.unique(X[:, j])
            for cut in (values[1:] + values[:-1]) / 2:
                gain = np.where(X[:, j] > cut, up - down, down - up).sum()
                if abs(gain) > best[0] + 1e-12 * losses[-1]:
                    best = (abs(gain), j, cut, 1 if gain > 0 else -1)
        _, j, cut, direction = best
        side = (X[:, j] > cut) == (direction > 0)
        agree = up[side].sum() + down[~side].sum()
        step = 0.5 * np.log(agree / (losses[-1] - agree))
        stumps.append((j, cut, direction, step))
        H += np.where(side, step, -step)
    return stumps[:-1], np.array(losses), thresholds


def boost(X, y, w, n_classes, form, n_rounds, max_bins=255):
    rows, class_ptr = class_order(y.astype(float), n_classes)
    search = StumpSearch(X, rows, max_bins, w)
    boosting = MarginBoosting(class_ptr, w[rows], form)
    stages = []
    for _ in range(n_rounds):
        found = run_round(boosting, search)
        stages.append(found and SimpleNamespace(base=found[0], step=found[1], loss=boosting.loss))
    return stages, boosting


@FORMS
@pytest.mark.parametrize(
    ("values", "max_bins"), [(3, 255), (3, None), (12, 255), (12, None), (400, None)]
)
def test_rounds_are_those_of_loops(form, values, max_bins, rng):
    n = 90 if values < 400 else 400
    X = rng.permuted(np.arange(n * 4.0).reshape(4, n) % values, axis=1).T
    if values == 400:
        X[:, 1] %= 7  # bins beside sorted columns
    y = np.clip(np.round(X[:, 0] * 3 / values + rng.normal(size=n)), 0, 4).astype(int)
    y[:5] = np.arange(5)
    w = rng.integers(1, 4, n).astype(float)
    stages, boosting = boost(X, y, w, 5, form, 25, max_bins)
    stumps, losses, thresholds = naive_boost(X, y, w, 5, form, 25)
    for stage, (feature, cut, direction, step) in zip(stages, stumps, strict=True):
        assert (stage.base.feature, stage.base.direction) == (feature, direction)
        assert stage.base.threshold == cut
        assert stage.step == pytest.approx(step, rel=1e-9)
    np.testing.assert_allclose([s.loss for s in stages], losses[1:], rtol=1e-11)
    np.testing.assert_allclose(boosting.thresholds, thresholds, rtol=1e-9, atol=1e-10)


def brute_gains(X, u):
    """Absolute gain of every cut between the values of every column."""
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for low, high in itertools.pairwise(values):
            yield j, (low + high) / 2, int(np.where(X[:, j] > low, u, -u).sum())


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse", "one column"])
@pytest.mark.parametrize("max_bins", [255, None])
def test_search_finds_the_best_cut_of_all(kind, max_bins, rng):
    for n in (2, 37, 700):
        X = rng.integers(0, 200, (n, 9)).astype(float)
        X[:, 3] = 1.0
        X[:, 4] = np.where(rng.random(n) < 0.8, 0.0, X[:, 4])
        if kind == "one column":
            X = X[:, :1]
        rows = rng.permutation(n)
        u = rng.integers(-(2**40), 2**40, n)
        given = {"float32": X.astype(np.float32), "sparse": sparse.csr_array(X)}.get(kind, X)
        stump = StumpSearch(given, rows, max_bins, None).best(u, int(u.sum()), 0)
        gains = sorted(brute_gains(X[rows], u), key=lambda g: (-abs(g[2]), g[0], g[1]))
        if not gains:
            assert stump is None
            continue
        j, cut, gain = gains[0]
        assert stump is not None
        assert (stump.feature, stump.threshold, stump.gain) == (j, cut, abs(gain))
        assert stump.direction == np.sign(gain)
        assert (stump.side == ((X[rows, j] > cut) == (gain > 0))).all()
        assert stump.gain == np.where(stump.side, u, -u).sum()


def test_first_feature_and_lowest_cut_win_ties(rng):
    column = rng.integers(0, 5, 50).astype(float)
    X = np.stack([np.zeros(50), column, column, -column], axis=1)
    for max_bins in (255, None):
        search = StumpSearch(X, np.arange(50), max_bins, None)
        u = rng.integers(-9, 9, 50)
        stump = search.best(u, int(u.sum()), 0)
        assert stump is not None
        assert stump.feature == 1
        u = np.where(column == 2.0, 5, -1)  # cuts around the value gain the same
        u -= u.sum() // 50
        gains = {cut: abs(g) for j, cut, g in brute_gains(X[:, 1:2], u)}
        stump = search.best(u, int(u.sum()), 10**6)
        assert stump is None
        stump = search.best(u, int(u.sum()), max(gains.values()) - 1)
        assert stump is not None
        assert stump.threshold == min(gains)


@FORMS
def test_order_of_rows_and_threads_change_no_bit(form, rng, monkeypatch):
    n = 9000
    X = rng.normal(size=(n, 50))
    y = np.clip(np.round(X[:, 0] - X[:, 1] + rng.normal(size=n)) + 2, 0, 4).astype(int)
    got = []
    for threads, order in (("1", np.arange(n)), ("2", np.arange(n)), ("3", rng.permutation(n))):
        monkeypatch.setenv("RANKWISE_NUM_THREADS", threads)
        stages, boosting = boost(X[order], y[order], np.ones(n), 5, form, 15)
        got.append([(s.base.feature, s.base.threshold, s.step, s.loss) for s in stages])
        got[-1].append(tuple(boosting.thresholds))
    assert got[0] == got[1] == got[2]


@FORMS
def test_many_rows_go_in_parts(form, rng, monkeypatch):
    X, y = rng.normal(size=(500, 3)), rng.integers(0, 3, 500)
    whole, _ = boost(X, y, np.ones(500), 3, form, 10)
    monkeypatch.setattr("rankwise.solvers.boosting.margin_boosting.ROWS_AT_ONCE", 77)
    parts, _ = boost(X, y, np.ones(500), 3, form, 10)
    assert [s.loss for s in whole] == [s.loss for s in parts]


def test_constant_base_learner_never_wins(rng):
    """At optimal thresholds the signed weights of all rows cancel."""
    for form in ("all", "lr"):
        X, y = rng.normal(size=(200, 2)), rng.integers(0, 4, 200)
        X[:, 1] = 7.0

        class Constant:
            def __init__(self, search):
                self.search = search
                self.gains = []

            def best(self, u, total, slack):
                self.gains.append(abs(total) / max(slack, 1))
                return self.search.best(u, total, slack)

        rows, class_ptr = class_order(y.astype(float), 4)
        watched = Constant(StumpSearch(X, rows, 255, None))
        boosting = MarginBoosting(class_ptr, np.ones(200), form)
        for _ in range(30):
            found = run_round(boosting, watched)
            assert found is not None
            assert found[0].feature == 0
        assert max(watched.gains) < 1.0  # a constant's gain, in units of what counts as equal
        only = StumpSearch(X[:, 1:], rows, 255, None)
        assert run_round(MarginBoosting(class_ptr, np.ones(200), form), only) is None


def test_no_mistakes_give_a_finite_step_and_then_an_end():
    X, y = np.arange(10.0).reshape(-1, 1), np.arange(10) // 5
    stages, boosting = boost(X, y, np.ones(10), 2, "all", 3)
    assert stages[0].step == LARGEST_STEP == pytest.approx(0.5 * np.log(2 / SLACK), rel=1e-6)
    assert stages[0].loss < 1e-5
    assert stages[1:] == [None, None]
    assert boosting.loss == stages[0].loss
    assert np.isfinite(boosting.thresholds).all()


@FORMS
def test_scores_stay_within_the_numbers(form):
    """Separable rows that no single stump separates: steps do not shrink, scores grow for ever."""
    X = np.arange(12.0).reshape(-1, 1)
    y = np.arange(12) // 4
    stages, boosting = boost(X, y, np.ones(12), 3, form, 4000)
    done = [s for s in stages if s is not None]
    assert len(done) < 4000
    assert sum(s.step for s in done) > 600
    losses = np.array([s.loss for s in done])
    assert np.isfinite(losses).all()
    assert (np.diff(losses) <= 0).all()
    assert losses[-1] < 1e-100
    assert np.isfinite(boosting.thresholds).all()


@pytest.mark.parametrize("pocket", [False, True])
def test_perceptron_search_gains_what_it_says(pocket, rng):
    Z = rng.normal(size=(150, 4))
    u = np.round((Z @ [1.0, -2.0, 0.5, 0.0] + 0.3 + rng.normal(size=150)) * 1000).astype(np.int64)
    search = PerceptronSearch(Z, pocket=pocket, n_iter=30, seed=1, first_round=0)
    perceptron = search.best(u, int(u.sum()), 0)
    assert perceptron is not None
    side = Z @ perceptron.coef[:-1] + perceptron.coef[-1] > 0
    assert (perceptron.side == side).all()
    assert perceptron.gain == np.where(side, u, -u).sum()
    assert np.linalg.norm(perceptron.coef[:-1]) == pytest.approx(1)
    best_cut = max(abs(gain) for _, _, gain in brute_gains(Z, u))
    assert perceptron.gain > best_cut
    more = PerceptronSearch(Z, pocket=pocket, n_iter=300, seed=1, first_round=0)
    assert more.best(u, int(u.sum()), 0).gain >= perceptron.gain  # the same draws, and more
    assert search.best(np.zeros(150, np.int64), 0, 0) is None


@pytest.mark.parametrize("pocket", [False, True])
def test_perceptron_search_improves_on_the_difference_of_means(pocket, rng):
    Z = rng.normal(size=(150, 2)) @ [[1.0, 0.95], [0.0, 0.3]]
    u = np.where(Z @ [1.0, -1.0] > 0, 1000, -1000)
    gains = [
        PerceptronSearch(Z, pocket=pocket, n_iter=n_iter, seed=1, first_round=0)
        .best(u, int(u.sum()), 0)
        .gain
        for n_iter in (0, 300)
    ]
    assert gains[0] < 145_000 <= gains[1]


def test_line_search_is_exact(rng):
    from rankwise.kernels.boosting_rounds import search_line

    for n in (1, 2, 9, 40):
        s, d = rng.normal(size=n), rng.normal(size=n) * (rng.random(n) < 0.8)
        if n > 5:
            s[:4], d[:4] = s[0], d[0]  # crossings at one place
        u = rng.integers(-9, 9, n)
        step = search_line(s, d, u, 0, np.empty(n, np.int64), np.empty(n))
        crossings = np.sort(np.unique(-s[d != 0] / d[d != 0]))
        ends = [*(crossings[:1] - 1), *(crossings[-1:] + 1)]
        steps = [0.0, *ends, *((crossings[1:] + crossings[:-1]) / 2)]
        gains = [np.where(s + t * d > 0, u, -u).sum() for t in steps]
        assert np.where(s + step * d > 0, u, -u).sum() == max(gains)
