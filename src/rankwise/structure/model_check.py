"""Checks of a whole model: every object within an estimator, before any method is called.

Objects of this library must follow the rules declared by their classes, see
:mod:`rankwise.structure.state_rules`. For other objects, arrays must hold numbers or text, and
sparse indices must be within the shape. Structures that compiled scikit-learn code reads without
bounds checks are checked here: trees, histogram gradient boosting and support vector machines.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

import numpy as np

from rankwise.runtime.renames import LACKED
from rankwise.runtime.scikit_learn import BaseEstimator
from rankwise.runtime.threads import use_one_thread
from rankwise.structure.state_rules import (
    Array,
    ClassLabels,
    Scope,
    StructureError,
    check_attributes,
    check_children,
    check_shape,
    check_sparse,
    require,
    run,
    structure_of,
    violation,
)
from rankwise.typing import is_sparse

# Attributes that scikit-learn's predictors use for prediction.
_COEFFICIENTS = frozenset({
    "coef_", "intercept_", "dual_coef_", "_dual_coef_", "_intercept_", "support_vectors_", "coefs_",
    "intercepts_", "theta_", "var_", "class_prior_", "class_log_prior_", "feature_log_prob_",
    "scalings_", "means_",
})  # fmt: skip
_NUMBERS_AND_TEXT = "biufcSUMmOV"


def check_model(estimator: BaseEstimator) -> None:
    """Check an estimator, of this library or of another, and everything that it holds.

    The StructureError for a broken rule names the attribute, the rule and the value. Linear in the
    size of the arrays. Objects that are shared are checked once.
    """
    stack: list[tuple[str, Any]] = [(type(estimator).__name__, estimator)]
    seen: set[int] = set()
    kept: list[Any] = []  # objects on the stack stay alive, so no id occurs twice
    while stack:
        where, value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        kept.append(value)
        stack.extend(_children(where, value))


def _children(where: str, value: Any) -> list[tuple[str, Any]]:
    """Check one object, and return the objects within it that are still to be checked."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in _NUMBERS_AND_TEXT:
            raise violation(where, "hold numbers or text", value.dtype)
        return list(_items(where, value.ravel().tolist())) if value.dtype.kind == "O" else []
    if is_sparse(value):
        check_sparse(value, where)
        return []
    if isinstance(value, dict):
        return [(f"{where}[{key!r}]", item) for key, item in value.items()]
    if isinstance(value, list | tuple | set | frozenset):
        return _items(where, value)
    if isinstance(value, BaseEstimator):
        return _check_estimator(where, value)
    if structure_of(type(value)):
        return list(check_attributes(value, vars(value), where, Scope(), complete=True))
    if hasattr(type(value), "_check_structure"):  # all of the object, without further rules
        try:
            value._check_structure()
        except ValueError as error:
            raise StructureError(f"{where}: {error}") from None
        return []
    return _check_foreign(where, value, vars(value) if hasattr(value, "__dict__") else {})


def _items(where: str, values: Any) -> list[tuple[str, Any]]:
    return [(f"{where}[{number}]", item) for number, item in enumerate(values)]


def _check_estimator(where: str, estimator: Any) -> list[tuple[str, Any]]:
    rules = structure_of(type(estimator))
    for name, parameter in signature(type(estimator)).parameters.items() if rules else ():
        # A parameter that came after the version of the file has its default, or what fits the
        # same model as before.
        if name not in vars(estimator) and parameter.default is not Parameter.empty:
            before = LACKED.get(type(estimator).__name__, {})
            setattr(estimator, name, before.get(name, parameter.default))
    state = estimator.__getstate__()
    if not rules:
        return _check_foreign(where, estimator, state)
    parameters = estimator._get_param_names()
    if hasattr(estimator, "_parameter_constraints"):  # else it is the user's own class
        try:
            estimator._validate_params()
        except (ValueError, TypeError) as error:
            raise StructureError(f"{where} has a parameter out of range: {error}") from None
    # A user's class may lack some attributes of its base.
    is_own = type(estimator).__module__.partition(".")[0] == __name__.partition(".")[0]
    fitted = rules.keys() & state.keys() - {"n_features_in_", "feature_names_in_"}
    own = {*parameters, "_booster"}
    found = check_attributes(
        estimator, state, where, Scope(), complete=is_own and bool(fitted), own=own
    )
    others = [(f"{where}.{name}", item) for name, item in state.items() if name not in rules]
    return [*found, *others]


# Other libraries ----------------------------------------------------------------------------------


def _check_foreign(where: str, value: Any, state: dict[str, Any]) -> list[tuple[str, Any]]:
    for cls in type(value).__mro__:
        check = _CHECKS.get(f"{cls.__module__}.{cls.__name__}")
        if check is not None:
            check(where, value)
    classes = state.get("classes_")
    if isinstance(value, BaseEstimator) and isinstance(classes, np.ndarray):
        run(ClassLabels().check(classes, f"{where}.classes_", Scope()))
    for name in _COEFFICIENTS & state.keys() if hasattr(type(value), "predict") else ():
        parts = state[name] if isinstance(state[name], list) else [state[name]]
        for part in parts:
            if isinstance(part, np.ndarray | np.floating | float):
                run(Array(None).check(np.array(part), f"{where}.{name}", Scope()))
    return [(f"{where}.{name}", item) for name, item in state.items()]


def _check_linear_model(where: str, model: Any) -> None:
    """Check the weights of the columns and the intercept of each output."""
    coef, intercept = getattr(model, "coef_", None), getattr(model, "intercept_", None)
    width, classes = getattr(model, "n_features_in_", None), getattr(model, "classes_", None)
    if not isinstance(coef, np.ndarray) or width is None:
        return
    n_outputs: Any = () if coef.ndim < 2 else ("n_outputs",)
    scope = Scope()
    if classes is not None:
        n_outputs = (1 if len(classes) == 2 else len(classes),)
    run(Array((*n_outputs, width)).check(coef, f"{where}.coef_", scope))
    found = np.asarray(intercept)
    if found.ndim and found.shape != (1,) and not (found == 0).all():
        run(Array(n_outputs).check(found, f"{where}.intercept_", scope))


def _check_tree(where: str, tree: Any) -> None:
    """Check a scikit-learn decision tree, whose arrays belong to compiled code."""
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    inner = np.where(left == -1, -1, 0)
    _check_children(where, inner, left, right, "children_left and children_right")
    used = feature[left != -1]
    if used.size and (used.min() < 0 or used.max() >= tree.n_features):
        raise violation(f"{where}.feature", f"lie in 0..{tree.n_features - 1}", used)
    run(Array(None).check(tree.value, f"{where}.value", Scope()))


def _check_children(where: str, feature: Any, left: Any, right: Any, names: str) -> None:
    try:
        check_children(feature, left, right, "children_left", names)
    except StructureError as error:
        raise StructureError(f"{where}.{error}") from None


def _check_tree_estimator(where: str, estimator: Any) -> None:
    """Check a decision tree against its number of columns."""
    tree = getattr(estimator, "tree_", None)
    if tree is not None:
        require(
            tree.n_features == estimator.n_features_in_,
            f"{where}.tree_.n_features", f"be {estimator.n_features_in_}", tree.n_features,
        )  # fmt: skip


def _check_histogram_boosting(where: str, estimator: Any) -> None:
    """Check histogram gradient boosting, which holds a tree per class for every round."""
    if not hasattr(estimator, "_predictors"):
        return
    from sklearn.ensemble import HistGradientBoostingRegressor

    # The type of trees and of their nodes depends on the release: a model of this one has them.
    smallest: Any = HistGradientBoostingRegressor(max_iter=1, min_samples_leaf=1)
    with use_one_thread():  # a server loads the model, then forks workers
        known = smallest.fit([[0.0], [1.0]], [0.0, 1.0])._predictors[0][0]
    rounds, where = estimator._predictors, f"{where}._predictors"
    n_trees, n_features = estimator.n_trees_per_iteration_, estimator.n_features_in_
    n_expected = len(getattr(estimator, "classes_", [])) if n_trees != 1 else 1
    require(n_trees == n_expected, f"{where}", f"hold {n_expected} trees a round", n_trees)
    baseline = estimator._baseline_prediction
    scope = Scope()
    run(Array((1, n_trees)).check(baseline, f"{where}._baseline_prediction", scope))
    require(type(rounds) is list, where, "be a list of rounds", rounds)
    for number, trees in enumerate(rounds):
        place = f"{where}[{number}]"
        require(
            type(trees) is list and len(trees) == n_trees, place, f"be a list of {n_trees} trees",
            trees,
        )  # fmt: skip
        for k, tree in enumerate(trees):
            require(type(tree) is type(known), f"{place}[{k}]", "be a tree", tree)
            _check_predictor(f"{place}[{k}].nodes", tree.nodes, n_features, known.nodes.dtype)
            for name in ("raw_left_cat_bitsets", "binned_left_cat_bitsets"):
                sets = Array(("n_sets", 8), "u", dtype="u4")
                run(sets.check(getattr(tree, name), f"{place}[{k}].{name}", Scope()))


def _check_predictor(where: str, nodes: Any, n_features: int, dtype: Any) -> None:
    require(
        type(nodes) is np.ndarray and nodes.dtype == dtype and nodes.ndim == 1, where,
        "be an array of tree nodes", nodes,
    )  # fmt: skip
    is_leaf = nodes["is_leaf"] != 0
    left, right = (
        np.where(is_leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right")
    )
    feature = np.where(is_leaf, -1, nodes["feature_idx"])
    inner = nodes["feature_idx"][~is_leaf]
    if inner.size and (inner.min() < 0 or inner.max() >= n_features):
        raise violation(f"{where}['feature_idx']", f"lie in 0..{n_features - 1}", inner)
    _check_children(where, feature, left, right, "left and right")
    require(
        not nodes["is_categorical"].any(), f"{where}['is_categorical']", "be 0 everywhere",
        nodes["is_categorical"],
    )  # fmt: skip
    run(Array(None).check(nodes["value"], f"{where}['value']", Scope()))


def _check_support_vectors(where: str, machine: Any) -> None:
    """Check that the counts that LIBSVM reads match the arrays."""
    if not hasattr(machine, "support_vectors_"):
        return
    impl = {"SVC": 1, "NuSVC": 1, "SVR": 0, "NuSVR": 0, "OneClassSVM": 0}
    is_classifier = any(impl.get(cls.__name__) for cls in type(machine).__mro__)
    n_classes = len(machine.classes_) if is_classifier else 2
    vectors, coefs = machine.support_vectors_, machine._dual_coef_
    n_support = machine._n_support
    scope = Scope()
    scope.bind("n_features_in_", machine.n_features_in_)
    for name, array in (("support_vectors_", vectors), ("_dual_coef_", coefs)):
        if is_sparse(array):
            check_sparse(array, f"{where}.{name}")
        elif type(array) is not np.ndarray or array.dtype != np.float64:
            raise violation(f"{where}.{name}", "be a float64 array", array)
    kernel = machine.kernel
    width = ("n_support", "n_features_in_") if kernel != "precomputed" else None
    check_shape(vectors.shape, width, f"{where}.support_vectors_", scope)
    if kernel == "precomputed":
        scope.bind("n_support", len(machine.support_))
    check_shape(coefs.shape, (n_classes - 1, "n_support"), f"{where}._dual_coef_", scope)
    n_pairs = n_classes * (n_classes - 1) // 2
    run(Array((n_pairs,)).check(machine._intercept_, f"{where}._intercept_", scope))
    support = Array(("n_support",), "i", low=0)
    run(support.check(machine.support_, f"{where}.support_", scope))
    run(Array(None, "i", low=0).check(n_support, f"{where}._n_support", scope))
    total = int(n_support[0]) if not is_classifier else int(n_support.sum())
    wanted = n_classes if is_classifier else 2
    expected = scope.value("n_support")
    require(
        len(n_support) == wanted and total == expected, f"{where}._n_support",
        f"count {expected} support vectors of {n_classes} classes", n_support,
    )  # fmt: skip
    for name in ("_probA", "_probB"):
        found = getattr(machine, name, np.empty(0))
        if len(found) not in (0, n_pairs if is_classifier else 1):
            raise violation(f"{where}.{name}", f"have {n_pairs} entries or none", found)


_CHECKS: dict[str, Callable[[str, Any], None]] = {
    "sklearn.tree._tree.Tree": _check_tree,
    "sklearn.tree._classes.BaseDecisionTree": _check_tree_estimator,
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.BaseHistGradientBoosting":
        _check_histogram_boosting,
    "sklearn.svm._base.BaseLibSVM": _check_support_vectors,
    "sklearn.linear_model._base.LinearModel": _check_linear_model,
    "sklearn.linear_model._base.LinearClassifierMixin": _check_linear_model,
}  # fmt: skip
