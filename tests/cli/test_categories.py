"""Columns of text as categories, in every command that fits, scores or evaluates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from rankwise import LambdaMART, load, save
from rankwise.prediction import scores_of, text_columns_of

TREES = ("lambdamart", "lightgbm", "xgboost", "catboost", "ranking_forest")
FEW_TREES = {"lightgbm", "xgboost", "catboost", "lambdamart"}


def judged_frame(seed=0, n_queries=30, colours=("blue", "green", "red", "teal")):
    """Rows whose labels follow the colour; some cells are empty, titles never repeat."""
    rng = np.random.default_rng(seed)
    n = 8 * n_queries
    colour = rng.choice(np.array(colours), n)
    worth = {"green": 2, "teal": 1}
    y = [worth.get(name, 0) for name in colour]
    frame = pd.DataFrame({
        "label": y,
        "qid": np.repeat(np.arange(n_queries), 8),
        "bm25": rng.random(n).round(3),
        "colour": np.where(rng.random(n) < 0.05, None, colour),
        "code": rng.choice(["1", "x", "y"], n),
        "day": pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d"),
        "title": [f"hat number {seed} {i}" for i in range(n)],
    })  # fmt: skip
    return frame


def write(frame, path):
    if path.suffix == ".parquet":
        frame.assign(colour=frame.colour.astype("category")).to_parquet(path, index=False)
    else:
        frame.to_csv(path, sep="\t" if path.suffix == ".tsv" else ",", index=False)
    return path


@pytest.fixture(params=[".csv", ".tsv", ".parquet"])
def table(request, tmp_path):
    return write(judged_frame(), tmp_path / f"train{request.param}")


def words_for(ranker):
    set_ = ["--set", "n_estimators=10"] if ranker in FEW_TREES else []
    return ["--ranker", ranker, *set_]


@pytest.mark.parametrize("ranker", TREES)
@pytest.mark.filterwarnings("ignore::rankwise.datasets.IgnoredColumnsWarning")
def test_a_fit_knows_the_categories(rankwise, table, tmp_path, ranker):
    pytest.importorskip(ranker if ranker in FEW_TREES - {"lambdamart"} else "rankwise")
    model = tmp_path / "m.rankwise"
    done = rankwise("fit", table, *words_for(ranker), "--out", model)
    assert done.code == 0, done.err
    fitted = load(model)
    assert fitted.feature_names_in_.tolist() == ["bm25", "colour", "code"]
    assert fitted.columns_.nominal[1].tolist() == ["blue", "green", "red", "teal"]
    assert fitted.columns_.nominal[2].tolist() == ["1", "x", "y"]  # as written, not as numbers

    new = judged_frame(1, colours=("blue", "green", "red", "unheard of"))
    new["code"] = "1"  # a column that looks like numbers stays one of text
    path = write(new, tmp_path / f"new{table.suffix}")
    done = rankwise("predict", model, path, "--json")
    assert done.code == 0, done.err
    scores = np.array(done.json["scores"])
    X = new[["bm25", "colour", "code"]].copy()
    X["colour"] = X.colour.where(X.colour.notna(), None)
    X["bm25"] = X.bm25.astype(np.float32)
    np.testing.assert_allclose(scores, scores_of(fitted, X, new.qid.to_numpy()), rtol=1e-6)
    if ranker != "lightgbm":  # its rules for categories ask for more rows
        assert scores[new.colour == "green"].mean() > scores[new.colour == "blue"].max()


@pytest.mark.filterwarnings("ignore::rankwise.datasets.IgnoredColumnsWarning")
def test_a_blend_fits_and_scores_them(rankwise, table, tmp_path):
    model = tmp_path / "m.rankwise"
    words = ("--set", "n_trials=1", "--set", "time_budget=None")
    done = rankwise("fit", table, *words, "--out", model, "--json")
    assert done.code == 0, done.err
    done = rankwise("evaluate", model, table, "--measures", "nDCG@10", "--json")
    assert done.code == 0, done.err
    assert done.json["measures"]["nDCG@10"]["mean"] > 0.95


@pytest.mark.filterwarnings("default::rankwise.datasets.IgnoredColumnsWarning")
def test_dates_and_free_text_are_left_out_with_notes(rankwise, tmp_path):
    path = write(judged_frame(), tmp_path / "t.csv")
    done = rankwise("fit", path, *words_for("lambdamart"), "--out", tmp_path / "m")
    assert done.code == 0, done.err
    assert (
        "note: columns that hold no numbers are not used as features: day (dates, such as "
        "'2024-01-01'). Replace them by numbers"
    ) in done.err
    assert (
        "note: columns of text whose values hardly repeat are not used as features: 'title'. Name "
        "the columns to use them as categories: --features bm25,colour,code,title."
    ) in done.err


@pytest.mark.parametrize("command", ["cv", "compare"])
@pytest.mark.filterwarnings("ignore::rankwise.datasets.IgnoredColumnsWarning")
def test_comparisons_use_them(rankwise, table, command):
    rankers = ("--ranker", "lambdamart", "--set", "n_estimators=10")
    if command == "compare":
        rankers = ("--rankers", "lambdamart(n_estimators=10),ridge")
    done = rankwise(command, table, *rankers, "--cv", "2", "--json")
    assert done.code == 0, done.err
    rows = {row["ranker"].partition("(")[0]: row for row in done.json["rows"]}
    assert rows["lambdamart"]["mean"] > 0.95
    if command == "compare":  # a ranker of numbers alone takes part, without the text
        assert rows["ridge"]["mean"] < 0.9
        assert (
            "RidgeRanker takes columns of numbers, and leaves out those of text: 'colour', 'code'. "
            "Encode them as numbers to use them, or use LambdaMART, AutoRanker or a booster."
        ) in rows["ridge"]["notes"]


@pytest.mark.filterwarnings("ignore::rankwise.datasets.IgnoredColumnsWarning")
def test_parts_in_files_share_the_categories(rankwise, tmp_path):
    paths = [
        write(judged_frame(seed, 20, colours), tmp_path / f"{seed}.csv")
        for seed, colours in enumerate([("green", "red"), ("blue", "green"), ("teal", "red")])
    ]
    done = rankwise(
        "compare", paths[0], "--vali-data", paths[1], "--test-data", paths[2],
        "--rankers", "lambdamart", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    done = rankwise("compare", *paths, "--cv", "letor", "--rankers", "lambdamart", "--json")
    assert done.code == 0, done.err
    model = tmp_path / "m"
    done = rankwise(
        "fit", paths[0], "--vali-data", paths[1], *words_for("lambdamart"), "--out", model
    )
    assert done.code == 0, done.err
    assert load(model).columns_.nominal[1].tolist() == ["green", "red"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_folder_is_one_table(rankwise, tmp_path, suffix):
    (tmp_path / "all").mkdir()
    parts = [("green", "red"), ("blue", "teal")]
    for seed, colours in enumerate(parts):
        frame = judged_frame(seed, 20, colours).drop(columns=["day", "title"])
        frame["qid"] += 100 * seed
        write(frame, tmp_path / "all" / f"part-{seed}{suffix}")
    done = rankwise("fit", tmp_path / "all", *words_for("lambdamart"), "--out", tmp_path / "m")
    assert done.code == 0, done.err
    fitted = load(tmp_path / "m")
    assert fitted.columns_.nominal[1].tolist() == ["blue", "green", "red", "teal"]
    frames = [pd.read_csv if suffix == ".csv" else pd.read_parquet] * 2
    frame = pd.concat([
        read(tmp_path / "all" / f"part-{seed}{suffix}").astype({"colour": object})
        for seed, read in enumerate(frames)
    ])  # fmt: skip
    X = frame[["bm25", "colour", "code"]].astype({"bm25": np.float32})
    again = LambdaMART(fitted.n_estimators, random_state=0).fit(X, frame.label, qid=frame.qid)
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


@pytest.mark.filterwarnings("ignore::rankwise.datasets.IgnoredColumnsWarning")
def test_drift_of_categories(rankwise, tmp_path):
    model = tmp_path / "m"
    path = write(judged_frame(), tmp_path / "t.csv")
    assert rankwise("fit", path, *words_for("lambdamart"), "--out", model).code == 0
    done = rankwise("lint", path, "--against", model, "--json")
    assert done.code == 0, done.err
    moved = write(judged_frame(1, colours=("blue", "unheard of")), tmp_path / "new.csv")
    done = rankwise("lint", moved, "--against", model)
    assert done.code == 1
    assert "categories of colour that training had none of: unheard of" in done.out


@pytest.mark.filterwarnings("ignore::rankwise.datasets.IgnoredColumnsWarning")
def test_lint_reads_the_columns_that_compare_takes(rankwise, tmp_path):
    path = write(judged_frame(), tmp_path / "t.csv")
    done = rankwise("lint", path)
    assert "colour" not in done.err
    rest = rankwise("lint", path, "--ignore", "colour")
    assert _n_features(done.out) == _n_features(rest.out) + 1


def _n_features(text):
    return int(next(line for line in text.splitlines() if line.startswith("data")).split()[3])


@pytest.mark.filterwarnings("ignore::rankwise.datasets.IgnoredColumnsWarning")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("command", "ranker"),
    [("fit", "lambdamart"), ("cv", "lambdamart"), ("cv", "ridge"), ("compare", "lambdamart")],
)
def test_bad_values_beside_text_have_their_line(rankwise, tmp_path, command, ranker, suffix):
    frame = judged_frame().drop(columns=["day", "title"])
    frame["size"] = 1.0
    frame.loc[7, "size"] = np.inf
    path = write(frame, tmp_path / f"t{suffix}")
    more = {"fit": ("--out", tmp_path / "m"), "compare": ("--cv", "2"), "cv": ("--cv", "2")}
    named = (f"--ranker{'s' * (command == 'compare')}", ranker)
    done = rankwise(command, path, *named, *more[command])
    place = "row 7" if suffix == ".parquet" else "line 9"
    assert f"{path.name}, {place}: Input X contains infinity" in done.err
    assert "('size')" in done.err


@pytest.mark.filterwarnings("ignore::rankwise.datasets.IgnoredColumnsWarning")
def test_models_with_categories_warm_up(rankwise, tmp_path):
    path = write(judged_frame(), tmp_path / "t.csv")
    done = rankwise("fit", path, *words_for("lambdamart"), "--out", tmp_path / "m")
    assert done.code == 0, done.err
    done = rankwise("warm-up", tmp_path / "m")
    assert done.code == 0, done.err


def test_a_pipeline_may_hand_on_other_columns():
    frame = pd.DataFrame({"bm25": [0.5, 1.0], "size": [3.0, 4.0]})
    frame["colour"] = pd.Categorical(["red", "blue"])
    last = FunctionTransformer(lambda X: X[["colour", "bm25"]])
    model = make_pipeline(last, LambdaMART(2)).fit(frame, [0, 1])
    assert text_columns_of(model) == {"colour": ["blue", "red"]}


@pytest.mark.filterwarnings("ignore::rankwise.datasets.IgnoredColumnsWarning")
def test_models_that_do_not_use_a_column_of_text(rankwise, tmp_path):
    frame = pd.DataFrame({"bm25": np.arange(40.0), "title": [f"no {i}" for i in range(40)]})
    model = LambdaMART(3).fit(frame, np.arange(40) % 5, qid=np.arange(40) // 5)
    path, scores = save(model, tmp_path / "m.rankwise"), tmp_path / "s.csv"
    data = write(frame.assign(qid=1), tmp_path / "t.csv")
    done = rankwise("predict", path, data, "--out", scores)
    assert done.code == 0 and "title" not in done.err, done.err
    np.testing.assert_allclose(pd.read_csv(scores)["score"], model.predict(frame), rtol=1e-15)
    for file in ("m.py", "m.onnx", "m.json"):
        words = ("--format", "solr") if file == "m.json" else ()
        done = rankwise("export", path, tmp_path / file, "--verify", data, *words)
        assert done.code == 0 and "the file ranks as the model" in done.out, done.err


@pytest.mark.filterwarnings("default::rankwise.datasets.IgnoredColumnsWarning")
def test_rankers_of_numbers_do_as_before(rankwise, tmp_path):
    path = write(judged_frame().drop(columns="day"), tmp_path / "t.csv")
    done = rankwise("fit", path, "--ranker", "ridge", "--out", tmp_path / "m")
    assert done.code == 0, done.err
    assert "not used as features: colour (text), code (text), title (text)" in done.err
    words = ("--ranker", "ridge", "--features", "colour", "--out", tmp_path / "m")
    done = rankwise("fit", path, *words)
    assert done.code == 1
    assert "column 'colour' has '" in done.err
    assert "or choose the columns of numbers by --features A,B,…." in done.err


def test_only_text_for_a_ranker_of_numbers(rankwise, tmp_path):
    frame = judged_frame()[["label", "qid", "colour"]].dropna()
    path = write(frame, tmp_path / "t.csv")
    done = rankwise("compare", path, "--rankers", "ridge,lambdamart", "--cv", "2", "--json")
    assert done.code == 1
    assert (
        "RidgeRanker takes columns of numbers, but all columns hold text: 'colour'. Encode them as "
        "numbers, or use LambdaMART, AutoRanker or a booster."
    ) in done.err


def dated_frame(seed=0):
    """Rows whose days repeat, as those of a query do, and a column of scores."""
    days = pd.date_range("2024-01-01", periods=30).strftime("%Y-%m-%d")
    frame = judged_frame(seed)
    return frame.assign(day=days.to_numpy()[frame.qid], now=frame.bm25).drop(columns="title")


@pytest.mark.filterwarnings("ignore::rankwise.datasets.IgnoredColumnsWarning")
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize(
    "words",
    [
        "lint {table}",
        "convert {table} --out {folder}/out.csv",
        "evaluate {folder}/scores.txt {table}",
        "evaluate column:now {table}",
        "fit {table} --ranker ridge --out {folder}/m",
        "cv {table} --ranker ridge --cv 2",
        "compare {table} --rankers ridge --cv 2",
    ],
    ids=lambda words: " ".join(words.split()[:2]),
)
def test_no_command_fails_on_dates(rankwise, tmp_path, words, suffix):
    frame = dated_frame()
    table = write(frame, tmp_path / f"t{suffix}")
    (tmp_path / "scores.txt").write_text("\n".join(map(str, frame.now)))
    done = rankwise(*words.format(table=table, folder=tmp_path).split())
    assert done.code == 0, done.err


@pytest.mark.filterwarnings("default::rankwise.datasets.IgnoredColumnsWarning")
@pytest.mark.parametrize("clock", ["", " 08:30", "T08:30:00+02:00"])
def test_dates_as_text_are_no_categories_in_any_format(rankwise, tmp_path, clock):
    frame = dated_frame()
    frame["day"] += clock
    models = []
    for suffix in (".csv", ".parquet"):
        table = write(frame, tmp_path / f"t{suffix}")
        out = tmp_path / f"m{suffix}"
        done = rankwise("fit", table, *words_for("lambdamart"), "--out", out)
        assert done.code == 0, done.err
        assert f"day (dates, such as '2024-01-01{clock}'). Replace them by numbers" in done.err
        models.append(load(out))
    assert [model.feature_names_in_.tolist() for model in models] == [
        ["bm25", "colour", "code", "now"]
    ] * 2
    X = dated_frame(1)[["bm25", "colour", "code", "now"]]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))
