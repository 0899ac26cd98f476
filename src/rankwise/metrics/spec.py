"""Spec strings: ``Name(key=value,…)@k``, as in ir-measures.

``parse("nDCG@10")`` fills in parameters that are not written by the library's own convention or by
a preset. Values are Python literals. Quotes around words may be omitted, which helps in a shell. A
trailing ``-`` after the name or cut-off means ``empty=0``, XGBoost's notation for counting queries
without relevant rows as 0. ``-Name`` and ``1 - Name`` turn a loss so that larger is better.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from rankwise.metrics._table import ALIASES, MEASURES
from rankwise.metrics.measure import Measure, Reversed
from rankwise.metrics.names import TREC_EVAL_NAMES, spec_of_trec_eval

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
    spec: str | Measure, preset: str | None = None, *, also: Mapping[str, str] | None = None
) -> Measure:
    """Parse a spec string into a measure; a measure is returned unchanged.

    Parameters
    ----------
    spec : str or Measure
        ``"nDCG@10"``, ``"AP"``, ``"P(rel=2)@5"``, ``"nDCG(gain='exp2',empty='skip')@10"``;
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
    if isinstance(spec, Measure):
        return spec
    if not isinstance(spec, str):
        raise TypeError(f"a measure must be a spec string or a Measure, got {spec!r}.")
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
    params = _preset_params(cls.name, preset)
    allowed = {field.name for field in fields(cls)}
    for key, value in _written_params(spec, match["params"]):
        key, value = _PARAM_ALIASES.get((key, value), (key, value))
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


def list_specs(measures: str | Measure | Sequence[str | Measure]) -> list[str | Measure]:
    """List what ``measures=`` holds, which may be a single measure."""
    if isinstance(measures, str | Measure):
        return [measures]
    if isinstance(measures, Iterable):
        return list(measures)
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


def _preset_params(name: str, preset: str | None) -> dict[str, Any]:
    from rankwise.metrics.names import PRESETS

    if preset is None:
        return {}
    if preset not in PRESETS:
        raise ValueError(f"unknown preset {preset!r}. Choose one of {sorted(PRESETS)}.")
    return dict(PRESETS[preset].get(name, {}))


def _written_params(spec: str, text: str | None) -> list[tuple[str, Any]]:
    """Key-value pairs between the parentheses."""
    if not text or not text.strip():
        return []
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise SyntaxError("only key=value is allowed")
        pairs = [(_key(keyword), _value(keyword.value)) for keyword in call.keywords]
        if len({key for key, _ in pairs}) < len(pairs):
            raise SyntaxError("a parameter is repeated")
    except (SyntaxError, ValueError, TypeError) as error:
        raise ValueError(
            f"measure {spec!r}: cannot read the parameters {text!r} ({error}). "
            "Write key=value, separated by commas, with numbers, words or tuples as values."
        ) from None
    return pairs


def _key(keyword: ast.keyword) -> str:
    if keyword.arg is None:
        raise SyntaxError("only key=value is allowed")
    return keyword.arg


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return node.id
    value = ast.literal_eval(node)
    if isinstance(value, list):
        value = tuple(value)
    hash(value)  # a frozen measure accepts no sets or dicts
    return value
