"""Names until rankwise 0.3, and the names that replaced them before 1.0.

One table for all who meet an old name: the errors of calls, of ``set_params`` and of the command
line, and the readers of stored models, leaderboards and indexes. Later changes of a name keep the
old one for two minor releases: see *Versions and deprecation*.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

# Parameters, options of commands (with underscores) and fields of results: the new names, of which
# a call is told the first that it takes.
PARAMETERS: dict[str, tuple[str, ...]] = {
    "C": ("alpha", "lam"),
    "alpha": ("lam",),
    "confidence": ("confidence_level",),
    "cutoff": ("k",),
    "data": ("qrels",),
    "metric": ("measure", "measures"),
    "select": ("measure",),
    "select_by": ("measure",),
    "estimator": ("method",),
    "eta": ("learning_rate",),
    "k": ("rank_constant", "n_splits"),
    "level": ("confidence_level",),
    "max_steps": ("max_iter",),
    "method": ("scaling",),
    "model": ("estimator",),
    "n": ("k",),
    "n_landmarks": ("n_components",),
    "normalization": ("scaling",),
    "ranker": ("estimator",),
    "scale": ("scaling",),
    "standardize": ("scaling",),
    "top": ("k",),
}
# Parameters and attributes of classes in model files until format 2; None: no longer stored.
STORED: dict[str, dict[str, str | None]] = {
    "BoltzRank": {"alpha": "lam", "standardize": "scaling"},
    "CompressedSensing": {"max_steps": "max_iter"},
    "LambdaRank": {"alpha": "lam", "cutoff": "k", "standardize": "scaling"},
    "LearnedFusion": {"k": "rank_constant"},
    "ListMLE": {"alpha": "lam", "standardize": "scaling"},
    "ListNet": {"alpha": "lam", "standardize": "scaling"},
    "Nystroem": {"n_landmarks": "n_components"},
    "PolyOrdinalSVM": {"scale": "scaling"},
    "ProbabilisticFusion": {"normalization": "scaling"},
    "QueryScaler": {"method": "scaling"},
    "RankNet": {"alpha": "lam", "standardize": "scaling"},
    "ReciprocalRankBlend": {"k": "rank_constant"},
    "WidrowHoff": {"eta": "learning_rate"},
}
# Penalties of classes in model files until format 2 that are the reciprocals of today's.
RECIPROCALS: dict[str, dict[str, str]] = {
    "ELMRank": {"C": "alpha", "C_": "alpha_"},
    "MPRank": {"C": "lam", "C_": "lam_"},
}
# Parameters that older files lack, where the default of today would fit another model.
LACKED: dict[str, dict[str, Any]] = {
    "CatBoostRanker": {"one_hot_max_size": 255},
    "LambdaMART": {"cat_l2": 0.0, "categorical_encoding": "subset", "max_cat_threshold": 255},
}
# Other attributes by class, with what replaced them. Empty: internal today.
ATTRIBUTES: dict[str, dict[str, str]] = {
    "Blend": {"of_scores": "rankwise.fusion.fuse"},
    "ClickLog": {"require_sessions": ""},
    "ClickRanker": {"ranker": "estimator", "ranker_": "estimator_"},
    "Comparisons": {"checked": "", "decisions": ""},
    "FoldResult": {"from_record": "", "record": ""},
    "Leaderboard": {"to_table": "to_latex, to_markdown and to_csv"},
    "Plan": {"ranker": "estimator"},
    "PropensityPrecision": {"normalised": "normalized"},
    "Result": dict.fromkeys(("text", "to_text", "as_text"), "__str__: use str(result)"),
    "RowStream": {"refused": ""},
    "Settings": {"check_baseline": "", "confidence": "confidence_level"},
    "TextIndex": {"field_postings": ""},
    "ValidatedParameters": dict.fromkeys(
        (
            "additive_scores",
            "encoded_rows",
            "fit_share",
            "networks",
            "score_trees",
            "stored_trees",
            "tree_ensemble",
        ),
        "",
    ),
}
_OLD_ATTRIBUTES = {
    old
    for table in (ATTRIBUTES, STORED, RECIPROCALS)
    for renames in table.values()
    for old in renames
}
# Words that option strings have changed to.
VALUES: dict[str, str] = {
    "benjamini-hochberg": "benjamini_hochberg",
    "bm25-atire": "bm25_atire",
    "bm25-lucene": "bm25_lucene",
    "bm25-okapi": "bm25_okapi",
    "bm25-robertson": "bm25_robertson",
    "grid": "cv",
    "item-position": "item_position",
    "jelinek-mercer": "jelinek_mercer",
    "max-t": "max_t",
    "normalised": "normalized",
    "randomisation": "randomization",
    "rao-kupper": "rao_kupper",
    "tf-idf": "tf_idf",
}
# Spellings that are accepted for good; the second is shown.
SPELLINGS = {"min-max": "min_max", "minmax": "min_max"}


def spell(word: Any) -> Any:
    """The shown spelling of an option word; other values unchanged."""
    return SPELLINGS.get(word, word) if isinstance(word, str) else word


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


def find_new_word(message: str) -> str:
    """A sentence if a message quotes an old word and the one that replaced it; else empty."""
    found = (o for o, new in VALUES.items() if f"'{o}'" in message and f"'{new}'" in message)
    return next((f"{old!r} is now {VALUES[old]!r}." for old in found), "")


def rename_stored(entry: dict[str, Any]) -> bool:
    """Rename the attributes of one object in the schema of a model file; whether any changed."""
    if not str(entry.get("__module__")).startswith("rankwise."):
        return False
    renames = STORED.get(entry.get("__class__", ""), {})
    state = entry.get("content")
    if not isinstance(state, dict) or not isinstance(state.get("content"), dict):
        return False
    values: dict[str, Any] = state["content"]
    # "grid" depends on other attributes: see convert_stored.
    words = {json.dumps(old): json.dumps(new) for old, new in VALUES.items() if old != "grid"}
    has_old_words = False
    for value in values.values():
        if isinstance(value, dict) and value.get("is_json") and value["content"] in words:
            value["content"] = words[value["content"]]
            has_old_words = True
    if not renames.keys() & values.keys():
        return has_old_words
    kept = {renames.get(name, name): value for name, value in values.items()}
    kept.pop(None, None)
    kinds = state.get("key_types")
    if isinstance(kinds, dict) and isinstance(kinds.get("content"), list):
        kinds["content"] = kinds["content"][: len(kept)]  # all keys are strings
    state["content"] = kept
    return True


def say_new_name(old: str, known: Iterable[str]) -> str:
    """Sentence about the name among ``known`` that replaced ``old``; empty if there is none."""
    new = find_new_name(old, known)
    return f"{old} is now {new}{' = 1/C' * (old == 'C')}." if new else ""


def convert_stored(stored: Any) -> None:
    """Give an object of a model file until format 2 the values that its attributes have today."""
    values: dict[str, Any] = vars(stored)
    for old, new in RECIPROCALS.get(type(stored).__name__, {}).items():
        for table in (values, *[value for value in values.values() if isinstance(value, dict)]):
            if old in table:
                value = table.pop(old)
                table[new] = value if isinstance(value, str) else _invert(value)
    if isinstance(values.get("gamma"), str) and values["gamma"] == "grid":
        ways = [values.get(name) for name in ("C", "alpha", "lam")]
        values["gamma"] = next((way for way in ways if isinstance(way, str)), "cv")


def _invert(value: Any) -> Any:
    import numpy as np  # not at the start of the command line

    with np.errstate(divide="ignore"):
        inverse = 1.0 / np.asarray(value, dtype=np.float64)
    return float(inverse) if np.ndim(value) == 0 else inverse


class NamesOldAttributes:
    """Base of classes whose errors for old attributes give the new names.

    Reading an attribute that exists takes some 20 to 70 ns more than in a class without
    ``__getattr__``. No attribute is read here: objects under construction, as ``copy`` and
    ``pickle`` make them, have none.
    """

    __slots__ = ()

    if not TYPE_CHECKING:  # unknown attributes stay errors for type checkers

        def __getattr__(self, name: str) -> Any:
            # Most names that libraries ask for, such as __array__, are not old ones.
            if (name in _OLD_ATTRIBUTES or name in PARAMETERS) and (
                said := say_new_attribute(self, name)
            ):
                raise AttributeError(f"{type(self).__name__}: {said}", name=name, obj=self)
            # Python's error, or that of a property that brought us here.
            return object.__getattribute__(self, name)


def say_new_attribute(owner: object, old: str) -> str:
    """Sentence about what replaced an attribute; empty if nothing did."""
    classes = [cls.__name__ for cls in type(owner).__mro__ if cls.__module__.startswith("rankwise")]
    for cls in classes:
        new = ATTRIBUTES.get(cls, {}).get(old)
        if new is not None:
            return f"{old} is now {new}." if new else f"{old} is internal now."
        if new := STORED.get(cls, {}).get(old):
            return f"{old} is now {new}."
        if new := RECIPROCALS.get(cls, {}).get(old):
            return f"{old} is now {new} = 1/{old}."
    new = find_new_name(old, dir(owner)) if "Result" in classes else None
    return f"{old} is now {new}." if new else ""
