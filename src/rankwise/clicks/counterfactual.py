"""Off-policy evaluation: the clicks that another ranking would get, from the log of this one.

References
----------
- Horvitz and Thompson, JASA 47, 1952; Swaminathan and Joachims, "The self-normalized estimator
  for counterfactual learning", NeurIPS 2015.
- Dudík, Langford and Li, "Doubly robust policy evaluation and learning", ICML 2011.
- Li, Abbasi-Yadkori, Kveton, Muthukrishnan, Vinay and Wen, "Offline evaluation of ranking
  policies with click models", KDD 2018 (item-position).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc, stdtrit

from rankwise.clicks.interleaving import read_lists
from rankwise.clicks.log import ClickLog
from rankwise.metrics.statistics.stratified import check_level
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import check_choice, join_lines, setting
from rankwise.runtime.result import Result
from rankwise.typing import Float64Array, Int64Array

if TYPE_CHECKING:
    from rankwise.clicks.click_model import ClickModel

METHODS = ("ips", "snips", "dr", "item_position")
FEW_CLICKS = 20
# With more of the sum of squared weights on one list, 95 % intervals held the truth in .62 to .92.
HEAVY_LIST = 0.05
MEANING = {
    "propensity": "with which the logging system shows the document of a row at its place, "
    "whatever it shows above",
    "list_propensity": "with which the logging system shows a list (in each of its rows), or "
    "each row given the rows above it",
}
# Rate of false alarms of the test that weights have mean 1, and deviation that rounding may cause.
WEIGHT_LEVEL, MEAN_TOLERANCE = 1e-4, 0.01


@dataclass(frozen=True)
class OffPolicyEstimate(Result):
    """Estimated value of another ranking.

    Attributes
    ----------
    value, low, high : float
        Mean per list, and its interval (t, by users).
    effective_size : float
        Number of lists of the other ranking that carry as much information,
        ``(sum w)^2 / sum w^2``; for "item_position", the smallest among the places.
    largest_weight : float
    n_lists : int
    logged_value : float
        Value of the ranking that made the log.
    measure, method : str
    confidence_level : float
    notes : list of str
    """

    value: float
    low: float
    high: float
    effective_size: float
    largest_weight: float
    n_lists: int
    logged_value: float
    measure: str
    method: str
    confidence_level: float
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"{self.measure} by {self.method}: {self.value:.5f}, {self.confidence_level:.0%} "
            f"interval {self.low:.5f} to {self.high:.5f} (logged: {self.logged_value:.5f})",
            f"{self.n_lists} lists, effective size {self.effective_size:.0f}, largest weight "
            f"{self.largest_weight:.1f}",
        ]
        return join_lines(lines + [f"note: {note}" for note in self.notes])


@names_its_class
def off_policy(
    log: ClickLog,
    target: Any,
    measure: str = "CTR",
    method: Literal["ips", "snips", "dr", "item_position"] = "snips",
    *,
    baseline: ClickModel | tuple[Any, Any] | None = None,
    confidence_level: float = 0.95,
    min_effective_size: float = 50.0,
) -> OffPolicyEstimate:
    """Estimate a measure of clicks for a ranking that users have not seen.

    Parameters
    ----------
    log : ClickLog
        Log with the probabilities of the logging system. "item_position" and "dr" need
        ``propensity``, the probability that this document is shown at this position, whatever is
        above it. "ips" and "snips" need ``list_propensity``: the probability of the whole list, the
        same in all its rows, or the probability of each row given the rows above it, which are
        multiplied. For lists of one row, either column is sufficient.
    target : run, or array-like of shape (n_input_rows,)
        The new ranking: result lists as for :func:`rankwise.fusion.as_run`, which show a document
        at its rank with probability 1; or the probabilities of the new ranking, by row of the table
        from which the log was read (``log.source``), of the same kind as those of the log.
    measure : str
        Gain of a click, summed over a list. "CTR": 1 / length of the list. "DCG@k":
        1 / log2(1 + position), up to position k.
    method : {"ips", "snips", "dr", "item_position"}
        w is the ratio of the probabilities of target and log at a position, W that of a list (up to
        k, if both have probabilities of rows given those above), R the value of the list:

        - "ips": mean of W R; unbiased, wide (Swaminathan & Joachims 2015);
        - "snips": ``sum W R / sum W``; a small bias, narrower (Swaminathan & Joachims 2015);
        - "item_position": mean of ``sum_i w_i gain_i click_i``; valid if clicks depend on document
          and position alone, and far narrower on long lists (Li et al. 2018);
        - "dr": mean of ``sum_i gain_i (t_i + w_i (click_i - b_i))`` with the expected clicks b_i of
          the row and t_i of the target at its position, by ``baseline`` (Dudík et al. 2011).
    baseline : ClickModel or (array-like, array-like), optional
        For "dr": a model fitted on other rows (``target`` must then be a run), or the arrays b and
        t by row of the table.
    confidence_level : float in (0, 1)
    min_effective_size : float
        Smallest effective size for which a value is returned; below it, ValueError is raised.

    Returns
    -------
    OffPolicyEstimate

    Raises
    ------
    ValueError
        If the log lacks the probabilities that the estimator needs, a parameter is wrong, the
        effective size is too small, or the mean of the weights differs from 1 by more than 1 % and
        significantly.

    Notes
    -----
    If the probabilities are correct and the log shows everything that ``target`` shows, the weights
    have mean 1: W over the lists, and w at every position. The test of this treats the sum of the
    weights of n users as a multiple of a Poisson count with the same mean and variance, which suits
    weights that are mostly 0 and sometimes large. Its level is 1 in 10,000. In simulations, it
    raised an error for 1 of 800 correct logs whose lists differ in probability by a factor of 400,
    and for 1 of 80 with lognormal weights of sigma 2, whose largest values are missing in most
    samples. A mean of 1 is necessary, not sufficient: the test cannot notice a rare list of large
    weight that does not occur in the log.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.clicks import ClickLog, off_policy
    >>> n = 400
    >>> log = ClickLog.from_columns(
    ...     ["q"] * n, ["x", "y"] * (n // 2), [1] * n, [1, 0, 0, 0] * (n // 4),
    ...     propensity=[0.5] * n,
    ... )
    >>> found = off_policy(log, {"q": {"x": 1.0}})
    >>> found.value, found.logged_value, found.effective_size
    (0.5, 0.25, 200.0)
    """
    check_level(confidence_level)
    check_choice("method", method, METHODS)
    if isinstance(target, list | tuple):
        is_array = len(target) > 0 and isinstance(target[0], int | float | np.number)
    else:
        is_array = np.ndim(target) == 1 and hasattr(target, "dtype")
    lists = None if is_array else read_lists(target)
    chance = _by_row(log, target, "target") if lists is None else _chance_of(log, lists)
    by_item = method in ("item_position", "dr")
    gain = _gains(log, measure)
    starts = log.lists.indptr[:-1]
    counts = np.add.reduceat(log.counts, starts) / np.diff(log.lists.indptr)
    reward = np.add.reduceat(gain * log.click, starts)
    name, propensity = _propensity(log, method, by_item)
    if by_item:
        weight = ratio = chance / propensity
        term = np.add.reduceat(ratio * gain * log.click, starts)
        if method == "dr":
            term = _doubly_robust(log, lists, baseline, ratio, gain, starts)
        places = (log.place == place for place in np.unique(log.place[gain > 0]))
        size = min(_size(ratio[at], log.counts[at]) for at in places)
    else:
        weight = _weights_of_lists(log, chance, propensity, gain, lists is not None)
        term = weight * reward
        size = _size(weight, counts)
    if size < min_effective_size:
        raise ValueError(
            f"the log holds too little of what the target shows: its effective size is {size:.1f}, "
            f"below min_effective_size={min_effective_size:g}. Log more random traffic, or use "
            f"{setting('method', 'item_position')}."
        )
    if by_item:
        # Below the end of the target's list, it shows nothing.
        shown = gain > 0 if lists is None else (gain > 0) & _reaches(log, lists)
        places = [np.flatnonzero(shown & (log.place == k)) for k in np.unique(log.place[shown])]
        for rows in places:
            what = f"weights at place {log.place[rows[0]]}"
            _check_mean(weight[rows], log.counts[rows], log.clusters[rows], what, name, len(places))
    else:
        _check_mean(weight, counts, log.clusters[starts], "weights of lists", name)
    scale = float(np.average(weight, weights=counts)) if method == "snips" else 1.0
    value = float(np.average(term, weights=counts)) / scale
    influence = (term - value * (weight if method == "snips" else 1.0)) / scale
    se, freedom = _clustered_error(log, influence, counts, starts)
    width = float(stdtrit(freedom, (1 + confidence_level) / 2)) * se
    return OffPolicyEstimate(
        value, value - width, value + width, size,
        float((weight[gain > 0] if by_item else weight).max()), len(starts),
        float(np.average(reward, weights=counts)), measure, method, confidence_level,
        _notes(log, weight, gain, by_item),
    )  # fmt: skip


def _propensity(log: ClickLog, method: str, by_item: bool) -> tuple[str, Float64Array]:
    """Probabilities of the logging system that an estimator needs, and their name."""
    names = ["propensity", "list_propensity"] if by_item else ["list_propensity", "propensity"]
    for name in names if log.n_lists == len(log) else names[:1]:
        column = getattr(log, name)
        if column is not None:
            return name, column
    column, advice = setting(names[0]), ""
    if not by_item:
        item_position = setting("method", "item_position")
        advice = f" With that of each document at its place alone, use {item_position}."
    raise ValueError(
        f"method {method!r} needs the probability {MEANING[names[0]]}: pass the log "
        f"{column}.{advice}"
    )


def _weights_of_lists(
    log: ClickLog, chance: Float64Array, propensity: Float64Array, gain: Float64Array, is_run: bool
) -> Float64Array:
    """Ratio of the probabilities of each list, or of its rows with a gain if all rows have one."""
    starts = log.lists.indptr[:-1]

    def is_constant(column: Float64Array) -> bool:
        least, most = (f.reduceat(column, starts) for f in (np.minimum, np.maximum))
        return bool((most - least <= 1e-9 * most).all())

    is_of_lists = not is_run and is_constant(chance), is_constant(propensity)
    ratio = np.ones(len(starts))
    for column, whole, sign in zip((chance, propensity), is_of_lists, (1, -1), strict=True):
        counted = np.where((gain > 0) | any(is_of_lists), column, 1.0)
        ratio *= (column[starts] if whole else np.multiply.reduceat(counted, starts)) ** sign
    return ratio


def _check_mean(
    weight: Float64Array,
    counts: Float64Array,
    users: Int64Array,
    what: str,
    name: str,
    n_tests: int = 1,
) -> None:
    """Raise ValueError if weights have not the mean 1."""
    mean = float(np.average(weight, weights=counts))
    if abs(mean - 1.0) <= MEAN_TOLERANCE:
        return
    user = np.unique(users, return_inverse=True)[1]
    total, n = np.bincount(user, counts * weight), np.bincount(user, counts)
    # Variance of the sum if the mean is 1: of weights that are mostly 0, by their second moment,
    # which has that mean as a factor; of weights near 1, by their spread.
    variance = n.sum() * (total**2).sum() / max(total.sum(), 1e-300) - (n**2).sum()
    variance = max(variance, ((total - n) ** 2).sum())
    step = max(variance / n.sum(), 1e-9)
    found, expected = total.sum() / step, n.sum() / step
    p = gammainc(found, expected) if mean > 1 else gammaincc(found + 1.0, expected)
    if total.any() and p > WEIGHT_LEVEL / 2 / n_tests:
        return
    raise ValueError(
        f"{what} have mean {mean:.3f}, not 1, which is beyond chance: check {setting(name)}. "
        f"It must be the probability {MEANING[name]}. If it is, the log hardly ever shows some of "
        "what the target shows: keep the queries of which it shows all."
    )


def _by_row(log: ClickLog, values: Any, name: str) -> Float64Array:
    """Values of the rows of the input table, for the rows of the log."""
    column = np.asarray(values, dtype=np.float64)
    if column.shape != (log.n_source,):
        raise ValueError(
            f"{name} must have one number per row of the table, {log.n_source}, got shape "
            f"{column.shape}."
        )
    column = column[log.source]
    if not (np.isfinite(column) & (column >= 0)).all():
        row = int(np.argmin(np.isfinite(column) & (column >= 0)))
        raise ValueError(f"{name} must be numbers >= 0, got {column[row]}.")
    return column


def _chance_of(log: ClickLog, lists: dict[str, list[str]]) -> Float64Array:
    """1 for rows whose document has their place in the lists, else 0."""
    ranks = {
        (query, document): rank
        for query, documents in lists.items()
        for rank, document in enumerate(documents, 1)
    }
    query, document = log.query.names[log.pairs.query], log.document.names[log.pairs.document]
    rank = [ranks.get(pair, 0) for pair in zip(query.tolist(), document.tolist(), strict=True)]
    unknown = {*query.tolist()} - {*lists}
    if unknown:
        raise ValueError(
            f"target has no list for {len(unknown)} queries of the log, such as "
            f"{min(unknown)!r}. Add them, or keep the rows of other queries."
        )
    return (np.array(rank)[log.pairs.code] == log.place).astype(np.float64)


def _gains(log: ClickLog, measure: str) -> Float64Array:
    if measure == "CTR":
        return np.repeat(1.0 / np.diff(log.lists.indptr), np.diff(log.lists.indptr))
    found = re.fullmatch(r"DCG(?:@([1-9]\d*))?", measure)
    if found is None:
        raise ValueError(f"measure must be 'CTR', 'DCG' or 'DCG@k', got {measure!r}.")
    k = int(found[1]) if found[1] else log.n_places
    return np.where(log.place <= k, 1.0 / np.log2(1.0 + log.place), 0.0)


def _size(weight: Float64Array, counts: Float64Array) -> float:
    total = float((counts * weight).sum())
    return total**2 / max(float((counts * weight**2).sum()), 1e-300)


def _doubly_robust(
    log: ClickLog,
    lists: dict[str, list[str]] | None,
    baseline: Any,
    ratio: Float64Array,
    gain: Float64Array,
    starts: Any,
) -> Float64Array:
    """Value of each list: expected clicks of the target, corrected by the clicks of the log."""
    if isinstance(baseline, tuple):
        logged, wanted = (_by_row(log, column, "baseline") for column in baseline)
    elif baseline is None or lists is None:
        raise ValueError(
            "method 'dr' needs baseline: a ClickModel and result lists as target, or the "
            "expected clicks of rows and target as two arrays."
        )
    else:
        logged, wanted = baseline.predict_proba(log), np.zeros(len(log))
        # What the target shows at the place of each row; 0 if it shows nothing there.
        query, place = log.query.names[log.query.codes].tolist(), log.place.tolist()
        rows = np.flatnonzero(_reaches(log, lists))
        shown = ClickLog.from_columns(
            [query[r] for r in rows], [lists[query[r]][place[r] - 1] for r in rows],
            log.place[rows], np.zeros(len(rows)), session=log.lists.code[rows], first_place=1,
        )  # fmt: skip
        wanted[rows[shown.source]] = baseline.predict_proba(shown)
    return np.add.reduceat(gain * (wanted + ratio * (log.click - logged)), starts)


def _reaches(log: ClickLog, lists: dict[str, list[str]]) -> NDArray[np.bool_]:
    """Whether the target's list of the query has the place of each row."""
    length = np.array([len(lists.get(query, ())) for query in log.query.names.tolist()])
    return log.place <= length[log.query.codes]


def _clustered_error(
    log: ClickLog, influence: Float64Array, counts: Float64Array, starts: Any
) -> tuple[float, float]:
    """Standard error of a mean over lists, and its degrees of freedom, with users as units."""
    users = np.unique(log.clusters[starts], return_inverse=True)[1]
    sums = np.bincount(users, influence * counts)
    n = len(sums)
    if n < 2:
        return np.nan, 1.0
    return float(np.sqrt((sums**2).sum() * n / (n - 1)) / counts.sum()), n - 1.0


def _notes(log: ClickLog, weight: Float64Array, gain: Float64Array, by_item: bool) -> list[str]:
    notes = []
    row_weight = weight if by_item else weight[log.lists.code]
    clicks = int((log.click & (row_weight > 0) & (gain > 0)).sum())
    if clicks < FEW_CLICKS:
        notes.append(f"the estimate rests on only {clicks} clicks; its interval may be too short")
    share = 0.0 if by_item else float(weight.max() ** 2 / max((weight**2).sum(), 1e-300))
    if share > HEAVY_LIST:
        notes.append(
            f"one list has {share:.0%} of the sum of squared weights: lists of larger weight may "
            "be missing, and the interval may be too short, mostly at its upper end"
        )
    return notes
