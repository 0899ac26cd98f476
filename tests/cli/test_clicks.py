"""``rankwise clicks``: the five commands on small logs, and their errors."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest

from rankwise.clicks import judgements, read_clicks, read_judgements
from rankwise.datasets import Run, read_qrels, write_run


@pytest.fixture
def log_file(tmp_path):
    """Two documents that swap places at random; the first is better."""
    rng = np.random.default_rng(0)
    n = 200
    swap = rng.integers(2, size=n).astype(bool)
    first = np.where(swap, "b", "a")
    frame = pd.DataFrame(
        {
            "qid": "tea",
            "doc_id": np.c_[first, np.where(swap, "a", "b")].ravel(),
            "position": np.tile([1, 2], n),
            "session": np.repeat(np.arange(n), 2),
            "team": np.tile(["x", "y"], n),
            "propensity": 0.5,
            "p": 0.5,
        }
    )
    appeal = np.where(frame.doc_id == "a", 0.8, 0.3) / frame.position
    frame["clicked"] = (rng.random(2 * n) < appeal).astype(int)
    path = tmp_path / "log.csv"
    frame.to_csv(path, index=False)
    return path


def test_summary(rankwise, log_file):
    run = rankwise("clicks", "summary", log_file)
    assert run.code == 0, run.err
    assert "400 impressions" in run.out
    assert "examination can be told from relevance" in run.out
    facts = rankwise("clicks", "summary", log_file, "--json").json
    assert facts["identifies_examination"]
    assert facts["place_impressions"] == [200, 200]


def test_tables_with_one_row_per_list(rankwise, tmp_path):
    path = tmp_path / "lists.csv"
    path.write_text("qid,when,d1,d2,c1,c2\ntea,1.2.2026,a,b,1,0\ntea,2.2.2026,b,,0,\n")
    options = ("--doc-id", "d1,d2", "--click", "c1, c2", "--json")
    facts = rankwise("clicks", "summary", path, *options).json
    assert facts["place_impressions"] == [2, 1]
    assert facts["clicks"] == 1
    run = rankwise("clicks", "summary", path, *options, "--time", "when")
    assert "got '1.2.2026'. Drop the column, or pass --time ''." in run.err
    assert rankwise("clicks", "summary", path, *options, "--time", "").code == 0


def test_judge(rankwise, log_file, tmp_path):
    out = tmp_path / "new" / "judged.csv"
    run = rankwise("clicks", "judge", log_file, "--out", out)
    assert run.code == 0, run.err
    with open(out, encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    judged = judgements(read_clicks(log_file))
    assert [float(row["grade"]) for row in rows] == judged.grade.tolist()
    assert [float(row["weight"]) for row in rows] == judged.weight.tolist()
    assert "interval" not in run.err
    qrels = tmp_path / "judged.qrels"
    options = ("--method", "ips", "--grades", 3, "--json")
    facts = rankwise("clicks", "judge", log_file, "-o", qrels, *options).json
    assert facts["format"] == "trec"
    found = read_qrels(qrels)
    grades = dict(zip(found.doc_ids.tolist(), found.relevance.tolist(), strict=True))
    assert grades["a"] > grades["b"]


@pytest.mark.parametrize("command", ["summary", "judge"])
def test_reports_of_click_logs(rankwise, log_file, tmp_path, command):
    report = tmp_path / "new" / "clicks.html"
    options = ["--out", tmp_path / "judged.csv"] if command == "judge" else []
    run = rankwise("clicks", command, log_file, *options, "--report", report)
    assert run.code == 0, run.err
    assert run.out.splitlines()[-1] == str(report)
    page = report.read_text("utf-8")
    assert f"rankwise clicks {command} " in page
    assert ('id="judgements"' in page) == (command == "judge")
    again = rankwise("clicks", command, log_file, *options, "--report", report, "--json")
    assert again.json["report"] == str(report)
    run = rankwise("clicks", command, log_file, *options, "--report", tmp_path)
    assert run.code == 2
    assert "--report must name a file" in run.err


def test_judge_with_propensities_and_shrinkage(rankwise, log_file, tmp_path):
    log, out = read_clicks(log_file), tmp_path / "judged.csv"
    for text, value in (("fit", "fit"), ("3.5", 3.5)):
        options = ("--method", "harvest", "--propensities", "1,0.5", "--shrinkage", text)
        assert rankwise("clicks", "judge", log_file, "-o", out, *options).code == 0
        wanted = judgements(log, "harvest", propensities=[1, 0.5], shrinkage=value)
        np.testing.assert_array_equal(read_judgements(out).grade, wanted.grade)
    facts = rankwise(
        "clicks", "judge", log_file, "-o", tmp_path / "j.trec", "--grades", 3, "--json"
    )
    assert facts.json["format"] == "trec"
    assert len(read_qrels(tmp_path / "j.trec").doc_ids) == 2


def test_searches_may_be_queries(rankwise, tmp_path):
    path, out = tmp_path / "ubi.ndjson", tmp_path / "judged.qrels"
    path.write_text(
        '{"query_id": "s", "user_query": "tea pot", "query_response_hit_ids": ["a", "b"]}\n'
        '{"action_name": "click", "query_id": "s", '
        '"event_attributes": {"object": {"object_id": "a"}}}\n'
    )
    run = rankwise("clicks", "judge", path, "-o", out, "--grades", 2, "--by", "query_id")
    assert run.code == 0, run.err
    assert read_qrels(out).qid.tolist() == ["s", "s"]


def test_interleave_and_test(rankwise, log_file, tmp_path):
    for name, order in (("x", [2.0, 1.0]), ("y", [1.0, 2.0])):
        run = Run(np.array(["tea", "tea"]), np.array(["a", "b"]), np.array(order), name)
        write_run(run, tmp_path / f"{name}.run")
    out = tmp_path / "merged.csv"
    run = rankwise("clicks", "interleave", tmp_path / "x.run", tmp_path / "y.run", "-o", out)
    assert run.code == 0, run.err
    merged = pd.read_csv(out)
    assert sorted(merged.team) == ["x", "y"]
    assert merged.place.tolist() == [1, 2]
    facts = rankwise("clicks", "test", log_file, "--json").json
    assert facts["systems"] == ["x", "y"]
    assert facts["delta"] > 0  # team x has all first places of this log
    assert rankwise("clicks", "test", log_file, "--systems", "y,x", "--json").json[
        "delta"
    ] == pytest.approx(-facts["delta"])
    assert "x minus y" in rankwise("clicks", "test", log_file).out


def test_off_policy(rankwise, log_file, tmp_path):
    run = Run(np.array(["tea", "tea"]), np.array(["a", "b"]), np.array([2.0, 1.0]), "new")
    write_run(run, tmp_path / "new.run")
    for method in ("ips", "snips", "item_position", "dr"):
        of_lists = () if method in ("item_position", "dr") else ("--list-propensity", "p")
        facts = rankwise(
            "clicks", "off-policy", log_file, tmp_path / "new.run", "--measure", "DCG@1",
            "--method", method, "--json", *of_lists,
        ).json  # fmt: skip
        assert facts["low"] < 0.8 < facts["high"]
    refused = rankwise("clicks", "off-policy", log_file, tmp_path / "new.run")
    assert refused.code == 1
    assert "pass the log --list-propensity" in refused.err
    assert "use --method 'item_position'" in refused.err


@pytest.mark.parametrize("method", ["ctr", "coec", "harvest", "ips", "pbm", "sdbn"])
def test_whole_grades(rankwise, log_file, tmp_path, method):
    """The document that was never clicked has grade 0, and the better one the higher grade."""
    frame = pd.read_csv(log_file)
    extra = frame.assign(qid="cup", clicked=frame.clicked * (frame.doc_id == "a"))
    pd.concat([frame, extra]).to_csv(log_file, index=False)
    out = tmp_path / "judged.csv"
    run = rankwise(
        "clicks", "judge", log_file, "-o", out, "--method", method, "--grades", "3", "--json"
    )
    assert run.code == 0, run.err
    grade = pd.read_csv(out).set_index(["qid", "doc_id"]).grade
    assert grade["cup", "b"] == 0
    assert grade["tea", "a"] > grade["tea", "b"] >= 0
    assert set(grade) == {0, 1, 2}


def test_other_formats(rankwise, tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("s1\t0\tQ\tq1\t5\ta\tb\ns1\t3\tC\tb\n")
    assert "2 impressions" in rankwise("clicks", "summary", path, "--format", "yandex").out
    path = tmp_path / "ubi.ndjson"
    path.write_text(
        '{"query_id": "s", "user_query": "tea", "query_response_hit_ids": ["a", "b"]}\n'
        '{"action_name": "click", "query_id": "s", '
        '"event_attributes": {"object": {"object_id": "a"}}}\n'
    )
    assert "2 impressions, 1 clicks" in rankwise("clicks", "summary", path).out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("summary", "none.csv"), 2, "'none.csv' is not a file"),
        (("summary", "LOG", "--qid", "text"), 1, "--query 'text' is not a column"),
        (("summary", "LOG", "--format", "xml"), 2, "--format must be one of"),
        (("summary", "LOG", "--format", "ubi", "--place", "p"), 2, "--place names a column"),
        (("judge", "LOG", "--out", "x.csv", "--method", "magic"), 2, "--method must be one of"),
        (
            ("judge", "LOG", "-o", "x.csv", "--shrinkage", "much"),
            2,
            "--shrinkage must be 'fit' or a number",
        ),
        (("summary", "LOG", "--by", "query_id"), 2, "--by must be user_query or query_id"),
        (("test", "LOG", "--systems", "x"), 2, "--systems must name two arms"),
        (("off-policy", "LOG", "none.run"), 2, "'none.run' is not a file"),
        (("dance",), 2, "No such command 'dance'"),
    ],
)
def test_errors_are_one_line(rankwise, log_file, arguments, code, message):
    run = rankwise("clicks", *[log_file if a == "LOG" else a for a in arguments])
    assert (run.code, run.out) == (code, "")
    assert message in run.err
    assert run.err.count("\n") == 1


def test_debiased_lists_are_tested_by_their_credits(rankwise, tmp_path):
    """Documents are alike, and B has A's last document on top: no system wins."""
    documents = [f"d{i}" for i in range(6)]
    for name, order in (("A", documents), ("B", documents[-1:] + documents[:-1])):
        scores = np.arange(len(order), 0.0, -1.0)
        write_run(Run(np.full(6, "q"), np.array(order), scores, name), tmp_path / f"{name}.run")
    runs, rng = (tmp_path / "A.run", tmp_path / "B.run"), np.random.default_rng(1)
    variants = []
    for seed in (0, 1, 2, 3):
        out = tmp_path / f"m{seed}.csv"
        options = ("--method", "debiased", "--random-state", seed, "-o", out)
        assert rankwise("clicks", "interleave", *runs, *options).code == 0
        variants.append(pd.read_csv(out, keep_default_na=False))
    assert {team for merged in variants for team in merged.team} == {""}
    # One list for each side of the coin.
    variants = list({tuple(merged.doc_id): merged for merged in variants}.values())
    assert len(variants) == 2
    served = pd.concat(
        variants[i].assign(session=n) for n, i in enumerate(rng.integers(2, size=800))
    )
    served["click"] = (rng.random(len(served)) < 0.6 / np.log2(1 + served.place)).astype(int)
    served.to_csv(tmp_path / "credits.csv", index=False)
    found = rankwise("clicks", "test", tmp_path / "credits.csv", "--json").json
    assert found["systems"] == ["A", "B"]
    assert found["low"] < 0 < found["high"]
    served.drop(columns=["credit_A", "credit_B"]).to_csv(tmp_path / "bare.csv", index=False)
    run = rankwise("clicks", "test", tmp_path / "bare.csv")
    assert run.code == 1
    assert "needs the team of every row" in run.err
    pd.concat(variants).to_csv(tmp_path / "all.csv", index=False)
    joined = rankwise(
        "clicks", "test", tmp_path / "bare.csv", "--credit", tmp_path / "all.csv", "--json"
    )
    assert joined.json == found
    variants[0].iloc[:3].to_csv(tmp_path / "part.csv", index=False)
    run = rankwise("clicks", "test", tmp_path / "bare.csv", "--credit", tmp_path / "part.csv")
    assert run.code == 1
    assert "does not show" in run.err
