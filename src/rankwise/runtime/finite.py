"""Errors instead of non-finite results or half-fitted models: one guard for all estimators.

Numbers near the ends of float64 overflow somewhere inside a solver. Every class that derives from
:class:`FiniteResults` has its ``fit`` and its methods that return scores wrapped when it is
defined. Inside these methods, an overflow, an invalid operation or a division by zero in the
library's own array arithmetic raises an error. Other libraries and user callables keep NumPy's
warnings. Results are then checked once more. The message names the column of X, the targets, the
weights or, when the model scores, the attribute with values farthest from 1. Exceptions of user
callables are passed on unchanged. The error for wrong arguments names the class that was called. If
an argument has another library's name, the error gives its name here.

If a fit raises for any reason, at any stage, the estimator keeps its state from before the call.
After a fit that is no part of another fit, ``_examine_fit`` may look at the result.

Complexity: one pass over the scores; X and the model are inspected only after a failure.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import wraps
from inspect import Parameter, Signature, signature
from traceback import walk_tb
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.runtime.constraints import ValidatedParameters
from rankwise.runtime.deprecation import find_deprecated_parameters, rename_parameters
from rankwise.runtime.messages import did_you_mean
from rankwise.runtime.renames import PUBLIC, say_new_name
from rankwise.typing import is_sparse

FITTING = ("fit", "partial_fit")
SCORING = (
    "predict",
    "predict_proba",
    "predict_relevance",
    "decision_function",
    "rank_score",
    "transform",
)
OTHERS = ("score", "predict_ranking")
# Fitted attributes from which scores are computed.
COEFFICIENTS = ("coef_", "intercept_", "dual_coef_", "output_weights_", "thresholds_")
F = TypeVar("F", bound=Callable[..., Any])
_PACKAGE = __name__.partition(".")[0]
_FITTING: ContextVar[bool] = ContextVar("fitting", default=False)
# Frames of NumPy and SciPy are attributed to their caller.
_ARITHMETIC = ("numpy", "scipy")
# Libraries that fit and predict on behalf of the estimators.
_FOUNDATIONS = (
    *_ARITHMETIC, "sklearn", "joblib", "threadpoolctl", "numba", "lightgbm", "xgboost", "catboost",
    "torch", "dask", "distributed", "pandas", "pyarrow",
)  # fmt: skip


class RangeError(ValueError):
    """Numbers left the range of float64; the message names the method and the values."""

    def __init__(self, problem: str, where: str) -> None:
        super().__init__(problem, where)
        self.problem = problem

    def __str__(self) -> str:
        return " ".join(self.args)


class FiniteResults(ValidatedParameters):
    """Mixin of all estimators: results are finite, or a RangeError names the cause.

    A fit that raises leaves the estimator as it was.
    """

    # scikit-learn's box of an estimator in a notebook links to the page that these give.
    _doc_link_module = "rankwise"
    _doc_link_template = "https://rankwise.readthedocs.io/en/latest/generated/api/{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        own = f"rankwise.{type(self).__name__}"
        return {"name": PUBLIC.get(own, own)}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        for name in FITTING + SCORING:
            method = vars(cls).get(name)
            if callable(method):
                setattr(cls, name, guard(method, name))
        for name in (*OTHERS, "__init__"):
            method = vars(cls).get(name)
            if callable(method):
                setattr(cls, name, names_its_class(method))
        # Last: scikit-learn wraps ``transform`` so that it may return frames.
        super().__init_subclass__(**kwargs)

    def _examine_fit(self, given: dict[str, Any], /) -> None:
        """Look at the fitted model; ``given`` are the arguments of ``fit``."""

    def set_params(self, **params: Any) -> Any:
        """Set parameters of this estimator, and of nested ones as ``NAME__PARAMETER``.

        Raises
        ------
        ValueError
            If the estimator has no such parameter. The error gives the new name of an old one.
        """
        estimator: Any = super()
        cls: Any = type(self)
        params = rename_parameters(params, find_deprecated_parameters(cls.__init__), cls.__name__)
        try:
            return estimator.set_params(**params)
        except ValueError as error:
            known = self.get_params(deep=False)  # pyright: ignore[reportAttributeAccessIssue]
            for name in params:
                if name not in known and (said := say_new_name(name, known)):
                    raise ValueError(f"{type(self).__name__}: {said}") from error
            raise


def own_overflow_raises() -> AbstractContextManager[Any]:
    """Raise FloatingPointError for overflow, division by zero and NaN in the library's arithmetic.

    Arithmetic of other modules, called from here, warns as NumPy does by default.
    """
    return np.errstate(over="call", divide="call", invalid="call", call=_handle_float_error)


@contextmanager
def foreign_range() -> Iterator[None]:
    """Raise FloatingPointError if another library's fit or predict rejects checked numbers.

    Earlier warnings are part of the error.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except ValueError as error:
        raise FloatingPointError(str(error).splitlines()[0]) from error


def _handle_float_error(kind: str, flag: int) -> None:
    frame = sys._getframe(1)
    while frame.f_back is not None and _package_of(frame) in _ARITHMETIC:
        frame = frame.f_back
    message = f"{kind} in {frame.f_code.co_name}"
    if _package_of(frame) == _PACKAGE:
        raise FloatingPointError(message)
    warnings.warn(f"{kind} encountered in {frame.f_code.co_name}", RuntimeWarning, stacklevel=2)


def _package_of(frame: Any) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


@contextmanager
def _fitting(estimator: Any) -> Iterator[bool]:
    """Restore the estimator if the block raises; yield whether no other fit is around it."""
    is_outer = not _FITTING.get()
    token = _FITTING.set(True)
    try:
        with restore_on_error(estimator):
            yield is_outer
    finally:
        _FITTING.reset(token)


def guard(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Wrap ``method`` with the checks described in the module docstring.

    Methods that a decorator makes no callable, such as ``available_if``, are wrapped before it.
    """
    parameters = signature(method)

    def checked(self: Any, is_outer: bool, args: Any, kwargs: dict[str, Any]) -> Any:
        cause: Exception | None = None
        try:
            with own_overflow_raises():
                result = method(self, *args, **kwargs)
            if name in SCORING:
                problem = "" if _is_finite(result) else "gives results that are not finite"
            else:
                problem = _not_finite_attribute(self)
            if not problem:
                if is_outer and name == "fit":
                    self._examine_fit(dict(parameters.bind(self, *args, **kwargs).arguments))
                return result
            said = f"{type(self).__name__}.{name} {problem}."
        except TypeError as error:
            if _is_of_the_call(error):
                said = f"{type(self).__name__}.{name}"
                raise _call_error(said, parameters, (self, *args), kwargs, error) from None
            raise
        except RangeError as error:
            # Of an inner estimator, whose X may differ from the caller's.
            said, cause = error.problem, error
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            if _is_of_a_callable(error, method):
                raise
            said = f"{type(self).__name__}.{name} failed outside the range of float64 ({error})."
            cause = error
        given = parameters.bind(self, *args, **kwargs).arguments
        model = self if name in SCORING else None
        raise RangeError(said, farthest_values(given, model)) from cause

    @wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        if name not in FITTING:
            return checked(self, False, args, kwargs)
        with _fitting(self) as is_outer:
            return checked(self, is_outer, args, kwargs)

    return guarded


def names_its_class(method: F) -> F:
    """Wrap ``method`` so that errors for wrong arguments name the class that the user calls.

    A function is named itself; the constructor of a class is wrapped. Old names of arguments come
    with their new ones, and surplus positional arguments with the names to pass them by.
    """
    if isinstance(method, type):
        method.__init__ = names_its_class(method.__init__)
        return cast("F", method)
    parameters = signature(method)

    @wraps(method)
    def named(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except TypeError as error:
            if _is_of_the_call(error):
                said = method.__name__
                if next(iter(parameters.parameters), "") == "self":
                    own = type(args[0]).__name__
                    said = own if said == "__init__" else f"{own}.{said}"
                raise _call_error(said, parameters, args, kwargs, error) from None
            raise

    return cast("F", named)


def _call_error(
    said: str, parameters: Signature, args: Any, kwargs: dict[str, Any], error: TypeError
) -> TypeError:
    """Error for arguments that do not fit a signature; a stream without y explains itself."""
    for value in (*args, *kwargs.values()):
        if hasattr(type(value), "_refused"):
            stream: Any = value
            return stream._refused(said)
    # An estimator under construction has no parameters to name.
    estimator: Any = args[0] if "." in said else None
    settings = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else ()
    built: Any = type(args[0]) if args and said == type(args[0]).__name__ else None
    of_fit = signature(built.fit).parameters if hasattr(built, "fit") else ()
    return TypeError(wrong_call(said, parameters, args, kwargs, error, settings, of_fit))


def _is_of_the_call(error: TypeError) -> bool:
    """Whether the arguments did not fit the signature, so that the method was never entered."""
    return error.__traceback__ is not None and error.__traceback__.tb_next is None


def _is_of_a_callable(error: BaseException, method: Callable[..., Any]) -> bool:
    """Whether a user callable raised the error inside ``method``.

    A user callable is code outside this library, its dependencies and the package that defines
    ``method``.
    """
    own = (_PACKAGE, method.__module__.partition(".")[0])
    packages = [_package_of(frame) for frame, _ in walk_tb(error.__traceback__)]
    while packages:
        package = packages.pop()
        if package in own:
            return False
        if package not in _FOUNDATIONS and package not in sys.stdlib_module_names:
            return True
    return False


def _not_finite_attribute(estimator: Any) -> str:
    for name in COEFFICIENTS:
        if not _is_finite(getattr(estimator, name, None)):
            return f"gives values of {name} that are not finite"
    return ""


def _is_finite(values: Any) -> bool:
    """Whether all numbers of an array or sparse matrix are finite; True without floats."""
    if isinstance(values, float):
        return math.isfinite(values)
    if is_sparse(values):
        values = values.data
    return not isinstance(values, np.ndarray) or values.dtype.kind != "f" or all_finite(values)


# Numbers up to which the sum takes longer, because it may overflow and needs its own error state.
FEW_NUMBERS = 16_384


def all_finite(values: NDArray[Any]) -> bool:
    """Whether all numbers of an array of floats are finite."""
    if values.size <= FEW_NUMBERS:
        # The method ``all`` takes twice as long for a row, as it is written in Python.
        return np.count_nonzero(np.isfinite(values)) == values.size
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum()) or np.isfinite(values).all())


def farthest_values(given: dict[str, Any], model: Any = None) -> str:
    """Column, argument or attribute of a model with the values farthest from 1, and a fix."""
    fix = (
        ", farther from 1 than all columns of X: fit the model on scaled X and y. If it was "
        "loaded, its file may be damaged"
    )
    found = [(low, high, f"{place} of the model", fix) for place, low, high in _numbers_of(model)]
    X = given.get("X")
    names = getattr(X, "columns", None)
    for column, (low, high) in enumerate(_ranges(X)):
        label = f" ({str(names[column])!r})" if names is not None else ""
        fix = ", the farthest from 1 of all columns: scale it or drop it"
        found.append((low, high, f"Column {column}{label} of X", fix))
    for name, what in (("y", "y"), ("costs", "the costs"), ("sample_weight", "the weights")):
        fix = f": divide {what} by a constant"
        found += [(low, high, name, fix) for low, high in _ranges(given.get(name))]
    if not found:
        return "Scale the columns of X to about [0, 1], and y and the weights to about 1."
    # Powers of two between the largest absolute value and 1.
    low, high, place, fix = max(
        found, key=lambda entry: abs(float(np.log2(max(abs(entry[0]), abs(entry[1])) or 1.0)))
    )
    return f"{place} has values from {low:g} to {high:g}{fix}."


def _numbers_of(model: Any) -> Iterator[tuple[str, float, float]]:
    """Names, smallest and largest finite numbers of all attributes, including nested objects."""
    stack: list[tuple[str, Any]] = [("", model)]
    seen: set[int] = set()
    while stack:
        place, value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if is_sparse(value):
            value = value.data
        if isinstance(value, np.ndarray | np.number | int | float):
            values = np.ravel(value)
            if values.dtype.kind in "iuf":
                yield from ((place, low, high) for low, high in _ranges(values))
        elif isinstance(value, list | tuple):
            stack += [(f"{place}[{number}]", item) for number, item in enumerate(value)]
        elif isinstance(value, dict):
            stack += [(f"{place}[{key!r}]", item) for key, item in value.items()]
        elif hasattr(value, "__dict__") and not isinstance(value, type):
            prefix = place and f"{place}."
            stack += [(f"{prefix}{name}", item) for name, item in vars(value).items()]


def _ranges(values: Any) -> list[tuple[float, float]]:
    """Smallest and largest number of every column; empty unless given a table of numbers."""
    try:
        table: NDArray[Any]
        if is_sparse(values):
            csc = sparse.csc_array(values)
            columns = [
                np.append(csc.data[lo:hi], 0.0)
                for lo, hi in zip(csc.indptr[:-1], csc.indptr[1:], strict=True)
            ]
        else:
            table = np.asarray(values, dtype=np.float64)
            if table.ndim not in (1, 2) or not table.size:
                return []
            columns = list(table.reshape(len(table), -1).T)
    except (TypeError, ValueError):
        return []
    columns = [column[np.isfinite(column)] for column in columns]
    return [(float(c.min()), float(c.max())) if len(c) else (0.0, 0.0) for c in columns]


@contextmanager
def restore_on_error(estimator: Any) -> Iterator[None]:
    """Give the estimator its attributes from before the block if the block raises.

    Values are not copied: the block must replace arrays, not write into them. Only generators among
    the values, such as ``random_state``, get their state back. Costs one shallow copy of the
    attribute dict.
    """
    before = dict(vars(estimator))
    generators = [
        (value, value.get_state())
        for value in before.values()
        if isinstance(value, np.random.RandomState)
    ]
    try:
        yield
    except BaseException:
        # One assignment, because a second interrupt must not find the estimator half restored.
        estimator.__dict__ = before
        for generator, state in generators:
            generator.set_state(state)
        raise


_QID = "Pass qid, one query id per row"
_SIZES = f"{_QID}; from the sizes of the queries: numpy.repeat(numpy.arange(len(group)), group)"
_WEIGHT = "Pass sample_weight, one weight per row"
_VALIDATION = "Pass validation rows as X_val, y_val and qid_val"
# Argument names of LightGBM, XGBoost, CatBoost and scikit-learn, with the name here and the fix.
_ELSEWHERE = {
    "group": ("qid", _SIZES),
    "groups": ("qid", _QID),
    "group_id": ("qid", _QID),
    "query": ("qid", _QID),
    "query_id": ("qid", _QID),
    "weight": ("sample_weight", _WEIGHT),
    "weights": ("sample_weight", _WEIGHT),
    "eval_set": ("X_val", _VALIDATION),
    "evals": ("X_val", _VALIDATION),
    "validation_data": ("X_val", _VALIDATION),
    "eval_group": ("X_val", f"{_VALIDATION}, one query id per row in qid_val"),
    "eval_qid": ("X_val", _VALIDATION),
}
# Arguments of fit and train elsewhere, and the parameter of the estimator that takes their place.
_SETTINGS_ELSEWHERE = {
    "categorical_feature": "categorical_features",
    "cat_features": "categorical_features",
    "callbacks": "early_stopping_rounds",
    "eval_at": "measure",
    "eval_metric": "measure",
    "feval": "measure",
    "num_boost_round": "n_estimators",
}


def wrong_call(
    method: str,
    signature: Signature,
    args: Sequence[object],
    given: Mapping[str, object],
    error: TypeError,
    settings: Container[str] = (),
    of_fit: Container[str] = (),
) -> str:
    """The message for a call of ``method``, "Class.method", that does not fit its signature.

    ``args`` are the positional arguments, ``given`` those by keyword, ``error`` is Python's own,
    and ``settings`` are the names of the parameters of the estimator. ``of_fit`` are the arguments
    of its ``fit``, if ``method`` is its class.
    """
    takes = {name: value.kind for name, value in signature.parameters.items() if name != "self"}
    first = [name for name, kind in takes.items() if kind is Parameter.POSITIONAL_OR_KEYWORD]
    later = [name for name, kind in takes.items() if kind is Parameter.KEYWORD_ONLY]
    n_given = len(args) - ("self" in signature.parameters)
    if names := [name for name in later if name not in given][: max(n_given - len(first), 0)]:
        return (
            f"{method}() takes at most {len(first)} positional arguments ({', '.join(first)}), got "
            f"{n_given}: pass {', '.join(names)} by keyword."
        )
    unknown = next((name for name in given if name not in takes), None)
    if unknown is None:
        said = str(error)
        return method + said[said.index("(") :] if "(" in said else f"{method}: {said}"
    said = f"{method} takes no argument {unknown!r}."
    if renamed := say_new_name(unknown, takes):
        return f"{said} {renamed}"
    if unknown in of_fit:
        return f"{said} Pass it to fit."
    name, hint = _ELSEWHERE.get(unknown, ("", ""))
    if name in takes:
        return f"{said} {hint}."
    setting = _SETTINGS_ELSEWHERE.get(unknown, unknown)
    if setting in settings:
        return f"{said} Set it in the estimator: {method.split('.')[0]}({setting}=…)."
    hint = did_you_mean(unknown, takes, f"It takes {', '.join(takes)}.")
    return f"{said} {hint}"
