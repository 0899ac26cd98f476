"""An ordinal estimator whose results can be worked out by hand."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.rows import check_rows
from rankwise.ordinal.ordinal_ranker import OrdinalRanker, check_ordinal_fit


class OrdinalColumn(OrdinalRanker):
    """Score is a column of X; thresholds lie between the means of neighbouring classes.

    ``shift`` moves the thresholds, so that the ranking stays and the classes do not.
    """

    __metadata_request__fit = {"qid": True}  # noqa: RUF012

    def __init__(self, column=0, shift=0.0, classes=None):
        self.column = column
        self.shift = shift
        self.classes = classes

    def fit(self, X, y, *, qid=None):
        data = check_ordinal_fit(self, X, y, qid)
        means = [data.X[data.y == k, self.column].mean() for k in range(len(self.classes_))]
        self.thresholds_ = np.sort(np.convolve(means, [0.5, 0.5], "valid")) + self.shift
        return self

    def rank_score(self, X):
        check_is_fitted(self)
        return np.asarray(check_rows(self, X)[:, self.column], dtype=np.float64)
