"""``rankwise fuse``: TREC runs in, a fused run out."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rankwise.datasets import Qrels, read_run, write_qrels, write_run
from rankwise.fusion import (
    LearnedFusion,
    ProbabilisticFusion,
    as_run,
    fuse,
    hybrid_query,
    pool_runs,
)
from tests.fusion.lists import as_mapping, random_lists


@pytest.fixture
def files(tmp_path):
    """Runs of three systems, and judgements that agree with the first."""
    lists = random_lists(1, n_systems=3, n_queries=8)
    paths = []
    for name, of in lists.items():
        paths.append(tmp_path / f"{name}.run")
        write_run(as_run(of, name), paths[-1])
    first = as_run(lists["s0"])
    relevant = first.scores > 0.5
    qrels = Qrels(first.qid[relevant], first.doc_ids[relevant], np.ones(relevant.sum(), dtype=int))
    write_qrels(qrels, tmp_path / "judged.qrels")
    return paths, tmp_path / "judged.qrels", lists, qrels


def test_rules(rankwise, files, tmp_path):
    paths, _, lists, _ = files
    out = tmp_path / "new" / "fused.run"
    run = rankwise("fuse", *paths, "--out", out, "--json")
    assert run.code == 0, run.err
    assert run.json["systems"] == ["s0", "s1", "s2"]
    assert run.json["rule"] == "rrf"
    assert as_mapping(read_run(out)) == as_mapping(fuse(lists))
    options = ("--rule", "sum", "--weights", "1,0.5,2", "--depth", "4")
    assert rankwise("fuse", *paths, "--out", out, *options).code == 0
    expected = fuse(pool_runs(lists, depth=4), "sum", weights=[1, 0.5, 2])
    assert as_mapping(read_run(out)) == as_mapping(expected)


def test_learnt_weights(rankwise, files, tmp_path):
    paths, judged, lists, qrels = files
    out, query = tmp_path / "fused.run", tmp_path / "query.json"
    run = rankwise("fuse", *paths, "--qrels", judged, "--query", query, "--out", out, "--json")
    assert run.code == 0, run.err
    fusion = LearnedFusion(nonnegative=True).fit(lists, qrels)
    assert run.json["weights"] == pytest.approx(fusion.weights_)
    assert "rrf" in json.loads(query.read_text())["retriever"]
    assert as_mapping(read_run(out)) == as_mapping(fusion.fuse(lists))
    options = ("--query", query, "--engine", "opensearch", "--out", out)
    assert rankwise("fuse", *paths, "--qrels", judged, *options).code == 0
    assert json.loads(query.read_text()) == hybrid_query(fusion, "opensearch")
    run = rankwise("fuse", *paths, "--qrels", judged, "--held-out", "--out", out)
    assert run.code == 0 and run.out.split()[:2] == ["system", "weight"]
    assert as_mapping(read_run(out)) == as_mapping(fusion.fuse_held_out(lists, qrels))


def test_probabilities_by_position(rankwise, files, tmp_path):
    paths, judged, systems, qrels = files
    fusion = ProbabilisticFusion("pos")
    expected = {
        (): fusion.fit(systems, qrels).fuse(systems),
        ("--held-out",): fusion.fuse_held_out(systems, qrels),
    }
    for options, run in expected.items():
        out = tmp_path / "fused.run"
        rankwise("fuse", *paths, "--rule", "pos", "--qrels", judged, *options, "--out", out)
        found = as_mapping(read_run(out))
        assert found == {q: pytest.approx(of, rel=1e-6) for q, of in as_mapping(run).items()}


def test_wrong_command_lines(rankwise, files, tmp_path):
    paths, judged, _, _ = files
    out = ("--out", tmp_path / "fused.run")
    empty, other = tmp_path / "empty.run", tmp_path / "other.run"
    empty.write_text("")
    other.write_text("1 Q0 d1 1 3.0 t\n")
    for arguments, said in (
        ((paths[0], *out), "needs two or more runs, got 1"),
        ((paths[0], tmp_path / "no.run", *out), "is not a file"),
        ((paths[0], paths[0], *out), "runs must have different file names, got s0, s0"),
        (
            (*paths, "--engine", "solr", *out),
            "--engine must be one of 'elasticsearch', 'opensearch', got 'solr'",
        ),
        ((*paths, "--held-out", *out), "--held-out needs --qrels"),
        ((*paths, "--query", "q.json", *out), "--query needs --qrels"),
        (
            (*paths, "--qrels", judged, "--rule", "sum", *out),
            "and no --weights. Change --rule, or drop --weights",
        ),
        ((*paths, "--rule", "pos", *out), "--rule pos learns from judgements. Pass --qrels"),
        (
            (*paths, "--rule", "pos", "--qrels", judged, "--query", "q.json", *out),
            "--query writes weights, which only --rule rrf learns. Drop it",
        ),
        ((*paths, "--weights", "a,b", *out), "--weights must be numbers separated by commas"),
    ):
        run = rankwise("fuse", *arguments)
        assert run.code == 2 and said in run.err, (arguments, run.err)
    run = rankwise("fuse", paths[0], empty, *out)
    assert run.code == 1 and "empty.run is empty. Leave it out" in run.err
    run = rankwise("fuse", *paths, "--rule", "best", *out)
    assert run.code == 2 and "--rule must be one of 'sum'" in run.err
    assert not (tmp_path / "fused.run").exists()
    run = rankwise("fuse", paths[0], other, *out)
    assert run.code == 1 and "runs have no query in common: 's0' has 'q0', 'other' has" in run.err
