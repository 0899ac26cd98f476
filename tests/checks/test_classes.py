"""Ordered classes: order, codes, distances, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.checks.classes import class_positions, order_labels, ordinal_labels

GRADES = ["bad", "fair", "good"]


def declared(library, values):
    frames = pytest.importorskip(library)
    if library == "polars":
        return frames.Series(values, dtype=frames.Enum(GRADES))
    return frames.Series(frames.Categorical(values, categories=GRADES, ordered=True))


@pytest.mark.parametrize(
    ("labels", "classes", "codes"),
    [
        ([4, 0, 4, 2], [0, 2, 4], [2, 0, 2, 1]),
        ([2.0, 1.0], [1.0, 2.0], [1, 0]),
        (["b", "a", "b"], ["a", "b"], [1, 0, 1]),
        ([True, False], [False, True], [1, 0]),
        (np.array([-3, 5], dtype=np.int8), [-3, 5], [0, 1]),
        (np.array(["x", "y"], dtype=object), ["x", "y"], [0, 1]),
    ],
)
def test_labels_are_ordered_as_they_sort(labels, classes, codes):
    ordered = order_labels(labels)
    assert ordered.classes.tolist() == classes
    assert ordered.codes.tolist() == codes
    assert not ordered.declared


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_dtype_declares_the_order_and_absent_classes(library):
    ordered = order_labels(declared(library, ["good", "bad", "good"]))
    assert ordered.classes.tolist() == GRADES
    assert ordered.codes.tolist() == [2, 0, 2]
    assert ordered.take(np.array([True, False, False])).classes.tolist() == GRADES


def test_categories_without_order_sort():
    pd = pytest.importorskip("pandas")
    labels = pd.Series(["good", "bad"], dtype=pd.CategoricalDtype(["good", "bad"]))
    assert order_labels(labels).classes.tolist() == ["bad", "good"]


def test_named_classes_are_in_the_order_given():
    ordered = order_labels(["high", "low", "high"], classes=["low", "mid", "high"])
    assert ordered.classes.tolist() == ["low", "mid", "high"]
    assert ordered.codes.tolist() == [2, 0, 2]
    assert ordered.declared
    declared_too = order_labels(declared("pandas", ["good", "bad"]), classes=GRADES)
    assert declared_too.codes.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("labels", "classes", "message"),
    [
        (["low", "top"], ["low", "high"], "y must hold the given classes, got 'top' at row 1"),
        (["low", None], ["low", "high"], "Input y contains NaN at row 1"),
        ([1, 2], [2, 1], "classes must ascend if they are numbers"),
        (["a"], ["a", "a"], "classes must be one-dimensional, distinct and not empty"),
        ([1, 2], ["1", "2"], "y must hold the given classes, got 1 at row 0"),
    ],
)
def test_named_classes_are_checked(labels, classes, message):
    with pytest.raises(ValueError, match=message):
        order_labels(labels, classes=classes)


def test_named_classes_are_those_of_the_dtype():
    labels = declared("pandas", ["good", "bad"])
    with pytest.raises(ValueError, match="classes must be those of the ordered categorical y"):
        order_labels(labels, classes=GRADES[::-1])


@pytest.mark.parametrize(
    "labels",
    [
        ["poor", "fair"],
        np.array(["poor", "fair"]),
        np.array(["poor", "fair"], dtype=object),
        ["10", "9"],
    ],
)
def test_text_has_no_order(labels):
    with pytest.raises(ValueError, match=r"text classes without one.*classes=\[\.\.\.\]"):
        ordinal_labels(labels)


@pytest.mark.parametrize("labels", [[2, 1], [2.0, 1.0], [True, False]])
def test_numbers_and_booleans_have_an_order(labels):
    assert ordinal_labels(labels).codes.tolist() == [1, 0]


def test_classes_of_dropped_rows_vanish():
    kept = order_labels([1, 3, 2, 3]).take(np.array([True, True, False, True]))
    assert kept.classes.tolist() == [1, 3]
    assert kept.codes.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0.5, 1.25], "Unknown label type: continuous"),
        (["a", None], "Input y contains NaN at row 1"),
        ([1.0, np.nan], "Input y contains NaN at row 1"),
        ([np.inf, 1.0], "Input y contains infinity at row 0"),
        (np.array([1, "a"], dtype=object), "y must hold labels that sort|Unknown label type"),
        ([[1, 2], [2, 1]], "1d array"),
    ],
)
def test_what_is_no_label_is_named(labels, message):
    with pytest.raises(ValueError, match=message):
        order_labels(labels)


def test_half_grades_are_told_what_to_do():
    with pytest.raises(ValueError, match=r"continuous.* 3 distinct values, .* ordered categorical"):
        order_labels([0.5, 1.0, 1.5, 0.5])


def test_missing_declared_label_is_named():
    for library in ("pandas", "polars"):
        with pytest.raises(ValueError, match="NaN at row 1"):
            order_labels(declared(library, ["good", None]))


def test_number_of_labels_is_checked():
    with pytest.raises(ValueError, match="y must have n_samples=3 entries, got 2"):
        order_labels([1, 2], 3)


def test_positions_of_labels_of_other_rows():
    classes = np.array([1, 2, 4])
    assert class_positions([4, 1, 2], classes, 3).tolist() == [2, 0, 1]
    assert class_positions([3, 0, 7, 2.0], classes, 4).tolist() == [1.5, -1, 3, 1]
    assert class_positions(declared("pandas", ["good", "bad"]), np.array(GRADES), 2).tolist() == [
        GRADES.index("good"), GRADES.index("bad")]  # fmt: skip


@pytest.mark.parametrize(
    ("labels", "classes", "message"),
    [
        (["bb"], ["b", "c"], "y_val must hold classes of the fit, got 'bb'"),
        (["great"], GRADES[::-1], "y_val must hold classes of the fit, got 'great'"),
        ([3], ["a", "b"], "y_val must hold classes of the fit, got 3"),
        ([1, 2], [1, 2], "y_val must have n_samples=1 entries, got 2"),
        ([np.nan], [1.0, 2.0], "Input y_val contains NaN at row 0"),
    ],
)
def test_labels_of_other_rows_are_checked(labels, classes, message):
    with pytest.raises(ValueError, match=message):
        class_positions(labels, np.array(classes), 1, name="y_val")


def test_continuous_labels_are_told_rule_value_and_fix():
    y = np.append([2.0, 3.0], np.linspace(0.25, 9.1, 80))
    rule = r"Unknown label type: continuous.* y must hold ordered classes.* got y\[2\]=0.25\. Cut y"
    with pytest.raises(ValueError, match=rule):
        order_labels(y)
