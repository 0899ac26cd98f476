"""A short campaign over fits with documented options, and faults that the targets must see."""

from __future__ import annotations

import json
import sys

import pytest

from rankwise import RidgeRanker
from tests.fuzz import fits
from tests.fuzz.campaign import run_campaign


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are Linux's")
def test_fits_come_back_and_refused_ones_cost_nothing():
    report = run_campaign([target.name for target in fits.TARGETS], n_cases=12)
    assert not report.failures, str(report)
    assert all(counts.accepted >= 6 for counts in report.counts.values())


def test_a_fit_that_leaves_something_behind_is_seen(tmp_path, monkeypatch):
    def fit(self, X, y, **given):
        self.coef_ = y
        raise ValueError

    (tmp_path / "case").write_text(json.dumps({"key": "ridge", "seed": 2}))
    model = fits._fitted(tmp_path / "case")
    monkeypatch.setattr(fits, "_fitted", lambda path: model)
    monkeypatch.setattr(RidgeRanker, "fit", fit)
    with pytest.raises(AssertionError, match="coef"):
        fits._check_refused(tmp_path / "case")
