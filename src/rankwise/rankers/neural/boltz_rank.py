"""BoltzRank: networks that maximise the expected measure of a random ranking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from rankwise.checks.parameter_constraints import (
    NOT_NEGATIVE,
    POSITIVE,
    Interval,
    StrOptions,
    minimum,
)
from rankwise.checks.rows import check_rows
from rankwise.groups import QueryGroups
from rankwise.metrics import parse
from rankwise.metrics.measure import MEASURE_KINDS, MeasureLike
from rankwise.rankers.boosting.measure_ranker import AdaRank
from rankwise.rankers.neural.neural_ranker import ACTIVATIONS, NeuralRanker, first_layers, outputs
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.structure.state_rules import Number, Rule, integers
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Int64Array, Matrix, Seed

if TYPE_CHECKING:
    from rankwise.rankers.neural.training import Objective

_VALUES_PER_BLOCK = 2**22
_N_POINTWISE = 4  # arrays of the pointwise network, before those of the pairwise network


class BoltzRank(NeuralRanker):
    """Networks that maximise the expected measure of a random ranking (BoltzRank).

    Minimises ``(1/Q) sum_q loss_q + lam |W|^2 / 2``: a mean of losses over the Q queries (defined
    in the notes) plus a penalty on the weights W of all layers. Intercepts are not penalised.

    Parameters
    ----------
    n_nodes : int >= 1, default=10
        Number of hidden nodes of the pointwise network.
    n_pair_nodes : int >= 0, default=0
        Number of hidden nodes of the pairwise network, whose outputs are summed over the other rows
        of the query. 0: no pairwise network. With a pairwise network, scores depend on the query,
        and ``predict`` needs ``qid``.
    pair_reduction : {"sum", "mean"}, default="sum"
        Whether outputs of the pairwise network are summed over the other rows, as in [1]_, or
        averaged. A sum is divided by ``pair_scale_``, which only rescales the output weights.
    objective : str, Measure or callable, default="nDCG@10"
        Measure whose expectation is maximised, for instance "ERR", see
        :func:`rankwise.metrics.parse`.
    kl_weight : float >= 0, default=0.003
        Weight of the Kullback-Leibler divergence from the distribution defined by the labels. The
        divergence grows with the number of rows of a query, the expected measure does not.
    n_rankings : int >= 3, default=50
        Number of rankings drawn for a query in every step. If a query has no more rankings than
        would be drawn from the model, all its rankings are used instead.
    gold_share : float in (0, 1), default=0.2
        Share of the rankings drawn from the distribution of the labels, used for the divergence
        only. The others are drawn from the model. Not used if ``kl_weight`` is 0.
    slope : float > 0, default=1.0
        Slope of the distance function: the energy of a pair t ranks apart is ``slope * t`` times
        its score difference.
    n_features : int >= 1, optional
        Number of features to train on, selected by AdaRank on ``objective`` as in [2]_.
    features : array-like of int, optional
        Columns to train on. None: all columns, or those selected by ``n_features``.
    activation : {"relu", "sigmoid", "tanh"}, default="tanh"
        Activation function of the hidden nodes.
    n_epochs : int >= 1, default=50
        Number of passes over all queries.
    batch_size : int >= 1, default=16
        Number of queries for each gradient step.
    optimizer : {"adam", "sgd"}, default="adam"
        Optimizer of torch.
    learning_rate_init : float > 0, default=0.01
        Step size of the optimizer, constant over all epochs, as in scikit-learn's ``MLPRegressor``.
    lam : float >= 0, default=0.0
        Penalty added to the MEAN of the losses of the queries: ``lam / 2`` times the sum of the
        squared weights; intercepts are not penalised.
    scaling : bool, default=True
        Whether to scale each feature to mean 0 and variance 1 over the training rows.
    measure : str, Measure or callable, default="nDCG@10"
        Measure evaluated on X_val after every epoch.
    early_stopping_rounds : int >= 1, optional
        Used only if ``fit`` receives X_val: stop after this many epochs without improvement and
        keep the weights of the best.
    device : str, default="cpu"
        Torch device for training, such as "cpu", "cuda" or "cuda:1". Scores are computed with
        NumPy.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the initial weights, the order of the queries and the drawn rankings.

    Attributes
    ----------
    selected_features_ : ndarray of int
        Columns that the networks use.
    weights_ : list of ndarray, float64
        Weights and intercepts of the pointwise network. For the pairwise network, the weights of
        the row itself, the weights of the other row, the intercepts and the output weights follow.
    shift_, scale_ : ndarray of shape (n_selected,)
        Offset subtracted from each selected feature, and divisor of the difference.
    loss_curve_ : ndarray of shape (n_epochs_run,)
        Mean loss of the queries in every epoch; the loss of a batch is taken before its step. If
        rankings are drawn, the divergence omits a difference of entropies, see the notes.
    pair_scale_ : float
        Mean number of other rows in a training query, at least 1.
    n_epochs_ : int
        Number of epochs after which the kept weights were reached.
    validation_scores_ : ndarray of shape (n_epochs_run,)
        ``measure`` on X_val after every epoch. Only if X_val was given.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    The ranks r (1 = top) of the m rows of a query have the energy
    ``E(r|s) = 2 / (m (m - 1)) sum over r_i > r_j of g(r_i - r_j) (s_i - s_j)``, with
    ``g(t) = slope t``, and the probability ``P(r|s) = exp(-E) / Z``. A row ranked below a row with
    a smaller score increases the energy. Scores are
    ``s_i = f(x_i) + sum over the other rows j of h(x_i, x_j)``, with networks f and h of one hidden
    layer each. The loss of a query is
    ``kl_weight KL(P(.|labels) || P(.|s)) - sum_r P(r|s) objective(r)``.

    For queries of at most 4 rows (by default), all rankings are summed. For other queries, a set of
    rankings is drawn in every step from ``P(.|s)`` at the current scores by Gibbs sampling, and
    weighted by the inverse of the sampling density. At the current scores all weights are equal,
    and the gradient of the expectation equals that over all rankings: minus the covariance of the
    objective and the ranks.

    Differs from [1]_, which uses a fixed set of rankings around the orders by label and by score,
    without these weights. Such a set has a different optimum: it contains good rankings around the
    labels even if their probability is small, and equal probabilities give them a large share. With
    a fifth of the set around the labels, zero scores had a larger expected nDCG@10 than the scores
    of ridge regression, so training shrank the scores and lost their order.

    The gradient of the divergence equals that of ``E_labels[E(r|s)] - E_s[E(r|s)]`` with fixed
    rankings. E is linear in the ranks, so only the expected rank of each row under ``P(.|labels)``
    is needed. For queries with drawn rankings, ``loss_curve_`` contains this difference instead of
    the divergence; the two differ by ``H(P(.|s)) - H(P(.|labels))``.

    Defaults were chosen by nDCG@10 on validation data only: of "lambdarank" of
    :func:`rankwise.datasets.load_dataset`, of 120 users of MovieLens 100k as queries, and of 70
    synthetic queries of 100 rows. The candidates, with 15 nodes, 60 epochs and one seed, were
    slopes of 1 and 10; ``kl_weight`` of 0, 0.001, 0.003 and 0.01; Adam at 0.003 and 0.01; and SGD
    at 0.1. The differences were small. ``n_nodes``, ``n_rankings`` and ``gold_share`` were not
    varied.

    The sum over pairs is a multiple of ``sum_i (r_i - (m + 1) / 2) s_i``, so a ranking costs O(m
    log m). The pairwise network costs O(m^2) time and memory for each query. Labels that are not
    whole grades from 0 to 30 are first mapped linearly onto 0 to 4.

    Rows are first sorted by their content, so the order of the training rows does not change the
    weights. On the CPU, equal seeds give bit-identical results. Training is in float64 on one
    thread. Loading and predicting do not need torch.

    Rankings are drawn of whole rows: a row of weight w is passed w times, so ``sample_weight`` must
    hold whole numbers. Queries keep equal weight, whatever the weights of their rows.

    Composition: expected measure of Boltzmann-distributed rankings x pointwise and pairwise nodes x
    gradient steps.

    References
    ----------
    .. [1] Volkovs & Zemel, "BoltzRank: learning to maximize expected ranking gain", ICML 2009.
    .. [2] Lin, "Design and analysis of ranking algorithms", project report NSC 98-2221-E-002-192,
       National Taiwan University (2010), section 7: feature selection by AdaRank.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import BoltzRank
    >>> X = np.random.default_rng(0).normal(size=(120, 3))
    >>> y, qid = (X[:, 0] > 0.5).astype(int), np.arange(120) % 10
    >>> ranker = BoltzRank(n_epochs=20, n_features=1, random_state=0).fit(X, y, qid=qid)
    >>> ranker.selected_features_
    array([0])
    >>> ranker.score(X, y, qid=qid) > 0.95
    True
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "selected_features_": integers("n_inputs", low=0, below="n_features_in_"),
        "pair_scale_": Number(low=1),
    }

    __metadata_request__predict: ClassVar[dict[str, bool]] = {"qid": True}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NeuralRanker._parameter_constraints,
        "n_nodes": [minimum(1)],
        "n_pair_nodes": [minimum(0)],
        "pair_reduction": [StrOptions({"mean", "sum"})],
        "objective": MEASURE_KINDS,
        "kl_weight": [NOT_NEGATIVE],
        "n_rankings": [minimum(3)],
        "gold_share": [Interval(Real, 0, 1, closed="neither")],
        "slope": [POSITIVE],
        "n_features": [minimum(1), None],
        "features": ["array-like", None],
    }
    _ranks_copies: ClassVar[bool] = True
    selected_features_: Int64Array
    pair_scale_: float

    def __init__(
        self,
        n_nodes: int = 10,
        *,
        n_pair_nodes: int = 0,
        pair_reduction: Literal["sum", "mean"] = "sum",
        objective: MeasureLike = "nDCG@10",
        kl_weight: float = 0.003,
        n_rankings: int = 50,
        gold_share: float = 0.2,
        slope: float = 1.0,
        n_features: int | None = None,
        features: ArrayLike | None = None,
        activation: Literal["relu", "sigmoid", "tanh"] = "tanh",
        n_epochs: int = 50,
        batch_size: int = 16,
        optimizer: Literal["adam", "sgd"] = "adam",
        learning_rate_init: float = 0.01,
        lam: float = 0.0,
        scaling: bool = True,
        measure: MeasureLike = "nDCG@10",
        early_stopping_rounds: int | None = None,
        device: str = "cpu",
        random_state: Seed = None,
    ) -> None:
        self.n_nodes = n_nodes
        self.n_pair_nodes = n_pair_nodes
        self.pair_reduction = pair_reduction
        self.objective = objective
        self.kl_weight = kl_weight
        self.n_rankings = n_rankings
        self.gold_share = gold_share
        self.slope = slope
        self.n_features = n_features
        self.features = features
        self.activation = activation
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.learning_rate_init = learning_rate_init
        self.lam = lam
        self.scaling = scaling
        self.measure = measure
        self.early_stopping_rounds = early_stopping_rounds
        self.device = device
        self.random_state = random_state

    def predict(self, X: FrameLike, *, qid: ArrayLike | QueryGroups | None = None) -> Float64Array:
        """Score of every row, shape (n_samples,), float64; higher ranks higher.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        qid : array-like of shape (n_samples,), optional
            Query of each row, used only by a pairwise network. None: all rows form one query.
        """
        check_is_fitted(self)
        X = check_rows(self, X)
        return self._scores(X, QueryGroups.from_qid(qid, X.shape[0]), self.weights_)

    def _n_inputs(self) -> int:
        return len(self.selected_features_)

    def _predict_within(self, X: FrameLike, qid: ArrayLike | QueryGroups | None) -> Float64Array:
        return self.predict(X, qid=qid)

    def _check_parameters(self) -> None:
        if parse(self.objective).reads_labels:
            raise ValueError(
                f"objective must be a measure of rankings, got {self.objective!r}, a measure of "
                "predicted labels. Use for example 'nDCG@10' or 'ERR'."
            )
        if self.features is None:
            return
        if self.n_features is not None:
            raise ValueError(
                f"n_features must be None if features are given, got {self.n_features}. "
                "Remove one of the two."
            )
        features = np.asarray(self.features)
        inside = features.ndim == 1 and features.dtype.kind in "iu" and features.size > 0
        if not inside or features.min() < 0 or features.max() >= self.n_features_in_:
            raise ValueError(
                f"features must hold column numbers from 0 to {self.n_features_in_ - 1}, got "
                f"{self.features!r}."
            )

    def _set_input(
        self, X: Matrix, labels: Float64Array, indptr: Int64Array, weight: Float64Array | None
    ) -> None:
        self.pair_scale_ = max(1.0, float(np.diff(indptr).mean()) - 1.0)
        if self.n_features is not None:
            selector = AdaRank(self.objective, n_features_to_select=self.n_features)
            groups = QueryGroups(indptr, None, ids=np.arange(len(indptr) - 1))
            self.selected_features_ = selector.fit(X, labels, qid=groups).selected_features_
        elif self.features is not None:
            self.selected_features_ = np.array(self.features, dtype=np.int64)
        else:
            self.selected_features_ = np.arange(self.n_features_in_)
        super()._set_input(X[:, self.selected_features_], labels, indptr, weight)

    def _first_weights(self, rng: np.random.RandomState) -> list[Float64Array]:
        n_inputs = len(self.selected_features_)
        weights = first_layers([n_inputs, self.n_nodes, 1], rng)
        if self.n_pair_nodes:
            weights += first_pair_layers(n_inputs, self.n_pair_nodes, rng)
        return weights

    def _prepare(self, X: Matrix) -> Float64Array:
        return super()._prepare(X[:, self.selected_features_])

    def _objective(self, graded: bool, rng: np.random.RandomState) -> Objective:
        from rankwise.rankers.neural.boltzmann import (
            boltz_rank,
            expect_judged_ranks,
            sample_rankings,
        )
        from rankwise.rankers.neural.training import torch

        measure, activation = parse(self.objective), getattr(torch, self.activation)
        n_judged = 0
        if self.kl_weight:  # at least two rankings remain for the expectation
            n_judged = min(max(1, round(self.gold_share * self.n_rankings)), self.n_rankings - 2)

        def value(weights: list[Any], X: Any, labels: Any, indptr: Int64Array, _: None) -> Any:
            scores = outputs(X, weights[:_N_POINTWISE], activation)
            if self.n_pair_nodes:
                parts = self._pair_parts(X, indptr, weights, activation)
                scores = scores + torch.cat(list(parts))
            grades, now = labels.cpu().numpy(), scores.detach().cpu().numpy()
            drawn = sample_rankings(now, indptr, self.n_rankings - n_judged, rng, self.slope)
            judged = (
                expect_judged_ranks(grades, drawn, n_judged, rng, self.slope) if n_judged else None
            )
            return boltz_rank(
                scores,
                drawn,
                drawn.measured(measure, grades),
                judged,
                slope=self.slope,
                kl_weight=self.kl_weight,
            )

        return value

    def _scores(
        self, X: Matrix, groups: QueryGroups, weights: Sequence[Float64Array]
    ) -> Float64Array:
        scores = super()._scores(X, groups, weights[:_N_POINTWISE])
        if self.n_pair_nodes and len(scores):
            activation = ACTIVATIONS[self.activation]
            inputs = groups.sort(self._prepare(X))
            parts = self._pair_parts(inputs, groups.indptr, weights, activation)
            scores = scores + groups.unsort(np.concatenate(list(parts)))
        return scores

    def _pair_parts(
        self, X: Any, indptr: Int64Array, weights: Sequence[Any], activation: Callable[[Any], Any]
    ) -> Iterator[Any]:
        """Output of the pairwise network in blocks of rows."""
        for lo, hi in pairwise(indptr.tolist()):
            n_others = self.pair_scale_ if self.pair_reduction == "sum" else max(1, hi - lo - 1)
            for part in pair_outputs(X[lo:hi], weights[_N_POINTWISE:], activation):
                yield part / n_others


def first_pair_layers(
    n_inputs: int, n_nodes: int, rng: np.random.RandomState
) -> list[Float64Array]:
    """Initial weights of a pairwise network with one hidden layer, see :func:`first_layers`.

    Returns weights of the row itself and of the other row, each (n_inputs, n_nodes); intercepts
    (n_nodes,); output weights (n_nodes, 1).
    """
    both, intercepts, output, _ = first_layers([2 * n_inputs, n_nodes, 1], rng)
    return [both[:n_inputs], both[n_inputs:], intercepts, output]


def pair_outputs(X: Any, weights: Sequence[Any], activation: Callable[[Any], Any]) -> Iterator[Any]:
    """Sum over the other rows j of ``w . act(A x_i + B x_j + b)``, in blocks of rows i.

    m rows cost O(m^2 n_nodes).
    """
    own, other, intercepts, output = weights
    at_own, at_other = X @ own + intercepts, X @ other
    step = max(1, _VALUES_PER_BLOCK // (len(X) * len(intercepts)))
    for first in range(0, len(X), step):
        rows = slice(first, first + step)
        pairs = activation(at_own[rows, None, :] + at_other[None, :, :]).sum(1)
        itself = activation(at_own[rows] + at_other[rows])
        yield ((pairs - itself) @ output)[:, 0]
