"""Files of one small collection, under the names that pages and the skill use."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rankwise.datasets import Qrels, Run, write_qrels, write_run

N_QUERIES, N_DOCS = 15, 8


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files that the skill names, of one small collection."""
    rng = np.random.default_rng(0)
    X = rng.random((N_QUERIES * N_DOCS, 3)).round(4)
    y = np.clip(np.rint(2 * X[:, 0] + rng.normal(0, 0.3, len(X))), 0, 2).astype(int)
    qid = np.repeat([f"q{i}" for i in range(N_QUERIES)], N_DOCS)
    doc_ids = np.array([f"d{i}" for i in range(len(X))])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKWISE_CACHE", str(tmp_path / "cache"))
    rows = [",".join(map(str, row)) for row in zip(qid, doc_ids, y, *X.T, strict=True)]
    Path("judged.csv").write_text("\n".join(["qid,doc_id,label,f1,f2,f3", *rows, ""]))
    moved = [",".join([*row.split(",")[:3], "9", *row.split(",")[4:]]) for row in rows]
    Path("moved.csv").write_text("\n".join(["qid,doc_id,label,f1,f2,f3", *moved, ""]))
    named = "\n".join(["qid,doc_id,label,similarity,recency,importance", *rows, ""])
    Path("signals.csv").write_text(named)
    write_qrels(Qrels(qid, doc_ids, y), "judgements.qrels")
    write_qrels(Qrels(qid[::3], doc_ids[::3], y[::3]), "few.qrels")
    for name, weight in {"old": 0.2, "new": 0.8, "bm25": 0.3, "dense": 0.5}.items():
        found = weight * X[:, 0] + (1 - weight) * rng.random(len(X))
        write_run(Run(qid, doc_ids, found, name), f"{name}.run")
    table = [f"t{i},{a:.3f},{a - 0.1:.3f},{b:.3f}" for i, (a, b) in enumerate(rng.random((20, 2)))]
    Path("scores.csv").write_text("\n".join(["task,first,second,third", *table, ""]))
    runs = [f"t{i // 4},{'ab'[i // 2 % 2]},{i % 2},{rng.random():.3f}" for i in range(80)]
    Path("runs.csv").write_text("\n".join(["task,system,seed,score", *runs, ""]))
    Path("documents.jsonl").write_text(
        "".join(f'{{"id": "d{i}", "text": "word{i % 5} word{i % 7} tea"}}\n' for i in range(40))
    )
    Path("queries.jsonl").write_text(
        "".join(f'{{"id": "q{i}", "text": "word{i % 5} word{i % 7}"}}\n' for i in range(N_QUERIES))
    )
    games = [f"{'abc'[i % 3]},{'bca'[i % 3]},{'first' if i % 4 else 'second'}" for i in range(30)]
    Path("votes.csv").write_text("\n".join(["item_a,item_b,winner", *games, ""]))
    clicks = [
        f"tea,{'ab'[place ^ (i % 2)]},{place + 1},s{i},{'xy'[place]},{(i + place) % 3 // 2},0.5"
        for i in range(160)
        for place in range(2)
    ]
    head = "qid,doc_id,position,session,team,clicked,p"
    Path("log.csv").write_text("\n".join([head, *clicks, ""]))
    for name, values in {"x": [2.0, 1.0], "y": [1.0, 2.0]}.items():
        tea = Run(np.array(["tea", "tea"]), np.array(["a", "b"]), np.array(values), name)
        write_run(tea, f"{name}.run")
    return tmp_path
