"""Export of models as one Python file that needs NumPy only."""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankwise._version import __version__
from rankwise.export.chains import categories_of, chain_of, own_model
from rankwise.export.maps import (
    Affine,
    Chain,
    ExportError,
    HiddenNodes,
    MadeColumns,
    Map,
    Scaled,
    Sum,
    Trees,
    column_word,
    feature_names,
)
from rankwise.export.parts import describe_model
from rankwise.prediction import innermost
from rankwise.runtime.files import check_folder, write_file
from rankwise.trees.tree_ensemble import TreeEnsemble, parents_first


def to_python(
    estimator: Any, path: str | Path | None = None, *, features: Sequence[str] | None = None
) -> str:
    """Write a fitted model as a Python module with a function ``score(X)``.

    Scores are those of :func:`rankwise.scores`: ``rank_score`` of ordinal classifiers, whose
    ``predict`` returns classes.

    Parameters
    ----------
    estimator : fitted estimator, or model of LightGBM, XGBoost or CatBoost
        Linear model, network, sum of trees or stumps, or a blend of such models; or a pipeline of
        scalers, encoders, imputers and such a model.
    path : path-like, optional
        File to write in addition.
    features : sequence of str, optional
        Names of the columns, in order (default: names from the fit, or f1, f2, ...).

    Returns
    -------
    str
        Source code that imports NumPy only and runs on Python 3.8 or later. ``score(X)`` takes
        rows as a float array, with NaN for missing values. ``encode(rows)`` takes rows or a data
        frame, and replaces named categories by numbers, and unknown ones by NaN or, if an encoder
        or the statistics of trees know the column's categories, by -1.

    Raises
    ------
    ExportError
        If the model is none of these.
    ValueError
        If the names do not match the columns.

    Notes
    -----
    Trees are evaluated in float64, in the order of the model: scores of models that are sums of
    trees are bit-equal, also behind scalers, encoders and imputers. Arrays are stored as base64
    text, so the file neither rounds nor reads anything else. Unknown values of encoded columns are
    0 in all columns made of them, also of ``OneHotEncoder(handle_unknown="error")``, with which the
    model itself refuses them.

    Time is O(n_rows depth) NumPy operations per tree.

    Composition: chain of maps x a line of Python source for each.

    Examples
    --------
    >>> from rankwise import RankingTree
    >>> from rankwise.export import to_python
    >>> tree = RankingTree().fit([[0.0], [1.0], [3.5]], [0, 0, 1])
    >>> module = {}
    >>> exec(to_python(tree), module)
    >>> module["score"]([[0.5], [9.0]])
    array([0., 1.])
    """
    if path is not None:
        check_folder(path)
    estimator = own_model(estimator)
    names = feature_names(estimator, features)
    head = (
        f'"""Scores of {type(innermost(estimator)).__name__}, written by rankwise {__version__}; '
        'needs NumPy only."""\n\nimport base64\n\nimport numpy as np\nfrom numpy import inf, nan\n'
        f"\nFEATURES = {names!r}\n"
    )
    text = head + _body(estimator, names)
    if path is not None:
        write_file(path, text.encode())
    return text


# Nodes as an expression of the weighted sums ``z``. tanh does not overflow.
_NODES = {
    "sigmoid": "0.5 + 0.5 * np.tanh(0.5 * ({z}))",
    "tanh": "np.tanh({z})",
    "relu": "np.maximum({z}, 0.0)",
    "sine": "np.sin({z})",
    "hardlimit": "({z} >= 0.0) * 1.0",
}


def is_source(chain: Chain) -> bool:
    """Whether Python source can compute the scores of a chain."""
    *before, last = chain or (None,)
    is_score = isinstance(last, Trees) or (isinstance(last, Affine) and last.weights.shape[1] == 1)
    is_score |= isinstance(last, Sum) and all(map(is_source, last.chains))
    return is_score and all(
        step.activation in _NODES
        if isinstance(step, HiddenNodes)
        else isinstance(step, Affine | MadeColumns | Scaled)
        for step in before
    )


class _Source:
    """Source under construction: constants, and statements that compute one value after another."""

    def __init__(self) -> None:
        self.constants: list[str] = []
        self.lines: list[str] = []

    def constant(self, values: Any, dtype: str = "<f8") -> str:
        """Add an array or a literal, and return its name."""
        source = values if isinstance(values, str) else _array(values, dtype)
        source += f".reshape({np.shape(values)})" if np.ndim(values) == 2 else ""
        self.constants.append(f"_C{len(self.constants)} = {source}\n")
        return f"_C{len(self.constants) - 1}"

    def chain(self, chain: Chain, x: str) -> str:
        """Add the maps of ``x``, and return the name of the result."""
        for step in chain:
            value = self._value(step, x)
            x = f"x{len(self.lines)}"
            self.lines.append(f"    {x} = {value}\n")
        return x

    def _value(self, step: Map, x: str) -> str:
        match step:
            case Affine(weights, offset):
                return f"{x} @ {self.constant(weights)} + {self.constant(offset)}"
            case Scaled(factor=None):
                return f"({x} - {self.constant(step.center)}) / {self.constant(step.spread)}"
            case Scaled():
                return f"{x} * {self.constant(step.factor)} + {self.constant(step.shift)}"
            case HiddenNodes():
                z = self._value(Affine(step.weights, step.biases), x)
                return _NODES[step.activation].format(z=z)
            case MadeColumns():
                columns = ",\n    ".join(map(repr, step.numbers()))
                return f"_make({x}, {self.constant(f'[{columns}]')})"
            case Sum():
                parts = [
                    f"{weight!r} * ({self.chain(inner, x)} - {level!r})"
                    for inner, weight, level in zip(
                        step.chains, step.weights.tolist(), step.levels.tolist(), strict=True
                    )
                ]
                return " + ".join(parts)
            case Trees():
                return f"_sum_trees({x}, {self._trees(step)})"
        raise AssertionError(step)

    def _trees(self, trees: Trees) -> str:
        grown = [parents_first(tree) for tree in trees.trees]
        joined = TreeEnsemble.of(grown, trees.constant)
        start = np.repeat(joined.indptr[:-1], np.diff(joined.indptr))
        # Unknown categories go the way of missing values, so nodes list the known ones of both
        # sides.
        sides = {}
        for root, tree in zip(joined.indptr.tolist(), grown, strict=False):
            for node, (left, right) in tree.members.items():
                sides[int(root) + node] = (sorted(left.tolist()), sorted(right.tolist()))
        inner = joined.feature >= 0
        statistics = [
            f"    {column}: (\n{_array(known.keys, '<f8')},\n{_array(known.values, '<f8')},\n"
            f"{float(known.prior)!r}),\n"
            for column, known in trees.encoded.items()
        ]
        arrays = [
            (joined.indptr[:-1], "<i8"),
            (joined.feature, "<i8"),
            (np.where(inner, joined.threshold, 0.0), "<f8"),
            (np.where(inner, joined.left + start, 0), "<i8"),
            (np.where(inner, joined.right + start, 0), "<i8"),
            (joined.missing_left, "|b1"),
            (joined.values, "<f8"),
            (repr(sides), ""),
            ("".join(["{\n", *statistics, "}"]), ""),
        ]
        return ", ".join([repr(float(trees.constant)), *(self.constant(*pair) for pair in arrays)])


def _body(estimator: Any, names: list[str]) -> str:
    chain = chain_of(estimator)
    if not is_source(chain):
        raise ExportError(
            "to_python takes linear models, networks, sums of trees and blends of them, with "
            f"scalers, encoders and imputers before them; {describe_model(estimator, chain)} Use "
            "to_onnx."
        )
    source = _Source()
    result = source.chain(chain, "X")
    categories, encoded = categories_of(estimator)
    for column, values in categories.items():
        if not all(isinstance(value, str | int | float | bool) for value in values):
            raise ExportError(
                f"categories of {column_word(names, column)} must be text or numbers for "
                f"to_python, got {values[0]!r}. Convert them to text before training."
            )
    return _BODY.format(
        n=len(names), categories=categories, encoded=encoded, lines="".join(source.lines),
        constants="".join(source.constants), result=result,
    )  # fmt: skip


def _array(values: Any, dtype: str) -> str:
    """Source of an array: its bytes as base64 in lines of 88 characters."""
    data = np.ascontiguousarray(values, dtype=dtype).tobytes()
    text = base64.b64encode(data).decode()
    lines = "\n".join(f'    "{line}"' for line in textwrap.wrap(text, 88)) or '    ""'
    return f'_array("{dtype}",\n{lines}\n)'


_BODY = '''
# Text of columns by number of the column; in rows of numbers, it is replaced by its position.
CATEGORIES = {categories!r}
# Columns whose unknown text is -1 instead of a missing value.
_ENCODED = {encoded!r}


def encode(rows):
    """Rows as floats: categories as numbers, missing values as NaN.

    A data frame has the columns of FEATURES, in any order. Unknown categories become NaN, too, or
    -1 in the columns of _ENCODED. They are scored, also if the model refuses them: encoders make
    columns of 0 of them.
    """
    if hasattr(rows, "columns"):
        by_name = {{str(name): name for name in rows.columns}}
        absent = [name for name in FEATURES if name not in by_name]
        if absent:
            raise ValueError(f"the frame must have the columns of FEATURES, but lacks {{absent}}.")
        rows = list(zip(*(list(rows[by_name[name]]) for name in FEATURES)))
    out = np.empty((len(rows), {n}))
    positions = {{j: {{v: i for i, v in enumerate(known)}} for j, known in CATEGORIES.items()}}
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
                out[i, j] = np.nan
            elif j in positions:
                out[i, j] = positions[j].get(value, -1.0 if j in _ENCODED else np.nan)
            else:
                out[i, j] = value
    return out


def score(X):
    """Score of every row of X, shape (n_rows, {n}), NaN where missing; higher ranks higher."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != {n}:
        raise ValueError(f"X must have {n} columns, got shape {{X.shape}}.")
{lines}    return {result}[:, 0]


def _make(X, columns):
    # columns: number of a column in X, value for which it is 1 and not 0, what missing ones become.
    out = np.empty((len(X), len(columns)))
    for k, (j, key, fill) in enumerate(columns):
        out[:, k] = X[:, j] if key != key else X[:, j] == key
        if fill == fill:
            out[np.isnan(X[:, j]), k] = fill
    return out


def _sum_trees(
    X, constant, roots, feature, threshold, left, right, missing_left, values, sets, statistics
):
    # sets: categories that go left and right at nodes that split columns without order.
    # statistics: keys of the categories of a column, their statistics, and that of all others.
    if statistics:
        X = X.copy()
    for j, (keys, found, prior) in statistics.items():
        place = np.searchsorted(keys, X[:, j])
        known = np.append(keys, np.nan)[place] == X[:, j]
        found = np.where(known, np.append(found, prior)[place], prior)
        X[:, j] = np.where(np.isnan(X[:, j]), np.nan, found)
    scores = np.full(len(X), constant)
    for root in roots.tolist():
        nodes = np.full(len(X), root)
        active = np.flatnonzero(feature[nodes] >= 0)
        while len(active):
            at = nodes[active]
            x = X[active, feature[at]]
            goes_left = np.where(np.isnan(x), missing_left[at], x <= threshold[at])
            for node in np.unique(at).tolist() if sets else ():
                if node in sets:
                    here = np.flatnonzero(at == node)
                    to_left, to_right = (np.isin(x[here], side) for side in sets[node])
                    goes_left[here] = to_left | (~to_right & missing_left[node])
            nodes[active] = np.where(goes_left, left[at], right[at])
            active = active[feature[nodes[active]] >= 0]
        scores += values[nodes]
    return scores[:, None]


def _array(dtype, *text):
    return np.frombuffer(base64.b64decode("".join(text)), dtype=dtype)


{constants}'''
