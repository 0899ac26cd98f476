"""Errors about rows name the file and the line, also of a later file and after blank lines."""

import gzip

import pandas as pd
import pytest

N, BAD = 20, 13


def letor(value="0.5", name="d13", qid="2"):
    names = [name if row == BAD else f"d{row}" for row in range(N)]
    queries = [qid if row == BAD else str(row // 5) for row in range(N)]
    return "".join(
        f"{row % 3} qid:{queries[row]} 1:0.{row:02d} 2:{value if row == BAD else row} "
        f"# docid = {names[row]}\n"
        for row in range(N)
    )


def table(sep=",", value="0.5", name="d13", qid="2"):
    lines = [sep.join(("label", "qid", "doc_id", "a", "b"))]
    for row in range(N):
        if row == BAD:
            lines.append(sep.join((str(row % 3), qid, name, "0.13", value)))
        else:
            lines.append(
                sep.join((str(row % 3), str(row // 5), f"d{row}", f"0.{row:02d}", str(row)))
            )
    return "\n".join(lines) + "\n"


@pytest.fixture
def model(rankwise, tmp_path):
    """Saved models of tables and of LETOR text, by suffix."""

    def fit(path):
        good = tmp_path / f"good{path.suffix}"
        good.write_text(
            letor() if path.suffix == ".txt" else table("\t" if path.suffix == ".tsv" else ",")
        )
        found = rankwise("fit", good, "--ranker", "ridge", "--out", tmp_path / "m.rankwise")
        assert found.code == 0, found.err
        return tmp_path / "m.rankwise"

    return fit


@pytest.mark.parametrize("value, what", [("nan", "NaN"), ("inf", "infinity"), ("-inf", "infinity")])
@pytest.mark.parametrize(
    "name, text, line",
    [
        ("a.txt", letor, BAD + 1),
        ("b.txt", lambda **words: f"\n# a comment\n{letor(**words)}", BAD + 3),
        ("a.csv", table, BAD + 2),
        ("b.csv", lambda **words: f"\n{table(**words)}".replace("\n", "\r\n"), BAD + 3),
        ("a.tsv", lambda **words: table("\t", **words), BAD + 2),
    ],
)
def test_values_that_are_not_finite(rankwise, tmp_path, model, name, text, line, value, what):
    path = tmp_path / name
    path.write_bytes(text(value=value).encode())
    fits = [
        ("fit", path, "--ranker", "ridge", "--out", tmp_path / "x.rankwise"),
        ("fit", path, "--ranker", "rank_svm", "--out", tmp_path / "x.rankwise"),
    ]
    for arguments in (
        *(fits if what == "infinity" else []),  # missing values are filled
        ("predict", model(path), path),
        ("predict", model(path), path, "--format", "trec"),
    ):
        found = rankwise(*arguments)
        assert found.code == 1
        assert f"{path}, line {line}: Input X contains {what}, column 1" in found.err
    assert not (tmp_path / "x.rankwise").exists()


@pytest.mark.parametrize(
    "words, said",
    [
        ({"name": "d 13"}, "doc_ids must not be empty or hold white space, got 'd 13'"),
        ({"qid": "q 2"}, "qid must not be empty or hold white space, got 'q 2'"),
        ({"name": "d12"}, "query '2' has document 'd12' a second time"),
    ],
)
@pytest.mark.parametrize("top", [(), ("-k", "2")])
def test_ids_of_runs(rankwise, tmp_path, model, words, said, top):
    first, second = tmp_path / "1.csv", tmp_path / "2.csv.gz"
    first.write_text(table().replace(",d", ",e").replace(",eoc", ",doc"))
    second.write_bytes(gzip.compress(table(**words).encode()))
    out = tmp_path / "out.run"
    found = rankwise("predict", model(first), first, second, "--format", "trec", "--out", out, *top)
    assert found.code == 1 and not out.exists()
    assert f"{second}, line {BAD + 2}: {said}" in found.err
    if "white space" in said:
        found = rankwise("convert", first, second, "--to", "qrels", "--out", out)
        assert found.code == 1 and f"{second}, line {BAD + 2}: {said}" in found.err


def test_rows_of_parquet(rankwise, tmp_path, model):
    path = tmp_path / "a.csv"
    path.write_text(table(value="nan"))
    parts = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    frame = pd.read_csv(path, dtype={"doc_id": str})
    frame.iloc[:10].to_parquet(parts[0])
    frame.iloc[10:].to_parquet(parts[1])
    found = rankwise("predict", model(path), *parts)
    assert f"{parts[1]}, row {BAD - 10}: Input X contains NaN" in found.err


@pytest.mark.parametrize(
    "text", ["label,qid,doc_id,a,b", "label,qid,doc_id,a,b\n", "\n\nlabel,qid,doc_id,a,b\r\n\n"]
)
def test_tables_without_rows(rankwise, tmp_path, model, text):
    path = tmp_path / "h.csv"
    path.write_bytes(text.encode())
    trained = model(path)
    out = tmp_path / "out.csv"
    for arguments in (
        ("fit", path, "--ranker", "ridge", "--out", out),
        ("compare", path),
        ("lint", path),
        ("convert", path, "--out", out),
        ("evaluate", trained, path),
        ("predict", trained, path, "--out", out),
        ("predict", trained, path, "-k", "3"),
    ):
        found = rankwise(*arguments)
        assert found.code == 1 and not out.exists()
        assert "h.csv has a header, but no rows" in found.err or "h.csv has no rows" in found.err


@pytest.mark.parametrize("name, text, line", [("a.txt", letor, BAD + 1), ("a.csv", table, BAD + 2)])
def test_values_that_are_not_finite_in_folds(rankwise, tmp_path, model, name, text, line):
    """Folds and validation parts count rows of their own."""
    path, good, other = (tmp_path / f"{part}{name}" for part in ("", "good", "other"))
    path.write_text(text(value="inf"))
    good.write_text(text().replace("0.", "0.9"))
    other.write_text(text().replace("0.", "0.8"))
    trained, out = model(path), tmp_path / "x.rankwise"
    for arguments in (
        ("cv", path, "--ranker", "ridge", "--cv", "2"),
        ("compare", path, "--rankers", "ridge", "--cv", "2"),
        ("compare", path, "--rankers", trained, "--cv", "2"),
        ("compare", good, "--test-data", path, "--rankers", "ridge"),
        ("compare", good, "--vali-data", path, "--test-data", other, "--rankers", "rank_svm"),
        ("evaluate", trained, path),
        ("fit", good, "--vali-data", path, "--ranker", "rank_svm", "--out", out),
    ):
        found = rankwise(*arguments)
        assert found.code == 1
        said = f"{path}, line {line}: Input X"
        assert said in found.err and " at row " not in found.out + found.err, arguments


@pytest.mark.parametrize("name, text, first", [("a.txt", letor, 1), ("a.csv", table, 2)])
def test_judgements_of_rows(rankwise, tmp_path, name, text, first):
    path, run, out = tmp_path / name, tmp_path / "a.run", tmp_path / "out.qrels"
    path.write_text(text(name="d12"))
    run.write_text("0 Q0 d1 1 2 t\n")
    for arguments in (("convert", path, "--to", "qrels", "--out", out), ("evaluate", run, path)):
        found = rankwise(*arguments)
        assert found.code == 1 and not out.exists()
        assert f"{path}, line {BAD + first}: query '2' has document 'd12' a second" in found.err
    path.write_text(text().replace("1 qid:2", "1.5 qid:2").replace("\n1,2,", "\n1.5,2,"))
    found = rankwise("convert", path, "--to", "qrels", "--out", out)
    assert f"{path}, line {10 + first}: y must hold whole grades for qrels, got 1.5" in found.err
