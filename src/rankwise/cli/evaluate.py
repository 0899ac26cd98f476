"""``rankwise evaluate``: measures of scores against judged data, or of a TREC run against qrels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli import _completion as complete
from rankwise.cli._arguments import compares_rows, read_measures
from rankwise.cli._columns import NO_COLUMNS, ColumnOptions, reads_tables
from rankwise.cli._contestants import is_run, width_of
from rankwise.cli._errors import JobError, UsageError
from rankwise.cli._options import DATA_HELP, Json, Measures, Preset
from rankwise.cli._output import number, print_json, print_table

if TYPE_CHECKING:
    from rankwise.datasets import Qrels
    from rankwise.metrics import Measure

_QRELS_COLUMNS = 4


@dataclass(frozen=True)
class _Found:
    """One measure: ``interval`` (95 %, Student's t) of the mean over ``counted`` queries."""

    spec: str
    convention: str
    mean: float
    interval: tuple[float, float] | None
    counted: int
    values: Any


@dataclass(frozen=True)
class _Rows:
    """What is measured, row by row; ``retrieved`` None: all rows have a score."""

    y: Any
    scores: Any
    qid: Any
    retrieved: Any = None


@reads_tables
def evaluate(
    scores: Annotated[
        Path,
        typer.Argument(
            metavar="SCORES",
            help="One score per line in the order of DATA (one class for MAE, Kappa and the like), "
            "or a TREC run.",
        ),
    ],
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help=f"{DATA_HELP} With a TREC run: its qrels, or judged data with document ids.",
            autocompletion=complete.data,
        ),
    ],
    measures: Measures = "nDCG@10,AP",
    preset: Preset = None,
    per_query: Annotated[
        bool, typer.Option("--per-query", "-q", help="Show the value of every query too.")
    ] = False,
    all_queries: Annotated[
        bool,
        typer.Option(
            "--all-queries",
            "-c",
            help="TREC: judged queries that the run misses count too, as with trec_eval -c.",
        ),
    ] = False,
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Measure scores against labels, query by query and in the mean.

    Documents of a TREC run are ordered as trec_eval orders them: by score in single precision,
    equal ones by descending name; judged documents that the run misses count as never found.
    """
    from rankwise.metrics import evaluate as measure

    wanted = read_measures(measures, preset)
    if not scores.is_file():
        raise UsageError(f"{str(scores)!r} is no file.")
    of_run = is_run(scores)
    if all_queries and not of_run:
        raise UsageError(f"--all-queries is for TREC runs, and {scores} is none.")
    if of_run:
        rows = _trec(scores, data, columns, all_queries)
    else:
        rows = _scores(scores, data, columns, may_be_one=not compares_rows([], wanted))
    taken = [_by_row_order(one) if of_run else one for one in wanted.values()]
    result = measure(rows.y, rows.scores, rows.qid, taken, retrieved=rows.retrieved)
    found = [
        _found(spec, str(one), result[str(used)], result.per_query[str(used)])
        for (spec, one), used in zip(wanted.items(), taken, strict=True)
    ]
    if json:
        print_json(_as_dict(found, result.qids, per_query))
    else:
        _print(found, result.qids, per_query)


def _trec(run: Path, data: list[str], columns: ColumnOptions, all_queries: bool) -> _Rows:
    from rankwise.datasets import judge, read_run

    judged = judge(read_run(run), _judgments(data, columns), all_queries=all_queries)
    if not len(judged):
        raise JobError(f"{run} and {data[0]} have no query in common.")
    if not (judged.judged & judged.retrieved).any():
        raise JobError(
            f"{run} and {data[0]} have queries in common, and no document: {run} has "
            f"{str(judged.doc_ids[0])!r}."
        )
    return _Rows(judged.y, judged.scores, judged.qid, judged.retrieved)


def _judgments(data: list[str], columns: ColumnOptions) -> Qrels:
    """Of a qrels file, or of the labels and document ids of judged data."""
    from rankwise.cli._data import load_table
    from rankwise.datasets import Qrels, read_qrels

    if len(data) == 1 and Path(data[0]).is_file() and width_of(Path(data[0])) == _QRELS_COLUMNS:
        return read_qrels(data[0])
    table = load_table(data, columns=columns)
    if table.doc_ids is None:
        raise JobError(
            f"a TREC run needs judgments by document id, and {data[0]} has none: give a qrels "
            "file, a comment '#docid = …' in each line of LETOR text, or --doc-id NAME."
        )
    return Qrels.from_data(table)


def _by_row_order(measure: Measure) -> Measure:
    """The measure with ties in the order of the rows: ``judge`` has put them in trec_eval's."""
    is_by_name = getattr(measure, "ties", None) == "docid"
    return replace(measure, **{"ties": "stable"}) if is_by_name else measure


def _scores(path: Path, data: list[str], columns: ColumnOptions, *, may_be_one: bool) -> _Rows:
    from rankwise.cli._data import load_table, refuse_one_query

    table = load_table(data, columns=columns)
    if not may_be_one:
        refuse_one_query(table, data, columns)
    values = _read_scores(path)
    if len(values) != table.n_samples:
        raise JobError(
            f"{path} has {len(values)} scores, but {data[0]} has {table.n_samples} rows. "
            "Give one score per row, in the same order."
        )
    return _Rows(table.y, values, table.groups)


def _read_scores(path: Path) -> Any:
    import numpy as np

    from rankwise.datasets.readers.letor_errors import NUMBER
    from rankwise.datasets.readers.textfiles import read_text

    lines = read_text(path).removesuffix(b"\n").split(b"\n")
    values = np.empty(len(lines))
    for number_of_line, line in enumerate(map(bytes.strip, lines), start=1):
        if not NUMBER.fullmatch(line):
            raise JobError(
                f"{path}, line {number_of_line}: a score must be one number, got "
                f"{line[:40].decode('utf-8', 'replace')!r}."
            )
        values[number_of_line - 1] = float(line)
    return values


def _found(spec: str, convention: str, mean: float, values: Any) -> _Found:
    import numpy as np

    from rankwise.metrics.significance import t_intervals

    known = values[~np.isnan(values)]
    interval = None
    if len(known) > 1:
        low, high = t_intervals(known[:, None])[0]
        interval = float(low), float(high)
    return _Found(spec, convention, mean, interval, len(known), values)


def _as_dict(found: list[_Found], qids: Any, per_query: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "queries": len(qids),
        "measures": {
            one.spec: {
                "mean": one.mean,
                "interval": one.interval,
                "counted": one.counted,
                "convention": one.convention,
            }
            for one in found
        },
    }
    if per_query:
        facts["qids"] = qids
        facts["per_query"] = {one.spec: one.values for one in found}
    return facts


def _print(found: list[_Found], qids: Any, per_query: bool) -> None:
    if per_query:
        names = [one.spec for one in found]
        lines = [
            [str(qid), *(number(float(one.values[i])) for one in found)]
            for i, qid in enumerate(qids)
        ]
        print_table(["query", *names], lines, right=names)
    lines = [
        [
            one.spec,
            number(one.mean),
            "–" if one.interval is None else " – ".join(map(number, one.interval)),
            f"{one.counted} of {len(qids)}",
            one.convention,
        ]
        for one in found
    ]
    columns = ["measure", "mean", "95 % interval", "queries", "convention"]
    print_table(columns, lines, right=columns[1:4])
