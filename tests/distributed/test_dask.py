"""Dask: frames, arrays and delayed partitions give the model of one fit, whatever workers do."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from rankwise import PairwiseELM, PointwiseELM, RidgeRanker
from rankwise.streams import stream
from tests.distributed.conftest import cut

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")
from rankwise.distributed import fit  # noqa: E402
from tests.distributed import deaths  # noqa: E402

GRID = [0.01, 1.0, 100.0]


def assert_same(ranker, judged, fitted, weight=None):
    whole = ranker.fit(judged.X, judged.y, qid=judged.qid, sample_weight=weight)
    expected = whole.predict(judged.X)
    np.testing.assert_allclose(fitted.predict(judged.X), expected, rtol=1e-10, atol=1e-12)
    if hasattr(whole, "cv_results_"):
        ours, theirs = fitted.cv_results_, whole.cv_results_
        np.testing.assert_allclose(ours["mean_test_score"], theirs["mean_test_score"], rtol=1e-12)


def test_arrays(judged, client):
    import dask.array as da

    ranker = PairwiseELM(30, C=1.0, random_state=0)
    X = da.from_array(judged.X, chunks=(330, 2))
    y, qid, weight = (
        da.from_array(column, chunks=300) for column in (judged.y, judged.qid, judged.sample_weight)
    )
    fitted = fit(ranker, X, y, qid=qid, sample_weight=weight, client=client)
    assert_same(ranker, judged, fitted, judged.sample_weight)


def test_frames(judged, client):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(judged.X, columns=list("abcde"))
    frame = frame.assign(label=judged.y, query=[f"q{qid}" for qid in judged.qid])
    table = dd.from_pandas(frame, npartitions=4, sort=False)
    features, ranker = list("abcde"), RidgeRanker(GRID)
    whole = ranker.fit(frame[features], judged.y, qid=frame["query"])
    for fitted in (
        fit(ranker, table, "label", qid="query"),  # on the current client
        fit(RidgeRanker(whole.alpha_), table[features], table["label"], qid=table["query"]),
    ):
        np.testing.assert_allclose(fitted.coef_, whole.coef_, rtol=1e-10)
        assert fitted.feature_names_in_.tolist() == features
        assert fitted.alpha_ == whole.alpha_


def test_delayed_partitions_and_streams_without_a_cluster(judged):
    parts = cut(judged, [0, 111, 112, 600])
    ranker = PointwiseELM(20, C=GRID, random_state=0)
    for partitions in (
        [dask.delayed(part) for part in parts],
        [stream([part]) for part in parts],
        [dask.delayed([part, part[:0]][:1]) for part in parts],
    ):
        assert_same(ranker, judged, fit(ranker, partitions))


def dies(part, calls, at):
    """The partition; the worker that is asked for it the ``at``-th time is gone at once."""
    with Path(calls).open("a") as file:
        file.write(f"{os.getpid()}\n")
    if len(Path(calls).read_text().split()) == at:
        deaths.die()
    return part


def test_a_worker_that_dies_changes_nothing(judged, client, tmp_path):
    partitions = [dask.delayed(part) for part in cut(judged, list(range(120, 990, 120)))]
    # One in the round of the ids, one in that of the sums.
    deaths = {3: 1, 6: 2}
    for place, at in deaths.items():
        partitions[place] = dask.delayed(dies)(partitions[place], str(tmp_path / f"{place}"), at)
    ranker = PairwiseELM(30, C=GRID, random_state=0)
    assert_same(ranker, judged, fit(ranker, partitions, client=client))
    alive = {str(pid) for pid in client.run(os.getpid).values()}
    for place, at in deaths.items():
        # Three rounds, and once more for the death; what the dead had made is made again as well.
        pids = (tmp_path / f"{place}").read_text().split()
        assert len(pids) >= 4
        assert pids[at - 1] not in alive


def test_errors_name_argument_and_fix(judged):
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd

    X, y = da.from_array(judged.X, chunks=(300, 5)), da.from_array(judged.y, chunks=300)
    for arguments, message in [
        ((judged.X, judged.y), "Rows in memory go into ranker.fit"),
        ((X, None), "y must be a dask array"),
        (([],), "at least one partition"),
        (([stream(iter([]))],), "can be read again"),
        (([judged.X],), "must list delayed partitions or streams"),
        (([stream([])], y), "y belongs in the partitions"),
        (([stream([])],), "empty partitions only"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            fit(RidgeRanker(), *arguments)
    frame = dd.from_pandas(
        pd.DataFrame({"a": [1.0, 2.0], "y": [0, 1], "qid": [1, 1]}), npartitions=1
    )
    with pytest.raises(ValueError, match="X has a column 'qid'"):
        fit(RidgeRanker(), frame, "y")
    with pytest.raises(ValueError, match="contains NaN at row 3"):
        bad = judged.X.copy()
        bad[3] = np.nan
        fit(RidgeRanker(), da.from_array(bad, chunks=(300, 5)), y)
