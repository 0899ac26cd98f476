"""Labels of rows that may have several labels each: an indicator matrix, or classes one-hot."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.checks.classes import check_length, order_labels
from rankwise.checks.rows import check_rows, check_weight
from rankwise.groups import QueryGroups
from rankwise.row_order import training_fingerprint
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix, SparseMatrix, is_sparse

TargetForm = Literal["dense", "sparse", "classes", "tags"]


@dataclass(frozen=True, eq=False)
class LabelData:
    """Checked training rows; rows of zero weight are dropped.

    X is (n_samples, n_features), Y (n_samples, n_labels) and sample_weight (n_samples,). ``form``
    is the one that the caller passed: an indicator matrix of either kind, a class for every row, or
    a collection of tags for every row.
    """

    X: Matrix
    Y: SparseMatrix  # float64 ones, sorted by label within each row; no other entries
    sample_weight: Float64Array | None
    form: TargetForm
    # (n_labels,) classes or tags; of an indicator matrix, its column names or 0, 1, ...
    classes: NDArray[Any]


def check_label_fit(
    estimator: Any, X: FrameLike, Y: Any, sample_weight: ArrayLike | None
) -> LabelData:
    """Check everything that ``fit`` of a multi-label estimator receives.

    Sets ``n_features_in_``, ``feature_names_in_`` (if X has names) and ``fit_fingerprint_``. Y is a
    0/1 array or sparse matrix of shape (n_samples, n_labels), one class per row of shape
    (n_samples,) or (n_samples, 1), or one list of tags per row.
    """
    rows = check_rows(estimator, X, reset=True)
    n_samples = rows.shape[0]
    if Y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    weight, kept = None, None
    if sample_weight is not None:
        weight = check_weight(sample_weight, n_samples)
        kept = None if weight.all() else weight > 0
    tags = tags_of(Y)
    form: TargetForm
    if tags is not None:
        form, classes = "tags", _find_known_tags(tags)
        ones = ones_of_tags(tags, classes, n_samples)
        ones = ones if kept is None else ones[kept]
    elif is_indicator(Y):
        form = "sparse" if is_sparse(Y) else "dense"
        ones = check_indicator(Y, n_samples)
        ones = ones if kept is None else ones[kept]
        names = column_names(Y)
        classes = np.arange(ones.shape[1]) if names is None else names
    else:
        form, labels = "classes", order_labels(Y, n_samples)
        labels = labels if kept is None else labels.take(kept)
        classes = labels.classes
        ones = one_hot(labels.codes, len(classes))
    if kept is not None:
        assert weight is not None
        rows, weight = rows[kept], weight[kept]
    estimator.fit_fingerprint_ = training_fingerprint(
        rows,
        np.concatenate([ones.indptr, ones.indices]).astype(np.float64),
        QueryGroups.single(rows.shape[0]),
        weight,
    )
    return LabelData(rows, ones, weight, form, classes)


def is_indicator(Y: Any) -> bool:
    """Whether Y has one column per label rather than one class per row."""
    if is_sparse(Y):
        return True
    shape = np.asarray(Y).shape
    return len(shape) > 2 or (len(shape) == 2 and shape[1] != 1)


def column_names(Y: Any) -> NDArray[Any] | None:
    """Names of a frame's columns if these are distinct text, shape (n_labels,)."""
    columns = getattr(Y, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    if len(set(columns)) < len(columns):
        return None
    return np.asarray(list(columns))


def tags_of(Y: Any) -> list[Collection[Any]] | None:
    """The tags of every row if Y lists tags, otherwise None.

    Y lists tags if its rows are sets, or lists or tuples that hold text or differ in length. Rows
    with the same number of numbers form a matrix.
    """
    if is_sparse(Y) or getattr(Y, "ndim", 1) != 1 or isinstance(Y, str | bytes):
        return None
    if getattr(getattr(Y, "dtype", None), "kind", "O") != "O" or not isinstance(Y, Iterable):
        return None
    listed: Any = Y
    listed = listed.to_list() if hasattr(listed, "to_list") else listed
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in listed]
    if not rows or not all(isinstance(row, list | tuple | set | frozenset) for row in rows):
        return None
    is_set = any(isinstance(row, set | frozenset) for row in rows)
    has_text = any(isinstance(tag, str) for row in rows for tag in row)
    return rows if is_set or has_text or len({len(row) for row in rows}) > 1 else None


def ones_of_tags(
    tags: Sequence[Collection[Any]], classes: NDArray[Any], n_samples: int, *, name: str = "y"
) -> SparseMatrix:
    """CSR of shape (n_samples, n_labels), float64, with a one for every tag of a row.

    Tags that are not among the classes raise ValueError.
    """
    check_length(name, len(tags), n_samples, "a list of tags for every row of X")
    number = {tag: label for label, tag in enumerate(classes.tolist())}
    for row, some in enumerate(tags):
        if unknown := [tag for tag in some if tag not in number]:
            raise ValueError(
                f"{name} must hold tags of the fit, got {unknown[0]!r} at row {row}. Drop it, or "
                "fit on rows that have it."
            )
    labels = [sorted({number[tag] for tag in some}) for some in tags]
    indptr = np.cumsum([0, *map(len, labels)])
    indices = np.concatenate([np.asarray(row, dtype=np.int64) for row in labels])
    return sparse.csr_array(
        (np.ones(len(indices)), indices, indptr), shape=(n_samples, len(classes))
    )


def _find_known_tags(tags: Sequence[Collection[Any]], name: str = "y") -> NDArray[Any]:
    """Distinct tags of all rows, sorted."""
    found = {tag for some in tags for tag in some}
    if not found:
        raise ValueError(f"{name} must hold at least one tag, got only empty lists.")
    if len({isinstance(tag, str) for tag in found}) > 1:
        raise ValueError(f"{name} must hold tags of one type, got text and numbers.")
    return np.asarray(sorted(found))


def one_hot(codes: NDArray[np.int64], n_labels: int) -> SparseMatrix:
    """CSR of shape (n_samples, n_labels), float64, with a one in the column of every row's code."""
    n_samples = len(codes)
    return sparse.csr_array(
        (np.ones(n_samples), codes, np.arange(n_samples + 1)), shape=(n_samples, n_labels)
    )


def check_indicator(
    Y: Any, n_samples: int, n_labels: int | None = None, *, name: str = "Y"
) -> SparseMatrix:
    """The ones of a 0/1 matrix as CSR of shape (n_samples, n_labels), float64.

    Y holds booleans or numbers. Without ``n_labels``, it may have any number of columns.
    """
    values: Any = sparse.csr_array(Y) if is_sparse(Y) else np.asarray(Y)
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(
            f"{name} must have a column for every label, got shape {values.shape}. Pass a 0/1 "
            "matrix with one row per row of X."
        )
    if values.shape[0] != n_samples:
        raise ValueError(
            f"{name} must have n_samples={n_samples} rows, got {values.shape[0]} (inconsistent "
            "numbers of samples). Pass one row of labels per row of X."
        )
    if n_labels is not None and values.shape[1] != n_labels:
        raise ValueError(
            f"{name} must have the {n_labels} labels of the fit as its columns, got "
            f"{values.shape[1]}."
        )
    return _ones_of_csr(values, name) if is_sparse(values) else _ones_of_array(values, name)


def check_truth(
    Y: Any, n_samples: int, classes: NDArray[Any], form: TargetForm, *, name: str = "y"
) -> SparseMatrix:
    """Labels of rows other than the training rows, as CSR of shape (n_samples, n_labels).

    Y has the form of the fit; the columns of a frame may have another order. Unknown names raise
    ValueError.
    """
    tags = tags_of(Y) if form == "tags" else None
    if tags is not None:
        return ones_of_tags(tags, classes, n_samples, name=name)
    names = column_names(Y)
    ones = check_indicator(Y, n_samples, len(classes), name=name)
    if names is None or classes.dtype.kind != "U" or names.tolist() == classes.tolist():
        return ones
    if set(names.tolist()) != set(classes.tolist()):
        odd = sorted(set(names.tolist()) - set(classes.tolist()))
        raise ValueError(
            f"{name} must have the labels of the fit as its columns, got {odd[0]!r}. Labels: "
            f"{classes.tolist()}."
        )
    place = {label: column for column, label in enumerate(names.tolist())}
    ordered: Any = ones
    return sparse.csr_array(ordered[:, [place[label] for label in classes.tolist()]])


def ones_of_mask(mask: NDArray[np.bool_], dtype: Any) -> SparseMatrix:
    """CSR of ones where the mask of shape (n_samples, n_labels) is true."""
    n_samples, n_labels = mask.shape
    indptr = np.zeros(n_samples + 1, dtype=np.int64)
    np.cumsum(np.count_nonzero(mask, axis=1), out=indptr[1:])
    index = np.int32 if max(int(indptr[-1]), n_labels) < 2**31 else np.int64
    labels = (np.flatnonzero(mask) % n_labels).astype(index)
    return sparse.csr_array(
        (np.ones(len(labels), dtype), labels, indptr.astype(index)), shape=(n_samples, n_labels)
    )


def _ones_of_array(values: NDArray[Any], name: str) -> SparseMatrix:
    if values.dtype.kind not in "biufO":
        raise ValueError(f"{name} must hold 0 and 1 only, got dtype {values.dtype}.")
    mask = values != 0
    wrong = values != mask
    if wrong.any():
        row, label = (int(i) for i in np.argwhere(wrong)[0])
        raise _not_an_indicator(name, values[row, label], row, label)
    return ones_of_mask(mask, np.float64)


def _ones_of_csr(values: SparseMatrix, name: str) -> SparseMatrix:
    ones = sparse.csr_array(
        (values.data.astype(np.float64), values.indices.copy(), values.indptr.copy()),
        shape=values.shape,
    )
    ones.sum_duplicates()
    ones.eliminate_zeros()
    wrong = ones.data != 1
    if wrong.any():
        entry = int(np.argmax(wrong))
        row = int(np.searchsorted(ones.indptr, entry, side="right")) - 1
        raise _not_an_indicator(name, ones.data[entry], row, int(ones.indices[entry]))
    return ones


def _not_an_indicator(name: str, value: Any, row: int, label: int) -> ValueError:
    value = value.item() if isinstance(value, np.generic) else value
    return ValueError(
        f"{name} must hold 0 and 1 only, got {value!r} at row {row}, label {label}. Pass 1 where "
        "the label is relevant and 0 where it is not."
    )
