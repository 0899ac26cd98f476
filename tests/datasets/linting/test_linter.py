"""lint: every planted fault is found, counted and named; clean data give no findings."""

import dataclasses
import json

import numpy as np
import pytest
from scipy import sparse

from rankwise.datasets import (
    Fold,
    FoldedData,
    LintReport,
    RankingData,
    lint,
    load_dataset,
)
from rankwise.datasets.linting import Finding
from rankwise.row_order import hash_table


def clean(rng, n_queries=8, size=5, n_features=6, first_query=0, **columns):
    """Judged rows with nothing wrong: every query has the grades 0, 1, 2, ..., not in order."""
    n = n_queries * size
    return RankingData(
        rng.standard_normal((n, n_features)),
        np.tile(np.roll(np.arange(size, dtype=float), 2), n_queries),
        qid=np.repeat(np.arange(first_query, first_query + n_queries), size),
        **columns,
    )


def changed(data, **columns):
    kept = {field.name: getattr(data, field.name) for field in dataclasses.fields(data)}
    return RankingData(**(kept | columns))


def found(report):
    """what → (level, count, examples); every finding must be of its own kind."""
    table = {row.what: (row.level, row.count, row.examples) for row in report.rows}
    assert len(table) == len(report.rows)
    return table


def test_clean_data(rng):
    report = lint(clean(rng))
    assert isinstance(report, LintReport)
    assert report.rows == []
    assert report.ok
    (part,) = report.parts
    assert (part.name, part.n_samples, part.n_queries, part.n_features) == ("data", 40, 8, 6)
    assert part.labels == {"0": 8, "1": 8, "2": 8, "3": 8, "4": 8}
    assert part.group_sizes == {"min": 5.0, "median": 5.0, "mean": 5.0, "max": 5.0}
    assert str(report).startswith("Lint of data: 0 errors, 0 warnings, 0 notes\n")


@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features(rng, as_csr, dtype):
    data = clean(rng, n_features=8)
    X = data.X.astype(dtype)
    X[:, 1] = 0.0
    X[:, 2] = 3.5
    X[:, 4] = X[:, 0]
    X[:, 5] = X[:, 0]
    X[:, 6] = -X[:, 0]
    X[3, 7] = np.nan
    X[4, 7] = np.inf
    X[5, 3] = np.nan
    X[3:5, 6] = [0.0, -0.0]
    report = lint(changed(data, X=sparse.csr_matrix(X) if as_csr else X))
    assert found(report) == {
        "features with infinite values": ("error", 1, ("column 7",)),
        "features with NaN": ("warning", 2, ("column 3", "column 7")),
        "constant features": ("warning", 2, ("column 1", "column 2")),
        "duplicate features": ("warning", 2, ("column 4 = column 0", "column 5 = column 0")),
    }
    assert not report.ok
    assert report.rows[0].level == "error"
    assert "1 values" in report.rows[0].note


def test_feature_names_are_used(rng):
    data = clean(rng, n_features=2, feature_names=["bm25", "pagerank"])
    data.X[:, 1] = data.X[:, 0]
    assert found(lint(data))["duplicate features"][2] == ("'pagerank' = 'bm25'",)


def test_queries(rng):
    data = clean(rng)
    y, qid = data.y.copy(), data.qid.copy()
    y[qid == 2] = 0.0
    y[qid == 4] = 3.0
    qid[-1] = 99
    assert found(lint(changed(data, y=y, qid=qid))) == {
        "queries without relevant rows": ("warning", 1, ("2",)),
        "queries of one grade": ("warning", 1, ("4",)),
        "queries of one row": ("warning", 1, ("99",)),
    }


def test_targets_that_are_no_grades(rng):
    """Where labels may be negative, 0 is not 'irrelevant'."""
    data = clean(rng)
    report = lint(changed(data, y=-data.y - 1.0))
    assert report.rows == []
    many = lint(changed(data, y=rng.standard_normal(40)))
    assert sum(many.parts[0].labels.values()) == 40
    assert len(many.parts[0].labels) == 10
    missing = lint(changed(data, y=np.where(np.arange(40) == 7, np.nan, data.y)))
    assert found(missing) == {"labels that are not numbers": ("error", 1, ("query 1 row 2",))}


def test_scattered_rows(rng):
    data = clean(rng)
    order = np.arange(40)
    order[[4, 5]] = [5, 4]  # the last of query 0 and the first of query 1
    report = lint(data.take(order))
    assert found(report) == {"queries whose rows are scattered": ("info", 2, ("0", "1"))}


@pytest.mark.parametrize(("sign", "name"), [(-1, "descending"), (1, "ascending")])
def test_rows_in_the_order_of_their_labels(sign, name, rng):
    data = clean(rng)
    what = f"queries whose rows are in {name} order of their labels"
    sorted_rows = data.take(np.lexsort((sign * data.y, data.qid)))
    assert found(lint(sorted_rows)) == {what: ("warning", 8, ("0", "1", "2", "3", "4"))}
    some = data.take(np.concatenate([sorted_rows_of(data, sign, 6), np.arange(30, 40)]))
    assert found(lint(some)) == {what: ("warning", 6, ("0", "1", "2", "3", "4"))}
    few = data.take(np.concatenate([sorted_rows_of(data, sign, 2), np.arange(10, 40)]))
    assert found(lint(few)) == {}  # most are not sorted
    overall = data.take(np.argsort(sign * data.y, kind="stable"))
    findings = found(lint(overall))
    assert findings[f"rows in {name} order of their labels"][:2] == ("warning", 40)
    assert findings[what][:2] == ("warning", 8)
    (other,) = {"ascending", "descending"} - {name}
    assert not any(other in finding for finding in findings)


def sorted_rows_of(data, sign, n_queries):
    rows = np.flatnonzero(data.qid < n_queries)
    return rows[np.lexsort((sign * data.y[rows], data.qid[rows]))]


def test_short_queries_in_order_are_chance(rng):
    """Half of all queries of one relevant and one other row are in order."""
    data = clean(rng)
    pairs = changed(data, qid=np.arange(40) // 2, y=np.tile([1.0, 0.0, 0.0, 1.0], 10))
    assert not any("order" in what for what in found(lint(pairs)))


def test_equal_rows(rng):
    data = clean(rng)
    X, y = data.X.copy(), data.y.copy()
    X[3] = X[1]  # query 0, another label
    X[12] = X[10]  # query 2, the same label
    y[12] = y[10]
    X[29] = X[35]  # different queries: no matter
    report = found(lint(changed(data, X=X, y=y)))
    assert report == {
        "rows equal to an earlier one of their query": (
            "info", 2, ("query 0 row 3", "query 2 row 2"),
        ),
        "equal rows of a query with different labels": (
            "warning", 2, ("query 0 row 1", "query 0 row 3"),
        ),
    }  # fmt: skip


def test_documents_and_queries_twice(rng):
    doc_ids = np.array([f"d{i}" for i in range(40)])
    doc_ids[7] = doc_ids[5]
    doc_ids[20] = doc_ids[0]  # another query: usual
    doc_ids[[11, 12]] = ""  # unknown
    data = clean(rng, doc_ids=doc_ids)
    data.X[35:40] = data.X[[4, 3, 2, 1, 0]]
    assert found(lint(data)) == {
        "rows whose document occurred earlier in the query": ("warning", 1, ("query 1 row 2",)),
        "queries with the rows of an earlier one": ("warning", 1, ("7",)),
    }


def make_fold(rng, name="f", first=0):
    parts = [
        clean(rng, first_query=first + start, n_queries=n) for start, n in ((0, 8), (8, 3), (11, 4))
    ]
    return Fold(*parts, name)


def test_clean_fold(rng):
    report = lint(make_fold(rng))
    assert report.rows == []
    assert [part.name for part in report.parts] == ["f train", "f vali", "f test"]
    assert lint(Fold(*([clean(rng), None, clean(rng, first_query=8)]))).ok


def test_leaks(rng):
    fold = make_fold(rng)
    fold.test.X[7] = fold.train.X[11]
    fold.test.X[8] = 0.0
    fold.train.X[9] = 0.0  # rows of zeros say nothing
    qid = fold.vali.qid.copy()
    qid[:5] = 3
    fold = Fold(fold.train, changed(fold.vali, qid=qid), fold.test, "f")
    rows = lint(fold).rows
    assert [(row.level, row.what, row.where, row.count, row.total) for row in rows] == [
        ("error", "queries in two parts", "f train and vali", 1, 3),
        ("warning", "rows equal to a row of the other part", "f train and test", 1, 20),
        ("info", "queries whose rows are scattered", "f all parts", 1, 14),
    ]
    assert rows[0].examples == ("3",)
    assert rows[1].examples == ("query 12 row 2",)


def test_shared_documents(rng):
    fold = make_fold(rng)
    ids = [np.array([f"{name}{i}" for i in range(len(part))], dtype=str)
           for name, part in (("a", fold.train), ("b", fold.vali), ("c", fold.test))]  # fmt: skip
    ids[2][:3] = ["a1", "a2", "b5"]
    ids[0][30], ids[2][9] = "", ""
    parts = [changed(part, doc_ids=i) for part, i in zip(
        (fold.train, fold.vali, fold.test), ids, strict=True)]  # fmt: skip
    rows = lint(Fold(*parts, "f")).rows
    assert [(row.level, row.where, row.count, row.examples) for row in rows] == [
        ("warning", "f train and test", 1, ("11",)),  # a2 is relevant in both
        ("info", "f train and test", 2, ("a1", "a2")),
        ("info", "f vali and test", 1, ("b5",)),
    ]


def test_constant_in_train_only(rng):
    fold = make_fold(rng)
    fold.train.X[:, 2] = 1.0
    for part in (fold.train, fold.vali, fold.test):
        part.X[:, 4] = 7.0
    rows = lint(fold).rows
    assert [(row.what, row.where, row.examples) for row in rows] == [
        ("constant features", "f all parts", ("column 4",)),
        ("features constant in train only", "f train", ("column 2",)),
    ]


def test_folded_data_checks_the_same_rows_once(rng):
    fold = make_fold(rng)
    for part in (fold.train, fold.vali, fold.test):
        part.X[:, 4] = 7.0
    turned = Fold(fold.test, fold.train, fold.vali, "g")
    other = make_fold(rng, "h", first=100)
    folds = [fold, turned, other]
    report = lint(FoldedData("toy", ("f", "g", "h"), lambda i: folds[i]))
    assert report.name == "toy"
    assert [(row.what, row.where) for row in report.rows] == [("constant features", "f all parts")]
    assert [part.name for part in report.parts] == [
        f"{name} {part}" for name in "fgh" for part in ("train", "vali", "test")
    ]


@pytest.mark.parametrize(
    ("counts", "said"),
    [((1, 0, 2), "1 error, 0 warnings, 2 notes"), ((0, 1, 1), "0 errors, 1 warning, 1 note")],
)
def test_the_title_counts_in_singular_and_plural(counts, said):
    rows = [
        Finding(level, "what", "where", 1, 1, (), "note")
        for level, count in zip(("error", "warning", "info"), counts, strict=True)
        for _ in range(count)
    ]
    assert str(LintReport("toy", rows, [])).startswith(f"Lint of toy: {said}\n")


def test_parts_of_different_width(rng):
    with pytest.raises(ValueError, match=r"as many features each, got \[5, 6\]"):
        lint(Fold(clean(rng), None, clean(rng, n_features=5)))


def test_no_rows():
    report = lint(RankingData(np.empty((0, 3)), np.empty(0), qid=np.empty(0)))
    assert report.rows == []
    assert report.parts[0].n_queries == 0
    assert "data" in str(report)


def test_report_as_text_and_json(rng):
    folds = [make_fold(rng, f"f{i}", first=20 * i) for i in range(5)]
    for fold in folds:
        fold.train.X[:, 0] = 1.0
    report = lint(FoldedData("toy", tuple("01234"), lambda i: folds[i]))
    as_dict = json.loads(json.dumps(report.to_dict()))
    assert as_dict["ok"] is True
    assert len(as_dict["rows"]) == 5
    assert as_dict["rows"][0]["examples"] == ["column 0"]
    assert as_dict["parts"][0]["group_sizes"]["median"] == 5.0
    text = str(report)
    assert "Lint of toy: 0 errors, 5 warnings, 0 notes" in text
    assert text.count("features constant in train only: no weight") == 3
    assert "features constant in train only: 2 more" in text
    assert all(len(line) == len(line.rstrip()) for line in text.splitlines())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hashes_tell_equal_from_unequal(rng, dtype):
    """Few values, so that many rows and columns are equal; blocks and CSR change nothing."""
    X = rng.choice(np.array([0.0, 1.0, 2.0, -0.0, 1e-8], dtype=dtype), (3000, 4))
    X = np.hstack([X, X[:, :2], np.roll(X[:, :1], 1, axis=0)])
    whole = hash_table(X)
    _, rows = np.unique(X + 0.0, axis=0, return_inverse=True)
    _, hashed_rows = np.unique(whole.rows, return_inverse=True)
    pairs = set(zip(rows.ravel().tolist(), hashed_rows.tolist(), strict=True))
    assert len(pairs) == rows.max() + 1 == hashed_rows.max() + 1
    assert (whole.columns[:, None] == whole.columns).sum() == 7 + 4
    parts = [hash_table(X[a:b], a) for a, b in ((0, 1000), (1000, 1000), (1000, 3000))]
    for other in (
        hash_table(sparse.csr_matrix(X)),
        parts[2].below(parts[1].below(parts[0])),
        hash_table(np.asfortranarray(X)),
    ):
        for name, value in vars(whole).items():
            np.testing.assert_array_equal(getattr(other, name), value)


def test_ohsumed(data_root):
    report = lint(load_dataset("ohsumed", dtype=np.float64))
    assert report.ok
    assert len(report.parts) == 15
    constant = next(row for row in report.rows if row.what == "constant features")
    everything = load_dataset("ohsumed", part="all", dtype=np.float64)
    assert constant.count == (np.ptp(everything.X, axis=0) == 0).sum() == 9
    empty = next(row for row in report.rows if row.what == "queries without relevant rows")
    assert (empty.count, empty.total) == (1, 106)
    shared = [row for row in report.rows if row.what == "documents in two parts"]
    assert len(shared) == 15
    fold = load_dataset("ohsumed", 1)
    common = np.intersect1d(fold.train.doc_ids, fold.vali.doc_ids)
    assert shared[0].count == len(common)


def test_lambdarank_has_a_query_twice():
    data = load_dataset("lambdarank", part="all")
    report = found(lint(data))
    assert report["constant features"][1] == 82
    level, count, (query,) = report["queries with the rows of an earlier one"]
    assert (level, count) == ("warning", 1)
    rows = np.sort(data.X[data.qid == int(query)], axis=0)
    same = [
        q
        for q in data.groups.ids.tolist()
        if (data.qid == q).sum() == len(rows)
        and np.array_equal(np.sort(data.X[data.qid == q], axis=0), rows)
    ]
    assert len(same) == 2
