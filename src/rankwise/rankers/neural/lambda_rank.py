"""LambdaRank: pairs weighted by what their swap changes in nDCG, scores by a network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from rankwise.rankers.neural.neural_ranker import AT_LEAST_ONE, Loss, NeuralRanker


class LambdaRank(NeuralRanker):
    """Network trained on pairs weighted by what their swap changes in nDCG (LambdaRank).

    Minimises ``(1/Q) sum_q loss_q + alpha |W|^2 / 2``: a mean over the Q queries, whose loss is in
    the notes, with the squared weights W of all layers; intercepts are not penalised.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int >= 1, default=(32,)
        Nodes of the hidden layers; (): a linear function.
    activation : {"relu", "sigmoid", "tanh"}, default="relu"
        What a hidden node does to its sum.
    n_epochs : int >= 1, default=50
        Times that every query is seen.
    batch_size : int >= 1, default=16
        Queries of a step.
    optimizer : {"adam", "sgd"}, default="adam"
    learning_rate_init : float > 0, default=0.01
        Step size of the optimizer, the same in all epochs, as in scikit-learn's ``MLPRegressor``.
    alpha : float >= 0, default=1e-4
        Half of it multiplies the sum of the squared weights, intercepts left out.
    standardize : bool, default=True
        Whether features are brought to mean 0 and variance 1 over the training rows.
    measure : str, default="nDCG@10"
        Taken on X_val after every epoch, see :func:`rankwise.metrics.parse`.
    early_stopping_rounds : int >= 1, optional
        Used only where ``fit`` receives X_val: stop after this many epochs without improvement
        and keep the weights of the best.
    device : str, default="cpu"
        Where torch trains: "cpu", "cuda", "cuda:1". Scores are computed by NumPy.
    random_state : int, RandomState or None, default=None
        Draws the first weights and the order of the queries.
    gain : {"auto", "exp2", "linear"}, default="auto"
        Gain of a label: ``2**y - 1``, or y. "auto": "exp2" for whole grades from 0 to 30, "linear"
        for all other labels.
    discount : {"log2", "letor", "reciprocal"}, default="log2"
        Weight of rank r: ``1 / log2(1 + r)``; 1 for r = 1 and ``1 / log2(r)`` after it; ``1 / r``.
    cutoff : int >= 1, optional
        Ranks below it weigh nothing; None: all count.

    Attributes
    ----------
    weights_ : list of ndarray, float64
        Weights of shape (n_in, n_out) and intercepts of shape (n_out,), layer by layer.
    shift_, scale_ : ndarray of shape (n_features_in_,)
        Subtracted from the features, and what the rest is divided by.
    loss_curve_ : ndarray of shape (n_epochs_run,)
        Mean loss of the queries in every epoch, each batch before its step.
    n_epochs_ : int
        Epochs whose weights are kept.
    validation_scores_ : ndarray of shape (n_epochs_run,)
        ``measure`` on X_val after every epoch, where X_val was given.
    score_name_ : str

    Notes
    -----
    The gradient of a query is that of ``sum |change of nDCG| log(1 + exp(-(s_i - s_j)))`` over its
    pairs with y_i > y_j, the change held fixed: what nDCG gains or loses where rows i and j swap
    their ranks [1]_. Labels that are not whole grades from 0 to 30 are first mapped linearly onto 0
    to 4. O(m^2) time and memory for a query of m rows.

    Rows are put in an order that depends on their content alone, so that any order of the file
    trains the same weights, and on the CPU the same seed gives the same bits. Training is in
    float64 on one thread. ``sample_weight`` is not accepted: in batches of queries, the weight of
    a row would not be its repetition. Loading and predicting need no torch.

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
        "cutoff": [AT_LEAST_ONE, None],
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
        from rankwise.rankers.neural import losses

        gain = {"auto": "exp2" if graded else "linear"}.get(self.gain, self.gain)
        return partial(
            losses.lambda_rank,
            gain=losses.GAINS[gain],
            discount=losses.DISCOUNTS[self.discount],
            cutoff=self.cutoff,
        )
