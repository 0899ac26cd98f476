"""``rankwise compare`` and ``rankwise cv``: folds from files, tables, JSON, report, resuming."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rankwise import McRank, RidgeRanker, compare
from rankwise._registry import RANKING, REGISTRY, Entry
from rankwise.cli._named_entries import DEFAULT
from rankwise.cli._options import add_settings
from rankwise.datasets import read_letor, write_letor
from rankwise.selection import Leaderboard, learning_curve

from .conftest import judged_data

FAST = "linear_regression,ridge"


def test_a_file_is_split_into_folds_of_queries(rankwise, letor_file):
    run = rankwise("compare", letor_file, "--rankers", FAST, "--cv", 3, "--measures", "AP,P@5")
    assert run.code == 0, run.err
    board = compare(FAST.split(","), read_letor(letor_file), cv=3, measures=["AP", "P@5"])
    shown = {
        line.split()[1]: line.split()[2] for line in run.out.splitlines() if line[:1].isdigit()
    }
    assert shown == {row["ranker"]: f"{row['mean']:.4f}" for row in board.rows()}


def test_json_is_the_leaderboard(rankwise, letor_file):
    arguments = ("compare", letor_file, "--rankers", FAST, "--cv", 3, "--random-state", 4, "--json")
    run = rankwise(*arguments, "--preset", "letor3", "--select-by", "AP", "--test", "wilcoxon")
    assert run.code == 0
    found = Leaderboard.from_dict(run.json)
    expected = compare(
        FAST.split(","), read_letor(letor_file), cv=3, preset="letor3", select_by="AP",
        test="wilcoxon", random_state=4,
    )  # fmt: skip
    assert (found.settings.test, found.settings.correction) == ("wilcoxon", "holm")
    assert found.specs == expected.specs
    for one, other in zip(found.rows(), expected.rows(), strict=True):
        assert one["ranker"] == other["ranker"]
        assert one["measures"] == other["measures"]
    assert run.json["report"] is None


def test_corrections_have_the_same_names_as_in_python(rankwise, letor_file):
    arguments = ("compare", letor_file, "--rankers", FAST, "--cv", 3, "--measures", "AP")
    run = rankwise(*arguments, "--correction", "benjamini_hochberg", "--json")
    assert run.code == 0, run.err
    expected = compare(FAST.split(","), read_letor(letor_file), cv=3, measures=["AP"],
                       correction="benjamini_hochberg")  # fmt: skip
    assert run.json["rows"][1]["p_corrected"] == expected.rows()[1]["p_corrected"]
    wrong = rankwise(*arguments, "--test", "wilcoxon", "--correction", "max_t")
    assert wrong.code == 2
    assert wrong.err == (
        "error: --correction max_t needs t statistics. Use --test t, or --correction holm.\n"
    )


def test_the_bundled_set_brings_its_fold_and_the_last_line_names_the_report(rankwise, tmp_path):
    report = tmp_path / "out" / "report.html"
    run = rankwise("compare", "lambdarank", "--rankers", FAST, "--report", report)
    assert run.code == 0, run.err
    assert "lambdarank: 50 queries in 1 fold" in run.out
    assert Path(run.out.splitlines()[-1]) == report
    page = report.read_text("utf-8")
    assert f"rankwise compare lambdarank --rankers {FAST} --report {report}" in page
    assert 'id="data"' in page  # linted


def test_all_rankers_are_those_that_need_no_extra(rankwise, letor_file, monkeypatch):
    """On a registry of a few; what each ranker does with its settings is tested in tests/common."""
    kept = {"linear_regression", "ridge", "pointwise_elm", "rank_svm"}
    for key, entry in list(REGISTRY.items()):
        if entry.kind == "ranker" and not entry.extra and key not in kept:
            monkeypatch.delitem(REGISTRY, key)
            monkeypatch.delitem(RANKING, key)
    assert {"lightgbm", "rank_net", "random_nodes", "orboost"} <= set(REGISTRY)
    run = rankwise("compare", letor_file, "--rankers", "all", "--cv", 3, "--json")
    assert run.code == 0, run.err
    assert set(run.json["rankers"]) == kept


def test_a_store_is_resumed(rankwise, letor_file, tmp_path):
    arguments = ("compare", letor_file, "--rankers", "ridge", "--cv", 3, "--json")
    first = rankwise(*arguments, "--store", tmp_path / "store")
    again = rankwise(*arguments, "--store", tmp_path / "store")
    assert first.code == again.code == 0
    # Times are those of the first run: nothing was fitted again.
    assert [c["fit_seconds"] for c in first.json["cells"]] == [
        c["fit_seconds"] for c in again.json["cells"]
    ]


def test_a_time_limit_stops_cells(rankwise, letor_file):
    run = rankwise("compare", letor_file, "--rankers", "ridge", "--cv", 3, "--time-limit", 1e-9)
    assert run.code == 1
    assert "failed: ridge (fold1, fold2, fold3): stopped at the time limit of 1e-09 s" in run.out
    assert "3 of 3 cells failed (ridge): stopped at the time limit" in run.err


def test_files_are_rotated_as_letor_does(rankwise, part_files):
    run = rankwise("compare", *part_files, "--cv", "letor", "--rankers", "ridge", "--json")
    assert run.code == 0, run.err
    parts = [read_letor(path) for path in part_files]
    tests = [[parts[(i + 3) % 4].groups.ids.tolist()] for i in range(4)]
    assert [[fold["qids"]] for fold in run.json["folds"]] == tests
    assert [fold["n_train_queries"] for fold in run.json["folds"]] == [10] * 4
    assert all(fold["has_validation"] for fold in run.json["folds"])


def test_one_table_is_rotated_in_five_parts(rankwise, letor_file):
    run = rankwise("compare", letor_file, "--cv", "letor", "--rankers", "ridge", "--json")
    assert [len(fold["qids"]) for fold in run.json["folds"]] == [2, 3, 3, 2, 2]


def test_a_folder_of_folds(rankwise, part_files, tmp_path):
    for number in (1, 2):
        folder = tmp_path / "MQ" / f"Fold{number}"
        folder.mkdir(parents=True)
        for part, source in zip(("train", "vali", "test"), part_files[number - 1 :], strict=False):
            shutil.copy(source, folder / f"{part}.txt")
    run = rankwise("compare", tmp_path / "MQ", "--rankers", "ridge", "--json")
    assert run.code == 0, run.err
    assert [fold["name"] for fold in run.json["folds"]] == ["fold1", "fold2"]
    assert run.json["folds"][1]["qids"] == read_letor(part_files[3]).groups.ids.tolist()
    (tmp_path / "MQ" / "Fold2" / "vali.txt").unlink()
    run = rankwise("compare", tmp_path / "MQ", "--rankers", "ridge")
    assert run.code == 2
    assert run.err.endswith("Fold2 has no vali.txt (nor .csv, .tsv or .parquet).\n")


def test_own_validation_and_test_files_of_other_widths(rankwise, part_files, tmp_path):
    wide = judged_data(9, n_queries=4, first_query=900, n_features=6)
    write_letor(wide, tmp_path / "wide.txt")
    train, vali = part_files[:2]
    run = rankwise(
        "compare", train, "--vali-data", vali, "--test-data", tmp_path / "wide.txt",
        "--rankers", "ridge", "--json",
    )  # fmt: skip
    assert run.code == 0, run.err
    (fold,) = run.json["folds"]
    assert fold["n_features"] == 6
    assert fold["has_validation"]
    assert fold["qids"] == wide.groups.ids.tolist()


def test_csv_files_are_one_table(rankwise, part_files, tmp_path):
    tables = [tmp_path / f"{path.stem}.csv" for path in part_files]
    for path, table in zip(part_files, tables, strict=True):
        assert rankwise("convert", path, "--out", table).code == 0
    arguments = ("--rankers", "ridge", "--cv", 3, "--json")
    from_text = rankwise("compare", *part_files, *arguments).json
    from_csv = rankwise("compare", *tables, *arguments).json
    assert [f["fingerprint"] for f in from_csv["folds"]] == [
        f["fingerprint"] for f in from_text["folds"]
    ]


def table_with_missing(folder, **columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"query": np.arange(240) // 8, "grade": np.tile(np.arange(8) // 3, 30)})
    frame["clicks"] = frame.grade + rng.random(240)
    frame["price"] = np.where(rng.random(240) < 0.3, np.nan, rng.random(240))
    frame.assign(**columns).to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


FILLED = "missing values are filled with the medians of the training rows"


def test_rankers_of_numbers_fill_missing_values(rankwise, tmp_path):
    path = table_with_missing(tmp_path)
    run = rankwise("compare", path, "--cv", 2, "--wide")
    assert run.code == 0, run.err
    assert all(key in run.out for key in DEFAULT)
    (note,) = [line for line in run.out.splitlines() if FILLED in line]
    assert "rank_svm" in note and "lambdamart" not in note
    model, scores = tmp_path / "m.rankwise", tmp_path / "s.csv"
    assert f"note: {FILLED}" in rankwise("cv", path, "--ranker", "ridge", "--cv", 2).out
    fitted = rankwise("fit", path, "--ranker", "ridge", "--out", model)
    assert fitted.code == 0 and f"note: {FILLED}" in fitted.out, fitted.err
    frame = pd.read_csv(path)
    frame.loc[:2, "clicks"] = np.nan
    frame.to_csv(path, index=False)
    scored = rankwise("predict", model, path, "--out", scores)
    assert scored.code == 0, scored.err
    n_missing = int(frame[["clicks", "price"]].isna().sum().sum())
    filled = f"note: {n_missing} missing values are filled by the model's imputer (median), in "
    assert filled in scored.err
    assert "in clicks, price; the training rows had none in clicks" in scored.err
    assert np.isfinite(pd.read_csv(scores)["score"]).all()


def test_failures_of_one_kind_are_one_line(rankwise, tmp_path):
    path = table_with_missing(tmp_path, price=np.inf)
    words = ("--rankers", "column:clicks,ridge,linear_regression", "--report", tmp_path / "r.html")
    run = rankwise("compare", path, "--cv", 2, *words)
    assert run.code == 1
    told = "failed: linear_regression, ridge (fold1, fold2): "
    assert told in run.out and run.out.count("contains infinity") == 1
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<dt>linear_regression, ridge, failed</dt>" in page


def test_missing_categories_do_not(rankwise, tmp_path):
    brand = np.resize(["a", "b", None], 240)
    path = table_with_missing(tmp_path, brand=brand, price=np.linspace(0, 1, 240))
    run = rankwise("compare", path, "--cv", 2)
    assert run.code == 0, run.err
    assert "rank_svm" in run.out and FILLED not in run.out


def test_a_failed_ranker_is_exit_code_one_and_the_rest_is_shown(rankwise, tmp_path, monkeypatch):
    failing = Entry("tests.selection.helpers:Moody", kind="ranker", summary="")
    monkeypatch.setitem(RANKING, "ridge", failing)
    data = judged_data(0)
    write_letor(data, tmp_path / "judged.txt")
    run = rankwise("compare", tmp_path / "judged.txt", "--rankers", FAST, "--cv", 3)
    assert run.code == 1
    said = "error: 3 of 6 cells failed (ridge): RuntimeError: no luck today"
    assert run.err.splitlines()[-1] == said
    assert "1  linear_regression" in run.out
    assert "failed: ridge" in run.out


def test_cv_shows_every_fold(rankwise, letor_file):
    run = rankwise("cv", letor_file, "--ranker", "ridge", "--set", "alpha=2.5", "--cv", 4)
    assert run.code == 0, run.err
    board = compare({"ridge": RidgeRanker(alpha=2.5)}, read_letor(letor_file), cv=4)
    lines = [line.split() for line in run.out.splitlines() if line.startswith(("fold", "mean"))]
    row = board.rows()[0]
    assert lines[0][:4] == ["fold", "queries", "nDCG@10", "AP"]
    assert [line[2] for line in lines[1:-1]] == [f"{mean:.4f}" for mean in row["folds"]]
    assert lines[-1][2] == f"{row['mean']:.4f}"
    as_json = rankwise(
        "cv", letor_file, "--ranker", "ridge", "--set", "alpha=2.5", "--cv", 4, "--json"
    ).json
    assert as_json["rankers"] == board.descriptions
    assert as_json["rows"][0]["mean"] == row["mean"]


def test_cv_with_settings_is_cv_of_the_key_with_parameters(rankwise, letor_file, monkeypatch):
    in_this_process = partial(compare, isolate=False)
    monkeypatch.setattr("rankwise.selection.compare", in_this_process)

    def values(*words):  # validation rows would cut the trees of an estimator
        run = rankwise("cv", letor_file, "--ranker", *words, "--cv", 3, "--json")
        assert run.code == 0, run.err
        return [(cell["values"], cell["chosen"]) for cell in run.json["cells"]]

    found = values("mc_rank", "--set", "n_estimators=3")
    assert found == values("mc_rank(n_estimators=3)")
    cut = in_this_process({"cut": McRank(n_estimators=3)}, read_letor(letor_file), cv=3)
    assert not any(chosen for _, chosen in found) and any(cell.chosen for cell in cut.cells)
    for word in ("svr()", "svr"):
        assert add_settings(word, ["C=2", "kernel=rbf"]) == "svr(C=2,kernel=rbf)"
    assert add_settings("svr( a='b,c' )", ["C=2"]) == "svr(a='b,c',C=2)"
    assert add_settings("svr(C=1)", None) == "svr(C=1)"


def test_cv_tunes_without_settings(rankwise, letor_file):
    run = rankwise("cv", letor_file, "--ranker", "ridge", "--cv", 3, "--json")
    assert all("alpha" in cell["chosen"] for cell in run.json["cells"])
    np.testing.assert_array_equal([len(cell["search"]) for cell in run.json["cells"]], 26)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--rankers", "rigde"), "'rigde' is not a ranker. Did you mean 'ridge'?"),
        (("--rankers", "random_nodes"), "'random_nodes' is not a ranker."),
        (
            ("--rankers", "binary_relevance"),
            "'binary_relevance' predicts labels and is not a ranker. Use BinaryRelevance of "
            "rankwise.labels from Python",
        ),
        (("--rankers", ","), "--rankers must name at least one ranker."),
        (
            ("--rankers", "ridge,ridge"),
            "--rankers names ridge twice: ridge,ridge. Rename one: NAME=ENTRY.",
        ),
        (("--measures", "nDGC@10"), "unknown measure 'nDGC'. Did you mean 'nDCG'?"),
        (("--measures", ""), "--measures must name at least one measure."),
        (("--measures", "AP", "--preset", "letor9"), "unknown preset 'letor9'."),
        (("--select-by", "P(rel=x"), "a measure must be Name(key=value,...)@k, got 'P(rel=x'"),
        (("--cv", "1"), "--cv must be a whole number of at least 2, 'auto' or 'letor', got '1'."),
        (
            ("--cv", "many"),
            "--cv must be a whole number of at least 2, 'auto' or 'letor', got 'many'.",
        ),
        (("--vali-data", "judged.txt"), "--vali-data needs --test-data"),
        (("--test-data", "judged.txt", "--cv", "3"), "--test-data defines a single fold."),
        (("--n-jobs", "two"), "Invalid value for '--n-jobs'"),
        (("--report", "."), "--report must name a file"),
    ],
)
def test_wrong_options_are_exit_code_two(rankwise, letor_file, arguments, message):
    run = rankwise("compare", letor_file, *arguments)
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith(f"error: {message}")
    assert run.err.count("\n") == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (("lambdrank",), "'lambdrank' is neither a file nor a data set. Did you mean 'lambda"),
        (("nowhere.txt",), "'nowhere.txt' is neither a file nor a data set. Data sets: ohsumed,"),
        (("lambdarank:9",), "lambdarank has a single fold, 1, got fold=9."),
        (("lambdarank:1:best",), "a data set must be NAME, NAME:FOLD"),
        (("lambdarank:1:all",), "fold 1 of lambdarank has no part 'all'."),
        (("ohsumed:train",), "part must be one of 'all' for ohsumed"),
        (("a.txt", "b.txt"), "'a.txt' is not a file."),
        (("lambdarank", "--cv", "3"), "--cv 3 splits one table, but lambdarank defines its own"),
    ],
)  # fmt: skip
def test_data_that_do_not_exist_are_exit_code_two(rankwise, data, message):
    run = rankwise("compare", *data, "--rankers", "ridge")
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith(f"error: {message}")
    assert run.err.count("\n") == 1


def test_a_folder_without_folds_and_mixed_files(rankwise, letor_file, tmp_path):
    (tmp_path / "empty").mkdir()
    run = rankwise("compare", tmp_path / "empty")
    assert run.code == 2
    assert "contains neither Fold1" in run.err
    (tmp_path / "t.csv").write_text("qid,label,a\n1,0,1\n")
    run = rankwise("compare", letor_file, tmp_path / "t.csv")
    assert run.code == 2
    assert "mixes LETOR text with CSV" in run.err
    run = rankwise("compare", letor_file, letor_file, "--cv", "letor")
    assert run.code == 2
    assert "at least three files" in run.err


def test_a_learning_curve_under_the_leaderboard(rankwise, letor_file, tmp_path):
    arguments = ("compare", letor_file, "--rankers", FAST, "--cv", 3, "--measures", "AP")
    page = tmp_path / "r.html"
    run = rankwise(*arguments, "--learning-curve", "2,4", "--report", page)
    assert run.code == 0, run.err
    curve = learning_curve(FAST.split(","), read_letor(letor_file), [2, 4], cv=3, measures=["AP"])
    assert str(curve) in run.out
    assert 'id="section-learning-curve"' in page.read_text("utf-8")
    run = rankwise(*arguments, "--learning-curve", "4,2", "--json")
    assert run.json["learning_curve"]["sizes"] == [2, 4]
    boards = [Leaderboard.from_dict(board) for board in run.json["learning_curve"]["boards"]]
    assert [board.rows()[0]["mean"] for board in boards] == pytest.approx(
        [board.rows()[0]["mean"] for board in curve.boards]
    )


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("2;5", "--learning-curve must be whole numbers from 1 to 6, the training queries of the"),
        ("2,5000", "--learning-curve must be whole numbers from 1 to "),
    ],
)
def test_sizes_of_a_learning_curve_that_cannot_be(rankwise, letor_file, sizes, message):
    run = rankwise("compare", letor_file, "--rankers", FAST, "--learning-curve", sizes)
    assert run.code == 2
    assert message in " ".join(run.err.split())
