"""The start from a share of many parts: quicker, and the same solution."""

import itertools

import numpy as np
import pytest

from rankwise.losses.pairwise_hinge import PairwiseHinge
from rankwise.runtime.progress import TimeLimitError, limit_time
from rankwise.solvers.newton import score_newton
from rankwise.solvers.newton.score_newton import LinearRows, ScoreNewton

N_QUERIES, SIZE, N_COLUMNS = 160, 12, 5


@pytest.fixture
def rows() -> LinearRows:
    """Forty parts of four queries each."""
    rng = np.random.default_rng(0)
    n = N_QUERIES * SIZE
    X = rng.standard_normal((n, N_COLUMNS))
    noisy = X @ rng.standard_normal(N_COLUMNS) + rng.standard_normal(n)
    y = np.digitize(noisy, [-1.0, 0.5, 2.0])
    indptr = np.arange(N_QUERIES + 1) * SIZE
    table = np.tril(np.ones((4, 4)), -1)
    hinge = PairwiseHinge(indptr, y, np.ones(n), np.ones(N_QUERIES), table, np.zeros(n))
    return LinearRows(X, hinge, part_rows=4 * SIZE)


def test_start_changes_steps_and_not_the_solution(rows, monkeypatch):
    assert len(rows.parts) >= score_newton.MANY_PARTS
    newton = ScoreNewton(tol=1e-12)
    with_start = newton.path(rows, np.array([0.1]))[0]
    monkeypatch.setattr(score_newton, "MANY_PARTS", 10**6)
    without = newton.path(rows, np.array([0.1]))[0]
    assert with_start.n_iter < without.n_iter
    assert with_start.objective == pytest.approx(without.objective, rel=1e-11)
    np.testing.assert_allclose(with_start.x, without.x, rtol=0, atol=1e-5)


def test_share_holds_the_rows_of_its_parts(rows):
    share = rows.every(8)
    w = np.arange(1.0, N_COLUMNS + 1)
    wanted = np.concatenate([rows.scores(w)[place] for place, _, _ in rows.parts[::8]])
    np.testing.assert_array_equal(share.scores(w), wanted)
    places = [place for place, _, _ in share.parts]
    assert places == [slice(SIZE * 4 * k, SIZE * 4 * (k + 1)) for k in range(len(places))]


def test_share_knows_its_own_spread(rows):
    per_row = rows.spread / rows.n_samples  # known before the share is taken
    share = rows.every(8)
    np.testing.assert_allclose(share.spread / share.n_samples, per_row, rtol=1e-12)


def test_share_takes_another_loss_of_all_rows(rows):
    share = rows.every(8)
    scores = np.linspace(-1.0, 1.0, share.n_samples)
    value, slopes = share.value_grad(scores)
    again, same = share.with_loss(rows.loss).value_grad(scores)
    assert again == value
    np.testing.assert_array_equal(same, slopes)


def test_a_time_limit_ends_the_path_at_the_penalties_solved(rows):
    Cs, newton = np.array([10.0, 0.01, 1.0, 0.1]), ScoreNewton(tol=1e-8)
    whole = newton.path(rows, Cs)
    for patience in range(10**6):
        asked = itertools.count(1)
        # Seconds left: one less at every question.
        with limit_time(lambda asked=asked, most=patience: most - next(asked)) as limit:
            try:
                cut = newton.path(rows, Cs)
            except TimeLimitError:
                assert limit.is_reached
                continue
        break
    assert limit.is_reached
    assert patience > 1
    np.testing.assert_array_equal([result.converged for result in cut], [False, True, False, False])
    for result in cut:
        np.testing.assert_array_equal(result.x, whole[1].x)
    with limit_time(lambda: 1.0) as limit:
        assert [result.objective for result in newton.path(rows, Cs)] == [
            result.objective for result in whole
        ]
    assert not limit.is_reached
