"""CatBoost's YetiRank behind the qid API [1]_.

References
----------
.. [1] A. Gulin, I. Kuralenok and D. Pavlov, "Winning the transfer learning track of Yahoo!'s
   learning to rank challenge with YetiRank", JMLR W&CP 14, 2011.
"""

from __future__ import annotations

import json
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from rankwise.rankers.adapters._common import (
    NOT_NEGATIVE,
    SHARE,
    BoostedRanker,
    TrainingRows,
    ValidationMonitor,
)
from rankwise.rankers.adapters._stored import CATBOOST_MAX_DEPTH, check_catboost
from rankwise.trees.stored_boosters import StoredTrees, catboost_trees
from rankwise.typing import Matrix

try:
    import catboost
except ImportError as error:
    raise ImportError(
        'CatBoostRanker needs CatBoost, which is not installed. Run: pip install "rankwise[gbdt]"'
    ) from error

OBJECTIVES = ("YetiRank", "PairLogit", "QueryRMSE")
_NOTHING_VARIES = "All features are either constant or ignored"
_KEPT = ("features_info", "oblivious_trees", "scale_and_bias")


class CatBoostRanker(BoostedRanker):
    """Gradient boosted symmetric trees with a ranking loss, trained by CatBoost.

    Minimises ``loss + reg_lambda sum_j v_j^2 / 2`` in every tree, over the values v_j of its leaves
    before ``learning_rate`` shrinks them; the loss is summed over pairs or rows.

    Parameters
    ----------
    n_estimators : int >= 1, default=100
        Number of trees.
    learning_rate : float > 0, default=0.1
    depth : int in 1..16, default=6
        Depth of every tree.
    reg_lambda : float >= 0, default=3.0
        L2 penalty on the values of the leaves (CatBoost's ``l2_leaf_reg``).
    random_strength : float >= 0, default=1.0
        Noise on the scores of splits.
    colsample_bylevel : float in (0, 1], default=1.0
        Share of the features drawn for every split (CatBoost's ``rsm``).
    max_bin : int in 1..65535, default=254
        Most borders of a feature (CatBoost's ``border_count``).
    objective : {"YetiRank", "PairLogit", "QueryRMSE"}, default="YetiRank"
    gain : {"auto", "exp2", "linear"}, default="auto"
        What the loss sees of a label. "linear" and, differing from the other adapters, "auto":
        the label, as CatBoost takes it; real-valued, negative and large labels are mapped linearly
        onto 0..4. "exp2": ``2**y - 1``, for whole grades from 0 to 30.
    measure : str, default="nDCG@10"
        Measure taken on X_val after every tree.
    early_stopping_rounds : int >= 1, optional
        Used only where ``fit`` receives X_val: stop after this many trees without improvement
        and keep the trees up to the best.
    params : dict, optional
        Further parameters of CatBoost, under its names.
    n_jobs : int, optional
        Threads; None: one for every two million values of X, at most all CPUs of this process,
        capped by ``RANKWISE_NUM_THREADS``. The result is the same for any number.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    best_iteration_ : int
        Number of trees that ``predict`` uses.
    validation_scores_ : ndarray of shape (n_trees,)
        ``measure`` on X_val after every tree, where X_val was given.
    feature_importances_ : ndarray of shape (n_features_in_,)
        CatBoost's PredictionValuesChange, summing to 1 (all 0 without splits).
    model_ : bytes
        The trees as CatBoost's JSON.
    booster_ : catboost.CatBoost
        The same trees as CatBoost's object.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where X has column names.
    score_name_ : str
        What ``score`` returns.

    Notes
    -----
    Differs from ``catboost.CatBoostRanker``: takes queries in any order; trains the same model for
    any order of the rows; early stopping sees any measure of :mod:`rankwise.metrics`, under its
    convention; 100 trees at rate 0.1 instead of 1,000 at 0.03; constant features and labels are
    no error. Features are rounded to float32 by CatBoost. ``sample_weight`` is not accepted:
    CatBoost reweighs the pairs it draws, which is not repetition. Categorical
    features and trees other than symmetric ones are not supported.

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
        "colsample_bylevel": [SHARE],
        "max_bin": [Interval(Integral, 1, 65535, closed="both")],
        "objective": [StrOptions(set(OBJECTIVES))],
    }
    _in_float32: ClassVar[bool] = True
    _own_names: ClassVar[frozenset[str]] = frozenset({
        "n_estimators", "iterations", "num_trees", "num_boost_round", "learning_rate", "eta",
        "depth", "max_depth", "l2_leaf_reg", "reg_lambda", "random_strength", "rsm",
        "colsample_bylevel", "border_count", "max_bin", "loss_function", "objective",
        "eval_metric", "thread_count", "random_seed", "random_state", "early_stopping_rounds",
        "od_type", "od_wait", "use_best_model", "cat_features", "text_features",
    })  # fmt: skip

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
        objective: str = "YetiRank",
        gain: str = "auto",
        measure: str = "nDCG@10",
        early_stopping_rounds: int | None = None,
        params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.depth = depth
        self.reg_lambda = reg_lambda
        self.random_strength = random_strength
        self.colsample_bylevel = colsample_bylevel
        self.max_bin = max_bin
        self.objective = objective
        self.gain = gain
        self.measure = measure
        self.early_stopping_rounds = early_stopping_rounds
        self.params = params
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _train(self, rows: TrainingRows, monitor: ValidationMonitor | None, seed: int) -> bytes:
        labels = 2.0**rows.y - 1.0 if self.gain == "exp2" else rows.y
        params = {**self._library_params(seed, rows), **(self.params or {})}
        validation = {}
        if monitor is not None:
            metric = _Metric(monitor, skipped=len(labels))
            params["eval_metric"] = metric
            validation = {
                "eval_set": metric.pool(),
                "use_best_model": False,
                "early_stopping_rounds": self.early_stopping_rounds,
            }
        booster = catboost.CatBoost(params)
        try:
            booster.fit(catboost.Pool(rows.X, labels, group_id=rows.qid()), **validation)
        except catboost.CatBoostError as error:
            if _NOTHING_VARIES in str(error):
                return b""
            raise
        if monitor is not None and self.early_stopping_rounds is not None:
            booster.shrink(monitor.best_iteration)
        return _json(booster)

    def _library_params(self, seed: int, rows: TrainingRows) -> dict[str, Any]:
        return {
            "loss_function": self.objective,
            "iterations": self.n_estimators,
            "learning_rate": self.learning_rate,
            "depth": self.depth,
            "l2_leaf_reg": self.reg_lambda,
            "random_strength": self.random_strength,
            "rsm": self.colsample_bylevel,
            "border_count": self.max_bin,
            "thread_count": self._threads(rows.X),
            "random_seed": seed,
            "allow_writing_files": False,
            "logging_level": "Silent",
        }

    def _parse(self, model: bytes) -> catboost.CatBoost:
        model = check_catboost(model, self.n_features_in_)
        booster = catboost.CatBoost()
        with TemporaryDirectory() as folder:  # CatBoost reads JSON from files only
            path = Path(folder) / "model.json"
            path.write_bytes(model)
            booster.load_model(str(path), format="json")
        return booster

    def _predict(self, booster: catboost.CatBoost, X: Matrix) -> Any:
        return booster.predict(X, prediction_type="RawFormulaVal", thread_count=self._threads(X))

    def _n_rounds(self, booster: catboost.CatBoost) -> int:
        return int(booster.tree_count_ or 0)

    def _stored_trees(self, model: bytes) -> StoredTrees:
        return catboost_trees(model)

    def _importances(self, booster: catboost.CatBoost) -> Any:
        return booster.get_feature_importance(type=catboost.EFstrType.PredictionValuesChange)


class _Metric:
    """A measure as CatBoost calls it: with the scores of the training rows, then of X_val."""

    no_jit = True  # CatBoost would try to compile evaluate with numba and warn

    def __init__(self, monitor: ValidationMonitor, skipped: int) -> None:
        self._monitor = monitor
        # The two calls differ in length only; one row more where they would not.
        self._n_extra = int(monitor.n_samples == skipped)

    def pool(self) -> catboost.Pool:
        """The validation rows, their labels withheld."""
        n_rows = self._monitor.n_samples
        rows = np.minimum(np.arange(n_rows + self._n_extra), n_rows - 1)
        labels = np.arange(len(rows)) % 2
        return catboost.Pool(self._monitor.X[rows], labels, group_id=np.zeros_like(rows))

    def __deepcopy__(self, memo: Any) -> _Metric:
        return self  # CatBoost copies its parameters; what the monitor collects must stay here

    def is_max_optimal(self) -> bool:
        return True

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        scores = np.asarray(approxes[0])
        if len(scores) != self._monitor.n_samples + self._n_extra:
            return 0.0, 1.0
        return self._monitor(scores[: self._monitor.n_samples]), 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        return error


def _json(booster: catboost.CatBoost) -> bytes:
    """The trees and their borders as JSON, without training parameters, times and ids."""
    with TemporaryDirectory() as folder:  # CatBoost writes JSON to files only
        path = Path(folder) / "model.json"
        booster.save_model(str(path), format="json")
        model = json.loads(path.read_bytes())
    for feature in model["features_info"]["float_features"]:
        feature["borders"] = feature["borders"] or []
    return json.dumps({key: model.get(key) for key in _KEPT}).encode("ascii")
