"""Binary preference: small cases, the mean over the orders of ties, refusals."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from rankwise import RankingData, compare, evaluate
from rankwise.metrics import make_scorer, parse
from rankwise.selection import evaluate_systems


def by_hand(y, judged, retrieved):
    """One query whose rows are in ranked order."""
    n_relevant = sum(j and g >= 1 for g, j in zip(y, judged, strict=True))
    n_other = sum(judged) - n_relevant
    above, total = 0, 0.0
    for grade, known, found in zip(y, judged, retrieved, strict=True):
        if known and found and grade >= 1:
            total += 1 - (min(above, n_relevant) / min(n_relevant, n_other) if above else 0)
        above += known and found and grade < 1
    return total / n_relevant


def test_the_mean_over_orders_is_that_of_all_permutations(rng):
    for _ in range(30):
        n = 6
        scores = rng.integers(0, 2, n) / 2
        y, judged = rng.integers(0, 3, n), rng.random(n) < 0.7
        y[0], judged[0] = 1, True
        retrieved = np.ones(n, dtype=bool)
        retrieved[5] = rng.random() < 0.5
        orders = [
            order
            for order in map(list, permutations(range(n)))
            if (np.diff(np.where(retrieved, scores, -1)[order]) <= 0).all()
        ]
        values = [by_hand(y[order], judged[order], retrieved[order]) for order in orders]
        ends = {"mean": np.mean(values), "worst": min(values), "best": max(values)}
        for ties, wanted in ends.items():
            words = {"retrieved": retrieved, "judged": judged}
            found = evaluate(y, scores, None, f"Bpref(ties={ties})", **words)
            assert found[f"Bpref(ties={ties})"] == pytest.approx(wanted, abs=1e-12), ties


def test_unjudged_rows_do_not_count():
    y, scores = [0, 1, 0, 1], [4, 3, 2, 1]
    judged = [False, True, True, True]
    assert evaluate(y, scores, None, "Bpref", judged=judged)["Bpref"] == 0.5
    assert evaluate(y, scores, None, "Bpref", judged=[True] * 4)["Bpref"] == 0.25
    assert evaluate(y, scores, None, "AP", judged=judged)["AP"] == 0.5


def test_rows_that_do_not_say_which_are_judged_are_refused():
    y, scores, qid = [0, 1, 0, 1] * 2, [4, 3, 2, 1] * 2, [1] * 4 + [2] * 4
    data = RankingData(np.array(scores, float)[:, None], np.array(y, float), qid=np.array(qid),
                       feature_names=["a"])  # fmt: skip

    class First:
        def predict(self, X):
            return X[:, 0]

    for call in (
        lambda: evaluate(y, scores, qid, "Bpref"),
        lambda: evaluate(data, scores, "Bpref", preset="letor3"),
        lambda: evaluate_systems(data, {"a": "column:a"}, measures="Bpref"),
        lambda: make_scorer("Bpref")(First(), data.X, data.y, qid=qid),
        lambda: parse("Bpref").per_query(data.y, data.X[:, 0], data.groups),
        lambda: compare({"a": "column:a"}, data, cv=2, measures="bpref", isolate=False),
    ):
        with pytest.raises(ValueError, match="do not say which are judged"):
            call()


@pytest.mark.parametrize("judged", [[True], [1, 0], [True, None]])
def test_judged_holds_truth_values(judged):
    with pytest.raises(ValueError, match="judged must hold n_samples=2 truth values"):
        evaluate([0, 1], [1, 2], None, "Bpref", judged=judged)
