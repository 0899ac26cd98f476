"""Which cells there are: every setting of every method, and the ensemble, on every fold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from rankwise.experiments import Cell
from rankwise_papers.lin2010_challenge.plan import ALL_STUMPS, COSTS, cell_name

# Data set → number of folds. The last set runs for those who have the challenge's files.
FOLDS = {"mq2008": 5, "ohsumed": 5, "lambdarank": 5, "mslr-slices": 3, "yahoo-ltrc-1": 1}
# Where features that are not normalised by query are published: as which set.
OVERALL = {
    "ohsumed": "ohsumed-min", "lambdarank": "lambdarank", "mslr-slices": "mslr-slices",
    "yahoo-ltrc-1": "yahoo-ltrc-1",
}  # fmt: skip
# Fewer than in challenge-ordinal, for time; the ORSVMs of the ensemble have six of either kind.
GRIDS = {"err": [10.0, 1e3, 1e5], "absolute": [0.01, 0.1, 1.0]}
DEGREES = (1, 4)
ROW_WEIGHTS = ("none", "rank", "gain")
ROUNDS = (100, 1000)
# A round of perceptrons takes fifty times as long as one of stumps.
PERCEPTRON_ROUNDS = (20, 100)
# Normalisation of the features and weights of the pairs; the report has all but the second.
PAIR_SETTINGS = (("overall", "none"), ("overall", "power"), ("query", "none"), ("query", "power"))
QUICK_SETTINGS = {
    "rank_svm": (PAIR_SETTINGS[0], *PAIR_SETTINGS[2:]), "rank_lr": PAIR_SETTINGS[3:],
}  # fmt: skip
N_MODELS, N_BOLTZ = 20, 2
N_EPOCHS, PATIENCE = 60, 15
# Of BoltzRank; written out, so that no default decides.
BOLTZ_SETTINGS = {
    "pair_reduction": "sum", "kl_weight": 0.003, "n_rankings": 50, "gold_share": 0.2, "slope": 1.0,
    "activation": "tanh", "batch_size": 16, "optimizer": "adam",
    "learning_rate_init": 0.01, "lam": 0.0, "n_epochs": N_EPOCHS,
    "early_stopping_rounds": PATIENCE,
}  # fmt: skip
# With BoltzRank or not; the top trained on the other fifth of the queries or out of fold. With
# BoltzRank out of fold is left out: its fits are the slowest, and there would be twelve.
ENSEMBLES = ((True, False), (False, False), (False, True))


@dataclass(frozen=True)
class Networks:
    """A row of the report's table of BoltzRank: None features are all."""

    n_features: int | None
    n_nodes: int
    n_pair_nodes: int


NETWORKS = {
    "all-15": Networks(None, 15, 0),
    "all-45": Networks(None, 45, 0),
    "6-6": Networks(6, 6, 0),
    "6-6-6": Networks(6, 6, 6),
    "10-10-10": Networks(10, 10, 10),
    "12-12-12": Networks(12, 12, 12),
}


def has_torch() -> bool:
    """Whether BoltzRank can be trained."""
    return find_spec("torch") is not None


def ensemble_name(with_boltz: bool, *, out_of_fold: bool = False) -> str:
    """Last part of the name of an ensemble's cell."""
    n_models = N_MODELS if with_boltz else N_MODELS - N_BOLTZ
    return f"ensemble{n_models}" + ("/out-of-fold" if out_of_fold else "")


def methods(data: str, quick: bool) -> dict[str, dict[str, tuple[str, dict[str, Any]]]]:
    """Method → its settings, by the last part of the cell's name: data to read, parameters.

    What a method reaches is what its setting of the largest ERR on the validation part reaches. A
    quick run has fewer settings of RankSVM, RankLR and Poly-ORSVM, and no ensemble whose top
    learns from out-of-fold scores.
    """

    def own(settings: Mapping[str, dict[str, Any]]) -> dict[str, tuple[str, dict[str, Any]]]:
        return {name: (data, params) for name, params in settings.items()}

    return {
        "orsvm": own({
            f"orsvm/{c}": {"kind": "orsvm", "costs": c, "C": GRIDS[c]} for c in COSTS
        }),
        "powers": own({
            f"powers{k}/{c}": {"kind": "powers", "degree": k, "costs": c, "C": GRIDS[c]}
            for c in COSTS for k in (DEGREES[-1:] if quick else DEGREES)
        }),
        "orboost": own({f"orboost/{weight}": _boost(weight) for weight in ROW_WEIGHTS}),
        "orboost-lr": own({
            f"orboost-lr/{weight}": _boost(weight, form="lr") for weight in ROW_WEIGHTS
        }),
        "orboost-perceptron": own({
            "orboost-perceptron/none": _boost("none", estimator="perceptron")
        }),
        "orboost-lr-perceptron": own({
            "orboost-lr-perceptron/none": _boost("none", form="lr", estimator="perceptron")
        }),
        **{
            method: _pair_settings(data, method, QUICK_SETTINGS[method] if quick else PAIR_SETTINGS)
            for method in QUICK_SETTINGS
        },
        "boltz": own({
            f"boltz/{name}": {"kind": "boltz", "seed": 0, **vars(networks), **BOLTZ_SETTINGS}
            for name, networks in NETWORKS.items()
        }),
        "ridge": own({"ridge": {"kind": "ridge"}}),
        "ensemble": own({
            ensemble_name(b, out_of_fold=o): {
                "kind": "ensemble", "with_boltz": b, "out_of_fold": o,
            }
            for b, o in ENSEMBLES if not (quick and o)
        }),
    }  # fmt: skip


def _boost(weight: str, form: str = "all", estimator: str = "stump") -> dict[str, Any]:
    """Parameters of a cell of ORBoost."""
    rounds = ROUNDS if estimator == "stump" else PERCEPTRON_ROUNDS
    settings = {**ALL_STUMPS, "form": form, "estimator": estimator}
    return {"kind": "boost", "weight": weight, "rounds": list(rounds), **settings}


def _pair_settings(
    data: str, method: str, settings: Sequence[tuple[str, str]]
) -> dict[str, tuple[str, dict[str, Any]]]:
    """Cells of RankSVM or RankLR.

    From features that are normalised overall both normalisations are made; where there are none,
    the published ones are taken as normalised by query.
    """
    return {
        pair_setting(method, norm, weight): (
            OVERALL.get(data, data),
            {"kind": "pairs", "key": method, "norm": norm, "pair_weight": weight},
        )
        for norm, weight in settings
        if data in OVERALL or norm == "query"
    }


def pair_setting(method: str, norm: str, weight: str) -> str:
    """Last part of the name of a cell of RankSVM or RankLR."""
    return f"{method}/{norm}/{weight}"


def folds(quick: bool) -> dict[str, int]:
    """Data set → number of folds."""
    return {"mslr-slices": 1} if quick else FOLDS


def cells(quick: bool) -> Iterator[Cell]:
    """All cells; without torch those without BoltzRank."""
    torch = has_torch()
    left_out = set() if torch else {ensemble_name(True)}
    n_folds = folds(quick)
    for fold in range(1, max(n_folds.values()) + 1):
        for data in (data for data, n in n_folds.items() if fold <= n):
            by_method = methods(data, quick)
            if not torch:
                by_method.pop("boltz")
            for settings in by_method.values():
                for name, (read, params) in settings.items():
                    if name not in left_out:
                        yield Cell(cell_name(data, fold, name), {"fold": fold, **params}, read)
