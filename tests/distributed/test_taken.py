"""Which rankers distributed.fit takes: as docs/cluster.rst lists them; all of them are tried."""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import rankwise
from rankwise import RankRLS
from rankwise._registry import REGISTRY
from rankwise.distributed import merge, partition_statistics, plan, solve
from rankwise.fusion import NonNegativeRanker
from tests.distributed.conftest import cut

PAGE = Path(__file__).parents[2] / "docs" / "cluster.rst"
COLUMNS = {"kernel": "linear"}
NYSTROEM = {"kernel": "rbf", "approximation": "nystroem", "n_landmarks": 20, "random_state": 0}
NODES = {"n_nodes": 20, "random_state": 0}
TAKEN = {
    "": ["LinearRegressionRanker", "RidgeRanker"],
    "random nodes": ["PointwiseELM", "PairwiseELM"],
    'kernel="linear"': [
        "RankRLS",
        "LSRRank",
        "MPRank",
        "LSSVRanker",
        "PointwiseELM",
        "PairwiseELM",
    ],
    'approximation="nystroem"': ["RankRLS", "LSRRank", "MPRank", "LSSVRanker"],
}
OPTIONS = {
    "": {},
    "random nodes": NODES,
    'kernel="linear"': COLUMNS,
    'approximation="nystroem"': NYSTROEM,
}


def run(ranker, partitions):
    job, rounds = plan(ranker, partitions[0]), 0
    while not job.finished:
        sums = [partition_statistics(job, i, part) for i, part in enumerate(partitions)]
        job, rounds = solve(job, reduce(merge, sums)), rounds + 1
    return job.estimator, rounds


def table():
    """Rankers of each row of the page's table, and whether distributed.fit takes them."""
    page = PAGE.read_text("utf-8")
    start = page.index(".. list-table:: Closed forms beyond memory")
    rows = page[start : page.index("\n\nLandmarks are drawn", start)].split("   * - ")[2:]
    cells = [re.split(r"\n     - ", re.sub(r"\s+", " ", row.replace("\n     -", "\0"))
                      .replace("\0", "\n     -")) for row in rows]  # fmt: skip
    return [(re.findall(r"``(\w+)``", first), first, last) for first, _, last in cells]


def test_the_page_lists_what_is_taken():
    found = {}
    for names, first, last in table():
        if last.startswith("yes"):
            how = first.split(" with ")[1].strip(" `") if " with " in first else ""
            found[how] = names
    assert found == TAKEN
    refused = [names for names, _, last in table() if not last.startswith("yes")]
    assert refused == [["ELMRank"], []]


@pytest.mark.parametrize(("how", "name"), [(how, name) for how in TAKEN for name in TAKEN[how]])
def test_what_is_taken_gives_the_model_of_one_fit(judged, how, name):
    ranker = getattr(rankwise, name)(**OPTIONS[how])
    whole = getattr(rankwise, name)(**OPTIONS[how]).fit(judged.X, judged.y, qid=judged.qid)
    fitted, _ = run(ranker, cut(judged, [200, 201, 420, 700]))
    expected = whole.predict(judged.X)
    np.testing.assert_allclose(fitted.predict(judged.X), expected, rtol=1e-7, atol=1e-9)


ENTRIES = [entry for entry in REGISTRY.values() if entry.kind == "ranker"]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.class_name)
def test_all_others_are_refused(judged, entry):
    try:
        defaults = entry.load()()
    except ImportError:
        pytest.skip(f"needs the extra {entry.extra}")
    kernels = ["linear", "rbf"] if "kernel" in defaults.get_params() else [None]
    for kernel in kernels:
        ranker = type(defaults)() if kernel is None else type(defaults)(kernel=kernel)
        how = ["", "random nodes"] if kernel is None else [f'kernel="{kernel}"']
        if any(entry.class_name in TAKEN.get(name, []) for name in how):
            continue
        refusal = r"closed form whose|does not store the rows"
        with pytest.raises((TypeError, ValueError), match=refusal):
            plan(ranker, (judged.X, judged.y, judged.qid))


def test_bounded_weights_are_refused(judged):
    with pytest.raises(TypeError, match="solved from sums of its rows, got NonNegativeRanker"):
        plan(NonNegativeRanker(), (judged.X, judged.y, judged.qid))


def test_a_search_for_the_width_is_refused(judged):
    for gamma in ([0.1, 1.0], "cv", "scale"):
        ranker = RankRLS(**NYSTROEM, gamma=gamma)
        with pytest.raises(ValueError, match='gamma must be a number, "auto" or None'):
            plan(ranker, (judged.X, judged.y, judged.qid))


@pytest.mark.parametrize("gamma", [0.3, "auto", None])
def test_landmarks_of_a_search_are_those_of_one_fit(judged, gamma):
    ranker = RankRLS(**NYSTROEM, gamma=gamma, alpha=[0.01, 1.0, 100.0])
    partitions = cut(judged, [0, 150, 230, 260, 300, 340, 700], weighted=True)
    fitted, rounds = run(ranker, partitions[1:])
    assert rounds == 4
    whole = clone(ranker).fit(
        judged.X, judged.y, qid=judged.qid, sample_weight=judged.sample_weight
    )
    np.testing.assert_array_equal(fitted.nystroem_.landmarks, whole.nystroem_.landmarks)
    assert (fitted.gamma_, fitted.alpha_) == (whole.gamma_, whole.alpha_)
    np.testing.assert_allclose(fitted.predict(judged.X), whole.predict(judged.X), rtol=1e-8)
    np.testing.assert_allclose(
        fitted.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"], rtol=1e-10
    )
