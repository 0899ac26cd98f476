"""How many results to show: a threshold for lists, with a promise about what is shown or lost."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.data import RankingData
from rankwise.decisions.decision_file import (
    Check,
    DecisionRule,
    check_fields,
    number,
    numbers_by_name,
    or_none,
    texts,
    whole,
    word,
)
from rankwise.decisions.list_cuts import (
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
from rankwise.runtime.constraints import make_generator
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import ArgumentError, check_choice, check_share, join_lines
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


@dataclass(frozen=True)
class CutReport(Result):
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
        Judged queries that count.
    n_left_out : int
        Judged queries without a relevant document, for which recall and nDCG are not defined.
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
        Judged queries with which the promise can be kept, if losses stay as they are; None if no
        number would do.
    shown_with_twice : float or None
        ``n_shown`` with twice as many judged queries, if losses stay as they are.
    shown_with_four_times : float or None
    notes : list of str
    """

    measure: str
    at_least: float
    confidence_level: float | None
    policy: str
    threshold: float | None
    n_queries: int
    n_left_out: int
    n_tested: int
    value: float
    whole: float
    n_shown: float
    n_listed: float
    kept: float | None
    n_queries_needed: int | None
    shown_with_twice: float | None
    shown_with_four_times: float | None
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
                f"About {self.n_queries_needed:,} would do, if losses stay as they are."
                if self.n_queries_needed is not None
                else f"Nor can more of them: {what} have {value}. Promise less."
            )
            return [*lines, f"{shown}."]
        lines.append(f"Policy: {_RULES[self.policy].format(self.threshold)}.")
        lines.append(f"Judged: {value} (whole lists: {self.whole:.3f}).")
        kept = "" if self.kept is None else f", {100 * self.kept:.1f} % of the relevant ones"
        lines.append(f"{shown}{kept}.")
        if self.shown_with_twice is not None and self.shown_with_four_times is not None:
            lines.append(
                f"More judgements: twice as many would show {self.shown_with_twice:.1f}, four "
                f"times as many {self.shown_with_four_times:.1f}."
            )
        return lines

    def __str__(self) -> str:
        return join_lines([*self._verdict(), *(f"note: {note}" for note in self.notes)])


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
        Judged queries with which the promise can be kept, if losses stay as they are. None: no
        number would do, since whole lists (for precision, top documents) do not reach ``at_least``.
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
    with what is shown. The rule takes the lowest threshold from which on a test rejects that the
    mean of L is above ``1 - at_least`` [2]_. The p-value is that of Gaffke [3]_: exact
    for losses of 0 and 1, where it is the binomial one. For other losses its validity is a
    conjecture [4]_ to which no exception is known; the documentation reports how often promises are
    broken. Without ``confidence_level``, the threshold is the lowest one with
    ``(sum L + 1) / (n + 1) <= 1 - at_least`` [1]_. Precision may rise and fall with what is shown.
    Its thresholds are fixed before the tests, and tested from the strictest one on. The first one
    that fails ends the tests, so that all tests together have the level of one
    (fixed-sequence testing [5]_).

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
    More judgements: twice as many would show 5.0, four times as many 5.0.
    note: unjudged documents count as not relevant
    note: queries without a relevant document, which do not count: 23
    >>> rule.decide([0.3, 2.5, 1.1], qid=["a", "a", "a"]).n_shown
    array([3])
    """

    kind: ClassVar[str] = "cut"
    _fields: ClassVar[Mapping[str, Check]] = {
        "rel": number(),
        "coefficients": or_none(numbers_by_name),
        "report": lambda value: value,
    }
    threshold_: float
    policy_: str
    risk_: float
    n_queries_needed_: int | None
    policies_: ResultList[PolicyCost]
    report_: CutReport

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
            check_share("confidence_level", confidence_level, "Write 0.95 for 95 %.")
        elif measure == "precision":
            raise ArgumentError(
                "confidence_level",
                "must be a number for precision, which may rise and fall with what is shown, got "
                "None. Write 0.95 for 95 %.",
            )
        check_choice("policy", policy, ("auto", *POLICIES))
        if not isinstance(rel, Real) or not np.isfinite(float(rel)):
            raise ArgumentError("rel", f"must be a finite number, got {rel!r}.")
        self.measure = measure
        self.at_least = at_least
        self.confidence_level = confidence_level
        self.policy = policy
        self.rel = float(rel)
        self.random_state = random_state

    def fit(self, scores: Any, y: Any = None, qid: Any = None) -> Self:
        """Set the threshold from judged queries.

        Parameters
        ----------
        scores : run, array-like of shape (n_rows,) or fitted ranker
            See :func:`list_scores`.
        y : judgements, array-like of shape (n_rows,) or RankingData
            For a run, anything that :func:`rankwise.text.read_judgements` takes. For scores, grades
            in the same order. For a ranker, the judged rows.
        qid : array-like of shape (n_rows,), optional
            Query of each row.

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
        precision, top documents), and ``n_queries_needed_`` says how many would do.
        """
        lists = list_scores(scores, y, qid)
        if lists.y is None:
            raise ArgumentError("y", "must give judgements, got none. Pass grades or qrels.")
        values, counts = measure_cuts(lists, self.measure, self.rel)
        recall, has_relevant = measure_cuts(lists, "recall", self.rel)
        queries = np.flatnonzero(counts)
        if not has_relevant.any():
            raise ValueError(
                f"no query has a document of grade {self.rel:g} or more. Check the ids and rel=…."
            )
        if len(queries) < 2:
            raise ValueError(f"the rule needs 2 judged queries or more, got {len(queries)}.")
        order = make_generator(self.random_state).permutation(queries)
        n_part = max(1, round(_CHOICE_SHARE * len(queries)))
        part, rest = np.sort(order[:n_part]), np.sort(order[n_part:])
        level, policy = 1.0 - (self.confidence_level or 0.0), self.policy
        if policy == "auto" and (
            n_part < _FEWEST_TO_CHOOSE or not self._passes(np.zeros(len(rest)), level)
        ):
            policy = "fixed_k"
        self.coefficients_, self.policies_ = None, ResultList(PolicyCost)
        if policy in ("auto", "probability"):
            self.coefficients_ = fit_probability(lists, part, self.rel)
        judged = JudgedCuts(lists, self.measure, values, recall, self.coefficients_)
        if policy == "auto":
            plans = self._plan(judged, part, rest, level)
        else:
            is_given = policy == "fixed_k" or (
                policy != "probability" and self.measure != "precision"
            )
            plans = [_Plan(policy, queries if is_given else rest, level)]
        found = []
        for plan in plans:
            threshold = self._search(judged, plan, part)
            if threshold is not None:
                cost = self._cost(judged.cuts(plan.policy, rest), threshold)
                found.append((float(cost.mean()), plan, threshold))
        if found:
            _, plan, threshold = min(found, key=lambda entry: entry[0])
            more = [self._search(judged, plan, part, times) for times in (2.0, 4.0)]
        else:
            threshold, more = (1.0 if self.measure == "precision" else np.inf), []
            plan = _Plan("fixed_k", queries, level)
        self._report(judged, plan, queries, threshold, more, level)
        return self

    def _passes(self, losses: Float64Array, level: float, times: float = 1.0) -> bool:
        """Whether losses of the tested queries keep the promise; ``times``: if seen so often."""
        at_most = round(1.0 - self.at_least, 12)  # 0.1 for 0.9
        if self.confidence_level is None:
            return conformal_risk(losses, times) <= at_most + 1e-12
        return mean_risk_p_value(losses, at_most, times) <= level

    def _plan(
        self, judged: JudgedCuts, part: Int64Array, rest: Int64Array, level: float
    ) -> list[_Plan]:
        """Fixed k, and the policy that is better on a part of the queries; fills ``policies_``."""
        everything = np.sort(np.append(part, rest))
        strict = (1.0 - _FIXED_SHARE) * level
        plans = {policy: _Plan(policy, rest, strict) for policy in POLICIES}
        if self.confidence_level is not None:
            plans["fixed_k"] = _Plan("fixed_k", everything, _FIXED_SHARE * level)
        n = len(part)
        weights = np.random.default_rng(0).multinomial(n, np.full(n, 1.0 / n), _N_RESAMPLES)
        weights = np.vstack([np.ones(n), weights]) / n
        costs: dict[str, Float64Array] = {}
        for policy, plan in plans.items():
            cuts = judged.cuts(policy, part)
            if policy == "probability":
                cuts = judged.held_out_cuts(part, self.rel)
            # Losses and costs by threshold and query; thresholds from few documents to many.
            shown = [cuts.shown(threshold) for threshold in cuts.thresholds()]
            losses = np.array([1.0 - cuts.at(cuts.values, counts) for counts in shown])
            cost = np.array([self._cost(cuts, counts=counts) for counts in shown])
            means = weights @ losses.T

            def passes(i: int, losses: Float64Array = losses, plan: _Plan = plan) -> bool:
                return self._passes(losses[i], plan.level, len(plan.tested) / n)

            indices = range(len(losses))
            if self.measure == "precision":
                last = next((i for i in indices if not passes(i)), len(losses)) - 1
                target, means = losses[max(last, 0)].mean(), np.maximum.accumulate(means, axis=1)
            else:  # ascending, as np.interp needs them
                first = min(bisect_left(indices, True, key=passes), len(losses) - 1)
                target, means = -losses[first].mean(), -means
            costs[policy] = np.array(
                [np.interp(target, a, b) for a, b in zip(means, weights @ cost.T, strict=True)]
            )
        best = "fixed_k"
        for policy, cost in costs.items():
            difference = cost - costs["fixed_k"]
            low, high = np.quantile(difference[1:], [_NOISE, 1.0 - _NOISE]).tolist()
            row = PolicyCost(policy, float(cost[0]), float(difference[0]), low, high)
            self.policies_.append(row)
            if high < 0.0 and cost[0] < costs[best][0]:
                best = policy
        if best == "fixed_k" or self.confidence_level is None:
            return [plans[best]]
        return [plans["fixed_k"], plans[best]]

    def _cost(
        self, cuts: ListCuts, threshold: float = np.inf, *, counts: Int64Array | None = None
    ) -> Float64Array:
        """Documents shown; for precision, share of the relevant documents that are not shown."""
        counts = cuts.shown(threshold) if counts is None else counts
        if self.measure == "precision":
            return 1.0 - np.nan_to_num(cuts.at(cuts.recall, counts))
        return counts.astype(np.float64)

    def _search(
        self, judged: JudgedCuts, plan: _Plan, part: Int64Array, times: float = 1.0
    ) -> float | None:
        """Threshold that shows the fewest documents, for precision the most; None if none does."""
        cuts = judged.cuts(plan.policy, plan.tested)

        def passes(threshold: float) -> bool:
            losses = 1.0 - cuts.at(cuts.values, cuts.shown(threshold))
            return self._passes(losses, plan.level, times)

        if self.measure == "precision":
            # Ranks are fixed; other thresholds come from queries that are not tested.
            known = np.unique(cuts.stops)
            if plan.policy != "fixed_k":
                known = judged.cuts(plan.policy, part).thresholds()
            last = None
            for threshold in known.tolist():
                if not passes(threshold):
                    break
                last = threshold
            return last
        if not passes(np.inf):
            return None
        # Without finite ones all scores of each list are equal, and any threshold shows them.
        known = np.unique(cuts.stops[np.isfinite(cuts.stops)])
        known = known if len(known) else np.zeros(1)
        low, high = -1, len(known) - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if passes(known[middle]) else (middle, high)
        if plan.policy == "fixed_k" or high + 1 == len(known):
            return float(known[high])
        return float(known[high] / 2 + known[high + 1] / 2)  # against rounding errors

    def _report(
        self,
        judged: JudgedCuts,
        plan: _Plan,
        queries: Int64Array,
        threshold: float,
        more: list[float | None],
        level: float,
    ) -> None:
        """Set the attributes of the fitted rule."""
        cuts = judged.cuts(plan.policy, plan.tested)
        shown = cuts.shown(threshold)
        listed = np.diff(cuts.indptr)
        kept = cuts.at(cuts.recall, shown)
        value = float(cuts.at(cuts.values, shown).mean())
        twice, four_times = (
            None if entry is None else float(cuts.shown(entry).mean())
            for entry in more or (None, None)
        )
        fixed = judged.cuts("fixed_k", queries)
        best = fixed.shown(1.0 if self.measure == "precision" else np.inf)
        n_left_out = len(judged.lists) - len(queries)
        notes = ["unjudged documents count as not relevant", *judged.lists.notes]
        if n_left_out:
            notes.append(f"queries without a relevant document, which do not count: {n_left_out:,}")
        self.policy_, self.risk_ = plan.policy, 1.0 - value
        self.threshold_ = threshold * _SIGNS.get(plan.policy, 1.0)
        self.n_queries_needed_ = self._count_needed(1.0 - fixed.at(fixed.values, best), level)
        self.report_ = CutReport(
            self.measure,
            self.at_least,
            self.confidence_level,
            plan.policy,
            self.threshold_ if more else None,
            len(queries),
            n_left_out,
            len(plan.tested),
            value,
            float(cuts.at(cuts.values, listed).mean()),
            float(shown.mean()),
            float(listed.mean()),
            None if np.isnan(kept).all() else float(np.nanmean(kept)),
            self.n_queries_needed_,
            twice,
            four_times,
            notes,
        )

    def _count_needed(self, losses: Float64Array, level: float) -> int | None:
        """Fewest queries that keep the promise with these smallest losses."""
        if losses.mean() >= 1.0 - self.at_least:
            return None
        low, high = 0, 1
        while not self._passes(losses, level, high / len(losses)):
            low, high = high, 2 * high
            if high > _MOST_QUERIES:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            is_enough = self._passes(losses, level, middle / len(losses))
            low, high = (low, middle) if is_enough else (middle, high)
        return high

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
        order = np.arange(len(stops)) if lists.order is None else lists.order
        shown[order] = ranks_of(lists) <= np.repeat(n_shown, lists.sizes)
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
        columns = np.full((4, len(lists)), np.nan)
        for query, rows in enumerate(lists):
            if len(s := lists.scores[rows]):
                columns[:, query] = len(s), s[0], s.mean(), s.std()
        return ResultColumns(zip(("size", "top", "mean", "spread"), columns, strict=True))

    def _read(self, scores: Any, qid: Any) -> ScoredLists:
        data, qid = (qid, None) if isinstance(qid, RankingData) else (None, qid)
        return list_scores(scores, data, qid)

    def __str__(self) -> str:
        return str(self.report_) if hasattr(self, "report_") else repr(self)

    def __repr__(self) -> str:
        given = f"{self.measure!r}, at_least={self.at_least:g}"
        return f"CutRule({given}, confidence_level={self.confidence_level})"

    def _record(self) -> dict[str, Any]:
        b = self.coefficients_ if self.policy_ == "probability" else None
        return {
            "rel": self.rel,
            "coefficients": None
            if b is None
            else dict(zip(MODEL_COLUMNS, b.tolist(), strict=True)),
            "report": self.report_.to_dict(),
        }

    @classmethod
    def _restore(cls, record: Mapping[str, Any]) -> Self:
        report = CutReport(**check_fields(record["report"], _REPORT, "report."))
        rule = cls(
            report.measure,  # type: ignore[arg-type]
            report.at_least,
            report.confidence_level,
            policy=report.policy,  # type: ignore[arg-type]
            rel=record["rel"],
        )
        b = record["coefficients"]
        if (report.policy == "probability") != (b is not None) or (b and tuple(b) != MODEL_COLUMNS):
            raise ValueError(
                f"coefficients must be {', '.join(MODEL_COLUMNS)} for 'probability' only."
            )
        rule.coefficients_ = None if b is None else np.array(list(b.values()))
        rule.policy_, rule.risk_ = report.policy, 1.0 - report.value
        unkept = 1.0 if report.measure == "precision" else np.inf
        rule.threshold_ = unkept if report.threshold is None else report.threshold
        rule.policies_ = ResultList(PolicyCost)
        rule.n_queries_needed_, rule.report_ = report.n_queries_needed, report
        return rule

    def _source(self) -> str:
        t, is_precision = self.threshold_, self.measure == "precision"
        if self.policy_ == "fixed_k":
            shown = "len(scores)" if np.isinf(t) else f"min(len(scores), {t:.0f})"
            return f"def count_shown(scores):\n    return {shown}\n"
        body = {
            "score_floor": f"    n = sum(score >= {t!r} for score in scores)\n",
            "below_top": f"    n = sum(scores[0] - score <= {t!r} for score in scores)\n",
            "standardized": f"""\
    mean = sum(scores) / len(scores)
    spread = (sum((score - mean) ** 2 for score in scores) / len(scores)) ** 0.5
    n = sum(score - mean >= {t!r} * spread for score in scores)
    if scores[0] == scores[-1]:
        n = len(scores)
""",
        }
        if self.policy_ == "probability":
            *slopes, intercept = self.coefficients_.tolist()  # type: ignore[union-attr]
            body["probability"] = f"""\
    mean = sum(scores) / len(scores)
    spread = (sum((score - mean) ** 2 for score in scores) / len(scores)) ** 0.5
    p, n, weights = [], 0, {slopes!r}
    for rank, score in enumerate(scores, 1):
        z = (score - mean) / spread if scores[0] > scores[-1] else 0.0
        values = scores[0], score - scores[0], z, rank ** -0.5
        log_odds = {intercept!r} + sum(w * value for w, value in zip(weights, values))
        p.append(1 / (1 + 2.718281828459045 ** -max(-700.0, min(700.0, log_odds))))
    for i in range(len(p)):
        n += {"1 - sum(p[:i + 1]) / (i + 1)" if is_precision else "sum(p[:i]) / sum(p)"} <= {t!r}
"""
        return (
            "def count_shown(scores):\n    scores = sorted(scores, reverse=True)\n"
            f"    if not scores:\n        return 0\n{body[self.policy_]}    return max(n, 1)\n"
        )

    def _examples(self, rng: np.random.Generator) -> Iterator[tuple[tuple[Any, ...], int]]:
        """Random lists, as arguments, and numbers of documents to show."""
        for n in rng.integers(1, 60, 200).tolist():
            scores = rng.normal(size=n) * 10.0 ** rng.integers(-2, 3)
            found = self.decide(scores, np.zeros(n, dtype=int))
            yield (scores.tolist(),), int(found.n_shown[0])


# Rows are shown if their stop value is at most the threshold; these thresholds are shown negated.
_SIGNS = {"score_floor": -1.0, "standardized": -1.0}
_REPORT: dict[str, Check] = {
    "measure": word(*MEASURES),
    "at_least": number(0, 1),
    "confidence_level": or_none(number(0, 1)),
    "policy": word(*POLICIES),
    "threshold": or_none(number()),
    **dict.fromkeys(("n_queries", "n_left_out", "n_tested"), whole()),
    "value": number(0, 1),
    "whole": number(0, 1),
    "n_shown": number(0),
    "n_listed": number(0),
    "kept": or_none(number(0, 1)),
    "n_queries_needed": or_none(whole()),
    "shown_with_twice": or_none(number(0)),
    "shown_with_four_times": or_none(number(0)),
    "notes": texts,
}


class _Plan(NamedTuple):
    """Policy, the queries that test its thresholds, and the level of the tests."""

    policy: str
    tested: Int64Array
    level: float
