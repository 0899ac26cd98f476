"""``rankwise lint``: what is odd about judged data."""

from __future__ import annotations

from rankwise.cli._options import Data, Json
from rankwise.cli._output import print_json


def lint(data: Data, json: Json = False) -> None:
    """Check judged data."""
    print_json(data)
