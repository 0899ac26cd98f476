"""Files of judgements, runs and scores on the command line: told by content, ids as written."""

import pytest

RUN = "007 Q0 Caf\u00e9\xa0Central 1 2.0 t\n007 Q0 b 2 1.0 t\n7 Q0 b 1 3.0 t\n"
TRIPLES = [("007", "Caf\u00e9\xa0Central", 1), ("007", "b", 0), ("7", "b", 1)]
LINES = {
    "qrels.dev.small.tsv": ("{}\t0\t{}\t{}\n", ""),
    "trec.csv": ("{} 0 {} {}\r\n", ""),
    "beir.tsv": ("{}\t{}\t{}\n", "query-id\tcorpus-id\tscore\n"),
    "bare.tsv": ("{}\t{}\t{}\n", ""),
    "bare.txt": ("{} {} {}\n", ""),
    "table.csv": ("{},{},{}\n", "qid,docno,label\n"),
    "letor.tsv": ("{2} qid:{0} 1:1 # docid = {1}\n", ""),
}


@pytest.mark.parametrize("name", LINES)
def test_judgements_of_every_form(rankwise, tmp_path, name):
    line, header = LINES[name]
    judged, run = tmp_path / name, tmp_path / "a.run"
    judged.write_bytes((header + "".join(line.format(*row) for row in TRIPLES)).encode())
    run.write_bytes(RUN.encode())
    found = rankwise("evaluate", run, judged, "--measures", "AP", "--json")
    assert (found.code, found.err) == (0, "")
    assert found.json["measures"]["AP"]["mean"] == 1.0
    assert found.json["queries"] == 2
    out = tmp_path / "fused.run"
    (tmp_path / "b.run").write_bytes(RUN.encode())
    fused = rankwise("fuse", run, tmp_path / "b.run", "--qrels", judged, "--rule", "pos", "-o", out)
    assert fused.code == 0, fused.err
    assert "Caf\u00e9\xa0Central" in out.read_text("utf-8")


@pytest.mark.parametrize(
    "text, said",
    [
        ("1 Q0 a 1 2.0\n", "line 1: expected 6 fields (query Q0 document rank score tag), got 5"),
        ("1 Q0 a 1 2.0 my system\n", "line 1: expected 6 fields"),
        ("1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0\n", "line 2: expected 6 fields"),
        ("1 Q0 b 2 1.0\n1 Q0 a 1 2.0 t\n", "line 1: expected 6 fields"),
        ("1 Q0 a 1 2.0 t\n1 Q0 a 1 2.0 t\n", "line 2: query '1' has document 'a' a second time"),
        ("1 Q0 a 1 9007199254740993 t\n", "line 1: '9007199254740993' is a whole number that"),
        ("0.5\n9007199254740993\n", "line 2: '9007199254740993' is a whole number that"),
        ("", "is empty"),
        ("1 0 a 1\n", "holds TREC qrels, not a run: expected 6 fields"),
    ],
)
def test_bad_runs_and_scores(rankwise, tmp_path, text, said):
    bad, good, judged = (tmp_path / name for name in ("bad.run", "good.run", "qrels"))
    bad.write_text(text)
    good.write_text("1 Q0 a 1 2.0 t\n")
    judged.write_text("1 0 a 1\n1 0 b 0\n")
    calls = [
        ("evaluate", bad, judged),
        ("evaluate", good, judged, "--systems", bad),
        ("evaluate", good, judged, "--baseline", bad),
    ]
    if not text.startswith("0.5"):
        calls.append(("fuse", good, bad, "--out", tmp_path / "out.run"))
        calls.append(("compare", judged, "--rankers", f"ridge,{bad}"))
    for arguments in calls:
        result = rankwise(*arguments)
        assert result.code == 1, result.out
        assert f"{bad}" in result.err and said in result.err


def test_systems_and_baseline_by_name_or_path(rankwise, tmp_path):
    judged, a, b = (tmp_path / name for name in ("qrels", "prod.run", "third.run"))
    judged.write_text("".join(f"{q} 0 {d} {d == 'a':d}\n" for q in range(4) for d in "ab"))
    a.write_text("".join(f"{q} Q0 a 1 {q}.5 t\n" for q in range(4)))
    b.write_text("".join(f"{q} Q0 b 1 {q}.5 t\n{q} Q0 a 2 .1 t\n" for q in range(4)))
    wanted = rankwise("evaluate", a, judged, "--systems", b, "--baseline", "prod")
    assert wanted.code == 0, wanted.err
    for baseline in (a, tmp_path / "." / "prod.run", f"prod={a}"):
        found = rankwise("evaluate", a, judged, "--systems", b, "--baseline", baseline)
        assert (found.code, found.out) == (0, wanted.out), found.err
    named = rankwise("evaluate", f"x={a}", judged, "--systems", b, "--baseline", a)
    assert "Against the baseline x" in named.out, named.err
    result = rankwise("evaluate", a, b, judged)
    assert result.code == 2
    assert f"{b} is a TREC run, but DATA holds judgements" in result.err
    assert f"--systems {b}" in result.err
    options = ("--systems", b, "--baseline", "prod")
    assert rankwise("evaluate", judged, a, *options).out == wanted.out
    other = tmp_path / "other.qrels"
    other.write_text("".join(f"{q} 0 c 1\n" for q in range(4)))
    wanted = rankwise("evaluate", a, judged, other, *options).out
    for paths in ((judged, a, other), (judged, other, a)):
        assert rankwise("evaluate", *paths, *options).out == wanted
    for paths in ((judged, a, b), (judged, other)):
        result = rankwise("evaluate", *paths)
        assert result.code != 0 and "TREC" in result.err


@pytest.mark.parametrize("sep, suffix", [("\t", "tsv"), (",", "csv")])
def test_tables_of_any_width_with_named_columns(rankwise, tmp_path, sep, suffix):
    """Six columns are not a run, nor a time after a number LETOR text, if options name columns."""
    table, scores = tmp_path / f"judged.{suffix}", tmp_path / "scores"
    lines = ["clicks,at,session,a,b,c", "1,10:30,s,0,1,2", "0,11:30,s,1,2,3", "1,12:30,t,1,1,1"]
    table.write_text("".join(f"{line}\n" for line in lines).replace(",", sep))
    scores.write_text("2\n1\n3\n")
    found = rankwise(
        "evaluate", scores, table, "--label", "clicks", "--qid", "session", "--measures", "AP",
        "--json",
    )  # fmt: skip
    assert found.code == 0, found.err
    assert found.json["measures"]["AP"]["mean"] == 1.0


RESULTS = {
    "qrels.txt": ("q1 0 d1 1\nq1 0 d2 0\n", "holds judgements, not judged rows"),
    "qrels.tsv": ("q1\t0\td1\t1\nq1\t0\td2\t0\n", "holds judgements, not judged rows"),
    "triples.csv": ("q1 d1 1\nq1 d2 0\n", "holds judgements, not judged rows"),
    "beir.tsv": ("query-id\tcorpus-id\tscore\nq1\td1\t1\n", "holds judgements, not judged rows"),
    "a.run": (RUN, "holds a run, not judged rows"),
    "run.csv": ("qid,docno,score\nq1,d1,0.5\n", "holds a run, not judged rows"),
}


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("command", ["fit", "compare", "cv", "convert", "lint"])
def test_judgements_and_runs_as_data(rankwise, tmp_path, command, name):
    text, said = RESULTS[name]
    (tmp_path / name).write_text(text, "utf-8")
    words = {"fit": ("--out", tmp_path / "m"), "convert": ("--out", tmp_path / "o.csv")}
    words |= {"compare": ("--rankers", "ridge"), "cv": ("--ranker", "ridge")}
    found = rankwise(command, tmp_path / name, *words.get(command, ()))
    assert (found.code, said in found.err) == (2, True), found.err


@pytest.mark.parametrize(
    "name, text",
    {"a.csv": "qid,docno,label\nq1,d1,1\nq1,d2,0\n", "scores.txt": "0.5\n1\n"}.items(),
)
def test_rows_without_features_are_refused_by_fit(rankwise, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    found = rankwise("fit", tmp_path / name, "--out", tmp_path / "m")
    assert found.code == 2
    assert f"{name} has no features" in found.err


def test_errors_of_tables_with_features_stay(rankwise, tmp_path):
    (tmp_path / "a.csv").write_text("qid,docno,label,f\nq1,d1,1,0.5\nq1,d2,0,2\n")
    found = rankwise("fit", tmp_path / "a.csv", "--qid", "session", "--out", tmp_path / "m")
    assert "'session' is not a column" in found.err


@pytest.mark.parametrize("name", [name for name in LINES if not name.startswith("letor")])
def test_compare_refuses_judgements_of_every_form(rankwise, tmp_path, name):
    line, header = LINES[name]
    judged, run = tmp_path / name, tmp_path / "a.run"
    judged.write_bytes((header + "".join(line.format(*row) for row in TRIPLES)).encode())
    run.write_text(RUN, "utf-8")
    for arguments in (("--rankers", run), ("--rankers", f"ridge,{run}"), ("--cv", "2")):
        found = rankwise("compare", judged, *arguments)
        assert found.code == 2
        assert "holds judgements, not judged rows. They have no features" in found.err
