"""Tables of judgements, runs, votes, orders, scores and clicks are read by the same rules."""

from __future__ import annotations

import contextlib
import csv
import io
import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from rankwise import leaderboard
from rankwise.cli.main import app
from rankwise.clicks import read_clicks, read_judgements
from rankwise.clicks.interleaving import _read as read_credits
from rankwise.datasets import (
    MissingWordsWarning,
    RankingData,
    read_qrels,
    read_run,
    read_table,
)
from rankwise.fusion import as_run
from rankwise.preferences import read_comparisons, read_orders
from rankwise.streams import stream
from rankwise.text import read_judgements as as_qrels

# Rows of a table for each reader, and what it makes of them.
DOORS = {
    "table": (
        lambda path: read_table(path, features=["x"]).doc_ids.tolist(),
        {"qid": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 0, 1], "x": [1, 2, 3, 4]},
    ),
    "stream": (
        lambda path: [d for chunk in stream(path, features=["x"]) for d in chunk.doc_ids],
        {"qid": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 0, 1], "x": [1, 2, 3, 4]},
    ),
    "qrels": (
        lambda path: read_qrels(path).doc_ids.tolist(),
        {"qid": ["p", "p", "q"], "doc_id": list("aba"), "relevance": [1, 0, 2]},
    ),
    "run": (
        lambda path: read_run(path).scores.tolist(),
        {"qid": ["p", "p", "q"], "doc_id": list("aba"), "score": [1.5, 0.5, 2.5]},
    ),
    "votes": (
        lambda path: read_comparisons(path).outcome.tolist(),
        {"model_a": list("xyx"), "model_b": list("yzz"), "winner": ["model_a", "tie", "model_b"]},
    ),
    "orders": (
        lambda path: read_orders(path).stage.tolist(),
        {"race": ["r", "r", "s", "s"], "team": list("xyxy"), "place": [1, 2, 2, 1]},
    ),
    "board": (
        lambda path: leaderboard(path, score="score").rankers,
        {"system": list("xxyy"), "task": ["1", "2", "1", "2"], "score": [0.1, 0.2, 0.3, 0.5]},
    ),
    "clicks": (
        lambda path: read_clicks(path).click.tolist(),
        {"qid": list("pppp"), "doc_id": list("abab"), "place": [1, 2, 1, 2],
         "click": [1, 0, 0, 1]},
    ),
    "judgements": (
        lambda path: read_judgements(path).doc_ids.tolist(),
        {"query": ["p", "p", "q"], "docid": list("aba"), "rating": [1.0, 0.0, 2.0]},
    ),
    "credits": (
        lambda path: sorted(read_credits(path)[0]),
        {"qid": ["p", "p"], "doc_id": list("ab"), "place": [1, 2], "credit_x": [1.0, 0.0]},
    ),
}  # fmt: skip


def write(path, columns, text, *, quoting=csv.QUOTE_MINIMAL):
    """A table with a column of texts, in the first row, that nobody reads."""
    n = len(next(iter(columns.values())))
    frame = pd.DataFrame({"conversation": [text] + ["hello"] * (n - 1), **columns})
    frame.to_csv(path, index=False, quoting=quoting)
    return path


UNREAD = {
    "long": "x" * 1_000_000,
    "several lines": 'She said "hi",\r\n\r\nand\nleft; a,b,c',
    "a carriage return": "a\rb",
    "marks": '""" ",",""',
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("text", UNREAD)
def test_a_column_that_nobody_reads_may_hold_any_text(tmp_path, door, text):
    read, columns = DOORS[door]
    wanted = read(write(tmp_path / "a.csv", columns, "plain"))
    if text != "a carriage return":  # which pandas quotes only if asked
        assert read(write(tmp_path / "a.csv", columns, UNREAD[text])) == wanted
    write(tmp_path / "a.csv", columns, UNREAD[text], quoting=csv.QUOTE_ALL)
    assert read(tmp_path / "a.csv") == wanted


@pytest.mark.parametrize("door", ["table", "stream", "votes"])
@pytest.mark.parametrize("text", ["x, y\n" * 4_000_000, "x" * 20_000_000], ids=["lines", "line"])
def test_a_field_of_20_megabytes(tmp_path, door, text):
    read, columns = DOORS[door]
    wanted = read(write(tmp_path / "a.csv", columns, "plain"))
    assert read(write(tmp_path / "a.csv", columns, text)) == wanted


def refused(read, path, reason):
    with pytest.raises(ValueError, match=reason) as caught:
        read(path)
    assert str(caught.value).count(str(path)) == 1


@pytest.mark.parametrize("door", DOORS)
def test_damaged_marks_are_refused_by_line(tmp_path, door):
    read, columns = DOORS[door]
    frame = pd.DataFrame(columns)
    header, *rows = frame.to_csv(index=False).splitlines()
    path = tmp_path / "a.csv"

    def check(cells, reason):
        lines = [
            f"{header},note",
            *(f"{row},{cell}" for row, cell in zip(rows, cells, strict=True)),
        ]
        path.write_text("\n".join(lines) + "\n")
        refused(read, path, reason)

    plain = ["b"] * (len(rows) - 1)
    check([*plain, '"c'], f"line {len(rows) + 1}: a quotation mark opens a field, and no mark")
    check(['"c', *plain], "line 2: a quotation mark opens a field, and no mark closes it")
    check(['"a"b', *plain], "line 2: a quotation mark .* text follows the mark .*line 2: '\"b'")
    check(['"a', '"b', *plain[1:]], "line 2: .* text follows the mark .* line 3: '\"b'")


@pytest.mark.parametrize("door", DOORS)
def test_carriage_returns(tmp_path, door):
    """pandas and Arrow end rows there; rows of another width are named."""
    read, columns = DOORS[door]
    text = pd.DataFrame({**columns, "note": "a\rb"}).to_csv(index=False, quoting=csv.QUOTE_NONE)
    (tmp_path / "a.csv").write_bytes(text.encode())
    refused(
        read, tmp_path / "a.csv", r"line 2: expected \d columns.* Carriage returns within lines"
    )


def test_marks_of_text_that_looks_like_rows(tmp_path):
    """Lines of a quoted field with all delimiters are text unless numbers stand in their places."""
    path = tmp_path / "a.csv"
    path.write_text(
        'id,title,text,label,x\n1,a,"b, or c, and d\n1, 2, 3, 4, then 5",1,0\n2,"e, f",g,0,1\n'
        '3,a,"b, c, d\n1, 2, 3, 4, 5",1,0\n'
    )
    data = read_table(path, qid="id", label="label", features=["x"])
    assert data.y.tolist() == [1, 0, 1]
    # Without columns of numbers, quoted delimiters elsewhere say that the writer quotes.
    path.write_text('model_a,model_b,winner,note\nx,y,model_a,"hi\nyou, me, us, all"\nx,y,tie,z\n')
    refused(read_comparisons, path, "line 2: a quotation mark opens a field that ends in line 3")
    path.write_text(path.read_text() + 'x,z,tie,"a, b"\n')
    assert len(read_comparisons(path).outcome) == 3


def test_names_of_columns_may_have_line_ends(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('qid,"label","x\ny",z\n1,1,2,3\n1,0,4,\n1,a,0,0\n')
    refused(read_table, path, "line 5: label must hold numbers")
    path.write_text(path.read_text().replace("1,a,0,0\n", ""))
    assert read_table(path).feature_names == ["x\ny", "z"]
    path.write_text('task,"a\nb",c\n1,0.5,0.25\n2,1,2\n')
    assert leaderboard(path).rankers == ["c", "a\nb"] or leaderboard(path).rankers == ["a\nb", "c"]


def test_product_texts(tmp_path):
    """Descriptions of several lines with commas, as in the texts of Crowdflower."""
    rows = [
        (i, "tv stand", f'A 40" stand, no. {i}', text, i % 4 + 1, 0.471)
        for i, text in enumerate(
            ["", "a, b, c, d, e, f", "one\ntwo, 2, 3, 4, 5 and 6", "1, 2\n3, 4, 5, 6, 7, \n8"] * 50
        )
    ]
    names = ["id", "query", "product_title", "product_description", "median_relevance", "variance"]
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC, csv.QUOTE_ALL):
        for end in ("\n", "\r\n"):
            text = io.StringIO(newline="")
            writer = csv.writer(text, quoting=quoting, lineterminator=end)
            writer.writerows([names, *rows])
            (tmp_path / "a.csv").write_bytes(text.getvalue().encode())
            data = read_table(
                tmp_path / "a.csv", qid="query", label="median_relevance", doc_id="id",
                features=["variance"],
            )  # fmt: skip
            assert data.doc_ids.tolist() == [str(i) for i in range(200)]


# Columns of ids of each reader.
IDS = {
    "table": ["qid", "doc_id"], "stream": ["qid", "doc_id"], "qrels": ["qid", "doc_id"],
    "run": ["qid", "doc_id"], "votes": ["model_a", "model_b"], "orders": ["race", "team"],
    "board": ["system", "task"], "clicks": ["qid", "doc_id"], "judgements": ["query", "docid"],
}  # fmt: skip
# The same for frames.
FRAMES = {
    "table": RankingData.from_frame, "qrels": as_qrels, "run": as_run, "votes": read_comparisons,
    "orders": read_orders, "board": leaderboard, "clicks": read_clicks,
}  # fmt: skip


@pytest.mark.parametrize(
    "door, column", [(door, name) for door in IDS for name in IDS[door]], ids=str
)
def test_ids_spelled_as_missing_values(tmp_path, door, column):
    read, columns = DOORS[door]
    for word in ("NaN", "NA", "NULL", "null", "None", "<NA>"):
        frame = pd.DataFrame(columns).astype({column: object})
        frame.loc[1, column] = word
        frame.to_csv(tmp_path / "a.csv", index=False)
        doors = [lambda: read(tmp_path / "a.csv")]
        if door in FRAMES:
            doors.append(lambda frame=frame: FRAMES[door](frame.astype({column: str})))
        for call in doors:
            said = rf"1 ids are spelled.*'{word}' \(1\)"
            # An order of one item, and a missing score of a board, are other errors.
            with pytest.warns(MissingWordsWarning, match=said), contextlib.suppress(ValueError):
                call()
    frame.loc[1, column] = None
    frame.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ValueError, match=r"missing|empty"):
        read(tmp_path / "a.csv")


@pytest.mark.filterwarnings("default:.+ ids are spelled")
def test_the_note_of_the_command_line(tmp_path):
    columns = {"system": ["NA", "NA", "x", "x", "NULL", "NULL"], "task": list("ababab"),
               "score": [0.1, 0.2, 0.3, 0.5, 0.4, 0.1]}  # fmt: skip
    pd.DataFrame(columns).to_csv(tmp_path / "a.csv", index=False)
    found = CliRunner().invoke(app, ["board", str(tmp_path / "a.csv"), "--json"])
    assert found.exit_code == 0
    assert "note: column 'system': 4 ids are spelled as programs write missing" in found.stderr
    assert "'NA' (2), 'NULL' (2)" in found.stderr
    assert {row["ranker"] for row in json.loads(found.stdout)["rows"]} == {"NA", "NULL", "x"}
