"""Convert fitted estimators to chains of maps.

Each estimator of the registry that can be exported has one line in ``_READERS``. Pipelines and
searches are resolved to the estimators that they contain.

Models of other libraries are read as models of this library first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise._registry import REGISTRY
from rankwise.export.column_steps import (
    column_names,
    encode_one_hot,
    fill_columns,
    join_parts,
    keep_columns,
    mark_missing,
)
from rankwise.export.maps import (
    Affine,
    CategoryValues,
    Chain,
    Column,
    ExportError,
    HiddenNodes,
    KernelValues,
    MadeColumns,
    RunningSums,
    Scaled,
    Sum,
    Terms,
    Trees,
    VoteMean,
    check_float64_keys,
    check_names_of,
    feature_names,
    have_twins,
    linear,
    merge_maps,
    steps_of,
)
from rankwise.features.kernels import Kernel
from rankwise.features.polynomial_terms import AffinePowers
from rankwise.features.score_expansions import (
    LandmarkExpansion,
    LinearExpansion,
    NodeExpansion,
    ProductsExpansion,
    SupportExpansion,
)
from rankwise.ordinal.ordinal_ranker import OrdinalRanker
from rankwise.ordinal.proportional_odds import ProportionalOdds
from rankwise.ordinal.ranking_tree import RankingTree, TreeRanker
from rankwise.ordinal.voted_prank import AggregatePRank, Votes
from rankwise.rankers.adapters.read_booster import library_of, read_booster
from rankwise.rankers.ensemble.auto_search import indicator_height
from rankwise.runtime.files import check_folder
from rankwise.solvers.boosting.stump_search import StumpEnsemble
from rankwise.trees.column_table import ColumnTable
from rankwise.trees.stored_boosters import StoredTrees
from rankwise.trees.tree_ensemble import ScoreTree, TreeEnsemble
from rankwise.typing import Float64Array, Int64Array, Matrix, densify

Reader = Callable[[Any], Chain]


def blend(estimator: Any) -> Chain:
    """Blend of models on scaled columns or on the features; a blend of trees is a sum of trees."""
    table: ColumnTable = estimator.columns_
    indicators = estimator.indicators_ if table.nominal else [{}] * len(estimator.models_)
    of_trees: list[tuple[float, float, Trees]] = []
    parts: list[tuple[float, float, Chain]] = []
    encoded: dict[int, CategoryValues] = {}
    numbers = zip(estimator.weights_.tolist(), estimator.levels_.tolist(), strict=True)
    for model, known, (weight, level) in zip(estimator.models_, indicators, numbers, strict=True):
        match chain_of(model) if weight > 0 else ():
            case ():
                continue
            case (Trees() as trees,):
                trees = _on_categories(trees, table, _names_of(estimator))
                encoded |= trees.encoded
                of_trees.append((weight, level, trees))
                parts.append((weight, level, (trees,)))
            case chain:
                parts.append((weight, level, (*_scale_for_blend(estimator, known), *chain)))
    categories = _named_categories(table)
    # Models that compare statistics read a column in different ways.
    if len(of_trees) == len(parts) and (len(parts) < 2 or not encoded):
        return (replace(_sum_of_trees(of_trees), categories=categories, encoded=encoded),)
    weights, levels, chains = zip(*parts, strict=True)
    return (Sum(chains, np.array(weights), np.array(levels), categories, encoded),)


def _on_categories(trees: Trees, table: ColumnTable, names: Any) -> Trees:
    """Trees on the codes of a table, as trees on its categories."""
    numbers, encoded = _number_categories(table), {}
    for column in sorted(trees.keys().keys() & numbers.keys()):
        check_float64_keys(numbers[column], names, column)
    for column, known in trees.encoded.items():
        keys = numbers[column][known.keys.astype(np.int64)] if column in numbers else known.keys
        order = np.argsort(keys, kind="stable")
        encoded[column] = CategoryValues(keys[order], known.values[order], known.prior)
    return replace(trees, trees=_name_members(trees.trees, numbers), encoded=encoded)


def _scale_for_blend(estimator: Any, indicators: dict[int, Float64Array]) -> Chain:
    """Scaled columns, 0 where a value is missing, and indicators of the codes of categories."""
    with np.errstate(divide="ignore"):
        spread = 1.0 / estimator.scale_
    n, numbers = len(spread), _number_categories(estimator.columns_)
    columns = [Column(column, fill=value) for column, value in enumerate(estimator.center_)]
    for column, codes in indicators.items():
        known = check_float64_keys(numbers.get(column, codes), _names_of(estimator), column)
        twins, places = have_twins(known), codes.astype(np.int64)
        if column not in numbers:
            places = np.arange(len(codes))
        columns += [Column(column, float(known[k]), 0.0, twins[k]) for k in places.tolist()]
    n_more = len(columns) - n
    scaled = Scaled(
        np.append(estimator.center_, np.zeros(n_more)),
        np.append(spread, np.full(n_more, 1.0 / indicator_height(n))),
    )
    return MadeColumns(tuple(columns)), scaled


def _sum_of_trees(weighted: list[tuple[float, float, Trees]]) -> Trees:
    """Combine weighted sums of trees, minus their levels, into one sum."""
    grown = tuple(
        replace(tree, values=weight * tree.values)
        for weight, _, trees in weighted
        for tree in trees.trees
    )
    constant = sum(weight * (trees.constant - level) for weight, level, trees in weighted)
    every = [trees for _, _, trees in weighted]
    return Trees(
        grown,
        constant,
        any(trees.has_missing for trees in every),
        tells_missing=all(trees.tells_missing for trees in every),
    )


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


def booster(estimator: Any) -> Chain:
    """Trees of the library's model; CatBoost's are converted to ordinary trees."""
    stored = estimator._stored_trees()
    if any(tree.zero_missing is not None for tree in stored.trees):
        raise ExportError(
            "A LightGBM model with zero_as_missing=True treats zeros as missing values, which "
            "no other format supports. Fit without it."
        )
    return _chain(stored, estimator)


def linear_model(estimator: Any) -> Chain:
    """``coef_`` and, if there is one, ``intercept_``."""
    return (linear(estimator.coef_, getattr(estimator, "intercept_", 0.0)),)


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


def network(estimator: Any) -> Chain:
    """Layers of a neural ranker, after its own scaling."""
    *hidden, weights, offset = estimator.weights_
    pairs = zip(hidden[::2], hidden[1::2], strict=True)
    layers = [HiddenNodes(inner, biases, estimator.activation) for inner, biases in pairs]
    return Scaled(estimator.shift_, estimator.scale_), *layers, Affine(weights, offset)


def nystroem(transformer: Any) -> Chain:
    """Nyström features."""
    phi = transformer.map_
    whiten = Affine(phi.whitening.astype(np.float64), phi.offset.astype(np.float64))
    return _values(phi.kernel, phi.landmarks, whiten)


def online_model(estimator: Any) -> Chain:
    """One score of a perceptron or of least mean squares."""
    phi = _explicit(estimator)
    if phi is not None:
        return *phi, linear(estimator.coef_)
    return _values(estimator.kernel_, estimator.X_fit_, linear(estimator.dual_coef_))


def orboost(estimator: Any) -> Chain:
    """ORBoost, of stumps or of perceptrons."""
    if estimator.estimator == "stump":
        return stumps(estimator)
    ensemble = estimator.ensemble_
    weights = ensemble.coefs[:, :-1] / ensemble.scale
    biases = ensemble.coefs[:, -1] - weights @ ensemble.center
    # Up if the sum is above 0, that is, unless its negative is at least 0.
    steps = ensemble.steps
    return HiddenNodes(-weights.T, -biases, "hardlimit"), linear(-2.0 * steps, steps.sum())


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


def stumps(estimator: Any) -> Chain:
    """One tree per feature: the piecewise constant function that is the sum of its stumps."""
    ensemble: StumpEnsemble = estimator.ensemble_
    takes_missing = bool(estimator.__sklearn_tags__().input_tags.allow_nan)
    features, indptr, thresholds, values, missing = ensemble.pieces()
    grown = []
    for m, feature in enumerate(features.tolist()):
        cuts, distinct = np.unique(thresholds[indptr[m] : indptr[m + 1]], return_index=True)
        # A value above equal thresholds is above all of them.
        ends = np.append(distinct[1:], indptr[m + 1] - indptr[m])
        steps = values[indptr[m] + m : indptr[m + 1] + m + 1]
        levels = np.concatenate([steps[:1], steps[ends]])
        absent = float(missing[m]) if takes_missing else None
        grown.append(_step_function(feature, cuts, levels, absent))
    return (Trees(tuple(grown), 0.0, bool(ensemble.missing.any())),)


def tree_ensemble(estimator: Any) -> Chain:
    """Trees of our own estimators."""
    return _chain_of_ensemble(estimator, estimator._tree_ensemble())


_READERS: dict[str, Reader] = {
    "linear_regression": score_expansion,
    "ridge": score_expansion,
    "pointwise_elm": score_expansion,
    "pairwise_elm": score_expansion,
    "elmrank": score_expansion,
    "rankrls": score_expansion,
    "lsrrank": score_expansion,
    "clsrrank": score_expansion,
    "mprank": score_expansion,
    "svrank": score_expansion,
    "svr": score_expansion,
    "lssvr": score_expansion,
    "rank_svm": score_expansion,
    "pruned_rank_svm": score_expansion,
    "pair_ranker": score_expansion,
    "rank_lr": score_expansion,
    "ada_rank": linear_model,
    "coordinate_ascent": linear_model,
    "rank_boost": stumps,
    "frank": stumps,
    "rank_net": network,
    "list_net": network,
    "list_mle": network,
    "lambda_rank": network,
    "lambdamart": tree_ensemble,
    "lightgbm": booster,
    "xgboost": booster,
    "catboost": booster,
    "auto": blend,
    "calibrated_ranker": lambda known: chain_of(known.estimator_),
    "prank": online_model,
    "voted_prank": all_hypotheses,
    "widrow_hoff": online_model,
    "aggregate_prank": many_hypotheses,
    "ranking_tree": tree_ensemble,
    "ranking_forest": tree_ensemble,
    "orboost": orboost,
    "ordinal_svm": score_expansion,
    "poly_ordinal_svm": polynomial,
    "proportional_odds": linear_model,
    "nystroem": nystroem,
    "random_fourier": random_fourier,
    "polynomial_terms": lambda known: (Terms(known.factors_),),
    "random_perceptrons": random_perceptrons,
    "random_nodes": lambda known: (HiddenNodes(known.weights_, known.biases_, known.activation),),
}
_OF_PATH = {REGISTRY[key].path: reader for key, reader in _READERS.items()}
_OF_PATH["rankwise.rankers.adapters.read_booster:ImportedBooster"] = tree_ensemble
EXPORTABLE = tuple(REGISTRY[key].class_name for key in _READERS)


def chain_of(estimator: Any) -> Chain:
    """Maps that compute the scores, or the features, of rows.

    The fitted estimator is one of this library, a model of LightGBM, XGBoost or CatBoost, a
    pipeline of steps of scikit-learn and such estimators, or a search. ExportError is raised if
    it, or its settings, cannot be exported.
    """
    before, last = maps_before(estimator), own_model(steps_of(estimator)[-1])
    reader = _find_reader(last)
    if reader is None:
        raise ExportError(
            f"{type(last).__name__} cannot be exported. Exportable estimators: "
            f"{', '.join(EXPORTABLE)}; in a pipeline, {', '.join(_STEPS)} before them; models of "
            "LightGBM, XGBoost and CatBoost."
        )
    check_is_fitted(last)
    chain = merge_maps((*before, *reader(last)))
    columns = [made for step in before if isinstance(step, MadeColumns) for made in step.columns]
    is_text = any(made.key is None and isinstance(made.fill, str) for made in columns)
    is_named = isinstance(chain[-1], Trees | Sum) and bool(chain[-1].categories)
    if columns and (is_text or is_named or reads_categories(chain)):
        raise ExportError(
            f"{type(last).__name__} reads categories behind a step that fills or encodes columns, "
            "and such a pipeline cannot be exported. Put a OneHotEncoder before it for all of "
            "them, or fit it without the pipeline."
        )
    return chain


def reads_categories(chain: Chain) -> bool:
    """Whether trees at the end of a chain split categories, or compare statistics of them."""
    match chain:
        case (*_, Trees() as trees):
            return bool(trees.encoded or any(tree.members for tree in trees.trees))
        case (*_, Sum() as blend):
            return any(map(reads_categories, blend.chains))
    return False


def maps_before(estimator: Any) -> Chain:
    """Maps of the steps before the model, as :func:`chain_of`."""
    return _maps_of(steps_of(estimator)[:-1])


def _maps_of(steps: Sequence[Any]) -> Chain:
    """Maps of steps that are not the model."""
    chain: Chain = ()
    for step in steps:
        reader = _find_reader(step)
        if reader is None:
            raise ExportError(
                f"the step {type(step).__name__} of the pipeline cannot be exported. Steps before "
                f"the model may be {', '.join(_STEPS)} and transformers of this library; to_onnx "
                "takes what skl2onnx converts, too."
            )
        check_is_fitted(step)
        chain += reader(step)
    return merge_maps(chain)


def _find_reader(estimator: Any) -> Reader | None:
    """Function that converts estimators of the class, or of a subclass of one of this library."""
    found = [_OF_PATH.get(_path(base)) for base in type(estimator).__mro__]
    return next(filter(None, found), _STEPS.get(_path(type(estimator))))


def is_exportable(path: str) -> bool:
    """Whether the class at ``"module:Class"`` has a reader."""
    return path in _OF_PATH


def _path(cls: type) -> str:
    if cls.__module__.startswith("sklearn."):
        return cls.__name__
    return f"{cls.__module__}:{cls.__qualname__}"


# Steps of scikit-learn ----------------------------------------------------------------------------


def _standard(scaler: Any) -> Chain:
    center = scaler.mean_ if scaler.with_mean else None
    return _scale_columns(center, scaler.scale_, scaler.n_features_in_)


def _smallest_and_largest(scaler: Any) -> Chain:
    if scaler.clip:
        raise ExportError("MinMaxScaler(clip=True) is not an affine map. Fit with clip=False.")
    to_unit = tuple(scaler.feature_range) == (0, 1)
    factor, shift = scaler.scale_, scaler.min_
    return (Scaled(-shift / factor, 1.0 / factor, to_unit, factor, shift),)


def _scale_columns(center: Any, spread: Any, n: int) -> Chain:
    center = np.zeros(n) if center is None else np.asarray(center, dtype=np.float64)
    spread = np.ones(n) if spread is None else np.asarray(spread, dtype=np.float64)
    return (Scaled(center, spread),)


_STEPS: dict[str, Reader] = {
    "StandardScaler": _standard,
    "MinMaxScaler": _smallest_and_largest,
    "MaxAbsScaler": lambda known: _scale_columns(None, known.scale_, known.n_features_in_),
    "RobustScaler": lambda known: _scale_columns(known.center_, known.scale_, known.n_features_in_),
    "ColumnTransformer": lambda known: join_parts(known, lambda p: _maps_of(steps_of(p))),
    "OneHotEncoder": encode_one_hot,
    "SimpleImputer": fill_columns,
    "MissingIndicator": mark_missing,
    "FunctionTransformer": keep_columns,
}


def prepare_export(
    estimator: Any, path: str | Path | None, features: Sequence[str] | None
) -> tuple[Any, list[str]]:
    """The model as one of this library, and names as of ``engine_names``; checks ``path`` first."""
    if path is not None:
        check_folder(path)
    estimator = own_model(estimator)
    return estimator, engine_names(estimator, features)


def columns_of(estimator: Any) -> MadeColumns | None:
    """Columns that the first steps of a model make of those of the table; None: they make none."""
    found: Chain = ()
    steps = steps_of(estimator)[:-1]
    for end in range(1, len(steps) + 1):
        try:
            found = _maps_of(steps[:end])
        except ExportError:
            break
    return found[0] if found and isinstance(found[0], MadeColumns) else None


def categories_of(estimator: Any) -> tuple[dict[int, list[Any]], list[int]]:
    """Categories, by column, for which rows of files hold positions; columns with -1 for others.

    Other categories are missing values in the remaining columns.
    """
    made = columns_of(estimator)
    if made is not None:
        listed = made.read_as_text(len(feature_names(estimator)))
        return listed, list(listed)
    try:
        first = chain_of(estimator)[0]
    except ExportError:  # skl2onnx converts the first step
        return {}, []
    if not isinstance(first, Trees | Sum):
        return {}, []
    known = {column: first.categories[column].tolist() for column in sorted(first.categories)}
    return known, sorted(first.encoded)


def engine_names(estimator: Any, given: Sequence[str] | None = None) -> list[str]:
    """Names of the numbers that an engine without encoders has to offer, one for each column.

    They are those of :func:`feature_names`, or, behind steps that encode, of the encoded columns.
    """
    made = columns_of(estimator)
    if made is None:
        return feature_names(estimator, given)
    names = column_names(made, feature_names(estimator)) if given is None else list(given)
    return check_names_of(names, len(made.columns))


def own_model(estimator: Any) -> Any:
    """The estimator itself, or the trees of a LightGBM, XGBoost or CatBoost model."""
    return estimator if library_of(estimator) is None else read_booster(estimator)


def _explicit(estimator: Any) -> Chain | None:
    """Explicit features of an online learner; None with a kernel."""
    if estimator.kernel is not None:
        return None
    d, n_columns = estimator.n_features_in_, len(estimator.hypotheses_.weights)
    if estimator.degree == 1:  # least mean squares has a constant
        return (Affine(np.eye(d, d + 1), np.eye(d + 1)[d]),) if n_columns > d else ()
    pairs = _pairs(d, alone_first=False)
    root = np.sqrt(2.0)
    sizes = np.where((pairs[:, 1] == -1) | (pairs[:, 0] != pairs[:, 1]), root, 1.0)
    n = len(pairs)
    ones = Affine(np.eye(n, n + 1) * np.append(sizes, 0.0), np.eye(n + 1)[n])
    return Terms(pairs), ones


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
    known = np.asarray(densify(rows), dtype=np.float64)
    if kernel.name == "linear" or not len(known):  # without mistakes there are no rows
        return (Affine(known.T @ then.weights, then.offset),)
    return KernelValues(kernel, known), then


def _chain_of_ensemble(estimator: Any, ensemble: TreeEnsemble) -> Chain:
    trees = ensemble.score_trees(estimator.columns_.n_categories(estimator.n_features_in_))
    stored = StoredTrees(
        trees,
        ensemble.constant,
        bool(estimator.has_missing_.any()),
        tells_missing=getattr(estimator, "library_", None) != "XGBoost",
    )
    return _chain(stored, estimator)


def _names_of(estimator: Any) -> Any:
    return getattr(estimator, "feature_names_in_", None)


def _chain(stored: StoredTrees, estimator: Any) -> Chain:
    """Convert trees on codes of categories to trees on the categories themselves.

    Trees on statistics of categories stay as they are; the statistics come with them.
    """
    table: ColumnTable = estimator.columns_
    tested = {column for tree in stored.trees for column in np.unique(tree.feature).tolist()}
    encoded = {}
    for column in sorted(table.statistics.keys() & tested):
        values = table.statistics[column]
        codes = np.arange(float(len(values)))
        encoded[column] = CategoryValues(codes, values, table.prior[column])
    trees = Trees(
        tuple(stored.trees), stored.constant, stored.has_missing, _named_categories(table),
        stored.tells_missing, encoded,
    )  # fmt: skip
    return (_on_categories(trees, table, _names_of(estimator)),)


def _number_categories(table: ColumnTable) -> dict[int, Float64Array]:
    """Categories of nominal columns of numbers, whose rows hold the categories themselves."""
    return {
        column: categories.astype(np.float64)
        for column, categories in table.nominal.items()
        if categories.dtype.kind in "biuf"
    }


def _named_categories(table: ColumnTable) -> dict[int, Any]:
    """Categories of the other columns, whose rows hold positions."""
    named, numbers = {**table.nominal, **table.ordered}, _number_categories(table)
    return {column: named[column] for column in named if column not in numbers}


def _name_members(
    trees: Sequence[ScoreTree], numbers: dict[int, Float64Array]
) -> tuple[ScoreTree, ...]:
    """Trees with categories in place of their codes in columns of numbers."""
    out = []
    for tree in trees:
        members = {}
        for node, sides in tree.members.items():
            known = numbers.get(int(tree.feature[node]))
            left, right = (
                side if known is None else known[side.astype(np.int64)] for side in sides
            )
            members[node] = (left, right)
        out.append(replace(tree, members=members))
    return tuple(out)


def _step_function(
    feature: int, cuts: Float64Array, levels: Float64Array, missing: float | None
) -> ScoreTree:
    """Balanced tree of a step function whose value is ``levels[k]`` above k cuts.

    With ``missing``, the root sends missing values to a leaf of this value.
    """
    # Cuts that a node splits, by their range; the value of a leaf
    nodes: list[tuple[int, int] | float] = [(0, len(cuts))]
    rows: list[tuple[int, float, int, int, float]] = []
    if missing is not None:
        nodes, rows = [*nodes, *nodes, missing], [(feature, np.inf, 1, 2, 0.0)]
    while len(rows) < len(nodes):
        match nodes[len(rows)]:
            case (first, last) if first < last:
                middle = (first + last) // 2
                rows.append((feature, cuts[middle], len(nodes), len(nodes) + 1, 0.0))
                nodes += [(first, middle), (middle + 1, last)]
            case (first, _):
                rows.append((-1, np.nan, -1, -1, levels[first]))
            case value:
                rows.append((-1, np.nan, -1, -1, value))
    features, thresholds, left, right, values = map(np.array, zip(*rows, strict=True))
    return ScoreTree(features, thresholds, left, right, np.zeros(len(rows), dtype=bool), values)


def class_chain(estimator: Any) -> Chain | None:
    """Maps that compute the class number; None if thresholds of the score determine it.

    ExportError is raised if the estimator has no classes, or no chain can compute them.
    """
    name = type(estimator).__name__
    match estimator:
        case ProportionalOdds() if len(estimator.classes_) != 2:
            raise ExportError(
                f"{name} predicts the most probable class, which its score does not determine. "
                "Drop label=True, or count the thresholds_ that the score reaches to get the "
                "median class."
            )
        case AggregatePRank(combine="bpm") | Votes(votes="mean") | TreeRanker(leaf="mean"):
            return None
        case RankingTree():
            values = estimator.node_classes_.astype(np.float64)
            return _chain_of_ensemble(estimator, TreeEnsemble.of_grown([(estimator.tree_, values)]))
        case Votes() | TreeRanker():
            raise ExportError(
                f"{name} chooses classes by votes, which its score does not determine. "
                'Drop label=True, or fit with leaf="mean" or votes="mean".'
            )
        case OrdinalRanker():
            return None
    raise ExportError(
        f"label=True needs an ordinal estimator, which predicts classes; {name} predicts scores. "
        "Drop it."
    )


def label_values(classes: Any) -> Any:
    """Classes as whole numbers if possible, else as text."""
    values = np.asarray(classes)
    if values.dtype.kind in "biu":
        return values.astype(np.int64)
    if values.dtype.kind == "f" and (values == np.rint(values)).all():
        return values.astype(np.int64)
    return np.array([str(value) for value in values.tolist()], dtype=object)
