"""What ``docs/click_learning.rst`` says of learning from clicks is in the stored study."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from rankwise.clicks import ClickRanker

CAUSES = Path(__file__).parents[2] / "docs" / "study_click_causes.txt"
OUTPUT = Path(__file__).parents[2] / "docs" / "study_click_learning.txt"
CORRECTIONS = ("coec", "harvest", "pbm", "ips", "known", "cells")
LEARNERS = ("naive", *CORRECTIONS, "position", "LightGBM", "XGBoost")


@pytest.fixture(scope="module")
def settings():
    """Mean of every setting of ClickRanker."""
    head, _, rest = OUTPUT.read_text("utf-8").partition("\n\n")
    assert "bundled set" in head
    lines = rest.split("\n\n")[0].splitlines()[1:]
    return {line[:28].strip(): float(line[28:].split()[0]) for line in lines}


@pytest.fixture(scope="module")
def cells():
    """Values of every contestant by set, user and number of clicks."""
    found, names, name = {}, [], ""
    for line in OUTPUT.read_text("utf-8").splitlines():
        words = line.split()
        if words[1:3] == ["clicks", "logger"]:
            name, names = words[0], words[2:]
        elif names and len(words) == len(names) + 2:
            values = [math.nan if word == "-" else float(word) for word in words[2:]]
            found[name, words[0], int(words[1])] = dict(zip(names, values, strict=True))
        else:
            names = []
    return found


def mean_lead(cells, name, key, other):
    leads = [row[key] - row[other] for cell, row in cells.items() if cell[0] == name]
    return sum(leads) / len(leads)


def test_the_default_is_level_with_the_best_setting_on_the_bundled_set(settings):
    best = sorted(settings, key=settings.get)[-2:]
    assert set(best) == {"coec: weights, raw", "harvest: weights, raw"}
    assert settings[best[1]] - settings[best[0]] < 0.0005
    chosen = ClickRanker()
    assert (chosen.method, chosen.weights, chosen.shrinkage) == ("coec", "trust", 0.0)
    for method, cost in (("coec", 0.008), ("ips", 0.042)):
        lost = settings[f"{method}: weights, raw"] - settings[f"{method}: weights, shrunk"]
        assert lost == pytest.approx(cost, abs=6e-4)
    shrunk = [key for key in settings if key[:3] != "ctr"]
    assert sorted(shrunk, key=settings.get)[:2] == [
        "ips: no weights, shrunk",
        "ips: weights, shrunk",
    ]


def behind_best(cells, name):
    rows = [row for cell, row in cells.items() if cell[0] == name]
    return [
        max(v for k, v in row.items() if k in LEARNERS and v == v) - row["coec"] for row in rows
    ]


def test_the_default_is_confirmed_on_one_set_of_two(cells):
    assert {cell[0] for cell in cells} == {"bundled", "mq2008", "mslr"}
    for name, most in (("bundled", 0.0085), ("mslr", 0.025), ("mq2008", 0.051)):
        assert max(behind_best(cells, name)) == pytest.approx(most, abs=6e-4)
    leads = {"naive": 0.011, "position": 0.013, "cells": 0.021, "harvest": 0.008}
    for key, lead in leads.items():
        assert mean_lead(cells, "mq2008", key, "coec") == pytest.approx(lead, abs=6e-4)
    for name, lead in (("bundled", 0.001), ("mslr", 0.005)):
        assert mean_lead(cells, name, "harvest", "coec") == pytest.approx(lead, abs=6e-4)


def test_no_lead_is_beyond_chance():
    text = OUTPUT.read_text("utf-8")
    tables = [line.split()[1:] for line in text.splitlines() if line[:2] == "p "]
    assert len(tables) == 3
    assert min(float(p) for row in tables for p in row[2:]) > 0.05


def test_naive_wins_where_the_page_says(cells):
    won = {cell for cell, row in cells.items() if row["naive"] > row["coec"]}
    few = {cell for cell in cells if cell[0] == "mq2008" and cell[2] <= 10_000}
    assert few < won
    assert len(few) == 6
    assert sorted((cell[0], cell[2]) for cell in won - few) == [
        ("mq2008", 100_000),
        ("mslr", 100_000),
    ]
    for row in cells.values():
        assert row["naive"] < max(row[key] for key in LEARNERS if not math.isnan(row[key]))
    trusting = [row for cell, row in cells.items() if cell[:2] == ("bundled", "trust")]
    assert sorted(row["naive"] for row in trusting) == [0.606, 0.607, 0.614]
    assert {row["logger"] for row in trusting} == {0.593}


def test_boosters_and_known_examination(cells):
    for cell, row in cells.items():
        lead = row["position"] - max(row["LightGBM"], row["XGBoost"])
        assert lead > (0.0149 if cell[2] == 1000 else 0)
    for key in ("harvest", "pbm", "ips"):
        assert mean_lead(cells, "bundled", "cells", key) < 0
        assert mean_lead(cells, "mq2008", "cells", key) > 0
    gains = {cell: row["known"] - row["ips"] for cell, row in cells.items() if cell[1] != "dbn"}
    assert max(gain for cell, gain in gains.items() if cell[0] == "bundled") < 0.0035
    assert max(gains.values()) == pytest.approx(0.033, abs=6e-4)
    assert all(gain < 0 for cell, gain in gains.items() if cell[:2] == ("bundled", "trust"))


def test_the_cause_is_the_logging_ranker_and_not_the_log():
    found = {}
    for line in CAUSES.read_text("utf-8").splitlines()[2:]:
        words = line.split()
        found[words[0], words[1], int(words[2])] = [float(word) for word in words[3:]]
    assert len(found) == 12
    clicks, moved, good, logger, ctr, coec, plain, weighted = 0, 2, 3, 4, 5, 6, 10, 11
    for user in ("pbm", "dbn"):
        for n in (1000, 10_000):
            ours, theirs = found["mq2008", user, n], found["bundled", user, n]
            assert ours[clicks] > 0.9 * theirs[clicks]
            assert ours[moved] > 0.92 * theirs[moved]
            assert theirs[logger] == pytest.approx(-0.06, abs=5e-3)
            assert 0.097 < ours[logger] < 0.115
            assert ours[good] == pytest.approx(0.2, abs=0.01)
            assert ours[coec] < ours[ctr] + 0.003
        cost = found["mq2008", user, 1000]
        assert 0.0235 < cost[plain] - cost[weighted] < 0.0315
        for name in ("bundled", "mslr"):
            gain = found[name, user, 1000]
            assert gain[weighted] - gain[plain] > 0.0145
    assert found["bundled", "pbm", 10_000][ctr : coec + 1] == [0.236, 0.342]
    assert found["mq2008", "pbm", 1000][ctr : coec + 1] == [0.5, 0.489]
    assert found["mq2008", "pbm", 10_000][ctr : coec + 1] == [0.586, 0.588]


def test_intervals_hold_their_level_where_pairs_were_shown_often():
    found = {}
    for line in (CAUSES.parent / "study_click_coverage.txt").read_text("utf-8").splitlines():
        words = line.split()
        if words and words[0] in ("pbm", "trust", "dbn"):
            found[words[0], int(words[1])] = [float(w) if w != "-" else math.nan for w in words[2:]]
    assert {n for _, n in found} == {1000, 5000, 20_000}
    assert len(found) == 9
    for (_, n), shares in found.items():
        known = [share for share in shares if not math.isnan(share)]
        assert min(known) > 0.92
        assert max(share for share in shares[:4] if not math.isnan(share)) < 0.97
        assert max(known) < (0.97 if n == 20_000 else 0.995)
        assert n < 20_000 or min(known) > 0.93
