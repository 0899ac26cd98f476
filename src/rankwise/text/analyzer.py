"""Text analysis: split text into words, lower-case them, drop stop words and stem the rest.

References
----------
.. [1] Unicode Standard Annex #29 on words; here, runs of word characters.
.. [2] Apache Lucene, EnglishAnalyzer: the stop list of 33 words.
.. [3] Porter, "Snowball: a language for stemming algorithms", 2001.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

_ENGLISH = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with"
)
LUCENE_STOP_WORDS = frozenset(_ENGLISH.split())


@dataclass(frozen=True)
class Analyzer:
    """Split text into terms.

    Parameters
    ----------
    pattern : str, default=r"\\w+"
        Regular expression that matches one word.
    lowercase : bool, default=True
        Convert words to lower case.
    stop_words : "english", collection of str, or None, default="english"
        Words to drop, compared after lower-casing. "english": Lucene's list of 33 words.
    stemmer : str or None, default="english"
        Language of a Snowball stemmer, such as "english", "german" or "porter". Stemming needs
        the package snowballstemmer (``pip install rankwise[text]``). None: no stemming.

    Raises
    ------
    ValueError
        If the pattern is not a regular expression, or the stop list or stemmer is unknown.
    ImportError
        If ``stemmer`` is set and snowballstemmer is not installed.

    Examples
    --------
    >>> from rankwise.text import Analyzer
    >>> Analyzer(stemmer=None)("The Art of Ranking, ranked")
    ['art', 'ranking', 'ranked']
    """

    pattern: str = r"\w+"
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
        if self.stop_words is not None and not isinstance(self.stop_words, str):
            object.__setattr__(self, "stop_words", tuple(sorted(set(self.stop_words))))
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"pattern is not a regular expression: {error}.") from None
        _ = self._stem

    def __call__(self, text: str) -> list[str]:
        """Terms of a text, in their order of occurrence."""
        words = self._words(text.lower() if self.lowercase else text)
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
        return re.compile(self.pattern).findall

    @cached_property
    def _stopped(self) -> frozenset[str]:
        if isinstance(self.stop_words, str):
            return LUCENE_STOP_WORDS
        return frozenset(self.stop_words or ())

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
        return snowballstemmer.stemmer(self.stemmer).stemWord
