"""Read models that LightGBM, XGBoost and CatBoost trained, as ImportedBooster."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise.base import Ranker
from rankwise.checks.parameter_constraints import N_JOBS
from rankwise.metrics.default import GRADED
from rankwise.rankers.adapters.catboost_model import catboost_model
from rankwise.rankers.adapters.lightgbm_model import lightgbm_model
from rankwise.rankers.adapters.xgboost_model import read_ubjson, xgboost_model
from rankwise.rankers.boosting.lambdamart import TreeScores
from rankwise.runtime.files import temporary_folder
from rankwise.structure.model_check import check_model
from rankwise.structure.state_rules import Rule, StructureError, Word, require
from rankwise.trees.column_table import ColumnTable
from rankwise.trees.stored_boosters import (
    DAMAGE,
    BoosterError,
    StoredModel,
    categories_by_column,
    check_trees,
)
from rankwise.trees.tree_ensemble import ScoreTree, TreeEnsemble, take_nodes
from rankwise.typing import ArrayLike, FrameLike

_LIBRARIES = ("lightgbm", "xgboost", "catboost")
MOST_FEATURES = 2**24
_UBJSON_SIZES = b"iUIlL$#"


def read_booster(
    source: Any,
    *,
    features: Sequence[str] | None = None,
    categories: Mapping[Any, Sequence[Any]] | None = None,
) -> ImportedBooster:
    """Ranker with the trees of a model of LightGBM, XGBoost or CatBoost.

    Parameters
    ----------
    source : path-like or fitted model
        LightGBM's text file, XGBoost's ``.json`` or ``.ubj`` file, CatBoost's JSON file, or a
        fitted ``Booster``, ``LGBMRanker``, ``XGBRanker``, ``CatBoostRanker`` or other model of
        these libraries.
    features : sequence of str, optional
        Names of the columns (default: those of the model). LightGBM writes "_" for blanks.
    categories : mapping of str or int to sequence, optional
        Categories of a column, by name or number, in the order of their codes: for columns whose
        categories the file does not list. A column that the trees split by thresholds is treated
        as one of ordered categories. CatBoost's categories "0" to "999" are read as numbers unless
        they are passed as text.

    Returns
    -------
    ImportedBooster
        Fitted ranker: it predicts, explains, saves, exports and compares like all others.

    Raises
    ------
    BoosterError
        If the file is damaged or of no known kind; or if the model has several scores per row,
        linear boosters or leaves, zeros or another number as missing values, statistics of
        combinations of columns (CatBoost's CTRs with ``max_ctr_complexity`` above 1), or categories
        that neither the file nor ``categories`` lists or that cannot be attributed to columns.
    TypeError
        If ``source`` is neither a path nor a model of these libraries.
    NotFittedError
        If the model is not fitted.
    FileNotFoundError

    Warns
    -----
    UserWarning
        If a file of XGBoost has rounds after the best one, which ``XGBRanker`` leaves out.

    Notes
    -----
    Scores are those before the link function: ``predict(raw_score=True)`` of LightGBM,
    ``predict(output_margin=True)`` of XGBoost and ``prediction_type="RawFormulaVal"`` of CatBoost.
    Of LightGBM's random forests (``boosting_type="rf"``), they are the mean of the trees, whose sum
    is ``raw_score=True``. Files are read without the libraries. Models that stopped early keep the
    trees that their own ``predict`` uses; a file of XGBoost keeps all trees, as its Booster does.
    Nor does a file keep the ``missing`` of an ``XGBRanker``: if that is not NaN, replace the value
    by NaN in all rows.

    LightGBM truncates categories to whole numbers, and XGBoost sends unknown codes to the left;
    here, both are unknown categories and count as missing.

    Composition: trees of a file x ImportedBooster.

    Examples
    --------
    >>> from rankwise import RankingTree, read_booster
    >>> from rankwise.export import to_lightgbm, to_ranklib
    >>> tree = RankingTree().fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> text = to_lightgbm(tree, "model.txt", features=["bm25"])
    >>> model = read_booster("model.txt")
    >>> model.library_, model.feature_names_in_.tolist()
    ('LightGBM', ['bm25'])
    """
    if isinstance(source, Ranker):
        raise TypeError(
            f"{type(source).__name__} is a ranker of this library already. Use it as it is."
        )
    library = library_of(source)
    if library is None and not isinstance(source, str | os.PathLike):
        raise TypeError(
            "read_booster takes a path or a model of LightGBM, XGBoost or CatBoost, got "
            f"{type(source).__name__}."
        )
    try:
        if library is None:
            content = _read_file(Path(source))
            _warn_of_early_stopping(content, Path(source).name)
        else:
            content = _CONTENTS[library](source)
        stored = _stored_model(content, categories, features)
        return _ranker(stored, features, categories)
    except BoosterError as error:
        raise type(error)(f"{_name_source(source)}: {error}") from error


def library_of(source: Any) -> str | None:
    """Library whose model an object is: "lightgbm", "xgboost" or "catboost"; None for others."""
    roots = [cls.__module__.partition(".")[0] for cls in type(source).__mro__]
    return next((root for root in roots if root in _LIBRARIES), None)


def _name_source(source: Any) -> str:
    is_path = isinstance(source, str | os.PathLike)
    return Path(source).name if is_path else type(source).__name__


def _read_file(path: Path) -> str | dict[str, Any]:
    """Text of LightGBM, or the object of the other libraries."""
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        if data.startswith(b"tree\n") or data.startswith(b"tree\r\n"):
            return data.decode().replace("\r\n", "\n")
        if data[:1] == b"{":
            is_binary = data[1:2] in [_UBJSON_SIZES[i : i + 1] for i in range(7)]
            return read_ubjson(data) if is_binary else json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BoosterError(f"the file is damaged: {error}") from error
    hints = {b"CBM1": "Save it with save_model(file, format='json').",
             b"binf": "Save it with save_model('model.json').",
             b"[": "If it is XGBoost's dump, save the model with save_model('model.json').",
             b"PK": "Use rankwise.load, if rankwise saved it."}  # fmt: skip
    hint = next((f" {hints[start]}" for start in hints if data.startswith(start)), "")
    raise BoosterError(
        f"this is neither LightGBM's text, XGBoost's JSON or UBJ nor CatBoost's JSON.{hint}"
    )


def _warn_of_early_stopping(content: Any, name: str) -> None:
    """Warn if XGBRanker scores with fewer trees than the file has."""
    try:
        best = int(content["learner"]["attributes"]["best_iteration"]) + 1
        booster = content["learner"]["gradient_booster"]
        n_rounds = len(booster.get("gbtree", booster)["model"]["iteration_indptr"]) - 1
    except DAMAGE:  # it did not stop early, or _stored_model says what is wrong
        return
    if best < n_rounds:
        warnings.warn(
            f"{name} has {n_rounds} rounds, of which XGBRanker uses {best}, as it stopped early. "
            "Here, all count. Read the loaded XGBRanker instead of its file to keep those alone.",
            UserWarning,
            stacklevel=3,
        )


def _dump_lightgbm(model: Any) -> str:
    if hasattr(model, "booster_") or hasattr(model, "fit"):
        check_is_fitted(model)
        model = model.booster_
    return model.model_to_string()


def _dump_xgboost(model: Any) -> dict[str, Any]:
    if hasattr(model, "get_booster"):
        _check_missing(model)
        booster = model.get_booster()
        try:
            best = int(model.best_iteration)
        except AttributeError:  # training did not stop early
            best = None
        # predict of the class uses these trees, predict of its Booster all trees.
        model = booster if best is None else booster[: best + 1]
    return json.loads(model.save_raw("json"))


def _check_missing(model: Any) -> None:
    missing = model.get_params().get("missing")
    if missing is not None and not np.isnan(missing):
        raise BoosterError(
            f"missing={missing:g} makes XGBoost read {missing:g} as a missing value. Read "
            "model.get_booster() instead, and replace this value by NaN in all rows."
        )


def _dump_catboost(model: Any) -> dict[str, Any]:
    if not model.is_fitted():
        check_is_fitted(model, "tree_count_")
    with temporary_folder() as folder:  # CatBoost writes JSON only to files
        path = folder / "model.json"
        model.save_model(str(path), format="json")
        return json.loads(path.read_bytes())


_CONTENTS = {"lightgbm": _dump_lightgbm, "xgboost": _dump_xgboost, "catboost": _dump_catboost}


def _stored_model(
    content: Any, categories: Mapping[Any, Any] | None, features: Sequence[str] | None
) -> StoredModel:
    try:
        if isinstance(content, str):
            return lightgbm_model(content, categories, features)
        if "learner" in content:
            return xgboost_model(content)
        if "features_info" in content:
            return catboost_model(content, categories, features)
    except BoosterError:
        raise
    except DAMAGE as error:
        raise BoosterError(f"the model is damaged: {error!r}") from error
    if "tree_info" in content:
        raise BoosterError("this is LightGBM's dump. Save the model with save_model(file).")
    raise BoosterError("this JSON is no model of XGBoost or CatBoost.")


def _ranker(
    stored: StoredModel, features: Sequence[str] | None, categories: Mapping[Any, Any] | None
) -> ImportedBooster:
    if not 1 <= stored.n_features <= MOST_FEATURES:
        raise BoosterError(f"the model has {stored.n_features} features, at most {MOST_FEATURES}.")
    names = stored.names if features is None else [str(name) for name in features]
    if names is not None and len(names) != stored.n_features:
        raise ValueError(
            f"features must have one name for each of the {stored.n_features} columns, got "
            f"{len(names)}."
        )
    given = categories_by_column(categories, names, stored.n_features)
    listed = {**stored.categories, **given}
    unknown = sorted(stored.nominal - set(listed))
    if unknown:
        called = [column if names is None else names[column] for column in unknown]
        raise BoosterError(
            f"columns {called} of the {stored.library} model have categories that the file does "
            "not list, or lists unreadably as XGBoost does with letters beyond ASCII. Pass "
            "categories={column: [...]}, in the order of their codes; for codes without names, "
            "range(n)."
        )
    columns = ColumnTable(
        {column: _array(values) for column, values in listed.items() if column in stored.nominal},
        {
            column: _array(values)
            for column, values in listed.items()
            if column not in stored.nominal
        },
    )
    model = ImportedBooster()
    try:
        trees = check_trees(stored.read(columns.n_categories(stored.n_features)), stored.n_features)
        reached = [_keep_reached(tree) for tree in trees.trees]
        model.trees_ = TreeEnsemble.of(reached, trees.constant, in_float32=stored.in_float32)
    except BoosterError:
        raise
    except DAMAGE as error:
        raise BoosterError(f"the model is damaged: {error!r}") from error
    model.library_, model.columns_ = stored.library, columns
    model.n_features_in_, model.n_estimators_ = stored.n_features, model.trees_.n_trees
    model.has_missing_ = np.full(stored.n_features, trees.has_missing)
    # The file does not say whether the labels were grades.
    model.score_name_, model._fit_on_grades = GRADED, False
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    try:
        check_model(model)
    except StructureError as error:
        raise BoosterError(f"the model is damaged: {error}") from error
    return model


def _keep_reached(tree: ScoreTree) -> ScoreTree:
    """The tree without the nodes that the root does not reach, level by level."""
    inner, left, right = (tree.feature >= 0).tolist(), tree.left.tolist(), tree.right.tolist()
    kept = [0]
    for node in kept:  # grows by the children of each node
        kept += [left[node], right[node]] if inner[node] else []
    return take_nodes(tree, np.array(kept))


def _array(values: Sequence[Any]) -> Any:
    """Categories as numbers if all are numbers, else as objects."""
    array = np.array(list(values))
    return array if array.dtype.kind in "biuf" else np.array(list(values), dtype=object)


class ImportedBooster(TreeScores):
    """Trees of LightGBM, XGBoost or CatBoost; made by :func:`rankwise.read_booster`.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads. None or -1: all cores, at most ``RANKWISE_NUM_THREADS``. Results
        are bit-identical for any number.

    Attributes
    ----------
    trees_ : TreeEnsemble
    library_ : {"LightGBM", "XGBoost", "CatBoost"}
        Library that trained the trees.
    columns_ : ColumnTable
        Categories of the nominal and ordered columns.
    has_missing_ : ndarray of shape (n_features_in_,), bool
        True if values were missing in the training rows, as far as the file says; equal for all
        columns.
    n_estimators_ : int
        Number of trees.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if the file names its features.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    The trees are fixed: ``fit`` checks nothing and changes nothing, and a clone is the model
    itself. It can therefore be a contestant of :func:`rankwise.compare`, like scikit-learn's
    ``FrozenEstimator``. Its training rows are not known, so a comparison is fair only on other
    rows.

    Scores add leaves in float64, in the order of the trees, without the link function of the
    objective. They are bit-equal to LightGBM's raw scores, and agree with XGBoost's and CatBoost's
    up to their rounding. A category that the file does not know counts as missing.

    A row takes O(depth) time for each tree. Memory is O(number of nodes).

    Composition: stored trees x sums of leaves.

    Examples
    --------
    >>> from rankwise import RankingTree, read_booster
    >>> from rankwise.export import to_lightgbm
    >>> tree = RankingTree().fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> to_lightgbm(tree, "model.txt").startswith("tree")
    True
    >>> read_booster("model.txt").predict([[0.5], [2.5]])
    array([0., 1.])
    """

    _structure: ClassVar[dict[str, Rule]] = {"library_": Word(("LightGBM", "XGBoost", "CatBoost"))}
    _parameter_constraints: ClassVar[dict[str, Any]] = {"n_jobs": N_JOBS}

    importance_type: Literal["gain", "split"] = "gain"
    library_: str
    feature_names_in_: NDArray[Any]

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike | None = None,
        *,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Return the model unchanged; the arguments are ignored.

        Raises
        ------
        TypeError
            If the model has no trees, because :func:`rankwise.read_booster` did not make it.
        """
        if not hasattr(self, "trees_"):
            raise TypeError(
                "ImportedBooster cannot be trained: read_booster(file) makes it. "
                "Use LambdaMART or LightGBMRanker to train trees."
            )
        return self

    def __sklearn_clone__(self) -> Self:
        return self

    def _check_structure(self) -> None:
        n_trees = self.trees_.n_trees
        require(self.n_estimators_ == n_trees, "n_estimators_", f"be {n_trees}",
                self.n_estimators_)  # fmt: skip
        require(not self.trees_.zero_missing.any(), "trees_.zero_missing", "be False", "True")
        used = self.trees_.feature[self.trees_.feature >= 0]
        require(used.max(initial=-1) < self.n_features_in_, "trees_.feature",
                f"be below {self.n_features_in_}", used.max(initial=-1))  # fmt: skip
        self.columns_.check_width(self.n_features_in_)
        self.trees_.check_categories(self.columns_.n_categories(self.n_features_in_))
        require(np.isfinite(self.trees_.constant), "trees_.constant", "be finite",
                self.trees_.constant)  # fmt: skip
