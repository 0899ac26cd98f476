"""The report's tables with columns for the open sets beside the published one."""

from __future__ import annotations

from collections.abc import Sequence

from rankwise.experiments import Experiment, Results, ResultTable, Value
from rankwise_papers.challenge_methods import plan
from rankwise_papers.challenge_methods.chosen_tables import Methods, absent, sets_of
from rankwise_papers.challenge_methods.ensemble_tables import ensemble_table, recipe_table
from rankwise_papers.challenge_methods.order_tables import order_table
from rankwise_papers.lin2010_challenge.value_tables import (
    TITLES,
    YAHOO,
    Published,
    paper_only,
    read_published_rows,
    values_on_sets,
    yahoo,
)

_SPREAD = "standard deviation over folds"
_BY_QUERY_ONLY = "MQ2008 is published with features normalised by query only."
Sets = dict[str, Methods]


def tables(experiment: Experiment, results: Results, quick: bool) -> Sequence[ResultTable]:
    """All tables; a quick run has the MSLR slices only."""
    published = read_published_rows(experiment)
    sets = sets_of(results, quick)
    return [
        _online(sets, published),
        _pair_settings(sets, published, "vali"),
        _pair_settings(sets, published, "test"),
        _networks(sets, published),
        _epochs(sets, published),
        order_table(sets, published),
        recipe_table(sets),
        *(ensemble_table(data, methods) for data, methods in sets.items()),
    ]


def _online(sets: Sets, published: Published) -> ResultTable:
    rows = {
        "ORSVM": "orsvm",
        "Poly-ORSVM": "powers",
        "ORBoost": "orboost",
        "ORBoost-LR": "orboost-lr",
        "ORBoost-All, perceptrons": "orboost-perceptron",
        "ORBoost-LR, perceptrons": "orboost-lr-perceptron",
        "RankSVM": "rank_svm",
        "RankLR": "rank_lr",
        "BoltzRank": "boltz",
        "ridge regression": "ridge",
        "Ensemble": plan.ensemble_name(True),
        "Ensemble of 18, without BoltzRank": plan.ensemble_name(False),
        "Ensemble of 18, top trained out of fold": plan.ensemble_name(False, out_of_fold=True),
    }
    values = []
    for label, method in rows.items():
        row = published.get(("online", label, "online"))
        values += yahoo(label, row, ("ERR", "nDCG@10"))
        wanted = (("test", "ERR"), ("test", "nDCG"))
        values += values_on_sets(sets, label, method, wanted, absent(method))
    return ResultTable(
        "online",
        "All methods of the table of online results (ours: test parts)",
        values,
        "Of every method the setting (costs, C, degree, weights, rounds, normalisation, networks) "
        "of the largest ERR on the validation part, fitted on the whole training part. Ensemble: "
        "20 models fitted on 80 % of the training queries, RankLR on the degree-2 expansion of "
        "their scores for the other 20 %; out of fold: on their scores for all training queries, "
        "by five folds. ORBoost is ORBoost-All with stumps unless it says otherwise. No part of "
        "the report: ORBoost-LR and perceptrons, ensembles of 18, ridge regression on the grades.",
        _SPREAD,
    )


def _pair_settings(sets: Sets, published: Published, part: str) -> ResultTable:
    split = {"vali": "internal validation", "test": "online"}[part]
    settings = {
        "overall normalization": ("overall", "none"),
        "overall normalization + pair weights": ("overall", "power"),
        "query-level normalization": ("query", "none"),
        "query-level normalization + pair weights": ("query", "power"),
    }
    values = []
    for method, title in (("rank_svm", ""), ("rank_lr", "RankLR, ")):
        for name, (norm, weight) in settings.items():
            label = f"{title}{name}"
            row = published.get(("RankSVM settings", label, split))
            values += yahoo(label, row, ("ERR", "nDCG@10"))
            for data, methods in sets.items():
                known = norm == "query" or data in plan.OVERALL
                values += values_on_sets(
                    {data: methods}, label, plan.pair_setting(method, norm, weight),
                    ((part, "ERR"), (part, "nDCG")), absent(method) if known else _BY_QUERY_ONLY,
                )  # fmt: skip
    shown = {"vali": "validation", "test": "test"}[part]
    return ResultTable(
        f"rank-svm-settings-{shown}",
        f"RankSVM with different settings: {split} (ours: {shown} parts)",
        values,
        "Overall: every feature as its rank among the training rows; on lambdarank as published. "
        "Query-level: these values from 0 to 1 within every query; on MQ2008 those that LETOR "
        "normalised by query. Pair weights: max(y, y')^|y - y'|. C by ERR on the validation part, "
        "so that values there are the best of 15. The report has RankSVM, and overall "
        "normalisation without weights.",
        _SPREAD,
    )


def _networks(sets: Sets, published: Published) -> ResultTable:
    values = []
    for name, networks in plan.NETWORKS.items():
        label, setting = _titles(networks)
        for split, column in (("training", "training ERR"), ("online", "ERR")):
            row = published.get(("BoltzRank features", setting, split))
            values += yahoo(label, row, (column,))
        wanted = (("train", "ERR"), ("vali", "ERR"), ("test", "ERR"), ("test", "nDCG"))
        values += values_on_sets(sets, label, f"boltz/{name}", wanted, absent("boltz"))
    return ResultTable(
        "boltz-rank-features",
        "BoltzRank with different feature sets",
        values,
        "N1 nodes of the pointwise, N2 of the pairwise network; features selected by AdaRank on "
        "ERR. All features are 700 in the report, 46, 45, 300 and 136 here. At most "
        f"{plan.N_EPOCHS} iterations over the training queries, stopped after {plan.PATIENCE} "
        "without a larger ERR on the validation part.",
        _SPREAD,
    )


def _epochs(sets: Sets, published: Published) -> ResultTable:
    values = []
    for name, networks in plan.NETWORKS.items():
        label, setting = _titles(networks)
        row = published.get(("BoltzRank features", setting, "online"))
        if row is not None:
            minutes = float(row["minutes"].partition(" ")[0])
            values.append(paper_only(label, f"{YAHOO} seconds", str(60 * minutes)))
        for data, methods in sets.items():
            found = methods.at(f"boltz/{name}")
            note = "" if found else absent("boltz")
            seconds = sum(fold["seconds"] for fold in found) if found else None
            run = sum(fold["epochs_run"] for fold in found) if found else 1
            kept = sum(fold["epochs"] for fold in found) / len(found) if found else None
            each = None if seconds is None else seconds / run
            values.append(Value(label, f"{TITLES[data]} seconds", each, note=note))
            values.append(Value(label, f"{TITLES[data]} iterations kept", kept, note=note))
    return ResultTable(
        "boltz-rank-iterations",
        "BoltzRank: seconds per iteration, and iterations kept, mean of the folds",
        values,
        "With AdaRank's selection and the values on the validation part in them. Published in "
        "minutes, for 19,944 queries on other hardware, without saying how many iterations were "
        "kept (100 to 300 until it converged).",
        digits=3,
    )


def _titles(networks: plan.Networks) -> tuple[str, str]:
    """Our label and the published setting."""
    n, N1, N2 = networks.n_features, networks.n_nodes, networks.n_pair_nodes
    nodes = f"N1={N1} N2={N2}" if N2 else f"N1={N1}"
    features = "all features" if n is None else f"{n} AdaRank features"
    published = "700 features" if n is None else features
    return f"{features}, {nodes}", f"{published} {nodes}"
