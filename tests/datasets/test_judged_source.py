"""Judged data by the names of files, folders and sets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rankwise.datasets import Fold, FoldedData, RankingData, open_judged

LETOR = "2 qid:1 1:0.5 2:1\n0 qid:1 2:3\n1 qid:2 1:4\n"
ZERO_BASED = "2 qid:1 0:0.5 1:1\n0 qid:1 1:3\n"
FRAME = pd.DataFrame({"qid": [1, 1, 2], "grade": [2, 0, 1], "a": [0.5, 0, 4], "b": [1.0, 3, 0]})
X = [[0.5, 1], [0, 3], [4, 0]]


def write(folder, name, text=LETOR):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["rows.txt", "rows.letor", "rows", "rows.csv", "rows.parquet"])
def test_the_format_of_a_file_is_recognised(tmp_path, name):
    path = write(tmp_path, name)
    if name.endswith(".csv"):
        FRAME.to_csv(path, index=False)
    elif name.endswith(".parquet"):
        FRAME.to_parquet(path)
    data = open_judged(path)
    assert isinstance(data, RankingData)
    assert data.name == name or data.feature_names is None
    assert data.qid.tolist() == [1, 1, 2]
    assert data.y.tolist() == [2, 0, 1]
    np.testing.assert_array_equal(np.asarray(data.X), X)


def test_patterns_and_lists_are_one_table(tmp_path):
    paths = [write(tmp_path, f"{part}.txt") for part in "ab"]
    for given in (paths, [str(path) for path in paths], str(tmp_path / "*.txt")):
        assert open_judged(given).n_samples == 6
    FRAME.to_csv(tmp_path / "c.csv", index=False)
    assert open_judged(tmp_path).n_samples == 3  # the tables of a folder
    with pytest.raises(ValueError, match=r"a.txt and 1 more mixes LETOR text with CSV"):
        open_judged([paths[0], tmp_path / "c.csv"])


def test_columns_of_tables_are_those_of_read_table(tmp_path):
    FRAME.assign(c=FRAME.grade).to_csv(tmp_path / "t.csv", index=False, sep=";")
    data = open_judged(tmp_path / "t.csv", columns={"label": "c", "ignore": ["grade"], "sep": ";"})
    assert data.feature_names == ["a", "b"]
    assert data.y.tolist() == [2, 0, 1]


@pytest.mark.parametrize("text, column", [(LETOR, "1"), (ZERO_BASED, "0")])
def test_columns_of_letor_text_are_ignored_by_their_number_in_the_file(tmp_path, text, column):
    data = open_judged(write(tmp_path, "a.txt", text), columns={"ignore": [column]})
    assert data.n_features == 1
    assert np.asarray(data.X)[:2, 0].tolist() == [1, 3]


def test_a_label_marks_unjudged_rows_of_letor_text(tmp_path):
    data = open_judged(write(tmp_path, "a.txt"), columns={"unjudged": 0})
    assert data.judged.tolist() == [True, False, True]
    with pytest.raises(ValueError, match="unjudged='missing' is for tables with empty cells"):
        open_judged(tmp_path / "a.txt", columns={"unjudged": "missing"})


def test_a_folder_of_folds_gives_parts_of_one_width(tmp_path):
    for number in (2, 1, 10):
        for what in ("train", "vali", "test"):
            write(tmp_path / f"Fold{number}", f"{what}.txt")
    write(tmp_path / "Fold1", "test.txt", LETOR + "1 qid:3 5:1\n")
    folds = open_judged(tmp_path)
    assert isinstance(folds, FoldedData)
    assert folds.fold_names == ("fold1", "fold2", "fold10")
    assert [part.n_features for part in (folds[0].train, folds[0].vali, folds[0].test)] == [5] * 3
    (tmp_path / "Fold2" / "vali.txt").unlink()
    with pytest.raises(ValueError, match=r"Fold2 has no vali\.txt"):
        open_judged(tmp_path)[1]


def test_names_of_data_sets_name_folds_and_parts():
    fold = open_judged("lambdarank:1")
    assert isinstance(fold, Fold)
    train = open_judged("lambdarank:1:train")
    np.testing.assert_array_equal(train.y, fold.train.y)


@pytest.mark.parametrize(
    "name, columns, said",
    [
        ("lambdrank", {}, "neither a file nor a data set. Did you mean 'lambdarank'"),
        ("lambdarank:1:best", {}, "a data set must be NAME, NAME:FOLD or NAME:FOLD:PART"),
        ("lambdarank", {"label": "y"}, "is not a file, and label apply only to tables"),
        ("lambdarank", {"unjudged": -1}, "unjudged marks rows of files: drop it"),
    ],
)
def test_names_that_do_not_fit_are_refused(name, columns, said):
    with pytest.raises(ValueError, match=said):
        open_judged(name, columns=columns)


@pytest.mark.parametrize(
    "text, columns, said",
    [
        ("q1 0 d1 1\nq1 0 d2 0\n", {}, "holds judgements, not judged rows"),
        ("q1 Q0 d1 1 2.5 t\n", {}, "holds a run, not judged rows"),
        (LETOR, {"qid": "q", "label": "y"}, "LETOR text.* no names. Drop label, qid, or add sep"),
    ],
)
def test_files_without_judged_rows_or_columns_are_refused(tmp_path, text, columns, said):
    with pytest.raises(ValueError, match=said):
        open_judged(write(tmp_path, "a.txt", text), columns=columns)
