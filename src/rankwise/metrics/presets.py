"""Presets: the meaning of a bare name such as "nDCG@10" in another program.

Each entry lists only the differences from the library's own defaults. A measure that the program
lacks keeps the program's order of ties, if it has one, and our defaults otherwise. The presets are
verified by running the programs themselves: see ``tests/metrics/test_peers_*.py``.
"""

from __future__ import annotations

from typing import Any

Params = dict[str, Any]

_NAMES = ("DCG", "nDCG", "MeanNDCG", "AP", "P", "R", "Rprec", "Success", "RR", "Bpref", "infAP",
          "Judged", "Unjudged", "ERR", "RBP", "RBPResidual")  # fmt: skip
# CatBoost's border is 0.5, exclusive.
_ABOVE_HALF = 0.5000000000000001


def _preset(ties: str = "stable", **measures: Params) -> dict[str, Params]:
    return {name: {"ties": ties, **measures.get(name, {})} for name in _NAMES}


def _letor(rel: int, short_precision: str) -> dict[str, Params]:
    return _preset(
        DCG={"discount": "letor"},
        nDCG={"discount": "letor", "empty": 0, "short": "zero"},
        MeanNDCG={"discount": "letor", "empty": 0},
        AP={"rel": rel, "empty": 0},
        P={"rel": rel, "short": short_precision},
        R={"rel": rel, "empty": 0},
        Rprec={"rel": rel, "empty": 0},
        Success={"rel": rel},
        RR={"rel": rel},
        RBP={"rel": rel},
    )


PRESETS: dict[str, dict[str, Params]] = {
    # Eval-Score-3.0.pl skips NDCG@k and P@k of a query with fewer than k documents but divides by
    # the number of all queries.
    "letor3": _letor(rel=1, short_precision="zero"),
    # Eval-Score-4.0.pl
    "letor4": _letor(rel=1, short_precision="pad"),
    # eval-score-mslr.pl: grades 2 to 4 are relevant for MAP and P@k.
    "mslr": _letor(rel=2, short_precision="pad"),
    # The challenge's evaluate.py; ERR there has no cut-off.
    "yahoo": _preset(nDCG={"empty": 1}, ERR={"max_grade": 4}),
    "trec_eval": _preset(
        ties="docid",
        DCG={"gain": "linear"},
        nDCG={"gain": "linear", "empty": 0},
        MeanNDCG={"gain": "linear", "empty": 0},
        AP={"empty": 0},
        R={"empty": 0},
        Rprec={"empty": 0},
        Bpref={"empty": 0},
        infAP={"empty": 0},
    ),
    # gdeval.pl prints nothing for a query without relevant documents.
    "gdeval": _preset(ties="docid", nDCG={"empty": "skip"}, ERR={"max_grade": 4, "empty": "skip"}),
    "lightgbm": _preset(nDCG={"empty": 1}, AP={"norm": "cutoff", "empty": 1}),
    "xgboost": _preset(nDCG={"empty": 1}, AP={"norm": "cutoff", "empty": 1}, P={"short": "cut"}),
    "catboost": _preset(
        ties="worst",
        DCG={"gain": "linear"},
        nDCG={"gain": "linear", "empty": 1},
        AP={"rel": _ABOVE_HALF, "norm": "cutoff", "empty": 0},
        P={"rel": _ABOVE_HALF, "short": "cut"},
        R={"rel": _ABOVE_HALF, "empty": 1},
        RR={"rel": _ABOVE_HALF},
        ERR={"gain": "linear", "max_grade": 1},
    ),
    "sklearn": _preset(
        DCG={"gain": "linear", "ties": "mean"},
        nDCG={"gain": "linear", "empty": 0, "ties": "mean"},
        MeanNDCG={"gain": "linear", "empty": 0, "ties": "mean"},
        AP={"empty": 0, "ties": "block"},
    )
    | {"Kappa": {"weights": "none"}},
}
