"""One word a concept: public signatures use the names of the table in *architecture*."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from benchmarks._public_names import public


def in_both(package: str, *names: str, reason: str) -> dict[str, str]:
    """Classes that ``rankwise`` exports, too."""
    return {
        f"{path}.{name}": reason for path in ("rankwise", f"rankwise.{package}") for name in names
    }


# Old word -> (the one in use, names that keep the old word for another concept, with the reason).
# Names are those of ``public``, such as ``rankwise.metrics.evaluate``.
ROWS = "name of a row of a board"
RETRIEVAL = "retrieval model, not an estimator"
WORDS: dict[str, tuple[str, dict[str, str]]] = {
    "at": ("k", {}),
    "confidence": ("confidence_level", {}),
    "cutoff": ("k", {}),
    "level": (
        "confidence_level",
        dict.fromkeys(
            ["rankwise.datasets.Finding", "rankwise.datasets.LintReport.count"], "severity"
        ),
    ),
    "n": ("k", {}),
    "normalization": ("scaling", {}),
    "scale": (
        "scaling",
        {
            **dict.fromkeys(
                ["rankwise.datasets.Ratings", "rankwise.datasets.ratings_from_triplets"],
                "lowest and highest rating",
            ),
            **dict.fromkeys(
                ["rankwise.labels.random_costs", "rankwise.labels.cost_sensitive.random_costs"],
                "size of the costs",
            ),
        },
    ),
    "standardize": ("scaling", {}),
    "top": ("k", {}),
    "eta": ("learning_rate", {}),
    "max_steps": ("max_iter", {}),
    "metric": ("measure", {}),
    "model": (
        "estimator",
        {
            "rankwise.clicks.ClickModel": "click model",
            "rankwise.text.TextIndex.search": RETRIEVAL,
            "rankwise.text.TextRanker": RETRIEVAL,
        },
    ),
    "n_landmarks": (
        "n_components",
        in_both(
            "rankers", "CLSRRank", "LSRRank", "LSSVRanker", "MPRank", "PrunedRankSVM", "RankLR",
            "RankRLS", "RankSVM", "SVRank", reason="rankers have other components, too",
        ),
    ),
    "n_steps": (
        "max_iter",
        in_both("rankers", "PairRanker", "RankLR", reason="sampled steps, with max_iter of Newton"),
    ),
    "ranker": (
        "estimator",
        dict.fromkeys(
            [f"rankwise.selection.Leaderboard.{name}" for name in ("cell", "unjudged", "values")]
            + ["rankwise.selection.FoldResult"],
            ROWS,
        ),
    ),
    "select": ("measure", {}),
    "select_by": (
        "measure",
        dict.fromkeys(
            ["rankwise.compare", "rankwise.selection.compare", "rankwise.selection.Settings"],
            "beside measures",
        ),
    ),
    "slope": (
        "learning_rate",
        {
            **in_both("rankers", "BoltzRank", reason="of the distance function of ranks"),
            "rankwise.selection.LengthBias": "of a regression line",
        },
    ),
}  # fmt: skip


@cache
def signatures():
    found = {}
    for name, item in public():
        try:
            found[name] = frozenset(inspect.signature(getattr(item, "__func__", item)).parameters)
        except (TypeError, ValueError):
            continue
    return found


TRUTH = ("y", "Y", "qrels", "human", "machine")
PREDICTION = ("scores", "run", "systems", "predicted", "probabilities")


def test_truth_comes_before_prediction():
    """In what measures, as in scikit-learn, pytrec_eval, ranx and ir_measures."""
    swapped = []
    for name, item in public():
        try:
            order = [*inspect.signature(getattr(item, "__func__", item)).parameters]
        except (TypeError, ValueError):
            continue
        truth = [order.index(word) for word in TRUTH if word in order]
        said = [order.index(word) for word in PREDICTION if word in order]
        is_object = inspect.isclass(item)  # fields of a result may come in any order
        if truth and said and min(truth) > min(said) and not is_object:
            swapped.append(name)
    # Scores are what a rule learns from, as X is; and a table of candidates ranks nothing.
    rules = [f"rankwise.decisions.{name}" for name in ("AnswerRule.fit", "CutRule.fit")]
    assert swapped == [
        *rules,
        "rankwise.decisions.list_scores",
        "rankwise.text.QueryDocumentFeatures.table",
    ]


@pytest.mark.parametrize("old", sorted(WORDS))
def test_public_signatures_use_one_word_a_concept(old):
    new, reasons = WORDS[old]
    users = {name for name, parameters in signatures().items() if old in parameters}
    assert users - reasons.keys() == set(), f"{old} is now {new}"
    assert reasons.keys() <= users, "names that no longer need an exception"


# The first words of a penalty's description name its scale; text fields are no penalties.
SCALES = {
    "C": re.compile(r"Factor of the SUM\b"),
    "alpha": re.compile(r"Penalty added to the SUM\b"),
    "lam": re.compile(r"Penalty added to the MEAN\b"),
    "reg_alpha": re.compile(r"L1 (and L2 )?penalty on the values of the leaves"),
    "reg_lambda": re.compile(r"(L1 and )?L2 penalty on the values of the leaves"),
}
NOT_PENALTIES = {"rankwise.text.QueryDocumentFeatures": "lam is the lambda of Jelinek and Mercer"}


def penalties():
    for name, item in public():
        if inspect.isclass(item) and name not in NOT_PENALTIES:
            for parameter in SCALES.keys() & signatures().get(name, frozenset()):
                yield name, parameter, item


def test_the_first_words_of_a_penalty_name_its_scale():
    wrong, seen = [], set()
    for name, parameter, item in penalties():
        described = re.search(
            rf"^(?:.*, )?{parameter}(?:, .*)? : .*\n\s+(.*(?:\n .*)*)", inspect.getdoc(item), re.M
        )
        seen.add(parameter)
        if described is None or not SCALES[parameter].match(" ".join(described[1].split())):
            wrong.append(f"{name}: {parameter}")
    assert wrong == []
    assert seen == SCALES.keys()


def test_no_estimator_has_two_penalties_of_one_scale():
    """One loss has one penalty; only ELMRank solves its system with a second one."""
    several = {}
    for name, parameter, _ in penalties():
        if parameter in ("C", "alpha", "lam"):
            several.setdefault(name.rpartition(".")[2], set()).add(parameter)
    assert {name: found for name, found in several.items() if len(found) > 1} == {
        "ELMRank": {"lam", "alpha"}
    }


# Option strings with a hyphen -> their origin.
HYPHENS = {"two-sided": "SciPy", "utf-8": "Python", "mediamill-discretized": "Mulan"}
BRITISH = re.compile(r"(?<!no)(?<!w)(?<!prom)is(e|ed|ation)(_|$)|colour|centre|behaviour|grey")
# The constant of rank fusion and confidence levels have names of their own since 0.4.
ANSWERED = {"confidence_level": "level", "rank_constant": "k", "scaling": "scale"}


# Words or a table of any library, which no type describes.
TABLES = {"categorical_features", "interaction_cst"}


def call_of(item):
    return getattr(item, "__func__", item)


def options_of(item):
    """Option strings of a callable: its defaults, its Literals and those of its constraints."""
    try:
        parameters = inspect.signature(call_of(item)).parameters.values()
    except (TypeError, ValueError):
        return set()
    shown = " ".join(f"{p.annotation} {p.default!r}" for p in parameters)
    found = set(re.findall(r"""['"]([\w-]+)['"]""", shown))
    for rules in getattr(item, "_parameter_constraints", {}).values():
        for rule in rules:
            found |= {word for word in getattr(rule, "options", ()) if isinstance(word, str)}
    return found


def words_of(annotation, names):
    """Words of the Literals in the text of an annotation, whose aliases are in ``names``."""
    found = set(re.findall(r"""['"]([^'"]+)['"]""", annotation))
    unseen = [names[word] for word in re.findall(r"\w+", annotation) if word in names]
    while unseen:
        parts = get_args(unseen.pop())
        found |= {part for part in parts if isinstance(part, str)}
        unseen += [part for part in parts if not isinstance(part, str)]
    return found


def test_annotations_have_the_words_of_docstrings():
    """A type such as ``{"a", "b"}`` is a Literal, so that editors offer the words."""
    wrong, seen = [], 0
    for name, item in public():
        call = call_of(item)
        if not callable(call):
            continue
        call = inspect.unwrap(call)
        constructor = inspect.unwrap(call.__init__) if inspect.isclass(call) else call
        names = getattr(sys.modules.get(getattr(call, "__module__", None)), "__dict__", {})
        names = {**names, **getattr(constructor, "__globals__", {})}
        try:
            parameters = inspect.signature(call).parameters.values()
        except (TypeError, ValueError):
            continue
        for parameter in parameters:
            line = rf"^(?:.*, )?{parameter.name}(?:, [^:\n]*)? : .*\{{([^{{}}]*)\}}"
            described = re.search(line, inspect.getdoc(call) or "", re.M)
            words = re.findall(r"""['"]([^'"]+)['"]""", described[1]) if described else []
            if words and parameter.name not in TABLES:
                seen += 1
                if set(words) - words_of(str(parameter.annotation), names):
                    wrong.append(f"{name}: {parameter}")
    assert wrong == []
    assert seen > 150


def test_option_strings_have_underscores_and_american_spelling():
    words = {word for _, item in public() for word in options_of(item)}
    assert {word for word in words if "-" in word} - HYPHENS.keys() == set()
    assert {word for word in words if BRITISH.search(word)} == set()


def test_public_names_have_american_spelling():
    names = {name.rpartition(".")[2] for name, _ in public()}
    names |= {parameter for parameters in signatures().values() for parameter in parameters}
    assert {name for name in names if name.islower() and BRITISH.search(name)} == set()


@pytest.mark.parametrize("new", ANSWERED)
def test_an_old_word_of_a_call_is_answered_by_the_new_one(new):
    old, silent = ANSWERED[new], []
    for name, item in public():
        call = call_of(item)
        if new not in signatures().get(name, ()) or (dataclasses.is_dataclass(item)):
            continue
        owner = [None] if "self" in signatures()[name] else []
        try:
            call(*owner, **{old: 1})
        except TypeError as error:
            silent += [] if f"{old} is now {new}" in str(error) else [name]
    assert set(silent) <= {"rankwise.fusion.fuse"}, "decorate them by names_its_class"


# Words that read as translated, and the words of the field.
DIALECT = {
    "beside": "next to, with",
    "refuse": "raises an error, does not support",
    "refused": "raises an error, is not supported",
    "refuses": "raises an error, does not support",
    "told by": "recognised by",
    "level with": "as good as, not significantly different from",
    "beyond chance": "significantly",
    "more than chance": "significantly",
    "exceeds chance": "is significant",
    "exceed chance": "are significant",
    "is no number": "is not a number",
    "anew": "again",
    "earns": "gets",
    "earn": "get",
    "at hand": "available",
}
PROSE = ("docs/*.rst", "docs/reproduce/*.rst", "README.md", "CONTRIBUTING.md", "papers/README.md")


def test_pages_use_the_words_of_the_field():
    """Words of verdicts and of options stand in markup, which is left out."""
    root = Path(__file__).parents[2]
    found = []
    for path in sorted(path for pattern in PROSE for path in root.glob(pattern)):
        text = re.sub(r"``.*?``|\*\w+\*|\"\w+\"", "", path.read_text("utf-8"), flags=re.DOTALL)
        words = " ".join(text.split())
        found += [
            f"{path.name}: {word} (use: {better})"
            for word, better in DIALECT.items()
            if re.search(rf"\b{word}\b", words, re.IGNORECASE)
        ]
    assert found == []
