"""Result files of mteb, sentence-transformers, lm-evaluation-harness and BEIR in a folder."""

from __future__ import annotations

import csv
import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from glob import escape
from pathlib import Path
from typing import Any, NamedTuple

from rankwise.runtime.messages import callers_level


class TaskScores(NamedTuple):
    """Values of a system on a part of a task, by measure; a unit is a task or a sample of it."""

    system: str
    task: str
    values: Mapping[str, Any]
    split: str = ""
    subset: str = ""
    sample: str = ""


def read_folder(
    folder: Path, tasks: list[str] | None, samples: bool, left_out: Counter[str]
) -> Iterator[TaskScores]:
    """Results in all files, by path; ``left_out`` counts what holds none, by reason."""
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder. Pass the folder that holds the results.")
    folder = folder.resolve()
    names: dict[Path, str] = {}
    for place, folders, files in os.walk(folder):
        folders.sort()
        above = Path(place).relative_to(folder)
        for path in map(Path(place).joinpath, sorted(files)):
            kinds = (".jsonl",) if samples else (".json", ".csv")
            if path.suffix not in kinds or path.name == "model_meta.json":
                continue
            try:
                text = path.read_text("utf-8-sig")
                if samples:
                    found = _of_samples(text, path, tasks, left_out)
                elif path.suffix == ".csv":
                    found = _of_sentence_transformers(text, path.stem, left_out)
                elif tasks is not None and path.stem not in tasks and '"mteb_version"' in text:
                    found = [TaskScores("", path.stem, {})]  # spares most of the time
                else:
                    found = _of_json(json.loads(text), path, above, names, left_out)
            except json.JSONDecodeError as error:
                warnings.warn(f"{path} is not JSON: {error}.", stacklevel=callers_level())
                found = []
            except (ValueError, TypeError, AttributeError, KeyError):  # of another form
                found = []
            left_out["files that hold no results"] += found == []
            system = "/".join(name for name in above.parts if name != "eval")
            for part in found or ():
                yield part if part.system else part._replace(system=system or folder.name)


def _of_json(
    data: Any, path: Path, above: Path, names: dict[Path, str], left_out: Counter[str]
) -> list[TaskScores]:
    if "results" in data:
        return _of_lm_evaluation(data, left_out)
    if "task_name" not in data and "mteb_dataset_name" not in data:  # save_results of BEIR
        values = {name: value for block in data.values() for name, value in block.items()}
        return [TaskScores("", path.stem, values)] if any("@" in name for name in values) else []
    if path.parent not in names:
        names[path.parent] = _mteb_model(path.parent, above)
    system, task = names[path.parent], data.get("task_name") or data["mteb_dataset_name"]
    if "scores" in data:
        return [
            TaskScores(system, task, row, split, row.get("hf_subset", "default"))
            for split, rows in data["scores"].items()
            for row in rows
        ]
    found = []  # before version 1.11, splits are at the top, and may hold subsets
    for split, values in data.items():
        if isinstance(values, Mapping):
            subsets = {s: v for s, v in values.items() if isinstance(v, Mapping)}
            if set(subsets) - {"cos_sim", "dot", "euclidean", "manhattan", "max", "v_measures"}:
                found += [TaskScores(system, task, v, split, s) for s, v in subsets.items()]
            else:
                found.append(TaskScores(system, task, values, split, "default"))
    return found


def _mteb_model(folder: Path, above: Path) -> str:
    """Name of the model of ``model/revision`` or ``model/revision/experiments/settings``."""
    settings = ""
    if folder.parent.name == "experiments":
        settings, folder, above = f" {folder.name}", folder.parents[1], above.parents[1]
    if len(above.parts) < 2 and not (folder / "model_meta.json").is_file():
        return "" if settings else "/".join(above.parts).replace("__", "/")
    # Revisions with tasks in common are compared; others complete each other, as in mteb.
    files = Counter(path.name for path in folder.parent.glob("*/*.json"))
    del files["model_meta.json"]
    revision = f" {folder.name[:12]}" if max(files.values(), default=1) > 1 else ""
    return folder.parent.name.replace("__", "/") + revision + settings


def _of_lm_evaluation(data: Any, left_out: Counter[str]) -> list[TaskScores]:
    stated = re.search(r"pretrained\W+([^,'}]+)", str(data.get("config", {}).get("model_args")))
    system = data.get("model_name") or (stated[1] if stated else "")
    groups = {name for name, tasks in data.get("group_subtasks", {}).items() if tasks}
    groups |= {*data.get("groups", ())}
    left_out["means over tasks"] += len(groups & {*data["results"]})
    return [
        TaskScores(
            system,
            task,
            # A comma would end the name in a list of measures on the command line.
            {n.replace(",", ":"): v for n, v in values.items() if n != "sample_len"},
        )
        for task, values in data["results"].items()
        if task not in groups
    ]


def _of_samples(
    text: str, path: Path, tasks: list[str] | None, left_out: Counter[str]
) -> list[TaskScores] | None:
    if not (name := re.fullmatch(r"samples_(.+)_\d{4}-\d\d-\d\dT[^_]*", path.stem)):
        return []
    is_last = path == max(path.parent.glob(f"samples_{escape(name[1])}_????-??-??T*.jsonl"))
    if not is_last:
        left_out["repeated results"] += 1
        return None
    if tasks is not None and name[1] not in tasks:
        return [TaskScores("", name[1], {})]
    of_sample: dict[str, dict[str, Any]] = {}
    for line in text.rstrip().split("\n"):  # the texts may hold other line separators
        row = json.loads(line)
        values = of_sample.setdefault(str(row["doc_id"]), {})
        for measure in row["metrics"]:
            values[f"{measure}:{row['filter']}"] = row[measure]
    system = path.parent.name.replace("__", "/")
    return [TaskScores(system, name[1], values, sample=s) for s, values in of_sample.items()]


def _of_sentence_transformers(
    text: str, stem: str, left_out: Counter[str]
) -> list[TaskScores] | None:
    rows = list(csv.DictReader(text.splitlines()))
    if not rows or not {"epoch", "steps"} <= rows[0].keys():
        return []
    if stem.startswith("NanoBEIR_evaluation_"):
        left_out["means over tasks"] += 1
        return None
    left_out["earlier evaluations"] += len(rows) - 1
    values = {n: float(v) for n, v in rows[-1].items() if n not in ("epoch", "steps")}
    return [TaskScores("", stem.replace("_results", ""), values)]
