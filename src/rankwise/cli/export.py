"""``rankwise export``: write a saved model for ONNX runtimes, Solr, Elasticsearch or RankLib."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rankwise.cli._errors import UsageError
from rankwise.cli._options import MISSING_FOLDERS, Json
from rankwise.cli._output import check_model_file, check_target, make_folder, print_json


class ExportFormat(StrEnum):
    """Output format of a model."""

    onnx = "onnx"
    solr = "solr"
    elasticsearch = "elasticsearch"
    ranklib = "ranklib"


_ENGINES = (ExportFormat.solr, ExportFormat.elasticsearch)


def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file of 'rankwise fit'.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help=f"File to write. {MISSING_FOLDERS}")],
    to: Annotated[
        ExportFormat | None,
        typer.Option("--format", help="Output format (default: onnx if OUT ends in .onnx)."),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…|FILE",
            help="Feature names in Solr's store or Elasticsearch's feature set, in column order, "
            "or a file with one name per line (default: names from the fit, else f1, f2, …).",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Model name in Solr or Elasticsearch (default: the file's)."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(help="Solr's feature store of the names (default: Solr's default store)."),
    ] = None,
    nulls: Annotated[
        bool,
        typer.Option("--nulls", help="Let Solr (9.2 or later) distinguish missing values from 0."),
    ] = False,
    classes: Annotated[
        bool,
        typer.Option("--classes", help="ONNX: add the class of an ordinal model as an output."),
    ] = False,
    json: Json = False,
) -> None:
    """Export a saved model to the format of another program.

    onnx supports most models and pipelines. solr supports linear models, sums of trees and
    networks. elasticsearch (also read by OpenSearch) and ranklib support linear models and sums
    of trees.
    """
    kind = to or (ExportFormat.onnx if out.suffix == ".onnx" else None)
    if kind is None:
        raise UsageError(f"{out.name!r} implies no format. Add --format {'|'.join(ExportFormat)}.")
    named = {"--features": features, "--name": name}
    for option, value, kinds in (
        *((option, value, _ENGINES) for option, value in named.items()),
        ("--store", store, (ExportFormat.solr,)),
        ("--nulls", nulls, (ExportFormat.solr,)),
        ("--classes", classes, (ExportFormat.onnx,)),
    ):
        if value and kind not in kinds:
            raise UsageError(
                f"{option} applies only to --format {'|'.join(kinds)}, got {kind}. Drop it."
            )
    check_model_file(model)
    check_target(out, "OUT")
    from rankwise.persistence import load

    estimator = load(model)
    make_folder(out)
    given: dict[str, Any] = {}
    if kind in _ENGINES:
        given = {"features": _names(features), "name": name or model.stem}
    if kind is ExportFormat.solr:
        given |= {"store": store, "nulls": nulls}
    if kind is ExportFormat.onnx:
        given = {"label": classes}
    written = _write(kind, estimator, out, given)
    if json:
        print_json({"model": str(model), "format": kind.value, "out": str(out), "holds": written})
        return
    typer.echo(f"{written}: {out}")


def _write(kind: ExportFormat, estimator: Any, out: Path, given: dict[str, Any]) -> str:
    """Write the file, and return a short description of its content."""
    if kind is ExportFormat.onnx:
        from rankwise.export import to_onnx

        graph = to_onnx(estimator, out, **given).graph
        return f"ONNX, {len(graph.node)} operators"
    if kind is ExportFormat.solr:
        from rankwise.export import to_solr

        model = to_solr(estimator, out, **given)
        return f"Solr {model['class'].rpartition('.')[2]}, {len(model['features'])} features"
    if kind is ExportFormat.elasticsearch:
        from rankwise.export import to_elasticsearch

        body = to_elasticsearch(estimator, out, **given)
        return f"Elasticsearch {body['model']['model']['type']}"
    from rankwise.export import to_ranklib

    first, _, _ = to_ranklib(estimator, out).partition("\n")
    return f"RankLib {first.removeprefix('## ')}"


def _names(features: str | None) -> list[str] | None:
    """Feature names from a file or from the option itself."""
    if features is None:
        return None
    path = Path(features)
    if path.is_file():
        text = path.read_text(encoding="utf-8")  # str.splitlines ends lines within names, too
        return text.removesuffix("\n").split("\n") if text else []
    return [part.strip() for part in features.split(",")]
