"""Spec strings: ``Name(key=value,…)@k``, as in ir-measures.

``parse("nDCG@10")`` fills in parameters that are not written by the library's own convention or by
a preset. Values are Python literals. Quotes around words may be omitted, which helps in a shell. A
trailing ``-`` after the name or cut-off means ``empty=0``, XGBoost's notation for counting queries
without relevant rows as 0. ``-Name`` and ``1 - Name`` turn a loss so that larger is better.

Presets are what other programs mean by the names of measures: each lists only the differences from
the library's own defaults. A measure that the program lacks keeps the program's order of ties, if
it has one, and our defaults otherwise. The presets are verified by running the programs themselves:
see ``tests/metrics/test_peers_*.py``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankwise.metrics._table import ALIASES, MEASURES
from rankwise.runtime.threads import parse_syntax

if TYPE_CHECKING:
    from rankwise.metrics.measure import Measure, MeasureLike

_REVERSED = re.compile(r"\s*(1\s*)?-\s*(?P<loss>[A-Za-z].*)")
_SPEC = re.compile(
    r"\s*(?P<name>[A-Za-z]\w*)\s*(?:\((?P<params>.*)\))?\s*(?:@\s*(?P<cutoff>\d+))?(?P<minus>-)?\s*"
)
# Spellings of parameters and their values in other libraries.
_PARAM_ALIASES: dict[tuple[str, Any], tuple[str, Any]] = {
    ("dcg", "exp-log2"): ("gain", "exp2"),
    ("dcg", "log2"): ("gain", "linear"),
    ("gain", "exp"): ("gain", "exp2"),
    ("gain", "exponential"): ("gain", "exp2"),
    ("weights", None): ("weights", "none"),
}
_BY_LOWER_NAME = {
    **{alias.lower(): name for alias, name in ALIASES.items()},
    **{name.lower(): name for name in MEASURES},
}


def parse(
    spec: MeasureLike, preset: str | None = None, *, also: Mapping[str, str] | None = None
) -> Measure:
    """Parse a spec string into a measure; a measure is returned unchanged.

    Parameters
    ----------
    spec : str, Measure or callable
        A function ``f(y, scores) -> float`` of one query becomes a measure, larger is better.
        Strings: ``"nDCG@10"``, ``"AP"``, ``"P(rel=2)@5"``, ``"nDCG(gain='exp2',empty='skip')@10"``;
        aliases such as ``"ndcg@10"``, ``"map"`` and ``"mrr"`` are understood. With the preset of
        trec_eval, its own names are too: ``"ndcg_cut_10"``, ``"P_5"``, ``"recip_rank"``. ``"-MAE"``
        and ``"1 - Misranking"`` turn a loss so that larger is better, as ``score_name_`` does.
    preset : str, optional
        Convention for parameters not in the string: a key of ``rankwise.metrics.PRESETS``.
    also : mapping from name to class path, optional
        Measures in addition to those of the table.

    Raises
    ------
    ValueError
        If the string does not follow the grammar, or names an unknown measure, parameter, value or
        preset.

    Examples
    --------
    >>> str(parse("ndcg@10", preset="letor3"))
    "nDCG(gain='exp2',discount='letor',empty=0,ties='stable',short='zero')@10"
    """
    # NumPy: `rankwise list` has names only
    from rankwise.metrics.measure import FunctionMeasure, Measure, Reversed

    if isinstance(spec, Measure):
        return spec
    if isinstance(spec, type) and issubclass(spec, Measure):
        raise TypeError(f"a measure must be an instance, got the class. Pass {spec.__name__}().")
    if callable(spec):
        return FunctionMeasure(spec)
    if not isinstance(spec, str):
        raise TypeError(
            f"a measure must be a spec string, a Measure or a function f(y, scores), got {spec!r}."
        )
    if turned := _REVERSED.fullmatch(spec):
        return Reversed(parse(turned["loss"], preset, also=also), int(turned[1] is not None))
    text = (spec_of_trec_eval(spec) if preset == "trec_eval" else None) or spec
    match = _SPEC.fullmatch(text)
    if match is None:
        raise ValueError(
            f"a measure must be Name(key=value,...)@k, got {spec!r}. "
            "Write for example 'nDCG@10' or \"P(rel=2)@5\"."
        )
    cls = measure_class(match["name"], also)
    if preset is not None and preset not in PRESETS:
        raise ValueError(f"unknown preset {preset!r}. Choose one of {sorted(PRESETS)}.")
    params = {} if preset is None else dict(PRESETS[preset].get(cls.name, {}))
    allowed = {field.name for field in fields(cls)}
    written = _written_params(spec, match["params"])
    if {"gain", "label_gain"} <= {key for key, _ in written}:
        raise ValueError(f"measure {spec!r}: gain and label_gain are the same. Write one of them.")
    for key, value in written:
        key, value = _PARAM_ALIASES.get((key, value), (key, value))
        key = "gain" if key == "label_gain" and hasattr(cls, key) else key
        if key not in allowed or key == "cutoff":
            raise ValueError(
                f"measure {spec!r} has no parameter {key!r}. "
                f"Parameters of {cls.name}: {sorted(allowed - {'cutoff'}) or 'none'}."
            )
        params[key] = value
    if match["minus"]:
        if "empty" not in allowed:
            raise ValueError(f"measure {spec!r}: {cls.name} has no empty= to set with '-'.")
        params["empty"] = 0
    if match["cutoff"] is not None:
        if "cutoff" not in allowed:
            raise ValueError(
                f"measure {spec!r}: {cls.name} takes no cut-off. Drop '@{match['cutoff']}'."
            )
        params["cutoff"] = int(match["cutoff"])
    return cls(**params)


def list_specs(measures: MeasureLike | Sequence[MeasureLike]) -> list[str | Measure]:
    """List what ``measures=`` holds, which may be a single measure; functions become measures.

    ValueError is raised if a measure of the user's own has the name of another.
    """
    from rankwise.metrics.measure import Measure, is_own

    several = [measures] if isinstance(measures, str | Measure) or callable(measures) else measures
    if isinstance(several, Iterable):
        listed = [spec if isinstance(spec, str) else parse(spec) for spec in several]
        for own in listed:
            if not isinstance(own, Measure) or not is_own(own):
                continue
            if any(str(other) == str(own) and other != own for other in listed):
                raise ValueError(
                    f"measures must have different names, but two are called {own}. Rename the "
                    "function or the measure."
                )
        return listed
    raise TypeError(
        f"measures must be a measure or a list of them, got {measures!r}. "
        "Pass for example ['nDCG@10', 'AP']."
    )


def measure_class(name: str, also: Mapping[str, str] | None = None) -> type[Measure]:
    """Class of a measure by its case-insensitive name or alias; ValueError if there is none."""
    beside = dict(also or {})
    by_lower_name = {**_BY_LOWER_NAME, **{other.lower(): other for other in beside}}
    canonical = by_lower_name.get(name.lower())
    known = {**MEASURES, **beside}
    if canonical is None:
        ours = spec_of_trec_eval(name)
        near = get_close_matches(name.lower(), {**TREC_EVAL_NAMES, **by_lower_name}, n=1)
        if ours is not None:
            hint = f"It is trec_eval's name of {ours!r}, read under the preset 'trec_eval'."
        elif near:
            hint = f"Did you mean {by_lower_name.get(near[0]) or TREC_EVAL_NAMES[near[0]]!r}?"
        else:
            hint = f"Known: {list(known)}."
        raise ValueError(f"unknown measure {name!r}. {hint}")
    module, _, cls = known[canonical].partition(":")
    return getattr(import_module(module), cls)


def _written_params(spec: str, text: str | None) -> list[tuple[str, Any]]:
    """Key-value pairs between the parentheses."""
    if not text or not text.strip():
        return []
    try:
        match parse_syntax(f"f({text})").body:
            case [ast.Expr(ast.Call(args=[]) as call)]:
                pass
            case _:
                raise SyntaxError("only key=value is allowed")
        pairs: list[tuple[str, Any]] = []
        for keyword in call.keywords:
            if keyword.arg is None:
                raise SyntaxError("only key=value is allowed")
            node = keyword.value
            value = node.id if isinstance(node, ast.Name) else ast.literal_eval(node)
            value = tuple(value) if isinstance(value, list) else value
            hash(value)  # a frozen measure accepts no sets or dicts
            pairs.append((keyword.arg, value))
        if len({key for key, _ in pairs}) < len(pairs):
            raise SyntaxError("a parameter is repeated")
    except (SyntaxError, ValueError, TypeError) as error:
        raise ValueError(
            f"measure {spec!r}: cannot read the parameters {text!r} ({error}). "
            "Write key=value, separated by commas, with numbers, words or tuples as values."
        ) from None
    return pairs


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
    word.lower(): word for word in (*WHOLE, *(f"{cut}_k" for cut in CUT))
}
_FORM = re.compile(r"\s*(?P<name>\w+?)(?:[_.](?P<number>\d+(?:\.\d+)?))?\s*", re.ASCII)
_WHOLE, _CUT, _OTHER = ({word.lower(): word for word in words} for words in (WHOLE, CUT, _OTHERS))


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
