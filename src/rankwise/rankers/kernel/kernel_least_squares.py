"""Fit of the kernel rankers with a squared loss: kernel x squared loss x one factorisation."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

from rankwise.losses.squared_loss import SquaredLoss
from rankwise.rankers.closed_form import ClosedForm, fit_closed_form, leaves_out
from rankwise.rankers.kernel.kernel_features import KernelFeatures, kernel_path
from rankwise.runtime.finite import FiniteResults
from rankwise.streams.row_stream import RowStream
from rankwise.typing import ArrayLike, FrameLike


def kernel_least_squares(ranker: Any, loss: SquaredLoss, **options: Any) -> ClosedForm:
    """Closed form of a kernel ranker with this loss, and options of :class:`KernelFeatures`."""
    shift = {"takes_shift": loss.takes_shift, "intercept": loss.intercept}
    features = KernelFeatures.of(ranker, leaves_out=leaves_out(ranker), **shift, **options)
    return ClosedForm(features, loss, partial(kernel_path, max_bytes=ranker.max_bytes))


class FitKernel(FiniteResults):
    """Mixin that fits the closed form of a kernel ranker."""

    _closed_form: Any

    def fit(
        self,
        X: FrameLike | RowStream,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | None = None,
    ) -> Self:
        """Fit all models of the path and keep the chosen one.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features), or RowStream
            A stream contains labels, queries and weights, see :func:`rankwise.stream`. With
            ``kernel="precomputed"``: the kernel values between the rows, shape (n_samples,
            n_samples).
        y : array-like of shape (n_samples,); None for a stream
            Grades or real-valued targets; larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row, of any dtype and in any order. None: all rows form one query.
        sample_weight : array-like of shape (n_samples,), optional
            Number of repetitions of each row, >= 0. A pair is weighted by the product of its rows'
            weights.
        X_val, y_val, qid_val : optional
            Validation data for the search over a list or "val". Not used with a number, "cv",
            "loqo" or "lpo".
        """
        rows, validation = (X, y, qid, sample_weight), (X_val, y_val, qid_val)
        fit_closed_form(self, self._closed_form(), *rows, validation)
        return self
