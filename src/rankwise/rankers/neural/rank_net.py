"""Networks that differ in their loss: RankNet, LambdaRank, ListNet and ListMLE."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from rankwise.checks.parameter_constraints import StrOptions, minimum
from rankwise.rankers.neural.neural_ranker import Loss, NeuralRanker


class RankNet(NeuralRanker):
    """Network trained on the pairs of each query by logistic loss (RankNet).

    Minimises ``(1/Q) sum_q loss_q + alpha |W|^2 / 2``: a mean of losses over the Q queries (defined
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
    alpha : float >= 0, default=1e-4
        L2 penalty: adds ``alpha / 2`` times the sum of the squared weights; intercepts are not
        penalised.
    standardize : bool, default=True
        Whether to scale each feature to mean 0 and variance 1 over the training rows.
    measure : str, default="nDCG@10"
        Measure evaluated on X_val after every epoch, see :func:`rankwise.metrics.parse`.
    early_stopping_rounds : int >= 1, optional
        Used only if ``fit`` receives X_val: stop after this many epochs without improvement and
        keep the weights of the best.
    device : str, default="cpu"
        Torch device for training, such as "cpu", "cuda" or "cuda:1". Scores are computed with
        NumPy.
    random_state : int, RandomState or None, default=None
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
    thread. ``sample_weight`` is not accepted, because in batches of queries a weight would not be
    equivalent to repeating the row. Loading and predicting do not need torch.

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

    Minimises ``(1/Q) sum_q loss_q + alpha |W|^2 / 2``: a mean of losses over the Q queries (defined
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
    alpha : float >= 0, default=1e-4
        L2 penalty: adds ``alpha / 2`` times the sum of the squared weights; intercepts are not
        penalised.
    standardize : bool, default=True
        Whether to scale each feature to mean 0 and variance 1 over the training rows.
    measure : str, default="nDCG@10"
        Measure evaluated on X_val after every epoch, see :func:`rankwise.metrics.parse`.
    early_stopping_rounds : int >= 1, optional
        Used only if ``fit`` receives X_val: stop after this many epochs without improvement and
        keep the weights of the best.
    device : str, default="cpu"
        Torch device for training, such as "cpu", "cuda" or "cuda:1". Scores are computed with
        NumPy.
    random_state : int, RandomState or None, default=None
        Seed of the initial weights and of the order of the queries.
    gain : {"auto", "exp2", "linear"}, default="auto"
        Gain of a label: ``2**y - 1``, or y. "auto": "exp2" for whole grades from 0 to 30, "linear"
        for all other labels.
    discount : {"log2", "letor", "reciprocal"}, default="log2"
        Discount of rank r. "log2": ``1 / log2(1 + r)``. "letor": 1 for r = 1 and ``1 / log2(r)``
        for later ranks. "reciprocal": ``1 / r``.
    cutoff : int >= 1, optional
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
    thread. ``sample_weight`` is not accepted, because in batches of queries a weight would not be
    equivalent to repeating the row. Loading and predicting do not need torch.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NeuralRanker._parameter_constraints,
        "gain": [StrOptions({"auto", "exp2", "linear"})],
        "discount": [StrOptions({"log2", "letor", "reciprocal"})],
        "cutoff": [minimum(1), None],
    }

    def __init__(
        self,
        hidden_layer_sizes: Sequence[int] | int = (32,),
        *,
        activation: str = "relu",
        n_epochs: int = 50,
        batch_size: int = 16,
        optimizer: str = "adam",
        learning_rate_init: float = 0.01,
        alpha: float = 1e-4,
        standardize: bool = True,
        gain: str = "auto",
        discount: str = "log2",
        cutoff: int | None = None,
        measure: str = "nDCG@10",
        early_stopping_rounds: int | None = None,
        device: str = "cpu",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            hidden_layer_sizes,
            activation=activation,
            n_epochs=n_epochs,
            batch_size=batch_size,
            optimizer=optimizer,
            learning_rate_init=learning_rate_init,
            alpha=alpha,
            standardize=standardize,
            measure=measure,
            early_stopping_rounds=early_stopping_rounds,
            device=device,
            random_state=random_state,
        )
        self.gain = gain
        self.discount = discount
        self.cutoff = cutoff

    def _loss(self, graded: bool) -> Loss:
        from rankwise.rankers.neural import training as losses

        gain = {"auto": "exp2" if graded else "linear"}.get(self.gain, self.gain)
        return partial(
            losses.lambda_rank,
            gain=losses.GAINS[gain],
            discount=losses.DISCOUNTS[self.discount],
            cutoff=self.cutoff,
        )


class ListNet(NeuralRanker):
    """Network trained to reproduce the top-one probabilities of the labels (ListNet).

    Minimises ``(1/Q) sum_q loss_q + alpha |W|^2 / 2``: a mean of losses over the Q queries (defined
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
    alpha : float >= 0, default=1e-4
        L2 penalty: adds ``alpha / 2`` times the sum of the squared weights; intercepts are not
        penalised.
    standardize : bool, default=True
        Whether to scale each feature to mean 0 and variance 1 over the training rows.
    measure : str, default="nDCG@10"
        Measure evaluated on X_val after every epoch, see :func:`rankwise.metrics.parse`.
    early_stopping_rounds : int >= 1, optional
        Used only if ``fit`` receives X_val: stop after this many epochs without improvement and
        keep the weights of the best.
    device : str, default="cpu"
        Torch device for training, such as "cpu", "cuda" or "cuda:1". Scores are computed with
        NumPy.
    random_state : int, RandomState or None, default=None
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
    to 30 are first mapped linearly onto 0 to 4. A query of m rows costs O(m).

    Rows are first sorted by their content, so the order of the training rows does not change the
    weights. On the CPU, equal seeds give bit-identical results. Training is in float64 on one
    thread. ``sample_weight`` is not accepted, because in batches of queries a weight would not be
    equivalent to repeating the row. Loading and predicting do not need torch.

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

    Minimises ``(1/Q) sum_q loss_q + alpha |W|^2 / 2``: a mean of losses over the Q queries (defined
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
    alpha : float >= 0, default=1e-4
        L2 penalty: adds ``alpha / 2`` times the sum of the squared weights; intercepts are not
        penalised.
    standardize : bool, default=True
        Whether to scale each feature to mean 0 and variance 1 over the training rows.
    measure : str, default="nDCG@10"
        Measure evaluated on X_val after every epoch, see :func:`rankwise.metrics.parse`.
    early_stopping_rounds : int >= 1, optional
        Used only if ``fit`` receives X_val: stop after this many epochs without improvement and
        keep the weights of the best.
    device : str, default="cpu"
        Torch device for training, such as "cpu", "cuda" or "cuda:1". Scores are computed with
        NumPy.
    random_state : int, RandomState or None, default=None
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
    by its number of rows m; it costs O(m log m). Differs from [1]_: rows of equal label are
    included in each other's sums (Breslow's method for ties), so their order is not learnt.

    Rows are first sorted by their content, so the order of the training rows does not change the
    weights. On the CPU, equal seeds give bit-identical results. Training is in float64 on one
    thread. ``sample_weight`` is not accepted, because in batches of queries a weight would not be
    equivalent to repeating the row. Loading and predicting do not need torch.

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
