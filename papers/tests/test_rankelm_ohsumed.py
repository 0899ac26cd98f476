"""RankELM on OHSUMED (Zong & Huang 2013): what ``rankwise reproduce rankelm-ohsumed`` must show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rankwise.experiments import Verdict, reproduce
from rankwise_papers.zong2013 import plan
from rankwise_papers.zong2013.fits import compute
from rankwise_papers.zong2013.methods import OURS

# LETOR's scripts rank tied rows in the order of the file.
pytestmark = [
    pytest.mark.paper,
    pytest.mark.filterwarnings("ignore::rankwise.metrics.TiedScoresWarning"),
]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def quick(data_root):
    reproduction = reproduce("rankelm-ohsumed", quick=True)
    assert not reproduction.missing
    assert not reproduction.with_status("failed")
    return reproduction


@pytest.fixture(scope="module")
def values(quick):
    return {
        (table.name, value.row, value.column): value
        for table in quick.tables
        for value in table.values
    }


def test_least_squares_is_letors_published_regression_to_the_digit(values):
    verdicts = [value.verdict for key, value in values.items() if key[2] == "Regression"]
    assert verdicts == [Verdict.MET] * 16  # AP of five folds and their mean, nDCG@1 to @10
    folds = [values["ap-ohsumed", f"fold {i}", "Regression"].ours for i in plan.FOLDS]
    np.testing.assert_array_equal(np.round(folds, 4), [0.2979, 0.4302, 0.4398, 0.4978, 0.4442])


@pytest.mark.parametrize("method", ["Pairwise RELM_K", "Pairwise RELM_N"])
def test_pairwise_elm_reaches_its_target(values, method):
    """The paper has 0.4483 and 0.4474; single folds move by 0.005 with the choice of C."""
    value = values["ap-ohsumed", "mean", method]
    assert value.verdict is Verdict.MET
    assert value.ours >= 0.447
    assert (value.error or 0.0) < 0.002


def test_pairwise_sigmoid_nodes_reach_their_target(data_root):
    method = next(method for method in OURS if method.name == "pairwise-sigmoid")
    names = {plan.fit_name("ohsumed", method, fold, seed=0) for fold in plan.FOLDS}
    cells = [cell for cell in plan.cells(quick=False) if cell.name in names]
    assert len(cells) == 5
    assert np.mean([compute(cell)["test"]["AP"] for cell in cells]) >= 0.449


def test_most_values_are_met_and_every_difference_is_explained(quick):
    ap, ndcg, _ = quick.tables
    for table, met, missed in ((ap, 30, 2), (ndcg, 48, 5)):
        counts = quick.counts(table)
        assert counts["met"] >= met and counts["missed"] <= missed
    for table in (ap, ndcg):
        for value in table.values:
            if value.verdict in (Verdict.BETTER, Verdict.MISSED, Verdict.NOT_RUN):
                assert value.note


def test_the_published_columns_of_the_kernels_lie_on_our_paths(quick):
    """At one C per fold: APs to the last digit, 9 and 8 of 10 values of nDCG too."""
    table = quick.tables[2]
    off = [
        (value.row, value.column)
        for value in table.values
        if abs(value.ours - value.paper) > value.tolerance
    ]
    assert off == [
        ("nDCG@5", "Pointwise RELM_K"),
        ("nDCG@9", "Pairwise RELM_K"),
        ("nDCG@10", "Pairwise RELM_K"),
    ]


def test_the_documentation_shows_these_values(values):
    """Those columns that draw nothing are the same in a quick and in a full run.

    RankSVM's weights are solved to a tolerance, which leaves one unit of the last digit open.
    """
    text = (ROOT / "docs" / "reproduce" / "rankelm-ohsumed.txt").read_text("utf-8")
    for name, title in (("ap-ohsumed", "Table 1, OHSUMED"), ("ndcg-ohsumed", "Table 2, OHSUMED")):
        section = text[text.index(title) :].split("\n\n")[1]
        rows = {line.split("  ours ")[0].strip(): line for line in section.splitlines()}
        shown = [value for key, value in values.items() if key[0] == name and value.error is None]
        for value in shown:
            if value.ours is not None:
                slack = 1e-4 if value.column == "RankSVM" else 0.0
                near = {f" {value.ours + step:.4f} " for step in (-slack, 0.0, slack)}
                assert any(text in rows[value.row] for text in near)
        assert len({value.row for value in shown}) >= 6
