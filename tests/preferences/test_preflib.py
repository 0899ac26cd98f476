"""Orders in PrefLib's files, of the format of today and of the one before."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from rankwise.preferences import Orders, PlackettLuce, read_orders

NAMES = ("Ada, Countess", "Bo = B", "Cy", "Di > D")
# Counts, and groups of tied alternatives.
ORDERS = {
    "soc": [(5, "1,2,3,4"), (4, "4,3,2,1"), (3, "2,1,4,3"), (1, "3,4,1,2")],
    "toc": [(5, "1,{2,3},4"), (4, "4,3,2,1"), (3, "{2,1},4,3"), (1, "3,{4,1,2}")],
    "soi": [(5, "1,2"), (4, "4,3,2,1"), (3, "2,4"), (2, "3,1,2")],
    "toi": [(5, "1,{2,3}"), (4, "{4,3},2,1"), (3, "2,4"), (1, "3,{4,1},2")],
}


def write_new(orders, names=NAMES, n_orders=None):
    head = [
        "# FILE NAME: 00001-00000001.soc", "# TITLE: a vote: two, or more", "# DATA TYPE: soc",
        f"# NUMBER ALTERNATIVES: {len(NAMES)}", "# NUMBER VOTERS: 13",
        f"# NUMBER UNIQUE ORDERS: {len(orders) if n_orders is None else n_orders}",
        *(f"# ALTERNATIVE NAME {i}: {name}" for i, name in enumerate(names, 1)),
    ]  # fmt: skip
    return "\n".join([*head, *(f"{count}: {order}" for count, order in orders)]) + "\n"


def write_old(orders, names=NAMES, n_orders=None):
    head = [len(NAMES), *(f"{i},{name}" for i, name in enumerate(names, 1))]
    head.append(f"13,13,{len(orders) if n_orders is None else n_orders}")
    return "\n".join(map(str, [*head, *(f"{count},{order}" for count, order in orders)])) + "\n"


def expected_orders(kind, repeat=False):
    lists, counts = [], []
    for count, text in ORDERS[kind]:
        groups, order = text.replace("{", "[").replace("}", "]"), []
        for entry in eval(f"[{groups}]"):
            group = entry if isinstance(entry, list) else [entry]
            order.append(tuple(NAMES[number - 1] for number in group))
        lists += [order] * (count if repeat else 1)
        counts += [1] * count if repeat else [count]
    return Orders.from_lists(lists, sample_weight=counts)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("write", [write_new, write_old])
@pytest.mark.parametrize("kind", ORDERS)
def test_orders_and_counts(kind, write, compressed, tmp_path):
    text = write(ORDERS[kind]).encode()
    path = tmp_path / (f"votes.{kind}" + ".gz" * compressed)
    path.write_bytes(gzip.compress(text) if compressed else text)
    found, wanted = read_orders(path), expected_orders(kind)
    for name in ("items", "item", "stage", "indptr", "weight"):
        assert getattr(found, name).tolist() == getattr(wanted, name).tolist(), name
    assert read_orders(str(path), sample_weight=False).weight.tolist() == [1] * 4


@pytest.mark.parametrize("kind", ORDERS)
def test_counts_are_repetitions(kind, tmp_path):
    path = tmp_path / f"votes.{kind}"
    path.write_text(write_new(ORDERS[kind]))
    found = PlackettLuce(alpha=0.1).fit(path)
    wanted = PlackettLuce(alpha=0.1).fit(expected_orders(kind, repeat=True))
    np.testing.assert_allclose(found.strengths_, wanted.strengths_, atol=1e-6)
    np.testing.assert_allclose(found.standard_errors_, wanted.standard_errors_, atol=1e-6)


@pytest.mark.parametrize("write", [write_new, write_old])
def test_blanks_line_ends_and_braces_around_one(write, tmp_path):
    path = tmp_path / "votes.toi"
    text = write([(3, " 1 , { 3, 2 } "), (2, "{4},{},1")])
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n\r\n").encode())
    found = read_orders(path)
    assert found.items[found.item].tolist() == [NAMES[i] for i in (0, 2, 1, 3, 0)]
    assert (found.stage.tolist(), found.weight.tolist()) == ([0, 1, 1, 0, 1], [3, 2])


@pytest.mark.parametrize("write", [write_new, write_old])
def test_orders_of_one_alternative_are_counted(write, tmp_path):
    path = tmp_path / "votes.soi"
    path.write_text(write([(7, "2"), (3, "1,2"), (2, "4")]))
    with pytest.warns(UserWarning, match=r"fewer than two alternatives are left out: 9 of 12"):
        found = read_orders(path)
    assert found.weight.tolist() == [3]


@pytest.mark.parametrize("write", [write_new, write_old])
@pytest.mark.parametrize(
    ("suffix", "words", "message"),
    [
        ("soc", {"orders": [(1, "1,2,3")]}, r"line \d+: an order must have all 4 .*, got 3"),
        ("toc", {"orders": [(1, "1,{2,3}")]}, r"line \d+: an order must have all 4"),
        ("soi", {"orders": [(1, "1,5")]}, r"line \d+: alternative 5 has no name"),
        ("soi", {"orders": [(1, "1,2,1")]}, r"must name an item once, got 'Ada.* line \d+"),
        ("soi", {"orders": [(1, "1>2")]}, r"line \d+: not an order"),
        ("toi", {"orders": [(1, "1,{2,3")]}, r"line \d+: not an order"),
        ("soi", {"orders": [(0, "1,2")]}, r"line \d+: not an order"),
        ("soi", {"orders": [(-2, "1,2")]}, r"line \d+: not an order"),
        ("soi", {"orders": [(1, "1,2")], "n_orders": 2}, "2 distinct orders.*got 1.*cut off"),
        ("soi", {"orders": [(1, "1,2")], "names": ("a", "b", "a", "c")}, "each by another name"),
    ],
)
def test_bad_files_are_named(suffix, words, message, write, tmp_path):
    path = tmp_path / f"votes.{suffix}"
    path.write_text(write(**words))
    with pytest.raises(ValueError, match=message) as caught:
        read_orders(path)
    assert str(path) in str(caught.value)


def test_a_header_is_needed(tmp_path):
    path = tmp_path / "votes.soc"
    for text in ("a > b\n", "3: 1,2\n", "# a comment\n1: 1,2\n", "2\n1,a\n"):
        path.write_text(text)
        with pytest.raises(ValueError, match="must begin with the header of a PrefLib file"):
            read_orders(path)
    with pytest.raises(ValueError, match="no columns, got item"):
        read_orders(path, item="model")
