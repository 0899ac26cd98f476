"""XGBoost's LambdaMART with the API of rankwise [1]_.

References
----------
.. [1] C. Burges, "From RankNet to LambdaRank to LambdaMART: an overview", MSR-TR-2010-82, 2010.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any, ClassVar, Literal

import numpy as np

from rankwise._packages import missing_package
from rankwise.checks.parameter_constraints import FRACTION, NOT_NEGATIVE, StrOptions, minimum
from rankwise.groups import FitData
from rankwise.metrics.measure import MeasureLike
from rankwise.rankers.adapters.boosted_ranker import (
    BoostedRanker,
    BoosterInput,
    PositionFit,
    TrainingRows,
    check_query_weights,
    library_names,
)
from rankwise.rankers.adapters.xgboost_model import XGBOOST_OBJECTIVES, check_xgboost, xgboost_trees
from rankwise.runtime.finite import foreign_range
from rankwise.runtime.threads import use_one_thread
from rankwise.trees.column_table import FROM_DTYPE
from rankwise.typing import Matrix, Seed, is_sparse

try:
    import xgboost
    from xgboost.callback import EarlyStopping
    from xgboost.collective import CommunicatorContext, Op, allreduce
    from xgboost.core import XGBoostError
    from xgboost.tracker import RabitTracker
except ImportError as error:
    raise missing_package("XGBoostRanker", "xgboost") from error

_PREDICT_CHUNK = 2**16  # CSR rows made dense at a time
_FORBIDDEN = re.compile(r"[\[\]<]")
_UNUSED = re.compile(r"Parameters: \{(.*)\} are not used")


class XGBoost:
    """The library as :class:`BoosterLibrary`."""

    name = "XGBoost"
    errors: ClassVar[tuple[type[Exception], ...]] = (XGBoostError,)
    in_float32 = True
    sums_float64 = False  # adds leaves in float32: 2e-6 from our sums
    auto_gain = "auto"
    names: ClassVar[Mapping[str, str]] = {
        "objective": "objective",
        "learning_rate": "learning_rate",
        "max_depth": "max_depth",
        "max_leaves": "max_leaves",
        "min_child_weight": "min_child_weight",
        "subsample": "subsample",
        "colsample_bytree": "colsample_bytree",
        "reg_alpha": "reg_alpha",
        "reg_lambda": "reg_lambda",
        "min_split_loss": "min_split_loss",
        "max_bin": "max_bin",
        "pair_method": "lambdarank_pair_method",
        "n_pairs": "lambdarank_num_pair_per_sample",
        "monotone_constraints": "monotone_constraints",
        "n_jobs": "nthread",
        "random_state": "seed",
    }
    reserved: frozenset[str] = frozenset({
        "num_boost_round", "eta", "alpha", "lambda", "gamma", "ndcg_exp_gain", "eval_metric",
    })  # fmt: skip
    synonyms: ClassVar[tuple[frozenset[str], ...]] = ()  # all of them are in ``reserved``
    read_trees = staticmethod(xgboost_trees)

    def known_params(self, params: Mapping[str, Any], n_features: int) -> set[str]:
        """Let XGBoost read the parameters, and leave out those that it reports as unused."""
        booster = params.get("booster", "gbtree")
        if booster != "gbtree":  # the trees of dart have weights, which stored trees have not
            raise ValueError(
                f"params={{'booster': {booster!r}}} is not supported: booster must be 'gbtree'. "
                "LightGBMRanker drops trees: params={'boosting': 'dart'}."
            )
        matrix = xgboost.DMatrix(np.zeros((2, n_features)), [0.0, 1.0], qid=[0, 0])
        given = {**_settings(params), "verbosity": 1}
        with warnings.catch_warnings(record=True) as caught, xgboost.config_context(verbosity=1):
            warnings.simplefilter("always")
            config = xgboost.Booster(given, [matrix]).save_config()
        found = [match[1] for warning in caught if (match := _UNUSED.search(str(warning.message)))]
        unused = re.findall(r'"(\w+)"', " ".join(found))
        return {*re.findall(r'"(\w+)":', config), *params}.difference(unused)

    def check_data(self, ranker: Any, data: FitData, directions: Sequence[int]) -> None:
        check_query_weights(data, type(ranker).__name__)

    def train(self, given: BoosterInput) -> bytes:
        network = given.network
        with nullcontext() if network is None else CommunicatorContext(**network):
            return self._train(given)

    def _train(self, given: BoosterInput) -> bytes:
        monitor, rows = given.monitor, given.rows
        params = _settings(given.params)
        if params["objective"] == "rank:ndcg":
            params["ndcg_exp_gain"] = rows.exp2
        if rows.position is not None:
            params.setdefault("lambdarank_unbiased", True)
        elif params.get("lambdarank_unbiased"):
            raise ValueError(
                "params={'lambdarank_unbiased': True} needs the place at which each row was "
                "shown, got position=None. Pass position to fit."
            )
        if given.network is not None:
            rows = _balance_weight(rows)
        train_set = _matrix(rows.X, rows.y, given, qid=rows.qid(), weight=rows.query_weight())
        watching: dict[str, Any] = {}
        if monitor is not None:
            watching["evals"] = [(_matrix(monitor.X, None, given, ref=train_set), "validation")]
            watching["custom_metric"] = lambda scores, _: ("measure", monitor(scores))
        if (rounds := given.early_stopping_rounds) is not None:
            watching["callbacks"] = [EarlyStopping(rounds=rounds, maximize=True)]
        before = given.previous
        booster = xgboost.train(
            params, train_set, given.n_trees, xgb_model=before, verbose_eval=False, **watching
        )
        if given.early_stopping_rounds is not None:
            n_before = 0 if before is None else self.count_trees(before)
            booster = booster[: given.last_iteration(n_before)]
        # Columns of categories of which no training row misses one.
        complete = {
            j for j in given.nominal if is_sparse(rows.X) or not np.isnan(rows.X[:, j]).any()
        }
        return self.dump(booster, complete)

    def find_booster(self, model: Any) -> xgboost.Booster | None:
        if isinstance(model, xgboost.XGBModel):
            return model.get_booster()
        return model if isinstance(model, xgboost.Booster) else None

    def dump(self, booster: xgboost.Booster, complete: Collection[int] = ()) -> bytes:
        """Trees as JSON with numbered columns, without records of training.

        Splits of ``complete`` columns send missing values to the child with more training rows.
        """
        model = json.loads(booster.save_raw("json"))
        trees = model["learner"]["gradient_booster"]["model"]["trees"] if complete else []
        for tree in trees:
            # The rows of training decide where categories that they do not have go. XGBoost learns
            # a side for missing values from missing values. Where there were none, the side is
            # arbitrary, and a category that training has not seen got the score of the best one.
            hessian = tree["sum_hessian"]
            for node, column in enumerate(tree["split_indices"]):
                left, right = tree["left_children"][node], tree["right_children"][node]
                if left >= 0 and column in complete:
                    tree["default_left"][node] = int(hessian[left] >= hessian[right])
        learner = model["learner"]
        learner["attributes"], learner["feature_names"] = {}, []
        if "c" not in learner["feature_types"]:
            learner["feature_types"] = []
        objective = learner["objective"]
        learner["objective"] = {key: objective[key] for key in ("lambdarank_param", "name")}
        # XGBoost cannot load a model that corrects positions without their biases, which
        # training alone needs.
        learner["objective"]["lambdarank_param"]["lambdarank_unbiased"] = "0"
        return json.dumps(model).encode("ascii")

    def load(self, model: bytes, n_features: int, names: Sequence[str] | None) -> xgboost.Booster:
        booster, checked = xgboost.Booster(), bytearray(check_xgboost(model, n_features))
        with use_one_thread():  # a server loads the model, then forks workers
            booster.load_model(checked)
        if names is not None:
            booster.feature_names = library_names(names, _FORBIDDEN)
        return booster

    def predict(
        self, booster: xgboost.Booster, X: Matrix, nominal: Collection[int], n_threads: int
    ) -> Any:
        if booster.attr("nthread") != str(n_threads):  # slower than predicting a few rows
            booster.set_param({"nthread": str(n_threads)})
            booster.set_attr(nthread=str(n_threads))
        with foreign_range():
            if not is_sparse(X):
                return booster.inplace_predict(X, predict_type="margin")
            return np.concatenate([
                booster.inplace_predict(_dense(X[first : first + _PREDICT_CHUNK]),
                                        predict_type="margin")
                for first in range(0, X.shape[0], _PREDICT_CHUNK)
            ])  # fmt: skip

    def count_trees(self, booster: xgboost.Booster) -> int:
        return booster.num_boosted_rounds()

    def importances(self, ranker: Any) -> Any:
        booster = ranker.booster_
        names = booster.feature_names or [f"f{j}" for j in range(booster.num_features())]
        gains = booster.get_score(importance_type="total_gain")
        return [gains.get(name, 0.0) for name in names]

    def networks(
        self, hosts: Sequence[str], ports: Sequence[int], here: str
    ) -> tuple[list[dict[str, Any]], RabitTracker]:
        tracker = _Tracker(len(hosts), here, sortby="task")
        tracker.start()
        shared = tracker.worker_args()
        return [{**shared, "dmlc_task_id": f"{rank:08d}"} for rank in range(len(hosts))], tracker


class _Tracker(RabitTracker):
    """Tracker that ends quietly if its workers have died."""

    def __del__(self) -> None:
        with suppress(XGBoostError):
            super().__del__()


def _settings(params: Mapping[str, Any]) -> dict[str, Any]:
    fixed = {"tree_method": "hist", "disable_default_eval_metric": True, "verbosity": 0}
    settings = {**fixed, **params}
    if "monotone_constraints" in settings:
        settings["monotone_constraints"] = tuple(settings["monotone_constraints"])
    return settings


def _matrix(X: Matrix, y: Any, given: BoosterInput, **others: Any) -> xgboost.QuantileDMatrix:
    """Matrix of binned rows for XGBoost."""
    if given.nominal:
        others["feature_types"] = ["c" if j in given.nominal else "q" for j in range(X.shape[1])]
        others["enable_categorical"] = True
    params = given.params
    with foreign_range():  # largest number of float32
        return xgboost.QuantileDMatrix(
            _dense(X), y, max_bin=params["max_bin"], nthread=params["nthread"], **others
        )


def _dense(X: Matrix) -> Any:
    """Dense X unchanged; CSR as dense float32 with zeros instead of missing values."""
    return X.astype(np.float32).toarray() if is_sparse(X) else X


def _balance_weight(rows: TrainingRows) -> TrainingRows:
    """Rows whose queries weigh on average what those of all workers do.

    XGBoost divides weights by their mean over the queries of the worker. Queries of one row, which
    has no pair and no values to bin, bring that mean to the mean over all workers.
    """
    weight, n = rows.query_weight(), len(rows.sizes)
    weight = np.ones(n) if weight is None else weight
    total = weight.sum()
    n_in_all, total_in_all = allreduce(np.array([n, total], dtype=np.float64), Op.SUM)
    mean = total_in_all / n_in_all
    if np.isclose(total, n * mean, rtol=1e-12, atol=0):
        return rows
    n_more = int(max(total / mean - n, 0)) + 1
    X = _dense(rows.X)
    return TrainingRows(
        np.concatenate([X, np.full((n_more, X.shape[1]), np.nan, dtype=X.dtype)]),
        np.concatenate([rows.y, np.zeros(n_more)]),
        rows.exp2,
        np.concatenate([rows.sizes, np.ones(n_more, dtype=np.int64)]),
        np.concatenate(
            [np.repeat(weight, rows.sizes), np.full(n_more, ((n + n_more) * mean - total) / n_more)]
        ),
        label_values=rows.label_values,
    )


class XGBoostRanker(PositionFit, BoostedRanker):
    """Gradient-boosted trees with LambdaRank gradients, trained by XGBoost.

    Minimises ``loss + reg_alpha sum_j |v_j| + reg_lambda sum_j v_j^2 / 2`` in every tree, over the
    values v_j of its leaves before ``learning_rate`` shrinks them; the loss is summed over pairs or
    rows.

    Parameters
    ----------
    n_estimators : int >= 1, default=100
        Number of trees.
    learning_rate : float > 0, default=0.3
        Shrinkage of the values of the leaves.
    max_depth : int >= 0, default=6
        Largest depth of a tree. 0: no limit.
    max_leaves : int >= 0, default=0
        Largest number of leaves of a tree. 0: no limit.
    min_child_weight : float >= 0, default=1.0
        Smallest sum of second derivatives in a leaf.
    subsample : float in (0, 1], default=1.0
        Share of the rows drawn for every tree.
    colsample_bytree : float in (0, 1], default=1.0
        Share of the features drawn for every tree.
    reg_alpha : float >= 0, default=0.0
        L1 penalty on the values of the leaves.
    reg_lambda : float >= 0, default=1.0
        L2 penalty on the values of the leaves.
    min_split_loss : float >= 0, default=0.0
        Smallest gain of a split (XGBoost's ``gamma``).
    max_bin : int >= 2, default=256
        Largest number of bins per feature.
    monotone_constraints : dict or array-like of shape (n_features,), optional
        Direction of each column, by name or number. 1: the score must not decrease as the feature
        grows. -1: it must not increase. 0: no constraint.
    categorical_features : {"from_dtype"}, None, or array-like, default="from_dtype"
        Columns that are split by subsets of their categories, as a mask, by number or by name. In
        frames, text whose values repeat and unordered categories are also split this way; ordered
        categories are split like numbers. None: no column is categorical.
    objective : {"rank:ndcg", "rank:pairwise"}, default="rank:ndcg"
        Training loss of XGBoost.
    pair_method : {"topk", "mean"}, default="topk"
        Selection of pairs. "topk": pairs with the rows at the top ranks. "mean": pairs drawn at
        random for every row.
    n_pairs : int >= 1, optional
        Number of top ranks, or of pairs drawn for each row. None: the default of XGBoost.
    gain : {"auto", "exp2", "linear"}, default="auto"
        Gain of a label in LambdaRank's nDCG. "exp2": ``2**y - 1``, for whole grades from 0 to 30.
        "linear": ``y``; for labels that are not such grades, the distance from the smallest label.
        "auto": "exp2" for such grades, "linear" for all other labels (real-valued, negative or
        larger).
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
        Further parameters of XGBoost, by their names in the library. Unknown names raise
        ValueError. ``lambdarank_unbiased`` needs the ``position`` of every row in ``fit``.
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
        Share of each feature in the total gain of the splits. The sum is 1 (0 without splits).
    model_ : bytes
        Trees as JSON of XGBoost, with numbered columns.
    booster_ : xgboost.Booster
        Trees as an XGBoost object, with the names of the features.
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
    Differs from ``xgboost.XGBRanker`` as follows. Queries may be in any order and of any type, and
    any labels are accepted. The order of the rows does not change the model. An entry absent from a
    CSR matrix is 0, as in the dense matrix, and not missing; the matrix is made dense in float32, 4
    bytes per entry. A category that ``fit`` has not seen counts as missing. If no
    training row misses a category of that column, such rows follow the majority of the training
    rows at its splits. Only the booster "gbtree" is supported.

    XGBoost weights queries: ``sample_weight`` must be equal for all rows of a query.

    A level of a tree takes O(N d) time for N rows and d columns; memory is O(N d).

    Composition: XGBoost's trees × LambdaRank × XGBoost's boosting.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import XGBoostRanker
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y, qid = (X[:, 0] > 0.5).astype(int), np.arange(200) % 10
    >>> ranker = XGBoostRanker(n_estimators=20, random_state=0).fit(X, y, qid=qid)
    >>> ranker.score(X, y, qid=qid)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BoostedRanker._parameter_constraints,
        "max_depth": [minimum(0)],
        "max_leaves": [minimum(0)],
        "min_child_weight": [NOT_NEGATIVE],
        "subsample": [FRACTION],
        "colsample_bytree": [FRACTION],
        "reg_alpha": [NOT_NEGATIVE],
        "min_split_loss": [NOT_NEGATIVE],
        "max_bin": [minimum(2)],
        "objective": [StrOptions(set(XGBOOST_OBJECTIVES))],
        "pair_method": [StrOptions({"topk", "mean"})],
        "n_pairs": [minimum(1), None],
    }
    _limits: ClassVar[dict[str, Any]] = {"min_child_weight": 0.0, "reg_alpha": 0.0, "params": None}
    _library = XGBoost()

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        learning_rate: float = 0.3,
        max_depth: int = 6,
        max_leaves: int = 0,
        min_child_weight: float = 1.0,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 1.0,
        min_split_loss: float = 0.0,
        max_bin: int = 256,
        monotone_constraints: Any = None,
        categorical_features: Any = FROM_DTYPE,
        objective: Literal["rank:ndcg", "rank:pairwise"] = "rank:ndcg",
        pair_method: Literal["topk", "mean"] = "topk",
        n_pairs: int | None = None,
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
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.min_child_weight = min_child_weight
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.min_split_loss = min_split_loss
        self.max_bin = max_bin
        self.monotone_constraints = monotone_constraints
        self.categorical_features = categorical_features
        self.objective = objective
        self.pair_method = pair_method
        self.n_pairs = n_pairs
        self.gain = gain
        self.measure = measure
        self.early_stopping_rounds = early_stopping_rounds
        self.refit = refit
        self.cv = cv
        self.params = params
        self.n_jobs = n_jobs
        self.random_state = random_state
