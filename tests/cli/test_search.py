"""``rankwise index`` and ``rankwise search``."""

from __future__ import annotations

import json

from rankwise.datasets import read_run
from rankwise.text import TextIndex
from tests.text.corpus import QUERIES, as_lists, random_corpus


def test_index_and_search(rankwise, tmp_path):
    documents = random_corpus(1)
    names = list(documents)
    for part, some in enumerate((names[:30], names[30:])):
        lines = [json.dumps({"doc_id": name, "text": documents[name]}) for name in some]
        (tmp_path / f"{part}.jsonl").write_text("\n".join(lines))
    lines = [json.dumps({"qid": name, "text": text}) for name, text in QUERIES.items()]
    (tmp_path / "queries.jsonl").write_text("\n".join(lines))
    folder, out = tmp_path / "new" / "index", tmp_path / "runs" / "out.run"
    files = (tmp_path / "0.jsonl", tmp_path / "1.jsonl")
    run = rankwise("index", *files, "--out", folder, "--json")
    assert run.code == 0, run.err
    assert run.json["documents"] == 60
    queries = tmp_path / "queries.jsonl"
    settings = ("--model", "bm25-atire", "--set", "k1=0.9")
    run = rankwise("search", folder, queries, "--out", out, *settings, "-k", 7, "--json")
    assert run.code == 0, run.err
    wanted = TextIndex().add(documents).search(QUERIES, 7, model="bm25-atire", k1=0.9)
    assert as_lists(read_run(out)) == as_lists(wanted)
    assert run.json == {"out": str(out), "queries": 3, "lines": len(wanted), "hits": None}
    run = rankwise("search", folder, "w0 w1", "-k", 2)
    assert run.code == 0 and len(run.out.splitlines()) == 2
    assert rankwise("search", folder, "w0", "--json").json["hits"][0]["qid"] == "1"


def test_wrong_command_lines(rankwise, tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"id": "d", "text": "cat"}')
    (tmp_path / "file").write_text("")
    index = tmp_path / "index"
    assert rankwise("index", tmp_path / "docs.jsonl", "--out", index, "--stemmer", "none").code == 0
    for arguments, code, said in (
        (("index", tmp_path / "no.jsonl", "--out", index), 2, "is no file"),
        (("index", tmp_path / "docs.jsonl", "--out", tmp_path / "file"), 2, "is a file"),
        (("search", tmp_path / "no", "cat"), 2, "is no folder"),
        (("search", index, "cat", "--set", "k1"), 2, "--set must be NAME=NUMBER, got 'k1'"),
        (("search", index, "cat", "--model", "best"), 1, "model must be one of"),
        (("search", tmp_path, "cat"), 2, "has no index"),
    ):
        run = rankwise(*arguments)
        assert run.code == code and said in run.err, (arguments, run.err)
