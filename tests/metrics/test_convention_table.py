"""The table of docs/measure_conventions.rst: six tiny cases, nine readings of "nDCG".

The values are measured on the peers.

Every cell is computed by our preset and, where the program is installed, by the program.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from rankwise.metrics import evaluate
from tests import oracles_metrics as naive
from tests.metrics import _peers as peers

# Grades in file order, scores, query ids, cut-off.
CASES = {
    "graded, no ties": ([0, 1, 2, 3], [4, 3, 2, 1], [1, 1, 1, 1], 3),
    "1 of 2 queries has no relevant": ([0, 1, 2, 0, 0], [3, 2, 1, 2, 1], [1, 1, 1, 2, 2], 3),
    "all tied, relevant last": ([0, 0, 1], [1, 1, 1], [1, 1, 1], 3),
    "all tied, relevant first": ([1, 0, 0], [1, 1, 1], [1, 1, 1], 3),
    "query of 3 documents, k=10": ([0, 1, 2], [3, 2, 1], [1, 1, 1], 10),
    "query of one document": ([1], [1], [1], 1),
}
# One column per case, in their order; None: the program raises an error.
COLUMNS = {
    "LightGBM": ("lightgbm", "nDCG@{k}", [0.2269, 0.7934, 0.5, 1, 0.5869, 1]),
    "XGBoost": ("xgboost", "nDCG@{k}", [0.2269, 0.7934, 0.5, 1, 0.5869, 1]),
    "XGBoost ndcg-": ("xgboost", "ndcg@{k}-", [0.2269, 0.2934, 0.5, 1, 0.5869, 1]),
    "CatBoost Base": ("catboost", "nDCG@{k}", [0.3425, 0.8100, 0.5, 0.5, 0.6199, 1]),
    "CatBoost Exp": ("catboost", "nDCG(gain='exp2')@{k}", [0.2269, 0.7934, 0.5, 0.5, 0.5869, 1]),
    "scikit-learn": ("sklearn", "nDCG@{k}", [0.3425, 0.3100, 0.7103, 0.7103, 0.6199, None]),
    "ranx": (
        None,
        "nDCG(gain='linear',empty=0,ties='stable')@{k}",
        [0.3425, 0.3100, 0.5, 1, 0.6199, 1],
    ),
    "ranx burges": (None, "nDCG(empty=0,ties='stable')@{k}", [0.2269, 0.2934, 0.5, 1, 0.5869, 1]),
    "ir-measures": ("trec_eval", "nDCG@{k}", [0.3425, 0.3100, 1, 0.5, 0.6199, 1]),
    "ir-measures exp": (
        "trec_eval",
        "nDCG(dcg='exp-log2')@{k}",
        [0.2269, 0.2934, 1, 0.5, 0.5869, 1],
    ),
    "LETOR 4 script": ("letor4", "nDCG@{k}", [0.2721, 0.3616, 0.6309, 1, 0, 1]),
}


def rows_of(case):
    y, f, qid, k = CASES[case]
    return np.array(y, dtype=float), np.array(f, dtype=float), np.array(qid), k


def run_peer(column, y, f, qid, k):
    """Mean that the program itself gives."""
    match column:
        case "LightGBM":
            return peers.lightgbm(y, f, qid, "ndcg", k)
        case "XGBoost":
            return peers.xgboost(y, f, qid, f"ndcg@{k}")
        case "XGBoost ndcg-":
            return peers.xgboost(y, f, qid, f"ndcg@{k}-")
        case "CatBoost Base":
            return peers.catboost(y, f, qid, f"NDCG:top={k}")
        case "CatBoost Exp":
            return peers.catboost(y, f, qid, f"NDCG:top={k};type=Exp")
        case "ranx":
            return peers.ranx(y, f, qid, f"ndcg@{k}").mean()
        case "ranx burges":
            return peers.ranx(y, f, qid, f"ndcg_burges@{k}").mean()
        case "ir-measures":
            return peers.ir_measures(y, f, qid, f"nDCG@{k}").mean()
        case "ir-measures exp":
            return peers.ir_measures(y, f, qid, f"nDCG(dcg='exp-log2')@{k}").mean()
    queries = [np.flatnonzero(qid == q) for q in np.unique(qid)]
    if column == "scikit-learn":
        return np.mean([ndcg_score([y[rows]], [f[rows]], k=k) for rows in queries])
    assert column == "LETOR 4 script"
    return np.mean([naive.letor_script(y[r], f[r], k, version=4)[0] for r in queries])


@pytest.mark.filterwarnings("ignore::rankwise.metrics.TiedScoresWarning")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("column", COLUMNS)
def test_our_presets_give_the_table(column, case):
    y, f, qid, k = rows_of(case)
    preset, spec, cells = COLUMNS[column]
    spec = spec.format(k=k)
    cell = cells[list(CASES).index(case)]
    ids = [f"d{row}" for row in range(len(y))]
    got = evaluate(y, f, qid, [spec], preset=preset, doc_ids=ids)[spec]
    assert got == pytest.approx(1.0 if cell is None else cell, abs=5e-5)


@pytest.mark.parametrize("column", COLUMNS)
def test_the_programs_give_the_table(column):
    for case, cell in zip(CASES, COLUMNS[column][2], strict=True):
        if cell is None:
            with pytest.raises(ValueError):
                run_peer(column, *rows_of(case))
        else:
            assert run_peer(column, *rows_of(case)) == pytest.approx(cell, abs=5.5e-5)


def test_the_page_shows_the_table():
    """Cells of two programs as "a / b", or as one value where they agree."""
    page = (Path(__file__).parents[2] / "docs" / "measure_conventions.rst").read_text("utf-8")
    table = page[page.index("   * - case\n") : page.index("``tests/metrics/test_convention_table")]
    _, *rows = [row.split("\n     - ")[1:] for row in table.split("   * - ")[1:]]
    pairs = {"CatBoost Base", "ranx", "ir-measures"}
    names = list(COLUMNS)
    firsts = [name for at, name in enumerate(names) if at == 0 or names[at - 1] not in pairs]
    assert len(rows) == len(CASES)
    for at, row in enumerate(rows):
        for name, cell in zip(firsts, row, strict=True):
            printed = [None if one.strip() == "error" else float(one) for one in cell.split(" / ")]
            known = [COLUMNS[name][2][at]]
            if name in pairs:
                known.append(COLUMNS[names[names.index(name) + 1]][2][at])
            assert printed == (known if known[0] != known[-1] else known[:1]), (name, cell)
