"""Readers of models that weight columns: features, hidden nodes, kernel values, products."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.export.maps import (
    Affine,
    Chain,
    ExportError,
    HiddenNodes,
    KernelValues,
    Map,
    RunningSums,
    Scaled,
    Terms,
    VoteMean,
    linear,
)
from rankwise.features.affine_powers import AffinePowers
from rankwise.features.kernel import Kernel
from rankwise.features.score_expansions import (
    LandmarkExpansion,
    LinearExpansion,
    NodeExpansion,
    ProductsExpansion,
    SupportExpansion,
)
from rankwise.typing import Float64Array, Int64Array, Matrix, densify


def linear_model(estimator: Any) -> Chain:
    """``coef_`` and, if there is one, ``intercept_``."""
    return (linear(estimator.coef_, getattr(estimator, "intercept_", 0.0)),)


def score_expansion(estimator: Any) -> Chain:
    """Expansion of a ranker: on columns, their products, hidden nodes, landmarks or kernels."""
    known = estimator.expansion_
    match known:
        case ProductsExpansion():
            return Terms(_pairs(known.n_features, alone_first=True)), linear(known.coef)
        case LinearExpansion():
            return (linear(known.coef, known.intercept),)
        case NodeExpansion():  # random nodes of all draws side by side
            nodes = HiddenNodes(
                np.concatenate(list(known.hidden_weights), axis=1).astype(np.float64),
                known.hidden_biases.ravel().astype(np.float64),
                known.activation,
            )
            return nodes, linear(known.output_weights / len(known.hidden_weights))
        case LandmarkExpansion():
            phi = known.nystroem
            weights: Any = phi.whitening.astype(np.float64) @ known.output_weights
            constant: Any = phi.offset.astype(np.float64) @ known.output_weights + known.intercept
            return _values(phi.kernel, phi.landmarks, linear(weights, constant))
    rows = known.X_fit if isinstance(known, SupportExpansion) else None
    return _values(known.kernel, rows, linear(known.dual_coef, known.intercept))


def network(estimator: Any) -> Chain:
    """Layers of a neural ranker, after its own scaling."""
    *hidden, weights, offset = estimator.weights_
    pairs = zip(hidden[::2], hidden[1::2], strict=True)
    layers = [HiddenNodes(inner, biases, estimator.activation) for inner, biases in pairs]
    return Scaled(estimator.shift_, estimator.scale_), *layers, Affine(weights, offset)


def polynomial(estimator: Any) -> Chain:
    """Powers or products of scaled features."""
    d = estimator.n_features_in_
    if estimator.terms_ is None:
        factors = np.full((estimator.degree * d, estimator.degree), -1, dtype=np.int64)
        for power in range(1, estimator.degree + 1):
            factors[(power - 1) * d : power * d, :power] = np.arange(d)[:, None]
    else:
        factors = estimator.terms_.factors
    return Scaled(np.zeros(d), estimator.scale_), Terms(factors), linear(estimator.coef_)


def online_model(estimator: Any) -> Chain:
    """One score of a perceptron or of least mean squares."""
    phi = _explicit(estimator)
    if phi is not None:
        return *phi, linear(estimator.coef_)
    return _values(estimator.kernel_, estimator.X_fit_, linear(estimator.dual_coef_))


def many_hypotheses(estimator: Any) -> Chain:
    """Mean of many PRanks, or their votes."""
    if estimator.combine == "bpm":
        return online_model(estimator)
    known = estimator.hypotheses_
    voices = np.ones(known.weights.shape[1])
    if estimator.combine == "vote" and known.survival.any():
        voices = known.survival.astype(np.float64)
    scores = Affine(known.weights, np.zeros(len(voices)))
    votes = VoteMean(known.thresholds.astype(np.float64), voices)
    phi = _explicit(estimator)
    if phi is not None:
        return *phi, scores, votes
    return *_values(estimator.kernel_, estimator.X_fit_, scores), votes


def all_hypotheses(estimator: Any) -> Chain:
    """Votes of all hypotheses of one PRank; each hypothesis is a sum of earlier steps."""
    d = estimator.n_features_in_
    is_explicit = estimator.kernel is None
    kernel = AffinePowers(d, estimator.degree).kernel if is_explicit else estimator.kernel_
    n = len(estimator.dual_coef_)
    votes = VoteMean(estimator.threshold_path_, estimator.survival_.astype(np.float64))
    if not n:  # one hypothesis, whose score is 0
        return Affine(np.zeros((d, 1)), np.zeros(1)), votes
    values = _values(kernel, estimator.X_fit_, Affine(np.eye(n), np.zeros(n)))
    return *values, RunningSums(estimator.dual_coef_), votes


def nystroem(transformer: Any) -> Chain:
    """Nyström features."""
    phi = transformer.map_
    whiten = Affine(phi.whitening.astype(np.float64), phi.offset.astype(np.float64))
    return _values(phi.kernel, phi.landmarks, whiten)


def random_nodes(transformer: Any) -> Chain:
    """Node outputs."""
    return (HiddenNodes(transformer.weights_, transformer.biases_, transformer.activation),)


def random_fourier(transformer: Any) -> Chain:
    """Cosines, written as sines shifted by a quarter turn, and sines."""
    frequencies = transformer.frequencies_
    n = frequencies.shape[1]
    turns = np.repeat([0.5 * np.pi, 0.0], n)
    waves = HiddenNodes(np.concatenate([frequencies, frequencies], axis=1), turns, "sine")
    return waves, Scaled(np.zeros(2 * n), np.full(2 * n, np.sqrt(n)))


def random_perceptrons(transformer: Any) -> Chain:
    """Signs times magnitudes."""
    weights, sizes = transformer.weights_, transformer.sizes_
    if weights.ndim == 1:  # stumps store the numbers of their features
        weights = np.eye(transformer.n_features_in_)[:, weights]
    with np.errstate(divide="ignore"):
        spread = 0.5 / sizes
    return HiddenNodes(weights, -transformer.biases_, "hardlimit"), Scaled(
        np.full(len(sizes), 0.5), spread
    )


def polynomial_terms(transformer: Any) -> Chain:
    """Products of features."""
    return (Terms(transformer.factors_),)


def _explicit(estimator: Any) -> Chain | None:
    """Explicit features of an online learner; None with a kernel."""
    if estimator.kernel is not None:
        return None
    d, n_columns = estimator.n_features_in_, len(estimator.hypotheses_.weights)
    if estimator.degree == 1:  # least mean squares has a constant
        return _append_ones(d) if n_columns > d else ()
    pairs = _pairs(d, alone_first=False)
    root = np.sqrt(2.0)
    sizes = np.where((pairs[:, 1] == -1) | (pairs[:, 0] != pairs[:, 1]), root, 1.0)
    n = len(pairs)
    ones = Affine(np.eye(n, n + 1) * np.append(sizes, 0.0), np.eye(n + 1)[n])
    return Terms(pairs), ones


def _append_ones(d: int) -> Chain:
    return (Affine(np.eye(d, d + 1), np.eye(d + 1)[d]),)


def _pairs(d: int, *, alone_first: bool) -> Int64Array:
    """Products of two of d columns in the order of the upper triangle, and single columns."""
    upper = np.stack(np.triu_indices(d), axis=1)
    alone = np.stack([np.arange(d), np.full(d, -1)], axis=1)
    parts = [alone, upper] if alone_first else [upper, alone]
    return np.concatenate(parts).astype(np.int64)


def _values(kernel: Kernel, rows: Matrix | None, then: Affine) -> Chain:
    """Kernel values with rows, followed by an affine map; a linear kernel needs no rows."""
    if kernel.name in ("callable", "precomputed") or rows is None:
        raise ExportError(
            f"A model with kernel={kernel.name!r} depends on a function that cannot be written to "
            "a file. Use a named kernel: linear, polynomial, sigmoid, rbf, laplacian, perceptron "
            "or stump."
        )
    known = _dense(rows)
    if kernel.name == "linear" or not len(known):  # without mistakes there are no rows
        return (Affine(known.T @ then.weights, then.offset),)
    steps: list[Map] = [KernelValues(kernel, known), then]
    return tuple(steps)


def _dense(rows: Matrix) -> Float64Array:
    return np.asarray(densify(rows), dtype=np.float64)
