"""Answer or abstain: which lists hold anything relevant, with a promise about wrong answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.trec import Run, id_array
from rankwise.decisions.decision_file import (
    LARGEST,
    Check,
    DecisionReport,
    DecisionRule,
    Share,
    number,
    numbers_by_name,
    or_none,
    whole,
)
from rankwise.decisions.risk_bounds import fewest_queries, risk_p_value, smallest_sample
from rankwise.decisions.scored_lists import ScoredLists, list_scores
from rankwise.metrics.statistics.stratified import check_level
from rankwise.runtime.constraints import make_generator
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import (
    ArgumentError,
    check_choice,
    check_share,
    check_whole,
    setting,
)
from rankwise.runtime.result import Result, ResultColumns
from rankwise.typing import Float64Array, Int64Array, Seed

PROMISES = ("wrong_answers", "false_answers")
POLICIES = ("auto", "top_score", "model")
UNANSWERABLE = ("auto", "judged", "removed")
_FIRST = 10  # documents at the top of a list that its features describe
_SCORE_FEATURES = ("top", "gap", "lead", "spread")
# Wrong answers that the smallest sets to be tested first may have, each by its own test.
_STARTS = (0, 4)
_MODEL_SHARE = 0.3  # of the queries
# Without so many times the fewest queries that can keep a promise, all set the threshold.
_ENOUGH = 1.5
# Largest number of judged queries to ask for, as a multiple of those there are.
_MOST_TIMES = 1024.0


@dataclass(frozen=True)
class AnswerReport(DecisionReport):
    """What the judged queries say about a fitted :class:`AnswerRule`.

    Attributes
    ----------
    promise : {"wrong_answers", "false_answers"}
    at_most : float
        Promised rate.
    confidence_level : float
    policy : {"top_score", "model"}
    threshold : float or None
        None if all queries are abstained from.
    unanswerable : {"judged", "removed"}
        Lists with nothing relevant: found among the judged ones, or made of them.
    n_queries : int
        Judged queries with a list.
    n_unanswerable : int
        Those with nothing relevant in their list.
    n_tested : int
        Queries that set the threshold; the others fitted the model.
    n_decided : int
        Queries among them that the promise is about: the answered, or the unanswerable ones.
    n_wrong : int
        Queries among these that are answered with nothing relevant.
    risk : float or None
        ``n_wrong / n_decided``; None without any.
    kept : float or None
        Share of the tested answerable queries that are answered.
    n_queries_needed : int or None
        Fewest judged queries with which the promise can be kept, if rates stay as they are; None if
        no threshold has a rate below ``at_most``. Two or three times as many are often needed,
        since the threshold with the best rate of few queries flatters.
    kept_with_twice : float or None
        ``kept`` with twice as many judged queries, if rates stay as they are.
    kept_with_four_times : float or None
    notes : list of str
    """

    promise: Literal["wrong_answers", "false_answers"]
    at_most: Share
    confidence_level: Share
    policy: Literal["top_score", "model"]
    threshold: float | None
    unanswerable: Literal["judged", "removed"]
    n_queries: int
    n_unanswerable: int
    n_tested: int
    n_decided: int
    n_wrong: int
    risk: Share | None
    kept: Share | None
    n_queries_needed: int | None
    kept_with_twice: Share | None
    kept_with_four_times: Share | None
    notes: list[str]

    def _verdict(self) -> list[str]:
        is_wrong = self.promise == "wrong_answers"
        about = "answered queries" if is_wrong else "queries with nothing relevant"
        promise = "have nothing relevant in their list" if is_wrong else "are answered"
        lines = [
            f"Promise: at most {100 * self.at_most:.3g} % of {about} {promise} (confidence "
            f"{100 * self.confidence_level:.3g} %)."
        ]
        if self.threshold is None:
            noun = "query" if self.n_queries == 1 else "queries"
            return [
                *lines,
                f"{self.n_queries:,} judged {noun} cannot keep it: the rule abstains from all.",
                "Nor can more of them, if rates stay as they are: promise less."
                if self.n_queries_needed is None
                else f"It takes {self.n_queries_needed:,} or more, if rates stay as they are. The "
                "best rate of few queries flatters: judge two or three times as many.",
            ]
        what = "log odds of the model are" if self.policy == "model" else "top score is"
        what_is_wrong = "without anything relevant" if is_wrong else "answered"
        kept = (self.kept, self.kept_with_twice, self.kept_with_four_times)
        now, twice, more = (100 * (share or 0.0) for share in kept)
        return [
            *lines,
            f"Policy: answer if the {what} at least {self.threshold:.4g}.",
            f"Judged: {self.n_wrong:,} of {self.n_decided:,} {about} {what_is_wrong} "
            f"({100 * (self.risk or 0):.1f} %).",
            f"Kept: {now:.1f} % of answerable queries are answered.",
            f"More judgements: twice as many would keep {twice:.1f} %, four times as many "
            f"{more:.1f} %.",
        ]


@dataclass(frozen=True, eq=False)
class AnswerDecisions(Result):
    """Decisions of :meth:`AnswerRule.decide`, one per query.

    Attributes
    ----------
    qid : ndarray of shape (n_queries,)
        In order of first appearance.
    answer : ndarray of shape (n_queries,), bool
    value : ndarray of shape (n_queries,), float64
        What is compared with the threshold: the top score, or log odds of an answerable list.
    probability : ndarray of shape (n_queries,), float64, or None
        Estimated probability that the list holds anything relevant; None for the top score.
    n_shown : ndarray of shape (n_queries,), int64
        Documents to show: all, or the first ``depth``; 0 if the query is not answered.
    """

    qid: NDArray[Any]
    answer: NDArray[np.bool_]
    value: Float64Array
    probability: Float64Array | None
    n_shown: Int64Array


@names_its_class
class AnswerRule(DecisionRule):
    """Answer a query, or abstain because its list holds nothing relevant.

    Parameters
    ----------
    promise : {"wrong_answers", "false_answers"}
        "wrong_answers": share of the answered queries whose list holds nothing relevant.
        "false_answers": share of the queries with nothing relevant in their list that are answered.
    at_most : float in (0, 1)
        Promised rate.
    confidence_level : float in (0, 1)
        Probability, over draws of the judged queries, that the true rate is at most ``at_most``.
    policy : {"auto", "top_score", "model"}
        What is compared with a threshold. "top_score": the highest score of the list. "model": a
        logistic regression of features of the list. "auto": the model, if enough queries remain to
        set the threshold.
    rel : float
        Lowest grade of a relevant document.
    depth : int >= 1, optional
        Documents of a list to look at, such as those that are shown. None: all.
    unanswerable : {"auto", "judged", "removed"}
        Where queries with nothing relevant come from. "judged": the judged queries as they are.
        "removed": the answerable ones, without the relevant documents of their lists. "auto":
        "removed" if all judged queries are answerable.
    unanswerable_share : float in (0, 1)
        With removed documents and "wrong_answers": share of such queries among future ones.
    random_state : int, RandomState, Generator or None
        Seed for the split of the judged queries, and for which lists lose documents.

    Attributes
    ----------
    threshold_ : float
        A query is answered if its value is at least this; infinite if all are abstained from.
    policy_ : {"top_score", "model"}
    risk_ : float or None
        Rate on the judged queries that set the threshold; None if nothing is answered.
    n_queries_needed_ : int or None
        As in the report.
    report_ : AnswerReport
        All counts; printed with the rule.

    Raises
    ------
    ValueError
        If a parameter breaks its rule.

    Notes
    -----
    The model is fitted on 30 % of the queries, drawn at random, and the threshold is set on the
    others by exact binomial tests.

    "false_answers": let t be the highest threshold whose true rate is larger than ``at_most``. The
    threshold taken lies above the k-th highest of the n values of unanswerable queries, with
    ``P(Binomial(n, at_most) < k) <= 1 - confidence_level``. It is t or lower only if fewer than k
    of these values are at or above t. Their number is binomial with a rate larger than ``at_most``,
    so the probability of this is at most ``1 - confidence_level`` [1]_.

    "wrong_answers": the number of answered queries is random. Sets of the m queries with the
    highest values are tested in the order of growing m, and the first set that fails ends the
    tests (fixed-sequence testing [2]_). Assume that the true rate never falls when the threshold
    does, and let t be the lowest threshold whose true rate is at most ``at_most``. Given that N
    values are at or above t, the wrong ones among these are binomial with N trials and that rate. A
    threshold below t is taken only if this set, perhaps with the next query, passes a test, whose
    level bounds the probability. Tests begin at two values of m that depend on the number of
    queries only, each with half of ``1 - confidence_level``. Where the assumption fails, as in the
    set "reversed" of ``docs/study_answers.txt``, promises were kept as well.

    Both hold for queries that are exchangeable with the judged ones, and for no others:
    :func:`rankwise.selection.find_drift` watches :meth:`list_features`. Unjudged documents count as
    not relevant.

    A fit takes O(N log N) time and O(N) memory for N rows.

    References
    ----------
    .. [1] S. S. Wilks, "Determination of sample sizes for setting tolerance limits", Annals of
       Mathematical Statistics 12 (1941).
    .. [2] A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan, L. Lei, "Learn then test:
       calibrating predictive algorithms to achieve risk control", arXiv:2110.01052 (2021).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> qid = np.repeat(np.arange(300), 5)
    >>> y = rng.random(1500) < np.where(qid % 3 == 0, 0.0, 0.4)
    >>> scores = 2.0 * y + rng.normal(size=1500)
    >>> rule = AnswerRule("wrong_answers", at_most=0.1).fit(scores, y, qid)
    >>> print(rule)
    Promise: at most 10 % of answered queries have nothing relevant in their list (confidence 95 %).
    Policy: answer if the log odds of the model are at least 1.736.
    Judged: 2 of 79 answered queries without anything relevant (2.5 %).
    Kept: 61.1 % of answerable queries are answered.
    More judgements: twice as many would keep 69.0 %, four times as many 69.8 %.
    note: unjudged documents count as not relevant
    """

    kind: ClassVar[str] = "answer"
    _report_type = AnswerReport
    _fields: ClassVar[Mapping[str, Check]] = {
        "depth": or_none(whole(1)),
        "intercept": number(),
        "coefficients": numbers_by_name,
    }
    promise: Literal["wrong_answers", "false_answers"]
    policy_: Literal["top_score", "model"]

    def __init__(
        self,
        promise: Literal["wrong_answers", "false_answers"] = "wrong_answers",
        at_most: float = 0.1,
        confidence_level: float = 0.95,
        *,
        policy: Literal["auto", "top_score", "model"] = "auto",
        rel: float = 1.0,
        depth: int | None = None,
        unanswerable: Literal["auto", "judged", "removed"] = "auto",
        unanswerable_share: float = 0.5,
        random_state: Seed = 0,
    ) -> None:
        check_choice("promise", promise, PROMISES)
        check_share("at_most", at_most)
        check_level(confidence_level)
        self._set_common(policy, POLICIES, rel)
        check_choice("unanswerable", unanswerable, UNANSWERABLE)
        check_share("unanswerable_share", unanswerable_share)
        if depth is not None:
            check_whole("depth", depth, 1)
        self.promise = promise
        self.at_most = at_most
        self.confidence_level = confidence_level
        self.depth = depth
        self.unanswerable = unanswerable
        self.unanswerable_share = unanswerable_share
        self.random_state = random_state

    def fit(
        self,
        scores: Any,
        y: Any = None,
        qid: Any = None,
        *,
        others: Sequence[Any] = (),
        query_columns: Mapping[str, Mapping[Any, float]] | None = None,
    ) -> Self:
        """Fit the model and set the threshold from judged queries.

        Parameters
        ----------
        scores, y, qid
            See :func:`list_scores`. Judgements are needed.
        others : sequence of runs or of arrays of shape (n_rows,)
            Scores of other systems: the model also sees how many of the first ten documents they
            have in common with ``scores``.
        query_columns : mapping from name to {query: number}, optional
            More features of the queries for the model, such as ``{"idf": {"q1": 3.2}}``.

        Returns
        -------
        Self

        Raises
        ------
        ValueError
            If nothing is judged, no list holds anything relevant, scores are not finite, or a
            query lacks a number of ``query_columns``.

        Notes
        -----
        If the promise cannot be kept with these queries, the fitted rule abstains from every query,
        and ``n_queries_needed_`` says how many would do.
        """
        read = _read(scores, others, y, qid)
        own = read[0]
        if own.y is None:
            raise ArgumentError("y", "must give judgements, got none. Pass grades or qrels.")
        answerable = np.array([bool((own.y[rows][: self.depth] >= self.rel).any()) for rows in own])
        if not answerable.any():
            raise ValueError(
                f"no list has a document of grade {self.rel:g} or more. Check the ids and rel=…."
            )
        source = self.unanswerable
        if source == "auto":
            source = "removed" if answerable.all() else "judged"
        names, features = _describe(read, query_columns, self.depth)
        without = None
        if source == "removed":
            _, without = _describe(read, query_columns, self.depth, without=self.rel)
        self._fit_features(names, features, answerable, without, own.notes)
        return self

    def _fit_features(
        self,
        names: list[str],
        features: Float64Array,
        answerable: NDArray[np.bool_],
        without: Float64Array | None,
        notes: Sequence[str] = (),
    ) -> None:
        """Fit to the features of the lists, and of those ``without`` their relevant documents."""
        n_queries, n_unanswerable = len(answerable), int((~answerable).sum())
        query, source, share = np.arange(n_queries), "judged", 0.5
        notes = ["unjudged documents count as not relevant", *notes]
        if without is not None:
            source, share = "removed", self.unanswerable_share
            stands = f", and stand for {100 * share:.3g} % of queries"
            notes.append(
                "lists with nothing relevant are judged ones without their relevant documents"
                + stands * (self.promise == "wrong_answers")
            )
            if n_unanswerable:
                notes.append(f"judged queries with nothing relevant, left out: {n_unanswerable:,}")
            query = np.repeat(query[answerable], 2)
            features = np.stack([features[answerable], without[answerable]], axis=1)
            features = features.reshape(len(query), -1)
            answerable = np.tile([True, False], len(query) // 2)
        elif not n_unanswerable:
            notes.append(
                "no judged query has a list with nothing relevant: if such queries were not "
                "judged, the promise does not hold for them"
            )
        rng = make_generator(self.random_state)
        is_fit = self._draw_fit_part(query, answerable, source, rng)
        weight = np.where(answerable, 1.0 - share, share)
        self._fit_model(names, features[is_fit], answerable[is_fit], weight[is_fit])
        tested = ~is_fit
        if source == "removed" and self.promise == "wrong_answers":
            # One version of each query, at random: a draw of the queries that the promise is about.
            is_removed = rng.random(n_queries) < share
            tested &= is_removed[query] != answerable
        curve = _Curve.of(self._values(features[tested]), answerable[tested])
        if is_fit.any() and self.policy_ != "model":
            notes.append(
                "too few queries of one kind to fit a model: the top score decides, tested on the "
                f"other {curve.n:,}. {setting('policy', 'top_score')} tests all"
            )
        self._set_threshold(curve, source, n_queries, n_unanswerable, notes)

    def _draw_fit_part(
        self, query: Int64Array, answerable: Any, source: str, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Cases of the queries that fit the model; none for the top score.

        For "false_answers" the answerable and unanswerable queries are split alike, which leaves
        the values of the unanswerable ones independent.
        """
        is_fit = np.zeros(len(query), dtype=bool)
        if self.policy == "top_score":
            return is_fit
        by_class = self.promise == "false_answers" and source == "judged"
        for stratum in (answerable, ~answerable) if by_class else (np.ones_like(is_fit),):
            ids = rng.permutation(np.unique(query[stratum]))
            is_fit |= np.isin(query, ids[: round(_MODEL_SHARE * len(ids))])
        about = ~answerable if self.promise == "false_answers" else np.ones_like(is_fit)
        n_left = len(np.unique(query[about & ~is_fit]))
        needed = fewest_queries(self.at_most, self.confidence_level)
        if self.policy == "auto" and n_left < _ENOUGH * needed:
            is_fit[:] = False
        return is_fit

    def _fit_model(
        self, names: list[str], features: Float64Array, answerable: Any, weight: Float64Array
    ) -> None:
        """Logistic regression on standardised features, or the top score if it cannot be fitted."""
        has_list = ~np.isnan(features).any(axis=1)
        features, answerable, weight = features[has_list], answerable[has_list], weight[has_list]
        self.policy_, self.coefficients_, self.intercept_ = "top_score", {"top": 1.0}, 0.0
        if min(answerable.sum(), (~answerable).sum()) < 5:
            return
        from sklearn.linear_model import LogisticRegression

        mean, scale = features.mean(axis=0), features.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        model: Any = LogisticRegression(C=1.0, max_iter=1000)
        model.fit((features - mean) / scale, answerable, weight / weight.mean())
        weights = model.coef_[0] / scale
        self.policy_ = "model"
        self.coefficients_ = dict(zip(names, weights.tolist(), strict=True))
        self.intercept_ = float(model.intercept_[0] - weights @ mean)

    def _values(self, features: Float64Array) -> Float64Array:
        """What is compared with the threshold; -inf for lists without documents."""
        weights = np.zeros(features.shape[1])
        weights[: len(self.coefficients_)] = list(self.coefficients_.values())
        values = np.where(np.isnan(features), -np.inf, 0.0).min(axis=1, initial=0.0)
        return values + np.nan_to_num(features) @ weights + self.intercept_

    def _set_threshold(
        self, curve: _Curve, source: Any, n_queries: int, n_unanswerable: int, notes: list[str]
    ) -> None:
        """Take the lowest threshold that the tests allow, and report what it does."""
        choose = partial(curve.choose, self.promise, self.at_most, 1.0 - self.confidence_level)
        at, needed = choose(), None
        if at or choose(_MOST_TIMES):
            low, high = 1 / _MOST_TIMES, _MOST_TIMES
            while high / low > 1.01:
                middle = (low * high) ** 0.5
                low, high = (low, middle) if choose(middle) else (middle, high)
            needed = int(np.ceil(high * n_queries))
        by_answered = self.promise == "wrong_answers"
        n_decided = int(curve.answered[at]) if by_answered else curve.n_wrong
        n_wrong = int(curve.wrong[at])
        report = AnswerReport(
            self.promise,
            self.at_most,
            self.confidence_level,
            self.policy_,
            curve.threshold(at) if at else None,
            source,
            n_queries,
            n_unanswerable,
            curve.n,
            n_decided,
            n_wrong,
            n_wrong / n_decided if at else None,
            curve.kept(at),
            needed,
            curve.kept(max(at, choose(2.0))),
            curve.kept(max(at, choose(4.0))),
            notes,
        )
        self._set_report(report, np.inf, report.risk)

    def decide(
        self,
        scores: Any,
        qid: Any = None,
        *,
        others: Sequence[Any] = (),
        query_columns: Mapping[str, Mapping[Any, float]] | None = None,
    ) -> AnswerDecisions:
        """Decide for each query whether to answer it.

        Parameters
        ----------
        scores, others, query_columns
            As in :meth:`fit`.
        qid : array-like of shape (n_rows,) or RankingData, optional
            Query of each row of an array; for a ranker, the rows to score.

        Returns
        -------
        AnswerDecisions
        """
        self._check_fitted()
        lists, names, features = self._read_features(scores, qid, others, query_columns)
        if self.policy_ == "model" and names != list(self.coefficients_):
            known = ", ".join(self.coefficients_)
            raise ValueError(
                f"the rule was fitted with the features {known}, got {', '.join(names)}. Pass the "
                "same others and query_columns."
            )
        values = self._values(features)
        probability = expit(values) if self.policy_ == "model" else None
        answer = values >= self.threshold_
        n_shown = np.where(answer, np.minimum(lists.sizes, self.depth or lists.sizes), 0)
        return AnswerDecisions(lists.qids, answer, values, probability, n_shown)

    def list_features(
        self,
        scores: Any,
        qid: Any = None,
        *,
        others: Sequence[Any] = (),
        query_columns: Mapping[str, Mapping[Any, float]] | None = None,
    ) -> ResultColumns:
        """Features of the lists, to watch with :func:`rankwise.selection.find_drift`.

        Parameters
        ----------
        scores, qid, others, query_columns
            As in :meth:`decide`.

        Returns
        -------
        ResultColumns
            One row per list. "top": highest score; "gap": it minus the second; "lead": it minus the
            mean of the first ten; "spread": standard deviation of the first ten; "agreement": share
            of the first ten that other systems have among their first ten; then the
            ``query_columns``. NaN for an empty list.
        """
        _, names, features = self._read_features(scores, qid, others, query_columns)
        return ResultColumns(zip(names, features.T, strict=True))

    def _read_features(
        self, scores: Any, qid: Any, others: Sequence[Any], query_columns: Any
    ) -> tuple[ScoredLists, list[str], Float64Array]:
        data, qid = (qid, None) if isinstance(qid, RankingData) else (None, qid)
        read = _read(scores, others, data, qid)
        return read[0], *_describe(read, query_columns, self.depth)

    def __repr__(self) -> str:
        given = f"{self.promise!r}, at_most={self.at_most:g}"
        return f"AnswerRule({given}, confidence_level={self.confidence_level:g})"

    def _record(self) -> dict[str, Any]:
        return {
            "depth": self.depth,
            "intercept": self.intercept_,
            "coefficients": self.coefficients_,
        }

    @classmethod
    def _restore(cls, record: Mapping[str, Any]) -> Self:
        report, weights, n = record["report"], record["coefficients"], len(_SCORE_FEATURES)
        if report.policy == "model" and tuple(weights)[:n] != _SCORE_FEATURES:
            raise ValueError(f"coefficients must begin with {', '.join(_SCORE_FEATURES)}.")
        if report.policy != "model" and (weights, record["intercept"]) != ({"top": 1.0}, 0.0):
            raise ValueError('top_score needs the coefficients {"top": 1} and the intercept 0.')
        rule = cls(
            report.promise,
            report.at_most,
            report.confidence_level,
            policy=report.policy,
            rel=record["rel"],
            depth=record["depth"],
            unanswerable=report.unanswerable,
        )
        rule.coefficients_, rule.intercept_ = weights, record["intercept"]
        return rule._set_report(report, np.inf, report.risk)

    def _source(self) -> str:
        threshold, extra = self.report_.threshold, self._extra_columns()
        head = f"def answer(scores{', columns' if extra else ''}):"
        if threshold is None:
            return f"{head}\n    return False  # the promise cannot be kept\n"
        head += f"""
    if not all(abs(score) <= {LARGEST:g} for score in scores):
        raise ValueError("scores must be finite numbers")"""
        if self.policy_ == "top_score":
            return f"{head}\n    return len(scores) > 0 and max(scores) >= {threshold!r}\n"
        if "agreement" in extra:
            head += """
    # agreement: share of these documents that another system has among its own first ones"""
        cut = "" if self.depth is None else f"[:{self.depth}]"
        terms = ("scores[0]", "(scores[0] - scores[:2][-1])", "(scores[0] - mean)")
        terms += ("(squares / len(first)) ** 0.5", *(f"columns[{name!r}]" for name in extra))
        lines = [
            head,
            f"scores = sorted(scores, reverse=True){cut}",
            "if not scores:",
            "    return False",
            f"first = scores[:{_FIRST}]",
            "mean = sum(first) / len(first)",
            "squares = sum((score - mean) ** 2 for score in first)",
            f"log_odds = {self.intercept_!r}",
            *(
                f"log_odds += {weight!r} * {term}"
                for weight, term in zip(self.coefficients_.values(), terms, strict=True)
            ),
            f"return log_odds >= {threshold!r}",
        ]
        return "\n    ".join(lines) + "\n"

    def _extra_columns(self) -> list[str]:
        return list(self.coefficients_)[len(_SCORE_FEATURES) :]

    def _examples(self, rng: np.random.Generator) -> Iterator[tuple[tuple[Any, ...], bool]]:
        """Random lists, as arguments, and their decisions."""
        extra = self._extra_columns()
        for n in rng.integers(1, 30, 200).tolist():
            scores = rng.normal(size=n) * 10.0 ** rng.integers(-2, 3)
            columns = dict.fromkeys(extra, float(rng.normal()))
            _, features = _describe([list_scores(scores, qid=np.zeros(n))], None, self.depth)
            features = np.append(features, [[*columns.values()]], axis=1)
            decision = bool(self._values(features)[0] >= self.threshold_)
            yield (scores.tolist(), columns) if extra else (scores.tolist(),), decision


@dataclass(frozen=True)
class _Curve:
    """Queries in the order of their values: entry m is about the queries above a threshold.

    The first entry is that of no query; entries end at the last of several equal values.
    """

    values: Float64Array  # lowest value above the threshold; infinite for the first entry
    answered: Int64Array
    wrong: Int64Array
    n: int
    n_wrong: int  # unanswerable queries

    @classmethod
    def of(cls, values: Float64Array, answerable: Any) -> _Curve:
        order = np.argsort(-values, kind="stable")
        ordered, wrong = values[order], np.cumsum(~answerable[order])
        ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True) & np.isfinite(ordered))
        return cls(
            np.append(np.inf, ordered[ends]),
            np.append(0, ends + 1),
            np.append(0, wrong[ends]),
            len(values),
            int((~answerable).sum()),
        )

    def threshold(self, at: int) -> float:
        """Halfway between the lowest answered value and the next one, against rounding errors."""
        high = float(self.values[at])
        low = float(self.values[at + 1]) if at + 1 < len(self.values) else high
        middle = low / 2 + high / 2
        return middle if middle > low else high

    def kept(self, at: int) -> float | None:
        right = self.answered - self.wrong
        total = self.n - self.n_wrong
        return float(right[at] / total) if total else None

    def choose(self, promise: str, at_most: float, level: float, times: float = 1.0) -> int:
        """Entry of the lowest threshold that passes the tests, 0 if none does.

        ``times``: as if there were so many times as many queries, at the same rates.
        """
        answered, wrong = np.floor(self.answered * times), np.ceil(self.wrong * times)
        if promise == "false_answers":
            p = risk_p_value(wrong, np.floor(self.n_wrong * times), at_most)
            return int(np.flatnonzero(p <= level).max(initial=0))
        found, p = 0, risk_p_value(wrong, answered, at_most)
        starts = _first_sizes(at_most, level, int(self.n * times))
        for start in starts:
            first = int(np.searchsorted(answered, start))
            failed = np.flatnonzero(p[first:] > level / len(starts))
            n_passed = int(failed[0]) if len(failed) else len(p) - first
            found = max(found, first + n_passed - 1) if n_passed else found
        return found


def _first_sizes(at_most: float, level: float, n: int) -> list[int]:
    """Sizes of the sets at which tests begin, which ``n`` queries determine.

    The smallest set that may pass; and a third of the queries, so that wrong answers among the
    first few do not end all tests, or the smallest that may pass with some wrong answers.
    """
    for several in range(len(_STARTS), 0, -1):
        starts = smallest_sample(_STARTS[:several], at_most, level / several).tolist()
        if starts[-1] <= n:
            return [*starts[:-1], max(starts[-1], n // 3 if several > 1 else 0)]
    return []


def _read(scores: Any, others: Sequence[Any], y: Any, qid: Any) -> list[ScoredLists]:
    """Lists of a system, then of others."""
    if isinstance(others, str | Path | Mapping | Run):
        raise ArgumentError("others", "must be a list of runs or scores. Write others=[…].")
    read = [list_scores(entry, y, qid) for entry in (scores, *others)]
    if len({lists.doc_ids is None for lists in read}) > 1:
        raise ArgumentError("others", "must be runs if scores are one, else scores of the rows.")
    return read


def _describe(
    read: Sequence[ScoredLists],
    query_columns: Mapping[str, Mapping[Any, float]] | None,
    depth: int | None,
    without: float | None = None,
) -> tuple[list[str], Float64Array]:
    """Names and values of the features, one row per list; NaN if a list is empty.

    ``without``: leave out documents of this grade or more.
    """
    own, *others = read
    columns = {
        name: dict(zip(id_array([*column], "query_columns").tolist(), column.values(), strict=True))
        for name, column in (query_columns or {}).items()
    }
    names = [*_SCORE_FEATURES, *(["agreement"] if others else []), *columns]
    if twice := {*columns} & {*_SCORE_FEATURES, "agreement"}:
        raise ArgumentError("query_columns", f"must have other names than {twice.pop()!r}.")
    rows, listed = _first_rows(own, depth, without)
    scores, n = (
        np.where(listed, np.append(own.scores, 0.0)[rows], 0.0),
        np.maximum(listed.sum(axis=1), 1),
    )
    top, mean = scores[:, 0], scores.sum(axis=1) / n
    gap = top - np.where(n > 1, scores[:, 1], top)
    spread = np.sqrt((listed * (scores - mean[:, None]) ** 2).sum(axis=1) / n)
    found = [top, gap, top - mean, spread]
    queries = id_array(own.qids, "qid").tolist()
    if others:
        firsts = [_first_documents(lists, depth, without) for lists in others]
        common = [
            np.mean([len(documents & first.get(query, set())) for first in firsts])
            for query, documents in _first_documents(own, depth, without).items()
        ]
        found.append(np.array(common) / n)
    for name, column in columns.items():
        found.append(np.array([column.get(query, np.nan) for query in queries], dtype=np.float64))
        if not np.isfinite(found[-1]).all():
            query = queries[int(np.argmin(np.isfinite(found[-1])))]
            problem = f"must give a finite {name} for every query, but {query!r} has none."
            raise ArgumentError("query_columns", problem)
    return names, np.where(listed[:, :1], np.column_stack(found), np.nan)


def _first_rows(
    lists: ScoredLists, depth: int | None, without: float | None
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Rows of the first documents of every list, and which of them there are."""
    kept = np.arange(len(lists.scores))
    if without is not None and lists.y is not None:
        kept = np.flatnonzero(lists.y < without)
    starts, ends = np.searchsorted(kept, lists.indptr[:-1]), np.searchsorted(kept, lists.indptr[1:])
    places = np.arange(_FIRST)
    listed = places < np.minimum(ends - starts, depth or _FIRST)[:, None]
    return np.append(kept, 0)[np.where(listed, starts[:, None] + places, -1)], listed


def _first_documents(
    lists: ScoredLists, depth: int | None, without: float | None
) -> dict[str, set[Any]]:
    """First documents of every list by query: ids, or rows of the input."""
    documents: Any = lists.doc_ids if lists.doc_ids is not None else lists.order
    rows, listed = _first_rows(lists, depth, without)
    return {
        str(query): {*documents[own[there]].tolist()}
        for query, own, there in zip(lists.qids.tolist(), rows, listed, strict=True)
    }
