"""Words of Unicode text: one spelling of each character, and word boundaries by script.

Characters are normalised to NFKC, so composed and decomposed, full-width and half-width spellings
are one. Case is folded (ß becomes ss, the final sigma σ), and the capital İ becomes i. Characters
that only control the layout, such as the soft hyphen, joiners and variation selectors, are removed,
and so are the vowel signs of Arabic and Hebrew and the tatweel. (Lucene's ArabicNormalizer removes
those of Arabic, and unites forms of letters, which are kept apart here.) No other mark is removed,
and none ends a word.

Words are runs of letters, digits and underscores with their marks, as in [1]_ but for apostrophes
and points, which separate words. In scripts without blanks between words, a term is

- one ideograph or one letter of Hiragana, as in Lucene's StandardTokenizer [2]_;
- a run of Katakana (runs of Hangul are words, as those of Latin letters);
- one letter with its marks in Thai, Lao, Khmer, Burmese and related scripts, because only a
  dictionary can tell their words. Every part of a sentence that begins and ends between letters
  finds the sentence;
- one emoji, without its skin tone.

References
----------
.. [1] Unicode Standard Annex #29 on words, and Annex #15 on normal forms.
.. [2] Apache Lucene, StandardTokenizer and ICUNormalizer2Filter (nfkc_cf).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

# Layout controls: default ignorable code points, but for the blank of no width, which separates.
_REMOVED = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff]+"
)
# In texts of other characters only, runs of \w are the words: Latin, Greek, Cyrillic and Armenian
# letters without marks, punctuation and signs.
_NEEDS_SCRIPTS = re.compile(
    "[^\u0000-\u02ff\u0370-\u0482\u048a-\u058f\u1e00-\u1fff\u2000-\u20cf\u2100-\u2319\u2400-\u25ff]"
)
split_ascii = re.compile(r"\w+").findall
_IDEOGRAPHS_AND_HIRAGANA = (
    (0x3005, 0x3007), (0x3021, 0x3029), (0x3038, 0x303B), (0x3041, 0x3096), (0x309D, 0x309F),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x17000, 0x18DFF), (0x1B001, 0x1B11F),
    (0x1B132, 0x1B132), (0x1B150, 0x1B152), (0x1B170, 0x1B2FF), (0x20000, 0x3FFFD),
)  # fmt: skip
_KATAKANA = (
    (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0x1AFF0, 0x1AFFE), (0x1B000, 0x1B000),
    (0x1B120, 0x1B122), (0x1B155, 0x1B155), (0x1B164, 0x1B167),
)  # fmt: skip
# Thai and Lao, Burmese, Khmer, Tai Le and New Tai Lue, Tai Tham, Balinese, Javanese and extended
# Burmese, Tai Viet, Ahom.
_SOUTHEAST_ASIAN = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x19DF), (0x1A20, 0x1AAF),
    (0x1B00, 0x1B7F), (0xA980, 0xA9FF), (0xAA60, 0xAADF), (0x11700, 0x1174F),
)  # fmt: skip
# Vowel signs, which Arabic and Hebrew are usually written without, and the Arabic tatweel, which
# only stretches a word. Composed letters keep what is not in the list (hamza and madda).
_OPTIONAL_SIGNS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u0652\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]+"
)
_EMOJI = (
    (0x231A, 0x231B), (0x23E9, 0x23F3), (0x23F8, 0x23FA), (0x2600, 0x27BF), (0x2B05, 0x2B07),
    (0x2B1B, 0x2B1C), (0x2B50, 0x2B55), (0x1F000, 0x1FAFF),
)  # fmt: skip
_LAST_PLANE_WITH_MARKS = 0x1FFFF


def normalize_text(text: str, *, fold_case: bool) -> str:
    """Spell every character in one way; ``fold_case`` also folds the case."""
    text = _OPTIONAL_SIGNS.sub("", unicodedata.normalize("NFKC", _REMOVED.sub("", text)))
    if not fold_case:
        return text
    return unicodedata.normalize("NFKC", text.casefold()).replace("i\u0307", "i")


def split_words(text: str) -> list[str]:
    """Words of a normalised text, in their order."""
    if _NEEDS_SCRIPTS.search(text) is None:
        return split_ascii(text)
    return _find_by_script()(text)


@lru_cache(maxsize=1)
def _find_by_script() -> Callable[[str], list[str]]:
    """Function that finds the words of all scripts; reading the categories takes milliseconds."""
    category = [unicodedata.category(chr(code)) for code in range(_LAST_PLANE_WITH_MARKS + 1)]
    marks = _class_of(code for code, kind in enumerate(category) if kind[0] == "M")
    katakana = _ranges(_KATAKANA)
    single = _ranges(_IDEOGRAPHS_AND_HIRAGANA) + _class_of(
        code
        for blocks, kinds in ((_SOUTHEAST_ASIAN, ("Lo", "Lm")), (_EMOJI, ("So",)))
        for first, last in blocks
        for code in range(first, last + 1)
        if category[code] in kinds
    )
    return re.compile(
        rf"[{single}][{marks}]*|(?:[{katakana}][{marks}]*)+|(?:[^\W{single}{katakana}]+[{marks}]*)+"
    ).findall


def _ranges(ranges: Iterable[tuple[int, int]]) -> str:
    """Part of a character class."""
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


def _class_of(codes: Iterable[int]) -> str:
    """Part of a character class, of the runs of some ascending code points."""
    ranges: list[tuple[int, int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = ranges[-1][0], code
        else:
            ranges.append((code, code))
    return _ranges(ranges)
