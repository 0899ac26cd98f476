"""One word a concept: public signatures use the names of the table in *architecture*."""

from __future__ import annotations

import inspect
import re
from functools import cache

import pytest
from benchmarks.fingerprints import public


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
    "eta": ("learning_rate", {}),
    "max_steps": ("max_iter", {}),
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
