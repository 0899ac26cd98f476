"""Messages write parameters as the user of the process does."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from rankwise.runtime.vocabulary import ArgumentError, did_you_mean, setting, settings_written


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("label",), "label='…'"),
        (("features",), "features=[…]"),
        (("qid", False), "qid=False"),
        (("features", ["a", "b"]), "features=['a', 'b']"),
    ],
)
def test_settings_are_arguments(given, expected):
    assert setting(*given) == expected


def test_settings_of_a_program_hold_in_its_threads_and_end_with_it():
    with (
        pytest.raises(ValueError, match="of the block"),
        settings_written(lambda name, value: f"--{name} {value}"),
        ThreadPoolExecutor(1) as pool,
    ):
        assert pool.submit(setting, "sep", ";").result() == "--sep ;"
        raise ValueError("of the block")
    assert setting("sep", ";") == "sep=';'"


def test_suggestions():
    assert did_you_mean("rigde", ["ridge", "ranknet"], "Known: 2.") == "Did you mean 'ridge'?"
    assert did_you_mean("x", ["ridge"], "Known: 1.") == "Known: 1."


def test_an_error_of_an_argument_keeps_its_name_between_processes():
    error = pickle.loads(pickle.dumps(ArgumentError("sizes", "must be whole numbers.")))
    assert (error.name, str(error)) == ("sizes", "sizes must be whole numbers.")
