"""Predictions of fitted estimators: scores to rank by and, from classifiers, classes.

Estimators are called with the metadata that they accept: by the method's signature or, if a
pipeline or another meta-estimator passes metadata on, by scikit-learn's routing.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.classes import class_positions
from rankwise.checks.exact_values import exact_float64
from rankwise.checks.rows import warn_of_one_query
from rankwise.checks.text_categories import category_frame
from rankwise.groups import QueryGroups
from rankwise.runtime.finite import SCORING
from rankwise.runtime.frames import Table, frame_for
from rankwise.runtime.jit import always_compiled
from rankwise.runtime.threads import use_one_thread
from rankwise.typing import ArrayLike, Float64Array, Int64Array, is_sparse


@dataclass(frozen=True, eq=False)
class Predictions:
    """Scores to rank by and predicted classes of some rows, (n_samples,)."""

    scores: Float64Array
    labels: Float64Array | None = None  # None if the estimator predicts no classes


def scores(estimator: Any, X: Any, qid: ArrayLike | QueryGroups | None = None) -> Float64Array:
    """Score rows with any fitted model; a higher score ranks higher.

    Use it instead of ``predict`` where models of different kinds are scored in one loop. Rankers
    are called by ``predict``, ordinal estimators by ``rank_score``, even as the last step of a
    pipeline or as the best estimator of a search, which have no ``rank_score`` of their own.

    Parameters
    ----------
    estimator : fitted ranker, ordinal estimator, regressor, Pipeline or search
        Model that scores the rows.
    X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        Rows to score.
    qid : array-like of shape (n_samples,), optional
        Queries of the rows, for models whose scores depend on the other rows of the query.

    Returns
    -------
    ndarray of shape (n_samples,), float64

    Raises
    ------
    ValueError
        If the model does not return one finite number per row.

    Examples
    --------
    >>> import numpy as np
    >>> import rankwise
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 2, 3]
    >>> model = make_pipeline(StandardScaler(), rankwise.RidgeRanker()).fit(
    ...     X, y, ridgeranker__qid=0
    ... )
    >>> rankwise.scores(model, X).round(2)
    array([0.3, 1.1, 1.9, 2.7])
    """
    return scores_of(estimator, Table.of(X).rows, qid)


def rank(estimator: Any, X: Any, qid: ArrayLike | QueryGroups | None = None) -> Int64Array:
    """1-based rank of every row within its query, by :func:`scores`; ties keep the input order.

    Ordinal classifiers rank by ``rank_score``, since their ``predict`` returns classes, and all
    other models by ``predict``.

    Parameters
    ----------
    estimator, X
        As in :func:`scores`.
    qid : array-like of shape (n_samples,), optional
        None or a scalar: all rows are one query.

    Returns
    -------
    ndarray of shape (n_samples,), int64

    Warns
    -----
    OneQueryWarning
        If ``qid`` is missing although the ranker was fitted on several queries.

    Examples
    --------
    >>> import numpy as np, rankwise
    >>> X, y, qid = [[0.1], [0.9], [0.4], [0.7], [0.2]], [0, 2, 1, 1, 0], [1, 1, 1, 2, 2]
    >>> ranker = rankwise.LinearRegressionRanker().fit(X, y, qid=qid)
    >>> rankwise.rank(ranker, X, qid=qid)
    array([3, 1, 2, 1, 2])
    """
    found = scores(estimator, X, qid)
    warn_of_one_query(innermost(estimator), "rank", qid, len(found))
    return QueryGroups.from_qid(qid, len(found)).ranks(found)


_WARM_SIZES = (1, 100, 2_000)  # few rows may take other code than many


def warm_up(estimator: Any, rows: Any = None) -> None:
    """Compile what a fitted model needs to score, before the first request.

    Numba compiles a function at its first call, or reads it from its cache, in every process anew.
    After ``warm_up`` in the process that forks workers, all workers share the compiled code: a
    forked worker neither waits for it nor takes memory for it. ``warm_up`` starts no threads, which
    a fork would not copy.

    The model scores 1, 100 and 2,000 rows, in float64 and float32, by each of ``predict``,
    ``rank_score``, ``predict_proba``, ``predict_relevance``, ``decision_function`` and
    ``transform`` that it has.
    Explanations (:mod:`rankwise.explain`) still compile at their first call.

    Parameters
    ----------
    estimator : fitted ranker, ordinal estimator, Pipeline or search
        Model to serve, of :func:`rankwise.load` or ``fit``.
    rows : array-like, sparse matrix or frame of shape (n_samples, n_features), optional
        Rows of a request, of the type that requests have. They are repeated. Default: made-up
        rows of zeros, or of the first category in columns that the model encodes.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If ``rows`` are empty, or the model cannot score them; if ``rows`` is None, and the model
        cannot score made-up rows, such as a pipeline with a function of your own.

    See Also
    --------
    rankwise.load : ``load(path, warm=True)`` calls ``warm_up``.

    Examples
    --------
    >>> import rankwise
    >>> from rankwise.datasets import load_dataset
    >>> train = load_dataset("lambdarank", fold=1).train
    >>> model = rankwise.LambdaMART(5).fit(train.X, train.y, qid=train.qid)
    >>> rankwise.warm_up(model)
    """
    check_is_fitted(estimator)
    ends = innermost(estimator)
    methods = [
        name for name in SCORING if hasattr(ends if name == "rank_score" else estimator, name)
    ]
    try:
        with always_compiled(), use_one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # made-up rows may be unlike those of training
            for size in _WARM_SIZES:
                for X in _make_requests(estimator, rows, size):
                    for method in methods:
                        _call(estimator, method, X, np.zeros(size, np.int64))
    except (TypeError, ValueError) as error:
        if rows is not None:
            raise
        raise ValueError(
            f"warm_up cannot make up rows for this {type(estimator).__name__}: {error} Pass rows "
            "of a request: load without warm, then rankwise.warm_up(model, rows)."
        ) from error


def _make_requests(estimator: Any, rows: Any, size: int) -> list[Any]:
    """Requests of some number of rows: those given, repeated, or zeros."""
    if rows is not None:
        given = Table.of(rows if hasattr(rows, "shape") else np.asarray(rows)).rows
        if not given.shape[0]:
            raise ValueError("rows must hold at least one row of a request, got none.")
        places = np.arange(size) % given.shape[0]
        if isinstance(given, np.ndarray) or is_sparse(given):
            return [given[places]]
        return [nw.from_native(given, eager_only=True)[places.tolist()].to_native()]
    X = np.zeros((size, getattr(estimator, "n_features_in_", 1)))
    names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    places = names or [str(j) for j in range(X.shape[1])]
    texts = {}
    for name, values in _known_values(estimator, places).items():
        if known := _texts_in(values):
            texts[places.index(name)] = np.array(known, dtype=object)
        elif len(values):
            X[:, places.index(name)] = values[0]
    if texts and names:
        return [frame_for(estimator, category_frame(X, names, texts), names)]
    if texts:
        columns = [np.full(size, texts[j][0]) if j in texts else X[:, j] for j in range(X.shape[1])]
        return [np.array(columns, dtype=object).T]
    # A category that float32 rounds is unknown.
    is_exact = (X.astype(np.float32) == X).all()
    dtypes = (np.float64, np.float32) if is_exact else (np.float64,)
    return [frame_for(estimator, X.astype(dtype), names) for dtype in dtypes]


def text_columns_of(model: Any) -> dict[str, list[str]]:
    """Columns of text that a fitted model or its steps know by name, and their categories.

    Columns that may hold any text have none: text that hardly repeated, and columns that no step
    of a pipeline reads.
    """
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    known = _known_values(model, names) if names else {}
    texts = {name: _texts_in(values) for name, values in known.items()}
    return {name: found for name, found in texts.items() if found or not len(known[name])}


def _texts_in(values: Sequence[Any]) -> list[str]:
    return [value for value in values if isinstance(value, str)]


def _known_values(estimator: Any, names: list[str]) -> dict[str, list[Any]]:
    """Categories, by column, that a fitted model or its steps encode; none for those left out."""
    found: dict[str, list[Any]] = {}
    for name, values in _encoded_columns(estimator, names):
        if name in names and (values or name not in found):
            found[name] = values
    return found


def _encoded_columns(step: Any, names: list[str]) -> Iterator[tuple[str, list[Any]]]:
    """Categories of columns; ``names`` are those that the step gets, as far as they are known."""
    if len(names) != (n := getattr(step, "n_features_in_", len(names))):
        names = [str(name) for name in getattr(step, "feature_names_in_", [""] * n)]
    if isinstance(step, str):
        yield from ((name, []) for name in names if step == "drop")
    elif hasattr(step, "best_estimator_"):
        yield from _encoded_columns(step.best_estimator_, names)
    elif hasattr(step, "steps"):
        for _, inner in step.steps:
            yield from _encoded_columns(inner, names)
            names = _names_after(inner, names)
    elif hasattr(step, "transformers_"):
        for _, inner, chosen in step.transformers_:
            read = [names[j] for j in find_columns(chosen, names, len(names))]
            yield from _encoded_columns(inner, read)
    elif hasattr(getattr(step, "columns_", None), "nominal"):
        for j, known in {**step.columns_.nominal, **step.columns_.ordered}.items():
            yield from ((name, known.tolist()) for name in names[j : j + 1])
    elif isinstance(getattr(step, "categories_", None), list):
        for name, known in zip(names, step.categories_, strict=False):
            yield name, known.tolist()


def _names_after(step: Any, names: list[str]) -> list[str]:
    """Names of the columns that a step hands on; an empty list if it does not tell."""
    if step is None or isinstance(step, str):
        return names
    try:
        made = step.get_feature_names_out(None if hasattr(step, "feature_names_in_") else names)
    except (AttributeError, ValueError):
        return []
    # A ColumnTransformer writes the name of the part in front.
    return [name if name in names else name.partition("__")[2] for name in map(str, made)]


def find_columns(chosen: Any, names: Any, n: int) -> list[int]:
    """Numbers of the columns that a part of a ColumnTransformer reads."""
    place = {} if names is None else {str(name): number for number, name in enumerate(names)}
    if isinstance(chosen, slice):
        last = chosen.stop
        last = place[last] + 1 if isinstance(last, str) else last  # the last name is part of it
        return list(range(n))[slice(place.get(chosen.start, chosen.start), last, chosen.step)]
    listed = [place[key] if isinstance(key, str) else key for key in np.atleast_1d(chosen).tolist()]
    found: list[int] = np.arange(n)[listed].tolist() if listed else []
    return found


def predictions(estimator: Any, X: Any, qid: Any = None) -> Predictions:
    """Scores and, from a classifier or ordinal estimator, classes, see :func:`scores_of`."""
    scores = scores_of(estimator, X, qid)
    return Predictions(scores, labels_of(estimator, X, scores, qid))


def labels_of(estimator: Any, X: Any, scores: Float64Array, qid: Any = None) -> Float64Array | None:
    """Predicted classes as numbers; None if the estimator predicts no classes.

    Named classes are replaced by their ranks, from 0. ``scores`` are those of :func:`scores_of`,
    which already hold the classes if there is no ``rank_score``.
    """
    last = innermost(estimator)
    if not hasattr(last, "classes_"):
        return None
    if not hasattr(last, "rank_score"):
        return scores
    if last.classes_.dtype.kind in "biuf":
        return _column(estimator, "predict", X, qid)
    named = _call(estimator, "predict", X, qid)
    return class_positions(named, last.classes_, len(scores))


def probabilities_of(estimator: Any, X: Any, qid: Any = None) -> Float64Array | None:
    """Probabilities (n_samples, n_classes) by an ordinal estimator; None for other estimators.

    The ordinal estimator may be the last step of a pipeline or the best of a search. None as well
    if the estimator, or its parameters, offer no ``predict_proba``.
    """
    if not hasattr(innermost(estimator), "rank_score") or not hasattr(estimator, "predict_proba"):
        return None
    return np.asarray(_call(estimator, "predict_proba", X, qid), dtype=np.float64)


def grades_of(estimator: Any, y: ArrayLike) -> ArrayLike:
    """Labels as numbers; labels of an ordinal estimator with named classes become ranks.

    A label that is not one of the declared classes raises ValueError.
    """
    last = innermost(estimator)
    if not hasattr(last, "rank_score") or last.classes_.dtype.kind in "biuf":
        return y
    return class_positions(y, last.classes_, len(np.asarray(y)))


def scores_of(estimator: Any, X: Any, qid: Any = None) -> Float64Array:
    """Scores to rank by: ``rank_score`` of ordinal estimators, else ``predict``.

    The ordinal estimator may be the last step of a pipeline or the best of a search. ``qid`` is
    passed to a ``predict`` that accepts it and to the steps of a pipeline that request it; other
    estimators receive only X. Predictions that are not one finite number per row raise ValueError.
    """
    is_ordinal = hasattr(innermost(estimator), "rank_score")
    return _column(estimator, "rank_score" if is_ordinal else "predict", X, qid)


def reads_queries(estimator: Any, method: str | None = None) -> bool:
    """Whether scores depend on the other rows of the query.

    The default method is the one that :func:`scores_of` calls.
    """
    if method is None:
        method = "rank_score" if hasattr(innermost(estimator), "rank_score") else "predict"
    if hasattr(estimator, "best_estimator_"):
        return reads_queries(estimator.best_estimator_, method)
    if method == "predict" and hasattr(estimator, "_reads_queries"):
        return bool(estimator._reads_queries())
    if hasattr(estimator, "steps") and method == "rank_score":
        before = estimator[:-1]
        reads = len(before) > 0 and reads_queries(before, "transform")
        return reads or reads_queries(estimator[-1], method)
    with sklearn.config_context(enable_metadata_routing=True):
        return bool(select_accepted(estimator, method, {"qid": None}))


def innermost(estimator: Any) -> Any:
    """Estimator that predicts: the last step of a pipeline, or the best of a search."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        else:
            return estimator


def _call(estimator: Any, method: str, X: Any, qid: Any) -> Any:
    """Call a method of the best of a search, or of the last step of a pipeline."""
    if hasattr(estimator, "best_estimator_"):
        return _call(estimator.best_estimator_, method, X, qid)
    if hasattr(estimator, "steps") and method == "rank_score":
        before = estimator[:-1]
        rows = call_with(before, "transform", X, qid) if len(before) else X
        return _call(estimator[-1], method, rows, qid)
    return call_with(estimator, method, X, qid)


def _column(estimator: Any, method: str, X: Any, qid: Any) -> Float64Array:
    """Result of a method of the estimator, checked to be one finite number per row of X."""
    values = _call(estimator, method, X, qid)
    column = exact_float64(values, f"scores of {type(estimator).__name__}")
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    if column.shape != (n_samples,):
        raise ValueError(
            f"{type(estimator).__name__} must predict one score per row, shape ({n_samples},), "
            f"got {column.shape}."
        )
    if not np.isfinite(column).all():
        row = int(np.argmin(np.isfinite(column)))
        raise ValueError(
            f"{type(estimator).__name__} must predict finite scores, got {column[row]} at row "
            f"{row}. Check its parameters and the scale of X."
        )
    return column


def select_accepted(estimator: Any, method: str, offered: Mapping[str, Any]) -> dict[str, Any]:
    """The offered metadata (e.g. ``{"qid": …, "groups": …}``) that a method accepts.

    These are the arguments named by the method's signature, and those that a pipeline step or
    search requests.
    """
    parameters = inspect.signature(getattr(estimator, method)).parameters
    named = {name for name in offered if name in parameters}
    routed: set[str] = set()
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        router = get_routing_for_object(estimator)
        routed = set(router.consumes(method, [name for name in offered if name not in named]))
    return {name: value for name, value in offered.items() if name in named | routed}


def fit_with(
    estimator: Any,
    X: Any,
    y: Any,
    offered: Mapping[str, Any],
    validation: Mapping[str, Any] | None = None,
) -> set[str]:
    """Fit in place with the metadata that ``fit`` accepts; return the names of those passed.

    ``validation`` (``X_val, y_val, qid_val``) goes to an estimator whose ``fit`` names ``X_val``,
    and only as a whole. If no ``qid`` is offered, the rows are one query.
    """
    with sklearn.config_context(enable_metadata_routing=True):
        metadata = select_accepted(estimator, "fit", {"qid": 0, **offered})
        if validation is not None and takes_validation(estimator):
            metadata |= validation
        estimator.fit(X, y, **metadata)
    return set(metadata) - ({"qid"} - set(offered))


def fit_clone(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Float64Array | None,
    offered: Mapping[str, Any] | None = None,
    validation: Mapping[str, Any] | None = None,
    *,
    setting: str = "estimator",
) -> Any:
    """Clone fitted by :func:`fit_with`; TypeError if it does not accept the weights.

    ``setting`` is the parameter that holds the estimator, for the message.
    """
    weight = {} if sample_weight is None else {"sample_weight": sample_weight}
    with sklearn.config_context(enable_metadata_routing=True):
        if weight and not select_accepted(estimator, "fit", weight):
            raise TypeError(
                f"{setting} must accept sample_weight, but {type(estimator).__name__}.fit does "
                "not. Use an estimator that does, or remove sample_weight. In a pipeline, call "
                "set_fit_request(sample_weight=True) on the step that accepts it."
            )
    model = clone(estimator)
    fit_with(model, X, y, weight | dict(offered or {}), validation)
    return model


def call_with(estimator: Any, method: str, X: Any, qid: Any) -> Any:
    """``estimator.method(X)``, with ``qid`` if it is given and the method accepts it."""
    if qid is None:
        return getattr(estimator, method)(X)
    with sklearn.config_context(enable_metadata_routing=True):
        return getattr(estimator, method)(X, **select_accepted(estimator, method, {"qid": qid}))


def check_ranker(name: str, ranker: Any) -> None:
    """Raise TypeError, with a fix, for an object that cannot be fitted or cloned."""
    needed = f"rankers: {name!r} must be a registry key or an estimator object, got {ranker!r}"
    if isinstance(ranker, type):
        raise TypeError(f"{needed}. Call the class to make an object.")
    missing = [method for method in ("fit", "get_params") if not hasattr(ranker, method)]
    if missing == ["get_params"]:
        raise TypeError(
            f"{needed}, which has no get_params, so that it cannot be cloned. Derive its class "
            "from sklearn.base.BaseEstimator."
        )
    if missing:
        raise TypeError(f"{needed}, which has no fit. See 'rankwise list rankers' for keys.")


def takes_validation(estimator: Any) -> bool:
    """Whether ``fit`` accepts a validation part."""
    return "X_val" in inspect.signature(estimator.fit).parameters
