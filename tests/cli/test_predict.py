"""``predict``: rows without labels, in chunks, with their ids, to every format."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler

import rankwise as rw
from rankwise.cli import _scoring
from rankwise.datasets import read_letor, read_run
from rankwise.datasets.readers import delimited, quotes
from rankwise.groups import Chunk
from rankwise.streams import row_stream as text_files

from .conftest import judged_data

NAMES = ["bm25", "age", "price", "stock"]


@pytest.fixture
def frame():
    """Rows by query with string ids, text, and no label; columns in another order than fitted."""
    data = judged_data(5)
    frame = pd.DataFrame(data.X, columns=NAMES)[NAMES[::-1]]
    frame.insert(0, "title", [f"a hat, {i}" for i in range(len(frame))])
    frame["sku"], frame["session"] = data.doc_ids, [f"s{q}" for q in data.qid]
    return frame


@pytest.fixture
def ranker():
    data = judged_data(0)
    return rw.RidgeRanker().fit(pd.DataFrame(data.X, columns=NAMES), data.y, qid=data.qid)


@pytest.fixture
def model(ranker, tmp_path):
    return ranker.save(tmp_path / "m")


IDS = ("--qid", "session", "--doc-id", "sku")


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "tsv"])
@pytest.mark.parametrize("source", ["csv", "parquet"])
def test_columns_are_found_by_name_and_ids_carried_over(
    rankwise, frame, ranker, model, tmp_path, kind, source
):
    getattr(frame, f"to_{source}")(tmp_path / f"new.{source}", index=False)
    out = tmp_path / f"scores.{kind}"
    done = rankwise("predict", model, tmp_path / f"new.{source}", *IDS, "--out", out)
    assert (done.code, done.err) == (0, "")
    read = {
        "csv": pd.read_csv,
        "tsv": lambda path: pd.read_csv(path, sep="\t"),
        "parquet": pd.read_parquet,
        "jsonl": lambda path: pd.DataFrame(
            [json.loads(line) for line in path.read_text().splitlines()]
        ),
    }[kind]
    found = read(out)
    assert found.columns.tolist() == ["qid", "doc_id", "score"]
    assert found.qid.tolist() == frame.session.tolist()
    assert found.doc_id.tolist() == frame.sku.tolist()
    np.testing.assert_allclose(found.score, ranker.predict(frame[NAMES]), rtol=1e-12)


def test_a_pipeline_that_selects_columns_by_name(rankwise, frame, tmp_path):
    """predict and evaluate read arrays, but the pipeline was fitted on a frame."""
    data = judged_data(0)
    fitted_on = pd.DataFrame(data.X, columns=NAMES)
    scaled = make_column_transformer((StandardScaler(), ["age", "stock"]))
    pipeline = make_pipeline(scaled, rw.RidgeRanker(alpha=1.0))
    pipeline.fit(fitted_on, data.y, ridgeranker__qid=data.qid)
    path = rw.save(pipeline, tmp_path / "pipeline.rankwise")
    frame.assign(label=judged_data(5).y).to_csv(tmp_path / "rows.csv", index=False)
    for command in (
        ("predict", path, tmp_path / "rows.csv", *IDS, "--out", tmp_path / "scores"),
        ("evaluate", path, tmp_path / "rows.csv", *IDS, "--json"),
    ):
        done = rankwise(*command)
        assert (done.code, done.err) == (0, "")
    expected = pipeline.predict(frame[NAMES])
    np.testing.assert_allclose(np.loadtxt(tmp_path / "scores"), expected, rtol=1e-5)
    of_query = rw.evaluate(judged_data(5).y, expected, frame.session, "AP")
    assert done.json["measures"]["AP"]["mean"] == pytest.approx(of_query["AP"])


def test_a_run_of_the_best_rows_of_shuffled_queries(rankwise, frame, ranker, model, tmp_path):
    shuffled = frame.sample(frac=1.0, random_state=1)
    shuffled.to_csv(tmp_path / "new.csv", index=False)
    arguments = ("predict", model, tmp_path / "new.csv", *IDS, "-k", "3")
    assert rankwise(*arguments, "--out", tmp_path / "best.run").code == 0
    run = read_run(tmp_path / "best.run")
    frame["score"] = ranker.predict(frame[NAMES])
    best = frame.sort_values("score", ascending=False).groupby("session").head(3)
    assert {*zip(run.qid.tolist(), run.doc_ids.tolist(), strict=True)} == {
        *zip(best.session, best.sku, strict=True)
    }
    told = pd.read_csv(rankwise_output(rankwise(*arguments), tmp_path))
    assert told.columns.tolist() == ["qid", "doc_id", "score", "rank"]
    assert told.qid.drop_duplicates().tolist() == shuffled.session.drop_duplicates().tolist()
    assert told["rank"].tolist() == [1, 2, 3] * 12
    assert (told.groupby("qid").score.diff().dropna() <= 0).all()
    assert rankwise(*arguments, "--json").json["best"] == told.to_dict("records")


def rankwise_output(done, tmp_path):
    assert done.code == 0, done.err
    (tmp_path / "told").write_text(done.out)
    return tmp_path / "told"


def without_labels(path):
    return "".join(f"{line.partition(' ')[2]}\n" for line in path.read_text().splitlines())


def test_letor_lines_without_a_label(rankwise, letor_file, ranker, model, tmp_path):
    (tmp_path / "new.txt").write_text(without_labels(letor_file))
    for form in ("scores", "csv", "trec"):
        labelled, not_labelled = (
            rankwise("predict", model, path, "--format", form)
            for path in (letor_file, tmp_path / "new.txt")
        )
        assert not_labelled.code == 0, not_labelled.err
        assert labelled.out == not_labelled.out
    read = pd.read_csv(rankwise_output(rankwise("predict", model, tmp_path / "new.txt",
                                                "--format", "csv"), tmp_path))  # fmt: skip
    assert read.doc_id.tolist() == read_letor(letor_file).doc_ids.tolist()
    (tmp_path / "new.txt").write_text("0:1 1:2\n# a comment\n\n1:1 3:4\n")  # indices from 0
    told = [float(line) for line in rankwise("predict", model, tmp_path / "new.txt").out.split()]
    np.testing.assert_allclose(
        told, ranker.predict(pd.DataFrame([[1, 2, 0, 0], [0, 1, 0, 4]], columns=NAMES))
    )
    (tmp_path / "new.txt").write_text("qid:1 1:1\nqid:1 5:1\n")
    done = rankwise("predict", model, tmp_path / "new.txt")
    assert done.code == 1
    assert "new.txt, line 2, column 7: index 5 is too large for n_features=4" in done.err


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(_scoring, "CHUNK_ROWS", 7)
    monkeypatch.setattr(delimited, "_BLOCK_BYTES", 500)
    monkeypatch.setattr(quotes, "_BLOCK_BYTES", 300)  # a bound on the bytes of a row
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 300)
    monkeypatch.setattr(text_files, "LETOR_BYTES", 600)


@pytest.mark.parametrize("kind", ["csv", "parquet", "txt"])
def test_chunks_do_not_change_the_scores(
    rankwise, frame, letor_file, ranker, tmp_path, small_chunks, monkeypatch, kind
):
    """Neither of a model of rows, nor of one that reads queries as a whole."""
    data = judged_data(0)
    with sklearn.config_context(enable_metadata_routing=True):
        scaled = make_pipeline(rw.features.QueryScaler(), rw.RidgeRanker())
        scaled.fit(pd.DataFrame(data.X, columns=NAMES), data.y, qid=data.qid)
    new = tmp_path / f"new.{kind}"
    if kind == "txt":
        new.write_text(without_labels(letor_file))
        frame, session = pd.DataFrame(read_letor(letor_file).X, columns=NAMES), data.qid
        words = ()
    else:
        getattr(frame, f"to_{kind}")(new, index=False)
        words, session = IDS, frame.session
    seen = []
    predicted = _scoring.predict_rows
    monkeypatch.setattr(
        _scoring, "predict_rows", lambda *given: (seen.append(p) or p for p in predicted(*given))
    )
    for number, fitted in enumerate((ranker, scaled)):
        rw.save(fitted, tmp_path / "m")
        seen.clear()
        told = rankwise("predict", tmp_path / "m", new, *words)
        assert told.code == 0, told.err
        assert len(seen) > 3
        with sklearn.config_context(enable_metadata_routing=True):
            given = {"qid": session} if number else {}
            expected = fitted.predict(frame[NAMES], **given)
        np.testing.assert_allclose(
            [float(line) for line in told.out.split()], expected, rtol=1e-6, atol=1e-9
        )


@pytest.mark.parametrize("base", [0, 1])
def test_all_chunks_count_features_from_the_same_number(
    rankwise, ranker, model, tmp_path, small_chunks, base
):
    """Later chunks have no feature 0, or none at all."""
    rows = np.random.default_rng(0).random((200, 4)).round(3)
    rows[50:, 0] = 0
    rows[-30:] = 0
    lines = (
        " ".join(["qid:1", *(f"{j + base}:{value}" for j, value in enumerate(row) if value)])
        for row in rows
    )
    (tmp_path / "new.txt").write_text("\n".join(lines) + "\n")
    told = [float(line) for line in rankwise("predict", model, tmp_path / "new.txt").out.split()]
    expected = ranker.predict(pd.DataFrame(rows.astype(np.float32), columns=NAMES))
    np.testing.assert_allclose(told, expected, rtol=1e-6)


def test_queries_that_come_back(rankwise, frame, tmp_path, small_chunks):
    """Rows of queries that lie among each other wait; a query that is over must not come back."""
    data = judged_data(0)
    with sklearn.config_context(enable_metadata_routing=True):
        scaled = make_pipeline(rw.features.QueryScaler(), rw.RidgeRanker())
        scaled.fit(pd.DataFrame(data.X, columns=NAMES), data.y, qid=data.qid)
    rw.save(scaled, tmp_path / "m")
    pair = np.arange(16).reshape(2, 8).T.ravel()  # a row of one query, a row of the other, …
    mixed = pd.concat([frame.iloc[pair], frame[16:]])
    mixed.to_csv(tmp_path / "new.csv", index=False)
    told = rankwise("predict", tmp_path / "m", tmp_path / "new.csv", *IDS)
    assert told.code == 0, told.err
    with sklearn.config_context(enable_metadata_routing=True):
        expected = scaled.predict(mixed[NAMES], qid=mixed.session)
    np.testing.assert_allclose([float(line) for line in told.out.split()], expected, rtol=1e-6)
    pd.concat([frame, frame[:1]]).to_csv(tmp_path / "new.csv", index=False)
    told = rankwise("predict", tmp_path / "m", tmp_path / "new.csv", *IDS)
    assert told.code == 1
    assert "query 's1' are not adjacent. Sort the rows by query." in told.err


def test_what_predict_refuses(rankwise, frame, letor_file, model, tmp_path):
    frame.drop(columns=["age", "sku"]).to_csv(tmp_path / "new.csv", index=False)
    frame.drop(columns="session").to_csv(tmp_path / "one.csv", index=False)
    new, one = tmp_path / "new.csv", tmp_path / "one.csv"
    for words, message in (
        ((new,), "the model was fitted on columns that are missing: 'age'; there are 'title', "),
        (
            (one, "-k", "2"),
            "each query need queries, but DATA has none. Name the query column: --qid",
        ),
        ((one, "--out", tmp_path / "s.run"), "a TREC run needs queries, but DATA has none"),
        ((one, "--doc-id", "id"), "--doc-id 'id' is not a column"),
        ((one, "-k", "2", "--format", "scores"), "-k needs a format with ids. Add --format"),
        ((one, "--format", "parquet"), "Parquet cannot be written to stdout"),
        ((one, "-k", "2", "--classes"), "-k needs scores, but --classes writes none"),
        ((letor_file, "--qid", "q"), "is LETOR text, whose columns have no names. Drop --qid"),
        ((tmp_path / "none.csv",), "is neither a file nor a data set"),
    ):
        done = rankwise("predict", model, *words)
        assert done.code in (1, 2), words
        assert message in done.err
        assert not (tmp_path / "s.run").exists()


def test_rows_without_ids_are_numbered(rankwise, frame, model, tmp_path):
    frame[NAMES].to_csv(tmp_path / "new.csv", index=False)
    done = rankwise("predict", model, tmp_path / "new.csv", "--format", "csv")
    told = pd.read_csv(rankwise_output(done, tmp_path))
    assert told.columns.tolist() == ["row", "score"]
    assert told.row.tolist() == list(range(96))


def test_a_run_of_rows_without_ids_has_a_note(rankwise, frame, model, tmp_path):
    for names, noted in (([*NAMES, "session"], True), ([*NAMES, "session", "sku"], False)):
        frame.sort_values("session")[names].to_csv(tmp_path / "new.csv", index=False)
        words = IDS if not noted else ("--qid", "session")
        done = rankwise("predict", model, tmp_path / "new.csv", *words, "--out", tmp_path / "a.run")
        assert (done.code, "numbers of their rows" in done.err) == (0, noted), done.err


def test_numbers_with_a_file_of_sizes_are_scored_as_they_are_fitted(rankwise, tmp_path):
    data = judged_data(0)
    path, letor = tmp_path / "rows.tsv", tmp_path / "rows.letor"
    np.savetxt(path, np.column_stack([data.y, data.X]), delimiter="\t", fmt="%.9g")
    (tmp_path / "rows.tsv.query").write_text("8\n" * 12)
    model, scores = tmp_path / "m", tmp_path / "scores.txt"
    assert rankwise("fit", path, "--ranker", "ridge", "--out", model).code == 0
    done = rankwise("predict", model, path, "--out", scores)
    assert (done.code, done.err) == (0, "")
    np.testing.assert_allclose(np.loadtxt(scores), rw.load(model).predict(data.X), rtol=1e-6)
    assert rankwise("convert", tmp_path / "rows.ts[v]", "--out", letor).code == 0
    assert read_letor(letor, cache=False).n_queries == 12
    (tmp_path / "more.tsv").write_bytes(path.read_bytes())
    done = rankwise("convert", tmp_path / "*.tsv", "--out", letor)
    assert done.code == 2
    assert "must be the only one, got 2 files" in done.err


class OwnImputer(SimpleImputer):
    """Of a user: its indicator is a flag, and it has no strategy."""

    def fit(self, X, y=None):
        super().fit(np.nan_to_num(X))
        self.indicator_ = True
        return self

    def transform(self, X):
        return np.nan_to_num(X)


@pytest.mark.parametrize(
    ("step", "filled"),
    [
        (SimpleImputer(add_indicator=True), "(mean)"),
        (SimpleImputer(strategy="constant", add_indicator=True), "(constant)"),
        (SimpleImputer(), ""),
        (SimpleImputer(strategy=np.max, add_indicator=True), ""),
        (KNNImputer(add_indicator=True), ""),
        (IterativeImputer(max_iter=2, add_indicator=True), ""),
        (make_union(SimpleImputer(), MissingIndicator()), ""),
        (make_column_transformer((KNNImputer(add_indicator=True), [0, 1, 2, 3])), ""),
        (OwnImputer(), ""),
        (make_pipeline(KNNImputer(add_indicator=True), StandardScaler()), ""),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_imputer_may_be_the_first_step(step, filled, capsys):
    data = judged_data(1)
    data.X[::7, 1] = np.nan
    model = make_pipeline(step, rw.RidgeRanker()).fit(data.X, data.y)
    (table,) = _scoring.predict_rows(model, iter([Chunk(data.X)]), classes=False)
    np.testing.assert_array_equal(table["score"].to_numpy(), model.predict(data.X))
    assert capsys.readouterr().err.count(
        f"missing values are filled by the model's imputer {filled}"
    ) == bool(filled)
