"""Evaluate predicted labels and rankings of labels against a matrix of labels.

Measures of rankings are those of :func:`rankwise.metrics.evaluate`: each row of the matrix is a
query, and its labels are the rows of that query. Measures of sets compare 0/1 predictions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.checks.label_data import check_indicator
from rankwise.groups import QueryGroups
from rankwise.metrics._table import LABEL_MEASURES
from rankwise.metrics.evaluation import MeanValues
from rankwise.metrics.measure import Measure, MeasureLike, parameter_of
from rankwise.metrics.measures.label_measures import PropensityPrecision, SetMeasure, count_ones
from rankwise.metrics.spec import list_specs, parse
from rankwise.runtime.scikit_learn import BaseEstimator
from rankwise.typing import ArrayLike, Float64Array, Matrix, SparseMatrix, is_sparse

MOST_CELLS = 2**22  # limit of a dense block: 32 MB per array
# Rows as queries: values of their labels, scores, and numbers of labels
LabelBlock: TypeAlias = tuple[Float64Array, Float64Array, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class LabelResult(MeanValues):
    """Values by measure, and the values of every row for measures that have them.

    Attributes
    ----------
    means : dict of str to float
        Keyed by the spec strings exactly as they were given; also ``result[spec]``.
    per_row : dict of str to ndarray of shape (n_samples,)
        Values per row; NaN if the row does not count. Micro and macro F1 have no values per row.
    measures : dict of str to Measure
        Measure with its full convention for each string.
    """

    per_row: dict[str, Float64Array] = field(repr=False)
    measures: dict[str, Measure] = field(repr=False)


def evaluate_labels(
    Y: ArrayLike | Matrix,
    scores: ArrayLike | Matrix | None = None,
    measures: MeasureLike | Sequence[MeasureLike] = ("LRAP",),
    *,
    predicted: ArrayLike | Matrix | None = None,
    propensity: ArrayLike | None = None,
    preset: str | None = None,
) -> LabelResult:
    """Evaluate scores and predicted labels against a 0/1 matrix of labels.

    Parameters
    ----------
    Y : 0/1 array-like or sparse matrix of shape (n_samples, n_labels)
        True labels.
    scores : array-like or sparse matrix of shape (n_samples, n_labels), optional
        Finite scores; a higher score ranks higher. In a sparse matrix, stored entries (including
        zeros) are scored labels, and all others rank below, which suffices for measures of the top.
    measures : str, Measure, or sequence of them
        Measures of sets read ``predicted``: Hamming, SubsetAccuracy, F1 (by row), MicroF1, MacroF1.
        Measures of rankings read ``scores``: LRAP, RankingLoss, Coverage, OneError, PSP@k and every
        measure of :func:`rankwise.metrics.evaluate`, such as P@3 and nDCG@5.
    predicted : 0/1 array-like or sparse matrix of shape (n_samples, n_labels), optional
        Predicted labels.
    propensity : array-like of shape (n_labels,), optional
        Propensities for PSP@k, see :func:`rankwise.metrics.label_propensities`.
    preset : str, optional
        See :func:`rankwise.metrics.parse`.

    Returns
    -------
    LabelResult
        Mapping from the given strings to the values; ``per_row`` holds the values per row.

    Raises
    ------
    ValueError
        If shapes differ, Y or predicted is not 0/1, a score is not finite, or an argument that a
        measure needs is missing.

    Notes
    -----
    These measures are equal to those of scikit-learn: Hamming, SubsetAccuracy, MicroF1, MacroF1,
    F1 ("samples", with zero for 0 / 0), LRAP, RankingLoss, Coverage. Its ``ndcg_score`` is
    ``nDCG(ties=mean,empty=0)@k``; by default ties rank in label order.

    O(n_labels) per row and measure for the first k labels, times the number of relevant labels of
    the row for LRAP, RankingLoss and Coverage; O(stored entries) for sparse scores and predictions.
    Rows are processed in blocks, so memory is bounded.

    Examples
    --------
    >>> Y, scores = [[1, 0, 1], [0, 1, 0]], [[0.9, 0.1, 0.4], [0.8, 0.7, 0.1]]
    >>> predicted = [[1, 0, 0], [1, 1, 0]]
    >>> result = evaluate_labels(Y, scores, ["Hamming", "P@1"], predicted=predicted)
    >>> round(result["Hamming"], 4), result["P@1"]
    (0.3333, 0.5)
    >>> result.per_row["P@1"].tolist()
    [1.0, 0.0]
    """
    given = list_specs(measures)
    parsed = {
        spec if isinstance(spec, str) else str(spec): parse(spec, preset, also=LABEL_MEASURES)
        for spec in given
    }
    rows: Any = Y
    n_rows = int(rows.shape[0]) if len(getattr(rows, "shape", ())) else len(rows)
    truth = check_indicator(Y, n_rows)
    means: dict[str, float] = {}
    per_row: dict[str, Float64Array] = {}
    sets = {s: m for s, m in parsed.items() if isinstance(m, SetMeasure)}
    ranks = {s: m for s, m in parsed.items() if s not in sets}
    weighted = {s: m for s, m in ranks.items() if isinstance(m, PropensityPrecision)}
    plain = {s: m for s, m in ranks.items() if s not in weighted}
    if sets:
        if predicted is None:
            raise ValueError(f"{next(iter(sets))!r} needs predicted: pass 0/1 labels.")
        ones = check_indicator(predicted, truth.shape[0], name="predicted")
        _check_shape("predicted", ones.shape, truth.shape)
        by_row, by_label = count_ones(truth, ones, 1), count_ones(truth, ones, 0)
        for spec, measure in sets.items():
            of_rows = measure.by_row(by_row, truth.shape[1])
            if of_rows is None:
                means[spec] = measure.of_labels(by_label)
            else:
                per_row[spec], means[spec] = of_rows, measure.aggregate(of_rows)
    checked = _check_scores(truth, scores, ranks) if ranks else None
    if plain:
        values = _measure_rows(truth, checked, list(plain.values()))
        for (spec, measure), of_rows in zip(plain.items(), values, strict=True):
            per_row[spec], means[spec] = of_rows, measure.aggregate(of_rows)
    if weighted:
        worth = truth.copy()
        worth.data = 1 / _check_propensity(propensity, truth.shape[1])[truth.indices]
        values = _measure_rows(worth, checked, list(weighted.values()))
        best = _measure_rows(worth, worth, list(weighted.values()))
        for (spec, measure), of_rows, most in zip(weighted.items(), values, best, strict=True):
            scale = measure.aggregate(most) if measure.normalized and most.any() else 1.0
            per_row[spec], means[spec] = of_rows, measure.aggregate(of_rows) / scale
    return LabelResult({spec: means[spec] for spec in parsed}, per_row, parsed)


def _measure_rows(
    values: SparseMatrix, scores: Any, measures: Sequence[Measure]
) -> list[Float64Array]:
    """Values per row of every measure; ``values`` holds relevance, or 1 / propensity."""
    from rankwise.metrics.scored import compute  # loads numba

    may_miss = is_sparse(scores)
    blocks = [_union_block(values, scores)] if may_miss else _dense_blocks(values, scores)
    parts = [
        compute(measures, of_labels, scored, QueryGroups.from_sizes(sizes), may_miss=may_miss)
        for of_labels, scored, sizes in blocks
    ]
    return [np.concatenate(columns) for columns in zip(*parts, strict=True)]


def _dense_blocks(values: SparseMatrix, scores: Float64Array) -> Iterator[LabelBlock]:
    n_samples, n_labels = values.shape
    step = max(1, MOST_CELLS // n_labels)
    for lo in range(0, max(n_samples, 1), step):
        rows = values[lo : lo + step].toarray()
        yield rows.ravel(), scores[lo : lo + step].ravel(), np.full(len(rows), n_labels)


def _union_block(values: SparseMatrix, scores: Any) -> LabelBlock:
    """Labels that are relevant or scored; unscored labels get minus infinity."""
    n_labels = values.shape[1]
    of_values, of_scores = _cells(values), _cells(scores)
    cells = np.union1d(of_values, of_scores)
    filled, scored = np.zeros(len(cells)), np.full(len(cells), -np.inf)
    filled[np.searchsorted(cells, of_values)] = values.data
    scored[np.searchsorted(cells, of_scores)] = scores.data
    return filled, scored, np.bincount(cells // n_labels, minlength=values.shape[0])


def _cells(matrix: Any) -> NDArray[np.int64]:
    """Number of every stored entry in the matrix, row by row."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return rows * matrix.shape[1] + matrix.indices


def _check_scores(truth: Matrix, scores: Any, measures: Mapping[str, Measure]) -> Any:
    if scores is None:
        raise ValueError(f"{next(iter(measures))!r} needs scores of shape (n_samples, n_labels).")
    if not is_sparse(scores):
        dense = np.asarray(scores, dtype=np.float64)
        _check_shape("scores", dense.shape, truth.shape)
        return dense
    _check_shape("scores", scores.shape, truth.shape)
    for spec, measure in measures.items():
        if not measure.reads_from_top:
            raise ValueError(
                f"measure {spec!r} compares the scores of all labels, but sparse scores lack some "
                "of them. Pass a dense array, or use a measure of the top, such as P@3."
            )
    stored = sparse.csr_array(scores, dtype=np.float64, copy=True)
    if not np.isfinite(stored.data).all():
        raise ValueError("scores must be finite. Check the model's predictions.")
    stored.sort_indices()
    return stored


def _check_propensity(propensity: ArrayLike | None, n_labels: int) -> Float64Array:
    if propensity is None:
        raise ValueError("PSP needs propensity: pass label_propensities(Y) of the training labels.")
    values = np.asarray(propensity, dtype=np.float64)
    if values.shape != (n_labels,) or not ((values > 0) & (values <= 1)).all():
        raise ValueError(
            f"propensity must hold a number in (0, 1] for each of the {n_labels} labels, got shape "
            f"{values.shape}. Pass label_propensities of the training labels."
        )
    return values


def _check_shape(name: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if shape != wanted:
        raise ValueError(f"{name} must have the shape of Y, {wanted}, got {shape}.")


class LabelScorer(BaseEstimator):
    """Scorer of one measure of labels, by its full spec."""

    def __init__(self, measure: MeasureLike) -> None:
        self.measure = measure

    def score(self, estimator: Any, X: Any, y: ArrayLike | Matrix) -> float:
        """Value of the measure on the rows, negated if smaller is better."""
        measure = parse(self.measure, also=LABEL_MEASURES)
        if isinstance(measure, SetMeasure):
            result = evaluate_labels(y, None, measure, predicted=estimator.predict(X))
        else:
            result = evaluate_labels(y, estimator.decision_function(X), measure)
        value = result[str(measure)]
        return value if measure.greater_is_better else -value

    __call__ = score


def make_label_scorer(measure: MeasureLike = "Hamming") -> LabelScorer:
    """Make a scorer of label matrices for ``GridSearchCV``, ``cross_validate`` and similar tools.

    Parameters
    ----------
    measure : str, Measure or callable
        Measure of :func:`rankwise.metrics.evaluate_labels` except PSP, whose propensities come
        from the training part. Measures of sets use ``predict``, others ``decision_function``.

    Returns
    -------
    scorer
        ``scorer(estimator, X, Y)``; the value is negated if smaller is better.

    Raises
    ------
    ValueError
        If the measure does not exist, or the measure is PSP.

    Examples
    --------
    >>> make_label_scorer("LRAP")
    LabelScorer(measure='LRAP(rel=1,empty=1)')
    """
    parsed = parse(measure, also=LABEL_MEASURES)
    if isinstance(parsed, PropensityPrecision):
        raise ValueError("PSP needs the propensities of the training part: use evaluate_labels.")
    return LabelScorer(parameter_of(parsed))
