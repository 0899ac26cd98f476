"""CatBoost's YetiRank with the API of rankwise [1]_.

References
----------
.. [1] A. Gulin, I. Kuralenok and D. Pavlov, "Winning the transfer learning track of Yahoo!'s
   learning to rank challenge with YetiRank", JMLR W&CP 14, 2011.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Collection, Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np

from rankwise._packages import missing_package
from rankwise.checks.parameter_constraints import FRACTION, NOT_NEGATIVE, Interval, StrOptions
from rankwise.groups import FitData
from rankwise.metrics.measure import MeasureLike
from rankwise.rankers.adapters.boosted_ranker import (
    BoostedRanker,
    BoosterInput,
    ValidationMonitor,
    check_query_weights,
    library_names,
)
from rankwise.rankers.adapters.catboost_model import (
    CATBOOST_MAX_DEPTH,
    MISSING_CODE,
    catboost_trees,
    check_catboost,
)
from rankwise.runtime.files import temporary_folder
from rankwise.trees.column_table import FROM_DTYPE
from rankwise.typing import Int64Array, Matrix, Seed, is_sparse

try:
    import catboost
except ImportError as error:
    raise missing_package("CatBoostRanker", "catboost") from error

OBJECTIVES = ("YetiRank", "PairLogit", "QueryRMSE")
_NOTHING_VARIES = "All features are either constant or ignored"
_ANY_NAME = re.compile("(?!)")
_KEPT = ("features_info", "oblivious_trees", "scale_and_bias")
MOST_ONE_HOT = 255  # a constant of CatBoost


class CatBoost:
    """The library as :class:`BoosterLibrary`."""

    name = "CatBoost"
    errors: ClassVar[tuple[type[Exception], ...]] = (catboost.CatBoostError,)
    in_float32 = True
    sums_float64 = False  # adds leaves in an order of its own, and faster than our trees
    auto_gain = "linear"
    names: ClassVar[Mapping[str, str]] = {
        "objective": "loss_function",
        "n_estimators": "iterations",
        "learning_rate": "learning_rate",
        "depth": "depth",
        "reg_lambda": "l2_leaf_reg",
        "random_strength": "random_strength",
        "colsample_bylevel": "rsm",
        "max_bin": "border_count",
        "one_hot_max_size": "one_hot_max_size",
        "monotone_constraints": "monotone_constraints",
        "n_jobs": "thread_count",
        "random_state": "random_seed",
    }
    reserved: frozenset[str] = frozenset({
        "num_trees", "num_boost_round", "eta", "max_depth", "eval_metric", "od_type", "od_wait",
        "use_best_model", "cat_features", "text_features",
    })  # fmt: skip
    synonyms: ClassVar[tuple[frozenset[str], ...]] = ()  # all of them are in ``reserved``
    read_trees = staticmethod(catboost_trees)

    def known_params(self, params: Mapping[str, Any], n_features: int) -> set[str]:
        kinds = (catboost.CatBoostRanker, catboost.CatBoostClassifier)
        return {name for kind in kinds for name in inspect.signature(kind).parameters}

    def check_data(self, ranker: Any, data: FitData, directions: Sequence[int]) -> None:
        objective = ranker.objective
        # CatBoost 1.2 accepts constraints for its pairwise losses, but does not satisfy them.
        if any(directions) and objective != "QueryRMSE":
            raise ValueError(
                f"monotone_constraints needs objective='QueryRMSE', got {objective!r}, for "
                "which CatBoost's trees are not monotone. Change the objective, or use "
                "LightGBMRanker or XGBoostRanker."
            )
        if objective != "QueryRMSE":
            check_query_weights(data, f"{type(ranker).__name__}(objective={objective!r})")

    def train(self, given: BoosterInput) -> bytes:
        rows, monitor, nominal = given.rows, given.monitor, given.nominal
        labels = 2.0**rows.y - 1.0 if rows.exp2 else rows.y
        params = {"allow_writing_files": False, "logging_level": "Silent", **given.params}
        validation = {}
        if monitor is not None:
            metric = _Metric(monitor, skipped=len(labels))
            params["eval_metric"] = metric
            taken = metric.rows()
            validation = {
                "eval_set": _pool(
                    # CatBoost must not see the labels, but wants two different ones.
                    monitor.X[taken],
                    np.arange(len(taken)) % 2,
                    np.zeros_like(taken),
                    nominal,
                ),
                "use_best_model": False,
                "early_stopping_rounds": given.early_stopping_rounds,
            }
        booster = catboost.CatBoost(params)
        kind = "weight" if params["loss_function"] == "QueryRMSE" else "group_weight"
        weights = {} if rows.weight is None else {kind: rows.weight}
        train_set = _pool(rows.X, labels, rows.qid(), nominal, **weights)
        try:
            booster.fit(train_set, init_model=given.previous, **validation)
        except catboost.CatBoostError as error:
            if _NOTHING_VARIES in str(error):
                return b""
            raise
        if given.early_stopping_rounds is not None:
            n_before = 0 if given.previous is None else self.count_trees(given.previous)
            # CatBoost may keep fewer trees than it has evaluated.
            booster.shrink(min(given.last_iteration(n_before), self.count_trees(booster)))
        return self.dump(booster)

    def find_booster(self, model: Any) -> catboost.CatBoost | None:
        return model if isinstance(model, catboost.CatBoost) else None

    def dump(self, booster: catboost.CatBoost) -> bytes:
        """Trees and borders as JSON, without names, training parameters, times and ids."""
        with temporary_folder() as folder:  # CatBoost writes JSON only to files
            path = folder / "model.json"
            booster.save_model(str(path), format="json")
            model = json.loads(path.read_bytes())
        features = model["features_info"]
        numbers = features.setdefault("float_features", [])  # CatBoost leaves it out without any
        for feature in numbers:
            feature["borders"] = feature["borders"] or []
        nominal = features.get("categorical_features", [])
        for feature in nominal:
            feature.setdefault("values", [])
        for feature in [*numbers, *nominal]:
            feature["feature_id"] = str(feature["flat_feature_index"])
        kept = {key: model.get(key) for key in _KEPT}
        if features.get("ctrs"):
            kept["ctr_data"] = model["ctr_data"]
        return json.dumps(kept).encode("ascii")

    def load(self, model: bytes, n_features: int, names: Sequence[str] | None) -> catboost.CatBoost:
        model = check_catboost(model, n_features)
        booster = catboost.CatBoost()
        with temporary_folder() as folder:  # CatBoost reads JSON only from files
            path = folder / "model.json"
            path.write_bytes(model)
            booster.load_model(str(path), format="json")
        if names is not None:
            booster.set_feature_names(library_names(names, _ANY_NAME))
        return booster

    def predict(
        self, booster: catboost.CatBoost, X: Matrix, nominal: Collection[int], n_threads: int
    ) -> Any:
        rows: Any = X
        if nominal:
            names: Any = booster.feature_names_
            rows = catboost.Pool(_encode(X, names, nominal), cat_features=sorted(nominal))
        elif is_sparse(X) and not all(
            part.flags.writeable for part in (X.data, X.indices, X.indptr)
        ):
            rows = X.copy()  # CatBoost refuses arrays that it may not write, as mapped ones
        return booster.predict(rows, prediction_type="RawFormulaVal", thread_count=n_threads)

    def count_trees(self, booster: catboost.CatBoost) -> int:
        return int(booster.tree_count_ or 0)

    def importances(self, ranker: Any) -> Any:
        return ranker.booster_.get_feature_importance(
            type=catboost.EFstrType.PredictionValuesChange
        )

    def networks(
        self, hosts: Sequence[str], ports: Sequence[int], here: str
    ) -> tuple[list[dict[str, Any]], None]:
        raise TypeError("CatBoost can train on a single machine only. Fit it locally.")


def _pool(
    X: Matrix, y: Any, group_id: Any, nominal: Collection[int], **weights: Any
) -> catboost.Pool:
    names = [str(column) for column in range(X.shape[1])]  # of the stored model
    return catboost.Pool(
        _encode(X, names, nominal), y, group_id=group_id, cat_features=sorted(nominal),
        feature_names=names, **weights,
    )  # fmt: skip


def _encode(X: Matrix, names: list[str], nominal: Collection[int]) -> Any:
    """The rows, or a frame with whole numbers in categorical columns."""
    if not nominal:
        return X
    import pandas as pd  # required by CatBoost

    columns: list[Any] = list(np.asarray(X).T)
    for column in nominal:
        codes = columns[column]
        columns[column] = np.where(np.isnan(codes), MISSING_CODE, codes).astype(np.int64)
    return pd.DataFrame(dict(zip(names, columns, strict=True)))


class _Metric:
    """Measure called by CatBoost, first with scores of training rows, then with those of X_val."""

    no_jit = True  # CatBoost would try to compile evaluate with numba and warn

    def __init__(self, monitor: ValidationMonitor, skipped: int) -> None:
        self._monitor = monitor
        # The two calls are told apart by their length, so one row is added if lengths are equal.
        self._n_extra = int(monitor.n_samples == skipped)

    def rows(self) -> Int64Array:
        """Numbers of the rows of X_val to pass."""
        n_rows = self._monitor.n_samples
        return np.minimum(np.arange(n_rows + self._n_extra), n_rows - 1)

    def __deepcopy__(self, memo: Any) -> _Metric:
        return self  # CatBoost copies its parameters, but the monitor must not be copied

    def is_max_optimal(self) -> bool:
        return True

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        scores = np.asarray(approxes[0])
        if len(scores) != self._monitor.n_samples + self._n_extra:
            return 0.0, 1.0
        return self._monitor(scores[: self._monitor.n_samples]), 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        return error


class CatBoostRanker(BoostedRanker):
    """Gradient-boosted symmetric trees with a ranking loss, trained by CatBoost.

    Minimises ``loss + reg_lambda sum_j v_j^2 / 2`` in every tree, over the values v_j of its leaves
    before ``learning_rate`` shrinks them; the loss is summed over pairs or rows.

    Parameters
    ----------
    n_estimators : int >= 1, default=100
        Number of trees.
    learning_rate : float > 0, default=0.1
        Shrinkage of the values of the leaves.
    depth : int in 1..16, default=6
        Depth of every tree.
    reg_lambda : float >= 0, default=3.0
        L2 penalty on the values of the leaves (CatBoost's ``l2_leaf_reg``).
    random_strength : float >= 0, default=1.0
        Noise on the scores of splits.
    colsample_bylevel : float in (0, 1], default=1.0
        Share of the features drawn for every split (CatBoost's ``rsm``).
    max_bin : int in 1..65535, default=254
        Largest number of borders of a feature (CatBoost's ``border_count``).
    one_hot_max_size : int in 1..255, optional
        Largest number of categories of a column, missing values included, that is split by single
        categories. Columns of more are replaced by target statistics of CatBoost, from rows that
        come earlier in a random order. None: CatBoost's own default, 10 for these objectives.
    monotone_constraints : dict or array-like of shape (n_features,), optional
        Direction of each column, by name or number. 1: the score must not decrease as the feature
        grows. -1: it must not increase. 0: no constraint. Needs ``objective="QueryRMSE"``, because
        CatBoost violates constraints under the other two objectives.
    categorical_features : {"from_dtype"}, None, or array-like, default="from_dtype"
        Nominal columns of any number of categories, as a mask, by number or by name. In frames,
        text whose values repeat and unordered categories are also nominal; ordered categories are
        split like numbers. None: no column is categorical.
    objective : {"YetiRank", "PairLogit", "QueryRMSE"}, default="YetiRank"
        Training loss of CatBoost.
    gain : {"auto", "exp2", "linear"}, default="auto"
        Label that the loss receives. "linear" and, unlike in the other adapters, "auto": the label
        itself, as usual in CatBoost; real-valued, negative and large labels are mapped linearly
        onto 0..4. "exp2": ``2**y - 1``, for whole grades from 0 to 30.
    measure : str, Measure or callable, default="nDCG@10"
        Measure evaluated on X_val after every tree.
    early_stopping_rounds : int >= 1, optional
        Used with X_val, or in folds of ``cv``: stop after this many trees without improvement and
        keep the trees up to the best.
    refit : bool, default=False
        Whether the trees kept by X_val are grown again on the rows of X and X_val.
    cv : int, splitter or iterable of (train rows, test rows), optional
        Folds of queries that choose the number of trees, as in :class:`LambdaMART`.
    params : dict, optional
        Further parameters of CatBoost, by their names in the library. Unknown names raise
        ValueError.
    n_jobs : int, optional
        Number of threads. None: one for every two million values of X, at most the number of CPUs
        of this process, limited by ``RANKWISE_NUM_THREADS``. The result is the same for any number.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the library.

    Attributes
    ----------
    best_iteration_ : int
        Number of trees that ``predict`` uses.
    validation_scores_ : ndarray of shape (n_trees,)
        ``measure`` on X_val after every tree. Only with X_val or ``cv``.
    feature_importances_ : ndarray of shape (n_features_in_,)
        CatBoost's PredictionValuesChange. The sum is 1 (0 without splits).
    model_ : bytes
        Trees as JSON of CatBoost, with numbered columns.
    booster_ : catboost.CatBoost
        Trees as a CatBoost object, with the names of the features.
    columns_ : ColumnTable
        Columns that hold categories, and the codes of the categories.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X has column names.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Differs from ``catboost.CatBoostRanker`` as follows. Queries may be in any order, and the order
    of the rows does not change the model. Early stopping uses any measure of
    :mod:`rankwise.metrics` under its convention. The defaults are 100 trees at rate 0.1 instead of
    1,000 at 0.03. Constant features and labels are not an error. A category that ``fit`` has not
    seen counts as missing. CatBoost rounds features to float32. Only symmetric trees are supported.

    A split on a target statistic of a column sends a set of its categories to one side, so such
    models are explained and exported like others. Statistics of combinations of columns, which
    ``params={"max_ctr_complexity": 2}`` allows, are scored by CatBoost only; explanations and
    exports then raise ValueError.

    "YetiRank" and "PairLogit" weight queries: ``sample_weight`` must be equal for all rows of a
    query. "QueryRMSE" weights rows.

    A level of a tree takes O(N d) time for N rows and d columns; memory is O(N d).

    Composition: CatBoost's trees × YetiRank × CatBoost's boosting.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import CatBoostRanker
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y, qid = (X[:, 0] > 0.5).astype(int), np.arange(200) % 10
    >>> ranker = CatBoostRanker(n_estimators=20, random_state=0).fit(X, y, qid=qid)
    >>> ranker.score(X, y, qid=qid)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BoostedRanker._parameter_constraints,
        "depth": [Interval(Integral, 1, CATBOOST_MAX_DEPTH, closed="both")],
        "random_strength": [NOT_NEGATIVE],
        "colsample_bylevel": [FRACTION],
        "max_bin": [Interval(Integral, 1, 65535, closed="both")],
        "one_hot_max_size": [Interval(Integral, 1, MOST_ONE_HOT, closed="both"), None],
        "objective": [StrOptions(set(OBJECTIVES))],
    }
    _limits: ClassVar[dict[str, Any]] = {"params": None}
    _library = CatBoost()

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        learning_rate: float = 0.1,
        depth: int = 6,
        reg_lambda: float = 3.0,
        random_strength: float = 1.0,
        colsample_bylevel: float = 1.0,
        max_bin: int = 254,
        one_hot_max_size: int | None = None,
        monotone_constraints: Any = None,
        categorical_features: Any = FROM_DTYPE,
        objective: Literal["YetiRank", "PairLogit", "QueryRMSE"] = "YetiRank",
        gain: Literal["auto", "exp2", "linear"] = "auto",
        measure: MeasureLike = "nDCG@10",
        early_stopping_rounds: int | None = None,
        refit: bool = False,
        cv: Any = None,
        params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.depth = depth
        self.reg_lambda = reg_lambda
        self.random_strength = random_strength
        self.colsample_bylevel = colsample_bylevel
        self.max_bin = max_bin
        self.one_hot_max_size = one_hot_max_size
        self.monotone_constraints = monotone_constraints
        self.categorical_features = categorical_features
        self.objective = objective
        self.gain = gain
        self.measure = measure
        self.early_stopping_rounds = early_stopping_rounds
        self.refit = refit
        self.cv = cv
        self.params = params
        self.n_jobs = n_jobs
        self.random_state = random_state
