"""Simulated users click as their habits say."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import RankingData
from rankwise.clicks import simulate_clicks
from rankwise.clicks.simulation import EXAMINATION, attractiveness_of


def test_simulated_users_click_as_they_should():
    rng = np.random.default_rng(0)
    data = RankingData(
        np.zeros((40, 1)), rng.integers(0, 3, 40).astype(float), qid=np.arange(40) // 8
    )
    log = simulate_clicks(data, rng.random(40), n_sessions=40_000, temperature=2.0)
    a = attractiveness_of(data.y)[log.document.names[log.document.codes].astype(int)]
    for place in (1, 2, 5):
        rows = log.place == place
        expected = a[rows].mean() * EXAMINATION[place - 1]
        assert abs(log.click[rows].mean() - expected) < 4 * np.sqrt(expected / rows.sum())
    assert log.summary().identifies_examination
    top = simulate_clicks(data, rng.random(40), "trust", n_sessions=20_000)
    assert top.click[top.place == 1].mean() > log.click[log.place == 1].mean()
    dbn = simulate_clicks(
        data, rng.random(40), {"model": "dbn", "satisfaction": 0.0, "continuation": 0.5},
        n_sessions=40_000,
    )  # fmt: skip
    a = attractiveness_of(data.y)[dbn.document.names[dbn.document.codes].astype(int)]
    for place in (1, 3):
        rows = dbn.place == place
        expected = a[rows].mean() * 0.5 ** (place - 1)
        assert abs(dbn.click[rows].mean() - expected) < 4 * np.sqrt(expected / rows.sum())
    with pytest.raises(ValueError, match="user 'pbm' has no parameter 'patience'"):
        simulate_clicks(data, rng.random(40), {"model": "pbm", "patience": 1})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_users": 0}, "n_users must be >= 1, got 0"),
        ({"temperature": np.nan}, "temperature >= 0"),
        ({"estimator": [1.0, np.nan]}, "scores of the estimator must be finite, got nan at row 1"),
        ({"user": {"model": "pbm", "examination": []}}, "examination must be one number per place"),
        (
            {"user": {"model": "trust", "examination": [1.0, 2.0]}},
            r"examination must be in \[0, 1\], got 2.0 at place 2",
        ),
        (
            {"user": {"model": "dbn", "satisfaction": 7}},
            r"satisfaction must be in \[0, 1\], got 7",
        ),
    ],
)
def test_users_that_cannot_be_are_refused(change, message):
    data = RankingData(np.eye(2), np.array([0.0, 1]), qid=np.array([1, 1]))
    with pytest.raises(ValueError, match=message):
        simulate_clicks(data, **({"estimator": [1.0, 0.0]} | change))
