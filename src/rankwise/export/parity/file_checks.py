"""Checks of what a file says beside its numbers: names, kinds of tests, sizes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rankwise.export.feature_names import LIGHTGBM_FORBIDDEN


def column_of(names: Sequence[str], name: str) -> int:
    """Number of the column that a file calls by its name; ValueError if the model has none."""
    if name not in names:
        raise ValueError(
            f"it asks for the feature {name!r}, which is not among those of the model: "
            f"{list(names)}. Pass the features=[...] of the export."
        )
    return list(names).index(name)


def check_names(
    found: Sequence[str], names: Sequence[str], forbidden: re.Pattern[str] = LIGHTGBM_FORBIDDEN
) -> None:
    """Check that a file has the features of the model in their order.

    ``forbidden`` matches the characters that the format replaces by "_".
    """
    if len(found) != len(names):
        raise ValueError(f"it has {len(found)} features, and the model {len(names)}.")
    for column, (there, here) in enumerate(zip(found, names, strict=True)):
        default = (f"f{column + 1}", f"Column_{column}")
        same = there.rstrip("_") == forbidden.sub("_", here).rstrip("_")
        if not same and not (there in default and here in default):
            raise ValueError(
                f"its feature {column} is {there!r}, but that of the model is {here!r}. Pass the "
                "features=[...] of the export in the order of the columns."
            )


def require_value(where: str, found: Any, *allowed: Any) -> None:
    """Check that an entry has a value that the exporter writes and that is interpreted here."""
    if found not in allowed:
        raise ValueError(f"{where} must be {' or '.join(map(repr, allowed))}, got {found!r}.")


def check_tree_sizes(data: bytes) -> None:
    """Check that the trees of LightGBM's text have the sizes of its header.

    LightGBM ends the whole process if they have not.
    """
    head, _, _ = data.partition(b"\nTree=")
    sizes = re.search(rb"^tree_sizes=(.*)$", head, re.MULTILINE)
    if sizes is None:
        return
    start = len(head) + 1
    for number, word in enumerate(sizes.group(1).split()):
        end = start + int(word)
        if not data[start:].startswith(b"Tree=%d\n" % number) or data[end - 1 : end] != b"\n":
            break
        start = end
    if not data[start:].startswith(b"end of trees"):
        raise ValueError(
            "its trees have other sizes than tree_sizes in its header says, so LightGBM cannot "
            "load it. It was changed after it was written; export again."
        )
