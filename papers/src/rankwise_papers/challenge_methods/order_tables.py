"""Which method or setting is ahead, in test ERR, paired over queries."""

from __future__ import annotations

from rankwise.experiments import ResultTable
from rankwise_papers.challenge_methods import plan
from rankwise_papers.challenge_methods.chosen_tables import Methods, absent
from rankwise_papers.lin2010_challenge.value_tables import TITLES, Published, difference

_METHODS = {
    "ORSVM": "orsvm", "Poly-ORSVM": "powers", "ORBoost": "orboost", "RankSVM": "rank_svm",
    "RankLR": "rank_lr", "BoltzRank": "boltz",
}  # fmt: skip


def order_table(sets: dict[str, Methods], published: Published) -> ResultTable:
    """Differences of pairs of methods and settings, ours with their paired error."""
    values = []
    for label, a, b, paper in _claims(published):
        why = max((absent(a), absent(b)), key=len)
        for data, methods in sets.items():
            pair = (methods.at(a), methods.at(b))
            values.append(
                difference(label, TITLES[data], pair, paper, why, "differences of the tables above")
            )
    return ResultTable(
        "order",
        "Which is ahead: differences in test ERR",
        values,
        "Positive: the first of the two has the larger ERR. Over the queries of all test parts, "
        "paired. Methods with the settings of the first table, where settings are not named.",
        error_is="standard error of the mean over queries",
    )


def _claims(published: Published) -> list[tuple[str, str, str, float | None]]:
    """Label, the two methods, and the published difference if there is one."""

    def online(a: str, b: str) -> float:
        return _err(published, "online", a, "online") - _err(published, "online", b, "online")

    claims: list[tuple[str, str, str, float | None]] = [
        (f"ORSVM minus {b}", "orsvm", _METHODS[b], online("ORSVM", b))
        for b in _METHODS if b != "ORSVM"
    ]  # fmt: skip
    claims += [
        (f"RankLR minus {b}", "rank_lr", _METHODS[b], online("RankLR", b))
        for b in ("ORBoost", "RankSVM", "BoltzRank")
    ]
    whole, smaller = plan.ensemble_name(True), plan.ensemble_name(False)
    out_of_fold = plan.ensemble_name(False, out_of_fold=True)
    claims += [
        (f"Ensemble minus {b}", whole, method, online("Ensemble", b))
        for b, method in _METHODS.items()
    ]
    claims.append(("Ensemble minus ridge regression", whole, "ridge", None))
    for title, ensemble in (("of 18", smaller), ("of 18, out of fold,", out_of_fold)):
        claims += [
            (f"Ensemble {title} minus {b}", ensemble, method, None)
            for b, method in _METHODS.items() if b != "BoltzRank"
        ]  # fmt: skip
        claims.append((f"Ensemble {title} minus ridge regression", ensemble, "ridge", None))
    claims += [
        (f"{a} minus ridge regression", method, "ridge", None) for a, method in _METHODS.items()
    ]
    claims += [
        ("ORBoost-LR minus ORBoost-All, stumps", "orboost-lr", "orboost", None),
        ("ORBoost-LR minus ORBoost-All, perceptrons", "orboost-lr-perceptron",
         "orboost-perceptron", None),
        ("ORBoost-All, perceptrons minus stumps", "orboost-perceptron", "orboost", None),
        ("ORBoost-LR, perceptrons minus stumps", "orboost-lr-perceptron", "orboost-lr", None),
        ("ORBoost-LR minus ridge regression", "orboost-lr", "ridge", None),
        ("ORBoost-All, perceptrons minus ridge regression", "orboost-perceptron", "ridge", None),
    ]  # fmt: skip
    return claims + _pair_claims(published) + _network_claims(published)


def _pair_claims(published: Published) -> list[tuple[str, str, str, float | None]]:
    table, split = "RankSVM settings", "query-level normalization"
    by_query = _err(published, table, split, "internal validation")
    weighted = _err(published, table, f"{split} + pair weights", "online")
    norm = by_query - _err(published, table, "overall normalization", "internal validation")
    weights = weighted - _err(published, table, split, "online")
    claims: list[tuple[str, str, str, float | None]] = []
    for method, title in (("rank_svm", "RankSVM"), ("rank_lr", "RankLR")):
        is_svm = method == "rank_svm"

        def at(norm: str, weight: str, method: str = method) -> str:
            return plan.pair_setting(method, norm, weight)

        claims += [
            (f"{title}, query-level minus overall", at("query", "none"), at("overall", "none"),
             norm if is_svm else None),
            (f"{title}, query-level minus overall, both weighted", at("query", "power"),
             at("overall", "power"), None),
            (f"{title}, query-level, weights minus none", at("query", "power"),
             at("query", "none"), weights if is_svm else None),
            (f"{title}, overall, weights minus none", at("overall", "power"),
             at("overall", "none"), None),
        ]  # fmt: skip
    return claims


def _network_claims(published: Published) -> list[tuple[str, str, str, float | None]]:
    settings = {
        "all-15": "700 features N1=15",
        "all-45": "700 features N1=45",
        "6-6": "6 AdaRank features N1=6",
        "6-6-6": "6 AdaRank features N1=6 N2=6",
        "10-10-10": "10 AdaRank features N1=10 N2=10",
        "12-12-12": "12 AdaRank features N1=12 N2=12",
    }
    err = {
        k: _err(published, "BoltzRank features", setting, "online")
        for k, setting in settings.items()
    }
    pairs = {
        "N1=45 minus N1=15, all features": ("all-45", "all-15"),
        "6 features minus all (N1=6, N1=15)": ("6-6", "all-15"),
        "N2=6 minus no pairwise network, 6 features": ("6-6-6", "6-6"),
        "10 features minus 6, with pairwise network": ("10-10-10", "6-6-6"),
        "12 features minus 6, with pairwise network": ("12-12-12", "6-6-6"),
    }
    return [
        (f"BoltzRank, {label}", f"boltz/{a}", f"boltz/{b}", err[a] - err[b])
        for label, (a, b) in pairs.items()
    ]


def _err(published: Published, table: str, setting: str, split: str) -> float:
    return float(published[table, setting, split]["err"])
