"""``rankwise prefer``: comparisons and orders in, a leaderboard with rank intervals out."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest

from rankwise.preferences import PairwisePreferences, PlackettLuce
from tests.preferences.test_preflib import write_new


@pytest.fixture
def votes(tmp_path):
    """A file of votes for three models, of which one is clearly the best."""
    rng = np.random.default_rng(0)
    strengths = {"good": 1.5, "fair": 0.0, "poor": -0.3}
    rows = []
    for number in range(300):
        a, b = rng.permutation(list(strengths))[:2].tolist()
        length = rng.normal(size=2).round(2)
        eta = strengths[a] - strengths[b] + 0.5 * (length[0] - length[1])
        p = np.exp([eta / 2, 0.0, -eta / 2])
        winner = rng.choice(["model_a", "tie", "model_b"], p=p / p.sum())
        rows.append((a, b, winner, f"judge{number % 20}", *length))
    frame = pd.DataFrame(
        rows, columns=["model_a", "model_b", "winner", "judge", "length_a", "length_b"]
    )
    path = tmp_path / "votes.csv"
    frame.to_csv(path, index=False)
    return path


def test_a_leaderboard(rankwise, votes, tmp_path):
    run = rankwise("prefer", votes, "--json", "--out", tmp_path / "new" / "board.csv")
    assert run.code == 0, run.err
    model = PairwisePreferences().fit(votes)
    expected = model.leaderboard()
    assert [row["item"] for row in run.json["items"]] == expected["item"].tolist()
    assert run.json["items"][0]["rank_high"] == 1
    assert [row["strength"] for row in run.json["items"]] == expected["strength"].tolist()
    assert run.json["n"] == 300
    assert [row["effect"] for row in run.json["effects"]] == ["tie"]
    written = pd.read_csv(tmp_path / "new" / "board.csv")
    pd.testing.assert_frame_equal(written, pd.DataFrame(expected))

    run = rankwise("prefer", votes)
    lines = [line.split() for line in run.out.splitlines() if line.strip()]
    assert lines[2][:3] == ["1", "1–1", "good"]
    assert "300 comparisons. good is significantly better than all others." in run.out


def test_all_options_of_comparisons(rankwise, votes):
    options = ("--ties", "rao_kupper", "--order-effect", "--covariates", "length_a:length_b")
    options += (
        "--clusters",
        "judge",
        "--alpha",
        "0.5",
        "--reference",
        "fair",
        "--confidence-level",
        "0.9",
    )
    options += ("--item-a", "model_a", "--item-b", "model_b", "--winner", "winner")
    run = rankwise("prefer", votes, *options, "--json")
    assert run.code == 0, run.err
    model = PairwisePreferences("rao_kupper", order_effect=True, alpha=0.5, reference="fair")
    model.fit(votes, covariates=[("length_a", "length_b")], clusters=["judge"])
    effects = [row["effect"] for row in run.json["effects"]]
    assert effects == ["order", "length_a - length_b", "tie"]
    assert [row["estimate"] for row in run.json["effects"]] == model.effects_.tolist()
    found = {row["item"]: row["standard_error"] for row in run.json["items"]}
    assert found == dict(zip(model.items_.tolist(), model.standard_errors_.tolist(), strict=True))
    expected = model.leaderboard(0.9)["rank_high"].tolist()
    assert [row["rank_high"] for row in run.json["items"]] == expected


def test_orders(rankwise, tmp_path):
    path = tmp_path / "orders.txt"
    path.write_text("a > b = c\nc > a\nb > a > c\n")
    run = rankwise("prefer", path, "--orders", "--unlisted", "last", "--json")
    assert run.code == 0, run.err
    model = PlackettLuce("last").fit(path)
    found = {row["item"]: row["strength"] for row in run.json["items"]}
    assert found == dict(zip(model.items_.tolist(), model.strengths_.tolist(), strict=True))
    run = rankwise("prefer", path, "--orders")
    assert "3 orders. No item is significantly better than another." in run.out


def test_the_items_that_may_be_best_are_counted(rankwise, tmp_path):
    rows = ["a,b,winner"] + ["x,y,first", "x,y,second"] * 20
    rows += [f"{good},z,first" for good in "xy" for _ in range(30)] + ["x,z,z", "y,z,z"]
    (tmp_path / "votes.csv").write_text("\n".join(rows))
    run = rankwise("prefer", tmp_path / "votes.csv")
    assert "102 comparisons. 2 of the 3 items may be the best." in run.out


def test_another_separator_is_suggested(rankwise, tmp_path):
    (tmp_path / "votes.csv").write_text("a;b;winner\nx;y;x\n")
    run = rankwise("prefer", tmp_path / "votes.csv")
    assert run.code == 1
    assert "the first line is one column, 'a;b;winner'. Pass the column separator: --sep" in run.err


def test_lines_of_text_have_no_columns(rankwise, tmp_path):
    path = tmp_path / "orders.txt"
    path.write_text("a > b\nb > a\n")
    run = rankwise("prefer", path, "--orders", "--clusters", "judge", "--sample-weight", "w")
    assert run.code == 1
    assert "and no columns, got clusters, sample_weight. " in run.err
    assert "Drop these, or pass a table with one row per order and item" in run.err


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (
            ["--ties", "drop"],
            2,
            "--ties must be one of 'davidson', 'rao_kupper', 'half', got 'drop'",
        ),
        (["--confidence-level", "95"], 2, "--confidence-level must lie between 0 and 1, got 95"),
        (["--orders", "--order-effect"], 2, "--order-effect cannot be combined with --orders"),
        (["--orders", "--ties", "half"], 2, "--ties cannot be combined with --orders"),
        (["--unlisted", "last"], 2, "--unlisted last cannot be combined with a file of compar"),
        (["--winner", "vote"], 1, "winner 'vote' must be columns"),
        (["--alpha", "-1"], 1, "alpha"),
    ],
)
def test_wrong_options_are_named(rankwise, votes, options, code, said):
    run = rankwise("prefer", votes, *options)
    assert run.code == code
    assert said in run.err
    assert run.err.count("\n") == 1


def test_a_missing_file_and_unconnected_items_are_named(rankwise, tmp_path):
    assert rankwise("prefer", tmp_path / "votes.csv").code == 2
    (tmp_path / "votes.csv").write_text("a,b,winner\nx,y,x\n")
    run = rankwise("prefer", tmp_path / "votes.csv")
    assert run.code == 1
    assert "{x} lost to no item outside, and {y} beat no item outside" in run.err


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".jsonl.gz"])
def test_votes_as_json_lines(rankwise, votes, tmp_path, suffix):
    path = tmp_path / f"votes{suffix}"
    pd.read_csv(votes).to_json(path, orient="records", lines=True)
    assert path.read_bytes().startswith(b"\x1f\x8b" if suffix.endswith(".gz") else b"{")
    for options in ((), ("--clusters", "judge", "--covariates", "length_a:length_b")):
        found, expected = (rankwise("prefer", f, *options, "--json") for f in (path, votes))
        assert found.code == 0, found.err
        assert found.json == expected.json


@pytest.mark.parametrize("options", [(), ("--orders",)])
@pytest.mark.parametrize("suffix", [".soc", ".SOC", ".soc.gz"])
def test_files_of_preflib(rankwise, tmp_path, suffix, options):
    text = write_new([(5, "1,2,3,4"), (4, "4,3,2,1"), (3, "2,1,4,3")]).encode()
    path = tmp_path / f"votes{suffix}"
    path.write_bytes(gzip.compress(text) if suffix.endswith(".gz") else text)
    run = rankwise("prefer", path, *options, "--json")
    assert run.code == 0, run.err
    model = PlackettLuce().fit(path)
    found = {row["item"]: row["strength"] for row in run.json["items"]}
    assert found == dict(zip(model.items_.tolist(), model.strengths_.tolist(), strict=True))
    refused = rankwise("prefer", path, "--ties", "half")
    assert refused.code == 2 and "--ties cannot be combined with" in refused.err
