"""Names until rankwise 0.3, and the names that replaced them before 1.0.

One table for all who meet an old name: the errors of calls, of ``set_params`` and of the command
line, and the readers of stored models, leaderboards and indexes. Later changes of a name keep the
old one for two minor releases: see *Versions and deprecation*.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

# Parameters, options of commands (with underscores) and fields of results: the new names, of which
# a call is told the first that it takes.
PARAMETERS: dict[str, tuple[str, ...]] = {}
# Parameters and attributes of classes in model files until format 2; None: no longer stored.
STORED: dict[str, dict[str, str | None]] = {}
# Words that option strings have changed to.
VALUES: dict[str, str] = {}

# Public names that moved from ``rankwise`` into their package.
PUBLIC: dict[str, str] = {
    f"rankwise.{name}": f"rankwise.{package}.{name}"
    for package, names in {
        "exceptions": ("ConstantScoresWarning", "IgnoredParameterWarning", "OneQueryWarning"),
        "features": (
            "Nystroem",
            "PolynomialTerms",
            "QueryScaler",
            "RandomFourier",
            "RandomNodes",
            "RandomPerceptrons",
        ),
        "labels": (
            "BinaryRelevance",
            "CPLST",
            "CSOVO",
            "CalibratedLabelRanking",
            "CompressedSensing",
            "CostSensitiveOneVsAllRegression",
            "LabelPowerset",
            "LinearLabelSpaceTransform",
            "OrdinalReduction",
            "PLST",
            "PartialBinaryRelevance",
            "WeightedAllPairs",
        ),
        "preferences": ("PairwisePreferences", "PlackettLuce"),
        "rankers": ("ImportedBooster", "evaluate_stream"),
        "streams": ("stream",),
    }.items()
    for name in names
}


def find_new_name(old: str, known: Iterable[str]) -> str | None:
    """The name among ``known`` that replaced ``old``; None if there is none."""
    known = set(known)
    return next((new for new in PARAMETERS.get(old, ()) if new in known), None)


def rename_stored(entry: dict[str, Any]) -> bool:
    """Rename the attributes of one object in the schema of a model file; whether any changed."""
    renames = STORED.get(entry.get("__class__", ""))
    state = entry.get("content")
    if not renames or not isinstance(state, dict) or not isinstance(state.get("content"), dict):
        return False
    values: dict[str, Any] = state["content"]
    if not renames.keys() & values.keys():
        return False
    kept = {renames.get(name, name): value for name, value in values.items()}
    kept.pop(None, None)
    kinds = state.get("key_types")
    if isinstance(kinds, dict) and isinstance(kinds.get("content"), list):
        kinds["content"] = kinds["content"][: len(kept)]  # all keys are strings
    state["content"] = kept
    return True
