"""Verdicts, and the worked example of an experiment."""

from __future__ import annotations

import pytest

from rankwise.experiments import Value, Verdict
from tests.experiments.toy import Toy


@pytest.mark.parametrize(
    ("ours", "better", "expected"),
    [
        (0.50, True, Verdict.MET),
        (0.52, True, Verdict.MET),  # the tolerance itself is still met
        (0.48, True, Verdict.MET),
        (0.53, True, Verdict.BETTER),
        (0.47, True, Verdict.MISSED),
        (0.53, False, Verdict.MISSED),
        (0.47, False, Verdict.BETTER),
        (0.53, None, Verdict.MISSED),
        (0.47, None, Verdict.MISSED),
        (None, True, Verdict.NOT_RUN),
    ],
)
def test_verdict_by_side_and_tolerance(ours, better, expected):
    value = Value("r", "c", ours=ours, paper=0.5, tolerance=0.02, larger_is_better=better)
    assert value.verdict is expected


def test_no_verdict_without_a_published_value_and_none_where_it_shows_nothing():
    assert Value("r", "c", ours=0.5).verdict is Verdict.NO_PAPER
    weak = Value("r", "c", ours=0.9, paper=0.5, tolerance=0.1, not_evidence="worse than a constant")
    assert weak.verdict is Verdict.NOT_EVIDENCE


def test_a_published_value_needs_a_tolerance():
    with pytest.raises(ValueError, match="fold 1, AP: a published value needs a tolerance"):
        Value("fold 1", "AP", paper=0.5)


def test_the_worked_example_makes_its_tables_of_what_is_there():
    toy = Toy()
    cells = [cell for cell in toy.cells(quick=False) if not cell.data]
    everything = {cell.name: toy.run(cell) for cell in cells}
    (table,) = toy.tables(everything, quick=False)
    verdicts = {value.row: value.verdict for value in table.values}
    assert verdicts == {
        "small": Verdict.MET,
        "large": Verdict.MISSED,
        "absent": Verdict.NOT_RUN,
        "constant": Verdict.NO_PAPER,
    }
    (empty,) = toy.tables({}, quick=True)
    assert {value.verdict for value in empty.values} == {Verdict.NOT_RUN, Verdict.NO_PAPER}
