"""Results of other programs as leaderboards; none of these programs is imported."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

from rankwise.datasets.table_columns import list_names
from rankwise.integrations.result_files import TaskScores, read_folder
from rankwise.metrics.evaluation import evaluate
from rankwise.runtime.messages import ArgumentError, did_you_mean, setting

Cells = dict[tuple[str, str], dict[str, float]]  # values by measure, by split and subset


class ForeignResults(NamedTuple):
    """``scores``, ``{system: {task: value}}``, go to :func:`rankwise.leaderboard`.

    ``measures`` counts tasks or queries by their measure, ``left_out`` the other results by reason.
    """

    scores: dict[str, dict[str, float]]
    measures: dict[str, int]
    left_out: dict[str, int]

    def __str__(self) -> str:
        used = [f"{name} on {_count(n, 'units')}" for name, n in self.measures.items()]
        gone = ", ".join(_count(n, reason) for reason, n in self.left_out.items())
        kept = ", ".join([_count(len(self.scores), "systems"), *used])
        return f"{kept}; left out: {gone or 'nothing'}"


def _count(n: int, things: str) -> str:
    if n == 1:
        things = re.sub(r"(unit|system|result|evaluation|mean|file)s\b", r"\1", things, count=1)
        things = things.replace("that hold ", "that holds ")
    return f"{n} {things}"


def read_results(
    source: Any,
    *,
    measures: str | Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    split: str | None = None,
    subsets: Sequence[str] | None = None,
    samples: bool = False,
    qrels: Any = None,
) -> ForeignResults:
    """Read results of other programs as values of systems on tasks or queries.

    Parameters
    ----------
    source : path, mapping or sequence
        A folder with files of mteb (``model/revision/Task.json``), sentence-transformers
        (``model/…_results.csv``; the last evaluation counts), lm-evaluation-harness
        (``results_….json``; the newest counts) or BEIR (``model/data set.json``). Or objects: a
        sequence of evaluated runs of ranx, or ``{system: result}``, where a result is what ``calc``
        or ``iter_calc`` of ir_measures returns, or ``{data set: {measure: value}}``. With
        ``qrels``: ``{query: {document: score}}``, ScoredDoc lists or runs of ranx.
    measures : str or sequence of str, optional
        Names as the program writes them, in any case; ``_at_`` is ``@``, and lm-eval's "acc,none"
        is also "acc:none". "ndcg@10" stands for "cosine-NDCG@10", and "acc" for "acc:none", if a
        result has one such measure. A task is measured by the first that most systems have. None:
        mteb's main score, or the only measure. With ``qrels``, one measure of
        :func:`rankwise.metrics.parse`, by default nDCG@10.
    tasks : sequence of str, optional
        Tasks that count. None: all.
    split : str, optional
        Split of mteb's tasks. None: "test", or all splits of a task without it.
    subsets : sequence of str, optional
        Subsets of mteb's tasks, such as "default" and "en"; None: those that most systems have.
        The value of a task is the mean over its subsets, for systems that have all of them.
    samples : bool, default=False
        Compare on the samples of lm-evaluation-harness's tasks (``samples_….jsonl``) instead of
        on tasks.
    qrels : judgements, optional
        As for :func:`rankwise.evaluate`, Qrels of ranx or Qrel lists of ir_measures.

    Returns
    -------
    ForeignResults

    Raises
    ------
    ValueError
        If no results are left, several measures could be meant, or no result has a task or subset.

    Examples
    --------
    >>> beir = {"a": {"scifact": {"NDCG@10": 0.7}}, "b": {"scifact": {"NDCG@10": 0.6}}}
    >>> read_results(beir, measures="ndcg_at_10").scores
    {'a': {'scifact': 0.7}, 'b': {'scifact': 0.6}}
    """
    names = [measures] if isinstance(measures, str) else list(measures or ())
    left_out: Counter[str] = Counter()
    if isinstance(source, str | Path):
        parts = read_folder(Path(source), None if tasks is None else list(tasks), samples, left_out)
    elif samples:
        raise ValueError("samples=True is for folders: units of objects are queries already.")
    else:
        parts = _read_objects(source, qrels, names[0] if names else "nDCG@10")
    seen: dict[str, set[str]] = {"tasks": set(), "subsets": set()}
    chosen = _select_parts(parts, tasks, split, subsets, seen, left_out)
    found, others = _collect(chosen, names, left_out)
    if seen["tasks"]:
        _check_seen("tasks", tasks, seen["tasks"])
        _check_seen("subsets", subsets, seen["subsets"])
    if not names:
        names = ["main_score"] if "main_score" in others else [*others] if len(others) == 1 else []
    scores: dict[str, dict[str, float]] = {}
    used: Counter[str] = Counter()
    for unit, systems in found.items() if names else ():
        measure, valued = _measure_unit(systems, names, split, left_out)
        used[measure] += bool(valued)
        for system, value in valued.items():
            scores.setdefault(system, {})[unit] = value
    result = ForeignResults(scores, dict(+used), dict(+left_out))
    if not scores:
        there = ", ".join(name for name, _ in others.most_common(12))
        fix = f"Choose a measure with {setting('measures')}; most results have {there}."
        raise ValueError(
            f"no results are left: {result}. "
            + (fix if there else "Check the path and the names of tasks, splits and subsets.")
        )
    return result


def _select_parts(
    parts: Iterable[TaskScores],
    tasks: Sequence[str] | None,
    split: str | None,
    subsets: Sequence[str] | None,
    seen: dict[str, set[str]],
    left_out: Counter[str],
) -> Iterator[TaskScores]:
    """Parts that are asked for; ``seen`` gets the names of all tasks and of their subsets."""
    for part in parts:
        seen["tasks"].add(part.task)
        if tasks is not None and part.task not in tasks:
            left_out["results of other tasks"] += 1
            continue
        seen["subsets"].add(part.subset)
        if split not in (None, part.split) or not (subsets is None or part.subset in subsets):
            left_out["results of other splits or subsets"] += 1
        else:
            yield part


def _collect(
    parts: Iterable[TaskScores], names: Sequence[str], left_out: Counter[str]
) -> tuple[dict[str, dict[str, Cells]], Counter[str]]:
    """Parts by unit and system, and how many have which measure besides the ``names``."""
    found: dict[str, dict[str, Cells]] = {}
    others: Counter[str] = Counter()
    for part in parts:
        # Files of mteb hold dozens of measures: only those that can count are kept.
        values = _values_of(part.values, names or ["main_score"])
        if not values:
            there = _values_of(part.values, [n for n in part.values if "_stderr" not in n])
            others.update(there)
            left_out["results without the measure"] += bool(names)
            values = {} if names else there
        elif not names:
            others.update(values)
        if values:
            unit = f"{part.task} {part.sample}".rstrip()
            cells = found.setdefault(unit, {}).setdefault(part.system, {})
            left_out["repeated results"] += (part.split, part.subset) in cells
            cells[part.split, part.subset] = values
    return found, others


def _check_seen(name: str, asked: Sequence[str] | None, seen: set[str]) -> None:
    """Refuse names that no result has: the others alone would be another leaderboard."""
    if unknown := [word for word in asked or () if word not in seen]:
        known = sorted(seen)
        hint = did_you_mean(unknown[0], known, f"There are {list_names(known)}.")
        problem = f"must be in the results, but none has {list_names(unknown)}. {hint}"
        raise ArgumentError(name, problem)


def _measure_unit(
    systems: dict[str, Cells], names: list[str], split: str | None, left_out: Counter[str]
) -> tuple[str, dict[str, float]]:
    """The measure that most systems have on a unit, and their means over its subsets."""
    tests = {key for cells in systems.values() for key in cells if key[0] == "test"}
    if split is None and tests:
        systems = {s: {k: c[k] for k in tests & c.keys()} for s, c in systems.items()}
    # A mean over other subsets is another quantity: those that most systems have count.
    parts_of = Counter(frozenset(cells) for cells in systems.values() if cells)
    usual = max(parts_of, key=lambda keys: (parts_of[keys], len(keys), sorted(keys)))
    complete = {s: cells for s, cells in systems.items() if usual <= cells.keys()}
    left_out["results without all subsets"] += len(systems) - len(complete)
    valued = {
        name: {
            system: math.fsum(cells[key][name] for key in usual) / len(usual)
            for system, cells in complete.items()
            if all(name in cells[key] for key in usual)
        }
        for name in names
    }
    measure = max(names, key=lambda name: len(valued[name]))
    left_out["results without the measure"] += len(complete) - len(valued[measure])
    return measure, valued[measure]


def _values_of(values: Mapping[Any, Any], names: Sequence[Any]) -> dict[str, float]:
    """Finite values of measures: by name, or by a short name that only one of them has."""
    found = {}
    for name in names:
        same = [values[name]] if name in values else (
            [v for other, v in values.items() if _plain(other) == _plain(name)]
            or [v for other, v in values.items() if _short(other) == _plain(name)]
        )  # fmt: skip
        if len(same) == 1 and isinstance(same[0], Real) and math.isfinite(same[0]):
            found[str(name)] = float(same[0])
    return found


@cache
def _plain(name: Any) -> str:
    return str(name).lower().replace("_at_", "@").replace(",", ":")


@cache
def _short(name: Any) -> str:
    """Without the filter of lm-eval ("acc:none") and the similarity of "cosine-NDCG@10"."""
    similarity = "(cosine|cos_sim|cossim|dot_score|dot|euclidean|manhattan|max)"
    return re.sub(f":.*|^{similarity}[-_]|_{similarity}$", "", _plain(name))


_SOURCES = (
    "must be a folder, a sequence of evaluated runs of ranx, or {system: result}. Pass the folder "
    "that holds the files of results."
)


def _read_objects(source: Any, qrels: Any, measure: str) -> Iterator[TaskScores]:
    if not isinstance(source, Mapping):
        if not all(hasattr(run, "name") and hasattr(run, "scores") for run in source):
            raise ValueError(f"source {_SOURCES}")
        source = {run.name: run for run in source}
    elif "results" in source and "configs" in source:  # of lm-evaluation-harness
        raise ValueError(f"source {_SOURCES}")
    for system, result in source.items():
        if qrels is not None:
            found = evaluate(qrels=_nested(qrels), run=_nested(result), measures=measure)
            for query, value in zip(found.qids, found.per_query[measure], strict=True):
                yield TaskScores(system, str(query), {measure: float(value)})
            continue
        of_unit: dict[str, dict[str, Any]] = {}
        if isinstance(scores := getattr(result, "scores", None), Mapping):  # ranx
            triples = [(q, name, v) for name, row in scores.items() for q, v in row.items()]
        elif isinstance(result, Mapping):  # BEIR: one mapping, or a tuple of several
            triples = [
                (unit, name, value)
                for unit, blocks in result.items()
                for block in (blocks if isinstance(blocks, Sequence) else [blocks])
                for name, value in block.items()
            ]
        else:  # ir_measures
            triples = list(getattr(result, "per_query", result))
        for unit, name, value in triples:
            of_unit.setdefault(str(unit), {})[str(name)] = value
        for unit, values in of_unit.items():
            yield TaskScores(system, unit, values)


def _nested(items: Any) -> Any:
    """Mapping by query and document of the objects of ranx and ir_measures; others as they are."""
    if type(items).__module__.startswith("ranx."):
        return items.to_dict()
    if isinstance(items, Sequence) and items and hasattr(items[0], "query_id"):
        nested: dict[str, dict[str, Any]] = {}
        for query, document, value, *_ in items:
            nested.setdefault(query, {})[document] = value
        return nested
    return items
