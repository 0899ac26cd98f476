"""Interleaving: fair drafts, unbiased credits, and tests that err as rarely as they say."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from rankwise.clicks import ClickLog, interleave, interleaving_test


def ranked(*documents):
    return {"q": {d: float(len(documents) - i) for i, d in enumerate(documents)}}


def naive_draft(a, b, coins):
    """Team draft of two lists: one coin for each round; no team if both pick the same documents.

    Rounds end where one of the orders leaves a team without a document; the rest follows by rank.
    """
    merged, teams = [], []
    coins = iter(coins)
    while True:
        left = [[d for d in r if d not in merged] for r in (a, b)]
        if not all(left) or any(not set(left[i]) - {left[1 - i][0]} for i in (0, 1)):
            rest = [d for pair in zip(a, b, strict=True) for d in pair if d not in merged]
            rest = list(dict.fromkeys(rest))
            return merged + rest, teams + [""] * len(rest)
        order = "ab" if next(coins) else "ba"
        left = [[d for d in r if d not in merged] for r in (a, b)]
        order = order if left[0][:2] != left[1][:2] else "  "
        if order == "  ":
            teams += [""] * len(left[0][:2])
            merged += left[0][:2]
            continue
        for team in order:
            free = [d for d in (a if team == "a" else b) if d not in merged]
            if free:
                merged.append(free[0])
                teams.append(team)
    return merged, teams


def test_every_team_draft_is_one_of_the_coins():
    a, b = list("pqxyzuv"), list("pqyvwxz")
    possible = {
        (tuple(merged), tuple(teams))
        for coins in itertools.product([0, 1], repeat=7)
        for merged, teams in [naive_draft(a, b, coins)]
    }
    seen = set()
    for seed in range(300):
        merged = interleave(ranked(*a), ranked(*b), random_state=seed)
        assert merged.place.tolist() == list(range(1, len(merged) + 1))
        seen.add((tuple(merged.doc_ids.tolist()), tuple(merged.team.tolist())))
    assert seen == possible


def test_credit_ends_with_the_shorter_list():
    for seed in range(20):
        merged = interleave(ranked("x", "y"), ranked("y", "z", "u", "v"), random_state=seed)
        credited = merged.doc_ids[merged.team != ""]
        assert set(credited.tolist()) == {"x", "y"}
        assert merged.doc_ids[merged.team == ""].tolist() == ["z", "u", "v"]
        assert not merged.credit[merged.team == ""].any()


def test_teams_get_the_same_places():
    """One document against another, and 10 documents against others and 10 more."""
    for size, more in ((1, 0), (10, 10)):
        lists = [ranked(*[f"{name}{i:02}" for i in range(size + more * k)])
                 for k, name in enumerate("xy")]  # fmt: skip
        wins = np.zeros(2 * size + more)
        n = 2000
        rng = np.random.default_rng(0)
        for _ in range(n):
            merged = interleave(*lists, random_state=rng)
            wins += (merged.team == "a").astype(float) - (merged.team == "b")
        assert (np.abs(wins[: 2 * size]) < 4 * np.sqrt(n)).all()
        assert not wins[2 * size :].any()


def test_rounds_that_all_orders_fill_alike_have_no_team():
    """Their credit would be a coin: the mean over teams of the same list is 0."""
    merged = interleave(ranked(*"xyzuv"), ranked(*"xyuzv"), random_state=0)
    assert merged.team[:2].tolist() == ["", ""]
    assert sorted(merged.team[2:4].tolist()) == ["a", "b"]
    assert not merged.credit[:2].any()
    same = interleave(*[ranked(*"xyz")] * 3, random_state=0)
    assert same.doc_ids.tolist() == list("xyz")
    assert not same.credit.any()


@pytest.mark.parametrize("lists", [("xyz", "wxy"), ("xyzu", "zwvx"), ("xyz", "uxw", "yzx")])
def test_teams_get_the_same_places_if_lists_overlap(lists):
    """A shifted list is used up before the other one, whose rest must not count."""
    rng = np.random.default_rng(0)
    n, looks = 3000, np.zeros((3000, len(lists)))
    for i in range(n):
        merged = interleave(*[ranked(*documents) for documents in lists], random_state=rng)
        looks[i] = (merged.credit / merged.place[:, None]).sum(axis=0)
    difference = looks[:, 1:] - looks[:, :1]
    error = difference.std(axis=0) / np.sqrt(n)
    assert (np.abs(difference.mean(axis=0)) < 4 * error + 1e-12).all()


def test_three_systems_draft():
    counts = dict.fromkeys("abc", 0)
    for seed in range(300):
        merged = interleave(
            ranked("x", "y", "z"), ranked("y", "z", "x"), ranked("z", "x", "y"), k=1,
            random_state=seed,
        )  # fmt: skip
        counts[str(merged.team[0])] += 1
        assert merged.credit.shape == (1, 3)
    assert min(counts.values()) > 60


def test_balanced_lists_alternate():
    a, b = ranked("x", "y", "z"), ranked("z", "x", "u")
    seen = set()
    for seed in range(30):
        merged = interleave(a, b, method="balanced", random_state=seed)
        seen.add("".join(merged.doc_ids))
        credit = dict(zip(merged.doc_ids, merged.credit.tolist(), strict=True))
        assert credit == {"x": [1, 0], "y": [1, 0], "z": [0, 1], "u": [0, 1]}
    assert seen == {"xzyu", "zxyu"}


def test_debiased_credit_has_the_mean_of_each_list():
    """With position-based users, a list's credit is on average the clicks that it would get."""
    a, b = ["x", "y", "z", "u"], ["y", "z", "x", "u"]  # b is a, shifted
    appeal = {"x": 0.9, "y": 0.3, "z": 0.6, "u": 0.1}
    v = np.array([1.0, 0.5, 0.3, 0.2])
    mean = np.zeros(2)
    variants = {}
    for seed in range(40):
        merged = interleave(
            ranked(*a), ranked(*b), method="debiased", examination=v, random_state=seed
        )
        variants["".join(merged.doc_ids)] = merged
    assert len(variants) == 2
    for merged in variants.values():
        for place, document, credit in zip(
            merged.place, merged.doc_ids, merged.credit, strict=True
        ):
            mean += credit * v[place - 1] * appeal[str(document)] / 2
    truth = [sum(v[i] * appeal[d] for i, d in enumerate(documents)) for documents in (a, b)]
    np.testing.assert_allclose(mean, truth)


@pytest.mark.parametrize(
    ("runs", "change", "message"),
    [
        (1, {}, "merges two or more runs, got 1"),
        (3, {"method": "balanced"}, "merges two runs, got 3"),
        (2, {"method": "coin"}, "method must be one of 'team_draft'"),
        (2, {"k": 0}, "k must be a whole number >= 1"),
        (2, {"names": ["a", "a"]}, "names must be 2 different names"),
        (2, {"method": "debiased", "examination": []}, "examination must be one number per place"),
        (2, {"examination": [1.0, -1.0]}, "examination must be finite and >= 0, got -1.0 at pl"),
    ],
)
def test_wrong_parameters_are_named(runs, change, message):
    with pytest.raises(ValueError, match=message):
        interleave(*[ranked("x", "y")] * runs, **change)


def test_runs_need_the_same_queries():
    with pytest.raises(ValueError, match="'r' is not in both 'a' and 'b'"):
        interleave({"q": {"x": 1}}, {"q": {"x": 1}, "r": {"x": 1}})


def experiment(rng, n_lists=200, *, a=10, b=10, effect=0.0, heavy=False, n_users=50):
    """Clicks of users with habits of their own on team drafts; credited rows only."""
    user = rng.integers(n_users, size=n_lists)
    if heavy:
        user = np.minimum(rng.pareto(0.7, size=n_lists).astype(int), n_users - 1)
    size = min(a, b)
    coin = rng.random((n_lists, (size + 1) // 2)) < 0.5
    team = np.empty((n_lists, 2 * coin.shape[1]), dtype=bool)
    team[:, ::2], team[:, 1::2] = coin, ~coin
    team = team[:, :size]
    rate = rng.beta(1, 4, size=n_users)[user][:, None]
    click = rng.random((n_lists, size)) < rate * (1 + effect * (team - 0.5))
    return ClickLog.from_columns(
        np.zeros(n_lists * size, dtype=int),
        np.tile(np.arange(size), n_lists),
        np.tile(np.arange(1, size + 1), n_lists),
        click.ravel(),
        session=np.repeat(np.arange(n_lists), size),
        user=np.repeat(user, size),
        arm=np.where(team, "a", "b").ravel(),
    )


@pytest.mark.parametrize(
    "setting", [{"a": 1, "b": 1}, {"a": 10, "b": 20}, {"heavy": True, "a": 3, "b": 3}]
)
def test_errors_are_as_rare_as_the_level(setting):
    rng = np.random.default_rng(0)
    rejected = outside = crossed = 0
    for _ in range(200):
        test = interleaving_test(experiment(rng, **setting), n_resamples=199)
        rejected += test.p_value <= 0.05
        outside += not test.low <= 0 <= test.high
        crossed += not test.sequential_low <= 0 <= test.sequential_high
    assert rejected < 22  # 10 expected, 4 standard deviations
    assert outside < 24
    assert crossed <= outside


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_intervals_hold_with_one_heavy_user(share):
    """Users have tastes of their own, and one of them has most of the lists."""
    rng = np.random.default_rng(0)
    outside = crossed = 0
    for _ in range(150):
        n = 300
        user = np.where(rng.random(n) < share, 0, rng.integers(1, 50, size=n))
        taste = rng.normal(0.5, 0.2, size=50).clip(0, 1)[user]
        first = rng.random(n) < taste
        log = ClickLog.from_columns(
            ["q"] * 2 * n, ["x", "y"] * n, [1, 2] * n, np.c_[first, ~first].ravel(),
            session=np.repeat(np.arange(n), 2), user=np.repeat(user, 2), arm=["a", "b"] * n,
        )  # fmt: skip
        test = interleaving_test(log, n_resamples=1)
        assert test.sequential_low <= test.low
        assert test.sequential_high >= test.high
        assert ("the heaviest has" in str(test)) == (test.effective_users < 30)
        outside += not test.low <= 0 <= test.high
        crossed += not test.sequential_low <= 0 <= test.sequential_high
    assert outside < 19  # 7.5 expected, 4 standard deviations
    assert crossed <= outside


def test_standard_errors_leave_out_every_user_once():
    rng = np.random.default_rng(1)
    log = experiment(rng, heavy=True, n_users=12)
    test = interleaving_test(log, n_resamples=1)
    users = np.unique(log.user.codes)
    means = []
    for user in users:
        rest = log.take(np.flatnonzero(log.user.codes != user))
        means.append(interleaving_test(rest, n_resamples=1).delta)
    variance = ((np.array(means) - test.delta) ** 2).sum() * (len(users) - 1) / len(users)
    assert test.variance == pytest.approx(variance * test.n_lists)


def test_a_difference_is_found_and_planned_for():
    rng = np.random.default_rng(0)
    log = experiment(rng, n_lists=3000, effect=0.4, n_users=500)
    test = interleaving_test(log)
    assert test.p_value < 0.001
    assert test.low > 0
    assert test.sequential_low < test.low
    needed = test.lists_needed(test.delta)
    assert test.lists_needed(test.delta / 2) == pytest.approx(4 * needed, rel=0.01)
    found = [
        interleaving_test(experiment(rng, n_lists=needed, effect=0.4, n_users=500)).low > 0
        for _ in range(60)
    ]
    assert 0.6 < np.mean(found) < 0.95
    flipped = interleaving_test(log, systems=("b", "a"))
    assert flipped.delta == -test.delta
    assert "a minus b" in str(test)


def test_units_by_definition():
    log = ClickLog.from_columns(
        ["q", "q", "q", "r"], ["x"] * 4, [1] * 4, [1, 1, 0, 1], session=[1, 2, 3, 4],
        user=["u", "u", "v", "w"], arm=["a", "a", "b", "b"],
    )  # fmt: skip
    for unit, delta in (("list", 1 / 4), ("query", (2 / 3 - 1) / 2), ("user", (1 + 0 - 1) / 3)):
        assert interleaving_test(log, unit=unit).delta == pytest.approx(delta)
    test = interleaving_test(log)
    assert (test.wins, test.losses, test.ties) == (2, 1, 1)
    # User u has +2, w has -1: of the four sign flips of (2, 1), all are as extreme as 1.
    assert (test.p_value, test.p_exact) == (0.75, 1.0)  # two are more extreme, two as extreme
    worth = replace(log, credit=np.array([[0.5, 0], [1, 0], [0, 1], [0, 3]]), systems=("a", "b"))
    assert interleaving_test(worth).delta == pytest.approx((0.5 + 1 - 3) / 4)


def test_rows_count_by_their_weights():
    """A row of weight 3 is three rows of a list of their own."""
    log = ClickLog.from_columns(
        ["q"] * 4, list("xyxy"), [1, 2, 1, 2], [1, 0, 0, 1], session=[1, 1, 2, 2],
        arm=["a", "b"] * 2, weight=[3, 1, 1, 2],
    )  # fmt: skip
    # Lists weigh 2 and 1.5 impressions of each row; credits are 3 for a and 2 for b.
    assert interleaving_test(log).delta == pytest.approx((3 - 2) / 3.5)


@pytest.mark.parametrize("horizon", [-5, 0, 2.5])
def test_the_horizon_is_a_number_of_users(horizon):
    log = experiment(np.random.default_rng(0))
    with pytest.raises(ValueError, match="horizon must be a whole number >= 1"):
        interleaving_test(log, horizon=horizon)


def test_the_sequential_interval_holds_at_every_look():
    rng = np.random.default_rng(0)
    crossed = 0
    for _ in range(60):
        log = experiment(rng, n_lists=600, n_users=600, a=2, b=2)
        for n in range(100, 601, 50):
            part = log.take(np.flatnonzero(log.session.codes < n))
            test = interleaving_test(part, horizon=300, n_resamples=1)
            if not test.sequential_low <= 0 <= test.sequential_high:
                crossed += 1
                break
    assert crossed <= 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arm": None}, "needs the team of every row"),
        ({"arm": ["a"] * 4}, "systems must be two arms of the log"),
        ({"session": None}, "has no sessions"),
        ({"click": [0] * 4}, "no click is worth more"),
        ({"user": ["u"] * 4}, "needs two users or more"),
    ],
)
def test_wrong_logs_are_refused(change, message):
    columns = {
        "query": ["q"] * 4, "document": list("xyxy"), "place": [1, 2, 1, 2], "click": [1, 0, 0, 0],
        "session": [1, 1, 2, 2], "arm": ["a", "b", "b", "a"],
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        interleaving_test(ClickLog.from_columns(**(columns | change)))
