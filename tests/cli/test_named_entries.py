"""``compare`` and ``evaluate`` with systems that are there already."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.datasets import Qrels, Run, read_letor, write_qrels, write_run

# Candidates --------------------------------------------------------------------------------------


@pytest.fixture
def candidates(letor_file, tmp_path, rankwise):
    """A run of the first feature, and a saved model."""
    data = read_letor(letor_file)
    X = np.asarray(data.X if isinstance(data.X, np.ndarray) else data.X.toarray())
    write_run(Run.from_data(data, X[:, 0].astype(float), "now"), tmp_path / "now.run.gz")
    fitted = rankwise("fit", letor_file, "--ranker", "ridge", "--out", tmp_path / "old.rankwise")
    assert fitted.code == 0, fitted.err
    return tmp_path / "now.run.gz", tmp_path / "old.rankwise"


def test_runs_models_and_columns_take_part(rankwise, letor_file, candidates):
    run, model = candidates
    rankers = f"linear_regression,{model},best={model},column:1"
    result = rankwise(
        "compare", letor_file, "--rankers", rankers, "--baseline", run, "--cv", "3", "--json"
    )
    assert result.code == 0, result.err
    rows = {row["ranker"]: row for row in result.json["rows"]}
    assert set(rows) == {"now", "linear_regression", "old", "best", "1"}
    assert rows["old"]["mean"] == rows["best"]["mean"]
    assert rows["now"]["mean"] == rows["1"]["mean"]
    assert rows["1"]["against_baseline"]["nDCG@10"]["diff"] == 0
    assert result.json["settings"]["baseline"] == "now"
    assert "must not have seen the test queries" in rows["old"]["notes"][0]


def test_a_baseline_may_be_one_of_the_rankers(rankwise, letor_file):
    result = rankwise(
        "compare", letor_file, "--rankers", "ridge,linear_regression", "--baseline", "ridge"
    )
    assert result.code == 0, result.err
    assert "Against the baseline ridge, nDCG@10:" in result.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--rankers", "ridge,ridge"], "names ridge twice"),
        (["--rankers", "missing.run"], "'missing.run' is not a file"),
        (["--rankers", "ridge", "--baseline", "bm25"], "'bm25' is not a ranker"),
        (["--rankers", "rigde"], "Did you mean 'ridge'?"),
        (["--rankers", ","], "must name at least one ranker"),
        (["--rankers", "ridge(alfa=1)"], "ridge has no parameter 'alfa'. Did you mean 'alpha'?"),
        (["--rankers", "ridge(1)"], "'ridge(1)' must be RANKER(NAME=VALUE,…)"),
        (["--rankers", "rigde(alpha=1)"], "Did you mean 'ridge'?"),
    ],
)
def test_wrong_candidates(rankwise, letor_file, words, told):
    result = rankwise("compare", letor_file, *words)
    assert result.code == 2
    assert told in result.err


def test_a_candidate_that_is_no_run(rankwise, letor_file):
    result = rankwise("compare", letor_file, "--rankers", letor_file)
    assert result.code == 1
    assert "holds LETOR text, not a run: expected 6 fields" in result.err


def test_six_rankers_without_a_word(rankwise, letor_file):
    result = rankwise("compare", letor_file, "--cv", "3", "--json")
    assert result.code == 0, result.err
    assert len(result.json["rows"]) == 6
    assert {row["status"] for row in result.json["rows"]} == {"done"}


def test_rankers_with_parameters_are_not_tuned(rankwise, letor_file):
    named = "auto(time_budget=None, n_trials=1),strong=ridge(alpha=100.0),ridge"
    result = rankwise("compare", letor_file, "--rankers", named, "--cv", "2", "--json")
    assert result.code == 0, result.err
    shown = result.json["rankers"]
    assert set(shown) == {"auto(time_budget=None, n_trials=1)", "strong", "ridge"}
    assert "n_trials=1" in shown["auto(time_budget=None, n_trials=1)"]
    assert shown["strong"] == "RidgeRanker(alpha=100.0)"
    rows = {row["ranker"]: row for row in result.json["rows"]}
    assert not any(rows["strong"]["chosen"].values())
    words = ("--rankers", named, "--baseline", "ridge(alpha=1.0)", "--cv", "2", "--json")
    result = rankwise("compare", letor_file, *words)
    assert result.json["settings"]["baseline"] == "ridge(alpha=1.0)"


@pytest.mark.parametrize("entry", ["ridge(alpha=1.0", "ridge(1.0)", "ridge(alpha=1.0) x"])
def test_parameters_need_names_and_parentheses(rankwise, letor_file, entry):
    result = rankwise("compare", letor_file, "--rankers", entry)
    assert result.code == 2
    assert (
        f"'{entry}' must be RANKER(NAME=VALUE,…), such as lambdamart(n_estimators=50)" in result.err
    )


def test_a_run_against_judged_data(rankwise, letor_file, candidates, tmp_path):
    run, _ = candidates
    data = read_letor(letor_file)
    write_qrels(Qrels.from_data(data), tmp_path / "qrels.txt")
    by_qrels = rankwise("evaluate", run, tmp_path / "qrels.txt", "--json")
    by_rows = rankwise("evaluate", run, letor_file, "--json")
    assert by_rows.code == 0, by_rows.err
    assert by_rows.json == by_qrels.json


def test_a_run_needs_documents_in_the_judged_data(rankwise, letor_file, candidates, tmp_path):
    run, _ = candidates
    plain = tmp_path / "plain.txt"
    plain.write_text(
        "".join(line.split("#")[0] + "\n" for line in letor_file.read_text().splitlines())
    )
    result = rankwise("evaluate", run, plain)
    assert result.code == 1
    assert "is LETOR text without document ids" in result.err
    other = tmp_path / "other.txt"
    other.write_text(letor_file.read_text().replace("docid = D", "docid = E"))
    result = rankwise("evaluate", run, other)
    assert result.code == 1
    assert "have queries in common, but no document" in result.err


def test_several_systems_against_a_baseline(rankwise, letor_file, candidates, tmp_path):
    run, model = candidates
    data = read_letor(letor_file)
    scores = tmp_path / "hand.txt"
    scores.write_text("".join(f"{value!r}\n" for value in np.asarray(data.X)[:, 1].tolist()))
    systems = f"{model},second=column:2"
    words = ("evaluate", scores, letor_file, "--systems", systems, "--baseline", run)
    result = rankwise(*words, "--json")
    assert result.code == 0, result.err
    rows = {row["ranker"]: row for row in result.json["rows"]}
    assert set(rows) == {"hand", "now", "old", "second"}
    assert rows["hand"]["mean"] == rows["second"]["mean"]
    assert result.json["settings"]["baseline"] == "now"
    page = tmp_path / "report.html"
    shown = rankwise(*words, "--report", page)
    assert "Against the baseline now, nDCG@10:" in shown.out
    assert shown.out.rstrip().endswith(str(page))
    assert "Against the baseline now</h2>" in page.read_text("utf-8")


def test_a_baseline_of_the_same_name_takes_no_others_place(rankwise, letor_file, candidates):
    run, model = candidates
    told = "is called now, like another entry. Write NAME="
    named = f"now={model}"
    for words in (
        ("compare", letor_file, "--rankers", named, "--baseline", run),
        ("evaluate", named, letor_file, "--baseline", run),
    ):
        result = rankwise(*words)
        assert result.code == 2
        assert told in result.err


def test_a_single_model_or_column(rankwise, letor_file, candidates):
    run, model = candidates
    by_run = rankwise("evaluate", run, letor_file, "--json").json
    for found in by_run["measures"].values():
        assert found["unjudged"] == 0
        found["unjudged"] = None  # rows do not say which are judged
    assert rankwise("evaluate", "column:1", letor_file, "--json").json == by_run
    assert rankwise("evaluate", model, letor_file, "--json").code == 0


def test_runs_alone_need_no_rows(rankwise, letor_file, candidates, tmp_path):
    run, _ = candidates
    data = read_letor(letor_file)
    write_qrels(Qrels.from_data(data), tmp_path / "qrels.txt")
    half = tmp_path / "half.run"
    half.write_text("".join(f"1 Q0 D{i} {i + 1} {8 - i} half\n" for i in range(8)))
    result = rankwise("evaluate", run, tmp_path / "qrels.txt", "--systems", half)
    assert result.code == 0, result.err
    assert "11 of 12 queries have no answer in the run" in result.out
    result = rankwise("evaluate", run, tmp_path / "qrels.txt", "--systems", "column:1")
    assert result.code != 0


@pytest.mark.filterwarnings("always::rankwise.datasets.IgnoredColumnsWarning")
def test_a_score_column_of_a_table(rankwise, letor_file, tmp_path):
    data = read_letor(letor_file)
    table = tmp_path / "judged.csv"
    lines = ["label,qid,a,production,kind"]
    for y, q, x in zip(data.y, data.qid, np.asarray(data.X).tolist(), strict=True):
        lines.append(f"{y:g},{q},{x[0]},{x[1]},text")
    table.write_text("\n".join(lines) + "\n")
    words = ("--rankers", "ridge", "--baseline", "column:production", "--cv", "2", "--json")
    result = rankwise("compare", table, *words)
    assert result.code == 0, result.err
    assert "production" not in result.err
    assert result.json["folds"][0]["n_features"] == 2
    assert result.json["settings"]["shared"] == ["production"]
    assert result.json["settings"]["left_out"] == {"kind": "text"}
    for words_of_features in (("--ignore", "production"), ("--features", "a")):
        result = rankwise("compare", table, *words, *words_of_features)
        assert result.json["folds"][0]["n_features"] == 1
        assert result.json["settings"]["shared"] == []
        assert "production" in result.json["settings"]["left_out"]
    result = rankwise("evaluate", "column:production", table, "--json")
    assert result.code == 0
    assert result.err == ""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--systems", "missing.run"], "'missing.run' is not a file"),
        (
            ["--systems", "column:1"],
            "--systems must have different names, but two are called 1",
        ),
        (["--systems", "a=column:2", "--per-query"], "--per-query shows one system"),
        (["--report", "r.html"], "--report compares several systems"),
        (["--systems", "a=column:99"], "a: column:99 must name a feature"),
    ],
)
def test_wrong_systems(rankwise, letor_file, words, told):
    result = rankwise("evaluate", "column:1", letor_file, *words)
    assert result.code in (1, 2)
    assert told in result.err
