"""The defaults are those that the stored study chooses by the rules of ``docs/defaults.rst``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rankwise import AggregatePRank, McRank, ORBoost, PRank, VotedPRank, WidrowHoff
from rankwise.ordinal.orboost import MOST_ROUNDS, ROUNDS_PER_ROOT
from rankwise.rankers.boosting.mc_rank import MOST_BINS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def means():
    """Mean over the sets by title and rule, recomputed from the columns of the sets."""
    found, title = {}, ""
    for line in (DOCS / "study_defaults.txt").read_text("utf-8").splitlines():
        if ": " in line:
            title = line.split(":")[0]
            found[title] = {}
        elif row := re.match(r"(\S.*?)  +(\d\.\d{3})  (\d\.\d{3})((?: +\d\.\d\d)+)$", line):
            rule, mean, worst, cells = row.groups()
            values = [float(cell) for cell in cells.split()]
            assert sum(values) / len(values) == pytest.approx(float(mean), abs=0.006)
            assert max(values) == pytest.approx(float(worst), abs=0.006)
            found[title][rule] = float(mean)
    return found


def test_rounds_of_orboost(means):
    forms = [means['ORBoost(form="all")'], means['ORBoost(form="lr")']]
    sums = {rule: sum(form[rule] for form in forms) for rule in forms[0]}
    held_out = sums.pop("a fifth held out")
    best = min(sums, key=sums.__getitem__)
    assert best == f"{ROUNDS_PER_ROOT} sqrt(n)"
    assert sums[best] < held_out
    assert ORBoost().n_estimators is None
    assert str(MOST_ROUNDS) in sums


@pytest.mark.parametrize("learner", [PRank, VotedPRank, AggregatePRank, WidrowHoff])
def test_order_of_rows(means, learner):
    of = means[learner.__name__]
    assert learner().shuffle
    for passes in (1, 5):
        assert of[f"by class, as given, {passes}"] > 1 > of[f"by class, shuffled, {passes}"]
        given, shuffled = (of[f"drawn, {how}, {passes}"] for how in ("as given", "shuffled"))
        assert abs(given - shuffled) < 0.05


def test_classes_of_mc_rank(means):
    of = {int(rule.split()[0]): mean for rule, mean in means["McRank"].items()}
    assert McRank().max_classes is None
    assert max(k for k in of if of[k] <= min(of.values()) + 0.01) == MOST_BINS


def test_figures_in_docstrings_are_those_of_the_output(means):
    everywhere, near = means['ORBoost(form="all")'], means['ORBoost(form="lr")']
    for rule, form in (("3 sqrt(n)", '{:.1f} % ("all") and {:.1f} % ("lr")'),
                       ("1000", "{:.1f} % and {:.1f} % with 1,000 rounds")):  # fmt: skip
        values = [100 * (of[rule] - 1) for of in (everywhere, near)]
        assert form.format(*values) in " ".join((ORBoost.__doc__ or "").split())
    excess = {rule: f"{100 * (mean - 1):.1f} %" for rule, mean in means["McRank"].items()}
    text = " ".join((McRank.__doc__ or "").split())
    assert f"8 classes misordered {excess['8 classes']} more pairs than the best" in text
    assert f"32 classes {excess['32 classes']} (" in text
