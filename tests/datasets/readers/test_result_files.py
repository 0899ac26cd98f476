"""One decision about files of judgements, runs and scores, by all of their first lines."""

import bz2
import gzip
import lzma

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from rankwise.datasets import Qrels, RankingData, Run, read_qrels, read_run
from rankwise.datasets.readers.file_formats import FormatName, file_format
from rankwise.datasets.readers.results import read_scores
from rankwise.fusion import as_run
from rankwise.text import read_judgements

JUDGED = [("7", "7067032", 1), ("07", "b", 0)]
QRELS = "7 0 7067032 1\n07 0 b 0\n"
RUN = "7 Q0 a 1 2.5 t\n07 Q0 b 1 -1e0 t\n"
RETRIEVED = [("7", "a", 2.5), ("07", "b", -1.0)]
LETOR = "1 qid:7 1:0.5 # docid = 7067032\n0 qid:07 1:1 # docid = b\n"
# Characters that str.split or str.splitlines takes for blanks or line ends, but trec_eval does not.
NOT_BLANK = list("\xa0\u3000\u2028\u2029\x85\x1c\x1d\x1e\x1f\u200b")


def write(tmp_path, text, name="file.txt"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def listed(found):
    values = found.relevance if isinstance(found, Qrels) else found.scores
    return list(zip(found.qid.tolist(), found.doc_ids.tolist(), values.tolist(), strict=True))


@pytest.mark.parametrize("name", ["qrels", "qrels.dev.tsv", "a.csv", "a.run", "a.parquet.txt"])
@pytest.mark.parametrize(
    "text, kind",
    [
        (QRELS, FormatName.qrels),
        (QRELS.replace(" ", "\t"), FormatName.qrels),
        (QRELS.replace(" ", " \t\v"), FormatName.qrels),
        ("#7 0 a 1\n", FormatName.qrels),
        ("7\t7067032\t1\n07\tb\t0\n", FormatName.triples),
        ("7 7067032 1\n07 b 0\n", FormatName.triples),
        ("7\ta b\t1\n07\tb\t0\n", FormatName.triples),
        ("query-id\tcorpus-id\tscore\n7\ta\t1\n", FormatName.table),
        ("query-id corpus-id score\n7 a 1\n", FormatName.table),
        ('"qid","docno","label"\n7,"a,b",1\n', FormatName.table),
        ("qid;docid;rel\n7;a;1\n", FormatName.table),
        ("label,qid,f1\n1,7,0.5\n", FormatName.table),
        (RUN, FormatName.run),
        (RUN.replace(" ", "\t"), FormatName.run),
        ("qid 0 label 1\n", FormatName.qrels),
        ("7 Q0 a 1 2.5\n", FormatName.run),
        ("7 Q0 a 1 2.5 my system\n", FormatName.run),
        (LETOR, FormatName.letor),
        ("# comment\n1 1:0.5\n0 3:1\n", FormatName.letor),
        ("0.5\n-1e3\n", FormatName.scores),
        ("", FormatName.empty),
        ("\ufeff\r\n", FormatName.empty),
        ("a b c d e f g\n", FormatName.unknown),
        ("7\tQ0\ra\t1\t2.5\tt\n", FormatName.run),
        ("7\r0 a 1\n", FormatName.qrels),
        ("qid," + "x" * 200_000 + "\n", FormatName.scores),
    ],
)
def test_format_does_not_depend_on_the_name(tmp_path, text, kind, name):
    assert file_format(write(tmp_path, text, name)).kind is kind


@pytest.mark.parametrize(
    "text, line, reason",
    [
        (
            "1 Q0 a 1 2.0\n" + RUN,
            1,
            r"expected 6 fields \(query Q0 document rank score tag\), got 5",
        ),
        (RUN + "1 Q0 a\n", 3, "expected 6 fields .* got 3"),
        ("1 Q0 a 1 2.0\n", 1, "expected 6 fields .* got 5"),
        ("1 Q0 a 1 2.0 my system\n", 1, "expected 6 fields .* got 7"),
        ("a b c d e f g\n", 1, "expected 6 fields .* got 7"),
        ("1 Q0 a 1 9007199254740993 t\n", 1, "is a whole number that float64 changes"),
        ("qid\tdocno\tscore\n1\ta\n", 2, "expected 3 columns, got 2"),
        ("qid\tdocno\tscore\n1\t\t2\n", 2, "Ids must not be missing"),
        ('qid,docno,score\n1,"a,2\n', 2, "and no mark closes it"),
        ("qid,docno,rank\n1,a,2\n", 1, "must be a column of the score"),
    ],
)
def test_bad_lines_of_runs(tmp_path, text, line, reason):
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match=f"{path}, line {line}: .*{reason}"):
        read_run(path)


@pytest.mark.parametrize(
    "text, line, reason",
    [
        ("1 0 a\n" + QRELS, 1, "expected 4 fields .* got 3"),
        (QRELS + "1 0 a 1 x\n", 3, "expected 4 fields .* got 5"),
        ("q\ta b\t1\n", 1, "three columns separated by tabs, or four separated by blanks"),
        ("topic\tdokument\tgrad\n1\ta\t1\n", 1, "'grad' is not a grade"),
        ("1\ta\t1\n1\t\t0\n", 2, "Ids must not be missing"),
        ("1\ta\t1\n1\ta\t0\n", 2, "has document 'a' a second time"),
        ("qid,docno,label\n1,a,1\n\n1,a,0\n", 4, "has document 'a' a second time"),
        ("qid\tQID\tdocno\tlabel\n1\t1\ta\t1\n", 1, "'qid' and 'QID' both name"),
        ("qid\tdocno\tlabel\n1\ta\t-1.5\n", 2, "'-1.5' is not a grade"),
        ("1 2 3 4 5 6 7\n", 1, "expected 4 fields .* got 7"),
    ],
)
def test_bad_lines_of_judgements(tmp_path, text, line, reason):
    path = write(tmp_path, text)
    for read in (read_qrels, read_judgements):
        with pytest.raises(ValueError, match=f"{path}, line {line}: .*{reason}"):
            read(path)


def test_ranks_are_no_grades(tmp_path):
    """Runs in the format of MS MARCO have the three columns of judgements."""
    lines = [f"{query} d{rank} {rank}" for query in "ab" for rank in range(1, 11)]
    path = write(tmp_path, "\n".join(lines) + "\n")
    for read in (read_qrels, read_judgements):
        with pytest.raises(ValueError, match=r"holds ranks 1, 2, 3, … .*MS MARCO.*1 / rank.*run"):
            read(path)
    for others in (lines[:9], [*lines, "a e 0"], [*lines[:-1], "b d10 9"], lines[::-1]):
        path.write_text("\n".join(others) + "\n")
        assert len(read_qrels(path)) == len(others)


@pytest.mark.parametrize(
    "read, text, reason",
    [
        (read_qrels, RUN, "holds a TREC run, not judgements"),
        (read_qrels, "0.5\n1\n", "holds scores, one per line, not judgements"),
        (read_qrels, "1 qid:7 1:0.5\n", "is LETOR text without document ids"),
        (read_qrels, "qid,docno,label\n", "has a header line, but no rows"),
        (read_run, QRELS, "holds TREC qrels, not a run: expected 6 fields"),
        (read_run, LETOR, "holds LETOR text, not a run"),
        (read_run, "1\ta\t2\n", "holds three columns without a header line, not a run.*1 / rank"),
        (read_scores, "1\n\n2\n", "line 2: expected 1 fields .* got 0"),
        (read_scores, "1\nnan\n", "line 2: 'nan' is not a finite number"),
        (read_scores, "1\n9007199254740993.0\n", "line 2: .* float64 changes"),
        (read_scores, "", "is empty"),
        (read_qrels, '{"q1": {"a": 1}}', "holds JSON, not judgements.* json.load"),
        (read_qrels, "q1,a,1\nq1,b,0\n", "line 1: expected 4 fields .* got 1: 'q1,a,1'"),
        (read_run, '\n[\n {"qid": 1}]', "holds JSON, not a run"),
        (read_qrels, "{1} 0 a x\n", "line 1: 'x' is not a grade"),
        (read_scores, "1,5\n", "line 1: '1,5' is not a finite number"),
        (read_run, RUN.replace("\n", "\r"), "carriage returns end the lines"),
        (read_qrels, QRELS.replace("\n", "\r"), "carriage returns end the lines"),
        (read_qrels, "a\rb,qid,docno\n" + QRELS, "line 1: expected 4 fields"),
        (read_qrels, "a" * 200_000 + ",qid,docno\n" + QRELS, "line 1: there must be a column of"),
        (read_run, "PK\x03\x04....", "is a zip archive"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path, read, text, reason):
    with pytest.raises(ValueError, match=reason):
        read(write(tmp_path, text))


@pytest.mark.parametrize(
    "text, name",
    [
        (QRELS, "qrels.tsv"),
        (QRELS.replace(" ", "\t").replace("\n", "\r\n"), "a.csv"),
        ("\ufeff" + QRELS.rstrip(), "qrels"),
        ("7\t7067032\t1\n07\tb\t0\n", "x"),
        ("7 7067032 1\n\n07 b 0\n", "x.tsv"),
        ("query-id\tcorpus-id\tscore\n7\t7067032\t1\n07\tb\t0\n", "test.tsv"),
        ("Label,extra,QID,docno\n1.0,x,7,7067032\n0,y,07,b\n", "x.csv"),
        (LETOR, "train.csv"),
    ],
)
@pytest.mark.parametrize(
    "pack, suffix",
    [(bytes, ""), (gzip.compress, ".gz"), (bz2.compress, ""), (lzma.compress, ".xz")],
)
def test_every_form_of_judgements(tmp_path, text, name, pack, suffix):
    path = write(tmp_path, pack(text.encode()), name + suffix)
    assert listed(read_qrels(path)) == listed(read_judgements(str(path))) == JUDGED


def test_parquet_and_zstd(tmp_path):
    frame = pd.DataFrame(JUDGED, columns=["query-id", "corpus-id", "score"])
    frame.to_parquet(tmp_path / "judged")
    assert listed(read_qrels(tmp_path / "judged")) == JUDGED
    frame.to_parquet(tmp_path / "run.tsv")
    assert listed(read_run(tmp_path / "run.tsv")) == [(q, d, float(s)) for q, d, s in JUDGED]
    frame.loc[1, "corpus-id"] = None
    frame.to_parquet(tmp_path / "judged")
    with pytest.raises(ValueError, match=r"document ids must not be missing.*judged, row 1"):
        read_qrels(tmp_path / "judged")
    with pa.CompressedOutputStream(str(tmp_path / "q.zst"), "zstd") as stream:
        stream.write(QRELS.encode())
    assert listed(read_qrels(tmp_path / "q.zst")) == JUDGED


@pytest.mark.parametrize(
    "text", [RUN, RUN.replace(" ", "\t"), "doc,score,query\na,2.5,7\nb,-1,07\n"]
)
def test_every_form_of_runs(tmp_path, text):
    path = write(tmp_path, text, "run.csv")
    assert listed(read_run(path)) == listed(as_run(str(path))) == RETRIEVED


@pytest.mark.parametrize("sign", NOT_BLANK)
def test_only_ascii_white_space_separates(tmp_path, sign):
    ids = [f"a{sign}b", f"{sign}c", f"d{sign}"]
    run = Run(np.array(ids), np.array(ids), np.array([1.0, 2.0, 3.0]), "t")
    text = "".join(f"{name} Q0 {name} 1 {i + 1} t\n" for i, name in enumerate(ids))
    assert listed(read_run(write(tmp_path, text))) == listed(run)
    text = "".join(f"{name} 0 {name} 1\n" for name in ids)
    assert read_qrels(write(tmp_path, text)).doc_ids.tolist() == ids
    text = "qid\tdocno\tlabel\n" + "".join(f"{name}\t{name}\t1\n" for name in ids)
    assert read_qrels(write(tmp_path, text)).doc_ids.tolist() == ids
    text = "qid,docno,label\n" + "".join(f"{name},{name},1\n" for name in ids)
    assert read_qrels(write(tmp_path, text)).doc_ids.tolist() == ids


def test_a_pipe_is_read_once(tmp_path):
    import os
    import threading

    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(QRELS,))
    writer.start()
    assert listed(read_qrels(path)) == JUDGED
    writer.join()


def test_lists_of_parts(tmp_path):
    path = write(tmp_path, QRELS)
    parts = [path, {"x": {"a": 2}}]
    assert listed(read_judgements(parts)) == [*JUDGED, ("x", "a", 2)]
    with pytest.raises(ValueError, match="has document '7067032' a second time"):
        read_judgements([path, path])
    run = write(tmp_path, RUN, "run")
    assert listed(as_run([run, {"x": {"a": 2}}])) == [*RETRIEVED, ("x", "a", 2.0)]
    with pytest.raises(ValueError, match="has document 'a' a second time"):
        as_run([run, run])
    for read in (as_run, read_judgements):
        with pytest.raises(ValueError, match="at least one"):
            read([])


def test_judged_rows():
    data = RankingData(
        np.zeros((2, 1)),
        np.array([1.0, 0.0]),
        qid=np.array([7.0, 8.0]),
        doc_ids=np.array(["a", "b"]),
    )
    assert listed(read_judgements(data)) == [("7", "a", 1), ("8", "b", 0)]
    with pytest.raises(ValueError, match="judged rows need document ids"):
        read_judgements(RankingData(data.X, data.y, qid=data.qid))


FRAMES = {
    "whole floats": ([7.0, 8.0], ["7", "8"]),
    "int64": (np.array([2**53 + 1, 2**53 + 2]), ["9007199254740993", "9007199254740994"]),
    "uint64": (np.array([2**64 - 1, 1], dtype=np.uint64), ["18446744073709551615", "1"]),
    "nullable": (pd.array([7, 8], dtype="Int64"), ["7", "8"]),
    "zeros and signs": (["007", "+7"], ["007", "+7"]),
    "minus zero": (["-0", "0"], ["-0", "0"]),
    "blanks": (["a b", " a b\xa0"], ["a b", " a b\xa0"]),
    "categories": (pd.Categorical(["b", "a"]), ["b", "a"]),
    "objects": (np.array([7, "x"], dtype=object), ["7", "x"]),
    "bytes": ([b"a", b"b"], ["a", "b"]),
    "dates": (pd.to_datetime(["2026-01-02", "2026-01-03"]).date, ["2026-01-02", "2026-01-03"]),
    "None": (["a", None], "must not be missing"),
    "NaN": ([1.0, np.nan], "must not be missing"),
    "NaN among text": (["a", np.nan], "must not be missing"),
    "NA": (pd.array([7, None], dtype="Int64"), "must not be missing"),
    "NaT": (pd.to_datetime(["2026-01-02", None]), "must not be missing"),
    "empty": (["a", ""], "must not be missing"),
    "half": ([1.5, 2.0], "must be text or whole numbers"),
    "long floats": ([2.0**53, 1.0], "must be text or whole numbers"),
    "truth": ([True, False], "must be text or integers"),
    "1 and '1'": (np.array([1, "1"], dtype=object), "1 is text in one place and a number"),
}


@pytest.mark.parametrize("ids, right", FRAMES.values(), ids=FRAMES)
def test_ids_of_frames_stay_as_written(ids, right):
    frame = pd.DataFrame({"id": ids, "other": ["x", "y"], "score": [1, 2]})
    for names in ({"id": "qid", "other": "docno"}, {"other": "qid", "id": "docno"}):
        named, what = frame.rename(columns=names), names["id"]
        for read in (as_run, read_judgements):
            if isinstance(right, str):
                with pytest.raises(ValueError, match=f"ids .*{right}.*row"):
                    read(named)
            else:
                found = read(named)
                assert (found.qid if what == "qid" else found.doc_ids).tolist() == right


@pytest.mark.parametrize(
    "mapping, error",
    [
        ({"1": {None: 1}}, "document ids of query '1' must not be missing"),
        ({None: {"a": 1}}, "query ids must not be missing"),
        ({"": {"a": 1}}, "query ids must not be missing"),
        ({"1": {np.nan: 1}}, "document ids of query '1' must not be missing"),
        ({1: {"a": 1}, "1": {"b": 1}}, "1 is text in one place"),
        ({"1": {1: 1, "1": 2}}, "has document '1' a second time"),
    ],
)
def test_ids_of_mappings(mapping, error):
    for read in (as_run, read_judgements):
        with pytest.raises(ValueError, match=error):
            read(mapping)


@pytest.mark.parametrize("line", ["1\t0\t\t1", "1\t0\td\t", "\t0\td\t1"])
def test_a_missing_field_of_qrels_does_not_make_three_columns(tmp_path, line):
    path = tmp_path / "q.txt"
    path.write_text(f"{line}\n{line}\n")
    with pytest.raises(ValueError, match=r"q\.txt, line 1: expected 4 fields .*, got 3"):
        read_qrels(path)
    path.write_text("1\t\td\t1\n2\t\td\t0\n")  # no iteration
    assert read_qrels(path).doc_ids.tolist() == ["d", "d"]


@pytest.mark.parametrize(
    "text, said",
    [
        ("# judged in May\n1 0 a 1\n", "line 1: .*There are no comments in this format"),
        ("# judgements version 2\n1 0 a 1\n", "line 1: .*There are no comments in this format"),
        ("1 0 a 1\n# end\n", "line 2: .*There are no comments in this format"),
        ("1,a,1\n1,b,0\n", "line 1: .*name its columns in a first line: query-id,corpus-id"),
        ("1;a;1\n1;b;0\n", "line 1: .*name its columns in a first line"),
    ],
)
def test_lines_of_another_width_come_with_what_to_do(tmp_path, text, said):
    path = tmp_path / "judged.txt"
    path.write_text(text)
    for read in (read_qrels, read_run):
        if "0 a" in text and read is read_run:
            continue  # qrels, which are named as such
        with pytest.raises(ValueError, match=said):
            read(path)
