"""Predictions and measures of partitions are those of all rows in memory, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import PairwiseELM, RidgeRanker, evaluate
from rankwise.streams import stream
from tests.distributed.conftest import cut

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")
from rankwise import distributed as spread  # noqa: E402

MEASURES = ["nDCG@10", "AP", "RR", "Tau", "ERR"]


@pytest.fixture(scope="module")
def ranker(judged):
    return PairwiseELM(20, C=1.0, random_state=0).fit(judged.X, judged.y, qid=judged.qid)


def assert_same(result, judged, ranker, measures=MEASURES):
    whole = evaluate(judged.y, ranker.predict(judged.X), judged.qid, measures)
    assert dict(result) == dict(whole)
    np.testing.assert_array_equal(result.qids, whole.qids)
    for spec in measures:
        np.testing.assert_array_equal(result.per_query[spec], whole.per_query[spec])
        assert result.measures[spec] == whole.measures[spec]


@pytest.mark.parametrize("cuts", [[500], [150, 230, 231, 260, 300, 340, 420], [0, 0, 40, 40]])
def test_measures_of_cut_queries(judged, ranker, cuts):
    parts = [dask.delayed(part) for part in cut(judged, cuts)]
    assert_same(spread.evaluate(ranker, parts, measures=MEASURES), judged, ranker)


def test_measures_on_workers(judged, ranker, client):
    import dask.array as da

    X = da.from_array(judged.X, chunks=(330, 2))
    y, qid = (da.from_array(column, chunks=300) for column in (judged.y, judged.qid))
    result = spread.evaluate(ranker, X, y, qid=qid, measures=MEASURES, client=client)
    assert_same(result, judged, ranker)


def test_queries_in_any_partitions(judged, ranker, rng):
    order = rng.permutation(len(judged))
    X, y, qid = judged.X[order], judged.y[order], judged.qid[order]
    parts = [
        stream([(X[lo : lo + 400], y[lo : lo + 400], qid[lo : lo + 400])]) for lo in (0, 400, 800)
    ]
    result = spread.evaluate(ranker, parts, measures="nDCG@5", preset="lightgbm")
    whole = evaluate(y, ranker.predict(X), qid, "nDCG@5", preset="lightgbm")
    assert dict(result) == dict(whole)


def test_without_queries_all_rows_are_one(judged, ranker):
    parts = [dask.delayed(part[:2]) for part in cut(judged, [300])]
    result = spread.evaluate(ranker, parts, measures="AP")
    assert dict(result) == dict(evaluate(judged.y, ranker.predict(judged.X), None, "AP"))


def test_predictions_keep_the_partitions(judged, ranker):
    import dask.array as da

    expected = ranker.predict(judged.X)
    scores = spread.predict(ranker, da.from_array(judged.X, chunks=(330, 2)))
    assert scores.chunks == (((330,) * 3) + (len(judged) - 990,),)
    # Products of fewer rows are added in another order.
    np.testing.assert_allclose(scores.compute(), expected, rtol=1e-12)
    parts = [dask.delayed(part) for part in cut(judged, [0, 700])]
    computed = [part.compute() for part in spread.predict(ranker, parts)]
    assert [len(part) for part in computed] == [0, 700, len(judged) - 700]
    np.testing.assert_allclose(np.concatenate(computed), expected, rtol=1e-12)


def test_predictions_of_a_frame_keep_its_index(judged):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(judged.X, columns=list("abcde"), index=np.arange(len(judged)) + 7)
    ranker = RidgeRanker().fit(frame, judged.y, qid=judged.qid)
    scores = spread.predict(ranker, dd.from_pandas(frame, npartitions=4))
    assert scores.npartitions == 4
    found = scores.compute()
    np.testing.assert_allclose(found.to_numpy(), ranker.predict(frame), rtol=1e-12)
    np.testing.assert_array_equal(found.index, frame.index)


def test_errors(judged, ranker):
    with pytest.raises(TypeError, match=r"Rows in memory go into ranker\.predict"):
        spread.predict(ranker, judged.X)
    with pytest.raises(ValueError, match="y must be given to measure"):
        spread.evaluate(ranker, [dask.delayed((judged.X,))])
    with pytest.raises(ValueError, match="empty partitions only"):
        spread.evaluate(ranker, [dask.delayed((judged.X[:0], judged.y[:0]))])
    with pytest.raises(ValueError, match="nDGC"):
        spread.evaluate(ranker, [dask.delayed((judged.X, judged.y))], measures="nDGC")
