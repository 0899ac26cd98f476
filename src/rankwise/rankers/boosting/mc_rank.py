"""McRank: expected grade from the class probabilities of any classifier."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import get_tags

from rankwise.base import Ranker
from rankwise.checks.parameter_constraints import (
    POSITIVE,
    HasMethods,
    Interval,
    StrOptions,
    minimum,
)
from rankwise.checks.rows import check_fit, check_rows, check_validation
from rankwise.features.binning import find_bins
from rankwise.groups import FitData, QueryGroups
from rankwise.metrics import parse
from rankwise.metrics.measure import MEASURE_KINDS, MeasureLike
from rankwise.prediction import fit_clone
from rankwise.row_order import canonical_order
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.solvers.boosting.chosen_rounds import (
    CHOICE,
    ChoosesRounds,
    chooses_rounds,
    fit_chosen,
)
from rankwise.solvers.boosting.rounds import StagedMeasure
from rankwise.structure.state_rules import (
    Fitted,
    Many,
    Number,
    Optional,
    Plain,
    Rule,
    Sometimes,
    floats,
    forget,
    require,
)
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Int64Array, Matrix, Seed, is_sparse

LARGEST_EXPONENT = 1000  # largest label with gain="exp2"
MOST_GRADES = 32  # default numbers of classes, for whole and for other labels
MOST_BINS = 8


class McRank(ChoosesRounds, Ranker):
    """Expected grade, or gain, under the probabilities of a classifier (McRank).

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, optional
        Classifier of the grades. None: scikit-learn's ``HistGradientBoostingClassifier`` with the
        parameters below.
    form : {"plain", "ordinal"}, default="plain"
        "plain": one classifier of the grades. "ordinal": for each grade except the lowest, a binary
        classifier of the rows with at least this grade.
    gain : {"linear", "exp2"}, default="linear"
        Quantity whose expectation is the score: the label y, or 2^y - 1.
    n_estimators : int >= 1, default=200
        Number of rounds of the default classifier.
    learning_rate : float > 0, default=0.05
        Learning rate of the default classifier.
    max_leaf_nodes : int >= 2, default=15
        Largest number of leaves in the trees of the default classifier.
    max_classes : int in [2, 255], optional
        Largest number of classes. If not more distinct labels exist, each is a class. Otherwise
        labels are divided into ``max_classes`` classes with about equal numbers of rows, and the
        label of a class is the mean label of its rows. None: 32 for labels that are whole numbers
        (grades), 8 for others.
    measure : str, Measure or callable, default="nDCG@10"
        Measure evaluated on X_val after every round, see :func:`rankwise.metrics.parse`.
    refit : bool, default=False
        Whether the rounds kept by X_val are grown again on the rows of X and X_val. Needs
        ``estimator=None``.
    cv : int, splitter or iterable of (train rows, test rows), optional
        Folds of queries that choose the number of rounds, as in :class:`LambdaMART`. Needs
        ``estimator=None``.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the default classifier.

    Attributes
    ----------
    estimators_ : list of classifiers
        One classifier, or one for each grade except the lowest. Empty if all labels are equal.
    class_labels_ : ndarray of shape (n_classes,)
        Labels of the classes in ascending order.
    n_estimators_ : int or None
        Number of rounds that ``predict`` uses; with X_val, the best number on it. None if the
        classifiers do not have ``staged_predict_proba``.
    validation_scores_ : ndarray of shape (n_rounds,)
        ``measure`` on X_val after every round, or only at the end. Only with X_val or ``cv``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    The score of a row is ``sum_k g_k P(y = k)`` with the gains g of the grades. For "ordinal" it is
    ``g_0 + sum_k (g_k - g_{k-1}) P(y >= k)``, which is equal if the probabilities agree. Queries
    are only used by the measure on X_val. Classifiers receive the rows sorted by content. The
    default classifier accepts missing values (NaN) and makes CSR rows dense.

    ``sample_weight`` is passed to the classifier. The leaves of the default classifier count rows,
    not weights, so it receives w copies of a row instead if all weights are whole numbers.

    Every class needs a tree in every round, so one class for each of many fractional labels (clicks
    per view, averages over raters) is slow. It is not better either: on ten data sets that the
    documentation uses for nothing else, 8 classes misordered 0.9 % more pairs than the best number
    for each set, 32 classes 5.3 % (``python -m benchmarks.study_defaults``).

    Differs from [1]_: the trees are those of scikit-learn.

    With the default classifier, a round takes O(K N d) time for K classes, N rows, d columns and
    trees of a given depth; memory is O(N (d + K)).

    Composition: columns of X x losses of classes x any classifier.

    References
    ----------
    .. [1] Li, Burges & Wu, "McRank: learning to rank using multiple classification and gradient
       boosting", Advances in Neural Information Processing Systems 20 (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from rankwise import McRank
    >>> X = np.array([[0.0], [1.0], [2.0], [0.2], [0.9], [1.8]])
    >>> ranker = McRank(LogisticRegression(), form="ordinal").fit(X, [0, 1, 2, 0, 1, 2], qid=0)
    >>> ranker.rank(X).tolist()
    [6, 3, 1, 5, 4, 2]
    """

    class_labels_: Float64Array

    _structure: ClassVar[dict[str, Rule]] = {
        "class_labels_": floats("n_classes"),
        "_gains": floats("n_classes"),
        "estimators_": Many(Fitted("n_features_in_")),
        "n_estimators_": Optional(Number("i", low=1)),
        "validation_scores_": Sometimes(Plain()),
    }

    # The leaves of the default classifier count rows and ignore their weights.
    _limits: ClassVar[dict[str, Any]] = {
        "estimator": HistGradientBoostingClassifier(min_samples_leaf=1)
    }
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "form": [StrOptions({"plain", "ordinal"})],
        "gain": [StrOptions({"linear", "exp2"})],
        "n_estimators": [minimum(1)],
        "learning_rate": [POSITIVE],
        "max_leaf_nodes": [minimum(2)],
        "max_classes": [Interval(Integral, 2, 255, closed="both"), None],
        "measure": MEASURE_KINDS,
        **CHOICE,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        form: Literal["plain", "ordinal"] = "plain",
        *,
        gain: Literal["linear", "exp2"] = "linear",
        n_estimators: int = 200,
        learning_rate: float = 0.05,
        max_leaf_nodes: int = 15,
        max_classes: int | None = None,
        measure: MeasureLike = "nDCG@10",
        refit: bool = False,
        cv: Any = None,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.form = form
        self.gain = gain
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_classes = max_classes
        self.measure = measure
        self.refit = refit
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing()
        return tags

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
    ) -> Self:
        """Train on rows with relevance labels.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Features. NaN means missing, if the classifier supports it.
        y : array-like of shape (n_samples,)
            Any finite numbers; larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row, of any dtype and in any order. It affects only the order of the rows.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0, which the classifier must support, see the notes.
        X_val, y_val, qid_val : optional
            Validation rows, on which ``measure`` chooses the number of rounds.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid; the message names it.
        """
        self._validate_params()
        if chooses_rounds(self, X_val):
            if self.estimator is not None:
                raise ValueError(
                    "refit and cv need estimator=None, because n_estimators does not count the "
                    f"rounds of {type(self.estimator).__name__}. Drop them, or estimator."
                )
            by_row = {"qid": qid, "sample_weight": sample_weight}
            return fit_chosen(self, X, y, by_row, (X_val, y_val, qid_val))
        forget(self)
        allow_nan = self._takes_missing()
        data = check_fit(self, X, y, qid, sample_weight, allow_nan=allow_nan, pairs=False)
        validation = check_validation(self, data, X_val, y_val, qid_val, allow_nan=allow_nan)
        measure = parse(self.measure)
        self._set_score_name(data.y)
        self.class_labels_, classes = self._classes(data.y, data.sample_weight)
        self._gains = self.class_labels_
        if self.gain == "exp2":
            if self._gains.max() > LARGEST_EXPONENT:
                raise ValueError(
                    f"gain='exp2' needs labels up to {LARGEST_EXPONENT}, got "
                    f"{self._gains.max():g}. Use gain='linear'."
                )
            self._gains = np.exp2(self._gains) - 1.0
        staged = None
        if validation is not None:
            staged = StagedMeasure(measure, validation.y, validation.groups)
        self.estimators_: list[Any] = self._train(data, classes)
        self.n_estimators_: int | None = None
        if self._is_staged():
            self.n_estimators_ = sum(1 for _ in self._stages(self._rows(data.X[:1])))
        if validation is not None and staged is not None:
            rows = self._rows(validation.X)
            for scores in self._stages(rows) if self._is_staged() else [self._scores(rows)]:
                staged.record(scores)
            self.validation_scores_: NDArray[Any] = np.array(staged.values)
            if self._is_staged():
                self.n_estimators_ = staged.best
        return self

    def predict(self, X: FrameLike) -> Float64Array:
        """Expected grade or gain of every row, shape (n_samples,), float64."""
        check_is_fitted(self)
        rows = self._rows(check_rows(self, X, allow_nan=self._takes_missing()))
        if self.n_estimators_ is None:
            return self._scores(rows)
        return next(islice(self._stages(rows), self.n_estimators_ - 1, None))

    def _check_structure(self) -> None:
        n_classes, models = len(self._gains), self.estimators_
        require(n_classes, "_gains", "have a class", "none")
        n_models = 1 if self.form == "plain" and n_classes > 1 else n_classes - 1
        require(len(models) == n_models, "estimators_", f"have {n_models} items", len(models))
        known = n_classes if self.form == "plain" else 2
        for number, model in enumerate(models):
            require(len(model.classes_) == known, f"estimators_[{number}].classes_",
                    f"have {known} entries", len(model.classes_))  # fmt: skip
            rounds = getattr(model, "n_iter_", None)
            if self.n_estimators_ is not None and isinstance(rounds, int):
                require(self.n_estimators_ <= rounds, "n_estimators_", f"be at most {rounds}",
                        self.n_estimators_)  # fmt: skip

    def _takes_missing(self) -> bool:
        return self.estimator is None or get_tags(self.estimator).input_tags.allow_nan

    def _classes(
        self, y: Float64Array, weight: Float64Array | None
    ) -> tuple[Float64Array, Int64Array]:
        """Labels of the classes and class of every row."""
        labels, classes = np.unique(y, return_inverse=True)
        most = self.max_classes
        if most is None:
            most = MOST_GRADES if (labels == np.floor(labels)).all() else MOST_BINS
        if len(labels) <= most:
            return labels, classes.astype(np.int64)
        codes = find_bins(y[:, None], most, weight).codes(y[:, None])[0].astype(np.int64)
        weight = np.ones(len(y)) if weight is None else weight
        # Sums in the order of the labels do not depend on the order of the rows.
        order = np.argsort(y, kind="stable")
        sums = np.bincount(codes[order], (weight * y)[order])
        return sums / np.bincount(codes[order], weight[order]), codes

    def _train(self, data: FitData, classes: Int64Array) -> list[Any]:
        """One classifier, or one for each grade that a row may reach."""
        n_classes = len(self.class_labels_)
        if n_classes < 2:
            return []
        weight = data.sample_weight
        order, _ = canonical_order(data.X, data.y, data.groups, weight)
        if weight is not None:
            weight = None if (weight == 1).all() else weight[order]
        if weight is not None and self.estimator is None and not (weight % 1).any():
            # Its leaves and bins count rows, so only copies equal repetition.
            order, weight = np.repeat(order, weight.astype(np.int64)), None
        rows, classes = self._rows(data.X[order]), classes[order]
        classifier: Any = self.estimator
        if classifier is None:
            without_stopping: Any = False
            classifier = HistGradientBoostingClassifier(
                max_iter=self.n_estimators,
                learning_rate=self.learning_rate,
                max_leaf_nodes=self.max_leaf_nodes,
                early_stopping=without_stopping,
                # All classifiers of a fit share a seed.
                random_state=int(check_random_state(self.random_state).randint(2**31 - 1)),
            )
        targets = [classes]
        if self.form == "ordinal":
            targets = [(classes >= k).astype(np.int64) for k in range(1, n_classes)]
        return [fit_clone(classifier, rows, target, weight) for target in targets]

    def _is_staged(self) -> bool:
        """Whether the classifiers provide probabilities after every round."""
        return bool(self.estimators_) and all(
            hasattr(classifier, "staged_predict_proba") for classifier in self.estimators_
        )

    def _stages(self, rows: Matrix) -> Iterator[Float64Array]:
        """Scores after every round."""
        stages = (classifier.staged_predict_proba(rows) for classifier in self.estimators_)
        for probabilities in zip(*stages, strict=False):
            yield self._expect_gain(probabilities, rows.shape[0])

    def _scores(self, rows: Matrix) -> Float64Array:
        probabilities = [classifier.predict_proba(rows) for classifier in self.estimators_]
        return self._expect_gain(probabilities, rows.shape[0])

    def _expect_gain(self, probabilities: Any, n_rows: int) -> Float64Array:
        """Expected gain under the probabilities of the classifiers."""
        gains = self._gains
        if len(gains) < 2:
            return np.full(n_rows, gains[0])
        if self.form == "plain":
            return np.asarray(probabilities[0], dtype=np.float64) @ gains
        reached = np.stack([np.asarray(p, dtype=np.float64)[:, 1] for p in probabilities], axis=1)
        return gains[0] + reached @ np.diff(gains)

    def _rows(self, X: Matrix) -> Matrix:
        """Rows in the format that the classifier accepts."""
        return X.toarray() if self.estimator is None and is_sparse(X) else X
