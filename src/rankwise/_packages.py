"""Errors for packages that a feature needs and that are not installed.

``pip install rankwise`` brings every package without an extra. A lean installation
(``pip install --no-deps rankwise``) does without some, until a feature needs them.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

# What pip installs for a package of an extra; others are installed by their own name.
_EXTRAS = {
    "lightgbm": "gbdt", "xgboost": "gbdt", "catboost": "gbdt", "torch": "neural", "dask": "dask",
    "distributed": "dask", "skl2onnx": "onnx", "onnx": "onnx", "onnxruntime": "onnx",
    "snowballstemmer": "text",
}  # fmt: skip
_OTHERS = {"pyarrow", "typer", "rich", "matplotlib", "jinja2", "pooch", "pandas", "polars"}


def missing_package(feature: str, package: str) -> ImportError:
    """The error for a missing package: what needs it, and how to install it."""
    extra = _EXTRAS.get(package)
    target = f'"rankwise[{extra}]"' if extra else package
    return ImportError(
        f"{feature} needs {package}, which is not installed. Run: pip install {target}",
        name=package,
    )


def explain_missing(error: ImportError, feature: str) -> ImportError:
    """The same error, or that of :func:`missing_package` if it is about a known package."""
    package = (error.name or "").partition(".")[0]
    is_known = package in _EXTRAS or package in _OTHERS
    plain = isinstance(error, ModuleNotFoundError)  # not one that names the feature already
    return missing_package(feature, package) if is_known and plain else error


class LazyPackage(ModuleType):
    """A module of another package that is imported when one of its attributes is first read.

    ``feature`` begins the error if the package is not installed.
    """

    def __init__(self, module: str, feature: str) -> None:
        super().__init__(module)
        self._feature = feature

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # read by inspection, which needs no package
            raise AttributeError(name)
        try:
            module = import_module(self.__name__)
        except ImportError as error:
            raise explain_missing(error, self._feature) from error
        vars(self).update(vars(module))
        return getattr(module, name)
