"""The presets letor3, letor4, mslr and yahoo against their scripts' loops; OHSUMED's figures."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from rankwise.metrics import evaluate
from tests import oracles_metrics as naive
from tests.metrics._cases import by_query, ragged

KS = (1, 2, 3, 5, 10, 40)

# The scripts rank ties in the order of the file, which is the point here.
pytestmark = pytest.mark.filterwarnings("ignore::rankwise.metrics.TiedScoresWarning")


@pytest.mark.parametrize("levels", [None, 6, 1])
@pytest.mark.parametrize(
    ("preset", "version", "rel", "grades"),
    [("letor3", 3, 1, 3), ("letor4", 4, 1, 3), ("mslr", 4, 2, 5)],
)
def test_letor_scripts(rng, preset, version, rel, grades, levels):
    y, f, qid = ragged(rng, n_queries=60, most=14, levels=levels, grades=grades)
    for k in KS:
        specs = [f"nDCG@{k}", f"P@{k}", "AP", "MeanNDCG"]
        result = evaluate(y, f, qid, specs, preset=preset)
        wanted = [
            naive.letor_script(*query, k, version=version, rel=rel) for query in by_query(y, f, qid)
        ]
        for spec, values in zip(specs, np.transpose(wanted), strict=True):
            np.testing.assert_allclose(
                result.per_query[spec], values, rtol=1e-13, atol=1e-15, err_msg=spec
            )
            assert result[spec] == pytest.approx(values.mean(), rel=1e-12)  # every query counts


def test_letor_scripts_by_hand():
    y, f, qid = [0, 1, 2, 1], [4.0, 3.0, 2.0, 1.0], [1, 1, 1, 2]
    result = evaluate(y, f, qid, ["nDCG@1", "nDCG@2", "nDCG@3", "P@2", "AP"], preset="letor4")
    np.testing.assert_array_equal(result.per_query["nDCG@1"], [0, 1])
    np.testing.assert_array_equal(result.per_query["nDCG@2"], [(0 + 1) / (3 + 1), 0])
    np.testing.assert_allclose(result.per_query["nDCG@3"], [(1 + 3 / np.log2(3)) / 4, 0])
    np.testing.assert_array_equal(result.per_query["P@2"], [0.5, 0.5])
    np.testing.assert_allclose(result.per_query["AP"], [(1 / 2 + 2 / 3) / 2, 1])
    old = evaluate(y, f, qid, ["P@2"], preset="letor3")
    np.testing.assert_array_equal(old.per_query["P@2"], [0.5, 0])


@pytest.mark.parametrize("levels", [None, 6])
def test_yahoo(rng, levels):
    """The challenge's evaluate.py: NDCG@10 is 1 without a relevant document, ERR has no end."""
    y, f, qid = ragged(rng, most=25, levels=levels)
    result = evaluate(y, f, qid, ["nDCG@10", "ERR"], preset="yahoo")
    for i, (grades, scores) in enumerate(by_query(y, f, qid)):
        gains = [(2**grade - 1) / 16 for grade in naive.ranked(grades, scores)]
        err, p = 0.0, 1.0
        for j, gain in enumerate(gains):
            err += p * gain / (j + 1)
            p *= 1 - gain
        dcg = sum(gain / np.log(j + 2) for j, gain in enumerate(gains[:10]))
        best = sum(gain / np.log(j + 2) for j, gain in enumerate(sorted(gains)[::-1][:10]))
        assert result.per_query["ERR"][i] == pytest.approx(err, rel=1e-12)
        assert result.per_query["nDCG@10"][i] == pytest.approx(dcg / best if best else 1.0)


def test_ohsumed_regression_has_letors_published_figures(data_root):
    """Least squares with intercept: LETOR 3.0's baseline "Regression", fold by fold."""
    folder = data_root / "letor3-ohsumed-qln"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    parts = []
    for number in range(1, 6):
        text = gzip.decompress((folder / f"S{number}.txt.gz").read_bytes())
        X, y, qid = load_svmlight_file(io.BytesIO(text), n_features=45, query_id=True)
        parts.append((np.column_stack([X.toarray(), np.ones(len(y))]), y, qid))
    ap, ndcg = [], []
    for fold in range(5):
        X, y, _ = (
            np.concatenate(a) for a in zip(*(parts[(fold + i) % 5] for i in range(3)), strict=True)
        )
        weights = np.linalg.lstsq(X, y, rcond=None)[0]
        X_test, y_test, qid_test = parts[(fold + 4) % 5]
        result = evaluate(y_test, X_test @ weights, qid_test, ["AP", "nDCG@10"], preset="letor3")
        ap.append(result["AP"])
        ndcg.append(result["nDCG@10"])
    np.testing.assert_allclose(ap, [0.2979, 0.4302, 0.4398, 0.4978, 0.4442], atol=5e-5)
    assert np.mean(ndcg) == pytest.approx(0.4110, abs=5e-5)
