"""Every likelihood and covariance against loops over the definitions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import rankwise
from rankwise.preferences import Comparisons, PairwisePreferences
from rankwise.structure.state_rules import structure_of
from tests.preferences import naive

M = 4
OUTCOMES = {0: 1.0, 1: 0.5, 2: 0.0}
MODELS = ("davidson", "rao_kupper", "half")


def make_games(seed, n=60, n_covariates=0, ties=True):
    """Games (first, second, outcome, weight, covariates) that connect all items."""
    rng = np.random.default_rng(seed)
    games = []
    for number in range(n):
        first = number % M
        second = (first + 1 + rng.integers(M - 1)) % M
        outcome = int(rng.integers(3) if ties else 2 * rng.integers(2))
        games.append(
            (first, second, outcome, int(rng.integers(1, 4)), rng.normal(size=n_covariates))
        )
    return games


def arrays(games):
    pairs = [(f"m{first}", f"m{second}") for first, second, *_ in games]
    outcomes = [OUTCOMES[outcome] for _, _, outcome, *_ in games]
    weights = [weight for *_, weight, _ in games]
    covariates = np.array([z for *_, z in games])
    return pairs, outcomes, {
        "sample_weight": weights, "covariates": covariates if covariates.size else None,
    }  # fmt: skip


def occurrences(games, clusters):
    """Cluster, item and weight of each item of each game."""
    return [
        (cluster, item, weight)
        for (first, second, _, weight, _), cluster in zip(games, clusters.tolist(), strict=True)
        for item in (first, second)
    ]


def parameters(model):
    return np.concatenate([model.strengths_, model.effects_])


CASES = [
    (ties, order, q, alpha)
    for ties in MODELS
    for order, q, alpha in ((False, 0, 0.0), (True, 0, 0.7), (False, 2, 0.0), (True, 1, 0.3))
]


@pytest.mark.filterwarnings("ignore:clusters .* count as")
@pytest.mark.parametrize(("ties", "order", "q", "alpha"), CASES)
def test_estimates_and_covariances_are_those_of_the_definition(ties, order, q, alpha):
    games = make_games(3, n_covariates=q)
    pairs, outcomes, others = arrays(games)
    has_tie = ties != "half"

    def loss(theta):
        return naive.pair_loss(theta, games, M, ties, order, has_tie)

    def penalised(theta):
        return loss(theta) + 0.5 * alpha * theta[:M] @ theta[:M]

    model = PairwisePreferences(ties, order_effect=order, alpha=alpha).fit(
        pairs, outcomes, **others
    )
    start = np.zeros(M + order + q + has_tie)
    start[-1] = 0.5 if has_tie else 0.0
    found = naive.minimise(loss, start, M, alpha)
    np.testing.assert_allclose(parameters(model), found, atol=2e-6)
    assert model.log_likelihood_ == pytest.approx(-loss(found), rel=1e-9)

    theta = parameters(model)
    prior = np.diag([alpha] * M + [0.0] * (len(theta) - M))
    inverse = naive.invert_centred(naive.second_derivatives(penalised, theta), M)
    information = clone(model).set_params(covariance="information").fit(pairs, outcomes, **others)
    np.testing.assert_allclose(information.covariance_, inverse[:M, :M], atol=1e-5)
    np.testing.assert_allclose(information.effect_errors_, np.sqrt(np.diag(inverse)[M:]), atol=1e-5)

    gradients = [
        naive.first_derivatives(
            lambda t, game=game: naive.pair_loss(t, [game], M, ties, order, has_tie), theta
        )
        for game in games
    ]
    # A weight counts as repetition: w equal gradients, each of the wth part.
    middle = sum(np.outer(g, g) / w for g, (*_, w, _) in zip(gradients, games, strict=True))
    np.testing.assert_allclose(
        model.covariance_, (inverse @ (middle + prior) @ inverse)[:M, :M], atol=1e-5
    )
    judges = np.arange(len(games)) % 11
    clustered = clone(model).fit(pairs, outcomes, **others, clusters=judges)
    middle = naive.cluster_middle(gradients, judges.tolist())
    expected = inverse @ (middle + prior) @ inverse
    np.testing.assert_allclose(clustered.covariance_, expected[:M, :M], atol=1e-5)
    np.testing.assert_allclose(clustered.effect_errors_, np.sqrt(np.diag(expected)[M:]), atol=1e-5)
    expected = naive.effective_clusters(occurrences(games, judges), M) - 1
    assert clustered.degrees_of_freedom_ == pytest.approx(expected)
    assert 4 < expected < 10


@pytest.mark.filterwarnings("ignore:clusters .* count as")
def test_two_ways_of_clustering_add_and_subtract():
    games = make_games(5, n=80)
    pairs, outcomes, others = arrays(games)
    judges, prompts = np.arange(80) % 9, np.arange(80) // 5
    model = PairwisePreferences().fit(
        pairs, outcomes, **others, clusters=np.stack([judges, prompts], axis=1)
    )
    theta = parameters(model)

    def loss_of(some):
        return lambda t: naive.pair_loss(t, some, M, "davidson", False, True)

    gradients = [naive.first_derivatives(loss_of([game]), theta) for game in games]
    both = list(zip(judges.tolist(), prompts.tolist(), strict=True))
    middle = (
        naive.cluster_middle(gradients, judges.tolist())
        + naive.cluster_middle(gradients, prompts.tolist())
        - naive.cluster_middle(gradients, both)
    )
    inverse = naive.invert_centred(naive.second_derivatives(loss_of(games), theta), M)
    values, vectors = np.linalg.eigh(middle)
    middle = vectors @ np.diag(np.maximum(values, 0)) @ vectors.T
    np.testing.assert_allclose(model.covariance_, (inverse @ middle @ inverse)[:M, :M], atol=1e-5)
    few = min(naive.effective_clusters(occurrences(games, way), M) for way in (judges, prompts))
    assert model.degrees_of_freedom_ == pytest.approx(few - 1)


def test_clusters_of_one_comparison_are_no_clusters():
    pairs, outcomes, _ = arrays(make_games(6))
    alone = PairwisePreferences().fit(pairs, outcomes, clusters=np.arange(60))
    plain = PairwisePreferences().fit(pairs, outcomes)
    np.testing.assert_allclose(alone.covariance_, plain.covariance_ * 60 / 59, rtol=1e-9)


def test_equal_clusters_count_fully():
    pairs = [("a1", "b1"), ("b1", "a1"), ("a1", "b1")] * 4
    model = PairwisePreferences().fit(pairs, [1, 1, 0.5] * 4, clusters=np.repeat(np.arange(6), 2))
    assert model.degrees_of_freedom_ == pytest.approx(5)


def test_a_weight_is_repetition_and_the_order_of_rows_does_not_matter():
    games = make_games(7, n_covariates=1)
    repeated = [(*game[:3], 1, game[4]) for game in games for _ in range(game[3])]
    rng = np.random.default_rng(0)
    shuffled = [repeated[row] for row in rng.permutation(len(repeated))]
    fits = []
    for some in (games, shuffled):
        pairs, outcomes, others = arrays(some)
        fits.append(PairwisePreferences().fit(pairs, outcomes, **others))
    np.testing.assert_allclose(parameters(fits[0]), parameters(fits[1]), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fits[0].covariance_, fits[1].covariance_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fits[0].n_comparisons_, fits[1].n_comparisons_)


@pytest.mark.parametrize("ties", MODELS)
def test_exchanged_items_give_the_same_strengths(ties):
    pairs, outcomes, _ = arrays(make_games(8))
    plain = PairwisePreferences(ties).fit(pairs, outcomes)
    turned = PairwisePreferences(ties).fit(
        [(b, a) for a, b in pairs], [1.0 - outcome for outcome in outcomes]
    )
    np.testing.assert_allclose(parameters(plain), parameters(turned), atol=1e-12)


def test_a_reference_shifts_strengths_but_no_rank():
    pairs, outcomes, _ = arrays(make_games(9, n=300))
    centred = PairwisePreferences().fit(pairs, outcomes)
    shifted = PairwisePreferences(reference="m2").fit(pairs, outcomes)
    np.testing.assert_allclose(shifted.strengths_, centred.strengths_ - centred.strengths_[2])
    assert shifted.standard_errors_[2] == 0
    contrast = np.eye(M) - np.eye(M)[2]
    np.testing.assert_allclose(
        shifted.covariance_, contrast @ centred.covariance_ @ contrast.T, atol=1e-12
    )
    assert centred.strengths_.sum() == pytest.approx(0, abs=1e-12)
    ours, others = centred.rank_intervals(), shifted.rank_intervals()
    assert ours.low.tolist() == others.low.tolist()
    assert ours.critical == pytest.approx(others.critical, rel=0.02)


@pytest.mark.parametrize("ties", MODELS)
def test_probabilities_are_those_of_the_definition(ties):
    pairs, outcomes, others = arrays(make_games(10, n_covariates=2))
    model = PairwisePreferences(ties, order_effect=True).fit(pairs, outcomes, **others)
    found = model.predict_proba([("m1", "m3")], covariates=[[0.3, -1.0]])
    order, *slopes = model.effects_
    eta = model.strengths_[1] - model.strengths_[3] + order + 0.3 * slopes[0] - slopes[1]
    if ties == "half":
        first = naive.logistic(eta)
        expected = [first, 0.0, 1 - first]
    else:
        expected = naive.probabilities(ties, eta, model.effects_[-1])
    np.testing.assert_allclose(found, [expected], rtol=1e-12)
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("ties", MODELS)
def test_the_score_is_the_mean_log_likelihood(ties):
    pairs, outcomes, others = arrays(make_games(13, n_covariates=1))
    model = PairwisePreferences(ties, order_effect=True).fit(pairs, outcomes, **others)
    expected = model.log_likelihood_ / sum(others["sample_weight"])
    assert model.score(pairs, outcomes, **others) == pytest.approx(expected)
    with pytest.raises(ValueError, match="covariates must have the 1 columns of fit, got 2"):
        model.score(pairs, outcomes, covariates=np.zeros((len(pairs), 2)))


def test_a_search_chooses_the_penalty():
    """Strong strengths want a weak penalty; without any information, a strong one is best."""
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(M)[:2] for _ in range(200)])
    pairs = np.array([f"m{i}" for i in range(M)], dtype=object)[rows]
    grid = {"alpha": [0.01, 1e4]}
    for spread, best in ((2.0, 0.01), (0.0, 1e4)):
        chance = 1 / (1 + np.exp(spread * (rows[:, 0] - rows[:, 1])))
        outcomes = (rng.random(200) < chance).astype(float)
        search = GridSearchCV(PairwisePreferences(), grid, cv=4).fit(pairs, outcomes)
        assert search.best_params_ == {"alpha": best}


def test_without_ties_all_models_are_bradley_terry():
    pairs, outcomes, _ = arrays(make_games(11, ties=False))
    fits = [PairwisePreferences(ties).fit(pairs, outcomes) for ties in MODELS]
    for model in fits:
        assert model.effect_names_.tolist() == []
        np.testing.assert_allclose(model.strengths_, fits[0].strengths_, atol=1e-12)
        np.testing.assert_allclose(model.predict_proba(pairs[:1])[0, 1], 0)


def test_saved_models_load(tmp_path):
    pairs, outcomes, _ = arrays(make_games(12))
    model = PairwisePreferences().fit(pairs, outcomes)
    loaded = rankwise.load(model.save(tmp_path / "model"))
    assert loaded.rank_intervals().critical == model.rank_intervals().critical
    fitted = vars(model).keys() - {*model.get_params()}
    assert fitted == structure_of(PairwisePreferences).keys()


# What has no estimate is named.


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([("a1", "b1"), ("b1", "c1"), ("c1", "b1")],
         r"\{a1\} lost to no item outside, and \{b1, c1\} beat no"),
        ([("a1", "b1"), ("b1", "a1"), ("c1", "d1"), ("d1", "c1")],
         r"no comparison connects \{a1, b1\}, \{c1, d1\}"),
    ],
)  # fmt: skip
def test_components_are_named(pairs, said):
    with pytest.raises(ValueError, match=said):
        PairwisePreferences().fit(pairs, [1] * len(pairs))


def test_a_penalty_connects_but_warns_of_groups():
    pairs = [("a1", "b1"), ("b1", "a1"), ("c1", "d1"), ("c1", "d1")]
    with pytest.warns(UserWarning, match=r"no comparison connects \{a1, b1\}, \{c1, d1\}"):
        model = PairwisePreferences(alpha=1.0).fit(pairs, [1] * 4)
    np.testing.assert_allclose(model.strengths_[:2], 0, atol=1e-9)
    assert model.strengths_[2] > 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PairwisePreferences(alpha=1.0).fit([("a1", "b1"), ("b1", "c1"), ("c1", "a1")], [1, 1, 1])


@pytest.mark.parametrize(
    ("options", "arguments", "said"),
    [
        ({"order_effect": True}, {"y": [1, 1, 1, 1]}, "order"),
        ({}, {"y": [1, 1, 1, 0], "covariates": [2.0, 1.0, 1.0, -1.0]}, "x0"),
        ({}, {"y": [1, 1, 0, 0], "covariates": [0.0, 0.0, 0.0, 0.0]}, "x0"),
    ],
)
def test_unbounded_effects_are_named(options, arguments, said):
    pairs = [("a1", "b1"), ("b1", "a1"), ("a1", "b1"), ("b1", "a1")]
    with pytest.raises(ValueError, match=rf"no maximum.*{said}"):
        PairwisePreferences(**options).fit(pairs, **arguments)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"y": None}, "y must hold the outcome of every comparison"),
        ({"y": [1, 0]}, "outcomes must have n_comparisons=3 entries, got 2"),
        ({"y": [1, 0, 2]}, "outcomes must be 1 .* got 2 at row 2"),
        ({"y": [1, 0, float("nan")]}, "outcomes must be 1 .* got nan at row 2"),
        ({"y": ["first", "b1", "b1"]}, "one of the two items.*'b1' for 'c1' and 'a1' at row 2"),
        ({"y": ["first", "best", "tie"]}, "winners .*'best' for 'b1' and 'c1' at row 1"),
        ({"X": [("a1", "b1"), ("b1", "b1"), ("c1", "a1")]}, "differ, got 'b1' twice at row 1"),
        ({"X": [("a1", "b1"), ("b1", None), ("c1", "a1")]}, "not be missing, got None at row 1"),
        ({"X": [("a1", "b1"), "b1", ("c1", "a1")]}, "two items per row, got 'b1' at row 1"),
        ({"X": np.zeros((3, 3))}, r"shape \(n_comparisons, 2\), got \(3, 3\)"),
        ({"sample_weight": [1, -1, 1]}, "sample_weight must be >= 0, got -1.0 at row 1"),
        ({"covariates": [1.0, 2.0]}, "covariates must have shape"),
        ({"covariates": [1.0, 2.0, np.nan]}, "covariates must be finite, got .* at row 2"),
        ({"clusters": [1, 1]}, "clusters must have shape"),
        ({"clusters": ["ann", "ann", "ann"]}, "clusters must have at least two distinct ids"),
        ({"clusters": ["ann", "", "bob"]}, "'cluster0' must not be missing, got '' at row 1"),
        ({"reference": "z1"}, "reference must be an item, got 'z1'. Items: a1, b1, c1"),
    ],
)  # fmt: skip
def test_wrong_input_is_named(change, said):
    arguments = {"X": [("a1", "b1"), ("b1", "c1"), ("c1", "a1")], "y": [1, 1, 1]} | change
    model = PairwisePreferences(reference=arguments.pop("reference", None))
    with pytest.raises((TypeError, ValueError), match=said):
        model.fit(**arguments)
    assert not hasattr(model, "items_")


def test_unknown_items_and_wrong_levels_are_named():
    model = PairwisePreferences().fit([("a1", "b1"), ("b1", "a1")], [1, 1])
    with pytest.raises(ValueError, match=r"X must name items of the fit, got 'c1'\. Known: a1, b1"):
        model.predict_proba([("a1", "c1")])
    with pytest.raises(ValueError, match="confidence_level must lie between 0 and 1, got 95"):
        model.rank_intervals(95)


def test_zero_weights_leave_out_items():
    games = Comparisons.from_pairs(
        [("a1", "b1"), ("b1", "a1"), ("c1", "a1")], [1, 1, 1], sample_weight=[1, 1, 0]
    )
    assert games.items.tolist() == ["a1", "b1"]
    assert PairwisePreferences().fit(games).items_.tolist() == ["a1", "b1"]
