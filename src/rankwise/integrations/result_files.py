"""Result files of mteb, sentence-transformers, lm-evaluation-harness and BEIR in a folder."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple


class TaskScores(NamedTuple):
    """Values of a system on a part of a task, by measure."""

    system: str
    task: str
    values: dict[str, float]
    split: str = ""
    subset: str = ""


def read_folder(folder: Path, left_out: Counter[str]) -> Iterator[TaskScores]:
    """Results in all files, by path; ``left_out`` counts what holds none, by reason."""
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder. Pass the folder that holds the results.")
    names: dict[Path, str] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".json", ".csv") or path.name == "model_meta.json":
            continue
        where = path.relative_to(folder).parts
        try:
            text = path.read_text("utf-8-sig")
            if path.suffix == ".csv":
                found = _of_sentence_transformers(text, path.stem, where, left_out)
            else:
                found = _of_json(json.loads(text), path, where, names, left_out)
        except (ValueError, TypeError, AttributeError, KeyError):  # of another form
            found = []
        left_out["files that hold no results"] += not found
        for part in found:
            yield part._replace(system=part.system or folder.resolve().name)


def numbers_of(values: Mapping[Any, Any]) -> dict[str, float]:
    """The finite numbers in a mapping."""
    return {
        str(name): float(value)
        for name, value in values.items()
        if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    }


def _of_json(
    data: Any, path: Path, where: tuple[str, ...], names: dict[Path, str], left_out: Counter[str]
) -> list[TaskScores]:
    if "results" in data:
        return _of_lm_evaluation(data, where, left_out)
    if "task_name" not in data and "mteb_dataset_name" not in data:  # BEIR's save_results
        values = {name: v for block in data.values() for name, v in numbers_of(block).items()}
        system = "/".join(where[:-1])
        return [TaskScores(system, path.stem, values)] if any("@" in v for v in values) else []
    # mteb: model/revision/Task.json, before its version 1.12 with the splits at the top
    if path.parent not in names:
        meta = path.parent / "model_meta.json"
        stated = json.loads(meta.read_text("utf-8")).get("name") if meta.is_file() else None
        model = where[-3] if len(where) > 2 else "/".join(where[:-1])
        name = stated or model.replace("__", "/")
        revisions = (
            [f for f in path.parent.parent.iterdir() if f.is_dir()] if len(where) > 2 else []
        )
        names[path.parent] = name if len(revisions) < 2 else f"{name} {path.parent.name[:12]}"
    system, task = names[path.parent], data.get("task_name") or data["mteb_dataset_name"]
    if "scores" in data:
        return [
            TaskScores(system, task, numbers_of(row), split, row.get("hf_subset", "default"))
            for split, rows in data["scores"].items()
            for row in rows
        ]
    return [
        TaskScores(system, task, numbers_of(values), split, "default")
        for split, values in data.items()
        if isinstance(values, Mapping) and numbers_of(values)
    ]


def _of_lm_evaluation(
    data: Any, where: tuple[str, ...], left_out: Counter[str]
) -> list[TaskScores]:
    system = data.get("model_name") or "/".join(where[:-1]).replace("__", "/")
    groups = {name for name, tasks in data.get("group_subtasks", {}).items() if tasks}
    found = []
    for task, values in data["results"].items():
        if task in groups or task in data.get("groups", {}):
            left_out["means over tasks"] += 1
            continue
        values = {n: v for n, v in numbers_of(values).items() if "_stderr" not in n}
        short = {name.partition(",")[0]: v for name, v in reversed(values.items())}
        found.append(TaskScores(system, task, values | short))
    return found


def _of_sentence_transformers(
    text: str, stem: str, where: tuple[str, ...], left_out: Counter[str]
) -> list[TaskScores]:
    rows = list(csv.DictReader(text.splitlines()))
    if not rows or not {"epoch", "steps"} <= rows[0].keys():
        return []
    if stem.endswith("_mean_results"):
        left_out["means over tasks"] += 1
        return []
    left_out["earlier evaluations"] += len(rows) - 1
    values = {
        name: float(cell) for name, cell in rows[-1].items() if name not in ("epoch", "steps")
    }
    system = "/".join(name for name in where[:-1] if name != "eval")
    return [TaskScores(system, stem.removesuffix("_results"), values)]
