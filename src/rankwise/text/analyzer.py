"""Text analysis: split text into words, fold their case, drop stop words and stem the rest.

References
----------
.. [1] Apache Lucene, EnglishAnalyzer: the stop list of 33 words.
.. [2] Porter, "Snowball: a language for stemming algorithms", 2001.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from rankwise.runtime.array_folder import HEADER
from rankwise.text.words import normalize_text, split_ascii, split_words

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
            raise ImportError(
                f"stemmer={self.stemmer!r} needs snowballstemmer: pip install rankwise[text], or "
                "pass stemmer=None."
            ) from error
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
