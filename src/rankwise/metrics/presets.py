"""Presets: what a bare name such as "nDCG@10" means to another program."""

from __future__ import annotations

from typing import Any

PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "letor3": {"nDCG": {"discount": "letor", "empty": 0}},
}
