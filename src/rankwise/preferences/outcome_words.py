"""Outcomes of comparisons from names of winners, words and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.preferences.item_codes import AT_ROW, Where, code_ids
from rankwise.preferences.outcome_models import FIRST, SECOND, TIE
from rankwise.runtime.column_values import convert_to_values
from rankwise.typing import Int64Array

# In any case. Judges that find both answers bad prefer neither.
WORDS = {
    **dict.fromkeys(("first", "a", "left", "item_a", "model_a", "home", "true"), FIRST),
    **dict.fromkeys(("second", "b", "right", "item_b", "model_b", "away", "false"), SECOND),
    **dict.fromkeys(
        (
            "tie", "draw", "equal", "both", "neither", "none", "tie (bothbad)", "both_bad",
            "bothbad", "both bad", "same",
        ),
        TIE,
    ),
}  # fmt: skip
NUMBERS = {1.0: FIRST, 0.5: TIE, 0.0: SECOND}
_NO_WORD = -1


def code_outcomes(
    values: Any,
    first: Int64Array,
    second: Int64Array,
    items: NDArray[np.str_],
    *,
    numbers: bool,
    sides: tuple[str, str] | None = None,
    where: Where = AT_ROW,
) -> Int64Array:
    """Outcome of each comparison: 0 (first), 1 (tie) or 2 (second).

    ``first`` and ``second`` are places in ``items``. With ``numbers``, values are 1, 0.5 and 0;
    otherwise they are names of items or words, and a text that is both is a name. ``sides`` are two
    more words for the first and the second item: the names of their columns. ``where`` describes a
    row in messages.
    """
    if len(values) != len(first):
        raise ValueError(
            f"outcomes must have n_comparisons={len(first)} entries, got {len(values)}. Pass one "
            "outcome per comparison."
        )
    if numbers:
        return _code_numbers(values, where)
    codes, texts = code_ids(values, "winners", where)
    places = {name: place for place, name in enumerate(items.tolist())}
    words = (
        WORDS
        if sides is None
        else WORDS | {sides[0].casefold(): FIRST, sides[1].casefold(): SECOND}
    )
    item = np.array([places.get(text, -1) for text in texts], dtype=np.int64)[codes]
    word = np.array([words.get(text.casefold(), _NO_WORD) for text in texts], dtype=np.int64)[codes]
    outcome = np.select(
        [item == first, item == second, (item < 0) & (word != _NO_WORD)],
        [FIRST, SECOND, word],
        _NO_WORD,
    )
    wrong = outcome == _NO_WORD
    if wrong.any():
        row = int(wrong.argmax())
        pair = f"{str(items[first[row]])!r} and {str(items[second[row]])!r}"
        raise ValueError(
            f"winners must be one of the two items, 'first', 'second' or 'tie', got "
            f"{texts[codes[row]]!r} for {pair} at {where(row)}. Pass names of items, these words, "
            "or numbers (1, 0.5, 0)."
        )
    return outcome.astype(np.int64)


def are_numbers(values: Any, items: NDArray[np.str_]) -> bool:
    """Whether values are 1, 0.5 and 0, or numbers as text, and none of them names an item.

    It is an error if the numbers could be names of items as well.
    """
    array = convert_to_values(values)
    if array.dtype.kind == "b":
        return True
    texts = {
        str(value)
        for value in (np.unique(array) if array.dtype.kind in "iuf" else set(array.tolist()))
    }
    try:
        found = {float(text) for text in texts}
    except ValueError:
        return False
    if not found <= NUMBERS.keys():
        return False
    shared = ({f"{number:g}" for number in found} | texts) & {*items.tolist()}
    if shared:
        raise ValueError(
            f"winners {sorted(shared)} could be names of items or results (1, 0.5, 0). Write "
            "'first', 'second' and 'tie', or rename the items."
        )
    return True


def _code_numbers(values: Any, where: Where) -> Int64Array:
    array = convert_to_values(values)
    try:
        results = array.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"outcomes must be numbers, got dtype {array.dtype}. Pass 1, 0.5 and 0."
        ) from None
    outcome = np.select([results == 1.0, results == 0.5, results == 0.0], [FIRST, TIE, SECOND], -1)
    wrong = outcome < 0
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            "outcomes must be 1 (the first item won), 0.5 (a tie) or 0 (the second won), got "
            f"{results[row]:g} at {where(row)}. Recode them, or pass names of winners."
        )
    return outcome.astype(np.int64)
