"""Judgements from clicks: a real-valued grade per pair, with weight and interval; their files.

References
----------
- Zhang and Jones, "Comparing click logs and editorial labels for training query rewriting",
  WWW 2007 workshop (clicks over expected clicks).
- Joachims, Swaminathan and Schnabel, "Unbiased learning-to-rank with biased feedback", WSDM
  2017 (inverse propensity scores).
- Christiansen and Morris, "Hierarchical Poisson regression modeling", JASA 92, 1997 (intervals of
  shrunk rates).
"""

from __future__ import annotations

import csv
import io
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.exact_values import id_texts, warn_of_missing_words
from rankwise.clicks.click_model import ClickModel, examination_of
from rankwise.clicks.log import Cells, ClickLog, count_cells
from rankwise.clicks.model_fits import WEAK_PRIOR
from rankwise.clicks.shrinkage import (
    MOST_PAIRS,
    BetaPosterior,
    GammaPosterior,
    NormalPosterior,
    Posterior,
    WeightedClicksPosterior,
    average_strengths,
    cut_grades,
    fit_beta_binomial,
    fit_gamma_poisson,
    fit_normal,
)
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.delimited import DelimitedFile, name_file_in_errors
from rankwise.datasets.readers.text_columns import read_cells
from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES, read_text
from rankwise.datasets.readers.trec import (
    Qrels,
    check_distinct,
    id_array,
    string_codes,
    write_qrels,
)
from rankwise.groups import QueryGroups
from rankwise.metrics.statistics.stratified import check_level
from rankwise.runtime.files import open_to_write, write_file
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import callers_level, check_choice, check_share, check_whole, setting
from rankwise.runtime.result import Result
from rankwise.typing import Float64Array, Int64Array

HEAVY_SHARE = 0.1  # of a user who is named; half of the log left 15 % coverage to 95 % intervals
MOST_CERTAIN = 0.9  # share of the variance of Poisson clicks that clicks may lack
# Intervals have priors for so many groups of pairs at most, of so many clicks at least.
MOST_STRATA, LEAST_CLICKS = 16, 20
LEAST_WEIGHT = 0.01  # below, pairs do not differ beyond chance
MODELS = ("pbm", "ubm", "sdbn", "dbn")
METHODS = ("ctr", "coec", "harvest", "ips", *MODELS)
FORMATS = ("csv", "trec", "opensearch", "elasticsearch", "ranklib")
Method = Literal["ctr", "coec", "harvest", "ips", "pbm", "ubm", "sdbn", "dbn"]


@dataclass(frozen=True, eq=False)
class Judgements(Result):
    """Judgements of pairs of query and document.

    Attributes
    ----------
    qid, doc_ids : ndarray of shape (n_pairs,) of str
    grade : ndarray of shape (n_pairs,), float64
        Larger is better; whole numbers if ``grades`` was given.
    weight : ndarray of shape (n_pairs,), float64
        Trust in each grade, in [0, 1], for ``sample_weight``: the share of the spread among true
        rates in the spread of the estimate. A pair that was shown once weighs little.
    low, high : ndarray of shape (n_pairs,), float64
        Interval of the rate behind each grade.
    impressions, clicks : ndarray of shape (n_pairs,), float64
        What was seen of each pair.
    method : str
    confidence_level : float
    mu, kappa : float
        Mean and strength of the prior, see :func:`judgements`.
    notes : list of str
        What a reader of the judgements must know.
    """

    qid: NDArray[Any]
    doc_ids: NDArray[Any]
    grade: Float64Array
    weight: Float64Array
    low: Float64Array
    high: Float64Array
    impressions: Float64Array
    clicks: Float64Array
    method: str
    confidence_level: float = 0.95
    mu: float = 0.0
    kappa: float = 0.0
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.grade)

    def _heading(self) -> str:
        return (
            f"{len(self)} pairs, {len(np.unique(self.qid))} queries, {self.method}; "
            f"{self.confidence_level:.0%} intervals"
        )

    def __repr__(self) -> str:
        return f"Judgements({len(self)} pairs, {len(np.unique(self.qid))} queries, {self.method})"

    def to_qrels(self) -> Qrels:
        """Judgements as TREC qrels.

        Raises
        ------
        ValueError
            If grades are not whole numbers.
        """
        whole = self.grade == np.floor(self.grade)
        if not whole.all():
            raise ValueError(
                f"qrels need whole grades, got {self.grade[int(np.argmin(whole))]:g}. Judge with "
                f"{setting('grades', 5)}."
            )
        return Qrels(self.qid, self.doc_ids, self.grade.astype(np.int64))

    def label(
        self, data: RankingData, weights: Literal["trust", "impressions"] | None = "trust"
    ) -> RankingData:
        """Rows of ``data`` that are judged, with grades as y.

        Parameters
        ----------
        data : RankingData
            With document ids.
        weights : {"trust", "impressions"} or None
            Sample weights: ``weight``, scaled to mean 1 since LambdaMART takes a row of weight w as
            w copies, which take w ranks; the number of impressions; or none.

        Warns
        -----
        UserWarning
            How many rows have no judgement, and are left out.

        Raises
        ------
        ValueError
            If ``data`` has no document ids, or no row is judged.
        """
        if data.doc_ids is None:
            raise ValueError("data must have document ids, to find the judgements of its rows.")
        qid = np.array(id_texts(data.qid, "qid"), dtype=object)
        doc_ids = np.array(id_texts(data.doc_ids, "doc_ids"), dtype=object)
        (judged, wanted), _ = string_codes(self.qid, qid)
        (judged_docs, wanted_docs), n_documents = string_codes(self.doc_ids, doc_ids)
        keys = judged * n_documents + judged_docs
        order = np.argsort(keys)
        wanted = wanted * n_documents + wanted_docs
        at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
        found = order[at]
        rows = np.flatnonzero(keys[found] == wanted)
        if not len(rows):
            raise ValueError(
                f"no row of the data is judged: its rows are such as query {qid[0]!r}, document "
                f"{doc_ids[0]!r}, the judgements have query {str(self.qid[0])!r}, document "
                f"{str(self.doc_ids[0])!r}. Use the same ids in both."
            )
        if len(rows) < len(data):
            warnings.warn(
                f"{len(data) - len(rows)} of {len(data)} rows have no judgement and are left out.",
                UserWarning,
                stacklevel=callers_level(),
            )
        found = found[rows]
        weight = None
        if weights is not None:
            weight = (self.weight if weights == "trust" else self.impressions)[found]
        if weights == "trust" and weight is not None:
            weight = weight / weight.mean() if weight.any() else np.ones(len(weight))
        return replace(data.take(rows), y=self.grade[found], sample_weight=weight, judged=None)

    def write(
        self,
        path: str | Path,
        format: Literal["csv", "trec", "opensearch", "elasticsearch", "ranklib"] = "csv",
        *,
        index: str = "documents",
    ) -> None:
        """Write a file of judgements.

        Parameters
        ----------
        path : path
        format : {"csv", "trec", "opensearch", "elasticsearch", "ranklib"}
            "csv": all columns, with weights and intervals. "trec": qrels. "opensearch": body of a
            request that imports judgements to the Search Relevance Workbench. "elasticsearch":
            requests of a ranking evaluation. "ranklib": lines ``grade qid:number # document``, as
            the tools of LTR plugins read them; comments at the top name the queries. "trec" and the
            last two need whole grades.
        index : str
            Name of the index, for "elasticsearch".

        Raises
        ------
        ValueError
            If grades are not whole, or ``format`` is unknown.
        """
        check_choice("format", format, FORMATS)
        if format == "csv":
            write_table(path, {name: getattr(self, column) for name, column in TABLE.items()})
            return
        if format == "trec":
            write_qrels(self.to_qrels(), path)
            return
        grade = self.grade if format == "opensearch" else self.to_qrels().relevance
        body = BODIES[format](self.qid, self.doc_ids, grade, index)
        write_file(path, body.encode("utf-8"))


@names_its_class
def judgements(
    log: ClickLog,
    method: Method = "ctr",
    *,
    propensities: Any = None,
    shrinkage: float | Literal["fit"] | None = None,
    grades: int | None = None,
    thresholds: Sequence[float] | None = None,
    certainty: float = 0.5,
    confidence_level: float = 0.95,
) -> Judgements:
    """Judge every pair of query and document that the log shows.

    Parameters
    ----------
    log : ClickLog
    method : {"ctr", "coec", "harvest", "ips", "pbm", "ubm", "sdbn", "dbn"}
        Definition of the grade of a pair with C clicks in n impressions, n_k of them at position k:

        - "ctr": click rate. E = n; the prior is a beta distribution (beta-binomial);
        - "coec": clicks over expected clicks. E = sum_k n_k times the click rate of all impressions
          at k; the prior is a gamma distribution (gamma-Poisson) (Zhang & Jones 2007);
        - "harvest": clicks over expected examinations, E = sum_k n_k g_k with the examination g of
          each position; the same prior. This maximises the position-based likelihood for Poisson
          clicks, given g. Clicks on n impressions vary less than Poisson clicks. C and E are
          therefore divided by 1 - r (sum_k n_k g_k^2) / E, with the rate r of all pairs. This
          changes weights, shrinkage and intervals, but no raw rate;
        - "ips": mean of click / g_k, with the examination g of each position (Joachims et al.
          2017); the prior is normal with precision kappa. Intervals are those of raw rates, for
          Poisson clicks with the same mean and variance. Weights assume the same clicks and a gamma
          prior;
        - "pbm", "ubm", "sdbn", "dbn": ``attractiveness_`` of the :class:`ClickModel` with
          ``prior=(0.2, 1.0)``.
    propensities : Propensities or array-like of shape (n_places,), optional
        Examination g by position, for "harvest" and "ips". None: ``propensities(log, "harvest")``.
    shrinkage : float >= 0, "fit" or None
        Strength kappa of a prior that moves grades towards the mean mu:
        ``(C + kappa mu) / (E + kappa)``. 0: raw rates. "fit": mu and kappa by maximum marginal
        likelihood. None: 0 for "ctr", otherwise "fit". For click rates, a common prior is
        misleading, because pairs that were rarely shown are mostly bad (:doc:`/click_estimates`).
        Weights come from the fitted prior, or from kappa if it is a number > 0 (not for "ips").
        With "fit", intervals of "ctr", "coec" and "harvest" have separate priors for up to 16
        groups of pairs, by how often and how high the logging system showed them. They average
        over the strengths and means that are compatible with the clicks of the group, with flat
        priors for the variance and the mean of the rates (Christiansen & Morris 1997). They are
        widened to contain the grade, whose prior is that of all pairs. For pairs without a click,
        they begin at 0.
    grades : int >= 2, optional
        Number of integer grades, from 0. A pair gets the number of thresholds that its real-valued
        grade exceeds. A pair that was never clicked has grade 0.
    thresholds : sequence of float, optional
        ``grades - 1`` ascending thresholds. None: pairs are sorted by their real-valued grade,
        those without a click first, and each grade gets an equal part of the remaining pairs. Equal
        values and pairs without a click stay together. With fewer distinct values than grades,
        the highest grades are not used.
    certainty : float in (0, 1)
        Above 0.5, the rate must also exceed a threshold with this probability, so that pairs with
        few impressions get lower grades. Below 0.5, this probability alone is sufficient.
    confidence_level : float in (0, 1)
        Coverage of the intervals.

    Returns
    -------
    Judgements
        Pairs in the order of the log.

    Raises
    ------
    ValueError
        If a parameter is out of range, nothing was clicked, or the log cannot support the method.

    Notes
    -----
    Impressions are treated as independent. If one user has many of them, ``notes`` say so. No
    method adds information to a log: "ctr" prefers documents that were shown at the top, and the
    other methods are valid only if their model of users is (:doc:`/clicks_explained`).

    Examples
    --------
    >>> from rankwise.clicks import ClickLog, judgements
    >>> log = ClickLog.from_columns(
    ...     ["tea"] * 6, ["a", "a", "a", "a", "b", "b"], [1] * 6, [1, 1, 1, 0, 0, 0]
    ... )
    >>> judged = judgements(log, shrinkage=2.0)
    >>> judged.grade.round(3).tolist(), judged.weight.round(3).tolist()
    ([0.64, 0.21], [0.667, 0.5])
    """
    check_level(confidence_level)
    if shrinkage is None:
        shrinkage = 0.0 if method == "ctr" else "fit"
    _check_parameters(method, shrinkage, grades, thresholds, certainty)
    cells = count_cells(log)
    if not cells.clicks.any():
        raise ValueError("the log holds no click, so it judges nothing. Collect more of it.")
    n_pairs = len(log.pairs.query)
    n = np.bincount(cells.pair, cells.n, n_pairs)
    clicks = np.bincount(cells.pair, cells.clicks, n_pairs)
    notes: list[str] = []
    posterior = _fit_posterior(log, cells, n, clicks, method, propensities, shrinkage, notes)
    if log.user is not None:
        share = np.bincount(log.user.codes, log.counts).max() / log.counts.sum()
        if share >= HEAVY_SHARE:
            notes.append(
                f"one user has {share:.0%} of the impressions; intervals take impressions as "
                "independent and are too short"
            )
    # Where the likelihood is flat, the fitted strength is any large number.
    if method in ("ctr", "coec", "harvest") and posterior.weight.max() < LEAST_WEIGHT:
        notes.append("the log shows no difference between pairs beyond chance")
    seen = n > 0
    if not seen.all():
        notes.append(f"{int((~seen).sum())} pairs have weight 0 and are left out")
    grade = posterior.mean
    if grades is not None:
        grade = cut_grades(posterior, clicks > 0, grades, thresholds, certainty)
    tail = (1 - confidence_level) / 2
    # No prior rules out a rate of 0 where nobody clicked. A pair that was always clicked has its
    # rate at the end of its interval.
    low = np.where(clicks > 0, np.minimum(posterior.quantile(tail), posterior.mean), 0.0)
    high = np.maximum(posterior.quantile(1 - tail), posterior.mean)
    columns = (grade, posterior.weight, low, high)
    return Judgements(
        log.query.names[log.pairs.query[seen]],
        log.document.names[log.pairs.document[seen]],
        *(np.asarray(column, dtype=np.float64)[seen] for column in (*columns, n, clicks)),
        method=method,
        confidence_level=confidence_level,
        mu=posterior.mu,
        kappa=posterior.trust,
        notes=notes,
    )


def read_judgements(path: str | Path) -> Judgements:
    """Read graded judgements of search engines, of Quepid, or of :meth:`Judgements.write`.

    Parameters
    ----------
    path : path
        JSON with ``judgmentRatings`` (OpenSearch's Search Relevance Workbench) or ``requests``
        (Elasticsearch's ranking evaluation); CSV with columns query, docid and rating (Quepid) or
        qid, doc_id and grade, with weight, low, high, impressions and clicks if they are there.

    Returns
    -------
    Judgements
        Where the file does not say otherwise, weights are 1, and the intervals are the grades.

    Raises
    ------
    ValueError
        If the file has another format, a rating is not a number, or a pair is judged twice.
    """
    path = Path(path)
    with name_file_in_errors(path):
        text = read_text(path).decode("utf-8-sig")
    is_json = text.lstrip().startswith(("{", "["))
    names, rows = (["grade"], _of_json(path, text)) if is_json else _of_csv(path)
    if not rows:
        raise ValueError(f"{path} holds no judgement.")
    qid = id_array([row[0] for row in rows], f"{path}: query")
    doc_ids = id_array([row[1] for row in rows], f"{path}: document")
    for ids in (qid, doc_ids):
        warn_of_missing_words(ids.tolist(), str(path))
    check_distinct(qid, doc_ids, f"{path}, judgement {{}}".format)
    numbers = {
        name: np.array([_rating(path, i, name, row[k]) for i, row in enumerate(rows)])
        for k, name in enumerate(names, 2)
    }
    ones = np.ones(len(qid))
    columns: dict[str, Any] = {"weight": ones, "impressions": 0 * ones, "clicks": 0 * ones}
    columns |= dict.fromkeys(("low", "high"), numbers["grade"]) | numbers
    return Judgements(qid, doc_ids, **columns, method="given")


def _check_parameters(
    method: str, shrinkage: Any, grades: int | None, thresholds: Any, certainty: float
) -> None:
    check_choice("method", method, METHODS)
    if shrinkage != "fit" and not (isinstance(shrinkage, int | float) and 0 <= shrinkage < np.inf):
        raise ValueError(f"shrinkage must be a number >= 0 or 'fit', got {shrinkage!r}.")
    if grades is not None:
        check_whole("grades", grades, 2)
    if thresholds is not None:
        given = np.asarray(thresholds, dtype=np.float64)
        if grades is None or given.shape != (grades - 1,) or not (np.diff(given) > 0).all():
            raise ValueError(
                f"thresholds must be grades - 1 ascending numbers, got {thresholds!r} for "
                f"grades={grades!r}."
            )
    check_share("certainty", certainty)


def _fit_posterior(
    log: ClickLog,
    cells: Cells,
    n: Float64Array,
    clicks: Float64Array,
    method: str,
    propensities: Any,
    shrinkage: Any,
    notes: list[str],
) -> Posterior:
    """Rates of all pairs by a method; ``n`` and ``clicks`` are the counts of each pair."""
    shown = np.maximum(np.bincount(cells.slot, cells.n), 1e-300)
    rate = (np.bincount(cells.slot, cells.clicks) / shown)[cells.slot]  # of the place
    expected = np.bincount(cells.pair, cells.n * rate, len(n))
    strata = None
    if shrinkage == "fit":
        strata = _split_by_showing(expected / lists_of_queries(log, cells), clicks)
    if method == "ctr":
        return _conjugate(BetaPosterior, fit_beta_binomial, clicks, n, shrinkage, strata)
    if method in ("coec", "harvest"):
        looked = rate if method == "coec" else examination_of(log, propensities)[cells.slot]
        exposure, squares = (np.bincount(cells.pair, cells.n * looked**k, len(n)) for k in (1, 2))
        return _conjugate(
            GammaPosterior, fit_gamma_poisson, clicks, exposure, shrinkage, strata, squares,
            scaled=method == "harvest",
        )  # fmt: skip
    if method == "ips":
        return _ips(log, cells, n, propensities, shrinkage, notes)
    # A prior fitted to all pairs predicts clicks better, but moves rare pairs above mediocre ones.
    model = ClickModel(method, prior=WEAK_PRIOR).fit(log)  # type: ignore[arg-type]
    notes += model.notes_
    estimate, se = model.attractiveness_, model.attractiveness_se_
    # The prior of the model has moved the estimates already.
    return NormalPosterior(estimate, se, *fit_normal(estimate, se), 0.0)


def _conjugate(
    posterior: Any,
    fit: Any,
    clicks: Float64Array,
    exposure: Float64Array,
    shrinkage: Any,
    strata: list[Int64Array] | None,
    squares: Float64Array | None = None,
    *,
    scaled: bool = False,
) -> Any:
    """Posterior of rates; ``scaled`` also moves rates as much as scaled clicks would.

    ``squares`` are sums of squared exposures of single impressions. At rate r, clicks have the
    variance r (exposure - r squares), less than Poisson clicks have: that of Poisson clicks which
    count for less than one each.
    """

    def count_each(rows: Any) -> Any:
        if squares is None:
            return 1.0
        rate = clicks[rows].sum() / max(exposure[rows].sum(), 1e-300)
        share = np.zeros(len(exposure[rows]))
        np.divide(rate * squares[rows], exposure[rows], out=share, where=exposure[rows] > 0)
        return 1.0 - np.minimum(share, MOST_CERTAIN)

    each = count_each(slice(None)) if scaled else 1.0
    mu, fitted = fit(clicks / each, exposure / each)
    moments = None
    if strata is not None:
        moments = np.empty((2, len(clicks)))
        for rows in strata:
            each_row = count_each(rows)
            counts = clicks[rows] / each_row, exposure[rows] / each_row
            moments[:, rows] = average_strengths(
                *counts,
                fit(*counts)[1],
                binomial=posterior is BetaPosterior,
                most_pairs=MOST_PAIRS // len(strata),
            )
    return posterior(clicks, exposure, mu, *_strengths(fitted, shrinkage), moments, each)


def lists_of_queries(log: ClickLog, cells: Cells) -> Float64Array:
    """Number of lists of the query of each pair: impressions at its place that was shown most."""
    n_places = int(cells.slot.max()) + 1
    query = log.pairs.query[cells.pair].astype(np.int64) * n_places + cells.slot
    at_place = np.bincount(query, cells.n, len(log.query) * n_places)
    return np.maximum(at_place.reshape(-1, n_places).max(axis=1), 1e-300)[log.pairs.query]


def _split_by_showing(shown: Float64Array, clicks: Float64Array) -> list[Int64Array]:
    """Groups of pairs that the logging system showed alike; each has some clicks.

    A good system shows good documents more often and higher: one prior for all pairs would hold
    what it hardly shows to be as good as what it likes.
    """
    order = np.argsort(shown, kind="stable")
    ranked, total = shown[order], np.r_[0.0, np.cumsum(clicks[order])]
    n_strata = int(np.clip(total[-1] // LEAST_CLICKS, 1, MOST_STRATA))
    ends = [0]
    for share in range(1, n_strata):
        end = int(np.searchsorted(ranked, ranked[share * len(order) // n_strata]))
        if min(total[end] - total[ends[-1]], total[-1] - total[end]) >= LEAST_CLICKS:
            ends.append(end)
    return np.split(order, ends[1:])


def _strengths(fitted: float, shrinkage: Any) -> tuple[float, float]:
    """Strength of the prior behind the weights, and of the shrinkage."""
    if shrinkage == "fit":
        return fitted, fitted
    return (float(shrinkage), float(shrinkage)) if shrinkage > 0 else (fitted, 0.0)


def _ips(
    log: ClickLog, cells: Cells, n: Float64Array, given: Any, shrinkage: Any, notes: list[str]
) -> WeightedClicksPosterior:
    """Mean of click / examination, with the binomial variance at a smoothed rate."""
    g = examination_of(log, given)[cells.slot]
    if (g <= 0).any():
        place = int(cells.slot[np.argmax(g <= 0)]) + 1
        why = ", from the log, which has no click there. Pass propensities, or keep other places"
        why *= given is None
        raise ValueError(f"propensities must be > 0, got 0 at place {place}{why}.")
    g = np.maximum(g, 1e-60)  # squares of its inverse are still numbers
    total = np.maximum(n, 1e-300)
    value = np.bincount(cells.pair, cells.clicks / g, len(n)) / total
    mean = float((value * n).sum() / n.sum())
    # One impression at the mean keeps the variance of pairs without clicks above 0.
    smooth = ((value * n + mean) / (n + 1))[cells.pair]
    variance = cells.n * np.maximum(smooth / g - smooth**2, 0.0)
    se = np.sqrt(np.bincount(cells.pair, variance, len(n))) / total
    mu, fitted = fit_normal(value, se)
    # At rate r, the sum of n terms has mean n r and variance sum(n_k r / g_k): that of Poisson
    # clicks which weigh sum(n_k / g_k) / n each.
    exposure = total**2 / np.maximum(np.bincount(cells.pair, cells.n / g, len(n)), 1e-300)
    least = float(g.min())
    if least < 0.05:
        notes.append(f"clicks weigh up to {1 / least:.0f} impressions: examination {least:.3f}")
    strength = fit_gamma_poisson(value * exposure, exposure)[1]
    return WeightedClicksPosterior(
        value, se, mu, *_strengths(fitted, shrinkage), exposure, strength
    )


# Columns of a table with one row per judgement, from attributes of Judgements.
TABLE = {
    "qid": "qid", "doc_id": "doc_ids", "grade": "grade", "weight": "weight", "low": "low",
    "high": "high", "impressions": "impressions", "clicks": "clicks",
}  # fmt: skip
DOCUMENT_KEYS = ("docId", "docid", "doc_id", "id")


def write_table(path: str | Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write columns as CSV; numbers keep all their digits."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    with open_to_write(path) as stream:
        stream.write(text.getvalue().encode("utf-8"))


def _by_query(qid: NDArray[Any]) -> dict[str, NDArray[np.int64]]:
    """Rows of each query, queries in order of their first row."""
    groups = QueryGroups.from_qid(qid, len(qid))
    return {str(query): groups.rows([i]) for i, query in enumerate(groups.ids.tolist())}


def _opensearch(qid: Any, doc_ids: Any, grade: Any, _: str) -> str:
    """Body of a request that imports judgements to the Search Relevance Workbench."""
    ratings = [
        {
            "query": query,
            "ratings": [{"docId": str(doc_ids[r]), "rating": f"{grade[r]:.6g}"} for r in rows],
        }
        for query, rows in _by_query(qid).items()
    ]
    body = {"name": "clicks", "description": "Judgements from clicks", "type": "IMPORT_JUDGMENT"}
    return _json(body | {"judgmentRatings": ratings})


def _elasticsearch(qid: Any, doc_ids: Any, grade: Any, index: str) -> str:
    """Requests of a ranking evaluation, without their queries."""
    requests = [
        {
            "id": query,
            "ratings": [
                {"_index": index, "_id": str(doc_ids[r]), "rating": int(grade[r])} for r in rows
            ],
        }
        for query, rows in _by_query(qid).items()
    ]
    return _json({"requests": requests})


def _ranklib(qid: Any, doc_ids: Any, grade: Any, _: str) -> str:
    """Lines ``grade qid:number # document``; comments at the top name the queries."""
    groups = _by_query(qid)
    for text in (*groups, *doc_ids.tolist()):
        if "\n" in text or "\r" in text:
            raise ValueError(f"format 'ranklib' has no place for line ends, got {text!r}.")
    head = [f"# qid:{number}: {query}" for number, query in enumerate(groups, 1)]
    lines = [
        f"{grade[r]} qid:{number} # {doc_ids[r]}"
        for number, rows in enumerate(groups.values(), 1)
        for r in rows
    ]
    return "\n".join([*head, "", *lines]) + "\n"


def _json(body: Any) -> str:
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


BODIES: dict[str, Any] = {
    "opensearch": _opensearch,
    "elasticsearch": _elasticsearch,
    "ranklib": _ranklib,
}


def _of_json(path: Path, text: str) -> list[tuple[Any, ...]]:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON ({error}).") from None
    # Requests of Elasticsearch's ranking evaluation, or judgements of OpenSearch.
    is_requests = isinstance(body, dict) and "requests" in body
    key = "requests" if is_requests else "judgmentRatings"
    names = ("id", "_id") if is_requests else ("query", "docId")
    queries: Any = body.get(key, ()) if isinstance(body, dict) else body
    try:
        if not queries:
            raise KeyError(key)
        return [
            (query[names[0]], rating[names[1]], rating["rating"])
            for query in queries
            for rating in query["ratings"]
        ]
    except (TypeError, KeyError) as error:
        raise ValueError(
            f"{path} must hold judgmentRatings: a list of objects with query and ratings, each "
            "with docId and rating; or requests of objects with id and ratings, each with _id and "
            f"rating; {error} is missing or of another type."
        ) from None


def _of_csv(path: Path) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Names of the columns of numbers, and rows of query, document and these numbers."""
    file = DelimitedFile.of(path, ",", MAX_DECOMPRESSED_BYTES)
    with file.name_in_errors():
        names = file.header
    document = next((name for name in DOCUMENT_KEYS if name in names), None)
    if {"qid", "doc_id", "grade"} <= set(names):
        numbers = [name for name in TABLE if name in names and name not in ("qid", "doc_id")]
        chosen = ["qid", "doc_id", *numbers]
    elif document is not None and {"query", "rating"} <= set(names):
        numbers, chosen = ["grade"], ["query", document, "rating"]
    else:
        raise ValueError(
            f"{path} must have the columns query, docid and rating, or qid, doc_id and grade, got "
            f"{', '.join(names)}."
        )
    table = read_cells(file)
    places = [names.index(name) for name in chosen]
    ids = [table.texts(place).tolist() for place in places[:2]]
    values = [[cell.decode(errors="replace") for cell in table.columns[k]] for k in places[2:]]
    return numbers, list(zip(*ids, *values, strict=True))


def _rating(path: Path, number: int, name: str, value: Any) -> float:
    try:
        rating = float(value)
    except (TypeError, ValueError):
        rating = math.nan
    # A document at places without clicks has no upper bound.
    if math.isnan(rating) or (math.isinf(rating) and name != "high"):
        what = "rating" if name == "grade" else name
        raise ValueError(f"{path}, judgement {number}: {what} must be a number, got {value!r}.")
    return rating
