"""Rankers of an ensemble: names, fits, nested parameters, and held-out scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags

from rankwise._registry import (
    BY_CLASS_NAME,
    REGISTRY,
    build_ranker,
    find_ranker,
    parse_ranker,
)
from rankwise.checks.rows import check_fit, check_rows, check_validation
from rankwise.features.query_scaling import QueryScaler
from rankwise.groups import FitData, QueryGroups
from rankwise.metrics import parse
from rankwise.metrics.default import GRADED, MISRANKING, is_graded
from rankwise.metrics.measure import MEASURE_KINDS, Measure, MeasureLike
from rankwise.prediction import check_ranker, fit_clone, scores_of
from rankwise.row_order import canonical_order
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.finite import FiniteResults
from rankwise.runtime.scikit_learn import BaseEstimator, check_is_fitted
from rankwise.solvers.boosting.chosen_rounds import fit_recipe
from rankwise.structure.state_rules import Dictionary, Fitted, Many, Optional, Rule, Word, require
from rankwise.tuning import (
    DEFAULT_FOLDS,
    content_folds,
    mean_defined,
    measure_per_query,
    row_splits,
)
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Int64Array, Matrix


def name_members(rankers: Any) -> list[tuple[str, Any]]:
    """Pairs (name, key or estimator) of all rankers.

    A key is its own name, also with parameters. An estimator of the registry has its key as name,
    any other estimator its class name in lower case. Equal names are numbered: "rank_svm-1",
    "rank_svm-2". Given names are kept. The result is empty if ``estimators`` is not a list, which
    ``fit`` reports.
    """
    if not isinstance(rankers, list | tuple):
        return []
    pairs = [
        ranker if isinstance(ranker, tuple) and len(ranker) == 2 else (None, ranker)
        for ranker in rankers
    ]
    derived = [_name(ranker) if name is None else name for name, ranker in pairs]
    many = {name for name, times in Counter(derived).items() if times > 1}
    seen: Counter[str] = Counter()
    named = []
    for (given, ranker), name in zip(pairs, derived, strict=True):
        seen[name] += 1
        named.append((f"{name}-{seen[name]}" if given is None and name in many else name, ranker))
    return named


def _name(ranker: Any) -> str:
    if isinstance(ranker, str):
        return ranker.partition("(")[0].strip()
    entry = BY_CLASS_NAME.get(type(ranker).__name__)
    keys = [key for key, known in REGISTRY.items() if known is entry]
    return keys[0] if keys else type(ranker).__name__.lower()


def check_members(rankers: Any, own: Sequence[str]) -> None:
    """Raise if a name cannot be a parameter name, or if an entry is not a ranker.

    ``own`` contains the names of the parameters of the ensemble.
    """
    if not len(rankers):
        raise ValueError("estimators must hold at least one ranker, got none.")
    for entry in rankers:
        if isinstance(entry, tuple) and not (len(entry) == 2 and isinstance(entry[0], str)):
            raise ValueError(
                f"estimators must hold keys, estimators or (name, estimator) pairs, got {entry!r}."
            )
    named = name_members(rankers)
    names = [name for name, _ in named]
    for name, ranker in named:
        if names.count(name) > 1 or "__" in name or name in own:
            why = "is used twice" if names.count(name) > 1 else "is taken or has two underscores"
            raise ValueError(
                f"estimators: the name {name!r} {why}. Choose another name for the ranker."
            )
        if isinstance(ranker, str):
            find_ranker(parse_ranker(ranker, "estimators")[0], "estimators")
        else:
            check_ranker(name, ranker)


_SHARE = 0.75  # of the queries that a recipe without validation rows is first fitted on


@dataclass(frozen=True)
class Recipe:
    """Tuned recipe of a key whose grid or number of trees is chosen on rows outside of its fit."""

    estimator: Any
    space: dict[str, list[Any]]
    measure: MeasureLike

    def fit(
        self,
        X: Matrix,
        y: Float64Array,
        qid: Any,
        validation: dict[str, Any] | None,
        weight: Float64Array | None,
        setting: str,
    ) -> Any:
        """Fitted estimator of the best setting.

        Without validation rows, a quarter of the queries is held out to choose from a grid, and
        all rows are then used.
        """
        if validation is not None:
            return self._best(X, y, qid, validation, weight, setting)

        def fit_all(estimator: Any) -> Any:
            return _fit(estimator, X, y, qid, None, weight, setting)

        chosen: Any = clone(self.estimator)
        if self.space:
            with suppress(ValueError):  # parts may lack pairs to order, which all rows may have
                best = self._fit_most(X, y, qid, weight, setting)
                chosen.set_params(**{name: getattr(best, name) for name in self.space})
        found = fit_recipe(chosen, fit_all)
        return fit_all(chosen) if found is None else found[0]

    def _fit_most(
        self, X: Matrix, y: Float64Array, qid: Any, weight: Float64Array | None, setting: str
    ) -> Any:
        """Best setting on a quarter of the queries, fitted on the others."""
        data = FitData(X, y, QueryGroups.from_qid(qid, len(y)), None)
        ((train, held),) = parts(None, _SHARE, data, query_numbers(data))
        ids = None if qid is None else np.asarray(qid)
        held_ids = None if ids is None else ids[held]
        rows = {"X_val": X[held], "y_val": y[held], "qid_val": held_ids}
        train_ids = None if ids is None else ids[train]
        some = None if weight is None else weight[train]
        return self._best(X[train], y[train], train_ids, rows, some, setting)

    def _best(
        self,
        X: Matrix,
        y: Float64Array,
        qid: Any,
        validation: dict[str, Any],
        weight: Float64Array | None,
        setting: str,
    ) -> Any:
        measure, found = parse(self.measure), []
        y_val, ids = np.asarray(validation["y_val"]), validation["qid_val"]
        for params in ParameterGrid(self.space):
            model: Any = clone(self.estimator)
            model = _fit(model.set_params(**params), X, y, qid, validation, weight, setting)
            if len(ParameterGrid(self.space)) == 1:
                return model
            scores = scores_of(model, validation["X_val"], ids)[:, None]
            groups = QueryGroups.from_qid(ids, len(y_val))
            value = mean_defined(measure_per_query(measure, y_val, scores, groups))[0]
            value = value if measure.greater_is_better else -value
            found.append((-np.inf if np.isnan(value) else value, model))
        return max(found, key=lambda pair: pair[0])[1]


def _fit(
    model: Any, X: Matrix, y: Float64Array, qid: Any, validation: Any, weight: Any, setting: str
) -> Any:
    """Fitted clone of the model, with the metadata that it accepts."""
    offered = {} if qid is None else {"qid": qid, "groups": qid}
    return fit_clone(model, X, y, weight, offered, validation, setting=setting)


def make_member(
    ranker: Any,
    measure: MeasureLike,
    random_state: int | None,
    *,
    has_validation: bool = True,
    setting: str = "estimators",
) -> Any:
    """Unfitted estimator, or Recipe, for a registry key or an estimator.

    A bare key stands for its tuned recipe, with ``measure`` if the class has this parameter, and
    with "cv" instead of "val" without validation data; a key with parentheses for its class with
    these parameters. Every ``random_state`` of None is replaced by the given one. ``setting`` is
    the name of the parameter for the message about an unknown key.
    """
    estimator: Any
    space: dict[str, list[Any]] = {}
    is_recipe = isinstance(ranker, str) and "(" not in ranker
    if isinstance(ranker, str):
        estimator, space = build_ranker(ranker, setting)
    else:
        estimator = clone(ranker)
    own = estimator.get_params(deep=False)
    if is_recipe:
        from rankwise.losses.lambda_gradients import follow_measure  # loads numba

        seeds = {name: random_state for name in own if name == "random_state"}
        estimator.set_params(**follow_measure(own, measure), **seeds)
        searched = [k for k, v in own.items() if isinstance(v, str) and v == "val"]
        if not has_validation:
            estimator.set_params(**dict.fromkeys(searched, "cv"))
    open_seeds = {
        name: random_state
        for name, value in estimator.get_params(deep=True).items()
        if name.rpartition("__")[2] == "random_state" and value is None
    }
    estimator.set_params(**open_seeds)
    is_stopped = is_recipe and not has_validation and own.get("early_stopping_rounds") is not None
    return Recipe(estimator, space, measure) if space or is_stopped else estimator


def fit_member(
    member: Any,
    X: Matrix,
    y: Float64Array,
    qid: Any,
    validation: dict[str, Any] | None,
    weight: Float64Array | None,
    *,
    setting: str,
) -> Any:
    """Fitted clone of a member; it receives the metadata that it accepts.

    A member that does not accept weights raises TypeError, which names ``setting``.
    """
    if isinstance(member, Recipe):
        return member.fit(X, y, qid, validation, weight, setting)
    return _fit(member, X, y, qid, validation, weight, setting)


def fit_members(
    members: Mapping[str, Any],
    X: Matrix,
    y: Float64Array,
    qid: Any,
    validation: dict[str, Any] | None,
    weight: Float64Array | None = None,
) -> dict[str, Any]:
    """Fitted clones of the members, by name; each receives the metadata that it accepts.

    A member that does not accept weights raises TypeError if there are any.
    """
    return {
        name: fit_member(member, X, y, qid, validation, weight, setting=f"estimators: {name!r}")
        for name, member in members.items()
    }


def member_scores(models: Mapping[str, Any], X: Matrix, qid: Any) -> Float64Array:
    """Scores of every fitted member, shape (n_samples, n_members)."""
    return np.column_stack([scores_of(model, X, qid) for model in models.values()])


def set_input_tags(tags: Any, rankers: Sequence[Any], setting: str = "estimators") -> Any:
    """Tags of an ensemble, which accepts the X that all its rankers accept."""
    members = []
    for ranker in rankers:
        with suppress(ImportError):  # its extra is not installed
            member = make_member(ranker, GRADED, 0, setting=setting)
            estimator = member.estimator if isinstance(member, Recipe) else member
            members.append(get_tags(estimator).input_tags)
    tags.input_tags.sparse = all(member.sparse for member in members)
    tags.input_tags.allow_nan = all(member.allow_nan for member in members)
    return tags


def row_rules(ensemble: Any) -> dict[str, Any]:
    """Arguments of the checks of X, by the tags of the ensemble."""
    tags = ensemble.__sklearn_tags__().input_tags
    return {"accept_sparse": tags.sparse, "allow_nan": tags.allow_nan}


def check_training(
    ensemble: Any,
    X: FrameLike,
    y: ArrayLike,
    qid: ArrayLike | QueryGroups | None,
    sample_weight: ArrayLike | None,
    validation: tuple[FrameLike | None, ArrayLike | None, ArrayLike | QueryGroups | None],
) -> tuple[FitData, dict[str, Any] | None]:
    """Checked rows, and validation data under the argument names of ``fit``."""
    rules = row_rules(ensemble)
    data = check_fit(ensemble, X, y, qid, sample_weight, pairs=False, **rules)
    if data.sample_weight is not None and (data.sample_weight == 1).all():
        data = replace(data, sample_weight=None)  # members need not accept weights
    rows = check_validation(ensemble, data, *validation, **rules)
    if rows is None:
        return data, None
    ids = None if validation[2] is None else rows.groups.row_ids()
    return data, {"X_val": rows.X, "y_val": rows.y, "qid_val": ids}


# A linear, a smooth and a stepwise ranker, none of which needs an extra.
DEFAULT_RANKERS = ("rank_svm", "pairwise_elm", "rank_boost")


class MembersMixin(FiniteResults, BaseEstimator):
    """Mixin of rankers whose scores are computed from scores of other rankers in the same query.

    A subclass has the parameters ``estimators``, ``measure`` and ``random_state``, sets ``models_``
    and ``scaler_`` in ``fit``, and defines ``_combine``.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "models_": Many(Dictionary(Word(), Fitted("n_features_in_"))),
        "scaler_": Optional(Fitted("n_members")),
    }

    __metadata_request__predict: ClassVar[dict[str, Any]] = {"qid": True}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimators": [list, tuple],
        "measure": [*MEASURE_KINDS, None],
        "random_state": ["random_state"],
    }
    estimators: Any
    measure: MeasureLike | None
    random_state: Any
    models_: list[dict[str, Any]]
    scaler_: QueryScaler | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; with ``deep`` also every ranker by name and its parameters as ``name__…``."""
        params = super().get_params(deep=deep)
        if not deep:
            return params
        for name, ranker in name_members(self.estimators):
            if hasattr(ranker, "get_params"):
                nested = ranker.get_params(deep=True)
                params |= {name: ranker, **{f"{name}__{key}": nested[key] for key in nested}}
        return params

    def set_params(self, **params: Any) -> Any:
        """Set parameters; a value for the name of a ranker replaces this ranker."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        named = name_members(self.estimators)
        new = {name: params.pop(name) for name, _ in named if name in params}
        if new:
            self.estimators = [(name, new.get(name, ranker)) for name, ranker in named]
        return super().set_params(**params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return set_input_tags(tags, [ranker for _, ranker in name_members(self.estimators)])

    def predict(self, X: FrameLike, *, qid: ArrayLike | QueryGroups | None = None) -> Float64Array:
        """Score of every row; a higher score ranks higher within its query.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        qid : array-like of shape (n_samples,), optional
            Query of each row, within which ranker scores are scaled. None: scores are scaled with
            the statistics of all rows of ``fit``, so the score of a row does not depend on other
            rows.

        Returns
        -------
        ndarray of shape (n_samples,), float64
        """
        check_is_fitted(self)
        X = check_rows(self, X, **row_rules(self))
        groups = None if qid is None else QueryGroups.from_qid(qid, X.shape[0])
        return self._combine(self._member_columns(X, groups), groups)

    def _check_structure(self) -> None:
        require(self.models_, "models_", "have an item", "none")
        names, scaler = list(self.models_[0]), self.scaler_
        for number, members in enumerate(self.models_):
            require(list(members) == names and names, f"models_[{number}]",
                    f"have the rankers {names}", list(members))  # fmt: skip
        if scaler is not None:
            require(type(scaler) is QueryScaler, "scaler_", "be a QueryScaler", scaler)
            width: Any = vars(scaler)["n_features_in_"]
            require(width == len(names), "scaler_.n_features_in_", f"be {len(names)}", width)

    def _predict_within(self, X: FrameLike, qid: ArrayLike | QueryGroups | None) -> Float64Array:
        return self.predict(X, qid=qid)

    def _combine(self, scaled: Float64Array, groups: QueryGroups | None) -> Float64Array:
        """Scores computed from the scaled scores of the members."""
        raise TypeError(f"{type(self).__name__} must define _combine.")

    def _member_columns(self, X: Matrix, groups: QueryGroups | None) -> Float64Array:
        """Scaled scores of the members, averaged if there are several models of each."""
        ids = None if groups is None else groups.row_ids()
        found = [self._scale(member_scores(m, X, ids), groups) for m in self.models_]
        return np.mean(found, axis=0)

    def _scale(self, scores: Float64Array, groups: QueryGroups | None) -> Float64Array:
        return scores if self.scaler_ is None else self.scaler_.transform(scores, qid=groups)

    def _set_scaler(self, scaling: Any, scores: Float64Array, weight: Float64Array | None) -> None:
        """Set the scaling of scores of members, from weighted training rows."""
        self.scaler_ = None if scaling is None else QueryScaler(scaling).fit(scores)
        if self.scaler_ is not None and weight is not None:
            self.scaler_._learn(scores, weight)

    def _check_rows(
        self,
        X: FrameLike,
        y: ArrayLike,
        qid: ArrayLike | QueryGroups | None,
        sample_weight: ArrayLike | None,
        validation: tuple[FrameLike | None, ArrayLike | None, ArrayLike | QueryGroups | None],
    ) -> tuple[FitData, dict[str, Any] | None]:
        """Checked rows, and validation data under the argument names of ``fit``."""
        self._validate_params()
        check_members(self.estimators, list(super().get_params(deep=False)))
        return check_training(self, X, y, qid, sample_weight, validation)

    def _members(self, data: FitData, has_validation: bool) -> dict[str, Any]:
        """Unfitted rankers by name."""
        seed = int(check_random_state(self.random_state).randint(2**31))
        measure = self._measure(data)
        return {
            name: make_member(ranker, measure, seed, has_validation=has_validation)
            for name, ranker in name_members(self.estimators)
        }

    def _measure(self, data: FitData) -> MeasureLike:
        return self.measure or (GRADED if is_graded(data.y) else MISRANKING)


_SEED = 0  # fixed, so that parts are the same for every random_state


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """Training data of the final ranker."""

    scores: Float64Array  # (n_rows, n_members), held-out scores of the members
    y: Float64Array
    qid: Int64Array  # query numbers; rows of a query have the same number only within one part
    models: list[dict[str, Any]]  # models that computed the scores, one dict for each part
    weight: Float64Array | None = None  # of the rows

    @property
    def groups(self) -> QueryGroups:
        """Query groups of the rows."""
        return QueryGroups.from_qid(self.qid, len(self.y))

    def values(self, measure: Measure) -> Float64Array:
        """Mean measure of the scores of each member, shape (n_members,); larger is better."""
        means = mean_defined(measure_per_query(measure, self.y, self.scores, self.groups))
        return means if measure.greater_is_better else -means

    def best(self, n_best: int, measure: Measure) -> HeldOutScores:
        """Held-out scores of the ``n_best`` best members only, in the order of the members."""
        order = np.argsort(-np.nan_to_num(self.values(measure), nan=-np.inf), kind="stable")
        kept = np.sort(order[:n_best])
        names = list(self.models[0])
        models = [{names[k]: fold_models[names[k]] for k in kept} for fold_models in self.models]
        return replace(self, scores=self.scores[:, kept], models=models)


def query_numbers(data: FitData) -> Int64Array:
    """Query number of every row, which depends only on the content of the queries."""
    order, sizes = canonical_order(data.X, data.y, data.groups, data.sample_weight)
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.repeat(np.arange(len(sizes)), sizes)
    return numbers


def parts(
    cv: Any, share: float | None, data: FitData, numbers: Int64Array
) -> list[tuple[Int64Array, Int64Array]]:
    """Pairs of (rows to fit, rows to score): folds of queries, or a single split by ``share``.

    The parts depend on the content of the queries, and not on their order or ids. If there are
    fewer queries than folds, or a single query for a share, rows are split instead.
    """
    n_queries = int(numbers.max()) + 1
    if share is not None:
        n_held = min(max(1, round((1.0 - share) * n_queries)), n_queries - 1)
        if n_held < 1:
            n_parts = max(2, round(1.0 / (1.0 - share)))
            held_rows = [content_folds(data.X, data.y, n_parts)[0]]
        else:
            held = np.random.RandomState(_SEED).permutation(n_queries)[:n_held]
            held_rows = [np.flatnonzero(np.isin(numbers, held))]
    elif cv is None or isinstance(cv, Integral):
        n_folds = int(cv or DEFAULT_FOLDS)
        if n_queries < n_folds:
            held_rows = content_folds(data.X, data.y, n_folds)
        else:
            fold = np.argsort(np.random.RandomState(_SEED).permutation(n_queries)) % n_folds
            held_rows = [np.flatnonzero(fold[numbers] == number) for number in range(n_folds)]
    else:
        splits = row_splits(cv, data)
        if not splits or not all(len(train) and len(test) for train, test in splits):
            raise ValueError(f"cv={cv!r} must give splits with training rows and test rows.")
        return splits
    every = np.arange(len(data.y))
    return [(np.setdiff1d(every, rows), rows) for rows in held_rows]


def score_held_out(
    members: Mapping[str, Any],
    data: FitData,
    splits: list[tuple[Int64Array, Int64Array]],
    numbers: Int64Array,
    has_qid: bool,
    validation: dict[str, Any] | None,
) -> HeldOutScores:
    """Fit the members on each part, and score the rows that are left out."""
    scores, models, weight = [], [], data.sample_weight
    for train, test in splits:
        models.append(
            fit_members(
                members, data.X[train], data.y[train], numbers[train] if has_qid else None,
                validation, None if weight is None else weight[train],
            )
        )  # fmt: skip
        ids = numbers[test] if has_qid else None
        scores.append(member_scores(models[-1], data.X[test], ids))
    rows, queries = held_out_rows(splits, numbers)
    weight = None if weight is None else weight[rows]
    return HeldOutScores(np.concatenate(scores), data.y[rows], queries, models, weight)


def held_out_rows(
    splits: list[tuple[Int64Array, Int64Array]], numbers: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Left-out row numbers, sorted by part, and their query numbers.

    Rows of a query in two parts count as two queries, because different models score them.
    """
    rows = np.concatenate([test for _, test in splits])
    part = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
    return rows, part * (int(numbers.max()) + 1) + numbers[rows]
