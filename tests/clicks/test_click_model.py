"""Click models against naive twins: one session at a time, and sums over all hidden states."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from rankwise import RankingData
from rankwise.clicks import ClickLog, ClickModel, simulate_clicks
from rankwise.clicks.model_fits import collapse_lists, maximize
from rankwise.clicks.simulation import EXAMINATION

PRIOR = (1.0, 5.0)


def small_log(seed=0, n_sessions=60, n_queries=3, n_documents=5, n_places=4, p=0.4):
    """Lists of different lengths, in random order."""
    rng = np.random.default_rng(seed)
    rows = []
    for session in range(n_sessions):
        query, size = rng.integers(n_queries), rng.integers(1, n_places + 1)
        shown = rng.permutation(n_documents)[:size]
        rows += [(query, d, k, rng.random() < p, session) for k, d in enumerate(shown, 1)]
    query, document, place, click, session = zip(*rows, strict=True)
    return ClickLog.from_columns(query, document, place, click, session=session)


def sessions_of(log):
    """Pair, place and click of the rows of each list."""
    starts = log.lists.indptr
    return [
        [
            (int(log.pairs.code[i]), int(log.place[i]), bool(log.click[i]))
            for i in range(starts[q], starts[q + 1])
        ]
        for q in range(log.n_lists)
    ]


def naive_em(log, by_last_click, steps):
    """Plain EM, one session after the other, each parameter a pair of sums."""
    attraction, examination = {}, {}
    for _ in range(steps):
        a_sums, g_sums = {}, {}
        for session in sessions_of(log):
            last = 0
            for pair, place, click in session:
                slot = (place, last) if by_last_click else place
                a = attraction.get(pair, PRIOR[0] / PRIOR[1])
                g = examination.get(slot, PRIOR[0] / PRIOR[1])
                for sums, key, mine, other in (
                    (a_sums, pair, a, g), (g_sums, slot, g, a)
                ):  # fmt: skip
                    entry = sums.setdefault(key, list(PRIOR))
                    entry[0] += 1 if click else mine * (1 - other) / (1 - a * g)
                    entry[1] += 1
                last = place if click else last
        attraction = {key: num / den for key, (num, den) in a_sums.items()}
        examination = {key: num / den for key, (num, den) in g_sums.items()}
    return attraction, examination


@pytest.mark.parametrize("model", ["pbm", "ubm"])
def test_fifty_plain_steps_equal_the_naive_twin(model):
    log = small_log()
    by_last = model == "ubm"
    attraction, examination = naive_em(log, by_last, 50)
    fitted = ClickModel(
        model, prior=PRIOR, joint_prior=True, tol=0.0, max_iter=50, accelerate=False
    ).fit(log)
    value, chances = 0.0, []
    for session in sessions_of(log):
        last = 0
        for pair, place, click in session:
            p = attraction[pair] * examination[(place, last) if by_last else place]
            chances.append(p)
            value += np.log(p if click else 1 - p)
            last = place if click else last
    np.testing.assert_allclose(fitted.predict_proba(log, given_clicks=True), chances, rtol=1e-10)
    np.testing.assert_allclose(fitted.log_likelihood_, value, rtol=1e-10)
    bits = {}
    for p, place, click in zip(chances, log.place, log.click, strict=True):
        bits.setdefault(int(place), []).append(np.log2(p if click else 1 - p))
    np.testing.assert_allclose(
        fitted.perplexity(log, given_clicks=True),
        [2 ** -np.mean(bits[k]) for k in sorted(bits)],
        rtol=1e-10,
    )


@pytest.mark.parametrize("model", ["pbm", "ubm", "dbn"])
def test_acceleration_finds_the_maximum_of_plain_steps(model):
    log = small_log(1, n_sessions=300)
    options = {"joint_prior": True, "tol": 1e-13, "max_iter": 50_000}
    plain = ClickModel(model, accelerate=False, **options).fit(log)
    fast = ClickModel(model, **options).fit(log)
    assert plain.converged_
    assert fast.converged_
    assert fast.n_iter_ < plain.n_iter_
    np.testing.assert_allclose(fast.log_likelihood_, plain.log_likelihood_, rtol=1e-6)
    np.testing.assert_allclose(fast.predict_proba(log), plain.predict_proba(log), atol=1e-3)


def test_extrapolation_never_lowers_the_objective():
    values = []

    def step(x):
        values.append(float(-((x - 0.7) ** 2).sum()))
        return x + 0.01 * (0.7 - x), values[-1]

    best = maximize(step, np.array([0.1, 0.9]), tol=1e-12, max_iter=10_000)
    np.testing.assert_allclose(best.x, 0.7, atol=1e-4)
    assert best.n_steps < 100
    cycles = values[::3]
    assert all(b >= a - 1e-15 for a, b in pairwise(cycles))


def naive_chain(session, a, s, gamma):
    """Probability of the clicks: sum over who was examined, and which clicks satisfied."""
    total = 0.0
    for bits in product([False, True], repeat=len(session)):  # satisfied after this row
        for bored in product([False, True], repeat=len(session)):
            p, reads = 1.0, True
            for (pair, _, click), satisfied, stops in zip(session, bits, bored, strict=True):
                if not reads:
                    # Hidden states of rows that nobody read are fixed, so that they count once.
                    p *= float(not click and not satisfied and not stops)
                    continue
                p *= a[pair] if click else 1 - a[pair]
                if click:
                    p *= s[pair] if satisfied else 1 - s[pair]
                else:
                    p *= float(not satisfied)
                if satisfied:
                    p *= float(not stops)
                else:
                    p *= 1 - gamma if stops else gamma
                reads = not satisfied and not stops
            total += p
    return total


@pytest.mark.parametrize("gamma", [1.0, 0.7])
def test_chains_equal_sums_over_hidden_states(gamma):
    log = small_log(2, n_sessions=25)
    rng = np.random.default_rng(0)
    n_pairs = len(log.pairs.query)
    a, s = rng.uniform(0.1, 0.9, n_pairs), rng.uniform(0.1, 0.9, n_pairs)
    model = ClickModel("dbn").fit(log)
    model.attractiveness_, model.satisfaction_, model.continuation_ = a, s, gamma
    given, alone = model.predict_proba(log, given_clicks=True), model.predict_proba(log)
    for q, session in enumerate(sessions_of(log)):
        rows = slice(log.lists.indptr[q], log.lists.indptr[q + 1])
        p = np.where(log.click[rows], given[rows], 1 - given[rows])
        np.testing.assert_allclose(p.prod(), naive_chain(session, a, s, gamma), rtol=1e-10)
        for k in range(len(session)):
            click = 0.0
            for clicks in product([False, True], repeat=k):
                imagined = [(r[0], r[1], c) for r, c in zip(session, clicks, strict=False)]
                click += naive_chain([*imagined, (session[k][0], 0, True)], a, s, gamma)
            np.testing.assert_allclose(alone[rows][k], click, rtol=1e-10)


def test_dbn_is_at_a_maximum():
    """No small change of a parameter raises the penalised likelihood of all lists."""
    log = small_log(3, n_sessions=40)
    model = ClickModel("dbn", prior=PRIOR, tol=0.0, max_iter=400).fit(log)
    sessions = sessions_of(log)

    def objective(a, s, gamma):
        x = np.concatenate([a, s, [gamma]])
        value = sum(np.log(naive_chain(session, a, s, gamma)) for session in sessions)
        return value + PRIOR[0] * np.log(x).sum() + (PRIOR[1] - PRIOR[0]) * np.log1p(-x).sum()

    a, s, gamma = model.attractiveness_, model.satisfaction_, model.continuation_
    best = objective(a, s, gamma)
    for shift in (-0.01, 0.01):
        assert objective(a, s, gamma + shift) < best
        for pair in range(3):
            change = np.zeros(len(a))
            change[pair] = shift
            assert objective(a + change, s, gamma) < best
            assert objective(a, s + change, gamma) < best


def test_sdbn_counts_down_to_the_last_click():
    log = ClickLog.from_columns(
        ["q"] * 6, ["a", "b", "c", "a", "b", "c"], [1, 2, 3] * 2, [0, 1, 0, 1, 0, 1],
        session=[1, 1, 1, 2, 2, 2],
    )  # fmt: skip
    model = ClickModel("sdbn", prior=(1.0, 2.0)).fit(log)
    # a: examined twice, clicked once; b: twice, once; c: once, once.
    np.testing.assert_allclose(model.attractiveness_, [2 / 4, 2 / 4, 2 / 3])
    np.testing.assert_allclose(model.satisfaction_, [1 / 3, 2 / 3, 2 / 3])


def test_unconditional_chances_of_the_user_browsing_model():
    log = small_log(4, n_sessions=30)
    model = ClickModel("ubm", prior=PRIOR).fit(log)
    table = np.nan_to_num(model.examination_, nan=0.5)
    model._table = table
    alone = model.predict_proba(log)
    for q, session in enumerate(sessions_of(log)):
        for k in range(len(session)):
            total = 0.0
            for clicks in product([False, True], repeat=k + 1):
                p, last = 1.0, 0
                for (pair, place, _), click in zip(session, clicks, strict=False):
                    chance = model.attractiveness_[pair] * table[place - 1, last]
                    p *= chance if click else 1 - chance
                    last = place if click else last
                total += p * clicks[-1]
            np.testing.assert_allclose(alone[log.lists.indptr[q] + k], total, rtol=1e-9)


def test_equal_lists_are_merged_and_different_ones_are_not():
    log = small_log(5, n_sessions=500, n_queries=2, n_documents=3, n_places=3)
    chains, code, _ = collapse_lists(log)
    naive = {}
    for session in sessions_of(log):
        key = tuple((pair, click) for pair, _, click in session)
        naive[key] = naive.get(key, 0) + 1
    found = {}
    pair = np.unique(code, return_index=True)[1][chains.pair]
    np.testing.assert_array_equal(chains.weight[0], chains.weight[1])
    for k, weight in enumerate(chains.weight[0]):
        rows = slice(chains.indptr[k], chains.indptr[k + 1])
        key = zip(pair[rows].tolist(), chains.click[rows].tolist(), strict=True)
        found[tuple(key)] = weight
    assert found == naive


def test_queries_searched_once_differ_by_name_only():
    """Weights that differ beyond the sixth digit keep such lists apart."""
    rng = np.random.default_rng(8)
    query = np.append(np.arange(80), rng.integers(80, 84, size=20))
    place = np.tile([1, 2, 3], 100)
    click = rng.random(300) < 0.4 / place
    log, apart = (
        ClickLog.from_columns(
            np.repeat(query, 3), np.tile([0, 1, 2], 100), place, click,
            session=np.repeat(np.arange(100), 3), weight=1 + size * np.repeat(np.arange(100), 3),
        )
        for size in (0.0, 1e-9)
    )  # fmt: skip
    patterns = {tuple(row) for row in click.reshape(100, 3)[:80].tolist()}
    chains, _, times = collapse_lists(log)
    assert times.sum() == len(log.pairs.query)
    assert len(times) == 3 * (len(patterns) + len(np.unique(query[80:])))
    assert chains.weight[1].sum() == 100
    assert len(collapse_lists(apart)[2]) == len(log.pairs.query)
    a, b = (ClickModel("dbn", tol=1e-13).fit(each) for each in (log, apart))
    for name in ("attractiveness_", "attractiveness_se_", "satisfaction_", "continuation_"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-5)


def test_weights_are_repetitions():
    log = small_log(6, n_sessions=50)
    twice = [
        np.tile(column, 2) for column in (log.query.codes, log.document.codes, log.place, log.click)
    ]
    session = np.concatenate([log.session.codes, log.session.codes + 1000])
    repeated = ClickLog.from_columns(*twice, session=session)
    weighted = ClickLog.from_columns(
        log.query.codes, log.document.codes, log.place, log.click, session=log.session.codes,
        weight=np.full(len(log), 2.0),
    )  # fmt: skip
    for name in ("ctr", "pbm", "ubm", "sdbn", "dbn"):
        a, b = ClickModel(name).fit(repeated), ClickModel(name).fit(weighted)
        np.testing.assert_allclose(a.log_likelihood_, b.log_likelihood_, rtol=1e-6)
        np.testing.assert_allclose(a.predict_proba(log), b.predict_proba(log), atol=1e-4)


@pytest.mark.parametrize("name", ["pbm", "ubm"])
def test_attractions_are_the_most_likely_ones_given_examinations(name):
    log = small_log(9, n_sessions=200)
    model = ClickModel(name, prior=PRIOR).fit(log)
    slots = [
        (place, last) if name == "ubm" else (place,)
        for session in sessions_of(log)
        for place, last in places_and_last_clicks(session)
    ]
    g = np.array([model.examination_[(s[0] - 1, *s[1:])] for s in slots])

    def objective(a):
        p = np.clip(a[log.pairs.code] * g, 1e-12, 1 - 1e-12)
        value = np.where(log.click, np.log(p), np.log1p(-p)).sum()
        return value + (PRIOR[0] * np.log(a) + (PRIOR[1] - PRIOR[0]) * np.log1p(-a)).sum()

    best = objective(model.attractiveness_)
    for pair in range(len(model.attractiveness_)):
        for factor in (0.99, 1.01):
            other = model.attractiveness_.copy()
            other[pair] *= factor
            assert objective(other) < best


def places_and_last_clicks(session):
    """Place of every row, and that of the last click above it."""
    last = 0
    for _, place, click in session:
        yield place, last
        last = place if click else last


def test_a_known_user_is_found_again():
    rng = np.random.default_rng(0)
    n = 50 * 12
    data = RankingData(
        np.zeros((n, 1)), rng.integers(0, 4, n).astype(float), qid=np.arange(n) // 12
    )
    user = {"model": "pbm", "examination": 0.9 * np.array(EXAMINATION)}
    log = simulate_clicks(data, data.y + rng.normal(size=n), user, n_sessions=30_000, temperature=1)
    model = ClickModel("pbm").fit(log)
    error = np.abs(model.examination_ - EXAMINATION)
    assert error.max() < 0.02
    assert (error[1:] < 4.5 * model.examination_se_[1:]).all()


def test_standard_errors_are_nearly_those_of_maximum_likelihood():
    """Two pairs at two places; second differences of the likelihood of all parameters."""
    log = ClickLog.from_columns(
        ["q"] * 8, list("aaaabbbb"), [1, 1, 2, 2] * 2, [0, 1] * 4,
        weight=[2e5, 8e5, 6e5, 4e5, 6e5, 4e5, 8e5, 2e5],
    )  # fmt: skip
    model = ClickModel("pbm", tol=1e-14).fit(log)

    def value(x):
        click = np.outer(x[:2], [1.0, x[2]]).ravel()
        n, c = np.full(4, 1e6), np.array([8e5, 4e5, 4e5, 2e5])
        return (c * np.log(click) + (n - c) * np.log1p(-click)).sum()

    x, h = np.array([0.8, 0.4, 0.5]), 1e-4
    steps = h * np.eye(3)
    information = -np.array(
        [
            [
                (value(x + u + v) - value(x + u - v) - value(x - u + v) + value(x - u - v))
                / (4 * h * h)
                for v in steps
            ]
            for u in steps
        ]
    )
    expected = np.sqrt(np.diag(np.linalg.inv(information)))
    found = [*model.attractiveness_se_, model.examination_se_[1]]
    np.testing.assert_allclose(found, expected, rtol=0.025)
    assert found[2] > expected[2]


def test_what_a_log_cannot_tell_is_said():
    log = ClickLog.from_columns(
        ["q"] * 4, list("aabb"), [1, 1, 2, 2], [0, 1, 0, 1], session=[1, 2, 1, 2]
    )
    model = ClickModel("pbm").fit(log)
    assert np.isnan(model.examination_se_[1])
    assert "as if documents were alike: 1 | 2" in model.notes_[-1]


def test_unknown_pairs_and_places_have_a_prediction():
    log = small_log(7)
    other = ClickLog.from_columns([0, "new"], [0, 99], [1, 30], [0, 1], session=[0, 0])
    for name in ("ctr", "pbm", "ubm", "sdbn", "dbn"):
        model = ClickModel(name).fit(log)
        p = model.predict_proba(other)
        assert ((p > 0) & (p < 1)).all()
        pair = np.flatnonzero(
            (log.query.names[log.pairs.query] == "0")
            & (log.document.names[log.pairs.document] == "0")
        )
        if name == "ctr":
            np.testing.assert_allclose(
                p, [model.attractiveness_[pair[0]], model.attractiveness_.mean()]
            )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "ccm"}, "model must be one of .ctr."),
        ({"prior": (1.0, 1.0)}, r"prior must be \(clicks, impressions\)"),
        ({"max_iter": 0}, "max_iter >= 1"),
    ],
)
def test_wrong_parameters_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        ClickModel(**change)


def test_models_of_lists_need_sessions():
    log = ClickLog.from_columns(["q"], ["a"], [1], [1])
    with pytest.raises(ValueError, match="has no sessions"):
        ClickModel("dbn").fit(log)


@pytest.mark.parametrize("model", ["ctr", "pbm", "ubm", "sdbn", "dbn"])
@pytest.mark.parametrize("weight", [[1, 1], [1, 0]])
def test_a_log_without_clicks_fits_no_model(model, weight):
    log = ClickLog.from_columns(
        ["q"] * 2, ["a", "b"], [1, 2], [0, 1 - weight[1]], session=[1, 1], weight=weight
    )
    with pytest.raises(ValueError, match="the log holds no click, so no model fits it"):
        ClickModel(model).fit(log)


def test_tables_of_the_ubm_are_bounded():
    log = ClickLog.from_columns(
        ["q"] * 3, ["a", "b", "a"], [1, 3000, 3000], [1, 1, 0], session=[1, 1, 2]
    )
    with pytest.raises(ValueError, match="3000 places, more than 500"):
        ClickModel("ubm").fit(log)


@pytest.mark.parametrize("model", ["ctr", "pbm", "ubm"])
def test_pairs_of_weight_0_move_no_other(model):
    log = small_log(10)
    columns = [
        np.r_[ids.names[ids.codes], ["new"]] for ids in (log.query, log.document, log.session)
    ]
    more = ClickLog.from_columns(
        columns[0], columns[1], np.r_[log.place, 1], np.r_[log.click, True], session=columns[2],
        weight=np.r_[np.ones(len(log)), 0.0],
    )  # fmt: skip
    a, b = ClickModel(model).fit(log), ClickModel(model).fit(more)
    np.testing.assert_allclose(b.predict_proba(log), a.predict_proba(log), rtol=1e-6)


@pytest.mark.parametrize("model", ["ctr", "pbm"])
@pytest.mark.parametrize("rate", [0.02, 0.5])
def test_the_prior_is_that_of_the_pairs(model, rate):
    """Pairs without clicks move to the mean of the log, whatever that is."""
    rng = np.random.default_rng(0)
    pair = np.repeat(np.arange(3000), 2)
    appeal = rng.beta(4 * rate, 4 * (1 - rate), size=3000)
    click = rng.random(6000) < appeal[pair]
    log = ClickLog.from_columns(pair % 50, pair, np.tile([1, 2], 3000), click)
    fitted = ClickModel(model).fit(log)
    np.testing.assert_allclose(fitted.attractiveness_.mean(), rate, rtol=0.25)
    never = np.bincount(log.pairs.code, log.click) == 0
    expected = 4 * rate / 6  # posterior mean after two impressions
    np.testing.assert_allclose(fitted.attractiveness_[never], expected, rtol=0.4)
    given = ClickModel(model, prior=(1.0, 2.0)).fit(log)
    assert given.attractiveness_[never].min() > 0.2
