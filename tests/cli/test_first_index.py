"""An index of LETOR text is the same column in all files, though some lack the first index."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rankwise as rw
from rankwise.datasets import read_letor
from rankwise.datasets.judged_source import same_width
from rankwise.persistence import describe

from .conftest import judged_data


def write_from(base, data, path, first_column=0):
    """LETOR text whose indices count from ``base``, without the first columns."""
    with path.open("w") as file:
        for label, query, row in zip(data.y, data.qid, data.X, strict=True):
            cells = [f"{j + base}:{value:.9g}" for j, value in enumerate(row)]
            file.write(f"{label:g} qid:{query} {' '.join(cells[first_column:])}\n")
    return path


@pytest.fixture(params=[0, 1])
def base(request):
    return request.param


@pytest.fixture
def train(base, tmp_path):
    return write_from(base, judged_data(0), tmp_path / "train.txt")


@pytest.fixture
def part(base, tmp_path):
    """Rows whose first feature is 0 and left out, as sparse files do."""
    return write_from(base, judged_data(5), tmp_path / "part.txt", first_column=1)


@pytest.fixture
def rows():
    data = judged_data(5)
    data.X[:, 0] = 0
    return data


@pytest.fixture
def model(rankwise, train, tmp_path):
    assert rankwise("fit", train, "--ranker", "ridge", "--out", tmp_path / "m").code == 0
    return tmp_path / "m"


def test_model_files_say_the_first_index(model, base):
    assert describe(model)["rows"]["first_index"] == base


def test_predict(rankwise, model, part, rows):
    done = rankwise("predict", model, part)
    assert done.code == 0, done.err
    expected = rw.load(model).predict(rows.X)
    np.testing.assert_allclose([float(line) for line in done.out.split()], expected, rtol=1e-6)


def test_evaluate(rankwise, model, part, rows):
    done = rankwise("evaluate", model, part, "--measures", "nDCG@10", "--json")
    scores = rw.load(model).predict(rows.X)
    expected = rw.evaluate(rows.y, scores, rows.qid, "nDCG@10")["nDCG@10"]
    assert done.json["measures"]["nDCG@10"]["mean"] == pytest.approx(expected, abs=1e-9)


@pytest.fixture(params=["cv", "letor", "test part", "folder"])
def split(request, train, part, tmp_path):
    """Arguments of compare for rows without their first and last columns, by way of splitting."""
    text = "".join(f"{line.rpartition(' ')[0]}\n" for line in part.read_text().splitlines())
    part.write_text(text)
    folder = tmp_path / "folds"
    for name in ("train", "vali", "test"):
        (folder / "Fold1").mkdir(parents=True, exist_ok=True)
        (folder / "Fold1" / f"{name}.txt").write_text(text)
    return {
        "cv": [part, "--cv", "2"],
        "letor": [part, "--cv", "letor"],
        "test part": [train, "--test-data", part],
        "folder": [folder],
    }[request.param]


def test_compare(rankwise, model, split, rows):
    done = rankwise("compare", *split, "--rankers", model, "--measures", "nDCG@10", "--json")
    assert done.code == 0, done.err
    rows.X[:, -1] = 0
    expected = rw.evaluate(rows.y, rw.load(model).predict(rows.X), rows.qid, "nDCG@10")
    (spec,) = done.json["measures"].values()
    found = np.concatenate([cell["values"][spec] for cell in done.json["cells"]])
    wanted = expected.per_query["nDCG@10"]
    np.testing.assert_allclose(np.sort(found), np.sort(wanted), atol=1e-9)


@pytest.mark.parametrize("command", ["evaluate", "compare", "folds"])
@pytest.mark.parametrize("place", [0, 2])
def test_columns_have_the_numbers_of_the_file(rankwise, train, base, tmp_path, command, place):
    # Places were counted from 1: column:1 was index 0 of a file that counts from 0.
    number = f"column:{place + base}"
    data = judged_data(0)
    wanted = rw.evaluate(data.y, data.X[:, place], data.qid, "nDCG@10")["nDCG@10"]
    if command == "evaluate":
        done = rankwise("evaluate", number, train, "--measures", "nDCG@10", "--json")
        found = done.json["measures"]["nDCG@10"]["mean"]
    else:
        other = write_from(base, judged_data(5), tmp_path / "other.txt")
        words = [other, "--test-data", train]
        if command == "folds":
            (tmp_path / "d" / "Fold1").mkdir(parents=True)
            for part in ("train", "vali", "test"):
                (tmp_path / "d" / "Fold1" / f"{part}.txt").write_bytes(train.read_bytes())
            words = [tmp_path / "d"]
        words = [*words, "--rankers", f"ridge,x={number}", "--measures", "nDCG@10", "--json"]
        board = rankwise("compare", *words).json
        found = next(row["mean"] for row in board["rows"] if row["ranker"] == "x")
    assert found == pytest.approx(wanted, abs=1e-9)


def test_columns_beyond_the_last_are_refused(rankwise, train, base):
    number = judged_data(0).n_features + base
    done = rankwise("evaluate", f"column:{number}", train)
    assert done.code != 0 and f"column:{number} must name a" in done.err.replace("\n", " ")


def test_drift(rankwise, model, part):
    done = rankwise("lint", part, "--against", model, "--json")
    moved = [column["name"] for column in json.loads(done.out)["columns"] if column["has_moved"]]
    assert [name for name in moved if name.isdigit()] == ["0"]


@pytest.mark.parametrize("reverse", [False, True])
def test_parts_have_the_same_columns(train, part, rows, reverse):
    paths = [[str(train)], [str(part)]]
    first, second = same_width(paths[::-1] if reverse else paths)
    if reverse:
        first, second = second, first
    np.testing.assert_array_equal(first.X, judged_data(0).X)
    np.testing.assert_array_equal(second.X, rows.X)


def test_a_model_of_text_from_1_refuses_index_0(rankwise, tmp_path):
    train = write_from(1, judged_data(0), tmp_path / "train.txt")
    other = write_from(0, judged_data(5), tmp_path / "other.txt")
    assert rankwise("fit", train, "--ranker", "ridge", "--out", tmp_path / "m").code == 0
    commands = (["predict", tmp_path / "m", other], ["evaluate", tmp_path / "m", other])
    for command in (*commands, ["compare", other, "--rankers", tmp_path / "m"]):
        done = rankwise(*command)
        assert done.code == 1
        assert "index 0 in a file whose indices start at 1" in done.err


def test_models_with_other_first_indices_are_evaluated_alone(rankwise, tmp_path):
    for base in (0, 1):
        train = write_from(base, judged_data(0), tmp_path / f"{base}.txt")
        assert rankwise("fit", train, "--ranker", "ridge", "--out", tmp_path / f"m{base}").code == 0
    done = rankwise("evaluate", tmp_path / "m0", tmp_path / "1.txt", "--systems", tmp_path / "m1")
    assert done.code == 2
    assert "one by one" in done.err.replace("\n", " ")


def test_validation_rows_have_the_columns_of_the_training_rows(rankwise, train, part, tmp_path):
    out = tmp_path / "v"
    done = rankwise(
        "fit", train, "--ranker", "rank_svm", "--vali-data", part, "--out", out, "--json"
    )
    assert done.code == 0, done.err
    assert describe(out)["n_features"] == read_letor(train).n_features
