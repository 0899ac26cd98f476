"""What ``docs/clicks_explained.rst`` says of learning from clicks is in the stored study."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from rankwise.clicks import ClickRanker

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


def test_the_default_is_the_best_setting_on_the_bundled_set(settings):
    assert max(settings, key=settings.get) == "coec: weights, raw"
    chosen = ClickRanker()
    assert (chosen.method, chosen.weights, chosen.shrinkage) == ("coec", "trust", 0.0)
    for method, cost in (("coec", 0.021), ("ips", 0.072)):
        lost = settings[f"{method}: weights, raw"] - settings[f"{method}: weights, shrunk"]
        assert lost == pytest.approx(cost, abs=6e-4)


def test_the_default_is_not_confirmed_on_mq2008(cells):
    assert {cell[0] for cell in cells} == {"bundled", "mq2008", "mslr"}
    for cell, row in cells.items():
        if cell[0] == "bundled":
            best = max(row[key] for key in LEARNERS if not math.isnan(row[key]))
            assert row["coec"] > best - 0.027
    for key in ("naive", "harvest", "pbm", "ips", "cells", "position", "LightGBM", "XGBoost"):
        assert mean_lead(cells, "mslr", "coec", key) > 0
    assert mean_lead(cells, "mq2008", "harvest", "coec") == pytest.approx(0.013, abs=1e-3)
    assert mean_lead(cells, "mq2008", "cells", "coec") == pytest.approx(0.042, abs=1e-3)
    for name in ("bundled", "mslr"):
        assert abs(mean_lead(cells, name, "harvest", "coec")) < 0.003


def test_naive_wins_where_the_page_says(cells):
    few = [row for cell, row in cells.items() if cell[0] == "mq2008" and cell[2] <= 10_000]
    won = [row["naive"] == max(row[k] for k in LEARNERS if not math.isnan(row[k])) for row in few]
    assert (len(won), sum(won)) == (6, 5)
    many = [row for cell, row in cells.items() if cell[0] == "mq2008" and cell[2] == 100_000]
    ahead = [row[key] > row["naive"] for row in many for key in ("harvest", "pbm", "cells")]
    assert (len(ahead), sum(ahead)) == (9, 8)
    trusting = [row["naive"] for cell, row in cells.items() if cell[:2] == ("bundled", "trust")]
    assert (min(trusting), max(trusting)) == (0.598, 0.612)


def test_boosters_on_equal_terms_and_known_examination(cells):
    equal = [row for cell, row in cells.items() if cell[2] == 1000]
    assert len(equal) == 9
    for row in equal:
        assert row["position"] > max(row["LightGBM"], row["XGBoost"])
    assert mean_lead(cells, "bundled", "cells", "coec") < 0
    for key in ("harvest", "pbm", "ips"):
        assert mean_lead(cells, "mq2008", "cells", key) > 0
    for cell, row in cells.items():
        if cell[:2] == ("bundled", "pbm"):
            assert abs(row["known"] - row["ips"]) < 0.011
        if cell[:2] == ("bundled", "trust"):
            assert row["known"] < row["ips"]
