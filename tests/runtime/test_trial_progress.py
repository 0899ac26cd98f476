"""Trials of a search reach a listener, and the progress line of the command line."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import AutoRanker
from rankwise.cli import _console as _progress
from rankwise.runtime.progress import TrialStart, announce_start, listen_to_starts

TRIAL = TrialStart("ridge", 1, 5, None, None)


def test_only_the_innermost_listener_hears():
    outer, inner = [], []
    announce_start(TRIAL)  # nobody listens
    with listen_to_starts(outer.append):
        with listen_to_starts(inner.append):
            announce_start(TRIAL)
        announce_start(TrialStart("rank_svm", 2, 5, 0.5, 3.0))
    announce_start(TRIAL)
    assert inner == [TRIAL]
    assert [trial.name for trial in outer] == ["rank_svm"]


def test_a_listener_goes_with_an_error():
    heard = []
    with pytest.raises(ValueError, match="x"), listen_to_starts(heard.append):
        raise ValueError("x")
    announce_start(TRIAL)
    assert heard == []


@pytest.mark.parametrize("time_budget", [None, 1e-6])
def test_auto_ranker_announces_its_trials(time_budget, rng):
    X, qid = rng.normal(size=(120, 2)), np.arange(120) // 10
    y = np.round(np.abs(X[:, 0]))
    heard = []
    with listen_to_starts(heard.append):
        ranker = AutoRanker(time_budget, n_trials=3, cv=2, random_state=0).fit(X, y, qid=qid)
    assert [trial.number for trial in heard] == [1, 2, 3]
    assert {trial.total for trial in heard} == {3}
    tried = [row["trial"] for row in ranker.history_] + [row["trial"] for row in ranker.skipped_]
    assert [trial.name for trial in heard] == tried
    values = [row["value"] for row in ranker.history_]
    assert [trial.best for trial in heard][:2] == [None, values[0]]
    assert heard[2].best == max(values[:2])
    lefts = [trial.seconds_left for trial in heard]
    assert lefts == ([None] * 3 if time_budget is None else [pytest.approx(0, abs=1e-6), 0, 0])


def test_the_progress_line_names_the_trial(monkeypatch):
    shown = []
    update = _progress.Progress.update

    def spied(self, *arguments):
        update(self, *arguments)
        shown.append(self.line())

    monkeypatch.setattr(_progress.Progress, "update", spied)
    with _progress.trial_progress("Fitting auto"):
        announce_start(TRIAL)
        announce_start(TrialStart("rank_svm pair", 2, 5, 0.45678, 40.0))
    assert shown == [
        "Fitting auto: 0 of 5 in 0:00, ridge",
        "Fitting auto: 1 of 5 in 0:00, ~0:40 left, rank_svm pair, best 0.4568",
    ]
