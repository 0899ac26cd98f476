"""Products of sparse rows with their labels, added up entry by entry.

A row with a features and b labels takes a b additions. On sparse rows, this is far less than a
dense matrix product, which also multiplies zeros.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit


@njit
def add_row_products(a_ptr, a_index, a_value, b_ptr, b_index, b_value, weight, out):
    """Add ``A' diag(weight) B`` to ``out`` (k, l); A (n, k) and B (n, l) are CSR."""
    for i in range(len(a_ptr) - 1):
        # Views of the row's labels, sliced once for all of its features.
        lo, n = b_ptr[i], b_ptr[i + 1] - b_ptr[i]
        columns, values = b_index[lo : lo + n], b_value[lo : lo + n]
        for s in range(a_ptr[i], a_ptr[i + 1]):
            row = out[np.uint32(a_index[s])]
            factor = weight[i] * a_value[s]
            for t in range(n):  # unsigned indices are twice as fast as signed ones
                row[np.uint32(columns[t])] += factor * values[t]


@njit
def add_labelled_rows(label_ptr, label_index, label_value, X, weight, out):
    """Add ``Y' diag(weight) X`` to ``out`` (l, d); Y (n, l) is CSR, X (n, d) dense."""
    d = X.shape[1]
    for i in range(len(label_ptr) - 1):
        row = X[i]
        for s in range(label_ptr[i], label_ptr[i + 1]):
            total = out[label_index[s]]
            factor = weight[i] * label_value[s]
            for j in range(d):
                total[j] += factor * row[j]
