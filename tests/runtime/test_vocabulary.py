"""Messages write parameters as the user of the process does."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

from rankwise.runtime.messages import (
    ArgumentError,
    check_choice,
    check_share,
    check_whole,
    did_you_mean,
    setting,
    settings_written,
)


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


@pytest.mark.parametrize(
    ("check", "wrong", "message"),
    [
        (
            partial(check_choice, known=("a", "bc", None)),
            "cb",
            "must be one of 'a', 'bc', None, got 'cb'.",
        ),
        (partial(check_choice, known=("abc", "xyz")), "abd", "got 'abd'. Did you mean 'abc'?"),
        (partial(check_choice, known=(1, 2)), True, "must be one of 1, 2, got True."),
        (
            partial(check_choice, known=("a",), fix="Or none."),
            [1],
            "must be one of 'a', got [1]. Or none.",
        ),
        (partial(check_whole, least=1), 0, "must be a whole number >= 1, got 0."),
        (partial(check_whole, least=1), 1.5, "must be a whole number >= 1, got 1.5."),
        (partial(check_whole, least=1), True, "must be a whole number >= 1, got True."),
        (partial(check_whole, least=1, fix="Pass None."), "1", "got '1'. Pass None."),
        (check_share, 1, "must lie between 0 and 1, got 1."),
        (check_share, float("nan"), "must lie between 0 and 1, got nan."),
        (partial(check_share, fix="Write 0.95."), 95, "got 95. Write 0.95."),
        (check_share, "0.5", "must lie between 0 and 1, got '0.5'."),
    ],
)
def test_checks_name_the_parameter_and_the_rule(check, wrong, message):
    with pytest.raises(ArgumentError, match=r"^size must ") as caught:
        check("size", wrong)
    assert caught.value.name == "size"
    assert str(caught.value).endswith(message)


def test_checks_pass_what_fits():
    check_choice("size", None, ("a", None))
    check_choice("size", np.str_("a"), ("a", None))
    check_whole("size", np.int32(3), 3)
    check_share("size", np.float32(0.5))
