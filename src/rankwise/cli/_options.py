"""Arguments and options that several commands share, how they are parsed and completed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise._registry import (
    RANKING,
    REGISTRY,
    Entry,
    build_ranker,
    parse_ranker,
    parse_value,
    read_names,
    split_list,
)
from rankwise.cli._console import UsageError, usage
from rankwise.runtime.messages import ArgumentError, did_you_mean

if TYPE_CHECKING:
    from rankwise.datasets import RankingData
    from rankwise.metrics import Measure


def complete_ranker(incomplete: str) -> list[str]:
    """Names of rankers."""
    from rankwise._registry import RANKING

    return [key for key in RANKING if key.startswith(incomplete)]


def complete_rankers(incomplete: str) -> list[str]:
    """A comma-separated list of rankers with one more name."""
    typed, comma, last = incomplete.rpartition(",")
    return [f"{typed}{comma}{key}" for key in complete_ranker(last) if key not in typed.split(",")]


def complete_measures(incomplete: str) -> list[str]:
    """A comma-separated list of measures with one more name."""
    from rankwise.metrics._table import MEASURES

    typed, comma, last = incomplete.rpartition(",")
    found = [name for name in MEASURES if name.lower().startswith(last.lower())]
    return [f"{typed}{comma}{name}" for name in found]


def complete_presets(incomplete: str) -> list[str]:
    """Names of presets."""
    from rankwise.metrics.spec import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def complete_data(incomplete: str) -> list[str]:
    """Names of data sets and paths of files that start with the typed text."""
    from glob import escape, glob

    from rankwise.datasets.catalog.entries import known_datasets

    sets = [name for name in known_datasets() if name.startswith(incomplete)]
    return [*sets, *sorted(glob(f"{escape(incomplete)}*"))]


DATA_HELP = (
    "Judged data: CSV, Parquet or LETOR/SVMlight files, glob patterns or folders of tables, joined "
    "into one table; a folder with Fold1, Fold2, …; or a data set of 'rankwise list datasets': "
    "NAME, NAME:FOLD or NAME:FOLD:PART."
)

Data = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help=DATA_HELP, autocompletion=complete_data),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Measures = Annotated[
    str,
    typer.Option(
        metavar="A,B,…",
        help="Comma-separated measures; the first one sorts the tables. --preset trec_eval also "
        "reads its own names: map, P_10, ndcg_cut_10.",
        autocompletion=complete_measures,
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        help="Convention for unspecified options of measures (see 'rankwise list presets').",
        autocompletion=complete_presets,
    ),
]
DifferingQueries = Annotated[
    bool,
    typer.Option(
        "--differing-queries",
        help="Count only queries on which rankings can differ.",
    ),
]
Ranker = Annotated[
    str,
    typer.Option(
        help="Ranker of 'rankwise list rankers': KEY, its tuned recipe, or KEY(NAME=VALUE,…), its "
        "class with these parameters.",
        autocompletion=complete_ranker,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Parameter of the ranker, which then has its class's defaults instead of its tuned "
        "recipe; repeatable. 'rankwise list --ranker RANKER' lists them.",
    ),
]
SelectBy = Annotated[
    str | None,
    typer.Option(
        metavar="MEASURE",
        help="Tuning metric on the validation part (default: the first of --measures).",
        autocompletion=complete_measures,
    ),
]
TuningMetric = Annotated[
    str | None,
    typer.Option(
        metavar="MEASURE",
        help="Tuning metric of rankers that have a parameter 'measure' (default: its value; if "
        "None, nDCG@10 for grades and Misranking for other labels). Other rankers use a criterion "
        "of their own.",
        autocompletion=complete_measures,
    ),
]
Cv = Annotated[
    str | None,
    typer.Option(
        metavar="N|auto|letor",
        help="N: split one table into N folds of queries; auto: into 5. letor: rotate five parts "
        "of the table, or the given files, as LETOR does. Data sets with folds of their own need "
        "no --cv.",
    ),
]
RandomState = Annotated[int, typer.Option(help="Seed for folds, rankers and permutation tests.")]
ValiData = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Validation part (a file, pattern or folder)."),
]
TestData = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Test part (file, pattern or folder); DATA trains."),
]
Jobs = Annotated[
    int, typer.Option("--n-jobs", help="Number of parallel worker processes; -1: one per CPU.")
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Stop a cell (one ranker on one fold) after this time and record it as failed.",
    ),
]
Store = Annotated[
    Path | None,
    typer.Option(help="Folder for finished cells; the same command resumes from it."),
]


def text_option(metavar: str, text: str) -> Any:
    """Annotation of an option that takes a text and is None if it is not given."""
    return Annotated[str | None, typer.Option(metavar=metavar, help=text)]


def add_options(
    name: str, options: Mapping[str, Any], group: Callable[..., Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that shows options in the place of the parameter ``name`` of a command.

    ``options`` are annotations as Typer takes them. The parameter receives what ``group`` returns
    for the options by name. Its signature has their defaults; of those without a name there, None.
    """
    defaults = inspect.signature(group).parameters

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(command, eval_str=True)
        shown: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            # Typer passes all by name, and parameters by name may have defaults in any order.
            parameter = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            if parameter.name != name:
                shown.append(parameter)
                continue
            shown += [
                parameter.replace(
                    name=option,
                    annotation=annotation,
                    default=defaults[option].default if option in defaults else None,
                )
                for option, annotation in options.items()
            ]

        @wraps(command)
        def run(**given: Any) -> Any:
            found = {option: given.pop(option) for option in options if option in given}
            return command(**given, **{name: group(**found)})

        vars(run)["__signature__"] = signature.replace(parameters=shown)
        return run

    return decorate


def read_measures(text: str, preset: str | None) -> dict[str, Measure]:
    """Parse measures; the keys are the strings as given."""
    from rankwise.metrics import parse

    with usage():
        measures = {spec: parse(spec, preset) for spec in split_list(text)}
    if not measures:
        raise ArgumentError("measures", "must name at least one measure.")
    return measures


def read_number(name: str, text: str, *words: str, rule: str = "a number") -> Any:
    """Number that an option gives as text; one of ``words`` is returned unchanged."""
    try:
        return text if text in words else float(text)
    except ValueError:
        rule = " or ".join([*map(repr, words), rule])
        raise ArgumentError(name, f"must be {rule}, got {text!r}.") from None


def read_numbers(name: str, text: str) -> list[float]:
    """Numbers that an option gives as text, separated by commas."""
    return [read_number(name, part, rule="numbers separated by commas") for part in text.split(",")]


def read_unjudged(text: str | None) -> float | str | None:
    """Label of unjudged rows, a number or "missing"."""
    return text and read_number("unjudged", text, "missing", rule="a label such as -1")


def ranker_entry(key: str) -> Entry:
    """Registry entry of a ranker, from its key or from KEY(NAME=VALUE,…)."""
    key = key.partition("(")[0].strip()
    entry = REGISTRY.get(key)
    if entry is not None and entry.kind in ("multi-label", "cost-sensitive"):
        raise UsageError(
            f"{key!r} predicts labels and is not a ranker. Use {entry.path.rpartition(':')[2]} of "
            "rankwise.labels from Python, or choose a ranker of 'rankwise list rankers'."
        )
    if key not in RANKING:
        hint = did_you_mean(key, RANKING, f"Rankers: {', '.join(RANKING)}.")
        raise UsageError(f"{key!r} is not a ranker. {hint}")
    return RANKING[key]


def compares_rows(rankers: Sequence[str], measures: Mapping[str, Measure]) -> bool:
    """Whether a ranker or measure compares the rows of a query, not each row with its class."""
    return any(ranker_entry(key).kind == "ranker" for key in rankers) or not all(
        measure.reads_labels for measure in measures.values()
    )


def read_settings(settings: Sequence[str], value: str = "VALUE") -> dict[str, str]:
    """Texts of the values by name, each of which is set once."""
    found: dict[str, str] = {}
    for setting in settings:
        name, equals, text = map(str.strip, setting.partition("="))
        if not equals or not name:
            raise UsageError(f"--set must be NAME={value}, got {setting!r}.")
        if name in found:
            raise UsageError(f"--set {name}={text} and --set {name}={found[name]}: set it once.")
        found[name] = text
    return found


def make_ranker(
    word: str, settings: Sequence[str] | None, seed: int, option: str = "--ranker"
) -> tuple[Any, dict[str, list[Any]]]:
    """Estimator and grid of a key, or of a key with parameters, which --set can give, too."""
    params = {name: parse_value(text) for name, text in read_settings(settings or ()).items()}
    ranker_entry(word)
    with usage():
        given = parse_ranker(word, option)[1] or {}
        twice = [name for name in params if name in given]
        if twice:
            raise UsageError(
                f"--set {twice[0]}={params[twice[0]]!r} and {option} {word} both set {twice[0]}. "
                "Set it once."
            )
        if not settings:
            return build_ranker(word, option, seed=seed)
        return build_ranker(word, "--set", params=params)


def add_settings(word: str, settings: Sequence[str] | None) -> str:
    """KEY(NAME=VALUE,…) of a key, perhaps with parameters, and those of --set."""
    if not settings:
        return word
    key, _, given = word.strip().removesuffix(")").partition("(")
    added = [f"{name}={text}" for name, text in read_settings(settings).items()]
    return f"{key}({','.join([*split_list(given), *added])})"


@dataclass(frozen=True)
class ColumnOptions:
    """Values of the column options; None if an option is not given.

    ``score_columns`` has no option: entries ``column:NAME`` among the rankers name these columns.
    Nor has ``categories``: commands with a ranker that takes categories read columns of text, or
    those that a model was fitted on.
    ``unjudged`` is an option of the commands that evaluate.
    """

    label: str | None = None
    qid: str | None = None
    features: str | None = None
    doc_id: str | None = None
    sample_weight: str | None = None
    ignore: str | None = None
    sep: str | None = None
    one_query: bool = False
    score_columns: tuple[str, ...] = ()
    unjudged: float | str | None = None
    categories: bool | tuple[str, ...] = False

    @property
    def words(self) -> dict[str, Any]:
        """Arguments of ``read_table`` that were given."""
        from rankwise.datasets.judged_source import NAMED

        named = (*NAMED, "ignore")
        given: dict[str, Any] = {name: value for name in named if (value := getattr(self, name))}
        if self.one_query and self.qid is None:
            given["qid"] = False
        for name in ("features", "ignore"):
            if name in given:
                given[name] = read_names(given[name])
        if self.sep == "\\t":
            given["sep"] = "\t"
        if self.score_columns:
            given["score_columns"] = self.score_columns
        if self.unjudged is not None:
            given["unjudged"] = self.unjudged
        if self.categories:
            given["categories"] = self.categories
        return given

    def check_ignored(self, table: RankingData) -> None:
        """Raise UsageError if columns to ignore have no names, by which to predict."""
        if self.ignore is not None and not {*read_names(self.ignore)} <= {*table.left_out}:
            raise UsageError(
                f"--ignore leaves columns out by name, but those of {table.name or 'DATA'} have "
                "none. Convert it to CSV, or drop the option."
            )

    @property
    def options(self) -> str:
        """The options that were given, for messages."""
        from rankwise.datasets.judged_source import NAMED

        return ", ".join(f"--{name.replace('_', '-')}" for name in NAMED if getattr(self, name))


NO_COLUMNS = ColumnOptions()

Unjudged = Annotated[
    str | None,
    typer.Option(
        metavar="missing|LABEL",
        help="Label of rows of DATA without a judgement, such as -1, or 'missing' for empty cells. "
        "They are ranked as not relevant, but not learnt from.",
    ),
]

_OPTIONS = {
    "label": text_option(
        "NAME",
        "Label column of tables (default: relevance, label, grade, rel, y, target, "
        "rating or judgement).",
    ),
    "qid": text_option(
        "NAME", "Query column of tables (default: qid, query_id, query-id, query, q or the like)."
    ),
    "features": text_option(
        "A,B,…",
        "Feature columns of tables (default: all remaining columns of numbers; of text, "
        "too, whose values repeat, if a ranker takes categories).",
    ),
    "doc_id": text_option(
        "NAME", "Document id column of tables (default: doc_id, docno, corpus-id or the like)."
    ),
    "sample_weight": text_option(
        "NAME", "Column of the weights of rows in tables (default: sample_weight, if present)."
    ),
    "ignore": text_option(
        "A,B,…", "Columns that are not features, such as scores of the system in production."
    ),
    "sep": text_option(
        "CHARACTER", "Column separator of text tables, such as ';' or '\\t' (default: by suffix)."
    ),
    "one_query": Annotated[
        bool,
        typer.Option("--one-query", help="Treat all rows as one query if files name none."),
    ],
}


ROW_OPTIONS = tuple(option for option in _OPTIONS if option != "features")


def reads_tables(
    command: Callable[..., Any], options: Sequence[str] = tuple(_OPTIONS)
) -> Callable[..., Any]:
    """Add --label, --qid, --features, --doc-id, --sample-weight, --ignore, --sep, --one-query.

    The command receives their values as its parameter ``columns``.
    """
    return add_options("columns", {key: _OPTIONS[key] for key in options}, ColumnOptions)(command)
