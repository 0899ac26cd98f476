"""Contributions of features: why A ranks above B, the order of a query, the score of a row.

Contributions of features, as text and bars.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rankwise.explain.games import (
    MOST_ENUMERATED,
    Encode,
    TreeGames,
    check_game,
    check_scores,
    enumerate_sets,
    is_additive,
    sample_orders,
    single,
    tree_games,
)
from rankwise.explain.table_rows import (
    additive_parts,
    convert_to_arrays,
    convert_to_table,
    join,
    names_of,
    row_values,
    score_mixed,
)
from rankwise.groups import QueryGroups
from rankwise.prediction import scores_of
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import join_lines
from rankwise.runtime.result import Result
from rankwise.typing import ArrayLike, Float64Array, Seed

SHOWN = 10  # contributions or rows in a text


@names_its_class
def explain_pair(
    estimator: Any,
    xa: Any,
    xb: Any,
    *,
    feature_perturbation: Literal["interventional", "tree_path_dependent"] = "interventional",
    n_orders: int = 100,
    random_state: Seed = 0,
) -> PairExplanation:
    """Contributions of the features to the difference of two scores.

    Parameters
    ----------
    estimator : fitted estimator
        A ranker, an ordinal estimator, or any regressor; also a pipeline.
    xa, xb : array-like of shape (n_features,), or table of one row
        The two rows; rows of frames (``frame[i : i + 1]``, in pandas also ``frame.iloc[i]``) if
        the estimator was fitted on frames.
    feature_perturbation : {"interventional", "tree_path_dependent"}, default="interventional"
        "interventional": Shapley values of replacing B's features by A's; equal features get 0.
        "tree_path_dependent", for trees: difference of the values of A and B from
        :func:`explain_scores`; equal features may get a contribution.
    n_orders : int, default=100
        Number of random orders of the features, each also reversed, if contributions are sampled.
    random_state : int, RandomState, Generator or None, default=0
        Seed for drawing the orders.

    Returns
    -------
    PairExplanation
        ``values`` add up to the difference of the scores.

    Raises
    ------
    TypeError
        If the estimator is a classifier without ordered classes, which has no scores to rank by.
    ValueError
        If a table does not hold one row with the number of features of the fit, or path-dependent
        values are requested for a model without trees.

    Notes
    -----
    Contributions are exact for every sum of trees (ours, and those of LightGBM, XGBoost and
    CatBoost), linear models, powers of features, sums of stumps, and if at most 10 features differ.
    Others are sampled, with standard errors. A pipeline that ends in trees is treated like its last
    step if the steps before it are scikit-learn's scalers, PowerTransformer, QuantileTransformer,
    Binarizer or OrdinalEncoder. If a pipeline ends in an additive model and its steps transform
    features one by one, all orders give the same result, so the errors are 0.
    Trees: O(nodes), or O(nodes D) path-dependent for D features on the longest path.
    Additive models: d + 1 mixed rows; sampled contributions: ``2 n_orders (d + 1)``.

    Examples
    --------
    >>> import rankwise
    >>> from rankwise.datasets import load_dataset
    >>> fold = load_dataset("lambdarank", fold=1)
    >>> train, test = fold.train, fold.test
    >>> ranker = rankwise.LambdaMART(10).fit(train.X, train.y, qid=train.qid)
    >>> print(rankwise.explain_pair(ranker, test.X[0], test.X[1]))
    score 0.1892 against 0.4758: 0.2866 below
    feature   contribution     A     B
    x110           -0.1435  0.94  0.98
    x99            -0.1344  0.91  0.97
    x36           -0.05366   0.4  0.81
    x97           +0.04506  0.73  0.43
    """
    check_scores(estimator)
    a, b = convert_to_table(xa), convert_to_table(xb)
    _check_one_row("xa", a, getattr(estimator, "n_features_in_", a.shape[1]))
    _check_one_row("xb", b, a.shape[1])
    with convert_to_arrays(estimator, a, b) as tables:
        row_a, row_b = (*row_values(a, tables[0]), *row_values(b, tables[1]))
        both = join(*tables)
        scores, error = scores_of(estimator, both), None
        trees = tree_games(estimator)
        check_game(feature_perturbation, trees is not None or is_additive(estimator))
        if trees is None:
            random = check_random_state(random_state)
            rows = row_values(both)
            values, error = contributions(estimator, both, rows, 0, 1, n_orders, random)
        else:
            games, encode = trees
            encoded = encode(both)
            if feature_perturbation == "tree_path_dependent":
                of_a, of_b = games.path_dependent(encoded)
                values = of_a - of_b
            else:
                bounds = np.array([[0, 1, 0, 1]])
                values = games.interventional(encoded[:1], encoded[1:], bounds)[0]
    names = names_of(estimator, a)
    return PairExplanation(names, values, float(scores[0]), float(scores[1]), row_a, row_b, error)


def contributions(
    ranker: Any,
    table: Any,
    rows: list[Sequence[Any]],
    a: int,
    b: int,
    n_orders: int,
    random_state: np.random.RandomState,
) -> tuple[Float64Array, Float64Array | None]:
    """Contributions when row ``a`` of a table replaces row ``b``, and their standard errors.

    ``rows`` are the :func:`row_values` of the table; errors are None if the values are exact.
    """
    d = table.shape[1]
    # Missing values are equal to each other.
    equal = [
        x is y or bool(x == y) or (x != x and y != y) for x, y in zip(rows[a], rows[b], strict=True)
    ]
    differing = np.flatnonzero(np.logical_not(equal))

    def score(sets: Any) -> Float64Array:
        sources = np.full((len(sets), d), b, dtype=np.int64)
        sources[:, differing] = np.where(sets, a, b)
        return score_mixed(ranker, table, sources)

    values, error = np.zeros(d), None
    players = len(differing)
    if is_additive(ranker):
        values[differing] = single(score, players)
    elif players <= MOST_ENUMERATED:
        values[differing] = enumerate_sets(score, players)
    else:
        error = np.zeros(d)
        values[differing], error[differing] = sample_orders(score, players, n_orders, random_state)
    return values, error


def _mean_contributions(
    ranker: Any,
    table: Any,
    rows: list[Sequence[Any]],
    row: int,
    others: Iterable[int],
    n_orders: int,
    random_state: np.random.RandomState,
) -> tuple[Float64Array, bool]:
    """Mean :func:`contributions` of a row against others, and whether they are exact."""
    parts = [
        contributions(ranker, table, rows, row, other, n_orders, random_state) for other in others
    ]
    return np.mean([part for part, _ in parts], axis=0), all(error is None for _, error in parts)


def _check_one_row(name: str, table: Any, n_features: int) -> None:
    if table.shape != (1, n_features):
        raise ValueError(
            f"{name} must be one row of n_features={n_features} values, got shape {table.shape}. "
            "Pass X[i], or X[i:i + 1]."
        )


@names_its_class
def explain_ranking(
    estimator: Any,
    X: Any,
    qid: ArrayLike | QueryGroups | None = None,
    *,
    feature_perturbation: Literal["interventional", "tree_path_dependent"] = "interventional",
    n_others: int = 10,
    n_orders: int = 10,
    random_state: Seed = 0,
) -> RankingExplanation:
    """Contributions of the features to each row's score minus the mean score of its query.

    Parameters
    ----------
    estimator : fitted estimator
        A ranker, an ordinal estimator, or any regressor; also a pipeline.
    X : array-like, CSR or frame of shape (n_samples, n_features)
        Rows to explain.
    qid : array-like of shape (n_samples,), optional
        Query of each row; None: all rows are one query.
    feature_perturbation : {"interventional", "tree_path_dependent"}, default="interventional"
        As in :func:`explain_pair`.
    n_others : int, default=10
        Number of other rows of the query that a row is compared with, or all rows in smaller
        queries. Only for models that are neither additive nor made of trees.
    n_orders : int, default=10
        Number of random orders of the features per comparison, if contributions are sampled.
    random_state : int, RandomState, Generator or None, default=0
        Seed for drawing the rows and the orders.

    Returns
    -------
    RankingExplanation
        The ``values`` of a row are the means of :func:`explain_pair` against the rows of its query,
        so they add up to its score minus their mean score.

    Raises
    ------
    TypeError
        If the estimator is a classifier without ordered classes, which has no scores to rank by.
    ValueError
        If path-dependent values are requested for a model without trees.

    Notes
    -----
    For models made of trees, values are exact against all rows of the query; the cost is O(nodes)
    per row, plus the pairs of distinct sets of passing features per leaf. For additive models,
    values are exact, from d n_samples mixed rows. Other models need ``n_samples n_others`` pairs.

    Examples
    --------
    >>> import rankwise
    >>> from rankwise.datasets import load_dataset
    >>> fold = load_dataset("lambdarank", fold=1)
    >>> train, test = fold.train, fold.test
    >>> ranker = rankwise.RidgeRanker().fit(train.X, train.y, qid=train.qid)
    >>> found = rankwise.explain_ranking(ranker, test.X, qid=test.qid)
    >>> for j in found.importances().argsort()[:-4:-1]:
    ...     print(found.names[j], round(found.importances()[j], 2))
    x260 0.32
    x110 0.3
    x19 0.29
    """
    check_scores(estimator)
    table = convert_to_table(X)
    groups = QueryGroups.from_qid(qid, table.shape[0])
    names = names_of(estimator, table)
    with convert_to_arrays(estimator, table) as (table,):
        scores, exact = scores_of(estimator, table), True
        trees, additive = tree_games(estimator), is_additive(estimator)
        check_game(feature_perturbation, additive or trees is not None)
        if trees is not None:
            values = _explain_by_trees(*trees, table, groups, feature_perturbation)
        elif additive:
            values = less_query_means(additive_parts(estimator, table), groups)
        else:
            random, rows = check_random_state(random_state), row_values(table)
            values = np.zeros(table.shape)
            for query in range(groups.n_queries):
                members = groups.rows([query])
                for row in members.tolist():
                    others = members
                    if len(members) > n_others:
                        others, exact = random.choice(members, n_others, replace=False), False
                    values[row], is_exact = _mean_contributions(
                        estimator, table, rows, row, others.tolist(), n_orders, random
                    )
                    exact = exact and is_exact
    return RankingExplanation(names, values, scores, groups, exact)


def _explain_by_trees(
    games: TreeGames, encode: Encode, table: Any, groups: QueryGroups, feature_perturbation: str
) -> Float64Array:
    """Exact contributions to each row's score minus the mean score of its query."""
    rows = encode(table)
    if feature_perturbation == "tree_path_dependent":
        return less_query_means(games.path_dependent(rows), groups)
    starts, ends = groups.indptr[:-1], groups.indptr[1:]
    rows = groups.sort(rows)
    bounds = np.stack([starts, ends, starts, ends], axis=1)
    return groups.unsort(games.interventional(rows, rows, bounds))


def less_query_means(values: Float64Array, groups: QueryGroups) -> Float64Array:
    """Values of every row minus their mean over the rows of its query."""
    codes = groups.codes()
    sizes = np.bincount(codes, minlength=groups.n_queries)
    means = np.zeros((groups.n_queries, values.shape[1]))
    np.add.at(means, codes, values)
    return values - (means / np.maximum(sizes, 1)[:, None])[codes]


@names_its_class
def explain_scores(
    estimator: Any,
    X: Any,
    background: Any = None,
    *,
    feature_perturbation: Literal["auto", "interventional", "tree_path_dependent"] = "auto",
    n_orders: int = 10,
    random_state: Seed = 0,
) -> ScoreExplanation:
    """Contributions of the features to the score of every row (SHAP values).

    Parameters
    ----------
    estimator : fitted estimator
        A ranker, an ordinal estimator, or any regressor; also a pipeline.
    X : array-like, CSR or frame of shape (n_samples, n_features)
        Rows to explain.
    background : array-like, CSR or frame of shape (n_background, n_features), optional
        Rows that supply replacement values of features, for interventional values; usually 100
        rows of the training set.
    feature_perturbation : {"auto", "interventional", "tree_path_dependent"}, default="auto"
        Game whose Shapley values are computed, see Notes. "auto": "interventional" with a
        background, else "tree_path_dependent".
    n_orders : int, default=10
        Number of random orders of the features, if contributions are sampled.
    random_state : int, RandomState, Generator or None, default=0
        Seed for drawing the orders.

    Returns
    -------
    ScoreExplanation
        The ``values`` of a row add up to its score minus ``expected``.

    Raises
    ------
    TypeError
        If the estimator is a classifier without ordered classes, which has no scores to rank by.
    ValueError
        If path-dependent values are requested for a model without trees, or interventional values
        without a background.

    Notes
    -----
    The value of feature j of a row x with d features is
    ``sum_S |S|! (d - |S| - 1)! / d! (worth(S + j) - worth(S))`` over the sets S of other features.

    - "tree_path_dependent": worth(S) is the mean score if nodes that split by a feature outside S
      send x to both sides, weighted by their shares of the training rows [1]_. These are the values
      of LightGBM's ``pred_contrib``, XGBoost's ``pred_contribs`` and CatBoost's ``ShapValues``. The
      shares are those of rows, of second derivatives and of row weights, respectively. XGBoost adds
      in float32, so its own values differ in the sixth digit.
    - "interventional": worth(S) is the mean score of the background rows with the features in S
      taken from x [2]_. A feature that changes no score gets 0.

    Values are exact for every sum of trees and for additive models. Other models are explained
    against each background row as in :func:`explain_pair`. Trees: O(nodes D) per row for D features
    on the longest path, by quadrature of Owen's multilinear extension [3]_. Against a background:
    O(nodes) per row, plus the pairs of distinct sets of passing features per leaf.

    References
    ----------
    .. [1] Lundberg, Erion & Lee, "Consistent individualized feature attribution for tree
       ensembles", arXiv:1802.03888 (2018).
    .. [2] Lundberg et al., "From local explanations to global understanding with explainable AI
       for trees", Nature Machine Intelligence 2 (2020).
    .. [3] Owen, "Multilinear extensions of games", Management Science 18 (1972).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankingTree
    >>> from rankwise.explain import explain_scores
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0], [1.0, 1.0]])
    >>> tree = RankingTree(max_depth=2).fit(X, [0, 0, 1, 0, 0])
    >>> print(explain_scores(tree, X[2:3]))
    expected score 0.2
      row 0  score 1  x1 +0.45, x0 +0.35
    >>> explain_scores(tree, X[2:3], background=X).values
    array([[0.3, 0.5]])
    """
    check_scores(estimator)
    if feature_perturbation == "auto":
        is_path_dependent = background is None
        feature_perturbation = "tree_path_dependent" if is_path_dependent else "interventional"
    trees = tree_games(estimator)
    if feature_perturbation == "tree_path_dependent" and trees is None:
        raise ValueError(
            f"background must be given for {type(estimator).__name__}, which is not made of trees. "
            "Pass background=X_train[:100], or other rows to compare with."
        )
    check_game(feature_perturbation, trees is not None)
    table = convert_to_table(X)
    names = names_of(estimator, table)
    if trees is not None and feature_perturbation == "tree_path_dependent":
        games, encode = trees
        with convert_to_arrays(estimator, table) as (table,):
            scores, values = scores_of(estimator, table), games.path_dependent(encode(table))
        return ScoreExplanation(names, values, scores, games.expected_score(), True)
    if background is None:
        raise ValueError(
            "feature_perturbation='interventional' needs background rows, got None. Pass "
            "background=X_train[:100], or other rows to compare with."
        )
    others = convert_to_table(background)
    if others.shape[0] == 0:
        raise ValueError("background must have at least one row, got 0. Pass rows to compare with.")
    with convert_to_arrays(estimator, table, others) as (table, others):
        n, m = table.shape[0], others.shape[0]
        scores, exact = scores_of(estimator, table), True
        expected = float(scores_of(estimator, others).mean())
        if trees is not None:
            games, encode = trees
            bounds = np.array([[0, n, 0, m]])
            values = games.interventional(encode(table), encode(others), bounds)
        elif is_additive(estimator):
            parts = additive_parts(estimator, join(table, others))
            values = parts[:n] - parts[n:].mean(axis=0)
        else:
            random, joined = check_random_state(random_state), join(table, others)
            values, rows = np.zeros(table.shape), row_values(joined)
            for row in range(n):
                values[row], is_exact = _mean_contributions(
                    estimator, joined, rows, row, range(n, n + m), n_orders, random
                )
                exact = exact and is_exact
    return ScoreExplanation(names, values, scores, expected, exact)


@dataclass(frozen=True, eq=False)
class PairExplanation(Result):
    """Contributions of the features to the difference of two scores.

    Attributes
    ----------
    names : sequence of str
        Names of the features.
    values : ndarray of shape (n_features,), float64
        Contributions, which add up to ``score_a - score_b``.
    score_a, score_b : float
        Scores of the two rows.
    row_a, row_b : sequence
        Values of the features in the two rows.
    error : ndarray of shape (n_features,), or None
        Standard errors of sampled contributions; None if they are exact.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RidgeRanker
    >>> from rankwise.explain import explain_pair
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 2.0]])
    >>> ranker = RidgeRanker(alpha=1e-9).fit(X, [1, 4, 6, 2], qid=0)
    >>> print(explain_pair(ranker, X[2], X[0]))
    score 6 against 1: 5 above
    feature   contribution     A     B
    x0                  +3     1     0
    x1                  +2     3     1
    """

    _drawn = "contribution"

    names: Sequence[str]
    values: Float64Array
    score_a: float
    score_b: float
    row_a: Sequence[Any]
    row_b: Sequence[Any]
    error: Float64Array | None = None

    def order(self) -> Any:
        """Order of the features by absolute contribution, largest first."""
        return np.argsort(-np.abs(self.values), kind="stable")

    def _columns(self) -> dict[str, Any]:
        order = self.order().tolist()
        columns = {"feature": self.names, "contribution": self.values, "error": self.error}
        columns |= {"a": self.row_a, "b": self.row_b}
        return {n: [v[j] for j in order] for n, v in columns.items() if v is not None}

    def _heading(self) -> str:
        difference = self.score_a - self.score_b
        side = "above" if difference >= 0 else "below"
        return f"score {self.score_a:.4g} against {self.score_b:.4g}: {abs(difference):.4g} {side}"

    def __str__(self) -> str:
        lines = [self._heading()]
        order = [j for j in self.order().tolist() if self.values[j] != 0]
        width = max([len("feature"), *(len(self.names[j]) for j in order[:SHOWN])])
        sampled = "" if self.error is None else "        ±"
        lines.append(f"{'feature':<{width}}   contribution{sampled}     A     B")
        for j in order[:SHOWN]:
            error = "" if self.error is None else f" {self.error[j]:8.2g}"
            lines.append(
                f"{self.names[j]:<{width}} {self.values[j]:>+14.4g}{error}"
                f" {format_value(self.row_a[j]):>5} {format_value(self.row_b[j]):>5}"
            )
        rest = order[SHOWN:]
        if rest:
            lines.append(f"{len(rest)} others {self.values[rest].sum():+.4g}")
        return join_lines(lines)


@dataclass(frozen=True, eq=False)
class RankingExplanation(Result):
    """Contributions of the features to the scores of rows within their queries.

    Attributes
    ----------
    names : sequence of str
    values : ndarray of shape (n_samples, n_features), float64
        Contributions to a row's score minus the mean score of its query.
    scores : ndarray of shape (n_samples,)
    groups : QueryGroups
    exact : bool
        Whether the contributions are exact; otherwise they use some of the query's rows, or are
        sampled.
    """

    names: Sequence[str]
    values: Float64Array
    scores: Float64Array
    groups: QueryGroups
    exact: bool

    def ranks(self) -> Any:
        """1-based rank of every row within its query."""
        return self.groups.ranks(self.scores)

    def importances(self) -> Float64Array:
        """Mean absolute contribution of every feature, shape (n_features,)."""
        return np.abs(self.values).mean(axis=0)

    def _heading(self) -> str:
        n_rows, n_queries = len(self.scores), self.groups.n_queries
        return f"Contributions to the scores of {n_rows} rows in {n_queries} queries"

    def _contents(self) -> dict[str, Any]:
        values = super()._contents() | {"qid": self.groups.row_ids()}
        del values["groups"]
        return values

    def _columns(self) -> dict[str, Any]:
        ranks, qid = self.ranks(), self.groups.row_ids()
        rows = np.lexsort((ranks, self.groups.codes()))
        of_rows = {"query": qid, "rank": ranks, "row": np.arange(len(ranks)), "score": self.scores}
        of_rows = {name: values[rows] for name, values in of_rows.items()}
        return _list_contributions(of_rows, self.names, self.values[rows])

    def _first_rows(self, n: int) -> tuple[dict[str, Any], int]:
        ranks = self.ranks()
        rows = np.lexsort((ranks, self.groups.codes()))[:n]
        qid = self.groups.row_ids()[rows]
        of_rows = {"query": qid, "rank": ranks[rows], "row": rows, "score": self.scores[rows]}
        return of_rows | {_LARGEST: _list_largest(self.names, self.values[rows])}, len(ranks)

    def __str__(self) -> str:
        ranks = self.ranks()
        lines = []
        for query in range(min(SHOWN, self.groups.n_queries)):
            members = self.groups.rows([query])
            lines.append(f"query {self.groups.ids[query]}")
            for row in members[np.argsort(ranks[members])][:SHOWN].tolist():
                lines.append(
                    f"  {ranks[row]:>3}  row {row}  score {self.scores[row]:.4g}  "
                    + _largest(self.names, self.values[row])
                )
        if self.groups.n_queries > SHOWN:
            lines.append(f"{self.groups.n_queries - SHOWN} more queries: see to_frame()")
        return join_lines(lines)


@dataclass(frozen=True, eq=False)
class ScoreExplanation(Result):
    """Contributions of the features to the score of every row.

    Attributes
    ----------
    names : sequence of str
    values : ndarray of shape (n_samples, n_features), float64
        Contributions to a row's score minus ``expected``.
    scores : ndarray of shape (n_samples,)
    expected : float
        Score without any feature: its mean over the training rows, as stored in the trees, or over
        the background rows.
    exact : bool
        Whether the contributions are exact; otherwise they are sampled.
    """

    names: Sequence[str]
    values: Float64Array
    scores: Float64Array
    expected: float
    exact: bool

    def importances(self) -> Float64Array:
        """Mean absolute contribution of every feature, shape (n_features,)."""
        return np.abs(self.values).mean(axis=0)

    def _columns(self) -> dict[str, Any]:
        of_rows = {"row": np.arange(len(self.scores)), "score": self.scores}
        return _list_contributions(of_rows, self.names, self.values)

    def _first_rows(self, n: int) -> tuple[dict[str, Any], int]:
        largest = _list_largest(self.names, self.values[:n])
        of_rows = {"row": np.arange(len(largest)), "score": self.scores[:n]}
        return of_rows | {_LARGEST: largest}, len(self.scores)

    def _heading(self) -> str:
        return f"expected score {self.expected:.4g}"

    def __str__(self) -> str:
        lines = [self._heading()]
        for row in range(min(SHOWN, len(self.scores))):
            lines.append(
                f"  row {row}  score {self.scores[row]:.4g}  "
                + _largest(self.names, self.values[row])
            )
        return join_lines(lines)


def _list_contributions(
    of_rows: dict[str, Any], names: Sequence[str], values: Float64Array
) -> dict[str, Any]:
    """Columns of a table with a row for every row and feature, largest contributions first."""
    order = np.argsort(-np.abs(values), axis=1, kind="stable")
    columns = {name: np.repeat(column, values.shape[1]) for name, column in of_rows.items()}
    features = np.array(names, dtype=object)[order].ravel()
    contributions = np.take_along_axis(values, order, axis=1).ravel()
    return columns | {"feature": features, "contribution": contributions}


_LARGEST = "largest contributions"


def _list_largest(names: Sequence[str], values: Float64Array) -> list[str]:
    return [_largest(names, row).strip() for row in values]


def _largest(names: Sequence[str], values: Float64Array) -> str:
    """The three largest contributions of a row."""
    order = np.argsort(-np.abs(values), kind="stable")[:3].tolist()
    return ", ".join(f"{names[j]} {values[j]:+.3g}" for j in order if values[j] != 0)


def format_value(value: Any) -> str:
    """Value of a feature as text, with four significant digits."""
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
