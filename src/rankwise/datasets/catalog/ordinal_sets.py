"""Sets of :func:`rankwise.datasets.load_ordinal`: roles of their columns and numbers of rows.

``drop`` lists columns that are not features: ``erp`` of ``machine-cpu`` is an estimate of the
target, and ``model`` is a unique name. Categories have the publisher's order if there is one;
otherwise they are sorted, numbers by value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class OrdinalSet:
    """One set; the numbers of rows and features are checked when the set is read."""

    files: str  # name in ``sources.toml``
    rows: int
    features: int
    target: str  # column of the classes, or of the numbers that are cut into classes
    # Values of the target in ascending order; empty if the target is a number to cut
    classes: tuple[str, ...] = ()
    # Ordered categories by column; an empty tuple stands for those of the file, sorted
    nominal: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    drop: tuple[str, ...] = ()  # columns that are not features
    splits: int = 0  # number of published splits
    # Numbers of classes into which the publisher cut the target
    published_bins: tuple[int, ...] = ()


def _numbers(low: int, high: int) -> tuple[str, ...]:
    return tuple(str(number) for number in range(low, high + 1))


_PRICE = ("low", "med", "high", "vhigh")
_CAR = {
    "buying": _PRICE,
    "maint": _PRICE,
    "doors": ("2", "3", "4", "5more"),
    "persons": ("2", "4", "more"),
    "lug_boot": ("small", "med", "big"),
    "safety": ("low", "med", "high"),
}
_NURSERY = {
    "parents": ("usual", "pretentious", "great_pret"),
    "has_nurs": ("proper", "less_proper", "improper", "critical", "very_crit"),
    "form": ("complete", "completed", "incomplete", "foster"),
    "children": ("1", "2", "3", "more"),
    "housing": ("convenient", "less_conv", "critical"),
    "finance": ("convenient", "inconv"),
    "social": ("nonprob", "slightly_prob", "problematic"),
    "health": ("recommended", "priority", "not_recom"),
}
_EUCALYPTUS = ("Abbrev", "Locality", "Map_Ref", "Latitude", "Sp")
_TAE = ("english_speaker", "instructor", "course", "semester")


def _chu(name: str, rows: int, features: int) -> OrdinalSet:
    return OrdinalSet(f"ordinal-chu-{name}", rows, features, "y", splits=20, published_bins=(5, 10))


def _orca(name: str, rows: int, features: int, n_classes: int, splits: int = 30) -> OrdinalSet:
    return OrdinalSet(
        f"ordinal-orca-{name}", rows, features, "class", _numbers(1, n_classes), splits=splits
    )


ORDINAL_SETS: dict[str, OrdinalSet] = {
    "era": OrdinalSet("ordinal-era", 1000, 4, "out1", _numbers(1, 9)),
    "esl": OrdinalSet("ordinal-esl", 488, 4, "out1", _numbers(1, 9)),
    "lev": OrdinalSet("ordinal-lev", 1000, 4, "Out1", _numbers(0, 4)),
    "swd": OrdinalSet("ordinal-swd", 1000, 10, "Out1", _numbers(2, 5)),
    "car": OrdinalSet(
        "ordinal-car", 1728, 6, "class", ("unacc", "acc", "good", "vgood"), nominal=_CAR
    ),
    "nursery": OrdinalSet(
        "ordinal-nursery", 12960, 8, "class",
        ("not_recom", "recommend", "very_recom", "priority", "spec_prior"), nominal=_NURSERY,
    ),
    "balance-scale": OrdinalSet("ordinal-balance-scale", 625, 4, "class", ("L", "B", "R")),
    "tae": OrdinalSet(
        "ordinal-tae", 151, 5, "class", _numbers(1, 3), nominal=dict.fromkeys(_TAE, ())
    ),
    # 1 means a normal thyroid, 2 an over-active one and 3 an under-active one.
    "new-thyroid": OrdinalSet("ordinal-new-thyroid", 215, 5, "class", ("3", "1", "2")),
    "eucalyptus": OrdinalSet(
        "ordinal-eucalyptus", 736, 19, "Utility", ("none", "low", "average", "good", "best"),
        nominal=dict.fromkeys(_EUCALYPTUS, ()),
    ),
    "wine-quality-red": OrdinalSet(
        "ordinal-wine-quality-red", 1599, 11, "quality", _numbers(3, 8)
    ),
    "abalone": OrdinalSet("ordinal-abalone", 4177, 8, "rings", nominal={"sex": ()}),
    "machine-cpu": OrdinalSet(
        "ordinal-machine-cpu", 209, 7, "prp", nominal={"vendor": ()}, drop=("model", "erp")
    ),
    "bank8fm": OrdinalSet("ordinal-bank8fm", 8192, 8, "out1"),
    "computer-cpu-act": OrdinalSet("ordinal-computer-cpu-act", 8192, 21, "22"),
    "california": OrdinalSet("ordinal-california", 20640, 8, "out1"),
    "census-house8l": OrdinalSet("ordinal-census-house8l", 22784, 8, "out1"),
    "stock": OrdinalSet("ordinal-stock", 950, 9, "out1"),
    "chu-pyrimidines": _chu("pyrimidines", 74, 27),
    "chu-machinecpu": _chu("machinecpu", 209, 6),
    "chu-bostonhousing": _chu("bostonhousing", 506, 13),
    "chu-diabetes": _chu("diabetes", 43, 2),
    "chu-triazines": _chu("triazines", 186, 60),
    "chu-wisconsin": OrdinalSet(
        "ordinal-chu-wisconsin", 194, 32, "class", _numbers(1, 5), splits=20, published_bins=(5,)
    ),
    "orca-toy": _orca("toy", 300, 2, 5),
    "orca-pasture": _orca("pasture", 36, 25, 3),
    "orca-tae": _orca("tae", 151, 54, 3),
    "orca-pyrim10": _orca("pyrim10", 74, 26, 10, splits=20),
}  # fmt: skip
