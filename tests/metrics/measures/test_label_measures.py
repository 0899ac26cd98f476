"""Measures of labels: scikit-learn's values, ties, sparse input, propensities by hand."""

from typing import ClassVar

import numpy as np
import pytest
import sklearn.metrics as peer
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score

from rankwise.metrics import evaluate, evaluate_labels, label_propensities, make_label_scorer

SETS = ["Hamming", "SubsetAccuracy", "F1", "MicroF1", "MacroF1"]
TOP = ["P@1", "P@3", "nDCG(ties=mean,empty=0)@3", "nDCG(empty=0)@5", "OneError", "PSP@3"]


@pytest.fixture(params=["few", "many", "tied"])
def case(request, rng):
    """Labels (rows of none and of all among them), scores and predictions."""
    n, k = (40, 7) if request.param != "many" else (30, 300)
    Y = (rng.random((n, k)) < 0.3).astype(int)
    Y[0], Y[1] = 0, 1
    scores = rng.normal(size=(n, k)) + Y
    if request.param == "tied":
        scores = np.round(scores)
        scores[2] = 0
    return Y, scores, (scores > 0.5).astype(int)


def test_measures_of_sets_are_scikit_learns(case):
    Y, _, predicted = case
    predicted[:, 3] = Y[:, 3] = 0
    predicted[5] = Y[5]
    wanted = {
        "Hamming": peer.hamming_loss(Y, predicted),
        "SubsetAccuracy": peer.accuracy_score(Y, predicted),
        "F1": peer.f1_score(Y, predicted, average="samples", zero_division=0),
        "MicroF1": peer.f1_score(Y, predicted, average="micro", zero_division=0),
        "MacroF1": peer.f1_score(Y, predicted, average="macro", zero_division=0),
        "MacroF1(empty=1)": peer.f1_score(Y, predicted, average="macro", zero_division=1),
    }
    assert wanted["SubsetAccuracy"] > 0
    for kind in (np.asarray, sparse.csr_matrix, sparse.csc_array):
        result = evaluate_labels(kind(Y), None, list(wanted), predicted=kind(predicted))
        assert dict(result) == pytest.approx(wanted, rel=1e-13)
    assert result.per_row["Hamming"] == pytest.approx((predicted != Y).mean(axis=1), rel=1e-13)
    assert "MicroF1" not in result.per_row


def test_measures_of_rankings_are_scikit_learns(case):
    Y, scores, _ = case
    wanted = {
        "LRAP": peer.label_ranking_average_precision_score(Y, scores),
        "RankingLoss": peer.label_ranking_loss(Y, scores),
        "Coverage": peer.coverage_error(Y, scores),
        "nDCG(ties=mean,empty=0)@3": peer.ndcg_score(Y, scores, k=3),
        "nDCG(ties=mean,empty=0)": peer.ndcg_score(Y, scores),
        "nDCG(ties=stable,empty=0)@5": peer.ndcg_score(
            Y, scores - np.arange(Y.shape[1]) * 1e-9, k=5
        ),
    }
    assert dict(evaluate_labels(Y, scores, list(wanted))) == pytest.approx(wanted, rel=1e-12)
    flat = evaluate(Y.ravel(), scores.ravel(), np.repeat(np.arange(len(Y)), Y.shape[1]), "LRAP")
    assert flat["LRAP"] == pytest.approx(wanted["LRAP"], rel=1e-13)


def test_the_top_by_hand(case):
    Y, scores, _ = case
    first = np.argsort(-scores, axis=1, kind="stable")
    hits = np.take_along_axis(Y, first, axis=1)
    specs = ["P(ties=stable)@3", "OneError(ties=stable)", "Misranking(empty=0)", "RankingLoss"]
    result = evaluate_labels(Y, scores, [*specs, "OneError"])
    assert result["P(ties=stable)@3"] == pytest.approx(hits[:, :3].mean(), rel=1e-13)
    error = np.where(Y.any(axis=1), 1 - hits[:, 0], 1)
    assert result["OneError(ties=stable)"] == pytest.approx(error.mean(), rel=1e-13)
    top = scores == scores.max(axis=1, keepdims=True)
    share = np.where(Y.any(axis=1), ((1 - Y) * top).sum(axis=1) / top.sum(axis=1), 1)
    assert result["OneError"] == pytest.approx(share.mean(), rel=1e-13)
    assert result["Misranking(empty=0)"] == pytest.approx(result["RankingLoss"], rel=1e-12)


def test_propensities_and_their_precision(case, rng):
    Y, scores, _ = case
    train = (rng.random((50, Y.shape[1])) < rng.random(Y.shape[1])).astype(int)
    p = label_propensities(train, A=0.5, B=0.4)
    C = (np.log(50) - 1) * 1.4**0.5
    assert p == pytest.approx(1 / (1 + C * np.exp(-0.5 * np.log(train.sum(0) + 0.4))), rel=1e-13)
    assert label_propensities(sparse.csr_array(train), 0.5, 0.4) == pytest.approx(p, rel=1e-13)
    first = np.argsort(-scores, axis=1, kind="stable")[:, :3]
    worth = Y / p
    ours = np.take_along_axis(worth, first, axis=1).sum(axis=1) / 3
    best = -np.sort(-worth, axis=1)[:, :3].sum(axis=1) / 3
    of_best, plain = "PSP(ties=stable)@3", "PSP(normalized=False,ties=stable)@3"
    result = evaluate_labels(Y, scores, [of_best, plain, "PSP@3"], propensity=p)
    assert result[of_best] == pytest.approx(ours.sum() / best.sum(), rel=1e-12)
    assert result.per_row[of_best] == pytest.approx(ours, rel=1e-12)
    assert result[plain] == pytest.approx(ours.mean(), rel=1e-12)
    orders = [rng.permutation(Y.shape[1]) for _ in range(400)]
    drawn = [
        evaluate_labels(Y[:, o], scores[:, o], of_best, propensity=p[o])[of_best] for o in orders
    ]
    error = 5 * np.std(drawn) / 20 + 1e-12
    assert result["PSP@3"] == pytest.approx(np.mean(drawn), abs=error)
    assert evaluate_labels(Y, worth, "PSP@3", propensity=p)["PSP@3"] == pytest.approx(1, rel=1e-12)


def test_sparse_scores_and_blocks_change_nothing(case, monkeypatch):
    Y, scores, _ = case
    p = label_propensities(Y)
    # Every label but the worst of each row is stored; zeros among them are scores.
    worst = scores.argmin(axis=1)
    scores[np.arange(len(Y)), worst] = scores.min() - 1
    wanted = evaluate_labels(Y, scores, TOP, propensity=p)
    stored = sparse.csr_array(scores - scores.min() + 1)
    stored.data -= 1.0 - scores.min()
    full = stored.tocoo()
    kept = full.col != worst[full.row]
    some = sparse.csr_array((full.data[kept], (full.row[kept], full.col[kept])), shape=full.shape)
    again = evaluate_labels(sparse.csr_array(Y), some, TOP, propensity=p)
    assert dict(again) == pytest.approx(dict(wanted), rel=1e-12)
    monkeypatch.setattr("rankwise.metrics.label_evaluation.MOST_CELLS", 3 * Y.shape[1])
    blocked = evaluate_labels(Y, scores, TOP, propensity=p)
    assert dict(blocked) == pytest.approx(dict(wanted), rel=1e-12)


def test_scorers_take_scores_or_sets(rng):
    from rankwise.labels.multi_label.multi_label_classifier import MultiLabel

    class Ridges(MultiLabel):
        _parameter_constraints: ClassVar = {}

        def _fit(self, X, Y, sample_weight):
            self.ridge_ = Ridge().fit(X, Y.toarray())

        def _label_scores(self, X):
            return self.ridge_.predict(X)

    X = rng.normal(size=(60, 4))
    Y = (X @ rng.normal(size=(4, 3)) > 0).astype(int)
    losses = cross_val_score(Ridges(), X, Y, scoring=make_label_scorer("Hamming"), cv=3)
    assert ((losses <= 0) & (losses > -0.2)).all()
    estimator = Ridges().fit(X, Y)
    precision = peer.label_ranking_average_precision_score(Y, estimator.decision_function(X))
    assert make_label_scorer("LRAP")(estimator, X, Y) == pytest.approx(precision, rel=1e-12)
    with pytest.raises(ValueError, match="PSP needs the propensities"):
        make_label_scorer("PSP@3")


@pytest.mark.parametrize(
    "args, kwargs, message",
    [
        (([[1, 0]], [[1.0, 2.0]], "Hamming"), {}, "'Hamming' needs predicted: pass 0/1 labels"),
        (([[1, 0]], None, "LRAP"), {}, "'LRAP' needs scores of shape"),
        (([[1, 0]], [[1.0]], "LRAP"), {}, r"scores must have the shape of Y, \(1, 2\), got"),
        (([[1, 2]], [[1.0, 2.0]], "LRAP"), {}, "must hold 0 and 1 only"),
        (([[1, 0]], [[1.0, np.nan]], "LRAP"), {}, "must be finite"),
        (([[1, 0]], None, "Hamming"), {"predicted": [[1, 0, 1]]}, "predicted must have the shape"),
        (([[1, 0]], [[1.0, 2.0]], "PSP@1"), {}, "PSP needs propensity"),
        (([[1, 0]], [[1.0, 2.0]], "PSP@1"), {"propensity": [0, 1]}, r"number in \(0, 1\]"),
        (([[1, 0]], sparse.csr_array([[1.0, 0]]), "LRAP"), {}, "compares the scores of all labels"),
        (([[1, 0]], [[1.0, 2.0]], "Haming"), {}, "Did you mean 'Hamming'"),
        (([[1, 0]], [[1.0, 2.0]], "PSP(normalized=2)@1"), {}, "normalized must be True or False"),
    ],
)
def test_bad_input_is_refused(args, kwargs, message):
    with pytest.raises(ValueError, match=message):
        evaluate_labels(*args, **kwargs)


def test_propensities_check_their_input():
    with pytest.raises(ValueError, match="A must be a number > 0"):
        label_propensities(np.eye(3, dtype=int), A=0)
    with pytest.raises(ValueError, match="at least 3 rows"):
        label_propensities(np.eye(2, dtype=int))


@pytest.mark.parametrize("spec", [*SETS, *TOP, "LRAP", "RankingLoss", "Coverage"])
def test_specs_print_and_parse_back(spec):
    Y = np.eye(3, dtype=int)
    result = evaluate_labels(Y, Y, spec, predicted=Y, propensity=np.ones(3))
    measure = result.measures[spec]
    again = evaluate_labels(Y, Y, str(measure), predicted=Y, propensity=np.ones(3))
    assert again.measures[str(measure)] == measure
    assert again[str(measure)] == result[spec]


def test_no_rows():
    Y = np.zeros((0, 3), dtype=int)
    specs = [*SETS, *TOP, "LRAP"]
    result = evaluate_labels(Y, Y.astype(float), specs, predicted=Y, propensity=np.ones(3))
    assert np.isnan([result[spec] for spec in ("Hamming", "F1", *TOP, "LRAP")]).all()
    assert result["MicroF1"] == result["MacroF1"] == 0
