"""XGBoost's LambdaMART with the API of rankwise [1]_.

References
----------
.. [1] C. Burges, "From RankNet to LambdaRank to LambdaMART: an overview", MSR-TR-2010-82, 2010.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, suppress
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from rankwise.groups import QueryGroups
from rankwise.rankers.adapters._common import (
    AT_LEAST_ONE,
    NOT_NEGATIVE,
    SHARE,
    BoostedRanker,
    ValidationMonitor,
)
from rankwise.rankers.adapters._params import library_names, unknown_message
from rankwise.rankers.adapters._rows import TrainingRows
from rankwise.rankers.adapters._stored import XGBOOST_OBJECTIVES, check_xgboost
from rankwise.runtime.finite import foreign_range
from rankwise.trees.columns import FROM_DTYPE
from rankwise.trees.stored_boosters import StoredTrees, xgboost_trees
from rankwise.typing import ArrayLike, FrameLike, Matrix, is_sparse

try:
    import xgboost
    from xgboost.callback import EarlyStopping
    from xgboost.collective import CommunicatorContext, Op, allreduce, is_distributed
    from xgboost.core import XGBoostError
    from xgboost.tracker import RabitTracker
except ImportError as error:
    raise ImportError(
        'XGBoostRanker needs XGBoost, which is not installed. Run: pip install "rankwise[gbdt]"'
    ) from error

_PREDICT_CHUNK = 2**16  # CSR rows made dense at a time
_FORBIDDEN = re.compile(r"[\[\]<]")
_UNUSED = re.compile(r"Parameters: \{(.*)\} are not used")


class XGBoostRanker(BoostedRanker):
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
        frames, text and unordered categories are also split this way; ordered categories are split
        like numbers. None: no column is categorical.
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
    measure : str, default="nDCG@10"
        Measure evaluated on X_val after every tree.
    early_stopping_rounds : int >= 1, optional
        Used only if ``fit`` receives X_val: stop after this many trees without improvement and keep
        the trees up to the best.
    params : dict, optional
        Further parameters of XGBoost, by their names in the library. Unknown names raise
        ValueError. ``lambdarank_unbiased`` needs the ``position`` of every row in ``fit``.
    n_jobs : int, optional
        Number of threads. None: one for every two million values of X, at most the number of CPUs
        of this process, limited by ``RANKWISE_NUM_THREADS``. The result is the same for any number.
    random_state : int, RandomState or None, default=None
        Seed of the library.

    Attributes
    ----------
    best_iteration_ : int
        Number of trees that ``predict`` uses.
    validation_scores_ : ndarray of shape (n_trees,)
        ``measure`` on X_val after every tree. Only if X_val was given.
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
        "max_depth": [Interval(Integral, 0, None, closed="left")],
        "max_leaves": [Interval(Integral, 0, None, closed="left")],
        "min_child_weight": [NOT_NEGATIVE],
        "subsample": [SHARE],
        "colsample_bytree": [SHARE],
        "reg_alpha": [NOT_NEGATIVE],
        "min_split_loss": [NOT_NEGATIVE],
        "max_bin": [Interval(Integral, 2, None, closed="left")],
        "objective": [StrOptions(set(XGBOOST_OBJECTIVES))],
        "pair_method": [StrOptions({"topk", "mean"})],
        "n_pairs": [AT_LEAST_ONE, None],
    }
    _in_float32: ClassVar[bool] = True
    _own_names: ClassVar[frozenset[str]] = frozenset({
        "n_estimators", "num_boost_round", "learning_rate", "eta", "max_depth", "max_leaves",
        "min_child_weight", "subsample", "colsample_bytree", "reg_alpha", "alpha", "reg_lambda",
        "lambda", "min_split_loss", "gamma", "max_bin", "objective", "lambdarank_pair_method",
        "lambdarank_num_pair_per_sample", "ndcg_exp_gain", "eval_metric", "nthread", "n_jobs",
        "seed", "random_state", "early_stopping_rounds", "monotone_constraints",
    })  # fmt: skip
    _limits: ClassVar[dict[str, Any]] = {"min_child_weight": 0.0, "reg_alpha": 0.0, "params": None}
    _library: ClassVar[str] = "XGBoost"
    _errors: ClassVar[tuple[type[Exception], ...]] = (XGBoostError,)
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"position": True}

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
        objective: str = "rank:ndcg",
        pair_method: str = "topk",
        n_pairs: int | None = None,
        gain: str = "auto",
        measure: str = "nDCG@10",
        early_stopping_rounds: int | None = None,
        params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
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
        self.params = params
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        sample_weight: ArrayLike | None = None,
        position: ArrayLike | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | QueryGroups | None = None,
        init_model: Any = None,
    ) -> Self:
        """Train on rows with relevance labels.

        Parameters
        ----------
        X : array-like, CSR or frame of shape (n_samples, n_features)
            Features. NaN means missing; an entry absent from a CSR matrix is 0. Categorical columns
            are chosen by ``categorical_features``.
        y : array-like of shape (n_samples,)
            Any finite numbers; larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row, of any dtype and in any order. None: all rows form one query.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0, equal within a query. Rows of weight 0 are left out.
        position : array-like of shape (n_samples,), optional
            Place at which each row was shown when its clicks were recorded, integers >= 0. XGBoost
            estimates the bias of every place and corrects the labels for it
            (``lambdarank_unbiased``).
        X_val, y_val, qid_val : optional
            Validation rows, on which ``measure`` is evaluated after every tree. Training stops
            after ``early_stopping_rounds`` trees without improvement.
        init_model : XGBoostRanker, xgboost.Booster or xgboost.XGBModel, optional
            Fitted model to continue from: ``n_estimators`` trees are added to its trees. Categories
            keep the codes of this model.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid; the message names it.
        """
        if position is None and (self.params or {}).get("lambdarank_unbiased"):
            raise ValueError(
                "params={'lambdarank_unbiased': True} needs the place at which each row was "
                "shown, got position=None. Pass position to fit."
            )
        validation = (X_val, y_val, qid_val)
        return self._fit(X, y, qid, sample_weight, validation, init_model, position)

    def _train(
        self, rows: TrainingRows, monitor: ValidationMonitor | None, seed: int, previous: Any
    ) -> bytes:
        params = {**self._library_params(seed, rows), **(self.params or {})}
        rows = _with_mean_weight(rows) if is_distributed() else rows
        train_set = self._matrix(
            rows.X, rows.y, nthread=params["nthread"], qid=rows.qid(), weight=rows.query_weight()
        )
        complete = self._complete_nominal(rows.X)
        if monitor is None:
            booster = xgboost.train(params, train_set, self.n_estimators, xgb_model=previous)
            return _json(booster, complete)
        valid_set = self._matrix(monitor.X, nthread=params["nthread"], ref=train_set)
        callbacks = []
        if self.early_stopping_rounds is not None:
            callbacks.append(EarlyStopping(rounds=self.early_stopping_rounds, maximize=True))
        booster = xgboost.train(
            params,
            train_set,
            self.n_estimators,
            evals=[(valid_set, "validation")],
            custom_metric=lambda scores, _: ("measure", monitor(scores)),
            callbacks=callbacks,
            verbose_eval=False,
            xgb_model=previous,
        )
        if self.early_stopping_rounds is not None:
            n_before = 0 if previous is None else previous.num_boosted_rounds()
            booster = booster[: n_before + monitor.best_iteration]
        return _json(booster, complete)

    def _complete_nominal(self, X: Matrix) -> set[int]:
        """Columns of categories of which no training row misses one."""
        nominal = sorted(self.columns_.nominal)
        if is_sparse(X) or not nominal:
            return set(nominal)
        return {column for column in nominal if not np.isnan(X[:, column]).any()}

    def _matrix(self, X: Matrix, y: Any = None, **others: Any) -> xgboost.QuantileDMatrix:
        """Matrix of binned rows for XGBoost."""
        if self.columns_.nominal:
            nominal = self.columns_.nominal
            others["feature_types"] = ["c" if j in nominal else "q" for j in range(X.shape[1])]
            others["enable_categorical"] = True
        with foreign_range():  # largest number of float32
            return xgboost.QuantileDMatrix(_dense(X), y, max_bin=self.max_bin, **others)

    def _library_params(self, seed: int, rows: TrainingRows) -> dict[str, Any]:
        params = {
            "objective": self.objective,
            "learning_rate": self.learning_rate,
            "max_depth": self.max_depth,
            "max_leaves": self.max_leaves,
            "min_child_weight": self.min_child_weight,
            "subsample": self.subsample,
            "colsample_bytree": self.colsample_bytree,
            "reg_alpha": self.reg_alpha,
            "reg_lambda": self.reg_lambda,
            "min_split_loss": self.min_split_loss,
            "max_bin": self.max_bin,
            "tree_method": "hist",
            "lambdarank_pair_method": self.pair_method,
            "disable_default_eval_metric": True,
            "nthread": self._threads(rows.X),
            "seed": seed,
            "verbosity": 0,
        }
        if self.n_pairs is not None:
            params["lambdarank_num_pair_per_sample"] = self.n_pairs
        if self.objective == "rank:ndcg":
            params["ndcg_exp_gain"] = rows.exp2
        if rows.position is not None:
            params["lambdarank_unbiased"] = True
        if (directions := self._constraints()) is not None:
            params["monotone_constraints"] = tuple(directions)
        return params

    def _check_params(self) -> None:
        """Let XGBoost read ``params``, and raise for those that it reports as unused."""
        X = np.zeros((2, self.n_features_in_))
        rows = TrainingRows(X, np.arange(2.0), False, np.array([2]))
        params = {**self._library_params(0, rows), **(self.params or {}), "verbosity": 1}
        matrix = xgboost.DMatrix(rows.X, rows.y, qid=rows.qid())
        with warnings.catch_warnings(record=True) as caught, xgboost.config_context(verbosity=1):
            warnings.simplefilter("always")
            config = xgboost.Booster(params, [matrix]).save_config()
        found = [match[1] for warning in caught if (match := _UNUSED.search(str(warning.message)))]
        unknown = re.findall(r'"(\w+)"', " ".join(found))
        if unknown:
            known = set(re.findall(r'"(\w+)":', config)) | self._own_names
            raise ValueError(unknown_message(type(self).__name__, "XGBoost", unknown[0], known))

    def _networks(
        self, hosts: Sequence[str], ports: Sequence[int], here: str
    ) -> list[dict[str, Any]]:
        if hasattr(self, "_tracker"):  # of workers that have died
            with suppress(XGBoostError):
                self._tracker.free()
        self._tracker = RabitTracker(len(hosts), here, sortby="task")
        self._tracker.start()
        shared = self._tracker.worker_args()
        return [{**shared, "dmlc_task_id": f"{rank:08d}"} for rank in range(len(hosts))]

    def _in_network(self, network: dict[str, Any]) -> AbstractContextManager[Any]:
        return CommunicatorContext(**network)

    def _library_booster(self, model: Any) -> Any:
        if isinstance(model, xgboost.XGBModel):
            return model.get_booster()
        return model if isinstance(model, xgboost.Booster) else None

    def _stored_copy(self, booster: xgboost.Booster) -> bytes:
        return _json(booster)

    def _parse(self, model: bytes, names: list[str] | None) -> xgboost.Booster:
        booster = xgboost.Booster()
        booster.load_model(bytearray(check_xgboost(model, self.n_features_in_)))
        if names is not None:
            booster.feature_names = library_names(names, _FORBIDDEN)
        return booster

    def _predict(self, booster: xgboost.Booster, X: Matrix) -> Any:
        n_threads = str(self._threads(X))
        if booster.attr("nthread") != n_threads:  # slower than predicting a few rows
            booster.set_param({"nthread": n_threads})
            booster.set_attr(nthread=n_threads)
        with foreign_range():
            if not is_sparse(X):
                return booster.inplace_predict(X, predict_type="margin")
            return np.concatenate([
                booster.inplace_predict(_dense(X[first : first + _PREDICT_CHUNK]),
                                        predict_type="margin")
                for first in range(0, X.shape[0], _PREDICT_CHUNK)
            ])  # fmt: skip

    def _n_rounds(self, booster: xgboost.Booster) -> int:
        return booster.num_boosted_rounds()

    def _stored_trees(self, model: bytes, n_categories: Any) -> StoredTrees:
        return xgboost_trees(model, n_categories)

    def _importances(self, booster: xgboost.Booster) -> Any:
        names = booster.feature_names or [f"f{column}" for column in range(self.n_features_in_)]
        gains = booster.get_score(importance_type="total_gain")
        return [gains.get(name, 0.0) for name in names]


def _json(booster: xgboost.Booster, complete: Collection[int] = ()) -> bytes:
    """Trees as JSON with numbered columns, without records of training.

    Splits of ``complete`` columns send missing values to the child with more training rows.
    """
    model = json.loads(booster.save_raw("json"))
    trees = model["learner"]["gradient_booster"]["model"]["trees"] if complete else []
    for tree in trees:
        _send_unseen_to_majority(tree, complete)
    learner = model["learner"]
    learner["attributes"], learner["feature_names"] = {}, []
    if "c" not in learner["feature_types"]:
        learner["feature_types"] = []
    objective = learner["objective"]
    learner["objective"] = {key: objective[key] for key in ("lambdarank_param", "name")}
    # XGBoost cannot load a model that corrects positions without their biases, which training alone
    # needs.
    learner["objective"]["lambdarank_param"]["lambdarank_unbiased"] = "0"
    return json.dumps(model).encode("ascii")


def _send_unseen_to_majority(tree: dict[str, Any], columns: Collection[int]) -> None:
    """Let the rows of training decide where categories that they do not have go.

    XGBoost learns a side for missing values from missing values. Where there were none, the side is
    arbitrary, and a category that training has not seen got the score of the best one.
    """
    hessian = tree["sum_hessian"]
    for node, column in enumerate(tree["split_indices"]):
        left, right = tree["left_children"][node], tree["right_children"][node]
        if left >= 0 and column in columns:
            tree["default_left"][node] = int(hessian[left] >= hessian[right])


def _dense(X: Matrix) -> Any:
    """Dense X unchanged; CSR as dense float32 with zeros instead of missing values."""
    return X.astype(np.float32).toarray() if is_sparse(X) else X


def _with_mean_weight(rows: TrainingRows) -> TrainingRows:
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
