"""Products of queries: tables from the files, rankers that learn from titles, counted queries."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from rankwise_papers.text_products import experiment
from rankwise_papers.text_products.tables import make


@pytest.fixture
def products(rng, monkeypatch, tmp_path):
    """A product is relevant if its title has both words of the query side by side."""
    words = [f"w{number}" for number in range(9)]
    with (tmp_path / "train.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "product_uid", "product_title", "search_term", "relevance"])
        for query in range(30):
            a, b = rng.choice(words, 2, replace=False)
            for number in range(8):
                rest = rng.choice(words, 4).tolist()
                good = query != 0 and number % 2 == 0
                title = [*rest[:2], a, b, *rest[2:]] if good else [a, *rest, b]
                row = [query * 8 + number, f"p{query}-{number}", " ".join(title)]
                writer.writerow([*row, f"{a} {b} q{query}", 3 if good else 1.33])
    monkeypatch.setattr(experiment, "fetch", lambda name: [tmp_path / "train.csv"])
    experiment.table.cache_clear()
    yield
    experiment.table.cache_clear()


def test_rankers_learn_from_titles(products):
    data = experiment.table("home-depot")
    assert (data.n_samples, data.n_queries, data.n_features) == (240, 30, 35)
    assert sorted(set(data.y.tolist())) == pytest.approx([0.33, 2.0])
    of = experiment.TextProducts()
    cells = [cell for cell in of.cells(quick=False) if cell.data == "home-depot"]
    results = {cell.name: of.run(cell) for cell in cells}
    # The products of the first query all have one grade.
    assert {len(values) for values in results.values()} == {29}
    assert np.mean(results["home-depot/ridge"]) > np.mean(results["home-depot/BM25"]) + 0.05
    values = {(value.row, value.column): value.ours for value in make(results)[0].values}
    assert values["Home Depot, titles", "ridge"] == pytest.approx(
        np.mean(results["home-depot/ridge"])
    )
    assert values["CrowdFlower, titles and descriptions", "BM25"] is None
