"""Draws the packages of rankwise in the layers of the import contract of ``pyproject.toml``."""

from __future__ import annotations

import re
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What each package or module holds, short enough for its box.
ROOMS = {
    "__main__": "python -m rankwise",
    "cli": "one file per command",
    "exceptions": "warnings and errors that programs filter or catch",
    "integrations": "adapters for MLflow, PyTerrier and ir_measures; results of other programs",
    "experiments": "names from rankwise-papers",
    "distributed": "fits on Dask and other clusters",
    "export": "ONNX, Solr, Elasticsearch, RankLib",
    "report": "HTML pages and plots",
    "decisions": "answer or abstain, cut, weights, depth",
    "selection": "leaderboards",
    "explain": "shares of a score",
    "fusion": "lists into one",
    "text": "index and search",
    "preferences": "from comparisons",
    "clicks": "click logs",
    "rankers": "one family per file",
    "ordinal": "classifiers of ordered classes",
    "labels": "multi-label, cost-sensitive",
    "base": "Ranker: rank, score, save",
    "equation": "feature map, loss and solver of an estimator, and their one fit",
    "solvers": "least squares, Newton steps, SVMs, boosting, label spaces",
    "streams": "rows that do not fit in memory, in checked chunks",
    "trees": "growing, pruning and printing decision trees",
    "losses": "losses over queries, pairs and classes",
    "features": "feature maps and kernel functions",
    "tuning": "folds, grids, the search for a penalty",
    "persistence": "save and load without pickle",
    "metrics": "measures; significance",
    "datasets": "readers, writers, catalog, lint",
    "prediction": "scores, ranks and classes of any fitted model",
    "checks": "rows, classes, labels and costs that users pass in",
    "row_order": "rows of training data, their hashes and orders",
    "groups": "which rows belong to a query",
    "typing": "array types",
    "_registry": "names of estimators",
    "_exports": "lazy public names",
    "_version": "the version",
    "_packages": "errors for packages that are not installed",
    "structure": "fitted-state rules",
    "runtime": "threads, compiling",
    "kernels": "compiled loops",
}
WIDTH, HEIGHT, GAP = 960, 46, 6


def layers() -> list[list[str]]:
    """Names of the packages and modules in each layer, the topmost layer first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    contract = next(contract for contract in contracts if contract["type"] == "layers")
    return [re.findall(r"\w+", layer) for layer in contract["layers"]]


def write(folder: Path) -> None:
    """Write ``rooms.svg`` into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rooms.svg").write_text(picture(), encoding="utf-8")


def picture() -> str:
    """One row of boxes per layer, as SVG."""
    rows = layers()
    height = len(rows) * (HEIGHT + GAP) + GAP
    boxes = []
    for number, names in enumerate(rows):
        width = (WIDTH - GAP * (len(names) + 1)) / len(names)
        y = GAP + number * (HEIGHT + GAP)
        for place, name in enumerate(names):
            x = GAP + place * (width + GAP)
            boxes += [
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{HEIGHT}" rx="5"/>',
                f'<text class="name" x="{x + width / 2:.1f}" y="{y + 19}">{escape(name)}</text>',
                f'<text x="{x + width / 2:.1f}" y="{y + 36}">{escape(ROOMS[name])}</text>',
            ]
    style = (
        "rect{fill:#eef4fb;stroke:#7d9cc0}text{font:12px sans-serif;fill:#333;text-anchor:middle}"
        ".name{font:bold 14px monospace;fill:#123}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}"><style>{style}</style>\n'
        + "\n".join(boxes)
        + "\n</svg>\n"
    )
