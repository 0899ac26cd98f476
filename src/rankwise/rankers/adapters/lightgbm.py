"""LightGBM's LambdaMART with the API of rankwise [1]_.

References
----------
.. [1] C. Burges, "From RankNet to LambdaRank to LambdaMART: an overview", MSR-TR-2010-82, 2010.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise._packages import missing_package
from rankwise.checks.parameter_constraints import FRACTION, NOT_NEGATIVE, StrOptions, minimum
from rankwise.groups import FitData
from rankwise.metrics.measure import MeasureLike
from rankwise.rankers.adapters.boosted_ranker import (
    LARGEST_LABEL_COUNT,
    BoostedRanker,
    BoosterInput,
    PositionFit,
    TrainingRows,
    deal_large_queries,
    library_names,
)
from rankwise.rankers.adapters.lightgbm_model import (
    END_OF_TREES,
    LIGHTGBM_OBJECTIVES,
    check_lightgbm,
)
from rankwise.runtime.messages import callers_level
from rankwise.trees.column_table import FROM_DTYPE
from rankwise.trees.stored_boosters import StoredTrees
from rankwise.typing import Float64Array, Int64Array, Seed

try:
    import lightgbm
except ImportError as error:
    raise missing_package("LightGBMRanker", "lightgbm") from error

CONNECTING_MINUTES = 2
LARGEST_QUERY = 10_000  # rows; a constant of LightGBM
_FORBIDDEN = re.compile(r"[\s\"',:\[\]{}=]")


class LightGBM:
    """The library as :class:`BoosterLibrary`."""

    name = "LightGBM"
    errors: ClassVar[tuple[type[Exception], ...]] = (lightgbm.basic.LightGBMError,)
    in_float32 = False
    sums_float64 = True
    auto_gain = "auto"
    names: ClassVar[Mapping[str, str]] = {
        "objective": "objective",
        "learning_rate": "learning_rate",
        "num_leaves": "num_leaves",
        "max_depth": "max_depth",
        "min_child_samples": "min_data_in_leaf",
        "min_child_weight": "min_sum_hessian_in_leaf",
        "subsample": "bagging_fraction",
        "colsample_bytree": "feature_fraction",
        "reg_alpha": "lambda_l1",
        "reg_lambda": "lambda_l2",
        "max_bin": "max_bin",
        "truncation_level": "lambdarank_truncation_level",
        "monotone_constraints": "monotone_constraints",
        "n_jobs": "num_threads",
        "random_state": "seed",
    }
    reserved: frozenset[str] = frozenset({
        "num_iterations", "num_boost_round", "label_gain", "metric", "early_stopping_round",
        "categorical_feature",
    })  # fmt: skip
    synonyms: ClassVar[tuple[frozenset[str], ...]] = tuple(
        frozenset((name, *others))
        for name, others in lightgbm.basic._ConfigAliases._get_all_param_aliases().items()
    )

    def known_params(self, params: Mapping[str, Any], n_features: int) -> set[str]:
        return set().union(*self.synonyms)

    def check_data(self, ranker: Any, data: FitData, directions: Sequence[int]) -> None:
        """Accept everything: LightGBM weights rows and supports any number of categories."""

    def train(self, given: BoosterInput) -> bytes:
        rows, monitor = given.rows, given.monitor
        order, sizes = _small_queries(rows)
        codes, gains = _label_codes(rows, rows.y[order])
        params = {
            "metric": "None",
            "deterministic": True,
            "force_col_wise": True,
            "verbosity": -1,
            "bagging_freq": 1 if given.params["bagging_fraction"] < 1 else 0,
            "label_gain": gains.tolist(),
            **(given.network or {}),
            **given.params,
        }
        train_set = lightgbm.Dataset(
            rows.X[order],
            codes,
            weight=None if rows.weight is None else rows.weight[order],
            group=sizes,
            position=None if rows.position is None else rows.position[order],
            categorical_feature=sorted(given.nominal),
            params=params,
        )
        watching: dict[str, Any] = {}
        if monitor is not None:
            valid_set = train_set.create_valid(monitor.X, np.zeros(monitor.n_samples))
            watching["valid_sets"] = [valid_set]
            watching["feval"] = lambda scores, _: ("measure", monitor(scores), True)
        if (rounds := given.early_stopping_rounds) is not None:
            watching["callbacks"] = [lightgbm.early_stopping(rounds, verbose=False)]
        before = given.previous
        booster = lightgbm.train(params, train_set, given.n_trees, init_model=before, **watching)
        n_before = 0 if before is None else self.count_trees(before)
        return self.dump(booster, given.last_iteration(n_before))

    def find_booster(self, model: Any) -> lightgbm.Booster | None:
        if isinstance(model, lightgbm.LGBMModel):
            return model.booster_
        return model if isinstance(model, lightgbm.Booster) else None

    def dump(self, booster: lightgbm.Booster, n_trees: int = -1) -> bytes:
        """Text of the model with numbered columns, without the list of training parameters."""
        text = booster.model_to_string(num_iteration=n_trees)
        names = [f"Column_{column}" for column in range(booster.num_feature())]
        text = text[: text.index(END_OF_TREES)] + END_OF_TREES
        return _replace_names(text, names).encode("ascii")

    def load(self, model: bytes, n_features: int, names: Sequence[str] | None) -> lightgbm.Booster:
        text, _ = check_lightgbm(model, np.zeros(n_features, dtype=np.int64))
        if names is not None:
            text = _replace_names(text, library_names(names, _FORBIDDEN))
        return lightgbm.Booster(model_str=text)

    def read_trees(self, model: bytes, n_categories: NDArray[np.integer]) -> StoredTrees:
        return check_lightgbm(model, n_categories)[1]

    def predict(
        self, booster: lightgbm.Booster, X: Any, nominal: Collection[int], n_threads: int
    ) -> Any:
        return booster.predict(X, raw_score=True, num_threads=n_threads)

    def count_trees(self, booster: lightgbm.Booster) -> int:
        return booster.current_iteration()

    def importances(self, ranker: Any) -> Any:
        trees = ranker._tree_ensemble()
        inner = trees.feature >= 0
        gains = np.maximum(trees.gain[inner].astype(np.float32), 0.0)  # as LightGBM keeps them
        return np.bincount(trees.feature[inner], gains, ranker.n_features_in_)

    def networks(
        self, hosts: Sequence[str], ports: Sequence[int], here: str
    ) -> tuple[list[dict[str, Any]], None]:
        machines = ",".join(f"{host}:{port}" for host, port in zip(hosts, ports, strict=True))
        shared = {
            "machines": machines,
            "num_machines": len(hosts),
            "tree_learner": "data",
            "pre_partition": True,
            "time_out": CONNECTING_MINUTES,
        }
        return [{**shared, "local_listen_port": port} for port in ports], None


def _small_queries(rows: TrainingRows) -> tuple[Any, Int64Array]:
    """Rows and sizes of queries within the limit of LightGBM."""
    largest = int(rows.sizes.max())
    if largest <= LARGEST_QUERY:
        return slice(None), rows.sizes
    warnings.warn(
        f"LightGBM accepts queries of at most {LARGEST_QUERY} rows, the largest has {largest}. "
        "Larger queries are split into parts with the same mix of labels, and rows of different "
        "parts are not compared. XGBoostRanker and CatBoostRanker accept queries of any size.",
        UserWarning,
        stacklevel=callers_level(),
    )
    return deal_large_queries(rows.y, rows.sizes, LARGEST_QUERY)


def _label_codes(rows: TrainingRows, y: Float64Array) -> tuple[Int64Array, Float64Array]:
    """Integer label of every row, and the gain of every label."""
    known = rows.label_values
    if rows.exp2:
        largest = y.max() if known is None else known[-1]
        return y.astype(np.int64), 2.0 ** np.arange(largest + 1) - 1.0
    if known is not None:
        return np.searchsorted(known, y), known
    values, codes = np.unique(y, return_inverse=True)
    bins = np.arange(len(values)) * LARGEST_LABEL_COUNT // len(values)
    return bins[codes], np.bincount(bins, values) / np.bincount(bins)


def _replace_names(text: str, names: list[str]) -> str:
    """Text of the model with the given feature names."""
    start = text.index("\nfeature_names=") + 1
    end = text.index("\n", start)
    return f"{text[:start]}feature_names={' '.join(names)}{text[end:]}"


class LightGBMRanker(PositionFit, BoostedRanker):
    """Gradient-boosted trees with LambdaRank gradients, trained by LightGBM.

    Minimises ``loss + reg_alpha sum_j |v_j| + reg_lambda sum_j v_j^2 / 2`` in every tree, over the
    values v_j of its leaves before ``learning_rate`` shrinks them; the loss is summed over pairs or
    rows.

    Parameters
    ----------
    n_estimators : int >= 1, default=100
        Number of trees.
    learning_rate : float > 0, default=0.1
        Shrinkage of the values of the leaves.
    num_leaves : int >= 2, default=31
        Largest number of leaves of a tree.
    max_depth : int, default=-1
        Largest depth of a tree. -1: no limit.
    min_child_samples : int >= 0, default=20
        Smallest number of rows in a leaf.
    min_child_weight : float >= 0, default=1e-3
        Smallest sum of second derivatives in a leaf.
    subsample : float in (0, 1], default=1.0
        Share of the rows drawn for every tree.
    colsample_bytree : float in (0, 1], default=1.0
        Share of the features drawn for every tree.
    reg_alpha, reg_lambda : float >= 0, default=0.0
        L1 and L2 penalty on the values of the leaves.
    max_bin : int >= 2, default=255
        Largest number of bins per feature.
    monotone_constraints : dict or array-like of shape (n_features,), optional
        Direction of each column, by name or number. 1: the score must not decrease as the feature
        grows. -1: it must not increase. 0: no constraint.
    categorical_features : {"from_dtype"}, None, or array-like, default="from_dtype"
        Columns that are split by subsets of their categories, as a mask, by number or by name. In
        frames, text whose values repeat and unordered categories are also split this way; ordered
        categories are split like numbers. None: no column is categorical.
    objective : {"lambdarank", "rank_xendcg"}, default="lambdarank"
        Training loss of LightGBM.
    truncation_level : int >= 1, default=30
        Number of top ranks: every pair contains a row from the top ranks ("lambdarank" only).
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
        Further parameters of LightGBM, by their names in the library. Unknown names raise
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
        Share of each feature in the total gain of the splits. The sum is 1 (0 without splits).
    model_ : bytes
        Trees as text of LightGBM, with numbered columns.
    booster_ : lightgbm.Booster
        Trees as a LightGBM object, with the names of the features.
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
    Differs from ``lightgbm.LGBMRanker`` as follows. ``fit`` receives the query of every row instead
    of group sizes, and any labels. The order of the rows does not change the model, because the
    initial ranking does not depend on it. Queries of more than 10,000 rows, which LightGBM rejects,
    are split into parts with the same mix of labels, with a warning. More than 65,536 different
    labels are binned. ``subsample`` does not need ``subsample_freq``. A category that ``fit`` has
    not seen counts as missing. Linear trees are not supported.

    The ``sample_weight`` of a row multiplies its gradients, as in LightGBM. This is not equivalent
    to repeating the row, which would weight its pairs.

    A level of a tree takes O(N d) time for N rows and d columns; memory is O(N d).

    Composition: LightGBM's trees × LambdaRank × LightGBM's boosting.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import LightGBMRanker
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y, qid = (X[:, 0] > 0.5).astype(int), np.arange(200) % 10
    >>> ranker = LightGBMRanker(n_estimators=20, random_state=0).fit(X, y, qid=qid)
    >>> ranker.score(X, y, qid=qid)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BoostedRanker._parameter_constraints,
        "num_leaves": [minimum(2)],
        "max_depth": [Integral],
        "min_child_samples": [minimum(0)],
        "min_child_weight": [NOT_NEGATIVE],
        "subsample": [FRACTION],
        "colsample_bytree": [FRACTION],
        "reg_alpha": [NOT_NEGATIVE],
        "max_bin": [minimum(2)],
        "objective": [StrOptions(set(LIGHTGBM_OBJECTIVES))],
        "truncation_level": [minimum(1)],
    }
    _limits: ClassVar[dict[str, Any]] = {
        "min_child_samples": 1, "min_child_weight": 0.0, "reg_alpha": 0.0, "params": None,
    }  # fmt: skip
    _library = LightGBM()
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_weight": True}

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        max_depth: int = -1,
        min_child_samples: int = 20,
        min_child_weight: float = 1e-3,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 0.0,
        max_bin: int = 255,
        monotone_constraints: Any = None,
        categorical_features: Any = FROM_DTYPE,
        objective: Literal["lambdarank", "rank_xendcg"] = "lambdarank",
        truncation_level: int = 30,
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
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.min_child_samples = min_child_samples
        self.min_child_weight = min_child_weight
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.max_bin = max_bin
        self.monotone_constraints = monotone_constraints
        self.categorical_features = categorical_features
        self.objective = objective
        self.truncation_level = truncation_level
        self.gain = gain
        self.measure = measure
        self.early_stopping_rounds = early_stopping_rounds
        self.refit = refit
        self.cv = cv
        self.params = params
        self.n_jobs = n_jobs
        self.random_state = random_state
