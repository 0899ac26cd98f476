"""Ten public sets on which defaults are chosen; no table of the documentation reports them.

Surveys and tables that come with statsmodels (``pip install rankwise-papers[baselines]``) and
scikit-learn, and three Kaggle sets that are read from the folder of ``RANKWISE_DATA``. Every set
has ordered classes, and a target of real numbers: its own where the classes are cut from it,
another column where they are not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, load_wine

LARGEST_TEST_PART = 2000

Table = NDArray[np.float64]


@dataclass(frozen=True)
class StudySet:
    """Rows with ordered classes and with a real target.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Columns from which the class is predicted.
    y : ndarray of shape (n_rows,), int64
        Classes 0, 1, ....
    Z : ndarray of shape (n_rows, n_real_columns)
        Columns from which the real target is predicted.
    target : ndarray of shape (n_rows,)
    """

    X: Table
    y: NDArray[np.int64]
    Z: Table
    target: Table


def split(y: NDArray[np.int64], seed: int, most: int) -> tuple[NDArray, NDArray]:
    """Rows of training (two thirds, ``most`` at most) and test (2,000 at most), in random order."""
    rows = np.random.default_rng(seed).permutation(len(y))
    n_train = min(most, 2 * len(y) // 3)
    return rows[:n_train], rows[n_train : n_train + LARGEST_TEST_PART]


def load_sets() -> dict[str, StudySet]:
    """All ten sets by name; an absent one ends the study, for the choice would be another."""
    return {name: load() for name, load in SETS.items()}


# Sets that come with libraries --------------------------------------------------------------------


def _anes96() -> StudySet:
    """Party identification in seven classes; real target: logarithm of the town's population."""
    data = _statsmodels("anes96")
    own = ["TVnews", "selfLR", "ClinLR", "DoleLR", "age", "educ", "income"]
    return _with_classes(data, [*own, "logpopul"], "PID", [*own, "PID"], "logpopul")


def _fair() -> StudySet:
    """Rating of the marriage in five classes; real target: share of time in affairs."""
    data = _statsmodels("fair")
    own = ["age", "yrs_married", "children", "religious", "educ", "occupation", "occupation_husb"]
    return _with_classes(data, [*own, "affairs"], "rate_marriage", [*own, "rate_marriage"],
                         "affairs")  # fmt: skip


def _randhie() -> StudySet:
    """Visits to a doctor in five grades; real target: number of chronic diseases."""
    data = _statsmodels("randhie")
    own = ["lncoins", "idp", "lpi", "fmde", "physlm", "hlthg", "hlthf", "hlthp"]
    X, visits = data[[*own, "disea"]].to_numpy(float), data["mdvis"].to_numpy(float)
    Z = data[[*own, "mdvis"]].to_numpy(float)
    return StudySet(X, _grades(visits), Z, data["disea"].to_numpy(float))


def _star98() -> StudySet:
    """Share of pupils above the national median, in five grades; districts of California."""
    data = _statsmodels("star98")
    share = (data["NABOVE"] / (data["NABOVE"] + data["NBELOW"])).to_numpy(float)
    return _cut(data.drop(columns=["NABOVE", "NBELOW"]).to_numpy(float)[:, :12], share)


def _ccard() -> StudySet:
    """Monthly spending by credit card, in five grades; 72 rows."""
    data = _statsmodels("ccard")
    columns = data[["AGE", "INCOME", "OWNRENT"]].to_numpy(float)
    return _cut(columns, data["AVGEXP"].to_numpy(float))


def _diabetes() -> StudySet:
    """Progress of diabetes after a year, in five grades (Efron et al. 2004)."""
    return _cut(*load_diabetes(return_X_y=True))


def _alcohol() -> StudySet:
    """Alcohol of a wine by its other measurements, in five grades (UCI wine)."""
    table = load_wine(return_X_y=True)[0]
    return _cut(table[:, 1:], table[:, 0])


# Sets of Kaggle -----------------------------------------------------------------------------------


def _crowdflower() -> StudySet:
    """Median relevance 1 to 4 of a product by overlaps of words; real target: its variance."""
    data = _folder_table("crowdflower", "train.csv.gz").fillna("")
    texts = [data[name].tolist() for name in ("query", "product_title", "product_description")]
    X = np.column_stack([find_overlaps(texts[0], text) for text in texts[1:]])
    grade = data["median_relevance"].to_numpy(int)
    variance = data["relevance_variance"].to_numpy(float)
    return StudySet(X, grade - 1, np.column_stack([X, grade]), variance)


def _home_depot() -> StudySet:
    """Mean relevance 1 to 3 of a product by overlaps of words, classes to the nearest half."""
    data = _folder_table("home-depot", "train.csv.gz").iloc[:20_000]
    X = find_overlaps(data["search_term"].tolist(), data["product_title"].tolist())
    mean = data["relevance"].to_numpy(float)
    return StudySet(X, np.round(2 * mean - 2).astype(np.int64), X, mean)


def _expedia() -> StudySet:
    """Stars of a hotel, 0 to 5; real target: logarithm of its price."""
    data = _folder_table("expedia-slice", "train-exact.csv.gz")
    own = [
        "prop_review_score", "prop_brand_bool", "prop_location_score1", "prop_location_score2",
        "prop_log_historical_price", "promotion_flag", "srch_length_of_stay",
        "srch_booking_window", "srch_adults_count", "srch_room_count",
    ]  # fmt: skip
    table = data[own].fillna(-1.0).to_numpy(float)
    price = np.log1p(data["price_usd"].to_numpy(float))
    stars = data["prop_starrating"].to_numpy(int)
    return StudySet(
        np.column_stack([table, price]), _numbers(stars), np.column_stack([table, stars]), price
    )


SETS: dict[str, Callable[[], StudySet]] = {
    "ccard": _ccard,
    "alcohol": _alcohol,
    "star98": _star98,
    "diabetes": _diabetes,
    "anes96": _anes96,
    "expedia": _expedia,
    "fair": _fair,
    "crowdflower": _crowdflower,
    "randhie": _randhie,
    "home depot": _home_depot,
}


def _statsmodels(name: str) -> pd.DataFrame:
    import statsmodels.datasets as shipped

    return getattr(shipped, name).load_pandas().data


def _folder_table(folder: str, name: str) -> pd.DataFrame:
    return pd.read_csv(Path(os.environ["RANKWISE_DATA"]) / folder / name)


def _with_classes(
    data: pd.DataFrame, columns: list[str], label: str, real_columns: list[str], target: str
) -> StudySet:
    X, Z = data[columns].to_numpy(float), data[real_columns].to_numpy(float)
    return StudySet(X, _numbers(data[label].to_numpy()), Z, data[target].to_numpy(float))


def _cut(X: Table, target: Table) -> StudySet:
    return StudySet(X, _grades(target), X, target)


def _grades(target: Table) -> NDArray[np.int64]:
    """Five grades of about equal frequency; equal targets share one."""
    cuts = np.unique(np.quantile(target, [0.2, 0.4, 0.6, 0.8]))
    return _numbers(np.searchsorted(cuts, target, side="left"))


def _numbers(labels: NDArray) -> NDArray[np.int64]:
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def find_overlaps(queries: list[str], texts: list[str]) -> Table:
    """Seven columns: lengths, words and stems in common, the share of the query, order, phrase."""
    rows = []
    for query, text in zip(queries, texts, strict=True):
        asked, found = re.findall(r"\w+", query.lower()), re.findall(r"\w+", text.lower())
        words, stems = set(found), {word[:4] for word in found}
        common = sum(word in words for word in asked)
        first = next((at for at, word in enumerate(found) if word in asked), len(found))
        rows.append(
            [
                len(asked),
                len(found),
                common,
                common / max(len(asked), 1),
                sum(word[:4] in stems for word in asked) / max(len(asked), 1),
                first,
                float(" ".join(asked) in " ".join(found)),
            ]
        )
    return np.array(rows, dtype=float)
