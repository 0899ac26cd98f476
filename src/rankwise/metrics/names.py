"""What other programs call measures, and what they mean by them: presets, and trec_eval's names.

Each entry lists only the differences from the library's own defaults. A measure that the program
lacks keeps the program's order of ties, if it has one, and our defaults otherwise. The presets are
verified by running the programs themselves: see ``tests/metrics/test_peers_*.py``.
"""

from __future__ import annotations

import re
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

# trec_eval's name → ours; a cut-off follows as "_10", or as ".10" in trec_eval's option -m.
WHOLE: dict[str, str] = {
    "map": "AP",
    "ndcg": "nDCG",
    "recip_rank": "RR",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "infAP": "infAP",
    "set_P": "P",
    "set_recall": "R",
}
CUT: dict[str, str] = {
    "P": "P",
    "recall": "R",
    "ndcg_cut": "nDCG",
    "map_cut": "AP",
    "success": "Success",
}
# What rankwise does not compute, with what comes near.
_OTHERS: dict[str, str] = {
    "num_q": "the number of queries stands beside every mean",
    "num_ret": "'set_P' is num_rel_ret / num_ret",
    "num_rel": "'set_recall' is num_rel_ret / num_rel",
    "num_rel_ret": "'set_P' and 'set_recall' divide it by num_ret and num_rel",
    "num_nonrel_judged_ret": "'bpref' compares with these documents",
    "gm_map": "'map' has the values of which it is the geometric mean, see --per-query",
    "gm_bpref": "'bpref' has the values of which it is the geometric mean, see --per-query",
    "iprec_at_recall": "'map' and 'P_10' are near",
    "11pt_avg": "'map' is near",
    "Rndcg": "'ndcg' is near",
    "ndcg_rel": "'ndcg' is near",
    "Rprec_mult": "'Rprec' is near",
    "relative_P": "'P_10' and 'recall_10' are near",
    "set_relative_P": "'set_P' and 'set_recall' are near",
    "set_map": "'set_P' and 'set_recall' are near",
    "set_F": "'set_P' and 'set_recall' are what it averages",
    "G": "'ndcg' is near",
    "binG": "'map' is near",
    "utility": "'set_P' is near",
    "runid": "it names the run",
    "relstring": "it lists the first grades",
}
TREC_EVAL_NAMES: dict[str, str] = {
    name.lower(): name for name in (*WHOLE, *(f"{cut}_k" for cut in CUT))
}
_FORM = re.compile(r"\s*(?P<name>\w+?)(?:[_.](?P<number>\d+(?:\.\d+)?))?\s*", re.ASCII)
_WHOLE, _CUT, _OTHER = ({name.lower(): name for name in names} for names in (WHOLE, CUT, _OTHERS))


def spec_of_trec_eval(text: str) -> str | None:
    """Spec string of a measure under its name in trec_eval, in any case; None for any other text.

    ValueError is raised if trec_eval has the measure and rankwise does not, or a cut-off is missing
    or too much.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    name, number = match["name"].lower(), match["number"]
    if name in _CUT and number is not None and number.isdigit():
        return f"{CUT[_CUT[name]]}@{number}"
    if name in _WHOLE and number is None:
        return WHOLE[_WHOLE[name]]
    if name in _CUT and "_" in name:
        raise ValueError(f"measure {text!r} needs a cut-off, as in '{_CUT[name]}_10'.")
    if name in _WHOLE and number is not None and f"{name}_cut" in _CUT:
        raise ValueError(
            f"measure {text!r}: {_WHOLE[name]} has no cut-off in trec_eval. Write "
            f"'{name}_cut_{number}'."
        )
    if name in _OTHER:
        raise ValueError(
            f"measure {text!r} of trec_eval is not computed; {_OTHERS[_OTHER[name]]}. Computed "
            f"under trec_eval's names: {', '.join([*WHOLE, *(f'{cut}_k' for cut in CUT)])}."
        )
    return None
