"""Networks that score single rows: their base, RankNet, LambdaRank, ListNet and ListMLE.

``h_0 = x``, ``h_k = act(h_{k-1} W_k + b_k)``, and the last layer has one node and no activation.
The same function works on NumPy arrays and torch tensors. Only the losses and the training, in
:mod:`~rankwise.rankers.neural.training`, need torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from rankwise.base import Ranker
from rankwise.checks.column_sizes import SATURATED_NETWORK
from rankwise.checks.parameter_constraints import NOT_NEGATIVE, POSITIVE, StrOptions, minimum
from rankwise.checks.rows import check_fit, check_rows, check_validation, repeat_rows
from rankwise.groups import QueryGroups
from rankwise.losses.lambda_gradients import check_total
from rankwise.metrics import parse
from rankwise.metrics.measure import MEASURE_KINDS, MeasureLike
from rankwise.rankers.training_log import Callback, EvalResult, TrainingLog, evaluations
from rankwise.row_order import canonical_order, merge_in_order
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.solvers.boosting.measure_search import LabelScale
from rankwise.solvers.boosting.rounds import StagedMeasure
from rankwise.structure.state_rules import (
    Array,
    Many,
    Number,
    Plain,
    Rule,
    Sometimes,
    floats,
    forget,
    require,
)
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Int64Array, Matrix, Seed, densify

if TYPE_CHECKING:
    from rankwise.rankers.neural.training import Objective


# From scores, labels, indptr and weights (None: all 1) to one value per query.
Loss = Callable[[Any, Any, Int64Array, Any], Any]
_CHUNK = 4096  # rows at a time


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": lambda values: np.maximum(values, 0.0),
    "sigmoid": lambda values: 0.5 * (1.0 + np.tanh(0.5 * values)),  # without overflow
    "tanh": np.tanh,
}


class NeuralRanker(Ranker):
    """Base of the rankers that compute scores by a neural network.

    A subclass defines ``_loss``, or overrides ``_first_weights``, ``_objective`` and ``_scores``.
    """

    n_epochs_: int

    _structure: ClassVar[dict[str, Rule]] = {
        "shift_": floats("n_inputs"),
        "scale_": floats("n_inputs"),
        "weights_": Many(Array(None)),
        "loss_curve_": Plain(),
        "n_epochs_": Number("i", low=0),
        "validation_scores_": Sometimes(Plain()),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "hidden_layer_sizes": ["array-like", minimum(1)],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "n_epochs": [minimum(1)],
        "batch_size": [minimum(1)],
        "optimizer": [StrOptions({"adam", "sgd"})],
        "learning_rate_init": [POSITIVE],
        "lam": [NOT_NEGATIVE],
        "scaling": ["boolean"],
        "measure": MEASURE_KINDS,
        "early_stopping_rounds": [minimum(1), None],
        "device": [str],
        "random_state": ["random_state"],
    }
    _ranks_copies: ClassVar[bool] = False  # whether the loss takes whole rows only, no weights
    _weighs_ranks: ClassVar[bool] = False  # whether a weight is a number of ranks
    n_features_in_: int
    weights_: list[Float64Array]
    n_epochs_: int
    loss_curve_: Float64Array
    validation_scores_: Float64Array

    def __init__(
        self,
        hidden_layer_sizes: Sequence[int] | int = (32,),
        *,
        activation: Literal["relu", "sigmoid", "tanh"] = "relu",
        n_epochs: int = 50,
        batch_size: int = 16,
        optimizer: Literal["adam", "sgd"] = "adam",
        learning_rate_init: float = 0.01,
        lam: float = 1e-4,
        scaling: bool = True,
        measure: MeasureLike = "nDCG@10",
        early_stopping_rounds: int | None = None,
        device: str = "cpu",
        random_state: Seed = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
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

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | QueryGroups | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool | int = False,
    ) -> Self:
        """Train on rows with relevance labels.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Any finite numbers; larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row, of any dtype and in any order. None: all rows form one query.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0. A row of weight w counts as w equal rows, see the notes.
        X_val, y_val, qid_val : optional
            Validation rows, on which ``measure`` is evaluated after every epoch.
        callbacks : list of callable, optional
            Functions of a :class:`rankwise.rankers.CallbackEnv`, called after every epoch in the
            form of LightGBM's callbacks. One that raises
            :class:`rankwise.rankers.EarlyStopException` ends the training; any other exception
            leaves the estimator as it was.
        verbose : bool or int >= 0, default=False
            Print the loss, and ``measure`` on X_val, after every epoch (True), or after every so
            many.

        Returns
        -------
        self

        Raises
        ------
        ImportError
            If torch is not installed.
        ValueError
            If an input is invalid (the message names it), or if the loss is no longer finite.
        """
        self._validate_params()
        log = TrainingLog(self, callbacks, verbose, 0, self.n_epochs)
        forget(self)
        limit = None if self.scaling else SATURATED_NETWORK
        data = check_fit(self, X, y, qid, sample_weight, column_limit=limit)
        if self._ranks_copies:
            data = repeat_rows(data, type(self).__name__)
        validation = check_validation(self, data, X_val, y_val, qid_val)
        measure = parse(self.measure)
        self._check_parameters()
        from rankwise.rankers.neural.training import train  # imports torch

        self._set_score_name(data.y)
        rng = check_random_state(self.random_state)
        if self._ranks_copies:
            order, sizes = canonical_order(data.X, data.y, data.groups)
            indptr, weight = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), None
        else:
            # A gradient step follows the last digits of a sum, so copies are added up before.
            order, indptr, weight = merge_in_order(data.X, data.y, data.groups, data.sample_weight)
        if weight is not None and self._weighs_ranks:
            check_total(weight, np.add.reduceat(weight, indptr[:-1]))
        scale = LabelScale.of(data.y, parse("nDCG"))
        rows, labels = data.X[order], scale(data.y[order])
        self._set_input(rows, labels, indptr, weight)
        staged, held_X, held_groups = None, rows, QueryGroups.single(0)
        if validation is not None:
            held_X, held_groups = validation.X, validation.groups
            y_held = LabelScale.of(data.y, measure)(validation.y)
            staged = StagedMeasure(measure, y_held, held_groups)

        def publish(weights: list[Float64Array], losses: list[float], n_epochs: int) -> Self:
            self.weights_, self.loss_curve_, self.n_epochs_ = weights, np.array(losses), n_epochs
            if staged is not None:
                self.validation_scores_ = np.array(staged.values)
            return self

        def watch(weights: list[Float64Array], losses: list[float]) -> int | None:
            results = [EvalResult("training", "loss", losses[-1], False)]
            if staged is not None:
                results += evaluations(self.measure, measure, staged.values)
            epoch = len(losses)
            return log(epoch - 1, results, lambda: publish(weights, losses, epoch))

        found = train(
            self,
            self._objective(scale.low is None, rng),
            self._first_weights(rng),
            rows,
            labels,
            weight,
            indptr,
            rng,
            staged,
            partial(self._scores, held_X, held_groups),
            watch if log else None,
        )
        return publish(*found)

    def predict(self, X: FrameLike) -> Float64Array:
        """Score of every row, shape (n_samples,), float64; higher ranks higher."""
        check_is_fitted(self)
        X = check_rows(self, X)
        return self._scores(X, QueryGroups.single(X.shape[0]), self.weights_)

    def _check_structure(self) -> None:
        n_inputs, shapes = self._n_inputs(), [weights.shape for weights in self.weights_]
        require(len(self.shift_) == n_inputs, "shift_", f"have {n_inputs} entries",
                len(self.shift_))  # fmt: skip
        require((self.scale_ > 0).all(), "scale_", "be > 0", self.scale_)
        # Only the shapes of these drawn weights are used.
        drawn = self._first_weights(np.random.RandomState(0))
        expected = [weights.shape for weights in drawn]
        require(shapes == expected, "weights_", f"have shapes {expected}", shapes)

    def _n_inputs(self) -> int:
        """Number of input columns of the network."""
        return int(self.n_features_in_)

    def _loss(self, graded: bool) -> Loss:
        """Loss function. ``graded``: whether labels are whole grades from 0 to 30."""
        raise NotImplementedError

    def _objective(self, graded: bool, rng: np.random.RandomState) -> Objective:
        """Loss of every query of a batch under the given weights."""
        from rankwise.rankers.neural.training import torch

        loss, activation = self._loss(graded), getattr(torch, self.activation)

        def value(weights: list[Any], X: Any, *judged: Any) -> Any:
            return loss(outputs(X, weights, activation), *judged)

        return value

    def _check_parameters(self) -> None:
        """Raise if a parameter violates a rule that the constraints cannot express."""
        if any(not isinstance(size, Integral) or size < 1 for size in self._sizes()):
            raise ValueError(
                f"hidden_layer_sizes must hold integers >= 1, got {self.hidden_layer_sizes!r}. "
                "Pass () for a linear function."
            )

    def _sizes(self) -> list[Any]:
        return np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=object)).tolist()

    def _first_weights(self, rng: np.random.RandomState) -> list[Float64Array]:
        """Initial weights, computed after the inputs are set."""
        return first_layers([len(self.shift_), *map(int, self._sizes()), 1], rng)

    def _set_input(
        self, X: Matrix, labels: Float64Array, indptr: Int64Array, weight: Float64Array | None
    ) -> None:
        """Set mean and spread of the features, computed in chunks of rows."""
        self.shift_, self.scale_ = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if self.scaling:
            chunks = [slice(lo, lo + _CHUNK) for lo in range(0, X.shape[0], _CHUNK)]
            total = X.shape[0] if weight is None else weight.sum()

            def mean(terms: Callable[[Float64Array], Float64Array]) -> Float64Array:
                found = np.zeros(X.shape[1])
                for rows in chunks:
                    values = terms(_dense(X[rows]))
                    found += (values if weight is None else weight[rows, None] * values).sum(0)
                return found / total

            self.shift_: Float64Array = mean(lambda values: values)
            spread = np.sqrt(mean(lambda values: (values - self.shift_) ** 2))
            varies = spread > 1e-12 * np.abs(self.shift_)
            self.scale_: Float64Array = np.where(varies, spread, 1.0)

    def _prepare(self, X: Matrix) -> Float64Array:
        """Inputs of the network, shape (n_samples, n_inputs)."""
        return (_dense(X) - self.shift_) / self.scale_

    def _scores(
        self, X: Matrix, groups: QueryGroups, weights: Sequence[Float64Array]
    ) -> Float64Array:
        """Scores of checked rows, in input order."""
        activation = ACTIVATIONS[self.activation]
        parts = [
            outputs(self._prepare(X[lo : lo + _CHUNK]), weights, activation)
            for lo in range(0, X.shape[0], _CHUNK)
        ]
        return np.concatenate(parts)


def _dense(X: Matrix) -> Float64Array:
    return densify(X).astype(np.float64)


def first_layers(sizes: Sequence[int], rng: np.random.RandomState) -> list[Float64Array]:
    """Initial weights, uniform within ``+-sqrt(6 / (n_in + n_out))``; intercepts are 0.

    ``sizes`` are the numbers of nodes of the layers, from the inputs to the outputs. The list
    holds weights (n_in, n_out) and intercepts (n_out,) of each layer in turn. The limit is equation
    16 of Glorot & Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", AISTATS 2010.
    """
    weights = []
    for n_in, n_out in pairwise(sizes):
        bound = np.sqrt(6.0 / (n_in + n_out))
        weights += [rng.uniform(-bound, bound, (n_in, n_out)), np.zeros(n_out)]
    return weights


def outputs(X: Any, weights: Sequence[Any], activation: Callable[[Any], Any]) -> Any:
    """Output for every row, shape (n_samples,); costs O(n_samples) times the number of weights."""
    hidden = X
    for layer in range(0, len(weights) - 2, 2):
        hidden = activation(hidden @ weights[layer] + weights[layer + 1])
    return (hidden @ weights[-2] + weights[-1])[:, 0]


class RankNet(NeuralRanker):
    """Network trained on the pairs of each query by logistic loss (RankNet).

    Minimises ``(1/Q) sum_q loss_q + lam |W|^2 / 2``: a mean of losses over the Q queries (defined
    in the notes) plus a penalty on the weights W of all layers. Intercepts are not penalised.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int >= 1, default=(32,)
        Number of nodes of each hidden layer. (): a linear function.
    activation : {"relu", "sigmoid", "tanh"}, default="relu"
        Activation function of the hidden nodes.
    n_epochs : int >= 1, default=50
        Number of passes over all queries.
    batch_size : int >= 1, default=16
        Number of queries for each gradient step.
    optimizer : {"adam", "sgd"}, default="adam"
        Optimizer of torch.
    learning_rate_init : float > 0, default=0.01
        Step size of the optimizer, constant over all epochs, as in scikit-learn's ``MLPRegressor``.
    lam : float >= 0, default=1e-4
        Penalty added to the MEAN of the losses of the queries: ``lam / 2`` times the sum of the
        squared weights; intercepts are not penalised.
    scaling : bool, default=True
        Whether to scale each feature to mean 0 and variance 1 over the training rows.
    measure : str, Measure or callable, default="nDCG@10"
        Measure evaluated on X_val after every epoch, see :func:`rankwise.metrics.parse`.
    early_stopping_rounds : int >= 1, optional
        Used only if ``fit`` receives X_val: stop after this many epochs without improvement and
        keep the weights of the best.
    device : str, default="cpu"
        Torch device for training, such as "cpu", "cuda" or "cuda:1". Scores are computed with
        NumPy.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the initial weights and of the order of the queries.

    Attributes
    ----------
    weights_ : list of ndarray, float64
        Weights of shape (n_in, n_out) and intercepts of shape (n_out,) of each layer.
    shift_, scale_ : ndarray of shape (n_features_in_,)
        Offset subtracted from each feature, and divisor of the difference.
    loss_curve_ : ndarray of shape (n_epochs_run,)
        Mean loss of the queries in every epoch; the loss of a batch is taken before its step.
    n_epochs_ : int
        Number of epochs after which the kept weights were reached.
    validation_scores_ : ndarray of shape (n_epochs_run,)
        ``measure`` on X_val after every epoch. Only if X_val was given.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    The loss of a query is the mean of ``log(1 + exp(-(s_i - s_j)))`` over its pairs with y_i > y_j,
    and all queries have equal weight. A query of m rows needs O(m^2) time and memory. For large
    queries with few grades use ListNet, or RankLR, which sums over pairs without listing them.

    Differs from [1]_: pairs of equal labels are left out, and all queries have equal weight.

    Rows are first sorted by their content, so the order of the training rows does not change the
    weights. On the CPU, equal seeds give bit-identical results. Training is in float64 on one
    thread. Loading and predicting do not need torch.

    A pair of rows of weights v and w counts as v w pairs, and equal rows of a query are merged, so
    a weight is bit-identical to repetition. Queries keep equal weight, whatever the weights of
    their rows.

    Composition: logistic loss of pairs of distinct labels x layers of nodes x gradient steps.

    References
    ----------
    .. [1] Burges et al., "Learning to rank using gradient descent", ICML 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankNet
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y, qid = (X[:, 0] > 0.5).astype(int), np.arange(200) % 10
    >>> ranker = RankNet((8,), random_state=0).fit(X, y, qid=qid)
    >>> ranker.score(X, y, qid=qid) > 0.95
    True
    """

    def _loss(self, graded: bool) -> Loss:
        from rankwise.rankers.neural.training import rank_net

        return rank_net


class LambdaRank(NeuralRanker):
    """Network trained on pairs weighted by the nDCG change of swapping them (LambdaRank).

    Minimises ``(1/Q) sum_q loss_q + lam |W|^2 / 2``: a mean of losses over the Q queries (defined
    in the notes) plus a penalty on the weights W of all layers. Intercepts are not penalised.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int >= 1, default=(32,)
        Number of nodes of each hidden layer. (): a linear function.
    activation : {"relu", "sigmoid", "tanh"}, default="relu"
        Activation function of the hidden nodes.
    n_epochs : int >= 1, default=50
        Number of passes over all queries.
    batch_size : int >= 1, default=16
        Number of queries for each gradient step.
    optimizer : {"adam", "sgd"}, default="adam"
        Optimizer of torch.
    learning_rate_init : float > 0, default=0.01
        Step size of the optimizer, constant over all epochs, as in scikit-learn's ``MLPRegressor``.
    lam : float >= 0, default=1e-4
        Penalty added to the MEAN of the losses of the queries: ``lam / 2`` times the sum of the
        squared weights; intercepts are not penalised.
    scaling : bool, default=True
        Whether to scale each feature to mean 0 and variance 1 over the training rows.
    measure : str, Measure or callable, default="nDCG@10"
        Measure evaluated on X_val after every epoch, see :func:`rankwise.metrics.parse`.
    early_stopping_rounds : int >= 1, optional
        Used only if ``fit`` receives X_val: stop after this many epochs without improvement and
        keep the weights of the best.
    device : str, default="cpu"
        Torch device for training, such as "cpu", "cuda" or "cuda:1". Scores are computed with
        NumPy.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the initial weights and of the order of the queries.
    gain : {"auto", "exp2", "linear"}, default="auto"
        Gain of a label: ``2**y - 1``, or y. "auto": "exp2" for whole grades from 0 to 30, "linear"
        for all other labels.
    discount : {"log2", "letor", "reciprocal"}, default="log2"
        Discount of rank r. "log2": ``1 / log2(1 + r)``. "letor": 1 for r = 1 and ``1 / log2(r)``
        for later ranks. "reciprocal": ``1 / r``.
    k : int >= 1, optional
        Last rank that counts. None: all ranks count.

    Attributes
    ----------
    weights_ : list of ndarray, float64
        Weights of shape (n_in, n_out) and intercepts of shape (n_out,) of each layer.
    shift_, scale_ : ndarray of shape (n_features_in_,)
        Offset subtracted from each feature, and divisor of the difference.
    loss_curve_ : ndarray of shape (n_epochs_run,)
        Mean loss of the queries in every epoch; the loss of a batch is taken before its step.
    n_epochs_ : int
        Number of epochs after which the kept weights were reached.
    validation_scores_ : ndarray of shape (n_epochs_run,)
        ``measure`` on X_val after every epoch. Only if X_val was given.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    The gradient of a query is that of ``sum |change of nDCG| log(1 + exp(-(s_i - s_j)))`` over its
    pairs with y_i > y_j. The change of nDCG when rows i and j swap ranks is held fixed [1]_. Labels
    that are not whole grades from 0 to 30 are first mapped linearly onto 0 to 4. A query of m rows
    needs O(m^2) time and memory.

    Rows are first sorted by their content, so the order of the training rows does not change the
    weights. On the CPU, equal seeds give bit-identical results. Training is in float64 on one
    thread. Loading and predicting do not need torch.

    A row of weight w counts as w equal rows, which take w ranks, so weights are not relative. A
    fractional weight takes a fraction of a rank. Equal rows of a query are merged, so the result is
    bit-identical to that of repeated rows. Queries keep equal weight.

    Composition: logistic loss of pairs weighted by nDCG x layers of nodes x gradient steps.

    References
    ----------
    .. [1] Burges, "From RankNet to LambdaRank to LambdaMART: an overview", MSR-TR-2010-82, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import LambdaRank
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y, qid = (X[:, 0] > 0.5).astype(int), np.arange(200) % 10
    >>> ranker = LambdaRank((8,), random_state=0).fit(X, y, qid=qid)
    >>> ranker.score(X, y, qid=qid) > 0.95
    True
    """

    _weighs_ranks: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NeuralRanker._parameter_constraints,
        "gain": [StrOptions({"auto", "exp2", "linear"})],
        "discount": [StrOptions({"log2", "letor", "reciprocal"})],
        "k": [minimum(1), None],
    }

    def __init__(
        self,
        hidden_layer_sizes: Sequence[int] | int = (32,),
        *,
        activation: Literal["relu", "sigmoid", "tanh"] = "relu",
        n_epochs: int = 50,
        batch_size: int = 16,
        optimizer: Literal["adam", "sgd"] = "adam",
        learning_rate_init: float = 0.01,
        lam: float = 1e-4,
        scaling: bool = True,
        gain: Literal["auto", "exp2", "linear"] = "auto",
        discount: Literal["log2", "letor", "reciprocal"] = "log2",
        k: int | None = None,
        measure: MeasureLike = "nDCG@10",
        early_stopping_rounds: int | None = None,
        device: str = "cpu",
        random_state: Seed = None,
    ) -> None:
        super().__init__(
            hidden_layer_sizes, activation=activation, n_epochs=n_epochs, batch_size=batch_size,
            optimizer=optimizer, learning_rate_init=learning_rate_init, lam=lam, scaling=scaling,
            measure=measure, early_stopping_rounds=early_stopping_rounds, device=device,
            random_state=random_state,
        )  # fmt: skip
        self.gain = gain
        self.discount = discount
        self.k = k

    def _loss(self, graded: bool) -> Loss:
        from rankwise.rankers.neural import training as losses

        gain = {"auto": "exp2" if graded else "linear"}.get(self.gain, self.gain)
        return partial(
            losses.lambda_rank,
            gain=losses.GAINS[gain],
            discount=losses.DISCOUNTS[self.discount],
            cutoff=self.k,
        )


class ListNet(NeuralRanker):
    """Network trained to reproduce the top-one probabilities of the labels (ListNet).

    Minimises ``(1/Q) sum_q loss_q + lam |W|^2 / 2``: a mean of losses over the Q queries (defined
    in the notes) plus a penalty on the weights W of all layers. Intercepts are not penalised.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int >= 1, default=(32,)
        Number of nodes of each hidden layer. (): a linear function.
    activation : {"relu", "sigmoid", "tanh"}, default="relu"
        Activation function of the hidden nodes.
    n_epochs : int >= 1, default=50
        Number of passes over all queries.
    batch_size : int >= 1, default=16
        Number of queries for each gradient step.
    optimizer : {"adam", "sgd"}, default="adam"
        Optimizer of torch.
    learning_rate_init : float > 0, default=0.01
        Step size of the optimizer, constant over all epochs, as in scikit-learn's ``MLPRegressor``.
    lam : float >= 0, default=1e-4
        Penalty added to the MEAN of the losses of the queries: ``lam / 2`` times the sum of the
        squared weights; intercepts are not penalised.
    scaling : bool, default=True
        Whether to scale each feature to mean 0 and variance 1 over the training rows.
    measure : str, Measure or callable, default="nDCG@10"
        Measure evaluated on X_val after every epoch, see :func:`rankwise.metrics.parse`.
    early_stopping_rounds : int >= 1, optional
        Used only if ``fit`` receives X_val: stop after this many epochs without improvement and
        keep the weights of the best.
    device : str, default="cpu"
        Torch device for training, such as "cpu", "cuda" or "cuda:1". Scores are computed with
        NumPy.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the initial weights and of the order of the queries.

    Attributes
    ----------
    weights_ : list of ndarray, float64
        Weights of shape (n_in, n_out) and intercepts of shape (n_out,) of each layer.
    shift_, scale_ : ndarray of shape (n_features_in_,)
        Offset subtracted from each feature, and divisor of the difference.
    loss_curve_ : ndarray of shape (n_epochs_run,)
        Mean loss of the queries in every epoch; the loss of a batch is taken before its step.
    n_epochs_ : int
        Number of epochs after which the kept weights were reached.
    validation_scores_ : ndarray of shape (n_epochs_run,)
        ``measure`` on X_val after every epoch. Only if X_val was given.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    The loss of a query is the Kullback-Leibler divergence from the softmax of its scores to that of
    its labels: the cross entropy of [1]_ up to a constant. Labels that are not whole grades from 0
    to 30 are first mapped linearly onto 0 to 4. A query of m rows costs O(m) time and memory.

    Rows are first sorted by their content, so the order of the training rows does not change the
    weights. On the CPU, equal seeds give bit-identical results. Training is in float64 on one
    thread. Loading and predicting do not need torch.

    A row of weight w counts as w equal rows in both sums of exponentials. Equal rows of a query are
    merged, so a weight is bit-identical to repetition. Queries keep equal weight, whatever the
    weights of their rows.

    Composition: cross entropy of top-one probabilities x layers of nodes x gradient steps.

    References
    ----------
    .. [1] Cao, Qin, Liu, Tsai & Li, "Learning to rank: from pairwise approach to listwise
       approach", ICML 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import ListNet
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y, qid = (X[:, 0] > 0.5).astype(int), np.arange(200) % 10
    >>> ranker = ListNet((8,), random_state=0).fit(X, y, qid=qid)
    >>> ranker.score(X, y, qid=qid) > 0.95
    True
    """

    def _loss(self, graded: bool) -> Loss:
        from rankwise.rankers.neural.training import list_net

        return list_net


class ListMLE(NeuralRanker):
    """Network trained on the likelihood of each query's order by label (ListMLE).

    Minimises ``(1/Q) sum_q loss_q + lam |W|^2 / 2``: a mean of losses over the Q queries (defined
    in the notes) plus a penalty on the weights W of all layers. Intercepts are not penalised.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int >= 1, default=(32,)
        Number of nodes of each hidden layer. (): a linear function.
    activation : {"relu", "sigmoid", "tanh"}, default="relu"
        Activation function of the hidden nodes.
    n_epochs : int >= 1, default=50
        Number of passes over all queries.
    batch_size : int >= 1, default=16
        Number of queries for each gradient step.
    optimizer : {"adam", "sgd"}, default="adam"
        Optimizer of torch.
    learning_rate_init : float > 0, default=0.01
        Step size of the optimizer, constant over all epochs, as in scikit-learn's ``MLPRegressor``.
    lam : float >= 0, default=1e-4
        Penalty added to the MEAN of the losses of the queries: ``lam / 2`` times the sum of the
        squared weights; intercepts are not penalised.
    scaling : bool, default=True
        Whether to scale each feature to mean 0 and variance 1 over the training rows.
    measure : str, Measure or callable, default="nDCG@10"
        Measure evaluated on X_val after every epoch, see :func:`rankwise.metrics.parse`.
    early_stopping_rounds : int >= 1, optional
        Used only if ``fit`` receives X_val: stop after this many epochs without improvement and
        keep the weights of the best.
    device : str, default="cpu"
        Torch device for training, such as "cpu", "cuda" or "cuda:1". Scores are computed with
        NumPy.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the initial weights and of the order of the queries.

    Attributes
    ----------
    weights_ : list of ndarray, float64
        Weights of shape (n_in, n_out) and intercepts of shape (n_out,) of each layer.
    shift_, scale_ : ndarray of shape (n_features_in_,)
        Offset subtracted from each feature, and divisor of the difference.
    loss_curve_ : ndarray of shape (n_epochs_run,)
        Mean loss of the queries in every epoch; the loss of a batch is taken before its step.
    n_epochs_ : int
        Number of epochs after which the kept weights were reached.
    validation_scores_ : ndarray of shape (n_epochs_run,)
        ``measure`` on X_val after every epoch. Only if X_val was given.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    The loss of a query is ``- log`` of the Plackett-Luce probability of its order by label, divided
    by its number of rows m; it costs O(m log m) time and O(m) memory. Differs from [1]_: rows of
    equal label are included in each other's sums (Breslow's method for ties), so their order is not
    learnt.

    Rows are first sorted by their content, so the order of the training rows does not change the
    weights. On the CPU, equal seeds give bit-identical results. Training is in float64 on one
    thread. Loading and predicting do not need torch.

    A row of weight w counts as w equal rows, in its own term and in the sums of others. Equal rows
    of a query are merged, so a weight is bit-identical to repetition. Queries keep equal weight,
    whatever the weights of their rows.

    Composition: Plackett-Luce likelihood x layers of nodes x gradient steps.

    References
    ----------
    .. [1] Xia, Liu, Wang, Zhang & Li, "Listwise approach to learning to rank: theory and
       algorithm", ICML 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import ListMLE
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y, qid = (X[:, 0] > 0.5).astype(int), np.arange(200) % 10
    >>> ranker = ListMLE((8,), random_state=0).fit(X, y, qid=qid)
    >>> ranker.score(X, y, qid=qid) > 0.95
    True
    """

    def _loss(self, graded: bool) -> Loss:
        from rankwise.rankers.neural.training import list_mle

        return list_mle
