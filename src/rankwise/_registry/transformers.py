"""Transformers: classes in :mod:`rankwise.features`."""

from __future__ import annotations

from rankwise._registry.entry import Row

TRANSFORMERS: dict[str, Row] = {
    "nystroem": Row(
        "Nystroem",
        "Nyström features of a kernel, from landmarks among the rows",
        "kernel",
        paper="williams2001",
    ),
    "query_scaling": Row(
        "QueryScaler",
        "Min-max or standard scaling of the features within each query",
        "deterministic",
        paper="lin2010",
    ),
    "random_fourier": Row(
        "RandomFourier",
        "Random Fourier features of the rbf and laplacian kernels",
        "kernel",
        paper="rahimi2007",
    ),
    "polynomial_terms": Row(
        "PolynomialTerms",
        "Powers of features, or products of several features, all or randomly drawn",
        "polynomial",
        paper="tsai2010",
    ),
    "random_perceptrons": Row(
        "RandomPerceptrons",
        "Random perceptrons and stumps whose inner products estimate kernels",
        "kernel",
        paper="lin2008",
    ),
    "random_nodes": Row(
        "RandomNodes",
        "Random hidden nodes as features",
        "random-nodes",
        paper="zong2013",
    ),
}
