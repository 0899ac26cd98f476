"""Parse the values of options: lists, parameters, measures and rankers."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankwise._registry import RANKING, REGISTRY, Entry
from rankwise.cli._errors import UsageError, usage
from rankwise.runtime.vocabulary import did_you_mean

if TYPE_CHECKING:
    from rankwise.metrics import Measure


def split_list(text: str) -> list[str]:
    """Split a list at the commas outside parentheses, brackets and quotes."""
    entries, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        depth += (letter in "([") - (letter in ")]") if not quote else 0
        if letter == "," and depth == 0 and not quote:
            entries.append("")
        else:
            entries[-1] += letter
    return [entry.strip() for entry in entries if entry.strip()]


def read_measures(text: str, preset: str | None) -> dict[str, Measure]:
    """Parse measures; the keys are the strings as given."""
    from rankwise.metrics import parse

    with usage():
        measures = {spec: parse(spec, preset) for spec in split_list(text)}
    if not measures:
        raise UsageError("--measures must name at least one measure.")
    return measures


def ranker_entry(key: str) -> Entry:
    """Registry entry of a ranker."""
    entry = REGISTRY.get(key)
    if entry is not None and entry.kind in ("multi-label", "cost-sensitive"):
        raise UsageError(
            f"{key!r} predicts labels and is not a ranker. Use {entry.path.rpartition(':')[2]} of "
            "rankwise.labels from Python, or choose a ranker of 'rankwise list rankers'."
        )
    name, parenthesis, rest = key.partition("(")
    if parenthesis and name in RANKING:  # as in compare
        given = " ".join(f"--set {text}" for text in split_list(rest.removesuffix(")")))
        raise UsageError(f"{key!r} is not a ranker. Pass its parameters by --set: {name} {given}.")
    if key not in RANKING:
        hint = did_you_mean(key, RANKING, f"Rankers: {', '.join(RANKING)}.")
        raise UsageError(f"{key!r} is not a ranker. {hint}")
    return RANKING[key]


def compares_rows(rankers: Sequence[str], measures: Mapping[str, Measure]) -> bool:
    """Whether a ranker or measure compares the rows of a query, not each row with its class."""
    return any(ranker_entry(key).kind == "ranker" for key in rankers) or not all(
        measure.reads_labels for measure in measures.values()
    )


def make_ranker(key: str, settings: Sequence[str] | None, seed: int) -> Any:
    """Create an estimator with the registry's parameters, the seed and the values of --set."""
    entry = ranker_entry(key)
    estimator: Any = entry.load()(**entry.params)
    known = estimator.get_params()
    if "random_state" in known:
        estimator.set_params(random_state=seed)
    for text in settings or ():
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals:
            raise UsageError(f"--set must be NAME=VALUE, got {text!r}.")
        if name not in known:
            hint = did_you_mean(name, known, f"Parameters: {', '.join(known)}.")
            raise UsageError(f"{key} has no parameter {name!r}. {hint}")
        estimator.set_params(**{name: parameter(value.strip())})
    return estimator


def parameter(text: str) -> Any:
    """Parse a Python literal or "inf"; other text is returned unchanged."""
    if text.lower() in ("inf", "+inf"):
        return float("inf")
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
