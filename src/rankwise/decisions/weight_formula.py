"""Linear formulas of signals: read from text without evaluating it, and written for other systems.

The grammar is ``number*name`` joined by + or -. A name is letters, digits, ``_`` and ``.``, or any
text in double quotes or backticks, in which the same quote is doubled.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal, get_args

from rankwise.runtime.messages import ArgumentError, check_choice

WeightFormat = Literal["formula", "json", "sql", "javascript", "elasticsearch", "solr"]
FORMATS = get_args(WeightFormat)
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PLAIN = r"[^\W\d][\w.]*"
_NAME = rf'{_PLAIN}|"(?:[^"]|"")+"|`(?:[^`]|``)+`'
_HYPHENATED = re.compile(rf"{_PLAIN}(?:-[\w.]+)+")
_TERM = re.compile(rf"\s*([+\-−])?\s*({_NUMBER})?\s*(\*)?\s*({_NAME})?\s*")
_HOW = "Write number*name joined by + or -, such as 0.6*similarity + 0.4*recency, with quotes "
_HOW += "around names that have spaces or signs"


def parse_weights(formula: str) -> dict[str, float]:
    """Read a linear formula, such as ``0.4*similarity + 0.3*recency``.

    Parameters
    ----------
    formula : str
        ``number*name`` joined by + or -. Put names with spaces or other signs into double quotes or
        backticks. The text is never evaluated.

    Returns
    -------
    dict of str to float
        Weight of each signal, in the order of the formula.

    Raises
    ------
    ValueError
        If the formula holds anything else, a name twice, or weights that are all 0.

    Examples
    --------
    >>> parse_weights('0.4*similarity - 2e-1*"days old"')
    {'similarity': 0.4, 'days old': -0.2}
    """
    if not isinstance(formula, str):
        raise _wrong(repr(formula), f"{_HOW}.")
    weights: dict[str, float] = {}
    at = 0
    while at < len(formula):
        found = _TERM.match(formula, at)
        assert found is not None  # every part of the pattern is optional
        sign, number, star, name = found.groups()
        if number and name and not star:
            raise _wrong(f"{number} {name}", f"Write {number}*{name}.")
        if bool(number) != bool(name):
            word = next((w[0] for w in _HYPHENATED.finditer(formula) if at in range(*w.span())), "")
            fix = f'Write "{word}", with quotes, if that is a name. ' if word else ""
            fix = "Write decimals with a point. " if formula[found.end() :][:1] == "," else fix
            if number:
                raise _wrong(f"{number} without a signal", f"{fix}{_HOW}.")
            raise _wrong(f"{name} without a weight", f"{fix}Write 1*{name} if it counts once.")
        if not name or (weights and sign is None):
            raise _wrong(repr(formula[at : at + 20].strip() or formula), f"{_HOW}.")
        if name[0] in '"`':
            name = name[1:-1].replace(name[0] * 2, name[0])
        if name in weights:
            raise _wrong(f"{name!r} twice", "Add its weights up.")
        weights[name] = float(number) * (1.0 if sign in (None, "+") else -1.0)
        at = found.end()
    return check_weights(weights)


def check_weights(weights: Any, argument: str = "current") -> dict[str, float]:
    """Weights as floats; an error for what is not finite, and for weights that are all 0."""
    if not isinstance(weights, Mapping):
        raise _wrong(repr(weights), "Map the name of each signal to its weight.", argument)
    for name, weight in weights.items():
        if not isinstance(weight, Real) or not math.isfinite(weight):
            fix = "Give every signal a finite weight."
            raise _wrong(f"{weight!r} for {name!r}", fix, argument)
    if not any(weights.values()):
        raise _wrong("no weight other than 0", f"{_HOW}.", argument)
    return {str(name): float(weight) for name, weight in weights.items()}


def _wrong(found: str, fix: str, argument: str = "current") -> ArgumentError:
    return ArgumentError(argument, f"must be weights of signals, got {found}. {fix}")


def format_weights(weights: Mapping[str, float], form: WeightFormat = "formula") -> str:
    """Write a linear formula for another system.

    Parameters
    ----------
    weights : mapping of str to float
        Weight of each signal. Weights are written with six digits ("json": all digits), and
        signals of weight 0 are left out ("json": kept).
    form : {"formula", "json", "sql", "javascript", "elasticsearch", "solr"}
        "formula": text that :func:`parse_weights` reads. "sql": an expression of columns.
        "javascript": a function of an object. "elasticsearch": a ``function_score`` query with one
        ``field_value_factor`` per signal; its weights must not be negative, and documents without
        the field count 0. "solr": a function query, for ``bf`` or ``sort``.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If a weight is not finite, all are 0, one is negative and ``form`` is "elasticsearch", or
        ``form`` is unknown.

    Examples
    --------
    >>> weights = {"similarity": 0.5, "days old": -0.2}
    >>> format_weights(weights)
    '0.5*similarity - 0.2*"days old"'
    >>> format_weights(weights, "sql")
    '0.5 * "similarity" - 0.2 * "days old"'
    >>> format_weights(weights, "solr")
    'sum(product(0.5,field("similarity")),product(-0.2,field("days old")))'
    """
    check_choice("form", form, FORMATS)
    weights = check_weights(weights, "weights")
    if form == "json":
        return json.dumps(weights, ensure_ascii=False)
    used = {name: weight for name, weight in weights.items() if weight}
    if form == "elasticsearch":
        return json.dumps(_function_score(used), ensure_ascii=False, indent=1)
    texts = {name: json.dumps(name, ensure_ascii=False) for name in used}
    if form == "solr":
        parts = (f"product({weight:.6g},field({texts[name]}))" for name, weight in used.items())
        return f"sum({','.join(parts)})"
    terms = []
    for name, weight in used.items():
        quoted = '"{}"'.format(name.replace('"', '""'))
        if form == "javascript":
            quoted = f"signals[{texts[name]}]"
        elif form == "formula" and re.fullmatch(_PLAIN, name):
            quoted = name
        terms.append((weight, f"{abs(weight):.6g}{'*' if form == 'formula' else ' * '}{quoted}"))
    (first, text), *rest = terms
    text = ("-" if first < 0 else "") + text + "".join(f" {'+-'[w < 0]} {t}" for w, t in rest)
    return f"(signals) => {text}" if form == "javascript" else text


def _function_score(weights: Mapping[str, float]) -> dict[str, Any]:
    """Query whose score is the weighted sum; Elasticsearch refuses negative scores."""
    for name, weight in weights.items():
        if weight < 0:
            raise ArgumentError(
                "form",
                f"must be another format for negative weights, got {weight:.4g} for {name!r}. "
                "Elasticsearch takes none: index its opposite, such as freshness for age.",
            )
    functions = [
        {"field_value_factor": {"field": name, "missing": 0}, "weight": float(f"{weight:.6g}")}
        for name, weight in weights.items()
    ]
    body = {"query": {"match_all": {}}, "functions": functions}
    return {"query": {"function_score": {**body, "score_mode": "sum", "boost_mode": "replace"}}}
