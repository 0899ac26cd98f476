"""TREC files: formats, error messages, and the same documents counted as trec_eval counts them."""

import gzip

import numpy as np
import pytest

from rankwise.datasets import (
    Qrels,
    RankingData,
    Run,
    judge,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)
from rankwise.metrics import evaluate

QRELS = "301 0 D1 1\n301 0 D2 0\n\n302\t0\tD1  2\r\n302 0 D9 -1\n"
RUN = "301 Q0 D2 1 0.9 sys\n301 Q0 D1 2 .5e0 sys\n302 Q0 D7 1 -1 sys\n"


def make_file(tmp_path, text, name="file.txt"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_qrels_columns(tmp_path):
    qrels = read_qrels(make_file(tmp_path, "\ufeff" + QRELS))
    assert qrels.qid.tolist() == ["301", "301", "302", "302"]
    assert qrels.doc_ids.tolist() == ["D1", "D2", "D1", "D9"]
    assert qrels.relevance.tolist() == [1, 0, 2, -1]
    assert len(qrels) == 4


def test_run_columns(tmp_path):
    run = read_run(make_file(tmp_path, RUN))
    assert run.qid.tolist() == ["301", "301", "302"]
    assert run.doc_ids.tolist() == ["D2", "D1", "D7"]
    assert run.scores.tolist() == [0.9, 0.5, -1.0]
    assert run.tag == "sys"


@pytest.mark.parametrize("read", [read_qrels, read_run])
@pytest.mark.parametrize("text", ["", "\n \r\n", "\ufeff"])
def test_empty_files_are_refused(tmp_path, read, text):
    path = make_file(tmp_path, text)
    with pytest.raises(ValueError, match=f"{path} is empty"):
        read(path)


@pytest.mark.parametrize(
    "read, text, line, reason",
    [
        (read_qrels, "1 0 D1 1\n1 0 D2\n", 2, "expected 4 fields"),
        (read_qrels, "1 0 D1 1\n\n1 0 D2 1 1\n", 3, "expected 4 fields"),
        (read_qrels, "1 0 D1 -1.5\n", 1, "'-1.5' is not a grade"),
        (read_qrels, "1 0 D1 1_0\n", 1, "'1_0' is not a grade"),
        (read_qrels, "1 0 D1 1\n1 0 D2 99999999999999999999\n", 2, "is not a grade"),
        (read_qrels, "1 0 D1 1\n2 0 D1 1\n\n1 0 D1 0\n", 4, "has document 'D1' a second time"),
        (read_qrels, b"1 0 D\xff 1\n", 1, "is not UTF-8 text"),
        (read_run, "1 Q0 D1 1 0.5\n", 1, "expected 6 fields"),
        (read_run, "1 Q0 D1 1 0.5 s\n1 Q0 D2 2 high s\n", 2, "'high' is not a finite number"),
        (read_run, "1 Q0 D1 1 nan s\n", 1, "'nan' is not a finite number"),
        (read_run, "1 Q0 D1 1 -inf s\n", 1, "'-inf' is not a finite number"),
        (read_run, "1 Q0 D1 1 3 s\n1 Q0 D1 2 2 s\n", 2, "has document 'D1' a second time"),
    ],
)
def test_bad_lines_are_named(tmp_path, read, text, line, reason):
    path = make_file(tmp_path, text)
    with pytest.raises(ValueError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert reason in str(caught.value)


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_round_trip(tmp_path, rng, suffix):
    qid = np.repeat([f"q{i}" for i in range(20)], 5)
    doc_ids = np.array([f"ü{i}" for i in rng.permutation(100)])
    qrels = Qrels(qid, doc_ids, rng.integers(-2, 5, 100))
    write_qrels(qrels, tmp_path / f"qrels{suffix}")
    back = read_qrels(tmp_path / f"qrels{suffix}")
    for name in ("qid", "doc_ids", "relevance"):
        np.testing.assert_array_equal(getattr(back, name), getattr(qrels, name))

    run = Run(qid, doc_ids, np.sort(rng.standard_normal(100).reshape(20, 5))[:, ::-1].ravel(), "t")
    write_run(run, tmp_path / f"run{suffix}")
    back = read_run(tmp_path / f"run{suffix}")
    for name in ("qid", "doc_ids", "scores"):
        np.testing.assert_array_equal(getattr(back, name), getattr(run, name))
    assert back.tag == "t"


def test_written_gzip_has_the_same_bytes_each_time(tmp_path):
    qrels = Qrels(np.array(["1"]), np.array(["d"]), np.array([1]))
    for name in ("a.gz", "b.gz"):
        write_qrels(qrels, tmp_path / name)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"1 0 d 1\n"


def test_run_is_written_best_first_and_ranked(tmp_path):
    run = Run(
        np.array(["b", "a", "b", "a", "b"]),
        np.array(["d1", "d2", "d3", "d4", "d5"]),
        np.array([1.0, 2.0, 3.0, 2.0, 1.0]),
        "s",
    )
    write_run(run, tmp_path / "run")
    assert (tmp_path / "run").read_text() == (
        "b Q0 d3 1 3 s\nb Q0 d5 2 1 s\nb Q0 d1 3 1 s\na Q0 d4 1 2 s\na Q0 d2 2 2 s\n"
    )


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float64, object])
def test_ids_that_are_numbers_are_written_as_their_digits(tmp_path, kind):
    qid, doc_ids = np.array([7, 7, 10], dtype=kind), np.array([9, 10, 9], dtype=kind)
    run, qrels = Run(qid, doc_ids, np.ones(3)), Qrels(qid, doc_ids, np.array([1, 0, 2]))
    write_run(run, tmp_path / "run")
    # Ties go by descending text.
    assert (tmp_path / "run").read_text() == (
        "7 Q0 9 1 1 rankwise\n7 Q0 10 2 1 rankwise\n10 Q0 9 1 1 rankwise\n"
    )
    write_qrels(qrels, tmp_path / "qrels")
    assert (tmp_path / "qrels").read_text() == "7 0 9 1\n7 0 10 0\n10 0 9 2\n"
    assert judge(qrels, run).qid.tolist() == ["7", "7", "10"]


@pytest.mark.parametrize("bad", ["", "a b", "a\n", "a\v", "\fa", "a\0"])
def test_ids_with_white_space_are_refused(tmp_path, bad):
    qrels = Qrels(np.array(["1", bad], dtype=object), np.array(["d", "e"]), np.array([1, 1]))
    with pytest.raises(ValueError, match=r"qid must not be empty or hold white space.* at row 1"):
        write_qrels(qrels, tmp_path / "qrels")
    with pytest.raises(ValueError, match="tag must not"):
        write_run(Run(np.array(["1"]), np.array(["d"]), np.array([1.0]), bad), tmp_path / "run")


def judged_data(**kwargs):
    columns = {"y": np.array([2.0, 0.0, 1.0]), "qid": np.array([7, 7, 8])} | kwargs
    return RankingData(np.zeros((3, 1)), **columns)


def test_from_judged_data():
    data = judged_data(doc_ids=np.array(["x", "y", "x"]))
    qrels, run = Qrels.from_data(data), Run.from_data(data, [0.1, 0.2, 0.3], "mine")
    assert qrels.qid.tolist() == run.qid.tolist() == ["7", "7", "8"]
    assert qrels.doc_ids.tolist() == run.doc_ids.tolist() == ["x", "y", "x"]
    assert qrels.relevance.tolist() == [2, 0, 1]
    assert run.scores.tolist() == [0.1, 0.2, 0.3]
    assert run.tag == "mine"
    assert Qrels.from_data(judged_data()).doc_ids.tolist() == ["0", "1", "2"]


def test_from_judged_data_refuses():
    with pytest.raises(ValueError, match=r"fractions above 0, got -0\.5 at row 1"):
        Qrels.from_data(judged_data(y=np.array([1.0, -0.5, 0.0])))
    with pytest.raises(ValueError, match="query '7' has document 'x' a second time at row 1"):
        Qrels.from_data(judged_data(doc_ids=np.array(["x", "x", "x"])))
    with pytest.raises(ValueError, match="n_samples=3 entries"):
        Run.from_data(judged_data(), [1.0])
    with pytest.raises(ValueError, match="finite, got nan at row 1"):
        Run.from_data(judged_data(), [1.0, np.nan, 0.0])


def test_judge_small_case():
    qrels = Qrels(
        np.array(["1", "1", "1", "2", "3", "3"]),
        np.array(["a", "b", "c", "a", "a", "b"]),
        np.array([2, 0, 1, 1, 0, -1]),
    )
    run = Run(
        np.array(["1", "1", "1", "9", "3"]),
        np.array(["z", "b", "a", "a", "b"]),
        np.array([0.5, 0.5, 0.1, 1.0, 3.0]),
    )
    rows = judge(qrels, run)
    assert rows.qid.tolist() == ["1", "1", "1", "1", "3", "3"]
    assert rows.doc_ids.tolist() == ["z", "b", "a", "c", "b", "a"]
    assert rows.y.tolist() == [0, 0, 2, 1, 0, 0]
    np.testing.assert_allclose(rows.scores, [0.5, 0.5, 0.1, -np.inf, 3.0, -np.inf])
    assert rows.judged.tolist() == [False, True, True, True, False, True]
    assert rows.retrieved.tolist() == [True, True, True, False, True, False]
    assert judge(qrels, run, all_queries=True).qid.tolist() == ["1"] * 4 + ["2"] + ["3"] * 2


def random_run_and_qrels(rng):
    """Runs that miss judged documents and retrieve unjudged ones, with ties in single precision."""
    rows = [(f"q{q}", f"d{d}") for q in range(30) for d in range(25)]
    judged = [row for row in rows if rng.random() < 0.5 and row[0] != "q3"]
    retrieved = [row for row in rows if rng.random() < 0.6 and row[0] != "q5"]
    grades = rng.integers(-1, 4, len(judged))
    grades[[q == "q4" for q, _ in judged]] = 0
    scores = rng.integers(0, 8, len(retrieved)) + 1e-9 * rng.random(len(retrieved))
    judged, retrieved = rng.permutation(judged), rng.permutation(retrieved)
    return Run(retrieved[:, 0], retrieved[:, 1], scores), Qrels(judged[:, 0], judged[:, 1], grades)


def nested(entries, values):
    tree = {}
    for q, d, value in zip(entries.qid.tolist(), entries.doc_ids.tolist(), values, strict=True):
        tree.setdefault(q, {})[d] = value.item()
    return tree


def test_judged_rows_give_the_values_of_trec_eval(rng):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, qrels = random_run_and_qrels(rng)
    measures = {"map", "ndcg", "P_10", "recip_rank", "num_ret", "num_rel"}
    peer = pytrec_eval.RelevanceEvaluator(nested(qrels, qrels.relevance), measures).evaluate(
        nested(run, run.scores)
    )
    rows = judge(qrels, run)
    assert set(rows.qid.tolist()) == set(peer)
    specs = {
        "AP": "map",
        "nDCG": "ndcg",
        "P@10": "P_10",
        "RR": "recip_rank",
        "AP(ties='stable')": "map",  # the rows are in trec_eval's order
    }
    options = {"doc_ids": rows.doc_ids, "retrieved": rows.retrieved, "preset": "trec_eval"}
    result = evaluate(rows.y, rows.scores, rows.qid, list(specs), **options)
    for spec, name in specs.items():
        expected = [peer[query][name] for query in result.qids.tolist()]
        np.testing.assert_allclose(result.per_query[spec], expected, rtol=0, atol=1e-12)
    for query, expected in peer.items():
        here = rows.qid == query
        retrieved = rows.retrieved[here]
        assert expected["num_ret"] == retrieved.sum()
        assert expected["num_rel"] == (rows.y[here] > 0).sum()
        assert retrieved[: retrieved.sum()].all()


def test_judge_ignores_line_order(rng):
    run, qrels = random_run_and_qrels(rng)
    shuffled = rng.permutation(len(run))
    other = Run(run.qid[shuffled], run.doc_ids[shuffled], run.scores[shuffled])
    first, second = judge(qrels, run), judge(qrels, other)
    for name in ("y", "scores", "qid", "doc_ids", "judged", "retrieved"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
