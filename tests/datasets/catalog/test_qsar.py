"""Sutherland's sets: counts, leaking columns gone, other tables refused."""

import numpy as np
import pytest

from rankwise.datasets import fetch, load_qsar
from rankwise.datasets.catalog.loaders import QSAR_SETS, read_qsar


@pytest.mark.parametrize("name", QSAR_SETS)
def test_counts_of_the_papers(data_root, name):
    data = load_qsar(name)
    assert (data.X.shape[1], len(data.train), len(data.test)) == QSAR_SETS[name]
    assert np.array_equal(np.sort(np.r_[data.train, data.test]), np.arange(len(data.y)))
    assert np.isfinite(data.X).all()
    assert len(set(data.compounds)) == len(data.y)
    assert len(set(data.feature_names)) == data.X.shape[1]


@pytest.mark.parametrize("name", QSAR_SETS)
def test_no_descriptor_is_the_target(data_root, name):
    """IC50_uM is 10^(6 - activity): its logarithm would correlate perfectly with the target."""
    data = load_qsar(name)
    varying = data.X[:, data.X.std(axis=0) > 0]
    for columns in (varying, np.log(np.abs(varying) + 1e-12)):
        centred = columns - columns.mean(axis=0)
        y = data.y - data.y.mean()
        norms = np.linalg.norm(centred, axis=0) * np.linalg.norm(y)
        correlation = np.abs(y @ centred) / np.where(norms > 0, norms, 1.0)
        assert correlation.max() < 0.95, data.feature_names[int(correlation.argmax())]


def test_a_table_with_another_column_is_refused(data_root, tmp_path):
    import gzip

    lines = gzip.decompress(fetch("qsar-gpb")[0].read_bytes()).decode().splitlines()
    header = lines[0] + '\t"Leak"'
    rows = [line + "\t1.0" for line in lines[1:]]
    (tmp_path / "gpb.txt").write_text("\n".join([header, *rows]) + "\n")
    with pytest.raises(ValueError, match=r"gpb must have 70 descriptors, .* got 71, 44 and 22"):
        read_qsar(tmp_path / "gpb.txt", "gpb")


def test_unknown_set():
    with pytest.raises(ValueError, match=r"name must be one of dhfr, cox2, .*, got 'covid'"):
        load_qsar("covid")
