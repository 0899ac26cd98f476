"""Columns that are no features, by --ignore or by what they hold, on the command line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rankwise import load

pytestmark = pytest.mark.filterwarnings("always::rankwise.datasets.IgnoredColumnsWarning")
RNG = np.random.default_rng(3)
N = 240
FRAME = pd.DataFrame({
    "qid": np.arange(N) // 8,
    "label": RNG.integers(0, 3, N),
    "BM25": RNG.random(N).round(4),
    "price": RNG.integers(1, 60, N),
    "brand": RNG.choice(["acme", "foo", "bar"], N),
    "listed": RNG.choice(["28.01.2024", "01.02.2024"], N),
    "id": RNG.permutation(N) * 3,
})  # fmt: skip
NOTES = ["names of ids are not used as features: 'id'", "listed (dates, such as '"]
TREES = "lambdamart(n_estimators=3)"


@pytest.fixture(params=[".csv", ".parquet"])
def table(request, tmp_path):
    path = tmp_path / f"t{request.param}"
    FRAME.to_csv(path, index=False) if request.param == ".csv" else FRAME.to_parquet(path)
    return path


@pytest.mark.parametrize(
    "words",
    [
        "compare {table} --rankers ridge --cv 2",
        "compare {table} --rankers ridge,column:price --cv 2",
        "cv {table} --ranker ridge --cv 2",
        "fit {table} --ranker ridge --out {table}.model",
    ],
)
def test_a_ranker_needs_a_feature(rankwise, tmp_path, words):
    table = tmp_path / "t.csv"
    FRAME.drop(columns="id").to_csv(table, index=False)
    done = rankwise(*words.format(table=table).split(), "--ignore", "BM25,price,brand,listed")
    assert done.code in (1, 2) and not done.out
    said = "has no features" if words.startswith("fit") else "must have a feature to fit ridge on"
    assert f"t.csv {said}" in done.err
    words = "compare {table} --rankers column:price,column:BM25 --cv 2 --ignore BM25,price"
    assert rankwise(*words.format(table=table).split()).code == 0


@pytest.mark.parametrize(
    "words",
    [
        "fit {table} --ranker ridge --out {table}.model",
        "fit {table} --ranker lambdamart --set n_estimators=3 --out {table}.model",
        "cv {table} --ranker ridge --cv 2",
        "compare {table} --rankers ridge --cv 2",
        "lint {table}",
        "convert {table} --out {table}.svm",
    ],
)
def test_every_command_says_once_what_it_leaves_out(rankwise, table, words):
    done = rankwise(*words.format(table=table).split())
    assert done.code == 0, done.err
    for note in NOTES:
        assert done.err.count(note) == 1


@pytest.mark.parametrize("word", ["--baseline", "--rankers"])
def test_a_compared_column_stays_a_feature_unless_it_is_ignored(rankwise, table, tmp_path, word):
    words = ["compare", table, "--cv", "2", "--measures", "nDCG@10"]
    rankers = ("--rankers", TREES, "--baseline", "column:BM25")
    words += rankers if word == "--baseline" else ("--rankers", f"{TREES},column:BM25")
    page = tmp_path / "r.html"
    done = rankwise(*words, "--report", page)
    assert done.code == 0, done.err
    line = "Column BM25 is also a feature of the other rankers; leave it out with --ignore BM25."
    listed = "Columns that are not features: id (ids), listed (dates, such as '"
    assert line in done.out and line in page.read_text("utf-8")
    assert listed in done.out
    board = rankwise(*words, "--json").json
    assert board["settings"]["shared"] == ["BM25"]
    assert {*board["settings"]["left_out"]} == {"id", "listed"}
    assert board["folds"][0]["n_features"] == 3

    done = rankwise(*words, "--ignore", "BM25,price", "--report", page)
    listed = "Columns that are not features: BM25 (ignored), price (ignored), id (ids), listed"
    assert "also a feature" not in done.out
    assert listed in done.out and listed in page.read_text("utf-8")
    board = rankwise(*words, "--ignore", "BM25,price", "--json").json
    assert board["settings"]["shared"] == []
    assert board["folds"][0]["n_features"] == 1


def test_a_model_file_lists_them(rankwise, table, tmp_path):
    model = tmp_path / "m"
    words = ("fit", table, "--ranker", "lambdamart", "--set", "n_estimators=3", "--out", model)
    done = rankwise(*words, "--ignore", "price", "--json")
    assert done.code == 0, done.err
    assert {*done.json["left_out"]} == {"id", "listed", "price"}
    assert load(model).feature_names_in_.tolist() == ["BM25", "brand"]
    assert "price (ignored), id (ids), listed (dates" in rankwise("info", model).out
    assert {*rankwise("info", model, "--json").json["rows"]["left_out"]} == {*done.json["left_out"]}
    done = rankwise("predict", model, table)
    assert (done.code, done.err) == (0, "")
    done = rankwise("cv", table, "--ranker", "ridge", "--ignore", "price", "--cv", "2", "--json")
    assert done.json["settings"]["left_out"]["price"] == "ignored"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--ignore", "BM2"), "ignore must be columns, but 'BM2' is not; there are"),
        (("--ignore", "BM2"), "Did you mean 'BM25'?"),
        (("--ignore", "label"), "'label' is to be ignored, but it is that of label. Drop it from"),
        (("--ignore", "qid"), "'qid' is to be ignored, but it is that of qid"),
        (("--ignore", "BM25", "--features", "BM25"), "'BM25' is to be ignored and to be a feature"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "cv", "compare"])
def test_what_cannot_be_ignored(rankwise, table, tmp_path, command, words, said):
    more = {"fit": ("--out", tmp_path / "m"), "cv": ("--cv", "2"), "compare": ("--cv", "2")}
    ranker = "--rankers" if command == "compare" else "--ranker"
    done = rankwise(command, table, ranker, "ridge", *more[command], *words)
    assert done.code != 0
    assert said in " ".join(done.err.split())


@pytest.mark.parametrize("base", [0, 1])
def test_columns_of_letor_text_are_ignored_by_number(rankwise, tmp_path, base):
    path = tmp_path / "t.txt"
    lines = [
        f"{y} qid:{q} {base}:{x} {base + 1}:{p} {base + 2}:1"
        for q, y, x, p in zip(FRAME.qid, FRAME.label, FRAME.BM25, FRAME.price, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    words = ("compare", path, "--rankers", f"ridge,column:{base}", "--cv", "2", "--json")
    board = rankwise(*words).json
    assert (board["settings"]["shared"], board["folds"][0]["n_features"]) == (["1"], 3)
    ignored = rankwise(*words, "--ignore", f"{base},{base + 2}").json
    assert ignored["settings"]["left_out"] == {"1": "ignored", "3": "ignored"}
    assert (ignored["settings"]["shared"], ignored["folds"][0]["n_features"]) == ([], 1)
    means = [{row["ranker"]: row["mean"] for row in b["rows"]} for b in (board, ignored)]
    assert means[0][str(base)] == means[1][str(base)]
    assert means[0]["ridge"] != means[1]["ridge"]
    done = rankwise("cv", path, "--ranker", "ridge", "--ignore", "9", "--cv", "2")
    assert "--ignore 9 must " in done.err
    assert rankwise("lint", path, "--ignore", str(base + 2)).code == 0
    for refused in (("fit", path, "--out", tmp_path / "m"), ("convert", path, "--out", "x.csv")):
        done = rankwise(*refused, "--ignore", str(base))
        assert done.code == 2
        assert "--ignore leaves columns out by name, but those of t have none" in done.err


def test_folds_without_a_column(rankwise, tmp_path):
    for number in (1, 2):
        folder = tmp_path / f"Fold{number}"
        folder.mkdir()
        for part in ("train", "vali", "test"):
            FRAME.to_csv(folder / f"{part}.csv", index=False)
    words = ("compare", tmp_path, "--rankers", "ridge,column:BM25", "--ignore", "BM25", "--json")
    done = rankwise(*words)
    assert done.code == 0, done.err
    assert done.json["folds"][1]["n_features"] == 1
    assert done.json["settings"]["left_out"]["BM25"] == "ignored"


def many_shops(folder):
    """Tables of 400 and of 200 shops, as paths."""
    frames = [FRAME.iloc[np.arange(1200) % N].reset_index(drop=True) for _ in range(2)]
    for frame, n_shops in zip(frames, (400, 200), strict=True):
        frame["shop"] = [f"shop {i % n_shops}" for i in range(len(frame))]
        frame["qid"] = np.arange(len(frame)) // 10
        kept = frame.drop(columns=["listed", "id", "brand"])
        kept.to_csv(folder / f"{n_shops}.csv", index=False)
    return folder / "400.csv", folder / "200.csv"


@pytest.mark.parametrize("encoding", ["auto", "ordered"])
def test_any_number_of_categories(encoding, rankwise, tmp_path):
    """From fit to an export that is verified, with a shop that the model does not know."""
    pytest.importorskip("lightgbm")
    train, vali = many_shops(tmp_path)
    trees = f"lambdamart(n_estimators=3,categorical_encoding={encoding})"
    words = ("--ranker", "lambdamart", "--set", "n_estimators=3")
    words += ("--set", f"categorical_encoding={encoding}", "--out", tmp_path / "m")
    done = rankwise("fit", train, "--vali-data", vali, *words)
    assert done.code == 0, done.err
    assert "shop" not in done.err
    assert done.out.count("exports to: onnx, python, lightgbm, xgboost\n") == 1
    model = load(tmp_path / "m")
    assert model.feature_names_in_.tolist() == ["BM25", "price", "shop"]
    assert len(model.columns_.statistics[2]) == 400
    new = pd.read_csv(vali)
    new.loc[::5, "shop"], new.loc[1::5, "shop"] = "a new shop", None
    new.to_csv(tmp_path / "new.csv", index=False)
    words = ("--format", "lightgbm", "--verify", tmp_path / "new.csv")
    done = rankwise("export", tmp_path / "m", tmp_path / "m.txt", *words)
    assert done.code == 0 and "the file ranks as the model" in done.out, done.err
    done = rankwise("export", tmp_path / "m", tmp_path / "m.json", "--format", "solr")
    assert done.code == 1 and "column 'shop' has categories in whose place" in done.err
    done = rankwise("compare", train, "--test-data", vali, "--rankers", trees, "--json")
    assert done.code == 0, done.err
    assert not any("shop" in note for row in done.json["rows"] for note in row["notes"])


def test_many_categories(rankwise, tmp_path):
    train, vali = many_shops(tmp_path)
    trees = "lambdamart(n_estimators=3,categorical_encoding=subset)"
    said = "LambdaMART takes at most 255 categories in a column, and leaves out 'shop' (400 categ"
    words = ("--ranker", trees, "--out", tmp_path / "m")
    done = rankwise("fit", train, "--vali-data", vali, *words)
    assert done.code == 0, done.err
    assert done.err.count(said) == 1
    assert load(tmp_path / "m").feature_names_in_.tolist() == ["BM25", "price"]
    assert rankwise("predict", tmp_path / "m", vali).code == 0
    words = ("--rankers", f"{trees},ranking_forest(n_estimators=3)")
    done = rankwise("compare", train, "--test-data", vali, *words, "--json")
    assert done.code == 0, done.err
    notes = {row["ranker"]: row["notes"] for row in done.json["rows"]}
    assert any(note.startswith(said) for note in notes[trees])
    assert not any("shop" in note for note in notes["ranking_forest(n_estimators=3)"])


@pytest.mark.filterwarnings("always:the model knows no category")
def test_predict_says_if_it_knows_no_category_of_a_column(rankwise, tmp_path, monkeypatch):
    import rankwise.cli._scoring as scoring

    FRAME.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m"
    words = ("--ranker", "lambdamart", "--set", "n_estimators=3", "--out", model)
    assert rankwise("fit", tmp_path / "t.csv", *words).code == 0
    other = FRAME.assign(brand="ACME")
    other.to_csv(tmp_path / "new.csv", index=False)
    other.to_parquet(tmp_path / "new.parquet")
    said = "warning: the model knows no category of these columns: 'brand' holds 'ACME' and the"
    for name in ("new.csv", "new.parquet"):
        done = rankwise("predict", model, tmp_path / name)
        assert done.code == 0, done.err
        assert done.err.count(said) == 1
    done = rankwise("evaluate", model, tmp_path / "new.csv")
    assert done.err.count(said) == 1
    # One known category in the last of many chunks is enough.
    other.loc[N - 1, "brand"] = "acme"
    other.to_parquet(tmp_path / "new.parquet")
    monkeypatch.setattr(scoring, "CHUNK_ROWS", 10)
    done = rankwise("predict", model, tmp_path / "new.parquet")
    said = f"note: 'brand' holds categories that training lacked in {N - 1} rows: 'ACME'\n"
    assert (done.code, done.err) == (0, said)


def test_text_is_not_to_be_named_for_a_ranker_of_numbers(rankwise, tmp_path):
    path = tmp_path / "t.csv"
    FRAME[["qid", "label", "BM25", "brand"]].assign(size="30 cm").to_csv(path, index=False)
    done = rankwise("fit", path, "--ranker", "ridge", "--out", tmp_path / "m")
    assert "Encode them as numbers to use them, or leave them out: --ignore brand.\n" in done.err
    assert "marks for thousands.\n" in done.err
    done = rankwise(
        "fit", path, "--ranker", "ridge", "--out", tmp_path / "m", "--ignore", "brand,size"
    )
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("name", ["product_id", "item_id", "sku", "asin", "row_id", "uuid"])
def test_ids_of_documents_need_no_note(rankwise, tmp_path, name):
    """As docs/command_line.rst says of each of these names."""
    path = tmp_path / "t.csv"
    FRAME[["qid", "label", "BM25"]].assign(**{name: np.arange(N) % 50}).to_csv(path, index=False)
    done = rankwise("fit", path, "--ranker", "ridge", "--out", tmp_path / "m")
    assert done.code == 0 and " 1 features" in done.out
    assert ("names of ids" in done.err) == (name in ("row_id", "uuid"))


def test_a_feature_of_a_model_is_not_its_label(rankwise, tmp_path):
    path = tmp_path / "t.csv"
    frame = FRAME[["qid", "label", "BM25"]].rename(columns={"label": "grade"})
    frame.assign(rating=FRAME.price).to_csv(path, index=False)
    done = rankwise("fit", path, "--label", "grade", "--ranker", "ridge", "--out", tmp_path / "m")
    assert done.code == 0, done.err
    done = rankwise("evaluate", tmp_path / "m", path)
    assert done.code == 0, done.err
    named = rankwise("evaluate", tmp_path / "m", path, "--label", "grade")
    assert done.out == named.out
    done = rankwise("fit", path, "--ranker", "ridge", "--out", tmp_path / "m")
    assert "label could be any of the columns 'grade', 'rating'" in done.err


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("columns", [["BM25", "price"], ["BM25", "price", "brand"]])
def test_predict_tells_what_training_had_not(rankwise, tmp_path, suffix, columns):
    def write(frame, name):
        path = tmp_path / f"{name}{suffix}"
        frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
        return path

    frame = FRAME[["qid", "label", *columns]].astype({"price": float})
    frame.loc[3:8, "price"] = np.nan  # gaps that training knows
    words = ("--ranker", "lambdamart", "--set", "n_estimators=3", "--out", tmp_path / "m")
    assert rankwise("fit", write(frame, "t"), *words).code == 0
    done = rankwise("predict", tmp_path / "m", write(frame, "same"))
    assert (done.code, done.err) == (0, "")
    frame.loc[:4, "BM25"] = np.nan
    said = "note: 5 missing values in columns of which the training rows had none: BM25\n"
    if "brand" in columns:
        frame.loc[:1, "brand"] = ["plum", "pear"]
        frame.loc[5, "brand"] = "pear"
        said += "note: 'brand' holds categories that training lacked in 3 rows: 'pear', 'plum'\n"
    done = rankwise("predict", tmp_path / "m", write(frame, "new"))
    assert (done.code, done.err) == (0, said)
