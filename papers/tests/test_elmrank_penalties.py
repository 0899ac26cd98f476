"""Paths of penalties: every point is a refit, published values are found where they lie."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.datasets import ratings_from_triplets
from rankwise.experiments import Verdict
from rankwise_papers.elmrank_penalties import fits, plan, tables
from rankwise_papers.elmrank_penalties.experiment import PenaltyPaths
from rankwise_papers.elmrank_recommendation import reviewers as splits
from rankwise_papers.elmrank_recommendation.experiment import Recommendation
from rankwise_papers.elmrank_recommendation.families import FOLD_SEED
from rankwise_papers.elmrank_recommendation.kernel_methods import (
    LAM,
    fit_kernels,
    linear_and_rbf,
)
from rankwise_papers.shared_tables import ABSENT
from rankwise_papers.svrank_path import svrank_path

EXPERIMENT = PenaltyPaths()


@pytest.fixture
def reviewers(monkeypatch):
    """Three users with 50 of 60 items each and 40 references."""
    monkeypatch.setattr(splits, "N_REFERENCES", 40)
    rng = np.random.default_rng(3)
    user, item = [], []
    for number in range(70):
        items = rng.permutation(60)[: 50 if number < 10 else rng.integers(20, 41)]
        user += [number] * len(items)
        item += items.tolist()
    rating = rng.integers(1, 6, len(user)).astype(float)
    ratings = ratings_from_triplets(user, item, rating, scale=(1, 5))
    return splits.draw_reviewers(splits.reference_table(ratings), 0, (20, 40), 3)


def test_points_of_the_mprank_path_are_refits(reviewers):
    params = {"method": "MPRank", "repetition": 0, "exponents": [1.0, -1.0, -6.0]}
    found = fits.compute(reviewers, {**params, "kernels": ["linear", "rbf 0.25"]})
    for place, lam in enumerate([10.0, 0.1, 1e-6]):
        for kernel in ("linear", "rbf 0.25"):
            squared, absolute, wrong = [], [], []
            for reviewer in reviewers:
                X, m = reviewer.filled(reviewer.medians), reviewer.n_train
                by_name = {name: rest for name, *rest in linear_and_rbf(X, m)}
                K, K_test = by_name[kernel]
                P = np.eye(m) - 1 / m
                a = np.linalg.solve(
                    2 / m * P @ K @ P + lam * np.eye(m), 2 / m * P @ reviewer.y_train
                )
                f, y = K_test @ P @ a, reviewer.y_test
                residuals = np.subtract.outer(y - f, y - f)
                squared.append(np.mean(residuals**2))
                absolute.append(np.mean(np.abs(residuals)))
                pairs = np.greater.outer(y, y)
                wrong.append(np.less_equal.outer(f, f)[pairs].mean())
            of = found["paths"][kernel]
            for name, values in (("MSD", squared), ("M1D", absolute), ("Misranking", wrong)):
                assert of[name][place] == pytest.approx(np.mean(values), rel=1e-5)
    constant = [2 * np.var(reviewer.y_test) for reviewer in reviewers]
    assert found["constant"]["MSD"] == pytest.approx(np.mean(constant))


def test_points_of_the_svrank_path_are_minima(reviewers):
    """Its measures are those of a tight solve from elsewhere; nothing is held out."""
    exponents = [0.0, -1.0, -2.0]
    params = {"method": "SVRank", "repetition": 0, "exponents": exponents, "kernels": ["rbf 1"]}
    found = fits.compute(reviewers, params)["paths"]["rbf 1"]
    assert "held out" not in found
    for place, exponent in enumerate(exponents):
        squared = []
        for reviewer in reviewers:
            X, m = reviewer.filled(reviewer.medians), reviewer.n_train
            (K, K_test) = {name: rest for name, *rest in linear_and_rbf(X, m)}["rbf 1"]
            (result,) = svrank_path(K, reviewer.y_train, [10.0**exponent], tol=1e-8)
            squared.append(2 * np.var(reviewer.y_test - K_test @ result.x))
        assert found["MSD"][place] == pytest.approx(np.mean(squared), rel=5e-3)


def test_crossings_are_between_the_points():
    means = {"MSD": np.array([3.0, 2.0, 4.0, 8.0]), "M1D": np.array([1.0, 1.0, 2.0, 4.0])}
    of = tables.Curves(np.array([1.0, 0.0, -1.0, -2.0]), means, means, chosen=1)
    assert of.crossings("MSD", 3.0) == [1.0, -0.5]
    assert of.crossings("MSD", 6.0) == [-1.5]
    assert of.crossings("MSD", 8.0) == [-2.0]
    assert of.crossings("MSD", 1.9) == []
    assert of.at("M1D", -1.5) == 3.0


def made_up(scale):
    """Every cell: MSD and M1D of one group's published MPRank at the third weakest penalty."""
    results = {}
    for cell in plan.cells(quick=False):
        n = len(cell.params["exponents"])
        ramp = np.exp(np.arange(n) - (n - 3.0))
        path = {
            "MSD": (51.34 * scale * ramp).tolist(),
            "M1D": (5.08 * ramp).tolist(),
            "Misranking": (0.41 * np.ones(n)).tolist(),
        }
        flat = {name: [1e4] * n for name in path}
        constant = {"MSD": 40.0, "M1D": 4.0, "Misranking": 1.0}
        paths = dict.fromkeys(cell.params["kernels"], flat) | {"rbf 0.25": path}
        results[cell.name] = {"paths": paths, "constant": constant}
    return results


def test_published_values_are_found_and_called_no_evidence():
    made = {table.name: table for table in EXPERIMENT.tables(made_up(1.0), quick=False)}
    values = {(v.row, v.column): v for v in made["on-the-path"].values}
    exponent = plan.PATHS["MPRank"].exponents[-3]
    for column, paper in (("MSD", 51.34), ("M1D", 5.08), ("misranking", 0.41)):
        value = values["Jester 20-40", f"MPRank {column}"]
        assert value.ours == pytest.approx(paper) == value.paper
        assert value.verdict is Verdict.NOT_EVIDENCE
    at = values["Jester 20-40", "MPRank log10 lam"]
    assert at.ours == exponent
    assert "rbf 0.25" in at.note
    where = {(v.row, v.column): v for v in made["where"].values}
    row = "MPRank, rbf 0.25, Jester 20-40"
    assert where[row, "log10 lam"].ours == pytest.approx(exponent)
    assert where[row, "M1D there"].ours == pytest.approx(5.08)
    assert where["MPRank, linear, Jester 20-40", "log10 lam"].ours is None
    assert "from 1e+04 to 1e+04" in where["MPRank, linear, Jester 20-40", "log10 lam"].note
    assert "Within the published ±: " in made["on-the-path"].caption
    figures = {figure.name: figure for figure in EXPERIMENT.figures(made_up(1.0), quick=False)}
    assert len(figures) == 12
    assert [of.label for of in figures["path-svrank-jester-60-80"].series] == list(
        plan.PATHS["SVRank"].kernels
    )


def test_nearest_weighs_differences_by_the_published_spread():
    """With MSD off by a factor the point moves until MSD and M1D are equally far off."""
    exact = tables.published_values(Recommendation().published("published.csv"))
    for scale in (1.0, 1.2):
        made = EXPERIMENT.tables(made_up(scale), quick=False)
        values = {(v.row, v.column): v for v in made[0].values}
        wanted = exact["MPRank", "jester", "20-40"]
        found = {name: values["Jester 20-40", f"MPRank {name}"].ours for name in ("MSD", "M1D")}
        path = made_up(scale)["jester/20-40/repetition0/MPRank"]["paths"]["rbf 0.25"]
        away = [
            max(abs(path[name][k] - wanted[name][0]) / wanted[name][1] for name in found)
            for k in range(len(path["MSD"]))
        ]
        assert found["MSD"] == pytest.approx(path["MSD"][int(np.argmin(away))])


def test_every_published_cell_has_a_place_and_nothing_leaves_notes():
    rows = Recommendation().published("published.csv")
    wanted = [r for r in rows if r["method"] in plan.PATHS and r["data"] != "books"]
    made = EXPERIMENT.tables({}, quick=False)
    shown = [value.paper for value in made[0].values if value.paper is not None]
    assert sorted(shown) == sorted(float(r["mean"]) for r in wanted)
    for value in made[0].values:
        assert value.verdict is Verdict.NOT_RUN
        assert value.note == ABSENT
    assert EXPERIMENT.figures({}, quick=False) == []


def test_a_quick_run_has_cells_of_its_own():
    quick, full = (
        {cell.name: cell for cell in EXPERIMENT.cells(quick=is_quick)} for is_quick in (True, False)
    )
    assert not set(quick) & set(full)
    assert len(quick) == 12
    assert len(full) == 6 * sum(path.n_repetitions for path in plan.PATHS.values())


def test_held_out_errors_are_those_of_elmrank_recommendation(reviewers):
    exponents = [2.0, 0.5, -4.0]
    params = {"method": "MPRank", "repetition": 0, "exponents": exponents, "kernels": ["linear"]}
    found = fits.compute(reviewers, params)["paths"]["linear"]["held out"]
    grids = fit_kernels(
        reviewers, lambda r: linear_and_rbf(r.filled(r.medians), r.n_train), [FOLD_SEED, 0]
    )
    for of, exponent in zip(found, exponents, strict=True):
        place = int(np.argmin(np.abs(np.log10(LAM) - exponent)))
        assert of == pytest.approx(np.mean([grid["linear"].errors[place] for grid in grids]))
