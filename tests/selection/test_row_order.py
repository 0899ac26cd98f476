"""Leaderboards do not depend on the order in which values, systems and queries are given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rankwise import leaderboard
from rankwise.datasets import Fold
from rankwise.metrics.significance import (
    compare_to_baseline,
    compare_to_best,
    detectable_difference,
    queries_needed,
)
from rankwise.selection import compare, evaluate_systems
from tests.selection.helpers import Column, graded_data


def long_table(rng, n_units=40, n_runs=1):
    """Values of five systems, with ties; units lie in three strata."""
    level = {name: 0.1 * i for i, name in enumerate(["e", "b", "ä", "d", "a"])}
    return [
        {"system": name, "unit": f"u{u}", "seed": str(r), "group": f"g{u % 3}",
         "pair": f"p{u // 2}", "score": float(np.round(level[name] + shift + rng.normal(), 1))}
        for u in range(n_units) for shift in [rng.normal()] for name in level for r in range(n_runs)
    ]  # fmt: skip


def frame_of(rows):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(rows)


@pytest.mark.parametrize("options", [
    {}, {"stratum": "group"}, {"cluster": "pair"}, {"missing": "pairs"}, {"test": "wilcoxon"},
    {"test": "randomization"}, {"run": "seed"}, {"baseline": "a"}, {"greater_is_better": False},
])  # fmt: skip
def test_rows_of_a_long_table_may_stand_in_any_order(rng, options):
    rows = long_table(rng, n_runs=3 if "run" in options else 1)
    if options.get("missing"):
        rows = rows[7:]
    ignore = {
        "ignore": [name for name in ("seed", "group", "pair") if name not in options.values()]
    }
    boards = [
        leaderboard(frame_of(list(rng.permutation(rows))), **ignore, **options) for _ in range(3)
    ]
    first = boards[0].rows()
    assert all(row["rank"] for row in first)
    exact = not {"run", "cluster"} & {*options}  # means are rounded by the order of their values
    for board in boards[1:]:
        for ours, theirs in zip(board.rows(), first, strict=True):
            for what in ("ranker", "rank_low", "rank_high", "letters"):
                assert ours[what] == theirs[what]
            for what in ("mean", "low", "high", "diff_low", "p", "p_corrected"):
                assert ours[what] == (theirs[what] if exact else pytest.approx(theirs[what]))
        assert board.detectable_difference() == pytest.approx(
            boards[0].detectable_difference(), rel=1e-12 if exact else 1e-6
        )


def test_systems_may_stand_in_any_order(rng):
    values = {name: rng.integers(0, 2, 60).astype(float) for name in "abcd"}
    turned = dict(reversed(values.items()))
    for found in (leaderboard(values), leaderboard(turned)):
        assert [row["ranker"] for row in found.rows()] == [
            row["ranker"] for row in leaderboard(values).rows()
        ]
        assert [row["p_corrected"] for row in found.rows()] == [
            row["p_corrected"] for row in leaderboard(values).rows()
        ]


@pytest.mark.parametrize("interval", ["t", "bca"])
@pytest.mark.parametrize("method", ["t", "randomization"])
def test_queries_may_stand_in_any_order(rng, method, interval):
    values = {name: np.round(rng.normal(0.02 * i, 1, 50), 1) for i, name in enumerate("abc")}
    values["b"][3] = np.nan
    strata, order = rng.integers(0, 2, 50), rng.permutation(50)
    other = {name: column[order] for name, column in values.items()}
    words = {"method": method, "interval": interval}
    best, again = (
        compare_to_best(v, strata=s, **words) for v, s in ((values, strata), (other, strata[order]))
    )
    assert list(map(repr, best)) == list(map(repr, again))  # NaN in the best one's own row
    base, again = (compare_to_baseline(v, "b", **words) for v in (values, other))
    assert list(map(repr, base)) == list(map(repr, again))
    assert detectable_difference(values) == detectable_difference(other)
    assert queries_needed(values, 0.3) == queries_needed(other, 0.3)


def test_queries_of_data_may_stand_in_any_order(rng):
    data = replace(graded_data(rng, n_queries=40), doc_ids=None)
    order = rng.permutation(len(data))
    for measure in ("P@3", "nDCG@10"):
        boards = [
            evaluate_systems(rows, {n: rows.X[:, j] for j, n in enumerate("abc")}, measures=measure)
            for rows in (data, data.take(order))
        ]
        one, two = ([row["p_corrected"] for row in board.rows()] for board in boards)
        assert one[1:] == pytest.approx(two[1:], abs=1e-12)


def test_rows_of_given_folds_may_stand_in_any_order(rng):
    data = graded_data(rng, n_queries=40)
    train, test = data.queries(range(10)), data.queries(range(10, 40))
    turned = test.take(rng.permutation(len(test)))
    systems = {name: Column(number) for number, name in enumerate("abc")}
    boards = [
        compare(systems, Fold(train, None, part), measures="nDCG@10", isolate=False)
        for part in (test, turned)
    ]
    one, two = ([row["p_corrected"] for row in board.rows()] for board in boards)
    assert one[1:] == two[1:]
