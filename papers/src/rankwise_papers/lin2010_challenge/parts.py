"""Training, validation and test parts, and the measures of the challenge on them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.preprocessing import QuantileTransformer

from rankwise.datasets import Fold, RankingData, load_dataset
from rankwise.metrics import evaluate
from rankwise.prediction import scores_of
from rankwise.text import load_cf_letor
from rankwise.typing import Float64Array
from rankwise_papers.lin2010_challenge.plan import CF_LETOR, HIGHEST_GRADE

_PARTS = ("train", "vali", "test")
N_ROTATED = 5  # parts of a set that is published without five folds
YAHOO_QUERIES = 400  # 9,500 rows, as many as the training parts of MQ2008 and OHSUMED have
CF_SHARE = 8  # of the rows of grade 0, one in so many trains: about 11,000 rows of all grades


def measures(data: str) -> dict[str, str]:
    """Full specs by name: those of the challenge's script, ERR on the set's own scale of grades.

    Rows with equal scores, of which ordinal methods have many, rank in the order of the file, as in
    that script.
    """
    return {
        "ERR": f"ERR(max_grade={HIGHEST_GRADE[data]},empty=0,ties=stable)",
        "nDCG": "nDCG(empty=1,ties=stable)@10",
    }


@cache
def parts(data: str, fold: int) -> Fold:
    """A fold of a set, its features normalised as the set's publisher or the challenge has them.

    MQ2008 and OHSUMED are as published, and so are the features of the lambdarank set, which lie
    from 0 to 1; all its queries take turns, in five parts. The slices of MSLR-WEB take turns; their
    features, and those of OHSUMED's raw version, are replaced by their rank in the training part,
    from 0 to 1, since those of the challenge lie in [0, 1] by their rank among all values. Of the
    challenge's own set 1 some queries of the training part train and others validate (the report's
    internal validation), and its validation part (online) is the test part. CF-LETOR has the
    features of LETOR, normalised by query; one in eight training rows of grade 0 is drawn, and its
    grades 0 to 8 become 0 to 4.
    """
    if data == "mslr-slices":
        only = load_dataset(data)[0]
        given = [getattr(only, name) for name in _PARTS]
        return ranked(Fold(*(given[(i + fold - 1) % 3] for i in range(3))))
    if data == "lambdarank":
        return rotated(load_dataset(data, part="all"), fold)
    if data == CF_LETOR:
        return halved_grades(thinned(load_cf_letor(fold), CF_SHARE))
    if data == "yahoo-ltrc-1":
        return sampled(load_dataset(data)[0], YAHOO_QUERIES)
    published = load_dataset(data)[fold - 1]
    return ranked(published) if data == "ohsumed-min" else published


def ranked(fold: Fold) -> Fold:
    """Every feature as its rank among the values of the training part."""
    assert fold.vali is not None
    n = len(fold.train.y)
    scaler = QuantileTransformer(n_quantiles=n, subsample=n).fit(fold.train.X)
    train, vali, test = (
        replace(part, X=scaler.transform(part.X)) for part in (fold.train, fold.vali, fold.test)
    )
    return Fold(train, vali, test, fold.name)


def rotated(data: RankingData, number: int) -> Fold:
    """Fold ``number``, from 1, of five parts of the queries in a random order.

    Three parts train, the next validates and the one after it tests, so that every query is in one
    test part.
    """
    order = np.random.default_rng(0).permutation(data.n_queries)
    pieces = np.array_split(order, N_ROTATED)
    turned = [pieces[(i + number - 1) % N_ROTATED] for i in range(N_ROTATED)]
    train, vali, test = (
        data.queries(np.sort(rows)) for rows in (np.concatenate(turned[:3]), *turned[3:])
    )
    return Fold(train, vali, test, f"fold{number}")


def sampled(published: Fold, n_queries: int) -> Fold:
    """Training and validation part of queries drawn from the published training part.

    Each part has ``n_queries`` queries if there are enough; otherwise, four fifths and the rest.
    """
    assert published.vali is not None
    train = published.train
    order = np.random.default_rng(0).permutation(train.n_queries)
    n_train = min(n_queries, train.n_queries * 4 // 5)
    vali = order[n_train : n_train + n_queries]
    return Fold(
        train.queries(np.sort(order[:n_train])), train.queries(np.sort(vali)), published.vali
    )


def thinned(fold: Fold, share: int) -> Fold:
    """One in ``share`` training rows of grade 0, drawn at random, and all rows of higher grades."""
    train = fold.train
    kept = (train.y > 0) | (np.random.default_rng(0).random(len(train.y)) < 1 / share)
    return replace(fold, train=train.take(np.flatnonzero(kept)))


def halved_grades(fold: Fold) -> Fold:
    """Grades divided by two and rounded up."""
    parts = {
        name: replace(part, y=np.ceil(part.y / 2))
        for name in _PARTS
        if (part := getattr(fold, name)) is not None
    }
    return replace(fold, **parts)


def measure_parts(data: str, fold: Fold, scores: dict[str, Float64Array]) -> dict[str, Any]:
    """Means on every part, and ERR of every test query for paired differences."""
    specs = measures(data)
    found: dict[str, Any] = {}
    for name, values in scores.items():
        part: RankingData = getattr(fold, name)
        result = evaluate(part.y, values, part.groups, list(specs.values()))
        found[name] = {measure: float(result[spec]) for measure, spec in specs.items()}
        if name == "test":
            found["queries"] = result.per_query[specs["ERR"]].round(7).tolist()
    return found


def all_scores(estimator: Any, fold: Fold) -> dict[str, Float64Array]:
    """Scores to rank the rows of every part by."""
    parts = {name: getattr(fold, name) for name in _PARTS}
    return {name: scores_of(estimator, part.X, part.qid) for name, part in parts.items()}


def small_sets(train: RankingData, n_sets: int, n_rows: int, seed: int) -> list[RankingData]:
    """Sets of whole queries, drawn until there are so many rows and every grade occurs."""
    rng = np.random.default_rng(seed)
    sizes, n_grades = np.diff(train.groups.indptr), len(np.unique(train.y))
    sets: list[RankingData] = []
    while len(sets) < n_sets:
        order = rng.permutation(train.n_queries)
        enough = int(np.searchsorted(np.cumsum(sizes[order]), n_rows)) + 1
        drawn = train.queries(np.sort(order[:enough]))
        if len(np.unique(drawn.y)) == n_grades:
            sets.append(drawn)
    return sets
