"""Words of all scripts: what an analyzer finds in a text, and which queries find it."""

from __future__ import annotations

import json
import pickle
import sys
import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.text import Analyzer, QueryDocumentFeatures, TextIndex
from rankwise.text.analyzer import normalize_text

PLAIN = Analyzer(stop_words=None, stemmer=None)

TERMS = {
    "Chinese": ("東京都に住む", ["東", "京", "都", "に", "住", "む"]),
    "beyond 16 bits": ("𠮷野家", ["𠮷", "野", "家"]),
    "Katakana": ("コーヒーと紅茶", ["コーヒー", "と", "紅", "茶"]),
    "ends of blocks": ("々〇㐀䶿一𗀀𛅰𛋻\U00020000", list("々〇㐀䶿一𗀀𛅰𛋻\U00020000")),
    "half-width Katakana": ("ｶﾞｷﾞ", ["ガギ"]),
    "Korean": ("한국어 검색", ["한국어", "검색"]),
    "decomposed Korean": (unicodedata.normalize("NFD", "한국어 검색"), ["한국어", "검색"]),
    "Thai": ("ภาษาไทยดี", ["ภ", "า", "ษ", "า", "ไ", "ท", "ย", "ดี"]),
    "Thai digits": ("ห้อง ๑๒", ["ห้", "อ", "ง", "๑๒"]),
    "Lao": ("ພາສາ", ["ພ", "າ", "ສ", "າ"]),
    "Khmer": ("ភាសា", ["ភា", "សា"]),
    "Burmese": ("မြန်မာ", ["မြ", "န်", "မာ"]),
    "Hindi": ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    "Arabic with and without vowels": ("مُحَمَّد محـــمد محمد", ["محمد"] * 3),
    "Arabic letters with marks": ("آية أب إن مؤمن", ["آية", "أب", "إن", "مؤمن"]),
    "Koran": ("ٱلرَّحْمَٰنِ", ["ٱلرحمن"]),
    "Arabic ligature": ("ﻻ", ["لا"]),
    "Hebrew with and without points": ("שָׁלוֹם שלום עוֹלָם", ["שלום", "שלום", "עולם"]),
    "Hebrew letters of one sign": ("\ufb2a\ufb4b", ["שו"]),
    "Hebrew maqaf": ("בֵּית־סֵפֶר", ["בית", "ספר"]),
    "Vietnamese": ("Tiếng Việt", ["tiếng", "việt"]),
    "Bengali": ("বাংলা ভাষা", ["বাংলা", "ভাষা"]),
    "Tamil": ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
    "Tibetan": ("བོད་ཡིག", ["བོད", "ཡིག"]),
    "Syriac": ("ܫܠܳܡܳܐ", ["ܫܠܳܡܳܐ"]),
    "Thaana": ("ދިވެހި", ["ދިވެހި"]),
    "N'Ko": ("ߒߞߏ߫", ["ߒߞߏ߫"]),
    "Cyrillic with stress": ("е\u0301да", ["е\u0301да"]),
    "Persian with a joiner": ("می\u200cخواهم", ["میخواهم"]),
    "mixed": ("abc東京tower2020", ["abc", "東", "京", "tower2020"]),
    "full width": ("Ｆｕｌｌ　ｗｉｄｔｈ１", ["full", "width1"]),
    "ligature": ("ﬁre", ["fire"]),
    "decomposed": ("cafe\u0301 CAFÉ", ["café", "café"]),
    "two marks in any order": ("q\u0323\u0307 q\u0307\u0323", ["q\u0323\u0307"] * 2),
    "sharp s": ("STRASSE Straße", ["strasse", "strasse"]),
    "dotted I": ("İstanbul istanbul", ["istanbul", "istanbul"]),
    "final sigma": ("ΟΔΟΣ οδος", ["οδοσ", "οδοσ"]),
    "soft hyphen": ("soft\u00adhyphen", ["softhyphen"]),
    "blank of no width": ("one\u200btwo ก\u200bข", ["one", "two", "ก", "ข"]),
    "separators": ("a\u2028b\u0085c\x0bd\u00a0e", ["a", "b", "c", "d", "e"]),
    "emoji": ("👍🏽 👨\u200d👩 ☕\ufe0f!", ["👍", "👨", "👩", "☕"]),
    "first and last emoji": ("⌚⌛⏩⏳⏸⏺☀➿⬅⬇⬛⬜⭐⭕", list("⌚⌛⏩⏳⏸⏺☀➿⬅⬇⬛⬜⭐⭕")),
    "apostrophes": ("don’t l'été", ["don", "t", "l", "été"]),
    "half of a pair": ("a\ud800b", ["a", "b"]),
}


@pytest.mark.parametrize("name", TERMS)
def test_terms(name):
    text, terms = TERMS[name]
    assert PLAIN(text) == terms
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert PLAIN(unicodedata.normalize(form, text)) == terms


FOUND = [
    ("東京都に住む", "東京"),
    ("東京都に住む", "住む"),
    ("ภาษาไทยดีมาก", "ไทย"),
    ("ภาษาไทยดีมาก", "ดี"),
    ("ພາສາລາວ", "ລາວ"),
    ("ភាសាខ្មែរ", "ខ្មែរ"),
    ("မြန်မာစာ", "စာ"),
    ("アイス コーヒー", "ｺｰﾋｰ"),
    ("caf\u00e9", "cafe\u0301"),
    ("cafe\u0301", "CAF\u00c9"),
    ("Straße", "strasse"),
    ("ΟΔΟΣ", "οδος"),
    ("İzmir", "izmir"),
    ("ＡＢＣ", "abc"),
    ("great 👍🏿", "👍"),
    ("한국어", "\u1112\u1161\u11ab국어"),
    ("قَالَ مُحَمَّدٌ", "محمد"),
    ("قال محمد", "مُحَمَّد"),
    ("שָׁלוֹם", "שלום"),
]


@pytest.mark.parametrize(("text", "query"), FOUND)
@pytest.mark.parametrize("stemmer", [None, "english"])
def test_queries_find_parts_and_other_spellings(text, query, stemmer):
    pytest.importorskip("snowballstemmer")
    index = TextIndex(analyzer=Analyzer(stemmer=stemmer)).add({"other": "x y", "d": text})
    assert index.search(query).doc_ids.tolist() == ["d"]
    features = QueryDocumentFeatures(index)
    X = features.compute([query], ["1"], ["d"])[0]
    for name in ("all_covered", "phrase"):
        assert X[features.feature_names.index(f"{name}(text)")] == 1


def test_stop_words_are_compared_as_words_are():
    words = ["\u00c9t\u00e9", "Straße", "東", "ο\u03b4\u03bfς"]
    analyzer = Analyzer(stop_words=words, stemmer=None)
    assert analyzer("ete\u0301 e\u0301te\u0301 STRASSE 東京 ΟΔΟΣ") == ["eté", "京"]
    pytest.importorskip("snowballstemmer")
    assert Analyzer(stemmer="german", stop_words=None)("Häuser Ha\u0308user") == ["haus", "haus"]
    assert (
        Analyzer(stemmer="greek", stop_words=None)("ΔΡΟΜΟΣ")[0]
        == (Analyzer(stemmer="greek", stop_words=None)("δρόμος".replace("ό", "ο"))[0])
    )


def test_case_may_be_kept():
    analyzer = Analyzer(lowercase=False, stop_words=["Été"], stemmer=None)
    assert analyzer("Cafe\u0301 E\u0301te\u0301 Straße") == ["Café", "Straße"]


def test_a_pattern_of_ones_own_is_used_as_it_is():
    analyzer = Analyzer(pattern=r"[^\W\d]+|\d*", stop_words=None, stemmer=None)
    assert analyzer("東京 Cafe\u0301 12a") == ["東京", "café", "12", "a"]
    for bad, said in (
        ({"pattern": "("}, "pattern is not a regular expression"),
        ({"pattern": r"(\w)(\w)"}, "got groups"),
    ):
        with pytest.raises(ValueError, match=said):
            Analyzer(**bad)
    for bad in ({"pattern": 3}, {"lowercase": 1}, {"stop_words": 3}, {"stop_words": [3]}):
        with pytest.raises(TypeError, match=f"{next(iter(bad))} must be"):
            Analyzer(**bad)


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_text_has_the_words_of_the_pattern(text):
    assert PLAIN(text) == Analyzer(pattern=r"\w+", stop_words=None, stemmer=None)(text)


@given(st.text())
def test_spelling_is_settled_in_one_pass(text):
    once = normalize_text(text, fold_case=True)
    assert normalize_text(once, fold_case=True) == once
    assert PLAIN(once) == PLAIN(text)
    assert PLAIN(unicodedata.normalize("NFC", text)) == PLAIN(unicodedata.normalize("NFD", text))


def test_every_letter_and_digit_is_in_a_word():
    codes = np.arange(0x20000) if sys.maxunicode > 0xFFFF else np.arange(0x10000)
    letters = [chr(code) for code in codes if chr(code).isalnum()]
    for letter in letters:
        text = normalize_text(letter, fold_case=True)
        if any(character.isalnum() for character in text):
            assert PLAIN(letter), json.dumps(letter)


# Endings that the rules of the stemmer cut in several steps.
ENDS = ("ization", "fulness", "ingly", "ational", "iveness", "ously")


def test_threads_share_an_analyzer():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("aeinrst"), 6)) + end for end in ENDS for _ in range(150)]
    expected = Analyzer()(" ".join(words))
    shared, switched = Analyzer(), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda word: shared(word)[0], words))
    finally:
        sys.setswitchinterval(switched)
    assert found == expected
    assert pickle.loads(pickle.dumps(shared))("running") == ["run"]


def test_an_analyzer_of_ones_own_is_called_by_one_thread():
    threads = set()

    def split(text):
        threads.add(threading.get_ident())
        return text.split()

    index = TextIndex(analyzer=split).add({str(n): f"word {n}" for n in range(20)})
    index.search({str(n): f"word {n % 20}" for n in range(500)}, 3)
    assert threads == {threading.get_ident()}
