"""Results of other programs as leaderboards; none of these programs is imported."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwise.integrations.result_files import TaskScores, numbers_of, read_folder
from rankwise.metrics.evaluation import evaluate
from rankwise.runtime.messages import setting


@dataclass(frozen=True)
class ForeignResults:
    """``scores``, ``{system: {task: value}}``, go to :func:`rankwise.leaderboard`.

    ``measures`` counts tasks by their measure, ``left_out`` the other results by reason.
    """

    scores: dict[str, dict[str, float]]
    measures: dict[str, int]
    left_out: dict[str, int]

    def __str__(self) -> str:
        used = ", ".join(f"{name} of {n} tasks" for name, n in self.measures.items())
        gone = ", ".join(f"{n} {reason}" for reason, n in self.left_out.items())
        return f"{len(self.scores)} systems, {used}; left out: {gone or 'nothing'}"


def read_results(
    source: Any,
    *,
    measures: str | Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    split: str | None = None,
    subsets: Sequence[str] | None = None,
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
        Names as the program writes them, in any case; ``_at_`` is ``@``. A task is measured by the
        first that most systems have. None: mteb's main score, or the only measure. With ``qrels``,
        one measure of :func:`rankwise.metrics.parse`, by default nDCG@10.
    tasks : sequence of str, optional
        Tasks that count. None: all.
    split : str, optional
        Split of mteb's tasks. None: "test", or the only split of a task.
    subsets : sequence of str, optional
        Subsets of mteb's tasks, such as "default" and "en"; None: all. The value of a task is the
        mean over its subsets, for systems that have all of them.
    qrels : judgements, optional
        As for :func:`rankwise.evaluate`, Qrels of ranx or Qrel lists of ir_measures.

    Returns
    -------
    ForeignResults

    Raises
    ------
    ValueError
        If no results are left, or several measures could be meant.

    Examples
    --------
    >>> beir = {"a": {"scifact": {"NDCG@10": 0.7}}, "b": {"scifact": {"NDCG@10": 0.6}}}
    >>> read_results(beir, measures="ndcg_at_10").scores
    {'a': {'scifact': 0.7}, 'b': {'scifact': 0.6}}
    """
    names = [measures] if isinstance(measures, str) else list(measures or ())
    left_out: Counter[str] = Counter()
    if isinstance(source, str | Path):
        parts = read_folder(Path(source), left_out)
    else:
        parts = _read_objects(source, qrels, names[0] if names else "nDCG@10")
    found: dict[str, dict[str, dict[str, dict[str, dict[str, float]]]]] = {}
    for system, task, values, split_of, subset in parts:
        plain = {_plain(name): value for name, value in values.items()}
        splits = found.setdefault(task, {}).setdefault(system, {}).setdefault(split_of, {})
        left_out["older results"] += subset in splits
        splits[subset] = plain
    known = Counter(
        name for systems in found.values() for splits in systems.values()
        for rows in splits.values() for values in rows.values() for name in values
    )  # fmt: skip
    if not names:
        names = ["main_score"] if "main_score" in known else list(known) if len(known) == 1 else []
    scores: dict[str, dict[str, float]] = {}
    used: Counter[str] = Counter()
    for task, systems in found.items() if names else ():
        if tasks is not None and task not in tasks:
            left_out["results of other tasks"] += len(systems)
            continue
        chosen: dict[str, dict[str, dict[str, float]]] = {}
        for system, splits in systems.items():
            usual = "test" if "test" in splits or len(splits) > 1 else next(iter(splits))
            rows = splits.get(split or usual, {})
            rows = {s: v for s, v in rows.items() if subsets is None or s in subsets}
            chosen |= {system: rows} if rows else {}
        left_out["results of other splits or subsets"] += len(systems) - len(chosen)
        everything = {subset for rows in chosen.values() for subset in rows}
        complete = {s: rows for s, rows in chosen.items() if len(rows) == len(everything)}
        left_out["results without all subsets"] += len(chosen) - len(complete)
        valued = {
            name: {
                system: math.fsum(row[_plain(name)] for row in rows.values()) / len(rows)
                for system, rows in complete.items()
                if all(_plain(name) in row for row in rows.values())
            }
            for name in names
        }
        measure = max(names, key=lambda name: len(valued[name]))
        left_out["results without the measure"] += len(complete) - len(valued[measure])
        used[measure] += bool(valued[measure])
        for system, value in valued[measure].items():
            scores.setdefault(system, {})[task] = value
    reasons = {reason: n for reason, n in left_out.items() if n}
    if not scores:
        there = ", ".join(name for name, _ in known.most_common(12)) or "none"
        raise ValueError(
            f"no results are left ({reasons}). Choose a measure with {setting('measures')}; those "
            f"of most results are {there}."
        )
    return ForeignResults(scores, {name: n for name, n in used.items() if n}, reasons)


def _plain(name: str) -> str:
    return name.lower().replace("_at_", "@")


def _read_objects(source: Any, qrels: Any, measure: str) -> Iterator[TaskScores]:
    if not isinstance(source, Mapping):
        source = {run.name: run for run in source}
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
            yield TaskScores(system, unit, numbers_of(values))


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
