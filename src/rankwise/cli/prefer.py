"""``rankwise prefer``: a leaderboard with rank intervals from comparisons or orders of items."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import typer

from rankwise.cli._console import (
    UsageError,
    check_file,
    check_target,
    echo,
    make_folder,
    number,
    print_json,
    print_table,
    waiting,
)
from rankwise.cli._options import Json, read_names
from rankwise.runtime.messages import check_choice, check_share

TIES = ("davidson", "rao_kupper", "half")
UNLISTED = ("absent", "last")
COVARIANCES = ("sandwich", "information")


def prefer(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, Parquet or JSON-lines file with one comparison of two items per row; "
            "or, with --orders, orders of several items.",
        ),
    ],
    item_a: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column of the first item (default: model_a or so)."),
    ] = None,
    item_b: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column of the second item (default: model_b or so)."),
    ] = None,
    winner: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column of outcomes: names of winners, first, second, tie, or 1, 0.5, 0 "
            "(default: winner, outcome or so).",
        ),
    ] = None,
    orders: Annotated[
        bool,
        typer.Option(
            "--orders",
            help="FILE holds orders, for Plackett-Luce: lines such as 'a > b = c', or a table "
            "with columns order, item and rank. Needless for PrefLib's .soc, .soi, .toc and .toi.",
        ),
    ] = False,
    ties: Annotated[
        str,
        typer.Option(help=f"Model of ties in comparisons: {', '.join(TIES)}."),
    ] = "davidson",
    order_effect: Annotated[
        bool,
        typer.Option("--order-effect", help="Estimate the advantage of the first item."),
    ] = False,
    covariates: Annotated[
        str | None,
        typer.Option(
            metavar="A,B:C,…",
            help="Columns of advantages of the first item; B:C is column B minus column C.",
        ),
    ] = None,
    clusters: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Columns of annotators, prompts and the like, whose comparisons depend on one "
            "another.",
        ),
    ] = None,
    sample_weight: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Column of weights (default, if present: sample_weight or weight)."
        ),
    ] = None,
    unlisted: Annotated[
        str,
        typer.Option(help="Items that an order lacks: absent, or last (with --orders)."),
    ] = "absent",
    alpha: Annotated[float, typer.Option(help="L2 penalty of the strengths.")] = 0.0,
    covariance: Annotated[
        str, typer.Option(help=f"Standard errors: {' or '.join(COVARIANCES)}.")
    ] = "sandwich",
    reference: Annotated[
        str | None,
        typer.Option(metavar="ITEM", help="Item of strength 0 (default: strengths of mean 0)."),
    ] = None,
    confidence_level: Annotated[
        float, typer.Option(help="Joint level of the rank intervals.")
    ] = 0.95,
    sep: Annotated[
        str | None,
        typer.Option(metavar="CHARACTER", help="Column separator of text (default: by suffix)."),
    ] = None,
    random_state: Annotated[int, typer.Option(help="Seed for the rank intervals.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="CSV file for the leaderboard."),
    ] = None,
    json: Json = False,
) -> None:
    """Rank items by comparisons or orders, with simultaneous rank intervals.

    A rank interval starts after all significantly stronger items and ends before all significantly
    weaker ones.

    Example: rankwise prefer games.csv
    """
    from rankwise.preferences import (
        PairwisePreferences,
        PlackettLuce,
        read_comparisons,
        read_orders,
    )
    from rankwise.preferences.preference_files import is_preflib

    check_file(file)
    if out is not None:
        check_target(out, "--out")
    check_choice("ties", ties, TIES)
    check_choice("unlisted", unlisted, UNLISTED)
    check_choice("covariance", covariance, COVARIANCES)
    check_share("confidence_level", confidence_level)
    common: dict[str, Any] = {"alpha": alpha, "covariance": covariance, "reference": reference}
    by: dict[str, Any] = {
        "clusters": read_names(clusters) if clusters else (),
        "sample_weight": sample_weight,
        "sep": sep,
    }
    with waiting("Fitting"):
        if orders or is_preflib(file):
            given = {"--item-a": item_a, "--item-b": item_b, "--winner": winner}
            given |= {"--covariates": covariates, "--order-effect": order_effect}
            given |= {"--ties": ties != TIES[0]}
            _refuse("--orders", given)
            games: Any = read_orders(file, **by)
            options: dict[str, Any] = common | {"unlisted": unlisted}
            model: Any = PlackettLuce(**options).fit(games)
        else:
            _refuse("a file of comparisons", {"--unlisted last": unlisted == "last"})
            by |= {"item_a": item_a, "item_b": item_b, "winner": winner}
            by["covariates"] = _split_covariates(covariates)
            games = read_comparisons(file, **by)
            options = common | {"ties": ties, "order_effect": order_effect}
            model = PairwisePreferences(**options).fit(games)
        board = model.leaderboard(confidence_level, random_state=random_state)
    if out is not None:
        _write(out, board)
    if json:
        facts = {
            "items": _rows(board),
            "effects": _effects(model),
            "n": len(games),
            "confidence_level": confidence_level,
        }
        print_json(facts | {"log_likelihood": model.log_likelihood_})
    else:
        _print(model, board, len(games), confidence_level)


def _refuse(what: str, given: dict[str, Any]) -> None:
    wrong = [option for option, value in given.items() if value]
    if wrong:
        raise UsageError(f"{', '.join(wrong)} cannot be combined with {what}. Drop one of them.")


def _split_covariates(text: str | None) -> list[str | tuple[str, str]]:
    entries: list[str | tuple[str, str]] = []
    for name in read_names(text) if text else ():
        first, colon, second = name.partition(":")
        entries.append((first, second) if colon else name)
    return entries


def _rows(board: dict[str, Any]) -> list[dict[str, Any]]:
    columns = {name: column.tolist() for name, column in board.items()}
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def _effects(model: Any) -> list[dict[str, Any]]:
    values = (model.effect_names_, model.effects_, model.effect_errors_)
    return [
        {"effect": name, "estimate": estimate, "standard_error": error}
        for name, estimate, error in zip(*(value.tolist() for value in values), strict=True)
    ]


def _print(model: Any, board: dict[str, Any], n: int, confidence_level: float) -> None:
    rows = [
        [
            str(row["rank"]),
            f"{row['rank_low']}–{row['rank_high']}",
            row["item"],
            number(row["strength"], ".3f"),
            number(row["standard_error"], ".3f"),
            f"{row['n_comparisons']:g}",
        ]
        for row in _rows(board)
    ]
    columns = ["rank", f"{confidence_level:.0%} interval", "item", "strength", "s.e.", "n"]
    print_table(columns, rows, right=["rank", "strength", "s.e.", "n"])
    if effects := _effects(model):
        cells = [
            [row["effect"], number(row["estimate"], ".3f"), number(row["standard_error"], ".3f")]
            for row in effects
        ]
        print_table(["effect", "estimate", "s.e."], cells, right=["estimate", "s.e."])
    kind = "orders" if hasattr(model, "unlisted") else "comparisons"
    echo(f"{n:,} {kind}. {_verdict(board)}")


def _verdict(board: dict[str, Any]) -> str:
    best, m = board["item"][0], len(board["item"])
    if board["rank_high"][0] == 1:
        return f"{best} is significantly better than all others."
    unbeaten = int((board["rank_low"] == 1).sum())
    if unbeaten == m:
        return "No item is significantly better than another."
    return f"{unbeaten} of the {m} items may be the best."


def _write(out: Path, board: dict[str, Any]) -> None:
    from rankwise.runtime.files import write_file
    from rankwise.runtime.messages import escape_spreadsheet

    make_folder(out)
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, list(board), lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: escape_spreadsheet(v) for k, v in row.items()} for row in _rows(board))
    write_file(out, stream.getvalue().encode())
