"""Tables as people have them: columns named by options, text ignored, folders and patterns."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest

from rankwise import RankingData, RankRLS, RidgeRanker, compare, load, save
from rankwise._registry import join_names, read_names
from rankwise.datasets import read_letor

from .conftest import judged_data

NAMED = ("--label", "clicks", "--qid", "session", "--doc-id", "sku", "--sep", ";")


@pytest.fixture
def frame():
    """Judged rows in any order, among columns that are no features."""
    data = judged_data(0)
    frame = pd.DataFrame(data.X, columns=["bm25", "age", "price", "stock"])
    frame.insert(0, "title", [f"a hat {i}" for i in range(len(frame))])
    frame["clicks"], frame["sku"] = data.y, data.doc_ids
    frame["session"] = [f"s{q}" for q in data.qid]
    frame.loc[3, "price"] = np.nan
    return frame.sample(frac=1.0, random_state=0)


@pytest.fixture
def odd_file(frame, tmp_path):
    """The rows with semicolons and a suffix that says nothing."""
    path = tmp_path / "log.txt"
    frame.fillna(0.5).to_csv(path, sep=";", index=False)
    return path


COMMANDS = [
    ("compare", "DATA", "--rankers", "ridge"),
    ("cv", "DATA", "--ranker", "ridge", "--cv", "3"),
    ("fit", "DATA", "--ranker", "ridge", "--out", "OUT/m"),
    ("predict", "OUT/m", "DATA"),
    ("evaluate", "OUT/scores", "DATA"),
    ("convert", "DATA", "--out", "OUT/t.parquet"),
    ("lint", "DATA"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_command_takes_the_same_words(rankwise, odd_file, tmp_path, command):
    def run(words):
        given = [{"DATA": odd_file}.get(word, word.replace("OUT", str(tmp_path))) for word in words]
        return rankwise(*given, *NAMED, "--features", "age,bm25", "--json")

    if command[0] == "predict":
        assert run(COMMANDS[2]).code == 0
    if command[0] == "evaluate":
        (tmp_path / "scores").write_text("".join(f"{i}\n" for i in range(96)))
    done = run(command)
    assert done.code == 0, done.err
    assert "title" not in done.err  # features are named


@pytest.mark.filterwarnings("always::rankwise.datasets.IgnoredColumnsWarning")
def test_text_is_ignored_with_a_note(rankwise, odd_file, tmp_path):
    done = rankwise("lint", odd_file, *NAMED)
    assert done.code == 0, done.err
    assert done.err == (
        "note: columns of text whose values hardly repeat are not used as features: 'title'. Name "
        "the columns to use them as categories: --features title,bm25,age,price,stock.\n"
    )


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_labels_that_are_text_are_told_as_labels(rankwise, tmp_path, suffix):
    frame = pd.DataFrame({"a": [0.1, 0.2, 0.3], "size": ["3", "low", "high"], "qid": [1, 1, 2]})
    path = tmp_path / f"sizes{suffix}"
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    done = rankwise("fit", path, "--label", "size", "--out", tmp_path / "m")
    assert done.code == 1
    found, line = ("has 'low'", ", line 3") if suffix == ".csv" else ("holds text", "")
    assert done.err == (
        f"error: {path}{line}: label must hold numbers, column 'size' {found}. Write the grades as "
        "numbers in rank order, such as 0 for the lowest, or name a column of numbers: "
        "--label NAME.\n"
    )


def test_messages_name_options(rankwise, odd_file, letor_file, tmp_path):
    for words, message in (
        ((odd_file, *NAMED[2:]), "label needs a column, .* Pass --label NAME."),
        ((odd_file, "--label", "grade", *NAMED[2:]), "--label 'grade' is not a column; there are"),
        ((odd_file, *NAMED, "--features", "age,x"), "features must be columns, but 'x' is not"),
        ((odd_file, *NAMED[:-1], ";;"), "sep must be one ASCII character, got ';;'"),
        ((odd_file, *NAMED[:-1], "|"), "Pass the column separator: --sep ';'"),
        ((letor_file, *NAMED[:2]), "LETOR text, whose columns have no names. Drop --label"),
        (
            ("lambdarank", *NAMED[:4]),
            "'lambdarank' is not a file, and --label, --qid apply only to tables in",
        ),
    ):
        done = rankwise("lint", *words)
        assert done.code in (1, 2)
        assert pd.Series([done.err]).str.contains(message).all(), done.err
        assert "…'" not in done.err


def test_parquet_folders_and_patterns_wherever_a_file_goes(rankwise, frame, tmp_path):
    frame = frame.drop(columns="title").rename(columns={"clicks": "label", "session": "qid"})
    frame = frame.rename(columns={"sku": "doc_id"}).fillna(0.5)
    parts = {"train": range(1, 7), "vali": range(7, 10), "test": range(10, 13)}
    for part, queries in parts.items():
        (tmp_path / part).mkdir()
        rows = frame[frame.qid.isin([f"s{q}" for q in queries])]
        for i in range(2):
            rows[i::2].to_parquet(tmp_path / part / f"part-{i}.parquet")
    pattern = tmp_path / "test" / "part-*.parquet"
    done = rankwise(
        "compare", tmp_path / "train", "--vali-data", tmp_path / "vali", "--test-data", pattern,
        "--rankers", "ridge", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert sorted(done.json["folds"][0]["qids"]) == ["s10", "s11", "s12"]
    done = rankwise("convert", tmp_path / "train", "--out", tmp_path / "one.csv.gz", "--json")
    assert (done.json["rows"], done.json["queries"]) == (48, 6)
    with gzip.open(tmp_path / "one.csv.gz") as file:
        assert len(pd.read_csv(file)) == 48


@pytest.mark.filterwarnings("always::rankwise.datasets.IgnoredColumnsWarning")
def test_folders_of_folds_may_hold_tables(rankwise, frame, tmp_path):
    frame = frame.fillna(0.5)
    for number in (1, 2):
        for part, first in (("train", 1), ("vali", 5), ("test", 9)):
            (tmp_path / "sets" / f"Fold{number}").mkdir(parents=True, exist_ok=True)
            rows = frame[frame.session.isin([f"s{first + i}" for i in range(4)])]
            rows.to_csv(tmp_path / "sets" / f"Fold{number}" / f"{part}.csv", index=False)
    done = rankwise("compare", tmp_path / "sets", "--rankers", "ridge", *NAMED[:6], "--json")
    assert done.code == 0, done.err
    assert [fold["name"] for fold in done.json["folds"]] == ["fold1", "fold2"]


def test_lint_counts_features_as_the_file_does(rankwise, tmp_path):
    path = tmp_path / "a.txt"
    for first, told in ((1, "feature 2"), (0, "column 1")):
        lines = [
            f"{i % 2} qid:{i // 2} {first}:{i} {first + 1}:7 {first + 2}:-{i}" for i in range(4)
        ]
        path.write_text("\n".join(lines) + "\n")
        constant = [
            rankwise("lint", path, "--json").json["rows"]
            for _ in range(2)  # the second from cache
        ]
        assert constant[0] == constant[1]
        assert [row["examples"] for row in constant[0] if row["what"] == "constant features"] == [
            [told]
        ]


def test_letor_patterns(rankwise, part_files):
    done = rankwise("convert", part_files[0].parent / "S*.txt", "--out", "/dev/null", "--to", "csv",
                    "--json")  # fmt: skip
    assert done.json["rows"] == sum(read_letor(path).n_samples for path in part_files)


def test_letors_rotation_of_the_files_of_a_pattern(rankwise, part_files):
    words = ("--cv", "letor", "--rankers", "ridge", "--json")
    named = rankwise("compare", *part_files, *words)
    by_pattern = rankwise("compare", part_files[0].parent / "S*.txt", *words)
    assert by_pattern.code == 0, by_pattern.err
    assert by_pattern.json["folds"] == named.json["folds"]


def test_a_named_column_holds_weights(rankwise, frame, tmp_path):
    frame = frame.drop(columns="title").fillna(0.5).assign(views=1 + np.arange(len(frame)) % 3)
    frame.to_csv(tmp_path / "log.csv", index=False)
    words = ("--label", "clicks", "--qid", "session", "--features", "age,bm25")
    words += ("--sample-weight", "views")
    fit = ("fit", tmp_path / "log.csv", "--ranker", "ridge", "--set", "alpha=1")
    fit += ("--out", tmp_path / "m", *words)
    assert rankwise(*fit).code == 0
    rows = {"qid": frame["session"].to_numpy(), "sample_weight": frame["views"].to_numpy()}
    X = frame[["age", "bm25"]].to_numpy(np.float32)
    expected = RidgeRanker(1.0).fit(X, frame["clicks"], **rows)
    np.testing.assert_allclose(load(tmp_path / "m").coef_, expected.coef_, rtol=1e-6)
    done = rankwise("predict", tmp_path / "m", tmp_path / "log.csv", *words)
    np.testing.assert_allclose(np.loadtxt(done.out.splitlines()), expected.predict(X), rtol=1e-5)
    wrong = rankwise(*fit[:-1], "view")
    assert wrong.code == 1 and "--sample-weight 'view' is not a column" in wrong.err


def test_python_has_the_same_words(frame):
    frame = frame.drop(columns="title").fillna(0.5)
    words = {"label": "clicks", "qid": "session", "doc_id": "sku", "features": ["bm25", "age"]}
    board = compare(["ridge"], frame, measures=["AP"], isolate=False, **words)
    data = RankingData.from_frame(frame, **words)
    expected = compare(["ridge"], data, measures=["AP"], isolate=False)
    assert board.rows()[0]["mean"] == expected.rows()[0]["mean"]
    with pytest.raises(TypeError, match="label and qid name columns of a frame, but data is a R"):
        compare(["ridge"], data, label="clicks", qid="session")


def test_a_model_scores_a_day_without_values(tmp_path, rankwise):
    frame = pd.DataFrame({"qid": [1, 1, 2], "x": [1.0, 2.0, 3.0]})
    save(RankRLS().fit(frame[["x"]], [0, 1, 2], qid=0), tmp_path / "m")
    frame.assign(x=pd.Series([None] * 3, dtype=object)).to_parquet(tmp_path / "day.parquet")
    done = rankwise("predict", tmp_path / "m", tmp_path / "day.parquet")
    assert done.code == 1 and "day.parquet, row 0: Input X contains NaN, column 0" in done.err


@pytest.mark.parametrize("command", ["lint", "convert", "fit"])
def test_a_table_without_rows_is_refused(rankwise, tmp_path, command):
    (tmp_path / "t.csv").write_text("label,qid,a\n")
    more = () if command == "lint" else ("--out", tmp_path / "out.csv")
    run = rankwise(command, tmp_path / "t.csv", *more)
    assert run.code == 1 and "t.csv has a header, but no rows" in run.err


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_without_labels_and_queries_is_one_error(rankwise, frame, tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    getattr(frame, f"to_{suffix}")(path, index=False)
    run = rankwise("lint", path)
    assert run.code == 1 and "label and qid need columns" in run.err, run.err
    assert "--label" in run.err and "--qid" in run.err and "--one-query" in run.err, run.err
    assert "qid needs a column" in rankwise("lint", path, "--label", "clicks").err


@pytest.mark.parametrize("name", ["seller_id", "seller id", "sellerId", "shop-ID"])
@pytest.mark.filterwarnings("always::rankwise.datasets.IgnoredColumnsWarning")
def test_lint_lists_features_and_those_with_names_of_ids(rankwise, frame, tmp_path, name):
    frame[name] = [1000 + 7 * (i % 9) for i in range(len(frame))]
    frame["paid"] = [i % 2 for i in range(len(frame))]
    frame.drop(columns="title").fillna(0.5).to_csv(tmp_path / "t.csv", index=False)
    words = ("--label", "clicks", "--qid", "session", "--doc-id", "sku")
    run = rankwise("lint", tmp_path / "t.csv", *words, "--json")
    assert run.code == 0, run.err
    found = run.json
    assert found["features"] == ["bm25", "age", "price", "stock", name, "paid"]
    (row,) = (row for row in found["rows"] if row["what"] == "features with names of ids")
    assert row["examples"] == [repr(name)]
    text = rankwise("lint", tmp_path / "t.csv", *words).out
    assert f"features: bm25, age, price, stock, {name}, paid" in text
    out = ("--ranker", "ridge()", "--out", tmp_path / "model.rw")
    run = rankwise("fit", tmp_path / "t.csv", *words, *out)
    assert "names of ids, whose order means nothing, and are used as features" in run.err
    run = rankwise("fit", tmp_path / "t.csv", *words, *out, "--ignore", name)
    assert run.code == 0 and "names of ids" not in run.err


ODD = [
    "distance, km",
    "guest\nrating",
    'the "best"',
    "guest's",
    "a (b, c)",
    "d) e",
    "C:\\new",
    "né",
]


@pytest.mark.parametrize("names", [*([name] for name in ODD), ODD, ODD[::-1]], ids=repr)
def test_lists_of_any_names_are_written_and_read(names):
    assert read_names(join_names(names)) == names
    assert read_names('"a\n""b"" ",c') == ['a\n"b" ', "c"]  # as in a CSV file


def test_names_with_commas_and_line_breaks_are_chosen(rankwise, frame, tmp_path):
    frame = frame.drop(columns="title").rename(
        columns={"bm25": "distance, km", "age": "guest\nrating"}
    )
    frame.fillna(0.5).to_csv(tmp_path / "t.csv", index=False)
    words = (tmp_path / "t.csv", "--label", "clicks", "--qid", "session", "--doc-id", "sku")
    listed = '"distance, km",stock,"guest\\nrating"'
    done = rankwise("lint", *words, "--features", listed, "--json")
    assert done.code in (0, 1), done.err
    report = done.json
    assert report["features"] == ["distance, km", "stock", "guest\nrating"]
    report = rankwise("lint", *words, "--ignore", listed, "--json").json
    assert report["features"] == ["price"]
    done = rankwise("lint", *words, "--features", "stock,distance, km")
    assert done.code == 1
    assert done.err.endswith("""Pass --features '"distance, km"'.\n""")
    model = tmp_path / "m"
    fitted = rankwise("fit", *words, "--features", listed, "--ranker", "ridge", "--out", model)
    assert fitted.code == 0, fitted.err
    done = rankwise("export", model, tmp_path / "f.json", "--format", "solr", "--features",
                    'a,"b,c",d')  # fmt: skip
    assert done.code == 0, done.err
