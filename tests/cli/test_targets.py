"""Where commands write to, what they say about it in JSON, and folds that cannot be made."""

from __future__ import annotations

import pytest

from rankwise.datasets import read_letor, read_run, read_table, write_letor

from .conftest import judged_data

WRITING = [
    ("fit", "DATA", "--ranker", "linear_regression", "--out"),
    ("predict", "MODEL", "DATA", "--out"),
    ("predict", "MODEL", "DATA", "--format", "trec", "--out"),
    ("convert", "DATA", "--to", "csv", "--out"),
    ("convert", "DATA", "--to", "parquet", "--out"),
    ("compare", "DATA", "--rankers", "linear_regression", "--report"),
]


@pytest.fixture
def model(rankwise, letor_file, tmp_path):
    """A fitted model's file."""
    path = tmp_path / "m"
    assert rankwise("fit", letor_file, "--ranker", "linear_regression", "--out", path).code == 0
    return path


@pytest.mark.parametrize("command", WRITING, ids=" ".join)
def test_every_command_that_writes(rankwise, letor_file, model, tmp_path, command):
    arguments = [{"DATA": letor_file, "MODEL": model}.get(word, word) for word in command]
    target = tmp_path / "new" / "er" / "file"
    run = rankwise(*arguments, target)
    assert run.code == 0, run.err
    assert target.stat().st_size > 0
    onto_a_folder = rankwise(*arguments, target.parent)
    assert onto_a_folder.code == 2
    assert f"{command[-1]} must name a file, but {target.parent} is a folder" in onto_a_folder.err
    below_a_file = rankwise(*arguments, target / "more" / "file")
    assert below_a_file.code == 2
    assert f"cannot be written: {target} is a file, not a folder" in below_a_file.err


def test_nothing_is_made_when_the_job_fails(rankwise, tmp_path):
    run = rankwise("convert", tmp_path / "absent.txt", "--out", tmp_path / "new" / "a.csv")
    assert run.code == 2
    assert not (tmp_path / "new").exists()


def test_predict_in_json(rankwise, letor_file, model, tmp_path):
    plain = [float(line) for line in rankwise("predict", model, letor_file).out.split()]
    run = rankwise("predict", model, letor_file, "--json").json
    assert run == {
        "model": str(model),
        "data": "judged.txt",
        "rows": 96,
        "queries": 12,
        "format": "scores",
        "out": None,
        "scores": plain,
    }
    target = tmp_path / "a.run"
    facts = rankwise("predict", model, letor_file, "--out", target, "--json").json
    assert facts == {key: value for key, value in run.items() if key != "scores"} | {
        "format": "trec",
        "out": str(target),
    }
    assert len(read_run(target).scores) == 96


def test_convert_in_json(rankwise, letor_file, tmp_path):
    target = tmp_path / "a.csv.gz"
    assert rankwise("convert", letor_file, "--out", target, "--json").json == {
        "data": "judged",
        "rows": 96,
        "queries": 12,
        "features": 4,
        "format": "csv",
        "out": str(target),
    }
    assert rankwise("convert", letor_file, "--out", target).out == ""


def test_convert_keeps_weights_and_refuses_to_write_empty_ids(rankwise, tmp_path):
    source, weights = tmp_path / "a.txt", tmp_path / "a.txt.weight"
    source.write_text("1 qid:1 1:1\n0 qid:1 1:2 # docid = d2\n")
    weights.write_text("2\n0.5\n")
    assert rankwise("convert", source, "--out", tmp_path / "b.txt").code == 0
    assert "qid:1 cost:0.5 1:2" in (tmp_path / "b.txt").read_text()
    done = rankwise("convert", source, "--out", tmp_path / "b.csv")
    assert done.code == 1
    assert "1 of 2 rows have no document id, the first of them is row 0" in done.err
    assert not (tmp_path / "b.csv").exists()
    source.write_text("1 qid:1 1:1 # docid = d1\n0 qid:1 1:2 # docid = d2\n")
    assert rankwise("convert", source, "--out", tmp_path / "b.csv").code == 0
    assert read_table(tmp_path / "b.csv").sample_weight.tolist() == [2, 0.5]


@pytest.mark.parametrize(
    ("n_queries", "folds", "message"),
    [
        (
            12,
            ["--cv", "13"],
            "--cv 13 needs at least 13 queries, but judged.txt has 12. Use --cv 2",
        ),
        (4, ["--cv", "letor"], "--cv letor needs at least 5 queries, but judged.txt has 4. Use"),
        (2, ["--cv", "3"], "judged.txt has 2. Use --cv 2."),
        (
            1,
            [],
            "a split needs at least 2 queries, but judged.txt names at most one. Name the query",
        ),
    ],
)
@pytest.mark.parametrize("command", ["cv", "compare"])
def test_more_folds_than_queries(rankwise, tmp_path, command, n_queries, folds, message):
    path = tmp_path / "judged.txt"
    write_letor(judged_data(0, n_queries=n_queries), path)
    assert read_letor(path).n_queries == n_queries
    ranker = "--ranker" if command == "cv" else "--rankers"
    run = rankwise(command, path, ranker, "linear_regression", *folds)
    assert run.code == 2
    assert message in run.err
