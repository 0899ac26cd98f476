"""Text analysis: split text into words, fold their case, drop stop words and stem the rest.

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
.. [2] Apache Lucene, StandardTokenizer, ICUNormalizer2Filter (nfkc_cf), and EnglishAnalyzer with
   its stop list of 33 words.
.. [3] Porter, "Snowball: a language for stemming algorithms", 2001.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

from rankwise._packages import missing_package
from rankwise.runtime.array_folder import HEADER

_ENGLISH = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with"
)
LUCENE_STOP_WORDS = frozenset(_ENGLISH.split())
_STOPPED = LUCENE_STOP_WORDS | {""}  # a pattern may match nothing


@dataclass(frozen=True)
class Analyzer:
    """Split text into terms.

    Parameters
    ----------
    pattern : str, optional
        Regular expression that matches one word. None: the words of Unicode text, see Notes.
    lowercase : bool, default=True
        Fold the case of words.
    stop_words : "english", collection of str, or None, default="english"
        Words to drop, compared after case folding. "english": Lucene's list of 33 words.
    stemmer : str or None, default="english"
        Language of a Snowball stemmer, such as "english", "german" or "porter". Stemming needs
        the package snowballstemmer (``pip install rankwise[text]``). None: no stemming.

    Raises
    ------
    ValueError
        If the pattern is not a regular expression or has groups, or the stop list or stemmer is
        unknown.
    TypeError
        If a parameter is of another type.
    ImportError
        If ``stemmer`` is set and snowballstemmer is not installed.

    Notes
    -----
    Text is normalised to NFKC first: composed and decomposed, full-width and half-width spellings
    are one. Folding the case maps ß to ss, the final sigma to σ and İ to i. Accents are kept:
    "cafe" does not find "café". Soft hyphens, joiners, variation selectors and skin tones are
    removed, and so are the vowel signs of Arabic and Hebrew, which most texts leave out, and the
    Arabic tatweel. Other forms of a letter, as of alef, differ; ``stemmer="arabic"`` unites them.

    Words are runs of letters, digits and underscores, with the marks that combine with them. In
    scripts that put no blanks between words, a term is

    - one ideograph (Chinese, Japanese, Korean) or one letter of Hiragana, as in Lucene's
      StandardTokenizer; a run of Katakana is a word;
    - one letter with its marks in Thai, Lao, Khmer, Burmese and related scripts, whose words only a
      dictionary can tell. A query that is a part of a sentence finds it. For words, pass a
      segmenter of the language as ``analyzer`` of :class:`TextIndex`.

    A run of Hangul is a word. An emoji is a term of its own.

    Examples
    --------
    >>> from rankwise.text import Analyzer
    >>> Analyzer(stemmer=None)("The Art of Ranking, ranked")
    ['art', 'ranking', 'ranked']
    >>> Analyzer(stemmer=None)("STRASSE = Straße, 東京タワー")
    ['strasse', 'strasse', '東', '京', 'タワー']
    """

    pattern: str | None = None
    lowercase: bool = True
    stop_words: str | Collection[str] | None = "english"
    stemmer: str | None = "english"
    _stems: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.stop_words, str) and self.stop_words != "english":
            raise ValueError(
                f"stop_words must be 'english', a collection or None, got {self.stop_words!r}. "
                "Pass the words of another language."
            )
        if not isinstance(self.lowercase, bool):
            raise TypeError(f"lowercase must be True or False, got {self.lowercase!r}.")
        if self.stop_words is not None and not isinstance(self.stop_words, str):
            if not isinstance(self.stop_words, Iterable):
                raise TypeError(
                    f"stop_words must be 'english', a collection or None, got {self.stop_words!r}."
                )
            words = set(self.stop_words)
            if other := [word for word in words if not isinstance(word, str)]:
                raise TypeError(f"stop_words must be text, got {other[0]!r}.")
            object.__setattr__(self, "stop_words", tuple(sorted(words)))
        for name in ("pattern", "stemmer"):
            if not isinstance(getattr(self, name), str | None):
                raise TypeError(f"{name} must be text or None, got {getattr(self, name)!r}.")
        _ = self._words, self._stem

    def __call__(self, text: str) -> list[str]:
        """Terms of a text, in their order of occurrence."""
        if text.isascii():
            words = self._ascii_words(text.lower() if self.lowercase else text)
        else:
            words = self._words(normalize_text(text, fold_case=self.lowercase))
        stopped, stems, stem = self._stopped, self._stems, self._stem
        if stem is None:
            return [word for word in words if word not in stopped]
        terms = []
        for word in words:
            if word not in stopped:
                found = stems.get(word)
                if found is None:
                    found = stems[word] = stem(word)
                terms.append(found)
        return terms

    def settings(self) -> dict[str, Any]:
        """The parameters as JSON values."""
        stop_words = self.stop_words
        return {
            "pattern": self.pattern,
            "lowercase": self.lowercase,
            "stop_words": list(stop_words) if isinstance(stop_words, tuple) else stop_words,
            "stemmer": self.stemmer,
        }

    @cached_property
    def _words(self) -> Callable[[str], list[str]]:
        if self.pattern is None:
            return split_words
        try:
            compiled = re.compile(self.pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"pattern is not a regular expression: {error}.") from None
        if compiled.groups:
            raise ValueError(
                f"pattern must match words as a whole, got groups in {self.pattern!r}. Write (?:…)."
            )
        return compiled.findall

    @cached_property
    def _ascii_words(self) -> Callable[[str], list[str]]:
        """As ``_words``, for texts that need no rules of Unicode."""
        return split_ascii if self.pattern is None else self._words

    @cached_property
    def _stopped(self) -> frozenset[str]:
        if isinstance(self.stop_words, str):
            return _STOPPED
        words = self.stop_words or ()
        return frozenset(normalize_text(word, fold_case=self.lowercase) for word in words) | {""}

    @cached_property
    def _stem(self) -> Callable[[str], str] | None:
        if self.stemmer is None:
            return None
        try:
            import snowballstemmer
        except ImportError as error:
            raise missing_package(f"stemmer={self.stemmer!r}", "snowballstemmer") from error
        if self.stemmer not in snowballstemmer.algorithms():
            known = ", ".join(snowballstemmer.algorithms())
            raise ValueError(f"stemmer must be None or one of {known}, got {self.stemmer!r}.")
        return partial(_stem_word, self.stemmer)


def _stem_word(stemmer: str, word: str) -> str:
    import snowballstemmer

    # A stemmer keeps the word that it works on, so threads cannot share one. Making one takes 1 %
    # of the time of a word.
    return snowballstemmer.stemmer(stemmer).stemWord(word)


# Its terms are saved, to tell the analyzer from another one that is passed to load.
_SAMPLE = (
    "The Quick-Brown foxes, running at 3.5 km/h in Zürich's woods: naïve ÉTUDES cafe\u0301 STRASSE "
    "straße ΟΔΟΣ İzmir ﬁre ｆｕｌｌ soft\u00adhyphen 東京のタワー 한국어 ภาษาไทย हिन्दी "
    "مُحَمَّد שָׁלוֹם 👍🏽"
)


def describe_analyzer(analyzer: Callable[[str], Sequence[str]]) -> dict[str, Any]:
    """JSON values that tell an analyzer from others: its settings and the terms of a sample."""
    settings = analyzer.settings() if isinstance(analyzer, Analyzer) else None
    return {"analyzer": settings, "sample": [str(term) for term in analyzer(_SAMPLE)]}


def load_analyzer(
    facts: Mapping[str, Any], folder: Path, analyzer: Callable[[str], Sequence[str]] | None
) -> Callable[[str], Sequence[str]]:
    """The analyzer that :func:`describe_analyzer` described, or the same one passed by the caller.

    Another analyzer raises ValueError, and so does none in place of one that cannot be stored.
    """
    settings = facts["analyzer"]
    saved = None
    if settings is not None:
        try:
            saved = Analyzer(**settings)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{folder / HEADER}: analyzer cannot be used: {error}") from None
    if analyzer is None:
        if saved is None:
            raise ValueError(
                f"{folder} was made with an analyzer of your own. Pass analyzer=… to load."
            )
        analyzer = saved
    elif saved and isinstance(analyzer, Analyzer) and analyzer.settings() != settings:
        raise ValueError(f"{folder} was made with {saved}, got {analyzer}. Leave out analyzer.")
    sample = [str(term) for term in analyzer(_SAMPLE)]
    if sample != facts["sample"]:
        raise ValueError(
            f"{folder} was made with another analyzer: of {_SAMPLE!r} it made "
            f"{facts['sample']}, this one makes {sample}. Pass that analyzer, or build the "
            "index anew."
        )
    return analyzer


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
