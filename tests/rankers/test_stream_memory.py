"""What a stream holds does not grow with its rows."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from rankwise import ELMRank, PairwiseELM, RidgeRanker
from rankwise.rankers import evaluate_stream
from rankwise.streams import stream

CHUNK, D = 4000, 20


def chunks(n_rows):
    def make():
        for lo in range(0, n_rows, CHUNK):
            X = np.random.default_rng(lo).random((CHUNK, D), dtype=np.float32)
            yield X, np.floor(3 * X[:, 0]), (lo + np.arange(CHUNK)) // 130

    return make


def peak(work):
    tracemalloc.start()
    work()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@pytest.mark.parametrize(
    "ranker",
    [
        PairwiseELM(40, C=1.0, random_state=0),
        PairwiseELM(40, C=[0.1, 1.0], cv=3, random_state=0),
        ELMRank(20, lam=[0.1, 1.0], cv=3, random_state=0),
        RidgeRanker(1.0),
    ],
    ids=["nodes", "nodes, search", "ELMRank, search", "ridge"],
)
def test_fit_holds_no_rows(ranker):
    few, many = chunks(100_000), chunks(400_000)
    ranker.fit(stream(few))  # what is loaded once
    a, b = (peak(lambda rows=rows: ranker.fit(stream(rows))) for rows in (few, many))
    grown = 300_000 * D * 4
    # One id of 8 bytes per query, kept twice at most, and chunks in flight: on a busy machine a few
    # more of them wait for their threads, whatever the number of rows.
    assert b - a < 0.05 * grown + 8 * CHUNK * D * 4


def test_measuring_holds_scores_of_few_rows(monkeypatch):
    # Two threads hold a block each only where they overlap, which depends on the machine's load.
    monkeypatch.setenv("RANKWISE_NUM_THREADS", "1")
    ranker = RidgeRanker().fit(stream(chunks(CHUNK)))
    for work in (lambda rows: ranker.score(rows), lambda rows: evaluate_stream(ranker, rows)):
        work(stream(chunks(CHUNK)))
        few, many = stream(chunks(100_000)), stream(chunks(300_000))
        a, b = (peak(lambda rows=rows, work=work: work(rows)) for rows in (few, many))
        assert b - a < 0.1 * 200_000 * 8  # ids, and a value for each query
