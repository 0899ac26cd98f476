"""Mulan's and MEKA's ARFF, the extreme classification format: what is read and what is refused."""

import gzip
import re

import numpy as np
import pytest
from scipy import sparse

from rankwise.datasets import load_mulan, read_extreme, read_mulan
from rankwise.datasets.catalog.multi_label import MULAN_SETS, read_arff

HEADER = """% a comment
@relation 'toy set'

@ATTRIBUTE 'first one' numeric
@attribute colour {red, 'dark blue',green}
@attribute bins {1,2,3}
@attribute l1 {0,1}
@attribute "l\\"2" {0, 1}

@data
"""
XML = '<labels xmlns="x"><label name="l1"><label name="l&quot;2"/></label></labels>'
# Cardinality and distinct label sets that the papers print.
KNOWN = {
    "emotions": (1.87, 27),
    "yeast": (4.24, 198),
    "corel5k": (3.52, 3175),
    "delicious": (19.02, 15806),
}


def put(tmp_path, text, name="toy.arff"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_dense_rows(tmp_path):
    rows = "0.5,green,3,0,1\n\n% no row\n?, 'dark blue' ,1, 1,0\n-1e3,red,2,0,0"
    path = put(tmp_path, HEADER + rows)
    put(tmp_path, XML, "toy.xml")
    data = read_mulan(path)
    np.testing.assert_array_equal(data.X, [[0.5, 2, 3], [np.nan, 1, 1], [-1000, 0, 2]])
    assert data.Y.tolist() == [[0, 1], [1, 0], [0, 0]]
    assert data.Y.dtype == np.int64
    assert data.feature_names == ("first one", "colour", "bins")
    assert data.label_names == ("l1", 'l"2')
    assert repr(data) == "MultiLabelData('toy': 3 rows, 3 features, 2 labels, 0.67 a row, dense)"
    packed = tmp_path / "packed.arff.gz"
    packed.write_bytes(gzip.compress(path.read_bytes().replace(b"\n", b"\r\n")))
    again = read_mulan(packed, ["l1", 'l"2'], dense=False)
    np.testing.assert_array_equal(again.X.toarray(), data.X)
    assert sparse.issparse(again.Y)


def test_sparse_rows_leave_out_zeros_and_first_categories(tmp_path):
    numbers = "@relation r\n@attribute a numeric\n@attribute b {0,1}\n@attribute c {0,1}\n@data\n"
    data = read_mulan(put(tmp_path, numbers + "{0 1.5, 2 1}\n{}\n{1 1,0 ?}\n"), labels=-2)
    assert sparse.issparse(data.X)
    np.testing.assert_array_equal(data.X.toarray(), [[1.5], [0], [np.nan]])
    assert data.Y.toarray().tolist() == [[0, 1], [0, 0], [1, 0]]
    # "bins" begins with 1 and "colour" with red, so what is left out is not always zero.
    named = read_mulan(put(tmp_path, HEADER + "{1 green,4 1}\n{0 2,2 3}"), labels=-2)
    assert named.X.tolist() == [[0, 2, 1], [2, 0, 3]]


def test_meka_says_how_many_labels(tmp_path):
    body = "@attribute a {0,1}\n@attribute b {0,1}\n@attribute x real\n@data\n1,0,7\n"
    data = read_mulan(put(tmp_path, f"@relation 'toy: -C 2 -x 3'\n{body}"))
    assert (data.X.tolist(), data.Y.tolist()) == ([[7]], [[1, 0]])
    turned = "@relation 'toy: -C -1'\n@attribute x real\n@attribute a {0,1}\n@data\n7,1\n"
    assert read_mulan(put(tmp_path, turned)).label_names == ("a",)


@pytest.mark.parametrize(
    "text, labels, message",
    [
        ("@relation r\n1,2\n", 1, "line 2: an ARFF header has lines"),
        ("@relation r\n@attribute a numeric\n", 1, "has no line @data"),
        ("@relation r\n@data\n", 1, "has no @attribute before @data"),
        ("@attribute a date\n@data\n", 1, "attribute 'a' is of the kind 'date'"),
        ("@attribute a\n@data\n", 1, "cannot read '@attribute a' as an attribute"),
        (
            HEADER + "1,red,1,0\n",
            2,
            "must hold 5 values, one per attribute.*Expected 5 columns, got 4",
        ),
        (HEADER + "one,red,1,0,1\n", 2, "invalid value 'one'"),
        (HEADER + "1,pink,1,0,1\n", 2, "'pink' is not one of the categories of 'colour'"),
        (HEADER + "1,red,4,0,1\n", -2, "4 is not one of the categories of 'bins': 1, 2, 3"),
        (HEADER + "1,red,1,0,?\n", -2, "label 'l\"2' must be 0 or 1 in every row"),
        (HEADER + "2,red,1,0,1\n", 1, "label 'first one' must be 0 or 1"),
        (HEADER + "{0 1\n", -2, "line 11: a sparse row must read"),
        (HEADER + "{0 1}\n{0 1,2}\n", -2, "line 12: a sparse row must read"),
        (HEADER + "{}\n{a 1}\n", -2, "line 12: .*a sparse row must read"),
        (HEADER + "{9 1}\n", -2, "line 11: index 9 is not one of the 5 attributes"),
        (HEADER + "{0 b}\n", -2, "line 11: 'b' is not a finite number for 'first one'"),
        (HEADER + "{0 1,0 2}\n", -2, "line 11: an index is given twice"),
        (HEADER + "1,red,1,0,1\n", 9, "labels must count from 1 to the 5 attributes"),
        (HEADER + "1,red,1,0,1\n", ["l3"], "'l3' is not one"),
        (HEADER + "1,red,1,0,1\n", [], "got none"),
        (HEADER + "1,red,1,0,1\n", None, "does not say which attributes are labels"),
    ],
)
def test_bad_arff_is_refused(tmp_path, text, labels, message):
    path = put(tmp_path, text)
    with pytest.raises(ValueError, match=message):
        read_mulan(path, labels)


@pytest.mark.parametrize(
    "xml, message",
    [
        ("<labels>", "does not read as XML"),
        ("<labels><label/></labels>", "every <label> must have a name"),
        ("<!DOCTYPE a []><labels/>", "document type"),
        ("<labels/>", "got none"),
    ],
)
def test_bad_label_files_are_refused(tmp_path, xml, message):
    path, labels = put(tmp_path, HEADER + "1,red,1,0,1\n"), put(tmp_path, xml, "labels.xml")
    with pytest.raises(ValueError, match=message):
        read_mulan(path, labels)


def test_a_table_without_rows(tmp_path):
    assert read_arff(put(tmp_path, HEADER)).matrix.shape == (0, 5)


@pytest.mark.parametrize("name", MULAN_SETS)
def test_sets_of_mulan(data_root, name):
    rows, n_features, n_labels, n_train, n_test = MULAN_SETS[name]
    data, train, test = (load_mulan(name, part) for part in ("all", "train", "test"))
    assert data.X.shape == (rows, n_features)
    assert data.Y.shape == (rows, n_labels) == (n_train + n_test, len(data.label_names))
    assert len(data.feature_names) == n_features
    assert (len(train), len(test)) == (n_train, n_test)
    assert train.Y.sum() + test.Y.sum() == data.Y.sum()
    if name in KNOWN:
        Y = data.Y if isinstance(data.Y, np.ndarray) else data.Y.toarray()
        assert round(Y.sum() / rows, 2) == KNOWN[name][0]
        assert len(np.unique(Y.astype(np.int8), axis=0)) == KNOWN[name][1]


def test_labels_of_the_xml_are_those_of_the_set(data_root):
    data = read_mulan(data_root / "mulan" / "yeast.arff.gz")
    loaded = load_mulan("yeast")
    assert data.label_names == loaded.label_names
    np.testing.assert_array_equal(data.Y, loaded.Y)


def test_names_and_parts_are_checked():
    with pytest.raises(ValueError, match="name must be one of emotions"):
        load_mulan("scene")
    with pytest.raises(ValueError, match="part must be one of all, train, test"):
        load_mulan("yeast", "vali")


def test_extreme_format(tmp_path):
    text = "4 5 3\n2,0 0:1.5 4:-2e-3\n 3:1\n1\n\n"
    data = read_extreme(put(tmp_path, text, "xc.txt"))
    X = [[1.5, 0, 0, 0, -0.002], [0, 0, 0, 1, 0], [0] * 5, [0] * 5]
    assert data.X.toarray().tolist() == X
    assert data.Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert data.Y.has_sorted_indices
    assert (data.name, data.n_labels) == ("xc", 3)
    packed = tmp_path / "xc.txt.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert (read_extreme(packed).X != data.X).nnz == 0
    assert read_extreme(put(tmp_path, "0 2 2\n")).X.shape == (0, 2)


@pytest.mark.parametrize(
    "text, message",
    [
        ("0,1 0:1\n", "line 1 must hold the numbers of rows"),
        ("2 3 3\n0 0:1\n", "must have the 2 rows stated in line 1, got 1"),
        ("1 3 3\n0 3:1\n", "line 2: feature 3 is not one of the 3"),
        ("1 3 3\n3 0:1\n", "line 2: label 3 is not one of the 3"),
        ("1 3 3\n-1 0:1\n", "line 2: a row must read"),
        ("2 3 3\n0 0:1\n0 0:1 0:2\n", "line 3: a feature is repeated"),
        ("1 3 3\n1,1 0:2\n", "line 2: a label is repeated"),
        ("1 3 3\n1 0:nan\n", "line 2: a row must read"),
        ("2 3 3\n1 0:1\n0 0:a\n", "line 3: a row must read 'l1,l2 f:v f:v', got '0 0:a'"),
        ("1 3 3\n1, 0:1\n", "line 2: a row must read"),
        ("1 3 3\n1 0:1:2 5\n", "line 2: a row must read"),
        ("1 3 3\n1 0 0:1\n", "line 2: a row must read"),
        ("1 3 3\n0.5 0:1\n", "line 2: a row must read"),
    ],
)
def test_bad_extreme_text_is_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_extreme(put(tmp_path, text))


def test_messages_name_the_file(tmp_path):
    path = put(tmp_path, "1 1 1\nx\n", "some.txt")
    with pytest.raises(ValueError, match=re.escape(str(path))):
        read_extreme(path)
