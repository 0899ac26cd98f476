"""Outputs in the pages of ``docs/``: their kinds, their comparison, and rewriting them.

    python -m tests.pages docs/start.rst ...

runs the examples of each page and writes the outputs that have changed. Lines wider than 80
characters are wrapped at word ends, as in a terminal, and wider code is formatted. ``--wrap`` only
formats code.
"""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from pathlib import Path

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
WIDTH = 80
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?:\.\.\.)?"
TRUTH = re.compile(r"(?:np\.)?\(?(?:(?:True|False)_?[,\s]*)+\)?")
BARE = re.compile(rf"(?:np\.\w+\()?{NUMBER}\)?|\((?:\d+,?\s*)+\)")
DECIMAL = re.compile(r"(?<![\w.])([-+]?\d+\.(\d+))(?![\w.])")
COSTS = re.compile(r"^(.*?)\s+fit s  predict s  MB$", re.M)


def kind_of_output(want: str) -> str:
    """Kind of an output: "truth", "number" (a shape too) or "result"."""
    if TRUTH.fullmatch(want.strip()):
        return "truth"
    return "number" if BARE.fullmatch(want.strip()) else "result"


def count_outputs(path: Path) -> Counter[str]:
    """Number of outputs of each kind in the examples of a page."""
    examples = doctest.DocTestParser().get_examples(path.read_text("utf-8"))
    return Counter(kind_of_output(example.want) for example in examples if example.want)


def drop_costs(text: str) -> str:
    """Leaderboards without seconds and megabytes, which differ from run to run."""
    lines, in_board = [], False
    for line in text.split("\n"):
        if COSTS.match(line):
            in_board = True
        elif not line.strip() or line == "<BLANKLINE>":
            in_board = False
        lines.append(" ".join(line.split()[:-3]) if in_board else line)
    return "\n".join(lines)


class PageChecker(doctest.OutputChecker):
    """Accept decimals within two units of their last digit, at most the sixth, and any costs.

    The last digits of sums differ between processors, and what a page shows is rounded.
    """

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        want, got = drop_costs(want), drop_costs(got)
        if super().check_output(want, got, optionflags):
            return True
        wanted, found = DECIMAL.findall(want), DECIMAL.findall(got)
        if len(wanted) != len(found):
            return False
        near = all(
            len(place) == len(other_place)
            and abs(float(value) - float(other)) <= 2.01 * 10.0 ** -min(len(place), 6)
            for (value, place), (other, other_place) in zip(wanted, found, strict=True)
        )
        want, got = DECIMAL.sub("0.0", want), DECIMAL.sub("0.0", got)
        return near and super().check_output(want, got, optionflags)


def print_lines(got: str) -> list[str]:
    """Lines of an output as a page shows them."""
    lines = []
    for line in got.rstrip("\n").split("\n"):
        wrapped = [line.rstrip()]
        if len(line) > WIDTH:
            wrapped = textwrap.wrap(
                line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
            )
        lines += wrapped if line.strip() else ["<BLANKLINE>"]
    return lines


def rewrite_outputs(path: Path) -> int:
    """Write the outputs of a page that have changed; returns their number."""
    text = path.read_text("utf-8")
    changed = []

    class Runner(doctest.DocTestRunner):
        def report_failure(self, out, test, example, got):
            changed.append((example, got))

    page = doctest.DocTestParser().get_doctest(text, {}, path.stem, str(path), 0)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Runner(PageChecker(), optionflags=OPTIONS).run(page, clear_globs=False)
    lines = text.split("\n")
    for example, got in reversed(changed):
        start = example.lineno + example.source.count("\n")
        lines[start : start + example.want.count("\n")] = print_lines(got) if got else []
    path.write_text("\n".join(lines), "utf-8")
    return len(changed)


# Code


def format_code(source: str, width: int) -> str:
    """Code in the format of ruff, in lines of at most ``width`` characters where it can."""
    command = [
        sys.executable,
        "-m",
        "ruff",
        "format",
        "--isolated",
        "--line-length",
        str(width),
        "-",
    ]
    return subprocess.run(command, input=source, text=True, capture_output=True, check=True).stdout


def wrap_code(path: Path) -> int:
    """Format examples with lines wider than a page; returns the lines that stay too wide."""
    text = path.read_text("utf-8")
    lines = text.split("\n")
    for example in reversed(doctest.DocTestParser().get_examples(text)):
        source = example.source.rstrip("\n").split("\n")
        if max(map(len, source)) + 4 > WIDTH:
            new = format_code(example.source, WIDTH - 4).rstrip("\n").split("\n")
            new = [
                f"{'...' if number else '>>>'} {line}".rstrip() for number, line in enumerate(new)
            ]
            indent = " " * example.indent
            lines[example.lineno : example.lineno + len(source)] = [indent + line for line in new]
    path.write_text("\n".join(lines), "utf-8")
    return sum(len(line) > WIDTH and line.lstrip().startswith((">>> ", "... ")) for line in lines)


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    only_wraps = "--wrap" in sys.argv
    for name in sys.argv[1 + only_wraps :]:
        page = Path(name).resolve()
        written = "" if only_wraps else f"{rewrite_outputs(page)} outputs written, "
        print(f"{name} {written}{wrap_code(page)} lines of code too wide")
