"""Exact kernel models of many rows name landmarks, where the ranker and the kernel have them."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from rankwise import (
    CLSRRank,
    LSRRank,
    LSSVRanker,
    MPRank,
    PairRanker,
    PairwiseELM,
    PrunedRankSVM,
    RankLR,
    RankRLS,
    RankSVM,
    SVRank,
    SVRRanker,
)  # fmt: skip
from rankwise.rankers import kernel_features
from tests.rankers.kernel.kernel_cases import rows

NYSTROEM = {"approximation": "nystroem"}
# Ranker, rows of the first note for 8 landmarks (None: no note), approximation that it names.
NOTES = [
    (LSRRank(), 24, "nystroem"),
    (LSRRank(gamma=[0.5, 1.0], lam=[0.1, 1.0], measure="MSD", cv=2), 24, "nystroem"),
    (LSRRank("stump"), 24, "nystroem"),
    (LSRRank(lambda X, Z: X @ Z.T), 24, "nystroem"),
    (LSRRank(n_landmarks=2), 24, "nystroem"),
    (LSRRank(n_landmarks=9), 27, "nystroem"),
    (MPRank("laplacian"), 24, "nystroem"),
    (RankRLS("rbf"), 24, "nystroem"),
    (LSSVRanker(), 24, "nystroem"),
    (CLSRRank(), 24, "landmarks"),
    (CLSRRank("linear"), 24, "landmarks"),
    (RankSVM(kernel="rbf"), 24, "nystroem"),
    (RankLR(kernel="rbf"), 24, "nystroem"),
    (PrunedRankSVM(kernel="rbf", random_state=0), 24, "nystroem"),
    (SVRank(), 40, "nystroem"),
    (LSRRank("linear"), None, ""),
    (RankSVM(), None, ""),
    (LSRRank("precomputed"), None, ""),
    (CLSRRank("precomputed"), None, ""),
    (LSRRank(**NYSTROEM), None, ""),
    (CLSRRank(approximation="landmarks"), None, ""),
    (RankRLS("rbf", **NYSTROEM), None, ""),
    (RankRLS("rbf", approximation="pcg"), None, ""),
    (SVRank(**NYSTROEM), None, ""),
    (PairRanker(features="rbf"), None, ""),
    (PairwiseELM(kernel="rbf"), None, ""),
    (SVRRanker(), None, ""),
]


def find_notes(ranker, n):
    X, y, _ = rows(n=n)
    X = X @ X.T if getattr(ranker, "kernel", None) == "precomputed" else X
    ranker = clone(ranker)
    if "n_landmarks" in ranker.get_params() and ranker.n_landmarks == 1000:
        ranker.set_params(n_landmarks=8)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker.fit(X, np.round(y), qid=np.arange(n) // 6)
    return [warning for warning in caught if "takes longer to fit" in str(warning.message)]


@pytest.mark.parametrize(("ranker", "first", "named"), NOTES)
def test_the_note_comes_once_from_its_size_on(monkeypatch, ranker, first, named):
    monkeypatch.setattr(kernel_features, "LEAST_LANDMARKS", 8)
    if first is None:
        assert find_notes(ranker, 60) == []
        return
    assert find_notes(ranker, first - 1) == []
    (note,) = find_notes(ranker, first)
    assert note.category is UserWarning and note.filename == __file__
    assert f"n_samples={first} rows" in str(note.message)
    assert f'approximation="{named}", n_landmarks=' in str(note.message)


def test_the_size_is_that_of_the_study():
    """3,000 rows; rows of weight 0 are left out before they are counted."""
    X, y, _ = rows(n=3001)
    qid, weight = np.arange(3001) // 10, np.ones(3001)
    weight[:2] = 0
    LSRRank().fit(X, y, qid=qid, sample_weight=weight)
    weight[0] = 1
    with pytest.warns(UserWarning, match=r"n_samples=3000 rows .* 1000 landmarks"):
        LSRRank().fit(X, y, qid=qid, sample_weight=weight)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_too_many_rows_are_an_error_and_no_note(kernel):
    """An error names landmarks too, but not for a precomputed kernel."""
    X, y, _ = rows(n=60)
    X = X @ X.T if kernel == "precomputed" else X
    fix = "fit fewer rows" if kernel == "precomputed" else 'use approximation="nystroem"'
    with pytest.raises(ValueError, match=f"Increase max_bytes, or {fix}"):
        LSRRank(kernel, max_bytes=1000).fit(X, y, qid=np.arange(60) // 6)
