"""Warnings and errors of the library that programs filter or catch."""

from rankwise.checks.constant_scores import ConstantScoresWarning
from rankwise.checks.exact_values import MissingWordsWarning
from rankwise.checks.rows import OneQueryWarning
from rankwise.datasets.table_columns import IgnoredColumnsWarning
from rankwise.export.maps import ExportError
from rankwise.features.kernels import IgnoredParameterWarning
from rankwise.metrics.default import UndefinedMeasureWarning, WideGainsWarning
from rankwise.metrics.evaluation import TiedScoresWarning
from rankwise.persistence import ModelFileError

__all__ = [
    "ConstantScoresWarning",
    "ExportError",
    "IgnoredColumnsWarning",
    "IgnoredParameterWarning",
    "MissingWordsWarning",
    "ModelFileError",
    "OneQueryWarning",
    "TiedScoresWarning",
    "UndefinedMeasureWarning",
    "WideGainsWarning",
]
