"""Table 4 and Figures 1 and 2 of the ELMRank paper, and the same on six sets more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.datasets.catalog.loaders import QSAR_SETS
from rankwise.experiments import Cell, Experiment, Figure, FindFiles, Results, ResultTable
from rankwise_papers.elmrank_qsar import figures, tables
from rankwise_papers.elmrank_qsar.compounds import Compounds, compounds
from rankwise_papers.elmrank_qsar.methods import elmrank, ls_svr, rank_svm, svr
from rankwise_papers.sources import make_fetchers

PAPER_SETS = ("dhfr", "cox2")
N_DRAWS = 50
N_SETS, N_SETS_BESIDE = 20, 5  # sets of 50 draws for the paper's table, and for rows beside it
N_FOLDS = 5  # draws of the folds that tune SVR, LS-SVR and RankSVM
RANK_SVM = {"rank-svm": "rbf", "rank-svm linear": "linear"}  # kernel of each family
N_CURVES = 10
SEED_STEP = 1000  # sets of draws do not share a seed


class Qsar(Experiment):
    """Ranking error, correlations and nDCG of compounds ordered by predicted activity."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers(f"qsar-{name}" for name in QSAR_SETS)

    def cells(self, quick: bool) -> Sequence[Cell]:
        cells = []
        for name in QSAR_SETS:
            in_paper = name in PAPER_SETS
            n_sets = N_SETS if in_paper else N_SETS_BESIDE
            n_sets = min(n_sets, 1 + in_paper) if quick else n_sets
            cells += [_cell(name, "elmrank", number) for number in range(n_sets)]
            rank_svms = () if quick and not in_paper else RANK_SVM
            for family in ("ls-svr", "svr", *rank_svms):
                cells += [_cell(name, family, number) for number in range(1 if quick else N_FOLDS)]
            if in_paper:
                beside = range(1 if quick else N_SETS_BESIDE)
                cells += [_cell(name, "elmrank, scaled by train", number) for number in beside]
                step = 50 if quick else 10
                curves = range(1 if quick else N_CURVES)
                cells += [_cell(name, f"curve by {step}", number, step=step) for number in curves]
        return cells

    def run(self, cell: Cell) -> Any:
        family, seed = cell.params["family"], SEED_STEP * (cell.params["number"] + 1)
        by_train = family == "elmrank, scaled by train"
        data = compounds(cell.data.removeprefix("qsar-"), by_train_alone=by_train)
        if family.startswith("curve"):
            return _curve(data, cell.params["step"], seed)
        rows = (data.X_train, data.y_train, data.X_test)
        if family in ("ls-svr", "svr"):
            return data.measure((svr if family == "svr" else ls_svr)(*rows, seed))
        if family in RANK_SVM:
            return data.measure(rank_svm(*rows, seed, RANK_SVM[family]))
        draws = elmrank(*rows, N_DRAWS, seed)
        singles = [data.measure(scores) for scores in draws]
        return {
            "ensemble": data.measure(draws.mean(axis=0)),
            "single draws": {name: [single[name] for single in singles] for name in singles[0]},
        }

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables.make(results, self.published("published.csv"))

    def figures(self, results: Results, quick: bool) -> Sequence[Figure]:
        return figures.make(results)


def _cell(name: str, family: str, number: int, **more: Any) -> Cell:
    params = {"family": family, "number": number, "n_draws": N_DRAWS, **more}
    return Cell(f"{name}/{family}/{number}", params, f"qsar-{name}")


def _curve(data: Compounds, step: int, seed: int) -> dict[str, Any]:
    """Measures with the first 10, 20, ... of the training compounds in a random order."""
    n = len(data.y_train)
    order = np.random.default_rng(seed).permutation(n)
    sizes = sorted({10, *range(step, n, step), n})
    found: dict[str, list[dict[str, float]]] = {"ELMRank": [], "LS-SVR": []}
    for size in sizes:
        rows = (data.X_train[order[:size]], data.y_train[order[:size]], data.X_test)
        found["ELMRank"].append(data.measure(elmrank(*rows, N_DRAWS, seed).mean(axis=0)))
        found["LS-SVR"].append(data.measure(ls_svr(*rows, seed)))
    return {
        "sizes": sizes,
        "values": {
            method: {name: [value[name] for value in values] for name in values[0]}
            for method, values in found.items()
        },
    }
