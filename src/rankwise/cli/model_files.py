"""``rankwise info``, ``export`` and ``warm-up``: saved models and the kernels that they need."""

from __future__ import annotations

import time
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from rankwise.cli._console import (
    FAILED,
    UsageError,
    check_model_file,
    check_target,
    echo,
    make_folder,
    number,
    print_json,
    print_table,
    waiting,
)
from rankwise.cli._named_entries import DEFAULT
from rankwise.cli._options import (
    NO_COLUMNS,
    ROW_OPTIONS,
    ColumnOptions,
    Json,
    complete_rankers,
    make_ranker,
    read_names,
    reads_tables,
)


def info(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file of 'rankwise fit'.")],
    importances: Annotated[
        bool,
        typer.Option("--importances", help="Load the model and list its features by importance."),
    ] = False,
    json: Json = False,
) -> None:
    """Show the estimator, parameters, versions and data fingerprint of a model file.

    Only metadata is read unless --importances is given, so untrusted files are safe to inspect.

    Example: rankwise info model.rankwise
    """
    from rankwise.persistence import describe, load

    check_model_file(model)
    facts = describe(model)
    found = None
    if importances:
        from rankwise.explain import feature_importances

        found = feature_importances(load(model))
    if json:
        print_json(facts if found is None else {**facts, "importances": dict(found.ranked())})
        return
    print_table(["what", "value"], list(_lines(facts)), title=str(model))
    if found is not None:
        rows = [[name, number(value)] for name, value in found.ranked()]
        print_table(["feature", found.source], rows, right=[found.source])


def _lines(facts: dict[str, Any]) -> list[list[str]]:
    """One line per fact; a nested fact is named PARENT.NAME."""
    lines = []
    for name, value in facts.items():
        if name == "rows":  # a summary of every column, for 'rankwise lint --against'
            said = f"summary of {value['n_rows']} rows, {value['n_queries']} queries"
            lines.append([name, said])
            if left := value.get("left_out"):
                shown = ", ".join(f"{column} ({why})" for column, why in left.items())
                lines.append(["columns that are not features", shown])
        elif isinstance(value, dict):
            lines += [[f"{name}.{key}", str(item)] for key, item in value.items()]
        elif isinstance(value, list):
            shown = ", ".join(map(str, value[:8])) + (", …" if len(value) > 8 else "")
            lines.append([name, shown])
        elif value is not None:
            lines.append([name, str(value)])
    return lines


class ExportFormat(StrEnum):
    """Output format of a model."""

    onnx = "onnx"
    lightgbm = "lightgbm"
    xgboost = "xgboost"
    python = "python"
    vespa = "vespa"
    solr = "solr"
    elasticsearch = "elasticsearch"
    opensearch = "opensearch"
    ranklib = "ranklib"


_F = ExportFormat
_SUFFIXES = {".onnx": _F.onnx, ".py": _F.python}
# Starts of files of boosting libraries, also of those that read_booster refuses with advice.
_BOOSTERS = (b"{", b"[", b"tree\n", b"tree\r", b"\xef\xbb\xbf", b"CBM1", b"binf")
_NAMED = (_F.solr, _F.elasticsearch, _F.opensearch, _F.vespa)
_WITH_FEATURES = (*_NAMED, _F.lightgbm, _F.xgboost, _F.python)


@partial(reads_tables, options=ROW_OPTIONS)
def export(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="Model file of 'rankwise fit', or of LightGBM (text), XGBoost (JSON, UBJ) or "
            "CatBoost (JSON).",
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write.")],
    to: Annotated[
        ExportFormat | None,
        typer.Option(
            "--format",
            help="Output format (default: onnx or python if OUT ends in .onnx or .py).",
        ),
    ] = None,
    verify: Annotated[
        list[str] | None,
        typer.Option(
            "--verify",
            metavar="ROWS",
            help="Rows, with or without labels, on which OUT is compared with MODEL: scored by the "
            "program of the format if it is installed, else by its arithmetic. Exit code 1 if an "
            "order changes or a value at a threshold goes another way. May be given again.",
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…|FILE",
            help="Feature names in the other program, in column order, or a file with one name per "
            "line (default: names from the fit, else f1, f2, …).",
            rich_help_panel="Options",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            help="Model name in Solr, Elasticsearch, OpenSearch or Vespa (default: the file's)."
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="Solr's feature store of the names (default: Solr's default store).",
            rich_help_panel="Options",
        ),
    ] = None,
    nulls: Annotated[
        bool,
        typer.Option("--nulls", help="Let Solr (9.2 or later) distinguish missing values from 0."),
    ] = False,
    resource: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Where Solr finds OUT, for models above the 1 MB that ZooKeeper stores: writes a "
            "DefaultWrapperModel to upload beside OUT, too.",
        ),
    ] = None,
    native: Annotated[
        bool,
        typer.Option(
            "--native", help="Write for Elasticsearch's own learning to rank, not a plugin."
        ),
    ] = False,
    classes: Annotated[
        bool,
        typer.Option("--classes", help="ONNX: add the class of an ordinal model as an output."),
    ] = False,
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Export a saved model to the format of another program.

    onnx supports most models and pipelines. lightgbm, xgboost, vespa, opensearch and
    elasticsearch --native take sums of trees; python, ranklib and elasticsearch (the plugin) also
    linear models; solr networks, too.

    Example: rankwise export model.rankwise model.onnx
    """
    kind = to or _SUFFIXES.get(out.suffix)
    if kind is None:
        raise UsageError(f"{out.name!r} implies no format. Add --format {'|'.join(ExportFormat)}.")
    for option, value, kinds in (
        ("--features", features, _WITH_FEATURES),
        ("--name", name, _NAMED),
        ("--store", store, (_F.solr,)),
        ("--nulls", nulls, (_F.solr,)),
        ("--resource", resource, (_F.solr,)),
        ("--native", native, (_F.elasticsearch,)),
        ("--classes", classes, (_F.onnx,)),
    ):
        if value and kind not in kinds:
            raise UsageError(
                f"{option} applies only to --format {'|'.join(kinds)}, got {kind}. Drop it."
            )
    for option in ROW_OPTIONS:
        if getattr(columns, option) and not verify:
            raise UsageError(
                f"--{option.replace('_', '-')} applies only to the rows of --verify. Drop it."
            )
    check_model_file(model)
    check_target(out, "OUT")
    estimator = _load(model)
    make_folder(out)
    given: dict[str, Any] = {}
    if kind in _WITH_FEATURES:
        given["features"] = _names(features)
    if kind in _NAMED:
        given["name"] = name or model.stem
    if kind is _F.solr:
        given |= {"store": store, "nulls": nulls, "resource": resource}
    if kind is _F.elasticsearch:
        given["native"] = native
    if kind is _F.onnx:
        given["label"] = classes
    written = _write(kind, estimator, out, given)
    certificate = None
    if verify:
        from rankwise.cli._scoring import verify_rows

        certificate = verify_rows(estimator, out, verify, given.get("features"), columns)
    if json:
        facts: dict[str, Any] = {
            "model": str(model),
            "format": kind.value,
            "out": str(out),
            "holds": written,
        }
        if certificate is not None:
            facts["parity"] = certificate
        print_json(facts)
    else:
        echo(f"{written}: {out}")
        if certificate is not None:
            echo(str(certificate))
    if certificate is not None and not certificate.holds:
        raise typer.Exit(FAILED)


def _load(path: Path) -> Any:
    """Model of this library, or of a boosting library."""
    from rankwise.persistence import load

    with path.open("rb") as file:
        start = file.read(5)
    if start.startswith(_BOOSTERS):
        from rankwise.rankers.adapters.read_booster import read_booster

        return read_booster(path)
    return load(path)


def _write(kind: ExportFormat, estimator: Any, out: Path, given: dict[str, Any]) -> str:
    """Write the file, and return a short description of its content."""
    from rankwise import export as exporters

    made: Any = getattr(exporters, f"to_{kind.value}")(estimator, out, **given)
    match kind:
        case _F.onnx:
            return f"ONNX, {len(made.graph.node)} operators"
        case _F.solr:
            holds = made.get("features", ())
            listed = f", {len(holds)} features" if holds else ""
            return f"Solr {made['class'].rpartition('.')[2]}{listed}"
        case _F.elasticsearch if given["native"]:
            return "Elasticsearch tree_ensemble"
        case _F.elasticsearch | _F.opensearch:
            title = "Elasticsearch" if kind is _F.elasticsearch else "OpenSearch"
            return f"{title} {made['model']['model']['type']}"
        case _F.ranklib:
            return f"RankLib {made.partition(chr(10))[0].removeprefix('## ')}"
        case _F.lightgbm:
            return f"LightGBM, {made.count('Tree=')} trees"
        case _F.xgboost:
            forest = made["learner"]["gradient_booster"]["model"]
            return f"XGBoost, {len(forest['trees'])} trees"
        case _F.vespa:
            return f"Vespa, {len(made['model']['tree_info'])} trees, and a rank profile"
        case _F.python:
            return "Python, needs NumPy"


def _names(features: str | None) -> list[str] | None:
    """Feature names from a file or from the option itself."""
    if features is None:
        return None
    path = Path(features)
    if path.is_file():
        text = path.read_text(encoding="utf-8")  # str.splitlines ends lines within names, too
        return text.removesuffix("\n").split("\n") if text else []
    return read_names(features)


def warm_up(
    entries: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL|RANKER]…",
            help="Saved models, and rankers of 'rankwise list rankers' (default: "
            f"{', '.join(DEFAULT)}).",
            autocompletion=complete_rankers,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Compile what models need to score, and rankers to fit and score, into the cache.

    Run it where an image of a container is built, with the same NUMBA_CACHE_DIR and, for a fleet of
    several processors, the same NUMBA_CPU_NAME as at run time. A second run takes less: nothing is
    left to compile.

    Example: rankwise warm-up model.rankwise
    """
    from rankwise.runtime.jit import always_compiled

    found = {}
    for entry in entries or list(DEFAULT):
        if Path(entry).suffix or "/" in entry:
            check_model_file(Path(entry))
    for entry in entries or list(DEFAULT):
        start = time.perf_counter()
        with waiting(f"Warming up {entry}"), always_compiled():
            _score(entry) if Path(entry).is_file() else _fit(entry)
        found[entry] = time.perf_counter() - start
    if json:
        print_json({"seconds": found})
        return
    lines = [[entry, number(seconds, ".2f")] for entry, seconds in found.items()]
    print_table(["entry", "seconds"], lines, right=["seconds"])


def _score(path: str) -> None:
    """Score made-up rows with a saved model."""
    from rankwise.persistence import load
    from rankwise.prediction import warm_up as prepare_scoring

    model = load(path)
    try:
        prepare_scoring(model)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"rows for {path} cannot be made up ({error.__cause__ or error}). Score a file of rows "
            f"instead: rankwise predict {path} DATA."
        ) from error


def _fit(key: str) -> None:
    """Fit a ranker on some bundled rows, and prepare it to score."""
    from rankwise.datasets import load_dataset
    from rankwise.metrics import parse
    from rankwise.prediction import warm_up as prepare_scoring
    from rankwise.selection import tune

    words = ["time_budget=5"] if key == "auto" else None
    fold = load_dataset("lambdarank", fold=1)
    estimator, space = make_ranker(key, words, 0, "entries")
    tuned = tune(estimator, fold.train, fold.vali, parse("nDCG@10"), space=space)
    prepare_scoring(tuned.estimator)
