"""Comparisons from files and frames of any library."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankwise.preferences import Comparisons, PairwisePreferences, read_comparisons

VOTES = pd.DataFrame(
    {
        "model_a": ["gpt", "llama", "qwen", "gpt", "qwen"],
        "model_b": ["llama", "qwen", "gpt", "qwen", "llama"],
        "winner": ["model_a", "tie", "qwen", "model_b", "tie (bothbad)"],
        "judge": ["ann", "bob", "ann", "cy", "bob"],
        "length_a": [10, 20, 15, 12, 9],
        "length_b": [12, 15, 15, 18, 3],
        "sample_weight": [1, 2, 1, 1, 0.5],
    }
)
OPTIONS = {"clusters": ["judge"], "covariates": [("length_a", "length_b"), "length_a"]}


def check(games):
    assert games.items.tolist() == ["gpt", "llama", "qwen"]
    assert games.first.tolist() == [0, 1, 2, 0, 2]
    assert games.second.tolist() == [1, 2, 0, 2, 1]
    assert games.outcome.tolist() == [0, 1, 0, 2, 1]
    assert games.weight.tolist() == [1, 2, 1, 1, 0.5]
    assert games.clusters.tolist() == [[0], [1], [0], [2], [1]]
    assert games.covariates.tolist() == [[-2, 10], [5, 20], [0, 15], [-6, 12], [6, 9]]
    assert games.covariate_names == ("length_a - length_b", "length_a")
    assert games.cluster_names == ("judge",)


def write(folder, suffix):
    path = folder / f"votes{suffix}"
    if suffix == ".parquet":
        VOTES.to_parquet(path)
    elif suffix == ".csv.gz":
        path.write_bytes(gzip.compress(VOTES.to_csv(index=False).encode()))
    else:
        VOTES.to_csv(path, index=False, sep={".tsv": "\t", ".txt": ";"}.get(suffix, ","))
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet", ".txt"])
def test_files(tmp_path, suffix):
    check(
        read_comparisons(write(tmp_path, suffix), **OPTIONS, sep=";" if suffix == ".txt" else None)
    )


@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: frame,
        pl.from_pandas,
        lambda frame: pl.from_pandas(frame).lazy(),
        lambda frame: pl.from_pandas(frame).to_arrow(),
        lambda frame: frame.astype({"model_a": "category", "judge": "category"}),
        lambda frame: frame.convert_dtypes(),
        lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    ],
)
def test_frames(convert):
    check(read_comparisons(convert(VOTES), **OPTIONS))


def test_named_columns_and_numbers():
    frame = VOTES.rename(columns={"model_a": "x", "model_b": "z", "winner": "vote"})
    frame["vote"] = [1, 0.5, 1, 0, 0.5]
    games = read_comparisons(frame, item_a="x", item_b="z", winner="vote", **OPTIONS)
    check(games)
    frame["vote"] = ["x", "draw", "LEFT", "z", "Neither"]
    check(read_comparisons(frame, item_a="x", item_b="z", winner="vote", **OPTIONS))


def test_ids_of_numbers_are_text():
    frame = pd.DataFrame({"a": [7.0, 8.0], "b": [8, 9], "winner": [7, 9]})
    games = read_comparisons(frame)
    assert games.items.tolist() == ["7", "8", "9"]
    assert games.outcome.tolist() == [0, 2]


def test_results_that_could_be_ids_are_refused():
    frame = pd.DataFrame({"a": [1, 2], "b": [2, 3], "winner": [1, 0]})
    with pytest.raises(ValueError, match=r"winners \['1'\] could be names of items or results"):
        read_comparisons(frame)


def test_fit_reads_frames_files_and_arrays_alike(tmp_path):
    names = ["gpt", "llama", "qwen"]
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (90, 2))
    rows = rows[rows[:, 0] != rows[:, 1]]
    outcomes = rng.choice([1.0, 0.5, 0.0], len(rows))
    frame = pd.DataFrame(np.array(names)[rows], columns=["item_a", "item_b"]).assign(
        result=outcomes
    )
    frame["judge"], frame["length"] = np.arange(len(rows)) % 8, rng.normal(size=len(rows))
    frame.to_csv(tmp_path / "votes.csv", index=False)
    words = ["second", "tie", "first"]
    by_name = {"covariates": ["length"], "clusters": ["judge"]}
    fits = [
        PairwisePreferences().fit(frame, **by_name),
        PairwisePreferences().fit(tmp_path / "votes.csv", **by_name),
        PairwisePreferences().fit(read_comparisons(frame, **by_name)),
        PairwisePreferences().fit(
            frame[["item_a", "item_b"]], outcomes, covariates=frame[["length"]],
            clusters=frame["judge"],
        ),
        PairwisePreferences().fit(
            np.array(names, dtype=object)[rows], np.array(words)[(2 * outcomes).astype(int)],
            covariates=frame["length"].to_numpy(), clusters=frame[["judge"]],
        ),
    ]  # fmt: skip
    for model in fits:
        np.testing.assert_allclose(model.covariance_, fits[0].covariance_, rtol=1e-9)
        assert model.items_.tolist() == names
    assert [model.effect_names_[0] for model in fits] == ["length"] * 4 + ["x0"]


@pytest.mark.parametrize("name", ["sample_weight", "weight", "Weight"])
def test_a_column_of_weights_is_found(tmp_path, name):
    votes = VOTES.rename(columns={"sample_weight": name})
    check(read_comparisons(votes, **OPTIONS))
    votes.to_csv(tmp_path / "votes.csv", index=False)
    check(read_comparisons(tmp_path / "votes.csv", **OPTIONS))
    assert read_comparisons(votes, sample_weight=False).weight.tolist() == [1] * 5
    # A covariate is no weight unless it is named as such.
    assert read_comparisons(votes, covariates=[name]).weight.tolist() == [1] * 5
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["y", "x"], "winner": ["a"] * 2, name: [100, 1]})
    model = PairwisePreferences().fit(frame)
    assert np.ptp(model.strengths_) == pytest.approx(np.log(100))


def test_two_columns_of_weights_are_refused():
    votes = VOTES.assign(weight=1.0)
    with pytest.raises(ValueError, match=r"'sample_weight', 'weight' may both be weights.*Pass sa"):
        read_comparisons(votes)
    check(read_comparisons(votes, sample_weight="sample_weight", **OPTIONS))


UNKNOWN = ["model_a", "tie", "gpt", "model_b", "best"]
SAME = ["gpt", "llama", "qwen", "qwen", "qwen"]


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ({"winner": UNKNOWN}, {}, "'best' for 'qwen' and 'llama' at"),
        ({"winner": ["model_a", "tie", None, "model_b", "tie"]}, {}, "winners must not be missing"),
        ({"model_a": SAME}, {}, "must differ, got 'qwen' twice at"),
        ({"sample_weight": [1, 1, 1, 1, -1.0]}, {}, "sample_weight must be >= 0, got -1.0 at row"),
        ({}, {"item_a": "model_c"}, "first item 'model_c' must be columns; there are 'model_a'"),
        ({}, {"clusters": ["prompt"]}, "clusters 'prompt' must be columns"),
        ({}, {"covariates": ["judge"]}, "not a finite number|must hold numbers, column 'judge'"),
        ({"length_a": [1, 2, np.nan, 4, 5]}, {"covariates": ["length_a"]}, "finite"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("as_file", [False, True])
def test_wrong_tables_are_named(tmp_path, change, options, said, as_file):
    source = VOTES.assign(**change)
    if as_file:
        source.to_csv(tmp_path / "votes.csv", index=False)
        source = tmp_path / "votes.csv"
        if "model_a" in change or "best" in said:
            said = rf"{said} .*votes\.csv, line [56]"
    with pytest.raises(ValueError, match=said) as caught:
        read_comparisons(source, **options)
    assert str(caught.value).count("votes.csv") == as_file


def test_other_sources_are_refused(tmp_path):
    with pytest.raises(TypeError, match="must be a path or a frame with named columns, got list"):
        read_comparisons([("a", "b", "a")])
    with pytest.raises(ValueError, match="there must be a column of the winner, named 'winner' or"):
        read_comparisons(VOTES.drop(columns="winner"))
    (tmp_path / "votes.json").write_text("{}")
    with pytest.raises(ValueError, match=r"path must end in one of .csv.*got 'votes.json'"):
        read_comparisons(tmp_path / "votes.json")
    (tmp_path / "votes.csv").write_text("")
    with pytest.raises(ValueError, match=r"votes.csv: the file is empty"):
        read_comparisons(tmp_path / "votes.csv")
    (tmp_path / "votes.csv").write_text("a,b,winner\n")
    with pytest.raises(ValueError, match="at least one row, got none"):
        read_comparisons(tmp_path / "votes.csv")
    with pytest.raises(FileNotFoundError):
        read_comparisons(tmp_path / "other.csv")


@pytest.mark.parametrize("sep", [";", "\t", "|"])
def test_another_separator_is_suggested(tmp_path, sep):
    VOTES.to_csv(tmp_path / "votes.csv", index=False, sep=sep)
    with pytest.raises(ValueError, match="the first line is one column") as caught:
        read_comparisons(tmp_path / "votes.csv")
    assert f"separator: sep={sep!r}." in str(caught.value)
    assert len(read_comparisons(tmp_path / "votes.csv", sep=sep)) == 5


def test_take_keeps_what_occurs():
    games = read_comparisons(VOTES, **OPTIONS).take(np.array([0, 0]))
    assert games.items.tolist() == ["gpt", "llama"]
    assert games.clusters.tolist() == [[0], [0]]
    assert len(games) == 2
    with pytest.raises(ValueError, match=r"X holds comparisons .* got y as well"):
        PairwisePreferences().fit(games, [1, 1])
    assert isinstance(games, Comparisons)
