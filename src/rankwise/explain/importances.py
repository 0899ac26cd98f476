"""Importances of features by name, and by the loss of a measure when values are permuted [1]_.

References
----------
.. [1] L. Breiman, "Random forests", Machine Learning 45, 2001.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.rows import check_target
from rankwise.explain.contributions import SHOWN, RankingExplanation, ScoreExplanation
from rankwise.explain.table_rows import convert_to_table, mix_rows, names_of
from rankwise.groups import QueryGroups
from rankwise.metrics import parse
from rankwise.metrics.measure import MeasureLike
from rankwise.prediction import grades_of, innermost, predictions
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.frames import Table
from rankwise.runtime.messages import check_choice, check_whole, join_lines
from rankwise.runtime.result import Result
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Int64Array, Seed


@dataclass(frozen=True, eq=False)
class FeatureImportances(Result):
    """Importance of each feature to a model.

    Attributes
    ----------
    names : list of str
        Names of the features, in the order of the columns.
    values : ndarray of shape (n_features,), float64
        Non-negative importances.
    source : str
        Origin of the values, such as ``feature_importances_``.
    """

    _drawn = "importance"

    names: list[str]
    values: Float64Array
    source: str

    def ranked(self) -> list[tuple[str, float]]:
        """Names and values, largest first; ties in the order of the columns."""
        order = np.argsort(-self.values, kind="stable").tolist()
        return [(self.names[j], float(self.values[j])) for j in order]

    def _columns(self) -> dict[str, Any]:
        return dict(zip(("feature", "importance"), zip(*self.ranked(), strict=True), strict=True))

    def _heading(self) -> str:
        return f"Importances of {len(self.names)} features: {self.source}"

    def __str__(self) -> str:
        shown = self.ranked()[:SHOWN]
        width = max([len("feature"), *(len(name) for name, _ in shown)])
        lines = [f"{'feature':<{width}}   {self.source}"]
        lines += [f"{name:<{width}}   {value:.4g}" for name, value in shown]
        if len(self.names) > SHOWN:
            lines.append(f"{len(self.names) - SHOWN} others, see to_frame()")
        return join_lines(lines)


@names_its_class
def feature_importances(estimator: Any) -> FeatureImportances:
    """Importances of the features of a fitted model or of an explanation, with their names.

    Parameters
    ----------
    estimator : fitted estimator, RankingExplanation or ScoreExplanation
        Source of the importances. For an estimator: ``feature_importances_``, or absolute weights
        in ``coef_`` (one per feature), which depend on the scale of the columns. For a pipeline or
        a search: those of the last step, with the names from the previous steps. For an
        explanation of any model: mean absolute contributions.

    Returns
    -------
    FeatureImportances

    Raises
    ------
    TypeError
        If the model has neither importances nor one weight per feature.

    Notes
    -----
    The docstring of each estimator defines its ``feature_importances_``: for example, shares of the
    gain of all splits for trees, and shares of the weights for stumps.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankwise import RankingTree
    >>> from rankwise.explain import explain_scores, feature_importances
    >>> X = pd.DataFrame({"age": [3.0, 1.0, 4.0, 1.0], "price": [2.0, 7.0, 1.0, 8.0]})
    >>> tree = RankingTree().fit(X, [0, 1, 0, 1])
    >>> print(feature_importances(tree))
    feature   feature_importances_
    age       1
    price     0
    >>> feature_importances(explain_scores(tree, X)).ranked()
    [('age', 0.5), ('price', 0.0)]
    """
    if isinstance(estimator, RankingExplanation | ScoreExplanation):
        names = [str(name) for name in estimator.names]
        return FeatureImportances(names, estimator.importances(), "mean size of contributions")
    check_is_fitted(estimator)
    last = innermost(estimator)
    values, source = getattr(last, "feature_importances_", None), "feature_importances_"
    if values is None:
        values, source = np.abs(getattr(last, "coef_", np.nan)), "size of coef_"
        if values.shape != (getattr(last, "n_features_in_", None),):
            raise TypeError(
                f"model must have feature_importances_ or one weight per feature in coef_, got "
                f"{type(last).__name__}. Pass an explanation, as of explain_scores(model, X, X_bg)."
            )
    values = np.asarray(values, dtype=np.float64)
    return FeatureImportances(_names_at_the_end(estimator, last, len(values)), values, source)


def _names_at_the_end(model: Any, last: Any, n_features: int) -> list[str]:
    """Names of the columns that the final estimator receives."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    names: Sequence[Any] | None = None
    if model is not last:
        try:
            names = model[:-1].get_feature_names_out()
        except (AttributeError, ValueError):  # a step that gives its columns no names
            names = None
    if names is None or len(names) != n_features:
        return names_of(last, np.empty((0, n_features)))
    return [str(name) for name in names]


@dataclass(frozen=True, eq=False)
class PermutationImportances(FeatureImportances):
    """Loss of a measure when features are permuted.

    Attributes
    ----------
    names : list of str
        Names of the features, in the order of the columns.
    values : ndarray of shape (n_features,), float64
        Mean loss over the repeats; negative if the measure was better without the feature.
    source : str
        Text that names the measure.
    repeats : ndarray of shape (n_features, n_repeats), float64
        Loss of every repeat.
    """

    repeats: Float64Array


@names_its_class
def permutation_importances(
    estimator: Any,
    X: FrameLike,
    y: ArrayLike,
    qid: ArrayLike | QueryGroups | None = None,
    *,
    measure: MeasureLike = "nDCG@10",
    n_repeats: int = 5,
    within: Literal["rows", "queries"] = "rows",
    random_state: Seed = 0,
) -> PermutationImportances:
    """Loss of a measure on judged rows when the values of one feature are permuted.

    Parameters
    ----------
    estimator : fitted estimator
        Any model that :func:`rankwise.scores` accepts, including pipelines and searches.
    X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        Rows to score. To estimate importance on new queries, pass rows that were not used for
        training.
    y : array-like of shape (n_samples,)
        Labels of the rows.
    qid : array-like of shape (n_samples,), optional
        Query of each row; None: all rows are one query.
    measure : str, Measure or callable, default="nDCG@10"
        Measure to compute, see :func:`rankwise.metrics.parse`.
    n_repeats : int >= 1, default=5
        Number of permutations of each feature.
    within : {"rows", "queries"}, default="rows"
        Whether to permute over all rows or within each query. Within queries, a feature that is
        constant in every query, such as a query feature, has importance 0.
    random_state : int, RandomState, Generator or None, default=0
        Seed for the permutations, which are the same for all features.

    Returns
    -------
    PermutationImportances

    Raises
    ------
    ValueError
        If no query counts for the measure, or an argument is wrong.

    Notes
    -----
    ``n_features * n_repeats + 1`` predictions. Redundant features share their importance, because
    the model can still use one if the other is permuted.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import LambdaMART
    >>> from rankwise.explain import permutation_importances
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y, qid = (X[:, 0] > 0.5).astype(int), np.arange(200) % 10
    >>> model = LambdaMART(n_estimators=20).fit(X, y, qid=qid)
    >>> found = permutation_importances(model, X, y, qid, random_state=0)
    >>> found.ranked()[0][0]
    'x0'
    """
    check_choice("within", within, ("rows", "queries"))
    check_whole("n_repeats", n_repeats, 1)
    table, parsed = convert_to_table(Table.of(X).rows), parse(measure)
    n, d = table.shape
    labels, groups = check_target(grades_of(estimator, y), n), QueryGroups.from_qid(qid, n)

    def value(rows: Any) -> float:
        return parsed.mean(labels, parsed.read(predictions(estimator, rows, qid)), groups)

    whole = value(table)
    if np.isnan(whole):
        raise ValueError(
            f"measure {str(parsed)!r} must score at least one query, got none. Pass queries with "
            "relevant rows, or another measure."
        )
    sign = 1.0 if parsed.greater_is_better else -1.0
    rng, repeats = check_random_state(random_state), np.empty((d, n_repeats))
    sources = np.tile(np.arange(n)[:, None], (1, d))
    for repeat in range(n_repeats):
        order = _permute_rows(groups, within, rng)
        for j in range(d):
            sources[:, j] = order
            repeats[j, repeat] = sign * (whole - value(mix_rows(table, sources)))
            sources[:, j] = np.arange(n)
    losses = repeats.mean(axis=1)
    source = f"loss of {measure if isinstance(measure, str) else parsed}"
    return PermutationImportances(names_of(estimator, table), losses, source, repeats)


def _permute_rows(groups: QueryGroups, within: str, rng: Any) -> Int64Array:
    """Row from which each row takes its value."""
    drawn = rng.permutation(groups.n_samples)
    if within == "rows":
        return drawn
    order, codes = np.empty(groups.n_samples, dtype=np.int64), groups.codes()
    order[np.argsort(codes, kind="stable")] = drawn[np.argsort(codes[drawn], kind="stable")]
    return order
