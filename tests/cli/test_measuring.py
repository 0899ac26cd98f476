"""``evaluate``, ``convert``, ``lint``: files against files."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rankwise.datasets import Qrels, Run, read_letor, read_qrels, read_table, write_qrels, write_run
from rankwise.metrics import evaluate
from rankwise.selection import (
    bias_by_length,
    difference_bounds,
    evaluate_with_judge,
    next_judgements,
)

from .conftest import judged_data


@pytest.fixture
def scores(letor_file, tmp_path, rng):
    values = rng.normal(size=read_letor(letor_file).n_samples)
    path = tmp_path / "scores.txt"
    path.write_text("".join(f"{value!r}\n" for value in values.tolist()))
    return path, values


def test_scores_against_labels(rankwise, letor_file, scores):
    path, values = scores
    run = rankwise(
        "evaluate", path, letor_file, "--measures", "nDCG(gain=linear,empty=0)@3,AP", "--json", "-q"
    )
    assert run.code == 0, run.err
    data = read_letor(letor_file)
    expected = evaluate(data.y, values, data.qid, ["nDCG(gain=linear,empty=0)@3", "AP"])
    for spec in expected:
        assert run.json["measures"][spec]["mean"] == expected[spec]
        assert run.json["per_query"][spec] == expected.per_query[spec].tolist()
        low, high = run.json["measures"][spec]["interval"]
        assert low < expected[spec] < high
    assert run.json["qids"] == data.groups.ids.tolist()
    shown = rankwise("evaluate", path, letor_file, "--measures", "AP", "--per-query").out
    lines = [line.split() for line in shown.splitlines()]
    assert ["1", f"{expected.per_query['AP'][0]:.4f}"] in lines
    (mean,) = (line for line in lines if line[:1] == ["AP"])
    assert mean[1] == f"{expected['AP']:.4f}"
    assert mean[5:8] == ["12", "of", "12"]


def test_a_preset_is_taken(rankwise, letor_file, scores):
    path, values = scores
    run = rankwise("evaluate", path, letor_file, "--preset", "letor4", "--json")
    data = read_letor(letor_file)
    expected = evaluate(data.y, values, data.qid, ["nDCG@10", "AP"], preset="letor4")
    assert {spec: of["mean"] for spec, of in run.json["measures"].items()} == dict(expected)


def test_few_human_judgements_correct_those_of_a_machine(rankwise, tmp_path, rng):
    rows = np.array([(f"q{q}", f"d{d}") for q in range(60) for d in range(8)])
    grades = (rng.random(len(rows)) < 0.4).astype(int)
    called = np.where(rng.random(len(rows)) < 0.7, grades, 1)
    few = np.isin(rows[:, 0], [f"q{q}" for q in range(15)])
    write_qrels(Qrels(*rows[few].T, grades[few]), tmp_path / "human.qrels")
    write_qrels(Qrels(*rows.T, called), tmp_path / "machine.qrels")
    for name in ("a", "b"):
        write_run(Run(*rows.T, grades + rng.random(len(rows))), tmp_path / f"{name}.run")
    words = ("evaluate", tmp_path / "a.run", tmp_path / "human.qrels", "--measures", "P@3",
             "--judge", tmp_path / "machine.qrels")  # fmt: skip
    found = rankwise(*words, "--systems", tmp_path / "b.run", "--json").json
    runs = {name: tmp_path / f"{name}.run" for name in "ab"}
    wanted = evaluate_with_judge(tmp_path / "human.qrels", tmp_path / "machine.qrels", runs, "P@3")
    assert found["means"]["P@3"]["a"]["low"] == wanted.means["P@3"]["a"].low
    [pair] = found["differences"]["P@3"]
    assert (pair["first"], pair["second"], pair["n_machine"]) == ("a", "b", 45)
    assert rankwise(*words, "--systems", tmp_path / "b.run").out.strip() == str(wanted)
    alone = rankwise(*words)
    assert alone.code == 0 and alone.out.startswith("P@3: 15 queries with human and machine")
    refused = rankwise(*words, "--per-query")
    assert refused.code == 2 and "--judge compares TREC runs, not --per-query" in refused.err
    texts = tmp_path / "texts.tsv"
    texts.write_text("".join(f"d{d}\t{'word ' * 2**d}\n" for d in range(8)))
    by_length = bias_by_length(
        tmp_path / "human.qrels", tmp_path / "machine.qrels", {f"d{d}": 2**d for d in range(8)}
    )
    shown = rankwise(*words, "--documents", texts)
    assert shown.code == 0 and shown.out.endswith(f"by length in words:\n\n{by_length}\n")
    found = rankwise(*words, "--documents", texts, "--json").json["bias_by_length"]
    assert found == json.loads(json.dumps(by_length.to_dict()).replace("NaN", "null"))
    refused = rankwise(*words[:5], "--documents", texts)
    assert refused.code == 2 and "--documents needs the judgements of a machine" in refused.err
    (tmp_path / "scores.txt").write_text("1\n")
    refused = rankwise(*words, "--systems", tmp_path / "scores.txt")
    assert refused.code == 2 and "scores is not one" in refused.err


def test_documents_to_judge_next(rankwise, tmp_path, rng):
    rows = np.array([(f"q{q}", f"d{d}") for q in range(12) for d in range(9)])
    grades, known = rng.integers(0, 2, len(rows)), rng.random(len(rows)) < 0.5
    known[::9] = True
    qrels = tmp_path / "some.qrels"
    write_qrels(Qrels(*rows[known].T, grades[known]), qrels)
    paths = [tmp_path / f"{name}.run" for name in "abc"]
    for path in paths:
        write_run(Run(*rows.T, rng.random(len(rows))), path)
    words = ("evaluate", paths[0], qrels, "--measures", "P@3,AP", "--judge-next", "4")
    systems = ("--systems", f"{paths[1]},{paths[2]}")
    runs = {path.stem: path for path in paths}
    wanted, bounds = next_judgements(qrels, runs, "P@3", k=4), difference_bounds(qrels, runs, "P@3")
    found = rankwise(*words, *systems, "--json").json
    assert [c["doc_id"] for c in found["next"]] == [c.doc_id for c in wanted]
    assert [d["low"] for d in found["differences"]] == [b.low for b in bounds]
    shown = rankwise(*words, *systems).out
    for c in wanted:
        assert f"{c.qid} " in shown and f"{c.gain:.4f}" in shown
    assert f"P@3 of {bounds[0].first} - {bounds[0].second}: {bounds[0].difference:+.4f}, b" in shown
    against = rankwise(*words, *systems, "--baseline", "a", "--json").json["differences"]
    assert [(d["first"], d["second"]) for d in against] == [("b", "a"), ("c", "a")]
    alone = rankwise(*words)
    assert alone.code == 2 and "--judge-next compares several systems" in alone.err
    refused = rankwise(*words, *systems, "--all-queries")
    assert refused.code == 2 and "--judge-next compares TREC runs, not --all-qu" in refused.err


def test_a_trec_run_against_qrels_is_what_trec_eval_says(rankwise, tmp_path, rng):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    judged = [(f"q{q}", f"d{d}") for q in range(12) for d in range(15) if rng.random() < 0.6]
    found = [(f"q{q}", f"d{d}") for q in range(1, 14) for d in range(15) if rng.random() < 0.5]
    grades = rng.integers(0, 3, len(judged))
    ranks = rng.integers(0, 5, len(found)).astype(float)
    write_qrels(Qrels(*np.array(judged).T, grades), tmp_path / "q.qrels")
    write_run(Run(*np.array(found).T, ranks), tmp_path / "r.run")
    judgments, results = {}, {}
    for (q, d), grade in zip(judged, grades.tolist(), strict=True):
        judgments.setdefault(q, {})[d] = grade
    for (q, d), score in zip(found, ranks.tolist(), strict=True):
        results.setdefault(q, {})[d] = score
    peer = pytrec_eval.RelevanceEvaluator(
        judgments, {"map", "ndcg_cut.10", "bpref", "infAP", "P.5", "recall.5", "recip_rank"}
    ).evaluate(results)
    arguments = ("evaluate", tmp_path / "r.run", tmp_path / "q.qrels", "--json")
    run = rankwise(*arguments, "--preset", "trec_eval")
    assert run.code == 0, run.err
    for spec, name in (("AP", "map"), ("nDCG@10", "ndcg_cut_10")):
        expected = np.mean([of[name] for of in peer.values()])
        assert run.json["measures"][spec]["mean"] == pytest.approx(expected, abs=1e-12)
        assert "docid" in run.json["measures"][spec]["convention"]
    assert run.json["queries"] == len(peer) == 11
    names = ["map", "ndcg_cut_10", "bpref", "infAP", "P_5", "recall_5", "recip_rank"]
    own = rankwise(*arguments, "--preset", "trec_eval", "--measures", ",".join(names))
    for name in names:
        expected = np.mean([of[name] for of in peer.values()])
        assert own.json["measures"][name]["mean"] == pytest.approx(expected, abs=1e-12)
    condensed = rankwise(*arguments, "--measures", "AP(judged_only=True,rel=2),Judged@5,unjudged@5")
    means = {name: found["mean"] for name, found in condensed.json["measures"].items()}
    assert list(means) == ["AP(judged_only=True,rel=2)", "Judged@5", "unjudged@5"]
    assert (
        means["Judged@5"] + means["unjudged@5"] == pytest.approx(1) and 0.3 < means["Judged@5"] < 1
    )
    beside = rankwise(*arguments, "--measures", "P@5,AP(judged_only=True)").json["measures"]
    assert beside["P@5"]["unjudged"] == pytest.approx(means["unjudged@5"])
    assert beside["AP(judged_only=True)"]["unjudged"] is None
    shown = rankwise(*arguments[:-1], "--measures", "P@5,AP(judged_only=True)").out
    assert f"{means['unjudged@5']:.1%}" in shown and "unjudged" in shown
    refused = rankwise(*arguments, "--preset", "trec_eval", "--measures", "num_ret")
    assert refused.code == 2 and "'set_P' is num_rel_ret / num_ret" in refused.err
    refused = rankwise(*arguments, "--measures", "P_5")
    assert refused.code == 2 and "read under the preset 'trec_eval'" in refused.err
    with_all = rankwise(*arguments, "--preset", "trec_eval", "--all-queries")
    assert with_all.json["queries"] == 12
    assert with_all.json["measures"]["AP"]["mean"] == pytest.approx(
        run.json["measures"]["AP"]["mean"] * 11 / 12
    )


def test_scores_that_do_not_fit(rankwise, letor_file, scores, tmp_path):
    path, _ = scores
    short, odd, guess = (tmp_path / f"{name}.txt" for name in ("short", "odd", "guess"))
    short.write_text("0.5\n1e-3\n")
    odd.write_text("0.5\nhigh\n")
    guess.write_text("0.5\n1_0\n")  # Python's digit separator
    for arguments, code, message in (
        ((short, letor_file), 1, "short: got 2 scores for 96 rows"),
        ((odd, letor_file), 1, "odd.txt, line 2: 'high' is not a finite number."),
        ((guess, letor_file), 1, "guess.txt, line 2: '1_0' is not a finite number."),
        ((tmp_path / "none", letor_file), 2, "is not a file"),
        ((path, letor_file, "--all-queries"), 2, "--all-queries needs TREC runs"),
        ((path, letor_file, "--measures", "nDCG@"), 2, "a measure must be Name(key=value"),
        ((path, "lambdarank"), 2, "lambdarank:all"),
    ):
        run = rankwise("evaluate", *arguments)
        assert run.code == code, run.err
        assert message in run.err
        assert run.err.count("\n") == 1
    write_run(Run(np.array(["a"]), np.array(["d"]), np.array([1.0])), tmp_path / "r.run")
    write_qrels(Qrels(np.array(["b"]), np.array(["d"]), np.array([1])), tmp_path / "q")
    run = rankwise("evaluate", tmp_path / "r.run", tmp_path / "q")
    assert (run.code, "have no query in common" in run.err) == (1, True)


@pytest.mark.parametrize("chain", [["a.csv"], ["a.tsv.gz"], ["a.parquet"], ["a.csv.zst", "b.pq"]])
def test_tables_keep_every_bit(rankwise, letor_file, tmp_path, chain):
    source = letor_file
    for name in [*chain, "back.letor.gz"]:
        run = rankwise("convert", source, "--out", tmp_path / name)
        assert run.code == 0, run.err
        source = tmp_path / name
    first, last = read_letor(letor_file), read_letor(source)
    np.testing.assert_array_equal(first.X, last.X)
    np.testing.assert_array_equal(first.y, last.y)
    np.testing.assert_array_equal(first.qid, last.qid)
    np.testing.assert_array_equal(first.doc_ids, last.doc_ids)
    table = read_table(tmp_path / chain[0])
    np.testing.assert_array_equal(first.X, table.X)


def test_qrels_and_names_without_a_suffix(rankwise, letor_file, tmp_path):
    assert rankwise("convert", letor_file, "--out", tmp_path / "j", "--to", "qrels").code == 0
    data, qrels = read_letor(letor_file), read_qrels(tmp_path / "j")
    np.testing.assert_array_equal(qrels.relevance, data.y)
    np.testing.assert_array_equal(qrels.doc_ids, data.doc_ids)
    run = rankwise("convert", letor_file, "--out", tmp_path / "j.xyz")
    assert run.code == 2
    assert "'j.xyz' implies no format. Add --to letor|csv|tsv|parquet|qrels" in run.err
    assert rankwise("convert", "lambdarank:test", "--out", tmp_path / "t.parquet").code == 0
    assert read_table(tmp_path / "t.parquet").n_queries == 50


@pytest.mark.parametrize("style", ["lightgbm", "xgboost"])
def test_group_sizes_beside_the_text(rankwise, letor_file, tmp_path, style):
    out = tmp_path / "rank.train"
    assert rankwise("convert", letor_file, "--out", out, "--to", style).code == 0
    assert "qid" not in out.read_text()
    back = tmp_path / "back.txt"
    assert rankwise("convert", out, "--out", back).code == 0
    first, last = read_letor(letor_file), read_letor(back)
    np.testing.assert_array_equal(first.X, last.X)
    np.testing.assert_array_equal(first.groups.indptr, last.groups.indptr)
    two = rankwise("compare", out, letor_file)
    assert two.code == 2
    assert "must be the only one, got 2 files" in two.err


def test_columns_by_other_names(rankwise, letor_file, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("session,stars,a\nx,2,0.5\nx,0,0.25\n")
    assert rankwise("convert", table, "--out", tmp_path / "o.txt").code == 1
    named = ("--label", "stars", "--qid", "session")
    assert rankwise("convert", table, "--out", tmp_path / "o.txt", *named).code == 0
    assert (tmp_path / "o.txt").read_text() == "2 qid:x 1:0.5\n0 qid:x 1:0.25\n"
    run = rankwise("convert", letor_file, "--out", tmp_path / "o.txt", *named)
    assert run.code == 2
    assert "is LETOR text, whose columns have no names" in run.err
    table.write_text("session,stars,label\nx,2,0.5\n")
    run = rankwise("convert", table, "--out", tmp_path / "o.csv", *named)
    assert run.code == 1
    assert "like other columns of the table, got label" in run.err


def test_malformed_text_is_exit_code_one_with_its_line(rankwise, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_text("1 qid:1 1:0.5\n0 qid:1 1:x\n")
    run = rankwise("lint", bad)
    assert run.code == 1
    assert run.out == ""
    assert run.err.count("\n") == 1
    assert "bad.txt" in run.err
    assert "line 2" in run.err


def test_lint_finds_leaks_and_says_so_by_its_code(rankwise, part_files, letor_file):
    sound = rankwise("lint", *part_files, "--json")
    assert sound.code == 0, sound.err
    assert sound.json["ok"] is True
    assert sound.json["caches_rebuilt"] == []
    assert sound.json["parts"][0]["n_queries"] == 20
    leak = rankwise("lint", part_files[0], "--test-data", part_files[0])
    assert leak.code == 1
    assert "queries in two parts" in leak.out and "fold1" not in leak.out
    names = [f"{what} ({part_files[0].stem})" for what in ("train", "test")]
    assert all(name in leak.out for name in names)
    leak = rankwise("lint", part_files[0], "--vali-data", part_files[0], "--json")
    assert [part["name"] for part in leak.json["parts"]] == [
        names[0],
        names[0].replace("train", "vali"),
    ]
    folds = rankwise("lint", letor_file, "--cv", 3, "--json")
    assert len(folds.json["parts"]) == 9
    assert rankwise("lint", "lambdarank").code == 0


def test_lint_rebuilds_damaged_caches(rankwise, letor_file, tmp_path):
    assert rankwise("lint", letor_file).code == 0
    cache = max((tmp_path / "cache").rglob("*.npy"), key=lambda path: path.stat().st_size)
    damaged = bytearray(cache.read_bytes())
    damaged[-1] ^= 1
    cache.write_bytes(damaged)
    run = rankwise("lint", letor_file, "--json")
    assert run.code == 0
    assert run.err.startswith(f"warning: {cache.parent}")
    assert len(run.json["caches_rebuilt"]) == 1
    assert rankwise("lint", letor_file, "--json").json["caches_rebuilt"] == []


def test_the_helper_makes_learnable_data():
    data = judged_data(0)
    assert set(data.y) == {0.0, 1.0, 2.0}
    assert evaluate(data.y, data.X[:, 0], data.qid, "AP")["AP"] > 0.8


# Files without queries ---------------------------------------------------------------------------


@pytest.fixture
def one_query_file(tmp_path, rng):
    path = tmp_path / "plain.txt"
    rows = zip(rng.integers(0, 3, 40), rng.normal(size=(40, 2)), strict=True)
    path.write_text("".join(f"{y} 1:{a:.3f} 2:{b:.3f}\n" for y, (a, b) in rows))
    return path


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "DATA", "--ranker", "ridge", "--out", "OUT"],
        ["compare", "DATA", "--rankers", "ridge", "--test-data", "OTHER"],
        ["compare", "DATA", "--rankers", "orboost", "--test-data", "OTHER"],  # measured by nDCG
        ["evaluate", "SCORES", "DATA"],
    ],
)
def test_a_file_without_queries_needs_a_word(rankwise, one_query_file, tmp_path, words):
    files = {"DATA": one_query_file, "OUT": tmp_path / "model", "SCORES": tmp_path / "scores.txt"}
    files["SCORES"].write_text("0.5\n" * 39 + "1\n")
    files["OTHER"] = tmp_path / "other.txt"
    files["OTHER"].write_text(one_query_file.read_text().replace(".", ".5"))
    words = [files.get(word, word) for word in words]
    run = rankwise(*words)
    assert run.code == 2
    assert "plain.txt names no queries, or only one: all 40 rows" in run.err
    assert "--one-query" in run.err
    assert not (tmp_path / "model").exists()
    run = rankwise(*words, "--one-query")
    assert run.code == 0, run.err


@pytest.mark.parametrize("words", [["cv", "--ranker", "ridge"], ["compare", "--cv", "letor"]])
def test_one_query_is_never_split(rankwise, one_query_file, words):
    command, *options = words
    for extra in ([], ["--one-query"]):
        run = rankwise(command, one_query_file, *options, *extra)
        assert run.code == 2
        assert "plain.txt names at most one" in run.err
        assert "--one-query" not in run.err


def test_a_table_without_queries_needs_a_word(rankwise, one_query_file, tmp_path):
    table = tmp_path / "plain.csv"
    assert rankwise("convert", one_query_file, "--out", table).code == 0
    rows = [line.split(",") for line in table.read_text().splitlines()]
    named = rows[0].index('"qid"')
    table.write_text("".join(",".join(r[:named] + r[named + 1 :]) + "\n" for r in rows))
    fit = ["fit", "--ranker", "ridge", "--out", tmp_path / "model"]
    run = rankwise(*fit, table)
    assert run.code == 1
    assert "Pass --qid NAME, or --one-query if all rows are one query" in run.err
    assert rankwise(*fit, table, "--one-query").code == 0
    assert rankwise("lint", table, "--one-query").code == 0
    table.write_text("".join(",".join(r) + "\n" for r in rows))
    run = rankwise(*fit, table, "--one-query")
    assert run.code == 1
    assert "column 'qid' would become a feature" in run.err
    assert rankwise(*fit, table, "--one-query", "--qid", "qid").code == 0


def test_classes_need_no_queries(rankwise, one_query_file, tmp_path):
    scores = tmp_path / "scores.txt"
    scores.write_text("1\n" * 40)
    assert rankwise("evaluate", scores, one_query_file, "--measures", "MAE").code == 0
    run = rankwise("fit", one_query_file, "--ranker", "ranking_tree", "--out", tmp_path / "model")
    assert run.code == 0, run.err


def test_notes_on_ties_and_on_measures_of_no_query(rankwise, tmp_path):
    (tmp_path / "a.run").write_text("".join(f"q Q0 d{d} 1 1.0 t\n" for d in range(4)))
    (tmp_path / "a.qrels").write_text("q 0 d1 1\nq 0 d2 0\n")
    arguments = ("evaluate", tmp_path / "a.run", tmp_path / "a.qrels", "--measures", "AP,AP(rel=2)")
    run = rankwise(*arguments, "--preset", "letor3")
    assert "note: AP: rows with equal scores rank in the order of the rows" in run.out
    run = rankwise(*arguments, "--json")
    assert run.json["measures"]["AP(rel=2)"]["counted"] == 0
    assert run.json["notes"] == [
        "AP(rel=2): no query counts, since no label is at least rel=2: set AP(rel=...)."
    ]
    (tmp_path / "b.run").write_text((tmp_path / "a.run").read_text())
    several = rankwise(*arguments, "--systems", tmp_path / "b.run")
    assert "AP(rel=2): no query counts, since no label is at least rel=2" in several.out
    board = rankwise(*arguments, "--systems", tmp_path / "b.run", "--json").json
    counts = [
        {name: of["counted"] for name, of in row["measures"].items()} for row in board["rows"]
    ]
    assert counts == [{"AP": 1, "AP(rel=2)": 0}] * 2
    reasons = {name: of["undefined"] for name, of in board["rows"][0]["measures"].items()}
    assert reasons == {"AP": None, "AP(rel=2)": "no label is at least rel=2: set AP(rel=...)"}


def test_one_run_says_which_queries_do_not_count(rankwise, tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 2 t\n3 Q0 a 1 2 t\n")
    found = rankwise("evaluate", tmp_path / "run", tmp_path / "qrels")
    said = [
        "1 of 2 queries of the run are not judged and do not count",
        "1 of 2 judged queries are not in the run and do not count",
        "rankers can differ on 0",
    ]
    assert found.code == 0
    notes = [line for line in found.out.splitlines() if line.startswith("note: ")]
    assert notes == [f"note: {note}" for note in said]
    found = rankwise("evaluate", tmp_path / "run", tmp_path / "qrels", "--json")
    assert found.json["notes"] == said


def test_whole_numbers_in_tables_of_scores_can_be_read_both_ways(rankwise, tmp_path):
    """BEIR names grades "score", too; trec_eval takes the judgements first."""
    run, qrels, graded = (tmp_path / f"{name}.tsv" for name in ("run", "qrels", "graded"))
    run.write_text("qid\tdoc_id\tscore\nq1\td1\t3\nq1\td2\t5\nq2\td3\t2\n")
    qrels.write_text("qid\tdoc_id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td3\t1\n")
    graded.write_text(qrels.read_text().replace("score", "relevance"))
    for first, second in ((run, qrels), (qrels, run)):
        found = rankwise("evaluate", first, second, "--measures", "AP")
        assert found.code == 1
        assert "can be read both ways" in found.err and "NAME=FILE" in found.err
    for words in ((f"a={run}", qrels), (run, graded)):
        assert "0.7500" in rankwise("evaluate", *words, "--measures", "AP").out


def test_documents_with_the_id_of_their_query(rankwise, tmp_path):
    run, qrels = tmp_path / "a.run", tmp_path / "qrels"
    run.write_text("q1 Q0 q1 1 3 t\nq1 Q0 d1 2 2 t\nq2 Q0 d2 1 2 t\n")
    qrels.write_text("q1 0 d1 1\nq2 0 d2 0.5\nq2 0 d3 1\n")
    arguments = ("evaluate", run, qrels, "--measures", "RR,nDCG", "--json")
    found = rankwise(*arguments)
    assert found.json["measures"]["RR"]["mean"] == 0.25
    assert any("leave them out with --ignore-identical-ids" in n for n in found.json["notes"])
    found = rankwise(*arguments, "--ignore-identical-ids")
    assert found.json["measures"]["RR"]["mean"] == 0.5
    assert not any("identical" in note for note in found.json["notes"])
    scores = tmp_path / "scores"
    scores.write_text("1\n2\n3\n")
    found = rankwise("evaluate", scores, qrels, "--ignore-identical-ids")
    assert found.code == 2
    assert "--ignore-identical-ids needs TREC runs, but scores is not one" in found.err


def test_queries_on_which_rankings_cannot_differ_are_named_and_left_out(rankwise, tmp_path):
    table, scores = tmp_path / "judged.csv", tmp_path / "scores.txt"
    sizes = [1, 1, *[4] * 6]
    rows = [(q, row % 2 if size > 1 else 1, q * row % 5, -row)
            for q, size in enumerate(sizes) for row in range(size)]  # fmt: skip
    table.write_text("qid,label,a,b\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows))
    scores.write_text("".join(f"{row[2]}\n" for row in rows))
    every = rankwise("evaluate", scores, table)
    assert "note: rankers can differ on 6\n" in every.out
    found = rankwise("evaluate", scores, table, "--differing-queries", "--json").json
    assert found["measures"]["nDCG@10"]["counted"] == 6
    assert found["notes"] == ["left out: 2 with one row, or rows of one grade"]
    several = ("evaluate", scores, table, "--systems", "column:b")
    assert "8 queries (rankers can differ on 6), ordered" in rankwise(*several).out
    shown = rankwise(*several, "--differing-queries").out
    assert "(left out: 2 with one row, or rows of one grade)" in shown
    words = ("--ranker", "ridge()", "--cv", "2", "--differing-queries", "--json")
    board = rankwise("cv", table, *words).json
    assert board["rows"][0]["measures"]["nDCG@10"]["counted"] == 6
    needs = "--differing-queries needs measures of rankings"
    for given, problem in (
        (("evaluate", scores, table, "--measures", "MAE"), needs),
        (("compare", table, "--rankers", "ridge", "--measures", "MAE"), needs),
        (("evaluate", scores, table, "--judge", table), "not --differing-queries"),
    ):
        refused = rankwise(*given, "--differing-queries")
        assert refused.code == 2 and problem in refused.err, refused.err
