"""Orders against lists of all possible choices, published values and paired comparisons."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import rankwise
from rankwise.preferences import Orders, PairwisePreferences, PlackettLuce, read_orders
from rankwise.preferences.plackett_luce import ChoiceLikelihood
from rankwise.structure.state_rules import structure_of
from tests.preferences import naive
from tests.preferences.published import list_puddings

M = 5


def make_orders(seed, n=40, tie=0.0, partial=False):
    """Orders (groups of items, weight); neighbours tie with a probability."""
    rng = np.random.default_rng(seed)
    orders = []
    for _ in range(n):
        size = rng.integers(2, M + 1) if partial else M
        groups = []
        for item in rng.permutation(M)[:size].tolist():
            if groups and rng.random() < tie and len(groups[-1]) < 3:
                groups[-1].append(item)
            else:
                groups.append([item])
        orders.append((groups, int(rng.integers(1, 4))))
    return orders


def lists(orders):
    return [[tuple(f"m{item}" for item in group) for group in groups] for groups, _ in orders]


def weights(orders):
    return [weight for _, weight in orders]


def tie_sizes(orders):
    return sorted({len(group) for groups, _ in orders for group in groups} - {1})


def parameters(model):
    return np.concatenate([model.strengths_, model.effects_])


@pytest.mark.parametrize(
    ("tie", "partial", "unlisted", "alpha"),
    [
        (0.0, False, "absent", 0.0),
        (0.0, True, "absent", 0.4),
        (0.0, True, "last", 0.0),
        (0.3, False, "absent", 0.0),
        (0.3, True, "last", 0.2),
        (0.3, True, "absent", 0.0),
    ],
)
def test_estimates_and_covariances_are_those_of_the_definition(tie, partial, unlisted, alpha):
    orders = make_orders(2, tie=tie, partial=partial)
    sizes = tie_sizes(orders)
    assert sizes == ([2, 3] if tie else [])
    everyone = range(M) if unlisted == "last" else ()

    def loss(theta):
        return naive.order_loss(theta, orders, M, sizes, everyone)

    def penalised(theta):
        return loss(theta) + 0.5 * alpha * theta[:M] @ theta[:M]

    data = {"X": lists(orders), "sample_weight": weights(orders)}
    model = PlackettLuce(unlisted, alpha=alpha).fit(**data)
    found = naive.minimise(loss, np.zeros(M + len(sizes)), M, alpha)
    np.testing.assert_allclose(parameters(model), found, atol=2e-6)
    assert model.log_likelihood_ == pytest.approx(-loss(found), rel=1e-9)
    assert model.effect_names_.tolist() == [f"tie{size}" for size in sizes]

    theta = parameters(model)
    prior = np.diag([alpha] * M + [0.0] * (len(theta) - M))
    inverse = naive.invert_centred(naive.second_derivatives(penalised, theta), M)
    information = clone(model).set_params(covariance="information").fit(**data)
    np.testing.assert_allclose(information.covariance_, inverse[:M, :M], atol=1e-5)
    np.testing.assert_allclose(information.effect_errors_, np.sqrt(np.diag(inverse)[M:]), atol=1e-5)

    gradients = [
        naive.first_derivatives(
            lambda t, order=order: naive.order_loss(t, [order], M, sizes, everyone), theta
        )
        for order in orders
    ]
    middle = sum(np.outer(g, g) / w for g, w in zip(gradients, weights(orders), strict=True))
    np.testing.assert_allclose(
        model.covariance_, (inverse @ (middle + prior) @ inverse)[:M, :M], atol=1e-5
    )
    judges = np.arange(len(orders)) % 12
    clustered = clone(model).fit(**data, clusters=judges)
    middle = naive.cluster_middle(gradients, judges.tolist())
    np.testing.assert_allclose(
        clustered.covariance_, (inverse @ (middle + prior) @ inverse)[:M, :M], atol=1e-5
    )


def test_derivatives_of_large_ties():
    """Ties of 2, 4 and 5 items, far from the start."""
    orders = [([[0, 1, 2, 3], [4]], 1), ([[4], [0, 1], [2, 3]], 2), ([[0, 1, 2, 3, 4]], 1)]
    games = Orders.from_lists(lists(orders), sample_weight=weights(orders))
    likelihood = ChoiceLikelihood.of(games, unlisted_last=False)
    theta = np.array([30.0, -20.0, 1.0, 0.5, 29.0, 0.3, -1.0, 2.0])

    def loss(t):
        return naive.order_loss(t, orders, M, [2, 4, 5])

    gradient, hessian = likelihood.derivatives(theta)
    assert likelihood.value(theta) == pytest.approx(loss(theta), rel=1e-12)
    np.testing.assert_allclose(gradient, naive.first_derivatives(loss, theta), atol=1e-6)
    np.testing.assert_allclose(hessian, naive.second_derivatives(loss, theta), atol=1e-5)
    np.testing.assert_allclose(likelihood.scores(theta, games.weight).sum(axis=0), gradient)


def test_orders_of_two_are_paired_comparisons():
    pairs, outcomes, numbers = list_puddings()
    orders = [
        [(a, b)] if outcome == 0.5 else [a, b] if outcome else [b, a]
        for (a, b), outcome in zip(pairs, outcomes, strict=True)
    ]
    ours = PlackettLuce().fit(orders, sample_weight=numbers)
    pairwise = PairwisePreferences().fit(pairs, outcomes, sample_weight=numbers)
    np.testing.assert_allclose(parameters(ours), parameters(pairwise), atol=1e-9)
    np.testing.assert_allclose(ours.covariance_, pairwise.covariance_, rtol=1e-9, atol=1e-12)
    assert ours.log_likelihood_ == pytest.approx(pairwise.log_likelihood_)


def test_nascar():
    """Hunter, "MM algorithms for generalized Bradley-Terry models", Annals of Statistics 32 (2004).

    Table 2, and PlackettLuce's vignette, section 2.4: 36 races of 43 of 87 drivers. Four drivers
    (84 to 87) only lost. Austin Cameron (1) is the reference.
    """
    races = np.loadtxt(Path(__file__).parent / "nascar2002.txt", dtype=int)
    assert races.shape == (36, 43)
    with pytest.raises(ValueError, match=r"\{84\}, \{85\}, \{86\}, \{87\} beat no item outside"):
        PlackettLuce().fit(races)
    kept = [[driver for driver in race if driver <= 83] for race in races.tolist()]
    model = PlackettLuce(reference="1").fit(kept)
    strengths = dict(zip(model.items_.tolist(), model.strengths_.round(2).tolist(), strict=True))
    # PJ Jones, Scott Pruett, Mark Martin; Dave Marcis, Dick Trickle, Joe Varde.
    named = {"58": 4.15, "68": 3.62, "51": 2.08, "15": 0.03, "17": -0.31, "40": -0.15}
    assert {driver: strengths[driver] for driver in named} == named
    assert model.n_comparisons_.sum() == sum(map(len, kept))


def test_a_network_of_three():
    """PlackettLuce's vignette, section 2.4: summary(mod)."""
    orders = ["A > B", "C > A", "B > A", "B > C"]
    model = PlackettLuce(reference="A", covariance="information").fit(orders)
    np.testing.assert_allclose(model.strengths_, [0, 0.8392, 0.4196], atol=5.1e-5)
    np.testing.assert_allclose(model.standard_errors_, [0, 1.3596, 1.5973], atol=5.1e-5)
    assert -2 * model.log_likelihood_ == pytest.approx(5.1356, abs=5.1e-5)
    with pytest.raises(ValueError, match=r"\{A, B, C\} lost to no item .*\{D\} beat no item"):
        PlackettLuce().fit([*orders, "A > B > C > D"])


def test_the_best_of_a_list_beat_all_others():
    """A choice of the best two of four, against the same choices as comparisons with all."""
    orders = [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"], ["a", "c"]]
    top = PlackettLuce("last").fit(orders)
    expected = naive.minimise(
        lambda theta: naive.order_loss(
            theta, [([["abcd".index(x)] for x in order], 1) for order in orders], 4, [], range(4)
        ),
        np.zeros(4), 4, 0.0,
    )  # fmt: skip
    np.testing.assert_allclose(top.strengths_, expected, atol=1e-6)
    with pytest.raises(ValueError, match=r"\{a\} lost to no item"):
        PlackettLuce("last").fit([["a", "b"], ["a", "c"], ["a", "d"], ["a", "b"]])


def test_a_weight_is_repetition():
    orders = make_orders(4, tie=0.2, partial=True)
    repeated = [(groups, 1) for groups, weight in orders for _ in range(weight)]
    weighted = PlackettLuce().fit(lists(orders), sample_weight=weights(orders))
    plain = PlackettLuce().fit(lists(repeated))
    np.testing.assert_allclose(parameters(weighted), parameters(plain), atol=1e-9)
    np.testing.assert_allclose(weighted.covariance_, plain.covariance_, rtol=1e-8, atol=1e-12)


def test_forms_of_orders_are_alike(tmp_path):
    orders = make_orders(5, n=12, tie=0.3, partial=True)
    named = Orders.from_lists(lists(orders))
    ranks = np.full((len(orders), M), np.nan)
    rows = []
    for number, (groups, _) in enumerate(orders):
        for place, group in enumerate(groups):
            for item in group:
                ranks[number, item] = 10 * place + 1
                rows.append((f"o{number:02d}", f"m{item}", 2.5 * place))
    text = "\n\n".join(" > ".join(" = ".join(group) for group in order) for order in lists(orders))
    (tmp_path / "orders.txt").write_text(text)
    frame = pd.DataFrame(rows, columns=["order", "item", "rank"])
    frame.to_csv(tmp_path / "orders.csv", index=False)
    items = [f"m{item}" for item in range(M)]
    forms = [
        Orders.from_lists(text.split("\n\n")),
        Orders.from_ranks(ranks, items),
        Orders.from_ranks(pd.DataFrame(np.nan_to_num(ranks), columns=items)),
        read_orders(tmp_path / "orders.txt"),
        read_orders(tmp_path / "orders.csv"),
        read_orders(frame.sample(frac=1, random_state=0).sort_values("order", kind="stable")),
        read_orders(pl.from_pandas(frame)),
    ]
    for form in forms:
        assert form.items.tolist() == named.items.tolist()
        np.testing.assert_array_equal(form.indptr, named.indptr)
        np.testing.assert_array_equal(form.stage, named.stage)
        for ours, expected in ((form, named), (named, form)):
            key, other = (
                {*zip(o.order.tolist(), o.stage.tolist(), o.item.tolist(), strict=True)}
                for o in (ours, expected)
            )
            assert key == other


def test_weights_and_clusters_of_tables():
    frame = pd.DataFrame(
        {"race": ["x", "y", "x", "y"], "team": list("abba"), "place": [1, 1, 2, 2],
         "sample_weight": [2, 1, 2, 1], "judge": ["j", "k", "j", "k"]}
    )  # fmt: skip
    orders = read_orders(frame, clusters=["judge"])
    assert orders.weight.tolist() == [2, 1]
    renamed = read_orders(frame.rename(columns={"sample_weight": "weight"}))
    assert renamed.weight.tolist() == [2, 1]
    assert read_orders(frame, sample_weight=False).weight.tolist() == [1, 1]
    assert orders.clusters.tolist() == [[0], [1]]
    assert orders.items[orders.item].tolist() == ["a", "b", "b", "a"]
    with pytest.raises(ValueError, match=r"'judge' must be constant within an order.*at row 2"):
        read_orders(frame.assign(judge=["j", "k", "k", "k"]), clusters=["judge"])
    with pytest.raises(ValueError, match="'sample_weight' must be constant within an order"):
        read_orders(frame.assign(sample_weight=[2, 1, 1, 1]))


@pytest.mark.parametrize(
    ("orders", "said"),
    [
        ([], "at least one order, got none"),
        ([["a", "b"], ["a"]], "must have two items or more, got 1 at row 1"),
        ([["a", "b"], ["a", "b", ("c", "a")]], "must name an item once, got 'a' twice at row 1"),
        (["a > b", "a >"], "must read 'a > b = c', got 'a >' at row 1"),
        ([["a", "b"], ["a", ""]], "items must not be missing, got '' at row 1"),
        ([["a", "b"], 7], "must be a list of items or text, got int at row 1"),
    ],
)
def test_wrong_orders_are_named(orders, said):
    with pytest.raises((TypeError, ValueError), match=said):
        PlackettLuce().fit(orders)


def test_wrong_files_and_arguments_are_named(tmp_path):
    (tmp_path / "orders.txt").write_text("a > b\n\nb > b\n")
    with pytest.raises(ValueError, match=r"'b' twice at .*orders\.txt, line 3"):
        PlackettLuce().fit(tmp_path / "orders.txt")
    (tmp_path / "orders.txt").write_text("\n")
    with pytest.raises(ValueError, match=r"orders\.txt is empty"):
        PlackettLuce().fit(str(tmp_path / "orders.txt"))
    (tmp_path / "orders.txt").write_bytes(b"\xff > a")
    with pytest.raises(ValueError, match=r"orders\.txt is not UTF-8 text"):
        PlackettLuce().fit(str(tmp_path / "orders.txt"))
    with pytest.raises(ValueError, match="ranks must be numbers of shape"):
        Orders.from_ranks([[1, 2], [2, 1]])
    orders = Orders.from_lists(["a > b", "b > a"])
    with pytest.raises(ValueError, match=r"X holds orders .* got clusters as well"):
        PlackettLuce().fit(orders, clusters=[1, 2])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"clusters": ["judge"], "sample_weight": "w"}, r"clusters, sample_weight\."),
        ({"order": "ballot", "item": "zzz", "rank": "place"}, r"order, item, rank\."),
        ({"sample_weight": False}, None),
    ],
)
def test_lines_of_text_have_no_columns(tmp_path, options, said):
    path = tmp_path / "orders.txt"
    path.write_text("a > b\nb > a\n")
    if said is None:
        assert len(read_orders(path, **options)) == 2
        return
    with pytest.raises(ValueError, match=rf"orders\.txt has one order per line .* got {said}"):
        read_orders(path, **options)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_ties_alone_have_no_estimate(alpha):
    """Advice names only what the model has."""
    orders = [[("a", "b")], [("b", "c")]] * 3
    with pytest.raises(ValueError, match=r"changing: tie2\. Break some ties, or, .* alpha > 0"):
        PlackettLuce(alpha=alpha).fit(orders)


def test_zero_weights_leave_out_items():
    orders = Orders.from_lists(["a > b", "c > a", "b > a"], sample_weight=[1, 0, 1])
    assert orders.items.tolist() == ["a", "b"]
    assert orders.item.tolist() == [0, 1, 1, 0]
    assert orders.indptr.tolist() == [0, 2, 4]


def test_saved_models_load(tmp_path):
    orders = make_orders(6, tie=0.3)
    model = PlackettLuce().fit(lists(orders))
    loaded = rankwise.load(model.save(tmp_path / "model"))
    assert loaded.rank_intervals().high.tolist() == model.rank_intervals().high.tolist()
    assert vars(model).keys() - {*model.get_params()} == structure_of(PlackettLuce).keys()


def test_only_ascii_blanks_separate_items(tmp_path):
    lines = ["\u00a0a >  b\t= c ", "c > a"]
    (tmp_path / "orders.txt").write_text("\n".join(lines) + "\r\n", encoding="utf-8")
    for orders in (Orders.from_lists(lines), read_orders(tmp_path / "orders.txt")):
        assert set(orders.items) == {"\u00a0a", "a", "b", "c"}


@pytest.mark.parametrize("given", [None, 3])
def test_what_holds_no_orders_is_named(given):
    with pytest.raises(TypeError, match=f"orders must be lists of items, got {given}"):
        PlackettLuce().fit(given)


def test_a_penalty_that_puts_items_tied_for_first_below_the_next_is_warned_of():
    with pytest.warns(UserWarning, match="alpha=1 puts a, b below items that no order"):
        model = PlackettLuce(alpha=1.0).fit(["a = b > c > d > e"])
    assert model.strengths_[:3].round(3).tolist() == [0.268, 0.268, 0.304]
    ranks = model.rank_intervals()
    assert (ranks.low <= ranks.rank).all()
    assert (ranks.rank <= ranks.high).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".+ (won|lost) all comparisons")
        lower = PlackettLuce(alpha=0.1).fit(["a = b > c > d > e"])
        PlackettLuce(alpha=1.0).fit(["a > b > c", "b > c"])
    assert lower.strengths_[:3].round(3).tolist() == [1.543, 1.543, 0.76]
