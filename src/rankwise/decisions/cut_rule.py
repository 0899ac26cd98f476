"""How many results to show: a threshold for lists, with a promise about what is shown or lost."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.data import RankingData
from rankwise.decisions.decision_file import (
    Amount,
    Check,
    DecisionReport,
    DecisionRule,
    Share,
    numbers_by_name,
    or_none,
    word,
)
from rankwise.decisions.list_cuts import (
    DIGITS,
    MODEL_COLUMNS,
    POLICIES,
    JudgedCuts,
    ListCuts,
    fit_probability,
    measure_cuts,
    ranks_of,
    stop_values,
)
from rankwise.decisions.risk_bounds import conformal_risk, mean_risk_p_value
from rankwise.decisions.scored_lists import ScoredLists, list_scores
from rankwise.metrics.statistics.stratified import check_level
from rankwise.runtime.constraints import make_generator
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import ArgumentError, check_choice, check_share
from rankwise.runtime.result import Result, ResultColumns, ResultList
from rankwise.typing import Float64Array, Int64Array, Seed

MEASURES = ("recall", "nDCG", "precision")
# Share of the queries that choose the policy, and the fewest of them that may.
_CHOICE_SHARE, _FEWEST_TO_CHOOSE = 0.3, 90
# Share of 1 - confidence_level that fixed k has if other policies are considered.
_FIXED_SHARE = 0.9
_N_RESAMPLES = 400
# Share of the resamples in which a better policy may be no better than fixed k.
_NOISE = 0.02
# Largest number of judged queries to ask for.
_MOST_QUERIES = 10**7
# Rows are shown if their stop value is at most the threshold; these thresholds are shown negated.
_SIGNS = {"score_floor": -1.0, "standardized": -1.0}


class _Plan(NamedTuple):
    """Policy, the queries that test its thresholds, and the level of the tests."""

    policy: str
    tested: Int64Array
    level: float


@dataclass(frozen=True)
class CutReport(DecisionReport):
    """What the judged queries say about a fitted :class:`CutRule`.

    Attributes
    ----------
    measure : str
    at_least : float
        Promised mean of the measure.
    confidence_level : float or None
        None: the promise is about the mean over draws of the judged queries.
    policy : str
        Policy in use.
    threshold : float or None
        None if the promise cannot be kept.
    n_queries : int
        Judged queries that count: for recall and nDCG, those with a relevant document.
    n_tested : int
        Queries that set the threshold.
    value : float
        Mean of the measure over these queries, if their lists are cut.
    whole : float
        The same if they are not cut.
    n_shown : float
        Mean number of documents that are shown for these queries.
    n_listed : float
        Mean number of documents in their lists.
    kept : float or None
        Mean recall of what is shown, over the tested queries with a relevant document.
    n_queries_needed : int or None
        Fewest judged queries that keep the promise, if losses stay as they are; None if no number
        would do.
    shown_with_twice : float or None
        ``n_shown`` with twice as many judged queries, if losses stay as they are.
    notes : list of str
    """

    measure: Annotated[Any, word(*MEASURES)]
    at_least: Share
    confidence_level: Share | None
    policy: Annotated[Any, word(*POLICIES)]
    threshold: float | None
    n_queries: int
    n_tested: int
    value: Share
    whole: Share
    n_shown: Amount
    n_listed: Amount
    kept: Share | None
    n_queries_needed: int | None
    shown_with_twice: Amount | None
    notes: list[str]

    def _verdict(self) -> list[str]:
        level = self.confidence_level
        how = "on average" if level is None else f"confidence {100 * level:.3g} %"
        lines = [f"Promise: mean {self.measure} of at least {self.at_least:g} ({how})."]
        value = f"{self.measure} {self.value:.3f} on {self.n_tested:,} queries"
        shown = f"Shown: {self.n_shown:.1f} of {self.n_listed:.1f} documents per query"
        if self.threshold is None:
            what = "top documents" if self.measure == "precision" else "whole lists"
            lines.append(
                f"{self.n_queries:,} judged queries cannot keep it: the rule shows {what}."
            )
            lines.append(
                f"It takes at least {self.n_queries_needed:,}, if losses stay as they are."
                if self.n_queries_needed is not None
                else f"Nor can more of them: {what} have {value}. Promise less."
            )
            return [*lines, f"{shown}."]
        lines.append(f"Policy: {_RULES[self.policy].format(self.threshold)}.")
        lines.append(f"Judged: {value} (whole lists: {self.whole:.3f}).")
        kept = "" if self.kept is None else f", {100 * self.kept:.1f} % of the relevant ones"
        lines.append(f"{shown}{kept}.")
        if self.shown_with_twice is not None:
            lines.append(f"More judgements: twice as many would show {self.shown_with_twice:.1f}.")
        return lines


_RULES = {
    "fixed_k": "show the first {:.0f} documents",
    "score_floor": "show scores of at least {:.4g}",
    "below_top": "show scores at most {:.4g} below the top score of the list",
    "standardized": "show scores at least {:.4g} standard deviations above the mean of the list",
    "probability": "show documents until their share of the expected relevant ones is {:.4g}",
}


@dataclass(frozen=True)
class PolicyCost(Result):
    """Cost of a policy on the queries that choose one.

    Attributes
    ----------
    policy : str
    cost : float
        Documents shown per query; for precision, share of the relevant documents lost.
    difference : float
        Minus the cost of fixed k.
    low, high : float
        Interval of the difference, from resampled queries.
    """

    policy: str
    cost: float
    difference: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class CutDecisions(Result):
    """Decisions of :meth:`CutRule.decide`.

    Attributes
    ----------
    qid : ndarray of shape (n_queries,)
        In order of first appearance.
    n_shown : ndarray of shape (n_queries,), int64
        Documents to show, from the top of the list.
    n_listed : ndarray of shape (n_queries,), int64
        Documents in the list.
    shown : ndarray of shape (n_rows,), bool
        Which of the rows that were passed are shown.
    """

    qid: NDArray[Any]
    n_shown: Int64Array
    n_listed: Int64Array
    shown: NDArray[np.bool_]

    def _columns(self) -> dict[str, Any]:
        return {"qid": self.qid, "n_shown": self.n_shown, "n_listed": self.n_listed}


@names_its_class
class CutRule(DecisionRule):
    """Show so many results of each list that a mean of recall, nDCG or precision is kept.

    Parameters
    ----------
    measure : {"recall", "nDCG", "precision"}
        Measure of what is shown. "recall": share of the relevant documents. "nDCG": DCG of what is
        shown, divided by that of all judged documents in the best order. Both count documents
        outside of the list as not shown, and the rule shows as few documents as it can.
        "precision": share of the shown documents that is relevant; the rule shows as many as it
        can.
    at_least : float in (0, 1)
        Promised mean over queries.
    confidence_level : float in (0, 1) or None, default=0.95
        Probability, over draws of the judged queries, that the true mean is at least ``at_least``.
        None: the promise is kept on average over these draws only (conformal risk control). This
        shows fewer documents, and the true mean is too low in about half of the draws. Not for
        precision.
    policy : {"auto", "fixed_k", "score_floor", "below_top", "standardized", "probability"}
        What is compared with the threshold:

        - "fixed_k": the rank;
        - "score_floor": the score;
        - "below_top": how far the score is below the highest one of the list;
        - "standardized": the score minus the mean of the list, divided by the deviation;
        - "probability": the share of the expected relevant documents that are above, or for
          "precision" the expected precision, by a logistic regression on a part of the queries;
        - "auto": fixed k, unless another policy is significantly better on a part of the queries.
          With fewer than about 300 judged queries, fixed k.
    rel : float
        Lowest grade of a relevant document.
    random_state : int, RandomState, Generator or None
        Seed for the split of the judged queries.

    Attributes
    ----------
    threshold_ : float
        Threshold of the policy; infinite if the promise cannot be kept and whole lists are shown.
    policy_ : str
        Policy in use.
    risk_ : float
        1 minus the mean of the measure over the judged queries that set the threshold.
    n_queries_needed_ : int or None
        Fewest judged queries that keep the promise, if losses stay as they are. None: no number
        would do, since whole lists (for precision, top documents) do not reach ``at_least``.
    policies_ : ResultList of PolicyCost
        Policies compared; empty if the policy was given, or there were too few queries.
    report_ : CutReport
        All counts; printed with the rule.

    Raises
    ------
    ValueError
        If a parameter breaks its rule.

    Notes
    -----
    At least one document of each list is shown. Whether to show any is the question of
    :class:`AnswerRule`.

    Let L(t) be 1 minus the measure of a query for threshold t. For recall and nDCG, L does not grow
    with what is shown. The rule takes the lowest threshold for which a test rejects that the mean
    of L is above ``1 - at_least`` [2]_. The p-value is that of Gaffke [3]_: the binomial one for
    losses of 0 and 1. For other losses its validity is a conjecture [4]_ to which no exception is
    known. Without ``confidence_level``, the threshold is the lowest one with
    ``(sum L + 1) / (n + 1) <= 1 - at_least`` [1]_. Precision may rise and fall with what is shown.
    Its thresholds are fixed before the tests, and tested from the strictest one on until one fails,
    so that all tests together have the level of one (fixed-sequence testing [5]_).

    "auto" compares the policies on 30 % of the queries, with thresholds as strict as the final
    ones, and takes the best one if it is better than fixed k in 98 % of the resamples. Fixed k
    is tested on all queries at ``0.9 (1 - confidence_level)``, the other policy on the other
    queries at ``0.1 (1 - confidence_level)``, so that both promises are kept with
    ``confidence_level`` (Bonferroni).

    All of this holds for queries that are exchangeable with the judged ones, and for no others:
    :func:`rankwise.selection.find_drift` watches :meth:`list_features`. Unjudged documents count as
    not relevant.

    A fit takes O(N log N) time and O(N) memory for N rows.

    References
    ----------
    .. [1] A. N. Angelopoulos, S. Bates, A. Fisch, L. Lei, T. Schuster, "Conformal risk control",
       arXiv:2208.02814 (2022).
    .. [2] S. Bates, A. Angelopoulos, L. Lei, J. Malik, M. Jordan, "Distribution-free,
       risk-controlling prediction sets", Journal of the ACM 68 (2021).
    .. [3] N. Gaffke, "Three test statistics for a nonparametric one-sided hypothesis on the mean of
       a nonnegative variable", Mathematical Methods of Statistics 14 (2005).
    .. [4] E. Learned-Miller, P. S. Thomas, "A new confidence interval for the mean of a bounded
       random variable", arXiv:1905.06208 (2019).
    .. [5] A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan, L. Lei, "Learn then test:
       calibrating predictive algorithms to achieve risk control", arXiv:2110.01052 (2021).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> qid = np.repeat(np.arange(200), 20)
    >>> y = rng.random(4000) < 0.1
    >>> scores = 2.0 * y + rng.normal(size=4000)
    >>> rule = CutRule("recall", at_least=0.8, policy="fixed_k").fit(scores, y, qid)
    >>> print(rule)
    Promise: mean recall of at least 0.8 (confidence 95 %).
    Policy: show the first 5 documents.
    Judged: recall 0.838 on 177 queries (whole lists: 1.000).
    Shown: 5.0 of 20.0 documents per query, 83.8 % of the relevant ones.
    More judgements: twice as many would show 5.0.
    note: unjudged documents count as not relevant
    note: queries without a relevant document, which do not count: 23
    >>> rule.decide([0.3, 2.5, 1.1], qid=["a", "a", "a"]).n_shown
    array([3])
    """

    kind: ClassVar[str] = "cut"
    _report_type = CutReport
    _fields: ClassVar[Mapping[str, Check]] = {"coefficients": or_none(numbers_by_name)}

    def __init__(
        self,
        measure: Literal["recall", "nDCG", "precision"] = "recall",
        at_least: float = 0.9,
        confidence_level: float | None = 0.95,
        *,
        policy: Literal[
            "auto", "fixed_k", "score_floor", "below_top", "standardized", "probability"
        ] = "auto",
        rel: float = 1.0,
        random_state: Seed = 0,
    ) -> None:
        check_choice("measure", measure, MEASURES)
        check_share("at_least", at_least)
        if confidence_level is not None:
            check_level(confidence_level)
        elif measure == "precision":
            raise ArgumentError(
                "confidence_level",
                "must be a number for precision, which may rise and fall with what is shown, got "
                "None. Write 0.95 for 95 %.",
            )
        self._set_common(policy, ("auto", *POLICIES), rel)
        self.measure = measure
        self.at_least = at_least
        self.confidence_level = confidence_level
        self.random_state = random_state

    def fit(self, scores: Any, y: Any = None, qid: Any = None) -> Self:
        """Set the threshold from judged queries.

        Parameters
        ----------
        scores, y, qid
            See :func:`list_scores`. Judgements are needed.

        Returns
        -------
        Self

        Raises
        ------
        ValueError
            If nothing is judged, no query has a relevant document, or scores are not finite.

        Notes
        -----
        If the promise cannot be kept with these queries, the fitted rule shows whole lists (for
        precision, top documents), and ``n_queries_needed_`` says how many it takes at least.
        """
        lists = list_scores(scores, y, qid)
        if lists.y is None:
            raise ArgumentError("y", "must give judgements, got none. Pass grades or qrels.")
        values, recall = (measure_cuts(lists, name, self.rel) for name in (self.measure, "recall"))
        queries = np.flatnonzero(~np.isnan(values[lists.indptr[:-1]]))
        if np.isnan(recall).all():
            raise ValueError(
                f"no query has a document of grade {self.rel:g} or more. Check the ids and rel=…."
            )
        if len(queries) < 2:
            raise ValueError(f"the rule needs 2 judged queries or more, got {len(queries)}.")
        order = make_generator(self.random_state).permutation(queries)
        n_part = max(1, round(_CHOICE_SHARE * len(queries)))
        part, rest = np.sort(order[:n_part]), np.sort(order[n_part:])
        policy, level = self.policy, 1.0 - (self.confidence_level or 0.0)
        if policy == "auto" and (
            n_part < _FEWEST_TO_CHOOSE or not self._passes(np.zeros(len(rest)), level)
        ):
            policy = "fixed_k"
        needs_model = policy in ("auto", "probability")
        coefficients = fit_probability(lists, part, self.rel) if needs_model else None
        judged = JudgedCuts(lists, self.measure, values, recall, queries, part, rest, coefficients)
        plan, compared = _Plan("fixed_k", queries, level), ResultList(PolicyCost)
        if policy == "auto":
            plans = self._plan(judged, level, compared)
        elif policy == "probability" or (self.measure == "precision" and policy != "fixed_k"):
            plans = [_Plan(policy, rest, level)]
        else:
            plans = [plan._replace(policy=policy)]
        found = []
        for entry in plans:
            threshold = self._search(judged, entry)
            if threshold is not None:
                cuts = judged.cuts(entry.policy, rest)
                cost = float(self._cost(cuts, cuts.shown(threshold)).mean())
                found.append((cost, entry, threshold))
        threshold = None
        if found:
            _, plan, threshold = min(found, key=lambda entry: entry[0])
        return self._set(self._report(judged, plan, threshold, level), coefficients, compared)

    def _set(self, report: CutReport, coefficients: Any, compared: ResultList[PolicyCost]) -> Self:
        """Set the attributes of the fitted rule."""
        self.coefficients_, self.policies_ = coefficients, compared
        return self._set_report(report, self._unkept(), 1.0 - report.value)

    def _unkept(self) -> float:
        """Threshold of fixed k if the promise cannot be kept."""
        return 1.0 if self.measure == "precision" else np.inf

    def _passes(self, losses: Float64Array, level: float, times: float = 1.0) -> bool:
        """Whether losses of the tested queries keep the promise; ``times``: if seen so often."""
        at_most = round(1.0 - self.at_least, 12)  # 0.1 for 0.9
        if self.confidence_level is None:
            return conformal_risk(losses, times) <= at_most + 1e-12
        return mean_risk_p_value(losses, at_most, times) <= level

    def _plan(
        self, judged: JudgedCuts, level: float, compared: ResultList[PolicyCost]
    ) -> list[_Plan]:
        """Fixed k, and the policy that is better on a part of the queries; fills ``compared``."""
        strict = (1.0 - _FIXED_SHARE) * level
        plans = {policy: _Plan(policy, judged.rest, strict) for policy in POLICIES}
        if self.confidence_level is not None:
            plans["fixed_k"] = _Plan("fixed_k", judged.queries, _FIXED_SHARE * level)
        n = len(judged.part)
        weights = np.random.default_rng(0).multinomial(n, np.full(n, 1.0 / n), _N_RESAMPLES)
        weights = np.vstack([np.ones(n), weights]) / n
        costs: dict[str, Float64Array] = {}
        for policy, plan in plans.items():
            if policy == "probability":
                cuts = judged.held_out_cuts(judged.part, self.rel)
            else:
                cuts = judged.cuts(policy, judged.part)
            # Losses and costs by threshold and query; thresholds from few documents to many.
            shown = [cuts.shown(threshold) for threshold in cuts.thresholds()]
            losses = np.array([1.0 - cuts.at(cuts.values, counts) for counts in shown])
            cost = np.array([self._cost(cuts, counts) for counts in shown])
            means = weights @ losses.T

            def passes(i: int, losses: Float64Array = losses, plan: _Plan = plan) -> bool:
                return self._passes(losses[i], plan.level, len(plan.tested) / n)

            steps = range(len(losses))
            if self.measure == "precision":
                at = max(sum(1 for _ in takewhile(passes, steps)) - 1, 0)
                target, means = losses[at].mean(), np.maximum.accumulate(means, axis=1)
            else:  # ascending, as np.interp needs them
                at = bisect_left(steps[:-1], True, key=passes)
                target, means = -losses[at].mean(), -means
            costs[policy] = np.array(
                [np.interp(target, a, b) for a, b in zip(means, weights @ cost.T, strict=True)]
            )
        best = "fixed_k"
        for policy, cost in costs.items():
            difference = cost - costs["fixed_k"]
            low, high = np.quantile(difference[1:], [_NOISE, 1.0 - _NOISE]).tolist()
            compared.append(PolicyCost(policy, float(cost[0]), float(difference[0]), low, high))
            if high < 0.0 and cost[0] < costs[best][0]:
                best = policy
        if best == "fixed_k" or self.confidence_level is None:
            return [plans[best]]
        return [plans["fixed_k"], plans[best]]

    def _cost(self, cuts: ListCuts, shown: Int64Array) -> Float64Array:
        """Documents shown; for precision, share of the relevant documents that are not shown."""
        if self.measure == "precision":
            return 1.0 - np.nan_to_num(cuts.at(cuts.recall, shown))
        return shown.astype(np.float64)

    def _search(self, judged: JudgedCuts, plan: _Plan, times: float = 1.0) -> float | None:
        """Threshold that shows the fewest documents, for precision the most; None if none does."""
        cuts = judged.cuts(plan.policy, plan.tested)

        def passes(threshold: float) -> bool:
            losses = 1.0 - cuts.at(cuts.values, cuts.shown(threshold))
            return self._passes(losses, plan.level, times)

        # Computed stop values are rounded. Others are exact, and so are their thresholds.
        margin = 0.5 * 10.0**-DIGITS if plan.policy in ("standardized", "probability") else 0.0
        if self.measure == "precision":
            # Ranks are fixed; other thresholds come from queries that are not tested.
            known = np.unique(cuts.stops)
            if plan.policy != "fixed_k":
                known = judged.cuts(plan.policy, judged.part).thresholds()
            passed = list(takewhile(passes, known.tolist()))
            return passed[-1] + margin if passed else None
        if not passes(np.inf):
            return None
        # Without finite ones all scores of each list are equal, and any threshold shows them.
        known = np.unique(cuts.stops[np.isfinite(cuts.stops)]).tolist() or [0.0]
        at = bisect_left(known[:-1], True, key=passes)
        if plan.policy == "fixed_k" or at + 1 == len(known):
            return known[at] + margin
        return known[at] / 2 + known[at + 1] / 2

    def _report(
        self, judged: JudgedCuts, plan: _Plan, threshold: float | None, level: float
    ) -> CutReport:
        """What the judged queries say; without a threshold, the promise cannot be kept."""
        fixed = judged.cuts("fixed_k", judged.queries)
        least = 1.0 - fixed.at(fixed.values, fixed.shown(self._unkept()))
        cuts = judged.cuts(plan.policy, plan.tested)
        shown = cuts.shown(self._unkept() if threshold is None else threshold)
        kept, listed = cuts.at(cuts.recall, shown), np.diff(cuts.indptr)
        twice = None if threshold is None else self._search(judged, plan, times=2.0)
        notes = ["unjudged documents count as not relevant", *judged.lists.notes]
        if n := len(judged.lists) - len(judged.queries):
            notes.append(f"queries without a relevant document, which do not count: {n:,}")
        return CutReport(
            self.measure,
            self.at_least,
            self.confidence_level,
            plan.policy,
            None if threshold is None else threshold * _SIGNS.get(plan.policy, 1.0),
            n_queries=len(judged.queries),
            n_tested=len(plan.tested),
            value=float(cuts.at(cuts.values, shown).mean()),
            whole=float(cuts.at(cuts.values, listed).mean()),
            n_shown=float(shown.mean()),
            n_listed=float(listed.mean()),
            kept=None if np.isnan(kept).all() else float(np.nanmean(kept)),
            n_queries_needed=self._count_needed(least, level),
            shown_with_twice=None if twice is None else float(cuts.shown(twice).mean()),
            notes=notes,
        )

    def _count_needed(self, losses: Float64Array, level: float) -> int | None:
        """Fewest queries that keep the promise with these smallest losses."""
        if losses.mean() >= 1.0 - self.at_least:
            return None
        counts = range(1, _MOST_QUERIES)
        at = bisect_left(counts, True, key=lambda n: self._passes(losses, level, n / len(losses)))
        return counts[at] if at < len(counts) else None

    def decide(self, scores: Any, qid: Any = None) -> CutDecisions:
        """Count the documents of each list to show.

        Parameters
        ----------
        scores : run, array-like of shape (n_rows,) or fitted ranker
            As in :meth:`fit`.
        qid : array-like of shape (n_rows,), optional
            Query of each row of an array; for a ranker, the RankingData to score.

        Returns
        -------
        CutDecisions
        """
        lists = self._read(scores, qid)
        stops = stop_values(lists, self.policy_, self.measure, self.coefficients_)
        cuts = ListCuts(lists.indptr, stops, stops, stops)
        n_shown = cuts.shown(self.threshold_ * _SIGNS.get(self.policy_, 1.0))
        shown = np.empty(len(stops), dtype=bool)
        shown[lists.order] = ranks_of(lists) <= np.repeat(n_shown, lists.sizes)
        return CutDecisions(lists.qids, n_shown, lists.sizes, shown)

    def list_features(self, scores: Any, qid: Any = None) -> ResultColumns:
        """Features of the lists, to watch with :func:`rankwise.selection.find_drift`.

        Parameters
        ----------
        scores, qid
            As in :meth:`decide`.

        Returns
        -------
        ResultColumns
            One row per list. "size": number of documents; "top": highest score; "mean" and
            "spread": mean and standard deviation of the scores. NaN for an empty list.
        """
        lists = self._read(scores, qid)
        found = [
            (len(s), s[0], s.mean(), s.std()) if len(s := lists.scores[rows]) else [np.nan] * 4
            for rows in lists
        ]
        columns = np.reshape(found, (-1, 4)).T
        return ResultColumns(zip(("size", "top", "mean", "spread"), columns, strict=True))

    def _read(self, scores: Any, qid: Any) -> ScoredLists:
        data, qid = (qid, None) if isinstance(qid, RankingData) else (None, qid)
        return list_scores(scores, data, qid)

    def __repr__(self) -> str:
        given = f"{self.measure!r}, at_least={self.at_least:g}"
        return f"CutRule({given}, confidence_level={self.confidence_level})"

    def _record(self) -> dict[str, Any]:
        found = None
        if self.policy_ == "probability" and self.coefficients_ is not None:
            found = dict(zip(MODEL_COLUMNS, self.coefficients_.tolist(), strict=True))
        return {"coefficients": found}

    @classmethod
    def _restore(cls, record: Mapping[str, Any]) -> Self:
        report, b, rel = record["report"], record["coefficients"], record["rel"]
        by_model = report.policy == "probability"
        given = report.measure, report.at_least, report.confidence_level
        rule = cls(*given, policy=report.policy, rel=rel)
        if (b if b is None else tuple(b)) != (MODEL_COLUMNS if by_model else None):
            raise ValueError(
                f"coefficients must be {', '.join(MODEL_COLUMNS)} for 'probability' only."
            )
        coefficients = None if b is None else np.array(list(b.values()))
        return rule._set(report, coefficients, ResultList(PolicyCost))

    def _source(self) -> str:
        t, is_precision = self.threshold_, self.measure == "precision"
        if self.policy_ == "fixed_k":
            shown = "len(scores)" if np.isinf(t) else f"min(len(scores), {t:.0f})"
            return f"def count_shown(scores):\n    return {shown}\n"
        if self.policy_ == "score_floor":
            body = f"n = sum(score >= {t!r} for score in scores)"
        elif self.policy_ == "below_top":
            body = f"n = sum(scores[0] - score <= {t!r} for score in scores)"
        else:
            body = """\
mean = sum(scores) / len(scores)
    spread = (sum((score - mean) ** 2 for score in scores) / len(scores)) ** 0.5
    """
        if self.policy_ == "standardized":
            body += f"""\
n = sum(score - mean >= {t!r} * spread for score in scores)
    if scores[0] == scores[-1]:
        n = len(scores)"""
        elif self.policy_ == "probability":
            *slopes, intercept = self.coefficients_.tolist()
            stop = "1 - sum(p[:i + 1]) / (i + 1)" if is_precision else "sum(p[:i]) / sum(p)"
            body += f"""\
p, weights = [], {slopes!r}
    for rank, score in enumerate(scores, 1):
        z = (score - mean) / spread if scores[0] > scores[-1] else 0.0
        values = scores[0], score - scores[0], z, rank ** -0.5
        log_odds = {intercept!r} + sum(w * value for w, value in zip(weights, values))
        p.append(1 / (1 + 2.718281828459045 ** -max(-700.0, min(700.0, log_odds))))
    n = sum({stop} <= {t!r} for i in range(len(p)))"""
        return (
            "def count_shown(scores):\n    scores = sorted(scores, reverse=True)\n"
            f"    if not scores:\n        return 0\n    {body}\n    return max(n, 1)\n"
        )

    def _examples(self, rng: np.random.Generator) -> Iterator[tuple[tuple[Any, ...], int]]:
        """Random lists, as arguments, and numbers of documents to show."""
        for n in rng.integers(1, 60, 200).tolist():
            scores = rng.normal(size=n) * 10.0 ** rng.integers(-2, 3)
            scores = np.round(scores) if n % 2 else scores  # some with ties
            found = self.decide(scores, np.zeros(n, dtype=int))
            yield (scores.tolist(),), int(found.n_shown[0])
