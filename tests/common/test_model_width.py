"""No model reads rows that have not its columns, whatever ``n_features_in_`` says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rankwise._registry import REGISTRY
from rankwise.checks.rows import check_columns_read
from rankwise.features.kernels import Kernel
from rankwise.features.polynomial_terms import AffinePowers, TermMap
from tests.common.estimators import small
from tests.common.test_refused_fits import N_FEATURES, fitted, training_rows

# Maps of single columns: rows that are wider than those of the fit cannot be told from them.
READS_SINGLE_COLUMNS = {"polynomial_terms"}
METHODS = (
    "predict", "predict_proba", "rank_score", "decision_function", "transform", "apply",
    "staged_predict", "staged_rank_score", "_encoded_rows", "predict_ranking",
)  # fmt: skip


def check_refused(key, model, width, form=np.asarray):
    """Every method refuses rows of the width that the model claims."""
    X = form(np.random.default_rng(1).normal(size=(60, width)))
    for name in METHODS:
        if not hasattr(model, name):
            continue
        with pytest.raises((ValueError, TypeError), match=r"n_features_in_|column|features") as e:
            out = getattr(model, name)(X)
            list(out)  # stages are made one by one
        assert not isinstance(e.value, TypeError) or "dense data is required" in str(e.value)


@pytest.mark.parametrize("key", list(REGISTRY))
@pytest.mark.parametrize("width", [1, N_FEATURES - 1, N_FEATURES + 1, 10 * N_FEATURES])
def test_a_changed_width_is_noticed(key, width):
    if key in READS_SINGLE_COLUMNS and width > N_FEATURES:
        pytest.skip("reads the columns of the fit only")
    model = fitted(key)
    model.n_features_in_ = width
    check_refused(key, model, width)
    if model.__sklearn_tags__().input_tags.sparse:
        check_refused(key, model, width, sparse.csr_array)


@pytest.mark.parametrize(
    "key", ["lambdamart", "rank_boost", "orboost", "ranking_tree", "model_tree"]
)
def test_compiled_trees_check_their_columns(key):
    """Also where all of the other attributes were changed by hand."""
    model = small(key).fit(**training_rows(key))
    narrow = small(key).fit(**training_rows(key, 3, 1))
    parts = [name for name in ("trees_", "ensemble_", "tree_", "nodes_") if hasattr(model, name)]
    assert parts
    for name in parts:
        setattr(narrow, name, getattr(model, name))
    X = np.random.default_rng(1).normal(size=(2000, 1))
    with pytest.raises(ValueError, match="which the model reads, but has only 1 columns"):
        getattr(narrow, "rank_score", narrow.predict)(X)


@pytest.mark.parametrize(
    ("part", "match"),
    [
        (lambda X: Kernel("rbf", 1.0)(X, np.ones((3, 6))), "must have 6 columns"),
        (lambda X: Kernel("laplacian", 1.0)(X, np.ones((3, 8))), "must have 8 columns"),
        (lambda X: AffinePowers(6, 2, True)(X), "must have 6 columns"),
        (lambda X: TermMap(np.array([[5]]))(X), "must have column 5"),
        (lambda X: check_columns_read(np.array([-1, 5]), X.shape[1]), "must have column 5"),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_parts_check_their_columns(part, match, form):
    with pytest.raises(ValueError, match=match):
        part(form(np.ones((4, 5))))
