"""ListNet: a network trained on the top-one probabilities of each query."""

from __future__ import annotations

from rankwise.rankers.neural.neural_ranker import Loss, NeuralRanker


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
        from rankwise.rankers.neural.losses import list_net

        return list_net
