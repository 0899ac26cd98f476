"""Targets that fail, to test that a campaign sees it."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path

import numpy as np

from tests.fuzz.harness import Target


def _make(rng: np.random.Generator) -> bytes:
    return bytes([int(rng.integers(10))])


def _refuse(path: Path) -> bool:
    if path.read_bytes() < b"\x05":
        raise ValueError(f"{path}: too small")
    return True


def _refuse_without_a_name(path: Path) -> bool:
    raise ValueError("no")


def _crash(path: Path) -> bool:
    if path.read_bytes() == b"\x07":
        ctypes.string_at(0)
    return True


def _leave(path: Path) -> bool:
    if path.read_bytes() == b"\x07":
        raise SystemExit(3)
    return True


def _hang(path: Path) -> bool:
    while path.read_bytes() == b"\x07":
        time.sleep(0.1)
    return True


def _index(path: Path) -> bool:
    return [True][path.read_bytes()[0]] != [True] * 7


def _allocate(path: Path) -> bool:
    return len(np.empty(200 << 20, dtype=np.uint8)) > 0


def _allocate_far_too_much(path: Path) -> bool:
    return len(np.empty(1 << 40, dtype=np.uint8)) > 0


TARGETS = {
    check.__name__.strip("_"): Target(check.__name__.strip("_"), _make, check)
    for check in (
        _refuse, _refuse_without_a_name, _crash, _leave, _hang, _index, _allocate,
        _allocate_far_too_much,
    )
}  # fmt: skip


def find(name: str) -> list[Target]:
    """As :func:`tests.fuzz.targets.find_targets`."""
    return [TARGETS[name]]
