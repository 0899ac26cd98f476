"""Pages of --help: usage, what the command does, an example, and its options in panels.

Typer's own pages give a third of the width to types such as <bool>, and break choices in mid-word.
"""

from __future__ import annotations

import inspect
import re
import shutil
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import typer

_EXAMPLE = "Example: "
# Widest page, and the column where the texts of options start.
_WIDEST, _TEXT_AT = 100, 24
# Panels by the names of parameters, unless an option names its panel (rich_help_panel). All
# others are in the first.
_PANELS = {
    "Options": (),
    "Data": (
        "label", "qid", "features", "doc_id", "sample_weight", "ignore", "sep", "one_query",
        "unjudged", "vali_data", "test_data", "train_data", "decimal", "encoding", "documents",
        "qrels", "text",
        "system", "unit", "score", "run", "average_repeats", "stratum", "cluster", "missing",
        "events", "by", "place", "click", "session", "user", "weight", "time", "propensity",
        "list_propensity", "arm", "item_a", "item_b", "winner", "orders", "lower_is_better",
    ),
    "Rankers": ("rankers", "ranker", "set_", "baseline", "select_by", "measure"),
    "Evaluation": (
        "store", "n_jobs", "time_limit", "random_state",
        "cv", "measures", "preset", "test", "correction", "learning_curve", "confidence_level",
        "fail_if", "margin", "all_queries", "differing_queries",
        "ignore_identical_ids", "judge", "systems",
    ),
    "Output": (
        "out", "to", "format", "report", "table", "wide", "per_query", "judge_next", "json",
        "help", "importances", "tag",
    ),
}  # fmt: skip
# Words for values of an option without a metavar of its own.
_VALUES = {str: "TEXT", int: "N", float: "X", Path: "PATH"}


def example_of(command: Any) -> str:
    """Example of a command, from the last paragraph of its text; empty if there is none."""
    return (command.help or "").partition(_EXAMPLE)[2].strip()


def usage_of(context: typer.Context) -> str:
    """Usage of a command as one line, without the braces of newer versions of Typer."""
    pieces = context.command.collect_usage_pieces(context)
    return " ".join([context.command_path, *pieces]).replace("{", "").replace("}", "")


def help_page(command: Any, context: typer.Context) -> str:
    """Text of --help for a command or a group of commands, as wide as the terminal."""
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    about, _, example = (command.help or "").partition(_EXAMPLE)
    lines = [wrap(f"Usage: {usage_of(context)}", width, hang=7), ""]
    for paragraph in about.strip().split("\n\n"):
        lines += [wrap(" ".join(paragraph.split()), width, hang=0), ""]
    if example:
        lines += [wrap(_EXAMPLE + example.strip(), width), ""]
    entries: dict[str, list[str]] = {"Commands": [], "Arguments": []}
    entries |= {name: [] for name in _PANELS}
    if hasattr(command, "list_commands"):
        for name in command.list_commands(context):
            about = command.get_command(context, name).help or ""
            about = re.split(r"(?<=\.)\s", about)[0]  # the first sentence
            entries["Commands"].append(_below(name, about, width - 4))
    # Versions of Typer keep types in different places; the signature has them in all.
    hints: dict[str, Any] = {}
    if command.callback is not None:
        signature = inspect.signature(command.callback, eval_str=True)
        hints = {name: shown.annotation for name, shown in signature.parameters.items()}
    panel_of = {name: panel for panel, names in _PANELS.items() for name in names}
    if entries["Commands"]:
        panel_of.clear()
    for parameter in command.get_params(context):
        if parameter.param_type_name == "argument":
            name = parameter.metavar or parameter.name.upper()
            entries["Arguments"].append(_entry(name, parameter, width - 4))
        elif not parameter.hidden:
            name = "/".join(sorted(parameter.opts, key=len, reverse=True)).replace("/-", ", -")
            panel = parameter.rich_help_panel or panel_of.get(parameter.name, "Options")
            shown = f"{name} {_values(parameter, hints.get(parameter.name))}".rstrip()
            entries[panel].append(_entry(shown, parameter, width - 4))
    for title, texts in entries.items():
        if texts:
            lines += _boxed(title, "\n".join(texts).split("\n"), width)
    if command.epilog:
        lines += ["", wrap(command.epilog, width, hang=0)]
    return "\n".join(lines)


def _values(option: Any, hint: Any) -> str:
    """What an option takes; empty for a flag."""
    if option.is_flag:
        return ""
    if option.metavar:
        return option.metavar
    for kind in _kinds(hint):
        if issubclass(kind, Enum):
            return "|".join(str(choice.value) for choice in kind)
        return _VALUES.get(kind, kind.__name__.upper())
    return ""


def _kinds(hint: Any) -> Iterator[type]:
    """Types of the values of an annotation such as list[str] | None."""
    if isinstance(hint, type) and not get_args(hint):
        if hint is not NoneType:
            yield hint
        return
    parts = get_args(hint)
    for part in parts[:1] if get_origin(hint) is Annotated else parts:
        yield from _kinds(part)


def _entry(name: str, parameter: Any, width: int) -> str:
    """Name and text of one parameter, wrapped below each other."""
    text = " ".join((getattr(parameter, "help", None) or "").split())
    default = getattr(parameter.default, "value", parameter.default)
    if parameter.required:
        text += " (required)"
    elif (
        default not in (None, "")
        and isinstance(default, int | float | str)
        and not getattr(parameter, "is_flag", False)
        and "default:" not in text
    ):
        text += f" (default: {default})"
    option, _, choices = name.partition(" ")
    if len(name) > width:  # a list of words wraps, unlike choices
        name = f"{option} {option.lstrip('-').upper()}"
        text = f"{choices.replace('|', ', ')}. {text}"
    return _below(name, text, width)


def _below(name: str, text: str, width: int) -> str:
    """Name of an entry, and its text wrapped in a column of its own."""
    if len(name) > _TEXT_AT - 2:
        return f"{name}\n{wrap(_TEXT_AT * ' ' + text, width, hang=0)}"
    return wrap(f"{name.ljust(_TEXT_AT - 2)}  {text}", width, hang=_TEXT_AT)


def _boxed(title: str, lines: list[str], width: int) -> Iterator[str]:
    """Lines in a frame with a title."""
    from rich.cells import set_cell_size

    yield f"╭─ {title} ".ljust(width - 1, "─") + "╮"
    yield from (f"│ {set_cell_size(line, width - 4)} │" for line in lines)
    yield "╰".ljust(width - 1, "─") + "╯"


def wrap(line: str, width: int | None, hang: int = 2) -> str:
    """Break a line between words; a word never breaks, nor a row of fields between tabs.

    Later lines start ``hang`` characters further in, so that the next entry stands out.
    """
    if width is None or "\t" in line or count_cells(line) <= width:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    hanging = indent + hang * " " if count_cells(indent) + hang < width // 2 else ""
    lines, now = [], indent
    for gap, word in re.findall(r"(\s*)(\S+)", line[len(indent) :]):
        if now.strip() and count_cells(now + gap + word) > width:
            lines.append(now)
            now = hanging + word
        else:
            now += gap + word
    return "\n".join([*lines, now])


def count_cells(text: str) -> int:
    """Number of columns that a text takes; wide characters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
