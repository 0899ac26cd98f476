"""One file per model: ``save`` and ``load`` without pickle.

A model file is a zip archive in the format of skops [1]_ with an additional entry,
``rankwise.json``. This entry lists the estimator, its parameters and features, library versions and
the fingerprint of the training data. :func:`describe` reads it without creating any object. Classes
of this library are named ``rankwise.NAME``, so files do not depend on the module in which a class
is defined. Files of format 1, which name modules, and of format 2, with parameters and attributes
that have other names today, load as well.

``load`` creates only allow-listed types: the estimators of the registry, the result types listed
here, and the types that skops trusts (scikit-learn's estimators, NumPy and SciPy arrays). The file
cannot extend this list; other types are reported and never imported.

The numbers in a file are not trusted either, because compiled code uses the child, feature and
category numbers of a tree without checks. Every class therefore declares the structure of its
fitted state (:mod:`rankwise.structure.state_rules`), and ``load`` checks the whole model against
these rules (:mod:`rankwise.structure.model_check`) before it is used. Trees of the boosting
adapters are checked before their library parses them.

Importing skops takes seconds: to learn the names of estimators, it imports all of scikit-learn, and
with it PyTorch and Dask if they are installed. Most models of this library consist of a few entry
types, which this module reads with the same meaning as skops. skops reads files with any other
entry type.

References
----------
.. [1] https://skops.readthedocs.io/en/stable/persistence.html
"""

from __future__ import annotations

import io
import json
import math
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from sys import modules
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from rankwise._registry import REGISTRY
from rankwise._version import __version__
from rankwise.metrics._table import MEASURES
from rankwise.runtime.files import check_folder, write_file
from rankwise.runtime.renames import convert_stored, rename_stored
from rankwise.runtime.scikit_learn import BaseEstimator
from rankwise.structure.model_check import check_model
from rankwise.structure.state_rules import StructureError

if TYPE_CHECKING:
    from rankwise.datasets import RowSummary


FORMAT = 3
MAX_BYTES = 2**33
HEADER = "rankwise.json"
RESULT_TYPES = (
    "rankwise.features.score_expansions.LandmarkExpansion",
    "rankwise.features.score_expansions.LinearExpansion",
    "rankwise.features.score_expansions.LinearKernelExpansion",
    "rankwise.features.score_expansions.NodeExpansion",
    "rankwise.features.score_expansions.PrecomputedExpansion",
    "rankwise.features.score_expansions.ProductsExpansion",
    "rankwise.features.score_expansions.SupportExpansion",
    "rankwise.features.kernels.Kernel",
    "rankwise.features.nystroem.NystroemMap",
    "rankwise.features.polynomial_terms.TermMap",
    "rankwise.features.random_features.FourierMap",
    "rankwise.features.random_features.NodeMap",
    "rankwise.fusion.learned_fusion.LearnedFusion",
    "rankwise.fusion.probabilistic_fusion.ProbabilisticFusion",
    "rankwise.fusion.learned_fusion.NonNegativeRanker",
    "rankwise.groups.QueryGroups",
    "rankwise.metrics.measures.confusion_matrix.CostScorer",
    "rankwise.metrics.evaluation.MeasureScorer",
    "rankwise.ordinal.online_ranker.Hypotheses",
    "rankwise.preferences.pairwise_preferences.PairwisePreferences",
    "rankwise.preferences.plackett_luce.PlackettLuce",
    "rankwise.solvers.least_squares.design.LinearDesign",
    "rankwise.solvers.least_squares.design.NodeDesign",
    "rankwise.solvers.least_squares.design.ShiftedColumns",
    "rankwise.solvers.least_squares.gram.Gram",
    "rankwise.solvers.least_squares.gram.OpenQuery",
    "rankwise.solvers.least_squares.gram.RunningGram",
    "rankwise.solvers.boosting.perceptron_search.PerceptronEnsemble",
    "rankwise.solvers.boosting.stump_search.StumpEnsemble",
    "rankwise.ordinal.score_probabilities.ScoreCalibration",
    "rankwise.rankers.calibration.ListCalibration",
    "rankwise.rankers.calibration.ProbabilityMap",
    "rankwise.rankers.adapters.read_booster.ImportedBooster",
    "rankwise.trees.column_table.ColumnTable",
    "rankwise.trees.tree_ensemble.TreeEnsemble",
    "rankwise.trees.linear_models.ModelNodes",
    "rankwise.trees.tree.Tree",
)
_SPLITTERS = (
    "GroupKFold", "GroupShuffleSplit", "KFold", "LeaveOneGroupOut", "LeaveOneOut",
    "LeavePGroupsOut", "LeavePOut", "PredefinedSplit", "RepeatedKFold", "RepeatedStratifiedKFold",
    "ShuffleSplit", "StratifiedGroupKFold", "StratifiedKFold", "StratifiedShuffleSplit",
    "TimeSeriesSplit", "_CVIterableWrapper",
)  # fmt: skip
# Types that need no rules of ours: dtypes of scikit-learn's imputer; sparse matrices, which skops
# reads as plain arrays; the column selector by dtype; trees of histogram gradient boosting, which
# are checked after they are created; and the splitters and the default scorer of searches.
PLAIN_TYPES = (
    "numpy.dtype",
    "rankwise.selection.splits.DocumentKFold",
    "rankwise.selection.splits.QueryKFold",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._scorer._PassthroughScorer",
    # What steps of a search request, in scikit-learn 1.6 and 1.7.
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
    *(f"sklearn.model_selection._split.{splitter}" for splitter in _SPLITTERS),
)
TRUSTED_TYPES = (
    *(entry.path.replace(":", ".") for entry in REGISTRY.values()),
    *(path.replace(":", ".") for path in MEASURES.values()),
    "rankwise.metrics.measure.Reversed",
    *RESULT_TYPES,
    *PLAIN_TYPES,
)

_TRUSTED = frozenset(TRUSTED_TYPES)
_MODULES = {
    cls: module
    for module, _, cls in (path.rpartition(".") for path in TRUSTED_TYPES)
    if module.startswith("rankwise.")
}
# Where scorers, splits and distributions of searches come from. Fitted estimators of scikit-learn,
# such as forests, are saved: load takes their types in `trusted`.
_OF_SEARCHES = ("builtins", "numpy", "scipy", "sklearn.metrics", "sklearn.model_selection")
_PACKAGES = ("numpy", "scipy", "scikit-learn", "skops")
_PICKLE_START = b"\x80"
_ZIP_START = b"PK"


class Save:
    """Mixin of all estimators with a method that saves them to a file."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the fitted estimator to one file that :func:`rankwise.load` reads back."""
        return save(cast(BaseEstimator, self), path)


def save(
    estimator: BaseEstimator, path: str | os.PathLike[str], *, rows: RowSummary | None = None
) -> Path:
    """Write an estimator to one file that :func:`load` reads back.

    Parameters
    ----------
    estimator : estimator
        Ranker or another scikit-learn estimator, such as a pipeline.
    path : path-like
        File to write. It is replaced atomically: a reader sees the old file or the new one.
    rows : RowSummary, optional
        Summary of the training rows, of :func:`rankwise.datasets.summarize_rows`, to compare later
        rows with: see :func:`rankwise.selection.find_drift`. ``describe`` returns it as "rows".

    Returns
    -------
    Path
        ``path``.

    Raises
    ------
    TypeError
        If ``estimator`` is not an estimator; if it holds an object that a file cannot name: a
        lambda, a nested function, a bound method or a ``partial``; or if it holds an object of
        another library that :func:`load` rejects, such as a distribution of SciPy in a search.
    ValueError
        If the estimator holds values that :func:`load` rejects, such as non-finite weights.
    FileNotFoundError
        If the folder of ``path`` does not exist.
    OSError
        If the file cannot be written, for instance because the disk is full. The error names
        ``path``, and an existing file is not changed.

    Examples
    --------
    >>> import numpy as np, rankwise, tempfile
    >>> X, y = np.arange(6.0).reshape(3, 2), [0, 1, 2]
    >>> ranker = rankwise.LinearRegressionRanker().fit(X, y, qid=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = rankwise.save(ranker, f"{folder}/model.skops")
    ...     bool((rankwise.load(path).predict(X) == ranker.predict(X)).all())
    True
    """
    path = Path(path)
    check_folder(path)
    write_file(path, dump_bytes(estimator, None if rows is None else rows.to_dict()))
    return path


def dump_bytes(estimator: BaseEstimator, rows: dict[str, Any] | None = None) -> bytes:
    """Content of a model file; ``rows`` is a summary of the training rows."""
    import skops.io  # imports PyTorch if it is installed, which takes seconds
    from skops.io.exceptions import UnsupportedTypeException

    if not isinstance(estimator, BaseEstimator):
        raise TypeError(
            f"save needs an estimator, got {type(estimator).__name__}. "
            "Pass a ranker or a scikit-learn pipeline."
        )
    for where, value in _walk(estimator, type(estimator).__name__):
        _check_can_be_named(where, value)
    try:
        check_model(estimator)
    except StructureError as error:
        raise ValueError(
            f"{error}. The model is not saved, because load would reject it. Fit it again."
        ) from error
    try:
        data = skops.io.dumps(estimator, compression=ZIP_STORED)
    except UnsupportedTypeException as error:
        raise TypeError(f"{type(estimator).__name__} cannot be saved: {error}") from error
    _check_types(estimator, data)
    with ZipFile(io.BytesIO(data)) as archive:
        schema = json.loads(archive.read(SCHEMA))
    for entry in dicts_of(schema):
        # A file does not depend on where the code of a class is: classes can move.
        if _MODULES.get(entry.get("__class__", "")) == entry.get("__module__", ""):
            entry["__module__"] = _PACKAGE
    header = json.dumps(_header(estimator, rows), indent=1)
    return replace_schema(data, schema, (HEADER, header))


Model = TypeVar("Model", bound=BaseEstimator)


@overload
def load(
    path: str | os.PathLike[str],
    cls: type[Model],
    *,
    trusted: Sequence[type | Callable[..., Any]] = ...,
    max_bytes: int = ...,
    warm: bool = ...,
) -> Model: ...
@overload
def load(
    path: str | os.PathLike[str],
    cls: None = None,
    *,
    trusted: Sequence[type | Callable[..., Any]] = ...,
    max_bytes: int = ...,
    warm: bool = ...,
) -> Any: ...
def load(
    path: str | os.PathLike[str],
    cls: type[Any] | None = None,
    *,
    trusted: Sequence[type | Callable[..., Any]] = (),
    max_bytes: int = MAX_BYTES,
    warm: bool = False,
) -> Any:
    """Read an estimator that :func:`save` wrote.

    Arrays, trees, indices and parameters are checked against the rules of their classes before any
    method of the model is called. Time is linear in the size of the file.

    Parameters
    ----------
    path : path-like
        Model file.
    cls : type, optional
        Class of the model, such as ``LambdaMART`` or a class that it is derived from. Type checkers
        then know the class of the result. None: any class.
    trusted : sequence of types and functions, default=()
        Your own classes and functions (such as a kernel or a measure) that the model may contain:
        pass the objects, not their names. A crafted file can call them with any arguments.
    max_bytes : int, default=8 GiB
        Largest total size of the sparse matrices after decompression. Nothing else in a model file
        is compressed.
    warm : bool, default=False
        If True, compile what the model needs to score, see :func:`rankwise.warm_up`. Use it in a
        server: the first request then takes no longer than the others, in forked workers too.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, was written by a newer version, holds another
        class than ``cls``, needs more than ``max_bytes``, contains types that are neither
        allow-listed nor in ``trusted``, or contains values that violate the rules of their class:
        indices out of range, trees with cycles, wrong shapes or types, non-finite numbers, or
        parameters out of range.
    TypeError
        If ``cls`` is not a class, or ``trusted`` holds anything but types and functions, such as
        their names, or ``warm`` is not a bool.
    ValueError
        If ``warm`` is True, and the model needs rows of a request, see :func:`rankwise.warm_up`.
    ImportError
        If the model needs an extra that is not installed.
    FileNotFoundError

    Examples
    --------
    >>> import rankwise
    >>> from rankwise.datasets import load_dataset
    >>> fold = load_dataset("lambdarank", fold=1)
    >>> train, test = fold.train, fold.test
    >>> ranker = rankwise.RidgeRanker().fit(train.X, train.y, qid=train.qid)
    >>> path = rankwise.save(ranker, "ridge.rankwise")
    >>> loaded = rankwise.load(path, rankwise.RidgeRanker)
    >>> rankwise.rank(loaded, test.X[:5], qid=test.qid[:5])
    array([5, 4, 3, 1, 2])
    """
    if cls is not None and not isinstance(cls, type):
        raise TypeError(f"cls must be a class, such as rankwise.LambdaMART, got {cls!r}.")
    if not isinstance(warm, bool):
        raise TypeError(
            f"warm must be True or False, got {type(warm).__name__}. To warm up with rows of a "
            "request, call rankwise.warm_up(model, rows) after load."
        )
    estimator = load_bytes(_bytes_of(path), path, trusted, max_bytes)
    if cls is not None and not isinstance(estimator, cls):
        found = type(estimator).__name__
        raise ModelFileError(
            f"{path} holds a {found}, not a {cls.__name__}. Pass cls={found}, or no cls."
        )
    if warm:
        from rankwise.prediction import warm_up

        warm_up(estimator)
    return estimator


def load_bytes(
    data: bytes,
    path: str | os.PathLike[str],
    trusted: Sequence[type | Callable[..., Any]] = (),
    max_bytes: int = MAX_BYTES,
) -> Any:
    """Estimator from the content of a model file; ``path`` is its name in messages."""
    names = [_name(item) for item in ([trusted] if isinstance(trusted, str) else trusted)]
    header = _read_header(data, path)
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            schema = json.loads(archive.read(SCHEMA))
            check_loaders(schema, path)
            check_array_files(archive, schema, path, max_bytes)
            has_other_names = _use_modules(schema)
            if header["format"] < FORMAT:
                renamed = [rename_stored(entry) for entry in dicts_of(schema)]
                has_other_names |= any(renamed)
            estimator = read_plain(archive, schema)
        if estimator is None:  # the file holds entries that only skops reads
            current = replace_schema(data, schema) if has_other_names else data
            estimator = _read_with_skops(path, current, names)
        if isinstance(estimator, BaseEstimator):
            if header["format"] < FORMAT:
                for _, stored in [("", estimator), *_walk(estimator, "")]:
                    if isinstance(stored, BaseEstimator):
                        convert_stored(stored)
            check_model(estimator)
    except StructureError as error:
        raise ModelFileError(f"{path}: {error}. {CHANGED}") from error
    except (ModelFileError, ImportError):
        raise
    except Exception as error:  # a damaged tree of objects can raise any error
        raise _describe_damage(path, error) from error
    if not isinstance(estimator, BaseEstimator):
        raise ModelFileError(f"{path} holds a {type(estimator).__name__}, not an estimator.")
    return estimator


def _name(item: Any) -> str:
    """Dotted name of a class or function; importing a given name instead would run its module."""
    if not hasattr(item, "__qualname__"):
        short = item.rpartition(".")[2] if isinstance(item, str) else type(item).__name__
        raise TypeError(
            f"trusted must hold classes and functions themselves, got {item!r}. Import {short} and "
            f"pass trusted=[{short}]."
        )
    return f"{item.__module__}.{item.__qualname__}"


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the description in a model file, without creating any object from the file.

    Returns
    -------
    dict
        ``format`` (int), ``rankwise`` (version), ``versions`` (of Python and the libraries),
        ``estimator`` (class), ``params``, ``n_features``, ``feature_names`` (None if X had none),
        ``score_name``, ``categories`` (by column, if there are any), ``rows`` (summary of the
        training rows, if it was saved) and ``fingerprint`` (of the training data, see
        :mod:`rankwise.row_order`; None if the estimator is not fitted).

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, or was written by a newer version.
    FileNotFoundError
    """
    return _read_header(_bytes_of(path), path)


def _bytes_of(path: str | os.PathLike[str]) -> bytes:
    path = Path(path)
    if path.is_file():
        return path.read_bytes()
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Pass the path of a model file in it.")
    looked = "" if path.is_absolute() else f" in {Path.cwd()}"
    raise FileNotFoundError(
        f"{path}: no such file{looked}. Pass a file that save or 'rankwise fit' wrote."
    )


_version = cache(version)  # reads a file


def _header(estimator: BaseEstimator, rows: dict[str, Any] | None) -> dict[str, Any]:
    parts = [value for _, value in _walk(estimator, "") if isinstance(value, BaseEstimator)]

    def first(attribute: str) -> Any:
        found = (getattr(part, attribute, None) for part in (estimator, *parts))
        return next((value for value in found if value is not None), None)

    names, cls = first("feature_names_in_"), type(estimator)
    is_ours = _MODULES.get(cls.__name__) == cls.__module__
    return {
        "format": FORMAT,
        "rankwise": __version__,
        "versions": {
            "python": platform.python_version(),
            **{package: _version(package) for package in _PACKAGES},
        },
        "estimator": f"{'rankwise' if is_ours else cls.__module__}.{cls.__qualname__}",
        "params": {name: _plain(value) for name, value in estimator.get_params(deep=False).items()},
        "n_features": _plain(first("n_features_in_")),
        "feature_names": None if names is None else [str(name) for name in names],
        "score_name": first("score_name_"),
        "fingerprint": first("fit_fingerprint_"),
        **_describe_categories((estimator, *parts)),
        **({} if rows is None else {"rows": rows}),
    }


def _describe_categories(parts: Iterable[Any]) -> dict[str, dict[str, str]]:
    """Number of categories by column, of the first part with any, and how trees read them."""
    for part in parts:
        table = getattr(part, "columns_", None)
        if table is None or not (table.nominal or table.ordered):
            continue
        names = getattr(part, "feature_names_in_", None)
        found = {}
        for column, known in sorted({**table.nominal, **table.ordered}.items()):
            how = ", in order" if column in table.ordered else ""
            how = ", replaced by statistics" if column in table.statistics else how
            name = str(column if names is None else names[column])
            found[name] = f"{len(known)} categories{how}"
        return {"categories": found}
    return {}


def _plain(value: Any) -> Any:
    """Value for JSON: numbers, strings and lists are kept, other objects become their repr."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return repr(value)


def _walk(value: Any, where: str, seen: set[int] | None = None) -> Iterator[tuple[str, Any]]:
    """Every object within ``value`` that a file would hold, with its place."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, dict):
        children = [(f"{where}[{key!r}]", child) for key, child in value.items()]
    elif isinstance(value, list | tuple | set):
        children = [(f"{where}[{i}]", child) for i, child in enumerate(value)]
    elif isinstance(value, BaseEstimator):
        state: Any = value.__getstate__()
        children = [(f"{where}.{key}", child) for key, child in state.items()]
    elif hasattr(value, "__dict__") and not isinstance(value, type | FunctionType | partial):
        children = [(f"{where}.{key}", child) for key, child in vars(value).items()]
    else:
        return
    for place, child in children:
        yield place, child
        yield from _walk(child, place, seen)


def _check_can_be_named(where: str, value: Any) -> None:
    if isinstance(value, partial | MethodType):
        what = f"a {type(value).__name__}"
    elif isinstance(value, FunctionType):
        if getattr(modules.get(value.__module__), value.__name__, None) is value:
            return
        what = "a lambda" if value.__name__ == "<lambda>" else "a function defined inside another"
    else:
        return
    raise TypeError(
        f"{where} is {what}, which a model file cannot name. Define it as a function at module "
        "level (and load with trusted=[that_function]), or name one of the library's own."
    )


def _check_types(estimator: BaseEstimator, data: bytes) -> None:
    """Raise if a file holds parts of a search that load does not trust.

    Classes and functions of the user, and fitted estimators of scikit-learn, are left to load,
    which takes them in ``trusted``.
    """
    import skops.io

    for name in skops.io.get_untrusted_types(data=data):
        module, _, cls = name.rpartition(".")
        # Types such as iterators have no name in their module.
        is_type = module in modules and not isinstance(
            getattr(modules[module], cls, None), FunctionType | BuiltinFunctionType
        )
        if name not in _TRUSTED and is_type and module.startswith(_OF_SEARCHES):
            raise TypeError(
                f"{type(estimator).__name__} cannot be saved, because it holds a {name}, which "
                "load does not trust. Pass lists and names to a search (of values, of splits, of "
                "scorers), or save its best_estimator_."
            )


def _read_header(data: bytes, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Header of an archive, after checks that it is undamaged and not of a newer version."""
    if not data:
        raise ModelFileError(f"{path} is empty.")
    if data.startswith(_PICKLE_START):
        raise ModelFileError(
            f"{path} looks like a pickle, which load never opens because it can run any code. "
            "Save the model with rankwise.save."
        )
    if not data.startswith(_ZIP_START):
        raise ModelFileError(f"{path} is not a model file: rankwise.save writes zip archives.")
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if any(entry.compress_type != ZIP_STORED for entry in entries) or (
                sum(entry.file_size for entry in entries) > len(data)
            ):
                raise ModelFileError(f"{path} is packed in a form that rankwise.save never uses.")
            if len({entry.filename for entry in entries}) < len(entries):
                raise ModelFileError(f"{path} contains an entry twice. {CHANGED}")
            if not {HEADER, SCHEMA} <= set(archive.namelist()):
                raise ModelFileError(
                    f"{path} is a zip archive but not a model file: it lacks {HEADER} or "
                    f"{SCHEMA}. Save the model with rankwise.save."
                )
            header = json.loads(archive.read(HEADER))
            written = str(header["rankwise"])
            newer = header["format"] > FORMAT or _major(written) > _major(__version__)
    except ModelFileError:
        raise
    except Exception as error:  # a damaged archive can raise any error
        raise _describe_damage(path, error) from error
    if newer:
        raise ModelFileError(
            f"{path} was written by rankwise {written}, but this is version {__version__}. "
            "Upgrade rankwise to read it."
        )
    return header


def _major(release: str) -> int:
    return int(release.partition(".")[0])


def _read_with_skops(path: str | os.PathLike[str], data: bytes, names: Sequence[str]) -> Any:
    import skops.io  # imports all of scikit-learn, and PyTorch if it is installed
    from skops.io.exceptions import UntrustedTypesFoundException

    try:
        return skops.io.loads(data, trusted=[*TRUSTED_TYPES, *names])
    except UntrustedTypesFoundException:
        found = skops.io.get_untrusted_types(data=data)
        odd = [name for name in found if name not in TRUSTED_TYPES and name not in names]
        own = ", ".join(name.rpartition(".")[2] for name in odd)
        raise ModelFileError(
            f"{path} holds types that load does not trust: {', '.join(odd)}. Nothing was loaded. "
            f"If they are your own, import them first and pass them: load(path, trusted=[{own}]); "
            "otherwise do not trust this file."
        ) from None


def _describe_damage(path: str | os.PathLike[str], error: Exception) -> ModelFileError:
    what = "is truncated or damaged" if isinstance(error, BadZipFile) else "is damaged"
    return ModelFileError(f"{path} {what}: {type(error).__name__}: {error}")


# Bound methods, partial objects, operators and constructors with arguments do not belong in a model
# file: they could call a trusted type with arguments chosen by the file.
_LOADERS = frozenset({
    "ObjectNode", "JsonNode", "DictNode", "DefaultDictNode", "ListNode", "TupleNode", "SetNode",
    "SliceNode", "BytesNode", "BytearrayNode", "NdArrayNode", "MaskedArrayNode", "DTypeNode",
    "SparseMatrixNode", "RandomStateNode", "RandomGeneratorNode", "TypeNode", "FunctionNode",
    "LossNode", "TreeNode", "CachedNode",
})  # fmt: skip
CHANGED = "The file is damaged or was changed: save the model again."
SCHEMA = "schema.json"  # the tree of objects, written by skops
_PACKAGE = "rankwise"


class ModelFileError(ValueError):
    """The file is not a model of this library, is damaged, or holds untrusted content."""


def _use_modules(schema: Any) -> bool:
    """Replace stable names by the modules of today, in place; whether any entry changed.

    Files of format 1 name the module in which a class was then. Class names are unique within the
    library, so any module of the library stands for the class of that name; none is imported
    because a file names it.
    """
    changed = False
    for entry in dicts_of(schema):
        module, name = entry.get("__module__"), entry.get("__class__")
        is_ours = isinstance(module, str) and module.partition(".")[0] == _PACKAGE
        if is_ours and isinstance(name, str) and _MODULES.get(name, module) != module:
            entry["__module__"] = _MODULES[name]
            changed = True
    return changed


def replace_schema(data: bytes, schema: Any, header: tuple[str, str] | None = None) -> bytes:
    """Copy of an archive with another tree of objects, and a further entry (its name and text)."""
    target = io.BytesIO()
    with ZipFile(io.BytesIO(data)) as old, ZipFile(target, "w", ZIP_STORED) as new:
        for entry in old.infolist():
            is_schema = entry.filename == SCHEMA
            new.writestr(entry.filename, json.dumps(schema) if is_schema else old.read(entry))
        if header is not None:
            new.writestr(*header)
    return target.getvalue()


def check_loaders(node: Any, path: str | os.PathLike[str]) -> None:
    """Refuse a tree of objects with entry types that ``save`` never writes."""
    for entry in dicts_of(node):
        loader = entry.get("__loader__", "ObjectNode")
        if isinstance(loader, str) and loader not in _LOADERS:
            raise ModelFileError(
                f"{path} holds a {loader} for {entry.get('__module__')}."
                f"{entry.get('__class__')}, which no model needs. Do not trust this file."
            )


def check_array_files(
    archive: ZipFile, schema: Any, path: str | os.PathLike[str], max_bytes: int
) -> None:
    """Refuse arrays whose header asks for more memory than their entry has bytes.

    The schema, not the name of an entry, determines how an entry is read. An entry read by several
    objects would take its memory several times.
    """
    unpacked, readers = 0, {}
    for node in dicts_of(schema):
        if not isinstance(name := node.get("file"), str):
            continue
        reader = node.get("__loader__"), node.get("__id__")
        if name in readers:
            if reader != readers[name] or reader[1] is None:
                raise ModelFileError(f"{path} has several objects read {name}. {CHANGED}")
            continue
        readers[name] = reader
        if reader[0] == "NdArrayNode":
            _check_array_size(archive, archive.getinfo(name))
        elif reader[0] == "SparseMatrixNode":
            with archive.open(name) as file, ZipFile(file) as parts:
                unpacked += sum(part.file_size for part in parts.infolist())
                if unpacked > max_bytes:
                    raise ModelFileError(
                        f"{path} holds sparse matrices of more than max_bytes={max_bytes} bytes. "
                        "Raise max_bytes if you trust the file."
                    )
                for part in parts.infolist():
                    _check_array_size(parts, part)


def _check_array_size(archive: ZipFile, entry: ZipInfo) -> None:
    with archive.open(entry) as file:
        version = np.lib.format.read_magic(file)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, _, dtype = read_header(file)
        expected = file.tell() + math.prod(shape) * dtype.itemsize
    if dtype.hasobject or expected != entry.file_size:
        raise ValueError(
            f"{entry.filename} must have {expected} bytes for shape {shape} and dtype {dtype}, "
            f"got {entry.file_size}"
        )


def dicts_of(node: Any) -> Iterator[dict[str, Any]]:
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)


PROTOCOL = 2  # of skops; entries of other protocols may mean something else
_BUILTINS = {f"builtins.{kind.__name__}": kind for kind in (str, int, float, bool)}
_SCALARS = frozenset(
    f"numpy.{name}"
    for name in ("bool", "bool_", "float32", "float64", "int8", "int16", "int32", "int64", "uint64")
)
# Packages of scikit-learn with public classes that precede a ranker in a pipeline.
_STEPS = frozenset({"compose", "feature_selection", "impute", "pipeline", "preprocessing"})


def read_plain(archive: ZipFile, schema: Any) -> Any:
    """The estimator of a model file, or None if the file needs skops.

    ``schema`` is the checked tree of entries. No module is imported but those of trusted classes.
    """
    entries = [node for node in dicts_of(schema) if "__loader__" in node]
    if schema.get("protocol") != PROTOCOL or not all(map(_is_plain, entries)):
        return None
    return _Reader(archive).read(schema)


def _entry_name(entry: dict[str, Any]) -> str:
    return f"{entry['__module__']}.{entry['__class__']}"


def _is_plain(entry: dict[str, Any]) -> bool:
    name = _entry_name(entry)
    match entry["__loader__"]:
        case "JsonNode":
            return True
        case "DictNode" | "ListNode" | "TupleNode" | "BytesNode":
            kind = entry["__loader__"].removesuffix("Node").lower()
            return name == f"builtins.{kind}"
        case "TypeNode":
            return name in _BUILTINS
        case "NdArrayNode":
            return name == "numpy.ndarray" or (entry["type"] == "numpy" and name in _SCALARS)
        case "ObjectNode":
            ours = name.startswith("rankwise.") and name in _TRUSTED
            return ours or _step(entry) is not None
    return False


def _step(entry: dict[str, Any]) -> type | None:
    """The public class of scikit-learn that an entry names; None for any other class."""
    root, package, *_ = [*entry["__module__"].split("."), ""]
    if root != "sklearn" or package not in _STEPS:
        return None
    found = getattr(import_module(f"sklearn.{package}"), entry["__class__"], None)
    is_public = isinstance(found, type) and not entry["__class__"].startswith("_")
    return found if is_public and found.__module__ == entry["__module__"] else None


class _Reader:
    """Builds the objects of an archive; an object referenced twice is built once."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._built: dict[Any, Any] = {}
        self._readers: dict[str, Callable[[dict[str, Any]], Any]] = {
            "JsonNode": lambda entry: json.loads(entry["content"]),
            "TypeNode": lambda entry: _BUILTINS[_entry_name(entry)],
            "BytesNode": lambda entry: archive.read(entry["file"]),
            "ListNode": lambda entry: [self.read(item) for item in entry["content"]],
            "TupleNode": lambda entry: tuple(self.read(item) for item in entry["content"]),
            "DictNode": lambda entry: {
                kind(key): self.read(value)
                for kind, (key, value) in zip(
                    self.read(entry["key_types"]), entry["content"].items(), strict=True
                )
            },
            "NdArrayNode": self._array,
            "ObjectNode": self._object,
        }

    def read(self, entry: dict[str, Any]) -> Any:
        """The object of an entry."""
        number = entry.get("__id__")
        if number in self._built:
            return self._built[number]
        value = self._readers[entry["__loader__"]](entry)
        if number:
            self._built[number] = value
        return value

    def _array(self, entry: dict[str, Any]) -> Any:
        if entry["type"] == "numpy":
            with self._archive.open(entry["file"]) as file:
                values = np.lib.format.read_array(file, allow_pickle=False)
            is_array = entry["__class__"] == "ndarray"
            return values if is_array else getattr(np, entry["__class__"])(values)
        items = [self.read(item) for item in entry["content"]]
        if len(self.read(entry["shape"])) != 1:
            return np.array(items, dtype=object)
        values = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):
            values[place] = item
        return values

    def _object(self, entry: dict[str, Any]) -> Any:
        cls: Any = _step(entry) or getattr(import_module(entry["__module__"]), entry["__class__"])
        built = cls.__new__(cls)
        state = None if entry.get("content") is None else self.read(entry["content"])
        if state is not None and hasattr(built, "__setstate__"):
            built.__setstate__(state)
        elif state is not None:
            built.__dict__.update(state)
        return built
