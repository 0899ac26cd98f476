"""The command line measures runs and scores as Python does, on ties of any kind."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import RankingData, evaluate
from rankwise.datasets import Qrels, Run, write_letor, write_qrels, write_run
from tests.metrics.test_paths import MEASURES, by_query, case, frame


def told_values(outcome, spec):
    answer = outcome.json
    values = [np.nan if value is None else value for value in answer["per_query"][spec]]
    return dict(zip(map(str, answer["qids"]), values, strict=True))


@pytest.mark.parametrize("preset", [None, "trec_eval"])
def test_files_of_runs(rankwise, tmp_path, preset):
    run, qrels = case(3, str)
    typed = frame(run, "score"), frame(qrels, "relevance")
    write_run(Run(*(typed[0][name].to_numpy() for name in typed[0])), tmp_path / "a.run")
    write_qrels(Qrels(*(typed[1][name].to_numpy() for name in typed[1])), tmp_path / "a.qrels")
    options = ["--measures", ",".join(MEASURES), "--per-query", "--json"]
    options += [] if preset is None else ["--preset", preset]
    outcome = rankwise("evaluate", str(tmp_path / "a.run"), str(tmp_path / "a.qrels"), *options)
    expected = evaluate(qrels, run, MEASURES, preset=preset)
    for spec in MEASURES:
        np.testing.assert_equal(told_values(outcome, spec), by_query(expected, spec))


@pytest.mark.parametrize("preset", [None, "trec_eval"])
def test_files_of_scores(rankwise, tmp_path, rng, preset):
    y, scores = rng.integers(0, 4, 80).astype(float), rng.integers(0, 3, 80) / 2
    qid, names = np.repeat(np.arange(8), 10), np.array([f"d{d}" for d in rng.permutation(80)])
    data = RankingData(np.ones((80, 1)), y, qid=qid, doc_ids=names)
    write_letor(data, tmp_path / "data.txt", comments=[f"docid = {name}" for name in names])
    np.savetxt(tmp_path / "scores.txt", scores)
    options = ["--measures", ",".join(MEASURES), "--per-query", "--json"]
    options += [] if preset is None else ["--preset", preset]
    files = str(tmp_path / "scores.txt"), str(tmp_path / "data.txt")
    outcome = rankwise("evaluate", *files, *options)
    expected = evaluate(data, scores, MEASURES, preset=preset)
    for spec in MEASURES:
        np.testing.assert_equal(told_values(outcome, spec), by_query(expected, spec))
