"""Every estimator on numbers at the ends of float64: finite scores, or an error that names them."""

from __future__ import annotations

import inspect
import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from rankwise._registry import REGISTRY
from tests.common.estimators import accepts, small
from tests.common.hostile import (
    hostile_columns,
    hostile_rows,
    hostile_targets,
    hostile_weights,
    ordinary,
)

CASES = {**hostile_columns(), **hostile_rows(), **hostile_targets(), **hostile_weights()}
# Forms with arithmetic of their own, beside the default one of each estimator.
VARIANTS = [
    ("ridge", {"alpha": "cv", "cv": 2}),
    ("pairwise_elm", {"C": "cv", "cv": 2}),
    ("elmrank", {"lam": "cv", "cv": 2}),
    ("rankrls", {"kernel": "rbf"}),
    ("clsrrank", {"kernel": "linear"}),
    ("svrank", {"kernel": "linear"}),
    ("svr", {"kernel": "linear", "max_iter": 50}),
    ("lssvr", {"kernel": "linear"}),
    ("rank_svm", {"C": "cv", "cv": 2}),
    ("rank_svm", {"loss": "hinge"}),
    ("pruned_rank_svm", {"kernel": "rbf"}),
    ("rank_lr", {"C": "cv", "cv": 2}),
    ("rank_lr", {"kernel": "rbf"}),
    ("ordinal_svm", {"kernel": "linear", "max_iter": 1000}),
    ("prank", {"kernel": "rbf"}),
    ("lambdamart", {"objective": "squared"}),
    ("lambdamart", {"objective": "logistic", "query_weight": "query"}),
    ("lambdamart", {"objective": "xendcg", "drop_rate": 0.5}),
    ("lambdamart", {"objective": "yetirank", "measure": "AP", "sampling": "goss"}),
    ("proportional_odds", {"C": np.inf}),
    ("proportional_odds", {"C": np.inf, "link": "probit"}),
    ("proportional_odds", {"C": [0.01, np.inf], "cv": 2, "link": "cloglog"}),
]
SCALE_WARNING = "X must have columns of similar scale"
# What a message must name, whoever it comes from: an argument, or why there is nothing to fit.
NAMED = re.compile(
    r"Column \d+ of X|of the model has values|\b(X|y|sample_weight|qid) (has|must)\b|"
    r"\bkernel must\b|\bcv=\d|\bmeasure=|Unknown label type|n_samples=|labels are|\bclass(es)?\b"
)


def fitted(key, params, rows):
    """The estimator after a fit; None where it takes no weights and the case is about them."""
    estimator = small(key, **params)
    kwargs = {"qid": rows.qid} if accepts(key, "qid") else {}
    if rows.weight is not None:
        if not accepts(key, "sample_weight"):
            return None
        kwargs["sample_weight"] = rows.weight
    y = rows.y
    if REGISTRY[key].kind == "multi-label":
        y = np.stack([y > 0, y > 1, np.arange(len(y)) % 2 == 0], axis=1).astype(int)
    return estimator.fit(rows.X, y, **kwargs)


def results(key, estimator, rows):
    """All that the fitted estimator says of the rows."""
    X = rows.X if rows.test is None else rows.test
    if REGISTRY[key].kind == "transformer":
        takes_qid = "qid" in inspect.signature(estimator.transform).parameters
        yield estimator.transform(X, **({"qid": rows.qid} if takes_qid else {}))
        return
    for name in ("predict", "predict_proba", "rank_score", "decision_function"):
        if hasattr(estimator, name):
            yield getattr(estimator, name)(X)


@pytest.fixture(autouse=True)
def one_thread():
    """A few rows are no work for more: threads that wait for each other take the time."""
    with threadpool_limits(limits=1):
        yield


def complaint(key, params, rows):
    """The message of the ValueError that the case ends in; empty where results are finite."""
    with warnings.catch_warnings(record=True) as left_out:
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", SCALE_WARNING, UserWarning)
        # A blend of the other families has finite scores; its warning must name the trouble.
        warnings.filterwarnings("always", "AutoRanker leaves out the family", UserWarning)
        # Cases of two distinct rows; the scores are still examined.
        warnings.filterwarnings("ignore", "AutoRanker holds no rows out", UserWarning)
        try:
            estimator = fitted(key, params, rows)
            if estimator is None:
                return ""
            for values in results(key, estimator, rows):
                values = values.toarray() if sparse.issparse(values) else np.asarray(values)
                assert np.isfinite(values).all()
        except ValueError as error:
            assert not isinstance(error, np.linalg.LinAlgError)
            return str(error)
    for message in (str(warning.message) for warning in left_out):
        assert NAMED.search(message) or "must score at least one query" in message, message
    return ""


@pytest.mark.parametrize(
    ("key", "params"),
    [(key, {}) for key in REGISTRY] + VARIANTS,
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_scores_are_finite_or_the_trouble_is_named(key, params):
    for name, rows in CASES.items():
        message = complaint(key, params, rows)
        assert not message or NAMED.search(message), f"{name}: {message}"


@pytest.mark.filterwarnings(f"ignore:{SCALE_WARNING}:UserWarning")
def test_the_farthest_column_is_named():
    X = ordinary().X.copy()
    X[4, 1] = 1e200
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["length", "price", "age"])
    rows = ordinary()
    with pytest.raises(ValueError, match=r"Column 1 \('price'\) of X .* 1e\+200") as error:
        small("ridge").fit(frame, rows.y, qid=rows.qid)
    assert "RidgeRanker.fit" in str(error.value)
    with pytest.raises(ValueError, match=r"\. y has values from -1.7e\+308 to 1.7e\+308: divide"):
        small("elmrank").fit(rows.X, np.where(rows.y > 1, 1.7e308, -1.7e308), qid=rows.qid)


def test_scores_that_overflow_are_no_scores():
    rows = ordinary()
    ranker = small("linear_regression").fit(rows.X, rows.y * 1e10)
    assert np.isfinite(ranker.predict(rows.X)).all()
    with pytest.raises(ValueError, match=r"LinearRegressionRanker.predict .*Column \d of X"):
        ranker.predict(rows.X * 1e300)
