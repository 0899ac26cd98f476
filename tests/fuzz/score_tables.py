"""A target that writes tables of systems and units in every form, and reads them back.

A sound table gives every value that was written, at its system and unit; a damaged one is refused,
and the error names the file.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from pathlib import Path

import numpy as np

from rankwise.selection.score_table import ScoreColumns, read_score_table
from tests.fuzz.harness import Target

_WORDS = (
    "7", "07", "+7", "1.0", "1e3", "é", "e\u0301", "a\u00a0b", "x\u2028y", "a b", " a", "a,b",
    "a;b", "a|b", 'say "x"', "'", "東京", "#x", "q1", "model-a", "9007199254740993", "a / b",
)  # fmt: skip
_MISSING = ("", "NA", "nan", "null", "-", " ")
_DAMAGE = (None, None, None, "number", "twice", "id", "width", "byte")


def _make(rng: np.random.Generator) -> bytes:
    case = {
        "form": ["long", "columns", "rows"][rng.integers(3)],
        "damage": _DAMAGE[rng.integers(len(_DAMAGE))],
        "separator": ["\t", ",", ";", "|"][rng.integers(4)],
        "suffix": [".csv", ".tsv", ".txt", ""][rng.integers(4)],
        "gaps": bool(rng.random() < 0.3),
        "runs": int(rng.integers(1, 4)),
        "crlf": bool(rng.random() < 0.2),
        "bom": bool(rng.random() < 0.1),
        "gzip": bool(rng.random() < 0.1),
        "seed": int(rng.integers(1 << 31)),
    }
    return json.dumps(case).encode()


def _check(path: Path) -> bool:
    case = json.loads(path.read_bytes())
    rng = np.random.default_rng(case["seed"])
    form, damage = case["form"], case["damage"]
    n_runs = case["runs"] if form == "long" else 1
    words = [_WORDS[i] for i in rng.permutation(len(_WORDS))]
    systems, units = words[: rng.integers(2, 5)], words[6 : 6 + rng.integers(2, 6)]
    values = np.round(rng.normal(size=(len(systems), len(units), n_runs)), 3)
    if case["gaps"]:
        values[rng.random(values.shape) < 0.2] = math.nan
    rows = _rows(form, systems, units, values, rng)
    at = int(rng.integers(1, len(rows)))
    if damage == "number":
        rows[at][-1] = ["x", "1.5x", "inf", "0x1", "--"][rng.integers(5)]
    elif damage == "twice":
        rows.append(list(rows[at]))
    elif damage == "id":
        rows[at][0] = ""
    elif damage == "width":
        rows[at].append("1")
    elif damage == "byte":
        rows[at][0] += "\0"
    out = io.StringIO()
    ends = "\r\n" if case["crlf"] else "\n"
    quoting = csv.QUOTE_ALL if case["separator"] == "\t" else csv.QUOTE_MINIMAL
    csv.writer(out, delimiter=case["separator"], lineterminator=ends, quoting=quoting).writerows(
        rows
    )
    data = out.getvalue().encode().replace(b"\0", b"\xff")
    data = b"\xef\xbb\xbf" * case["bom"] + data
    file = path.parent / f"scores{case['suffix']}"
    file.write_bytes(gzip.compress(data) if case["gzip"] else data)
    names = ScoreColumns(run="seed" if n_runs > 1 else None)
    try:
        found = read_score_table(file, names, case["separator"])
    except ValueError as error:
        assert damage is not None, f"{case}: refused: {error}\n{data!r}"
        assert file.name in str(error), f"{case}: the error does not name the file: {error}"
        return False
    assert damage is None, f"{case}: {data!r} was accepted"
    _compare(found, systems, units, values, f"{case}: {data!r}")
    return True


def _rows(
    form: str, systems: list[str], units: list[str], values: np.ndarray, rng: np.random.Generator
) -> list[list[str]]:
    def cell(value: float) -> str:
        return _MISSING[rng.integers(len(_MISSING))] if math.isnan(value) else repr(float(value))

    if form == "columns":
        lines = [[unit, *map(cell, values[:, u, 0])] for u, unit in enumerate(units)]
        return [["task", *systems], *lines]
    if form == "rows":
        lines = [[system, *map(cell, values[s, :, 0])] for s, system in enumerate(systems)]
        return [["model", *units], *lines]
    lines = [
        [systems[s], units[u], str(r), cell(values[s, u, r])]
        for s, u, r in np.ndindex(*values.shape)
    ]
    return [["system", "task", "seed", "score"], *(lines[i] for i in rng.permutation(len(lines)))]


def _compare(
    found: object, systems: list[str], units: list[str], values: np.ndarray, case: str
) -> None:
    table = found.values["score"]  # type: ignore[attr-defined]
    assert sorted(table) == sorted(systems), case
    assert sorted(found.units) == sorted(units), case  # type: ignore[attr-defined]
    for s, system in enumerate(systems):
        for u, unit in enumerate(units):
            got = table[system][found.units.index(unit)]  # type: ignore[attr-defined]
            # Runs are in the order of their first rows.
            np.testing.assert_array_equal(np.sort(got), np.sort(values[s, u]), err_msg=case)


TARGETS = (Target("score_tables", _make, _check, ".json", (), names_file=False),)
