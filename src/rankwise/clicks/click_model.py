"""How users of a log look and click: click models, and the relative examination of places.

References
----------
- Joachims, Swaminathan and Schnabel, "Unbiased learning-to-rank with biased feedback", WSDM
  2017 (randomised swaps).
- Agarwal et al., "Estimating position bias without intrusive interventions", WSDM 2019
  (intervention harvesting).
- Wang et al., "Position bias estimation for unbiased learning to rank in personal search",
  WSDM 2018 (position-based model by EM).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from scipy.special import ndtri, stdtrit

from rankwise.clicks.log import (
    ROWS_AT_A_TIME,
    Cells,
    ClickLog,
    Codes,
    Ids,
    count_cells,
    find_components,
    name_groups,
    name_places,
    note_unit,
)
from rankwise.clicks.model_fits import (
    UNIT_ERROR,
    WEAK_PRIOR,
    ChainFit,
    Patterns,
    choose_unit,
    deviate_from,
    find_patterns,
    fit_cells,
    fit_dbn,
    fit_pair_prior,
    fit_sdbn,
    maximize_conditional,
)
from rankwise.clicks.simulation import examination_at
from rankwise.kernels.click_models import mark_last_clicks, predict_by_last_click, predict_chains
from rankwise.metrics.statistics.stratified import check_level
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import check_choice
from rankwise.runtime.result import Result
from rankwise.typing import Float64Array, Int64Array

NAMES = ("ctr", "pbm", "ubm", "sdbn", "dbn")
LISTED = ("ubm", "sdbn", "dbn")
# With 30 impressions per pair and joint_prior, the examination of place 2 was .81 instead of .67.
FEW_IMPRESSIONS = 100
MOST_PLACES = 500  # of the UBM, whose table of examinations is a square


class ClickModel:
    """A model of clicks, fitted to a log by maximum penalised likelihood.

    Parameters
    ----------
    model : {"ctr", "pbm", "ubm", "sdbn", "dbn"}
        Probability of a click on a pair with attractiveness a at position k:

        - "ctr": a;
        - "pbm": g_k a, with examination g (position-based model);
        - "ubm": g_kj a, where j is the position of the last click above (user browsing model);
        - "sdbn": users read from the top until a click satisfies them (closed form);
        - "dbn": the same, but users may give up after any document (dynamic Bayesian network).
    prior : (float, float), optional
        Prior clicks and impressions of every parameter, > 0. The prior mean is their ratio, so the
        attractiveness of a pair without clicks is above 0. None: for the attractiveness of "ctr",
        "pbm" and "ubm", a beta distribution with 1 to 100 prior impressions is fitted to the pairs
        of the log; for all other parameters, (0.2, 1.0).
    joint_prior : bool
        For "pbm" and "ubm". False: examination maximises the likelihood of the clicks of each pair
        given their number, which does not depend on attractiveness. Every position has 0.2 prior
        clicks (``prior[0]``), at the ratio of its click rate to that of the position with most
        clicks. If the log does not connect two positions, this prior decides, as if documents were
        alike. Attractiveness then maximises the penalised likelihood, given this examination.
        True: EM maximises the penalised likelihood over all parameters together, as in other
        programs. With few impressions per pair, this overestimates the examination of low
        positions (towards 1 with one or two impressions) and predicts clicks less well.
    tol : float > 0
        EM stops if the log-likelihood per impression increases by less than ``tol``.
    max_iter : int >= 1
        Largest number of EM steps.
    accelerate : bool
        Whether to extrapolate steps (SQUAREM). False: plain EM, for comparison with other programs.

    Attributes
    ----------
    attractiveness_, attractiveness_se_ : ndarray of shape (n_pairs,)
        Click probability if examined, by pair of ``log.pairs``, and its standard error.
    examination_ : ndarray
        "pbm": by position, relative to a position with examination 1 (see Notes). "ubm": of shape
        (n_places, n_places), by position and by position of the last click (column 0: no click),
        NaN if nothing was shown. "sdbn", "dbn": mean probability that a position is examined.
        "ctr": ones.
    examination_se_ : ndarray
        Standard errors ("pbm" and "ubm"). NaN if the log does not determine the value.
    satisfaction_ : ndarray of shape (n_pairs,)
        Probability that a click satisfies ("sdbn", "dbn").
    continuation_ : float
        Probability of continuing to the next document ("sdbn", "dbn").
    log_likelihood_ : float
        Log-likelihood of the clicks of the log, each given the clicks above it.
    n_iter_ : int
        Steps of EM or of Newton's method.
    converged_ : bool
    notes_ : list of str
        Parameters that the log could not determine.

    Notes
    -----
    "pbm" and "ubm" use Newton's method or EM over cells of equal impressions, with O(cells) time
    per step and memory. "dbn" uses EM over distinct lists. Standard errors assume independent
    impressions and a correct model ("dbn": from squared scores of lists, separately for each
    attractiveness). They are NaN for positions that clicks do not connect in both directions.

    A log determines only products of attractiveness and examination. Examination is therefore
    set to 1 at the topmost position with clicks, within the largest group of positions that clicks
    connect. If another position is examined significantly more often (at 1 % for all positions
    together), examination is 1 at the most examined position, and ``notes_`` say so. Otherwise, a
    top position whose clicks were not logged would move all attractiveness towards 0. "sdbn" and
    "dbn" assume that the top position is always examined. ``notes_`` warn if it has less than half
    of the predicted clicks.

    Other programs maximise over all parameters together, although a few impressions do not
    determine the attractiveness of a pair; see ``joint_prior``.

    Examples
    --------
    >>> from rankwise.clicks import ClickLog, ClickModel
    >>> log = ClickLog.from_columns(
    ...     ["q"] * 8, list("aaaabbbb"), [1, 1, 2, 2] * 2, [0, 1] * 4,
    ...     weight=[200, 800, 600, 400, 600, 400, 800, 200],
    ... )
    >>> model = ClickModel("pbm").fit(log)
    >>> model.examination_.round(2).tolist(), model.attractiveness_.round(2).tolist()
    ([1.0, 0.5], [0.8, 0.4])
    """

    log_likelihood_: float
    attractiveness_: Float64Array
    attractiveness_se_: Float64Array
    continuation_: float
    satisfaction_: Float64Array
    converged_: bool
    n_iter_: int

    def __init__(
        self,
        model: Literal["ctr", "pbm", "ubm", "sdbn", "dbn"] = "pbm",
        *,
        prior: tuple[float, float] | None = None,
        joint_prior: bool = False,
        tol: float = 1e-8,
        max_iter: int = 2000,
        accelerate: bool = True,
    ) -> None:
        check_choice("model", model, NAMES)
        if prior is not None and not 0 < prior[0] < prior[1]:
            raise ValueError(
                f"prior must be (clicks, impressions), 0 < clicks < impressions, got {prior!r}."
            )
        if not tol >= 0 or max_iter < 1:
            raise ValueError(f"tol must be >= 0 and max_iter >= 1, got {tol!r} and {max_iter!r}.")
        self.model = model
        self.prior = prior
        self.joint_prior = joint_prior
        self.tol = tol
        self.max_iter = max_iter
        self.accelerate = accelerate

    examination_: Float64Array
    examination_se_: Float64Array

    def __repr__(self) -> str:
        return f"ClickModel({self.model!r})"

    def fit(self, log: ClickLog) -> Self:
        """Fit the parameters.

        Raises
        ------
        ValueError
            If the log has no click, or no sessions and the model reads lists.
        """
        if self.model in LISTED:
            log._require_sessions(f"model {self.model!r}")
        if not (log.click & (log.counts > 0)).any():
            raise ValueError("the log holds no click, so no model fits it. Collect more of it.")
        self.notes_: list[str] = []
        self.n_iter_, self.converged_ = 0, True
        if self.model == "ctr":
            self._fit_rates(log)
        elif self.model in ("pbm", "ubm"):
            self._fit_cells(log)
        else:
            self._fit_chains(log)
        self._log_pairs = log.query, log.document, log.pairs
        self._unseen = float(self.attractiveness_.mean())
        self._unseen_satisfaction = float(np.mean(getattr(self, "satisfaction_", 0.0)))
        if not self.converged_:
            self.notes_.append(f"the fit stopped after {self.n_iter_} steps, before it converged")
        self.log_likelihood_ = 0.0
        for rows, part in log.parts():
            p = np.clip(self._chances(part, log.pairs.code[rows], True), 1e-300, 1 - 1e-16)
            each = part.counts * np.where(part.click, np.log(p), np.log1p(-p))
            self.log_likelihood_ += float(each.sum())
        return self

    def predict_proba(self, log: ClickLog, *, given_clicks: bool = False) -> Float64Array:
        """Click probability of every row of a log.

        Pairs that ``fit`` did not see get the mean attractiveness; places below those seen get the
        examination of the lowest one.

        Parameters
        ----------
        log : ClickLog
        given_clicks : bool
            Whether to use the clicks above each row of its list.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._chances(log, self._find_pairs(log), given_clicks)

    def _chances(self, log: ClickLog, known: Codes, given_clicks: bool) -> Float64Array:
        """Click probability of rows whose pairs have these numbers in the fit, -1 for none."""
        a = np.where(known < 0, self._unseen, self.attractiveness_[known])
        if self.model == "ctr":
            return a
        if self.model == "pbm":
            return np.clip(a * self._table[np.minimum(log.place, len(self._table)) - 1], 0.0, 1.0)
        log._require_sessions(f"model {self.model!r}")
        if self.model == "ubm":
            return self._predict_ubm(log, a, given_clicks)
        s = np.where(known < 0, self._unseen_satisfaction, self.satisfaction_[known])
        out, rows = np.empty(len(log)), np.arange(len(log), dtype=np.int32)
        predict_chains(
            log.lists.indptr, rows, log.click, a, s, self.continuation_, given_clicks, out
        )
        return out

    def perplexity(self, log: ClickLog, *, given_clicks: bool = False) -> Float64Array:
        """Perplexity of the clicks at each place that the log shows, ``2^(-mean log2 p)``.

        1 is certainty, 2 a coin. ``given_clicks`` as in :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_places,)
            NaN for places without impressions.
        """
        p = np.clip(self.predict_proba(log, given_clicks=given_clicks), 1e-12, 1 - 1e-12)
        bits = np.log2(np.where(log.click, p, 1 - p)) * log.counts
        n = np.bincount(log.place - 1, log.counts)
        return np.exp2(
            -np.divide(
                np.bincount(log.place - 1, bits), n, out=np.full(len(n), np.nan), where=n > 0
            )
        )

    def _fit_rates(self, log: ClickLog) -> None:
        n_pairs = len(log.pairs.query)
        n = np.bincount(log.pairs.code, log.counts, n_pairs)
        clicks = np.bincount(log.pairs.code, log.counts * log.click, n_pairs)
        prior = self.prior or fit_pair_prior(clicks, n)
        n += prior[1]
        self.attractiveness_ = (clicks + prior[0]) / n
        self.attractiveness_se_ = np.sqrt(self.attractiveness_ * (1 - self.attractiveness_) / n)
        self.examination_ = np.ones(log.n_places)

    def _fit_cells(self, log: ClickLog) -> None:
        if self.model == "ubm" and log.n_places > MOST_PLACES:
            raise ValueError(
                f"model 'ubm' has a parameter for every two places, and the log {log.n_places} "
                f"places, more than {MOST_PLACES}. Keep the rows of the first ones."
            )
        slots, patterns = self._find_patterns(log)
        fit = fit_cells(
            patterns, len(slots), self.prior, jointly=self.joint_prior, tol=self.tol,
            max_iter=self.max_iter, accelerate=self.accelerate,
        )  # fmt: skip
        self.attractiveness_, self.attractiveness_se_ = fit.attraction, fit.attraction_se
        self.n_iter_, self.converged_ = fit.n_steps, fit.converged
        shape = (log.n_places,) if self.model == "pbm" else (log.n_places, log.n_places)
        for name, values in (("", fit.examination), ("_se", fit.examination_se)):
            table = np.full(shape, np.nan)
            table.ravel()[slots] = values
            setattr(self, f"examination{name}_", table)
        self._table = _fill(self.examination_)
        per_pair = patterns.n_impressions / len(log.pairs.query)
        if self.joint_prior and per_pair < FEW_IMPRESSIONS:
            self.notes_.append(
                f"{per_pair:.1f} impressions per pair are few: joint_prior=True raises the "
                "examination of low places. Pass joint_prior=False"
            )
        n_linked = sum(len(group) for group in fit.groups)
        if len(fit.groups) > 1:
            what = f"{len(fit.groups)} groups of {n_linked}"
            if self.model == "pbm":
                what = name_groups([slots[group - 1] + 1 for group in fit.groups])
            by = "only the prior compares them"
            if not self.joint_prior:
                by = "click rates compare them, as if documents were alike"
            self.notes_.append(f"clicks do not go both ways between these places, so {by}: {what}")
        if n_linked < len(slots) and self.model == "pbm":
            silent = np.setdiff1d(np.arange(len(slots)), np.concatenate(fit.groups) - 1)
            self.notes_.append(
                f"no clicks at places {name_places(slots[silent] + 1)}, whose examination has no "
                "standard error"
            )
        if fit.unit:
            names = []
            for slot in (slots[fit.unit], slots[0]):
                place, last = (slot, None) if self.model == "pbm" else divmod(slot, log.n_places)
                after = f" after a click at {last}" if last else " without a click"
                names.append(f"place {place + 1}" + ("" if last is None else after))
            linked = any({1, fit.unit + 1} <= {*group.tolist()} for group in fit.groups)
            self.notes_.append(note_unit(names[0], names[1], linked))

    def _find_patterns(self, log: ClickLog) -> tuple[Int64Array, Patterns]:
        """Slots of the table of examinations that were shown, and the cells of pairs in them."""
        slot = log.place - np.int32(1)
        n_slots = log.n_places
        if self.model == "ubm":
            last = np.empty(len(log), dtype=np.int32)
            mark_last_clicks(log.lists.indptr, log.place, log.click, last)
            # Documents that share a place follow each other in the list: their last click is above.
            np.minimum(last, slot, out=last)
            slot *= np.int32(n_slots)
            slot += last
            n_slots **= 2
        shown = np.zeros(n_slots, dtype=bool)
        for start in range(0, len(log), ROWS_AT_A_TIME):
            shown[slot[start : start + ROWS_AT_A_TIME]] = True
        number = np.cumsum(shown, dtype=np.int32) - np.int32(1)
        for start in range(0, len(log), ROWS_AT_A_TIME):
            rows = slice(start, start + ROWS_AT_A_TIME)
            slot[rows] = number[slot[rows]]
        return np.flatnonzero(shown), find_patterns(log, slot)

    def _fit_chains(self, log: ClickLog) -> None:
        prior = self.prior or WEAK_PRIOR
        if self.model == "sdbn":
            fit: ChainFit = fit_sdbn(log, prior)
        else:
            fit = fit_dbn(
                log, prior, tol=self.tol, max_iter=self.max_iter, accelerate=self.accelerate
            )
        self.attractiveness_, self.attractiveness_se_ = fit.attraction, fit.attraction_se
        self.satisfaction_, self.continuation_ = fit.satisfaction, fit.continuation
        self.n_iter_, self.converged_ = fit.n_steps, fit.converged
        chains = (self.attractiveness_, self.satisfaction_, self.continuation_)
        n, total, expected, clicks = np.zeros((4, log.n_places))
        for rows, part in log.parts():
            click, pair = np.empty(len(part)), log.pairs.code[rows]
            predict_chains(part.lists.indptr, pair, part.click, *chains, False, click)
            place, counts = part.place - 1, part.counts
            n += np.bincount(place, counts, len(n))
            examined = counts * click / self.attractiveness_[pair]
            total += np.bincount(place, examined, len(n))
            expected += np.bincount(place, counts * click, len(n))
            clicks += np.bincount(place, counts * part.click, len(n))
        top = int(np.argmax(n > 0))
        if expected[top] - clicks[top] > max(expected[top] / 2, 4 * np.sqrt(expected[top])):
            self.notes_.append(
                f"place {top + 1} has {clicks[top]:g} clicks, where the model expects "
                f"{expected[top]:.0f}: it takes documents there as seen, and attractivenesses are "
                f"too low if they were not. Leave out the rows of place {top + 1}"
            )
        self.examination_ = np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)

    def _predict_ubm(self, log: ClickLog, a: Float64Array, given: bool) -> Float64Array:
        size = len(self._table)
        place = np.minimum(log.place, size)
        if given:
            last = np.empty(len(log), dtype=np.int64)
            mark_last_clicks(log.lists.indptr, log.place, log.click, last)
            return np.clip(a * self._table[place - 1, np.minimum(last, place - 1)], 0.0, 1.0)
        out = np.empty(len(log))
        top = np.max(a, initial=0.0) * self._table.max()
        table = self._table / max(top, 1.0)  # a click is never more than certain
        predict_by_last_click(log.lists.indptr, place, a, table, out)
        return out

    def _find_pairs(self, log: ClickLog) -> Codes:
        """Number of each row's pair in the fit, -1 if it was not seen."""
        if not hasattr(self, "_log_pairs"):
            raise ValueError("fit the model first: ClickModel(…).fit(log).")
        query, document, pairs = self._log_pairs
        if pairs is log.pairs:
            return pairs.code
        q = _match_ids(query, log.query)[log.pairs.query]
        d = _match_ids(document, log.document)[log.pairs.document]
        keys = pairs.query.astype(np.int64) * len(document) + pairs.document
        order = np.argsort(keys)
        wanted = q * len(document) + d
        at = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
        found = np.where((keys[at] == wanted) & (q >= 0) & (d >= 0), at, -1)
        return found[log.pairs.code].astype(np.int32)


def _match_ids(known: Ids, wanted: Ids) -> Int64Array:
    """Code of each id of ``wanted`` in ``known``, -1 if it is not there."""
    table = {name: code for code, name in enumerate(known.names.tolist())}
    return np.array([table.get(name, -1) for name in wanted.names.tolist()], dtype=np.int64)


def _fill(table: Float64Array) -> Float64Array:
    """Replace NaN by the value of the place above, for places that were not shown."""
    table = table.copy()
    if table.ndim == 2:
        above = np.nanmean(np.where(np.isnan(table), np.nan, table))
        for k in range(len(table)):
            row = table[k]
            row[np.isnan(row)] = np.nanmean(row) if not np.isnan(row).all() else above
        return table
    known = np.flatnonzero(~np.isnan(table))
    at = np.searchsorted(known, np.arange(len(table)), side="right") - 1
    return table[known[np.maximum(at, 0)]]


METHODS = ("random", "harvest", "em")
# With fewer clusters, intervals from the spread between them are too short.
FEW_QUERIES = 30
WIDEST = 100.0  # logarithm of the factor between an estimate and an end of its interval


@dataclass(frozen=True, eq=False)
class Propensities(Result):
    """Examination of places, relative to one of them.

    Attributes
    ----------
    place : ndarray of shape (n_places,), int64
        Places that were shown.
    examination, low, high : ndarray of shape (n_places,), float64
        Estimate and interval; all 1 at the place ``unit``. NaN: not determined.
    method : str
    confidence_level : float
    notes : list of str
    unit : int
        The topmost place with clicks. If another is examined significantly more often, then the
        most examined place, and a note says so.
    """

    _drawn = "examination"

    place: Int64Array
    examination: Float64Array
    low: Float64Array
    high: Float64Array
    method: str
    confidence_level: float
    notes: list[str] = field(default_factory=list)
    unit: int = 1

    def _heading(self) -> str:
        return (
            f"Examination relative to place {self.unit}, by {self.method}: estimates and "
            f"{self.confidence_level:.0%} intervals"
        )


@names_its_class
def propensities(
    log: ClickLog,
    method: Literal["random", "harvest", "em"] = "harvest",
    *,
    arm: str | None = None,
    confidence_level: float = 0.95,
) -> Propensities:
    """Estimate how often users examine each position, relative to the top one.

    Parameters
    ----------
    log : ClickLog
    method : {"random", "harvest", "em"}
        - "random": ratio of click rates. Valid only if documents were shown in random order
          (Joachims et al. 2017).
        - "harvest": uses pairs that were shown at several positions. The clicks C_p of pair p are
          distributed over its positions as ``C_pk ~ n_pk g_k / sum_j n_pj g_j``, and g maximises
          the product of these multinomial likelihoods. Its derivative has mean 0 for any
          relevance, so pairs may have few impressions (Agarwal et al. 2019).
        - "em": ``examination_`` of ``ClickModel("pbm")``, the model that Wang et al. (2018) fit by
          EM. The maximum is that of "harvest", with the prior of the model for every position.
    arm : str, optional
        Arm of the log to use, such as its randomised branch.
    confidence_level : float in (0, 1)
        Coverage of the intervals.

    Returns
    -------
    Propensities

    Raises
    ------
    ValueError
        If nothing was clicked. For "harvest" and "em", also if clicks do not connect all positions
        in both directions, because some ratios of examination then have no finite estimate. The
        message names the groups of positions.

    Notes
    -----
    Positions without clicks have examination 0 and no upper bound, with a note.

    "random" and "harvest" have t intervals of log g from the spread of the queries' derivatives
    (cluster-robust). They are never shorter than intervals for independent clicks: if few queries
    connect a position, this spread is too small. Intervals of "em" assume independent impressions.
    :doc:`/click_estimates` reports how often intervals contain the true value, from 1.5
    impressions per pair on. All methods assume that examination depends on the position alone.

    Examples
    --------
    >>> from rankwise.clicks import ClickLog, propensities
    >>> log = ClickLog.from_columns(
    ...     ["q"] * 20 + ["r"] * 20, ["d"] * 40, ([1] * 10 + [2] * 10) * 2,
    ...     ([1] * 8 + [0] * 2 + [1] * 4 + [0] * 6) + ([1] * 2 + [0] * 8 + [1] + [0] * 9),
    ... )
    >>> propensities(log).examination.round(2).tolist()
    [1.0, 0.5]
    """
    check_level(confidence_level)
    check_choice("method", method, METHODS)
    if arm is not None:
        log = log.take_arm(arm)
    cells = count_cells(log)
    n_slots = log.n_places
    if not cells.clicks.any():
        raise ValueError("the log holds no click, so it tells nothing of examination.")
    by_place = np.bincount(cells.slot, cells.clicks, n_slots)
    shown = np.unique(cells.slot)
    known = shown[by_place[shown] > 0]
    notes: list[str] = []
    if method != "random":
        check_linked(cells, n_slots)
    elif arm is None:
        notes.append("no arm was named: right only if all of the log is randomised")
    if len(known) < len(shown):
        silent = np.setdiff1d(shown, known) + 1
        notes.append(f"no clicks at places {name_places(silent)}: examination 0, no upper bound")
    if method == "em":
        model = ClickModel("pbm").fit(log)
        g, se = model.examination_[known], model.examination_se_[known]
        spread, unit = ndtri((1 + confidence_level) / 2) * se / g, int(np.argmin(se))
        notes += [note for note in model.notes_ if "no clicks at" not in note]
    else:
        n_queries = log.query.n_present
        if n_queries < FEW_QUERIES:
            notes.append(f"intervals rest on only {n_queries} queries and are too short")
        fit = _rates if method == "random" else _harvest
        eta, by_query, by_impression = fit(log, cells, known)

        def width(unit: int, tail: float) -> Float64Array:
            t, z = stdtrit(max(n_queries - 1, 1), 1 - tail), ndtri(1 - tail)
            each = deviate_from(unit, by_query), deviate_from(unit, by_impression)
            return np.maximum(t * each[0], z * each[1])

        unit = choose_unit(eta, width(0, UNIT_ERROR / (2 * len(known))), np.arange(len(known)))
        g, spread = np.exp(eta - eta[unit]), width(unit, (1 - confidence_level) / 2)
        if known[unit] != shown[0]:
            notes.append(note_unit(f"place {known[unit] + 1}", f"place {shown[0] + 1}"))
    spread = np.minimum(spread, WIDEST)
    examination = np.zeros(len(shown))
    low, high = np.zeros(len(shown)), np.full(len(shown), np.nan)
    at = np.isin(shown, known)
    examination[at], low[at], high[at] = g, g * np.exp(-spread), g * np.exp(spread)
    unit = int(known[unit]) + 1
    return Propensities(shown + 1, examination, low, high, method, confidence_level, notes, unit)


def examination_of(log: ClickLog, given: Any) -> Float64Array:
    """Examination of the places 1, 2, … of a log, from the result of propensities or an array.

    It must be finite and >= 0 at every place that was shown, and not 0 at all of them.
    """
    if given is None:
        given = propensities(log, "harvest")
    if hasattr(given, "examination"):
        table = np.full(log.n_places, np.nan)
        known = given.place <= log.n_places
        table[given.place[known] - 1] = given.examination[known]
    else:
        table = np.asarray(given, dtype=np.float64)
        if table.ndim != 1 or not len(table):
            raise ValueError(f"propensities must be one number per place, got {given!r}.")
        if len(table) < log.n_places:
            raise ValueError(
                f"propensities must cover {log.n_places} places, got {len(table)} numbers."
            )
    shown = np.unique(log.place)
    values = examination_at(shown, table)
    if not (np.isfinite(values) & (values >= 0)).all():
        place = shown[~(np.isfinite(values) & (values >= 0))][0]
        raise ValueError(f"propensities must be numbers >= 0, but place {place} has none.")
    if not values.any():
        raise ValueError("propensities must be > 0 at some place that was shown, but all are 0.")
    return table


def check_linked(cells: Cells, n_slots: int) -> None:
    """Raise ValueError unless clicks go both ways between all places that have clicks."""
    parts = find_components(cells, n_slots)
    if len(parts) > 1:
        raise ValueError(
            "clicks must go both ways between all places: pairs clicked at one place and shown at "
            f"the other. These groups of places lack that: {name_groups(parts)}. Randomise a part "
            "of the traffic, keep the rows of one group of places, or pass propensities that you "
            "know."
        )


def _harvest(
    log: ClickLog, cells: Cells, known: Int64Array
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Log examination of the known places; its covariances by queries and by impressions."""
    cells = Cells(*(column[np.isin(cells.slot, known)] for column in cells))
    slot = np.searchsorted(known, cells.slot)
    pairs = np.ones(len(log.pairs.query))
    everywhere = [np.arange(1, len(known) + 1)]
    cells = cells._replace(slot=slot)
    found = maximize_conditional(cells, pairs, everywhere, len(known), prior=0.0)
    if not found.converged:
        raise ValueError(
            "the examination of places has no finite estimate in double precision: weights of "
            "clicks are too different. Scale the weights, or leave out rows of tiny weight."
        )
    robust = _cover_queries(log, cells.pair, slot, found.residual, found.bread)
    return found.eta, robust, found.covariance


def _rates(
    log: ClickLog, cells: Cells, known: Int64Array
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Log click rates of the known places; their covariances by queries and by impressions."""
    kept = np.isin(cells.slot, known)
    slot = np.searchsorted(known, cells.slot[kept])
    n, clicks = (np.bincount(slot, column[kept]) for column in (cells.n, cells.clicks))
    residual = cells.clicks[kept] - (clicks / n)[slot] * cells.n[kept]
    robust = _cover_queries(log, cells.pair[kept], slot, residual, np.diag(1 / clicks))
    return np.log(clicks / n), robust, np.diag((1 - clicks / n) / clicks)


def _cover_queries(
    log: ClickLog, pair: Int64Array, slot: Int64Array, residual: Float64Array, bread: Float64Array
) -> Float64Array:
    """Covariance from the spread of derivatives between queries; NaN for one query."""
    n_queries, n_slots = log.query.n_present, len(bread)
    if n_queries < 2:
        return np.full(bread.shape, np.nan)
    rows, query = np.unique(log.pairs.query[pair], return_inverse=True)
    sums = np.bincount(query * n_slots + slot, residual, len(rows) * n_slots)
    scores = sums.reshape(-1, n_slots) @ bread
    return scores.T @ scores * (n_queries / (n_queries - 1))
