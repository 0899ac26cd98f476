"""Parsed lines against Python's ``split`` and ``float``."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.svmlight import (
    AT,
    BAD_TOKEN,
    COSTS,
    DUPLICATE,
    ENTRIES,
    HARD,
    HIGHEST,
    LOWEST,
    N_PLAN,
    N_STATE,
    NOT_ASCENDING,
    OK,
    QID_IS_TEXT,
    ROWS,
    SPARE_BYTES,
    STATUS,
    TOO_MANY_ROWS,
    TOO_WIDE,
    count_rows,
    parse_block,
)

LINES = [
    "",
    "0 qid:1 # no features",
    "-1.5 qid:-3 1:0.5 3:-2e3   7:+.25 #  two words ",
    "  # a comment alone",
    "2 qid:1 2:nan 3:123456789012345678901234567890 7:4.9e-324#x",
    "1e0 qid:9223372036854775807 1:0.1 2:1.7976931348623157e308 3:-0.0",
    "\t3\tqid:0\t1:1\t7:12345678.12345678 \r",
]


def parse(text, *, dense=1, width=8, n_rows=None, text_qid=0, no_label=0, with_weight=False):
    data = text.encode()
    buf = np.frombuffer(data + bytes(SPARE_BYTES), np.uint8).copy()
    n = count_rows(buf, len(data)) if n_rows is None else n_rows
    room = len(data) + 1
    plan = np.array([0, len(data), 0, 0, width, dense, text_qid, n, no_label], np.int64)
    assert len(plan) == N_PLAN
    y, qid, sizes = np.full(n, np.nan), np.zeros(n, np.int64), np.zeros((n, 2), np.int64)
    values = np.zeros(n * width if dense else room)
    indices, comments = np.zeros(room, np.int32), np.zeros(room, np.uint8)
    hard, state = np.zeros((room, 3), np.int64), np.zeros(N_STATE, np.int64)
    weight = np.full(n, -1.0)
    parse_block(buf, plan, y, qid, weight, sizes, values, indices, comments, hard, state)
    found = y, qid, sizes, values, indices, comments, hard[: state[HARD]]
    return (*found, weight, state) if with_weight else (*found, state)


def naive(line):
    """Label, query id, entries and comment of a line; None where it has no row."""
    content, mark, comment = line.partition("#")
    tokens = content.split()
    if not tokens:
        return None
    label, qid, *entries = tokens
    pairs = [entry.split(":") for entry in entries]
    return (
        float(label),
        int(qid.removeprefix("qid:")),
        [(int(index), float(value)) for index, value in pairs],
        comment.strip() if mark else None,
    )


@pytest.mark.parametrize("dense", [0, 1])
def test_rows(dense):
    text = "\n".join(LINES) + "\n"
    y, qid, sizes, values, indices, comments, hard, state = parse(text, dense=dense)
    expected = [row for row in map(naive, LINES) if row]
    assert state[[STATUS, ROWS]].tolist() == [OK, len(expected)] == [OK, 5]
    for slot, first, end in hard:  # left to the caller
        values[slot] = float(text.encode()[first:end])
    at = n_text = 0
    for i, (label, number, entries, comment) in enumerate(expected):
        assert (y[i], qid[i]) == (label, number)
        assert sizes[i].tolist() == [len(entries), -1 if comment is None else len(comment)]
        if comment:
            assert comments[n_text : n_text + len(comment)].tobytes().decode() == comment
            n_text += len(comment)
        if dense:
            row = np.zeros(8)
            for index, value in entries:
                row[index] = value
            np.testing.assert_array_equal(values[8 * i : 8 * i + 8], row)
        for k, (index, value) in enumerate(entries if not dense else []):
            assert indices[at + k] == index
            np.testing.assert_array_equal(values[at + k], value)
        at += len(entries)
    assert state[ENTRIES] == at
    assert state[HIGHEST] == 7
    if not dense:
        assert state[LOWEST] == 1


@pytest.mark.parametrize("dense", [0, 1])
def test_lines_without_a_label(dense):
    """They are read as those with one, which may be among them."""
    lines = [
        "2.5 qid:7 1:0.5 # a",
        "qid:7 1:1.5 3:2#b",
        " 10:1",
        "3",
        "qid:8",
        "1 2:1",
        "12:3 13:4",
    ]
    y, qid, sizes, values, _, comments, _, state = parse(
        "\n".join(lines) + "\n", dense=dense, width=14, no_label=1
    )
    assert state[STATUS] == OK
    np.testing.assert_array_equal(y, [2.5, np.nan, np.nan, 3, np.nan, 1, np.nan])
    assert qid.tolist() == [7, 7, 0, 0, 8, 0, 0]
    assert sizes.tolist() == [[1, 1], [2, 1], [1, -1], [0, -1], [0, -1], [1, -1], [2, -1]]
    if dense:
        rows = values.reshape(7, 14)
        assert rows[1, [1, 3]].tolist() == [1.5, 2]
        assert rows[6, [12, 13]].tolist() == [3, 4]
    else:
        assert values[:7].tolist() == [0.5, 1.5, 2, 1, 1, 3, 4]
    assert comments[:2].tobytes() == b"ab"


def test_numbers_are_those_of_float(rng):
    digits = ["".join(rng.choice(list("0123456789"), n)) for n in rng.integers(1, 26, 3000)]
    tokens = []
    for i, number in enumerate(digits):
        point = int(rng.integers(0, len(number) + 1))
        power = f"e{rng.integers(-330, 310)}" if i % 3 == 0 else ""
        tokens.append(f"{number[:point]}.{number[point:]}{power}")
    text = "\n".join(f"0 1:{token}" for token in tokens) + "\n"
    values, hard = parse(text, width=2)[3::3][:1][0], parse(text, width=2)[6]
    for slot, first, end in hard:
        values[slot] = float(text.encode()[first:end])
    assert len(hard) < 500
    np.testing.assert_array_equal(values[1::2], [float(token) for token in tokens])


@pytest.mark.parametrize(
    ("line", "plan", "status", "at"),
    [
        ("1 qid:1 a:1", {}, BAD_TOKEN, "a:1"),
        ("1 qid: 1:1", {}, BAD_TOKEN, "qid:"),
        ("1 qid:1 2147483648:1", {}, BAD_TOKEN, "2147483648"),
        ("1 qid:1 2:1 2:1", {}, DUPLICATE, "2:1"),
        ("1 qid:1 2:1 1:1", {}, NOT_ASCENDING, "1:1"),
        ("1 qid:1 8:1", {}, TOO_WIDE, "8:1"),
        ("1 qid:x", {}, QID_IS_TEXT, "qid:x"),
        ("1 qid:9223372036854775808", {}, QID_IS_TEXT, "qid:"),
        ("1 qid:1", {"n_rows": 0}, TOO_MANY_ROWS, "1"),
    ],
)
def test_what_stops_a_block(line, plan, status, at):
    state = parse(line + "\n", **plan)[-1]
    assert state[STATUS] == status
    assert state[AT] == (0 if status == TOO_MANY_ROWS else line.rindex(at))


def test_query_ids_as_text():
    _, qid, _, _, _, text, _, state = parse("1 qid:ab 1:1\n0 qid:c # d\n", text_qid=1)
    assert state[STATUS] == OK
    assert qid.tolist() == [2, 1]
    assert text[:4].tobytes() == b"abcd"


@pytest.mark.parametrize("dense", [0, 1])
def test_weights_stand_anywhere_in_a_row(dense):
    lines = "1 qid:1 cost:2 1:3\n0 qid:1 1:3 cost:0.5 2:1\n0 qid:1 1:3\n2 qid:1 cost:0 # a\n"
    *_, weight, state = parse(lines, dense=dense, with_weight=True)
    np.testing.assert_array_equal(weight, [2.0, 0.5, np.nan, 0.0])
    assert (state[COSTS], state[STATUS], state[ENTRIES]) == (3, OK, 4)


@pytest.mark.parametrize("token", ["cost:", "cost:-1", "cost:nan", "cost:inf", "cost:x", "cost"])
def test_weights_that_are_none(token):
    state = parse(f"1 qid:1 {token} 1:3\n")[-1]
    assert (state[STATUS], state[AT]) == (BAD_TOKEN, 8)
    assert parse("1 cost:1 cost:1\n")[-1][AT] == 9
