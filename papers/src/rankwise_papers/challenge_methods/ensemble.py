"""The ensemble of 20 models: StackingRanker by the report's recipe, and out of fold."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from rankwise._registry import REGISTRY
from rankwise.datasets import Fold
from rankwise.features import QueryScaler
from rankwise.features.score_expansions import ProductsMap
from rankwise.rankers.ensemble.members import (
    HeldOutScores,
    fit_members,
    member_scores,
    parts,
    query_numbers,
    score_held_out,
)
from rankwise.typing import Float64Array
from rankwise_papers.challenge_methods.plan import BOLTZ_SETTINGS
from rankwise_papers.lin2010_challenge.parts import measure_parts, measures
from rankwise_papers.lin2010_challenge.plan import ALL_STUMPS
from rankwise_papers.stacking.fits import rows_of

SHARE, N_FOLDS = 0.8, 5
BOLTZ = "BoltzRank"
MAIN = "RankLR, degree 2"
# C of the twelve ORSVMs: six of either kind of costs.
ORSVM_C = {"err": range(6), "absolute": range(-3, 3)}


def models(err: str, with_boltz: bool) -> dict[str, Any]:
    """Twelve ORSVMs, a Poly-ORSVM, three ORBoosts, a RankSVM, a RankLR and two BoltzRanks.

    Parameters
    ----------
    err : str
        The measure that C, rounds and epochs are chosen by.
    with_boltz : bool
        Whether the last two are among them: they need torch.
    """

    def made(key: str, **params: Any) -> Any:
        return REGISTRY[key].load()(**params)

    def by_query(key: str) -> Any:
        return make_pipeline(QueryScaler(), made(key, C="cv", pair_weight="power", measure=err))

    stopped = {"measure": err, "early_stopping_rounds": 100}
    found = {
        **{
            f"ORSVM, {costs}, C=1e{k}": made("ordinal_svm", costs=costs, C=10.0**k)
            for costs, exponents in ORSVM_C.items()
            for k in exponents
        },
        "Poly-ORSVM": made(
            "poly_ordinal_svm", costs="err", loss="squared_hinge", C="val", measure=err
        ),
        **{
            f"ORBoost, weight {weight or 'none'}": made(
                "orboost",
                n_estimators=1000,
                row_weight=weight,
                random_state=0,
                **ALL_STUMPS,
                **stopped,
            )
            for weight in (None, "rank", "gain")
        },
        "RankSVM": by_query("rank_svm"),
        "RankLR": by_query("rank_lr"),
    }
    if with_boltz:
        for size in (6, 10):
            found[f"{BOLTZ}, {size} features"] = made(
                "boltz_rank", n_nodes=size, n_pair_nodes=size, n_features=size, objective=err,
                measure=err, random_state=0, **BOLTZ_SETTINGS,
            )  # fmt: skip
    return found


def ensemble(data: str, fold: Fold, with_boltz: bool, *, out_of_fold: bool) -> dict[str, Any]:
    """Measures of the ensemble, of every model in it, and of other ways to put them together."""
    start = time.perf_counter()
    err = measures(data)["ERR"]
    return stacked(data, fold, models(err, with_boltz), start, out_of_fold=out_of_fold)


def stacked(
    data: str,
    fold: Fold,
    members: dict[str, Any],
    start: float = 0.0,
    *,
    out_of_fold: bool = False,
) -> dict[str, Any]:
    """What a StackingRanker of these members reaches, and what it is made of.

    Parameters
    ----------
    data : str
    fold : Fold
    members : dict of str to unfitted estimator
        Those whose names begin with "BoltzRank" are left out of one of the variants.
    start : float
        Of the clock, for the seconds.
    out_of_fold : bool
        False: ``share=0.8, refit=False``, as in the report. True: ``cv=5``, the top learns from
        scores of all training queries, each by models fitted without it, and reads those of models
        fitted on all of them.
    """
    vali = fold.vali
    assert vali is not None
    rows = rows_of(fold.train)
    numbers = query_numbers(rows)
    splits = (
        parts(N_FOLDS, None, rows, numbers) if out_of_fold else parts(None, SHARE, rows, numbers)
    )
    validation = {"X_val": vali.X, "y_val": vali.y, "qid_val": vali.qid}
    held = score_held_out(members, rows, splits, numbers, True, validation)
    read = held.models[0]
    if out_of_fold:
        read = fit_members(members, rows.X, rows.y, numbers, validation)
    scored = {"vali": vali, "test": fold.test}
    columns = {name: member_scores(read, part.X, part.qid) for name, part in scored.items()}
    scaled = {
        name: QueryScaler("standard").fit_transform(columns[name], qid=part.qid)
        for name, part in scored.items()
    }
    every = np.arange(len(members))
    no_boltz = np.array([k for k, name in enumerate(members) if not name.startswith(BOLTZ)])
    choices = {MAIN: (every, 2), "RankLR, degree 1": (every, 1)}
    if len(no_boltz) < len(every):
        choices["RankLR, degree 2, without BoltzRank"] = (no_boltz, 2)
    found, C = {}, {}
    for name, (used, degree) in choices.items():
        combined, C[name] = on_top(held, scaled, used, degree, measures(data)["ERR"])
        found[name] = measure_parts(data, fold, combined)
    found["mean of scaled scores"] = measure_parts(
        data, fold, {name: scores.mean(axis=1) for name, scores in scaled.items()}
    )
    return {
        **found.pop(MAIN),
        "C": C,
        "variants": found,
        "models": {
            name: measure_parts(
                data, fold, {part: scores[:, k] for part, scores in columns.items()}
            )
            for k, name in enumerate(members)
        },
        "n_held_out": held.groups.n_queries,
        "seconds": time.perf_counter() - start,
    }


def on_top(
    held: HeldOutScores,
    scaled: dict[str, Float64Array],
    used: Any,
    degree: int,
    err: str,
) -> tuple[dict[str, Float64Array], float]:
    """Scores of RankLR on those columns, trained on the held-out ones, and its C."""
    columns = QueryScaler("standard").fit_transform(held.scores, qid=held.qid)[:, used]
    terms = ProductsMap(len(used)) if degree == 2 else _same
    final: Any = REGISTRY["rank_lr"].load()(C="cv", query_weight="query", measure=err)
    final.fit(terms(columns), held.y, qid=held.qid)
    return {
        name: final.predict(terms(scores[:, used])) for name, scores in scaled.items()
    }, final.C_


def _same(columns: Float64Array) -> Float64Array:
    return columns
