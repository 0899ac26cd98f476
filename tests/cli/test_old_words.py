"""Command lines of version 0.1.0 still run, and a note names the current words."""

from __future__ import annotations

import pytest

from rankwise.cli._old_words import current_words


@pytest.mark.parametrize(
    ("before", "after", "notes"),
    [
        (["cv", "a", "--folds=3"], ["cv", "a", "--cv=3"], ["note: --folds is now called --cv."]),
        (["fit", "--vali", "v.txt"], ["fit", "--vali-data", "v.txt"], 1),
        (["compare", "a", "--seed", "3"], ["compare", "a", "--random-state", "3"], 1),
        (["compare", "--paired-test", "t"], ["compare", "--test", "t"], 1),
        (["compare", "--test", "t.txt"], ["compare", "--test-data", "t.txt"], 1),
        (["compare", "--test", "wilcoxon"], ["compare", "--test", "wilcoxon"], 0),
        (["compare", "--test=wrong"], ["compare", "--test=wrong"], 0),
        (["lint", "--test=b"], ["lint", "--test-data=b"], 1),
        (["predict", "m", "--as", "trec"], ["predict", "m", "--format", "trec"], 1),
        (["reproduce", "--seed", "3"], ["reproduce", "--seed", "3"], 0),
        ([], [], 0),
    ],
)
def test_old_words_become_current_ones(before, after, notes):
    said = []
    assert current_words(before, said.append) == after
    assert said == notes if isinstance(notes, list) else len(said) == notes


def test_an_old_command_line_still_runs(rankwise, part_files):
    leak = rankwise("lint", part_files[0], "--test", part_files[0])
    assert leak.code == 1
    assert leak.err.splitlines() == ["note: --test is now called --test-data."]
    assert "queries in two parts" in leak.out
