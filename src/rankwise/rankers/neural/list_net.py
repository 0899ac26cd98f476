"""ListNet: top-one probabilities of a query, scores by a network."""

from __future__ import annotations

from rankwise.rankers.neural.neural_ranker import Loss, NeuralRanker


class ListNet(NeuralRanker):
    """Network trained to give each query the top-one probabilities of its labels (ListNet).

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
    The loss of a query is the Kullback-Leibler divergence from the softmax of its scores to that of
    its labels: the cross entropy of [1]_ up to a constant. Labels that are not whole grades from 0
    to 30 are first mapped linearly onto 0 to 4. O(m) for a query of m rows.

    Rows are put in an order that depends on their content alone, so that any order of the file
    trains the same weights, and on the CPU the same seed gives the same bits. Training is in
    float64 on one thread. ``sample_weight`` is not accepted: in batches of queries, the weight of
    a row would not be its repetition. Loading and predicting need no torch.

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
