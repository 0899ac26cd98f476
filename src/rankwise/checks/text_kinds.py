"""What text in a column is to people: dates, numbers with units, or text.

One rule for all readers of tables. Dates and numbers with units are neither numbers that can be
computed with nor categories, whose order would be lost: columns of them are left out with a note.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

# Kinds of text that are numbers or dates to people; the kind of a column adds an example.
UNITS, NUMBERS_AS_TEXT, DATES = "numbers with units", "numbers as text", "dates"
# Rows whose text says what a column holds where only a note needs it.
SAMPLE_ROWS = 10_000

_DAY, _MONTH = (
    r"(?:0?[1-9]|[12]\d|3[01])",
    (
        r"(?:jan|feb|f\xe9v|mar|m\xe4r|mrz|apr|avr|abr|may|mai|maj|mag|jun|juin|giu|jul|juil|lug|aug|"
        r"ago|ao[u\xfb]|sep|set|okt|oct|ott|out|nov|dec|dez|d\xe9c|dic|ene|gen)[a-z\xe0-\xff]*\.?"
    ),
)
_CLOCK = (
    r"(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-6]\d(?:[.,]\d+)?)?\s*(?:[ap]\.?m\.?)?"
    r"\s*(?:z|utc|gmt|[a-z]{3,4}|[+-]\d\d:?(?:\d\d)?)?(?:\[[\w/]+\])?"
)
_YEAR = r"(?:1[5-9]|2[01])\d\d"
_CALENDAR = "|".join((
    rf"\d{{4}}[-/.]{_DAY}[-/.]{_DAY}",
    rf"{_YEAR}[-/](?:0[1-9]|1[0-2])",
    rf"(?:0?[1-9]|1[0-2])[-/]{_YEAR}",
    rf"{_DAY}([-/.])\s?{_DAY}\1\s?(?:\d\d|\d{{4}})",
    rf"{_DAY}(?:\.|st|nd|rd|th)?[\s-]*(?:of |de )?{_MONTH},?(?: de)?(?:[\s-]*'?(?:\d\d|\d{{4}}))?",
    rf"{_MONTH}[\s-]*{_DAY}(?:st|nd|rd|th)?(?:,?\s*\d{{4}})?",
    rf"{_MONTH},?[\s-]*{_YEAR}",
    rf"{_YEAR}[\s-]*{_MONTH}[\s-]*{_DAY}",
    rf"{_YEAR}[\s-]?(?:q[1-4]|w[0-5]\d(?:-?[1-7])?)",
    rf"q[1-4][\s/-]?{_YEAR}",
    r"\d{4}\s?\u5e74\s?\d{1,2}\s?\u6708(?:\s?\d{1,2}\s?\u65e5)?",
    rf"(?:[a-z\xe0-\xff]{{2,10}}\.?,?\s+){_MONTH}\s+\d{{1,2}}\s+{_CLOCK}\s+{_YEAR}",
))  # fmt: skip
_DATE = re.compile(
    rf"(?:(?:mon|tue|wed|thu|fri|sat|sun|mo|di|mi|do|fr|sa|so)[a-z]*\.?,?\s+)?(?:{_CALENDAR})"
    rf"(?:(?:t|,?\s+)(?:at |um )?{_CLOCK})?|{_CLOCK}",
    re.IGNORECASE,
)
# Plain numbers, with marks for thousands or a decimal comma, or with what stands around them.
_NUMBER = r"(?:\d+(?:[.,'\u2019\u00a0\u202f ]\d{3})*(?:[.,]\d+)?|[.,]\d+)(?:e[+-]?\d+)?"
_AMOUNT = re.compile(
    rf"\(?(?P<sign>[<>\u2264\u2265~\u2248\u00b1]?)\s*[+\u2212-]?(?P<before>(?:[^\d\s.,()+-]+\.?\s*)?)"
    rf"[+\u2212-]?(?P<number>{_NUMBER})\s*(?P<after>[^\d\s.,()][^\d.,()]{{0,19}})?\)?",
    re.IGNORECASE,
)
_CURRENCIES = (
    "eur usd gbp chf jpy cny rmb inr aud cad nzd sek nok dkk pln czk huf rub try brl mxn zar krw "
    "sgd hkd thb idr ils aed sar ron bgn uah vnd myr php ars clp cop pen egp ngn twd euro euros "
    "dollar dollars pound pounds yen cent cents fr kr rs rm rp tl z\u0142 k\u010d"
)
_MEASURES = (
    "mm cm dm m km in inch inches ft yd mi mile miles nm um mg g kg t lb lbs oz ml cl l gal s sec "
    "secs ms min mins h hr hrs hour hours day days week weeks month months year years yr yrs hz "
    "khz mhz ghz w kw kwh mah kb mb gb tb kib mib gib px pt dpi mph kmh bar psi kcal cal kj mio "
    "mrd mn bn k K million millions billion billions lakh lakhs crore crores minute minutes second "
    "seconds feet foot mbps gbps"
)
_BEFORE = frozenset(_CURRENCIES.split())
_AFTER = _BEFORE | {*_MEASURES.split()}
# Several units in one cell, as in 5'10" or 2h 30m.
_TIMES = (
    r"years?|yrs?|y|months?|mo|weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s"
)
_COMPOUND = re.compile(
    r"\d+\s*(?:ft\.?|feet|foot|['\u2032\u2019])\s*\d+(?:\.\d+)?\s*(?:in\.?|inch(?:es)?|\"|''|[\u2033\u201d])?"
    r"|\d+\s*(?:lbs?|pounds?)\.?\s*\d+(?:\.\d+)?\s*(?:oz|ounces?)\.?"
    rf"|(?:\d+\s*(?:{_TIMES})(?:[\s,]+(?:and\s+)?|(?=\d)|$)){{2,}}",
    re.IGNORECASE,
)
_CLOTHING = re.compile("x*[sml]|x+l")  # 2XL and 3XL are sizes, not amounts
_MILLIONS = ("M", "B", "T")  # units if a cell has a fraction: 1.2M and 3M, but not 3M alone
_SIGNS = re.compile(r"[%\u2030\u00b0\u2032\u2033\"\u00b2\u00b3$\u20ac\u00a3\u00a5\u20a0-\u20cf#]")


def kind_of_text(counts: Mapping[Any, int], n_plain: int = 0) -> str:
    """What a column of text holds to people: "text", or dates or numbers, with an example.

    Dates are so called if most filled cells are dates or times. Numbers with units need a unit that
    nothing else is (%, EUR, km, a mark for thousands) in one of the cells, or one that more than
    half of the cells share ("5 stars"); most cells are then numbers with or without it. Numbers as
    text have a decimal point or an exponent; whole numbers may be codes, so they are text.
    ``counts`` are rows per value, where only text is looked at; ``n_plain`` further cells hold
    plain numbers.
    """
    cells = {str(value).strip(): n for value, n in counts.items() if isinstance(value, str)}
    filled = sum(cells.values()) + n_plain
    n_dates, n_numbers = 0, n_plain
    date = amount = decimal = fraction = ""
    n_large = 0
    shared: Counter[str] = Counter()
    for cell, n in cells.items():
        if len(cell) > 60:
            continue
        if _DATE.fullmatch(cell):
            n_dates += n
            date = date or cell
        elif _COMPOUND.fullmatch(cell):
            n_numbers, amount = n_numbers + n, amount or cell
        elif found := _AMOUNT.fullmatch(re.sub(r"(?<=\d)[.,][-\u2013\u2014]{1,2}$", ",00", cell)):
            before, after = found["before"].lower(), (found["after"] or "").strip()
            after = after.lower() if len(after) > 1 else after  # "5 m", but not "5M"
            if not before and not after:
                n_numbers += n
                if not amount and not re.fullmatch(r"[+-]?\d*\.?\d*(e[+-]?\d+)?", cell.lower()):
                    amount = cell
                elif not cell.lstrip("+-").isdecimal():
                    decimal = decimal or cell
            elif _is_unit(before, _BEFORE) and _is_unit(after, _AFTER):
                n_numbers += n
                amount = amount or cell
            elif after in _MILLIONS and not before:
                n_large += n
                fraction = fraction or (cell if "." in cell else "")
            elif not before and (len(after) > 1 or after == "x") and not _CLOTHING.fullmatch(after):
                shared[after] += n
    if 2 * n_dates > filled:
        return f"{DATES}, such as {date!r}"
    if fraction:
        n_numbers, amount = n_numbers + n_large, amount or fraction
    (unit, n_shared), *_ = shared.most_common(1) or [("", 0)]
    with_unit = [cell for cell in cells if unit and cell.lower().endswith(unit)]
    if 2 * n_shared > filled and len(with_unit) > 1:
        n_numbers, amount = n_numbers + n_shared, amount or with_unit[0]
    if 2 * n_numbers > filled and (amount or decimal):
        return f"{UNITS if amount else NUMBERS_AS_TEXT}, such as {amount or decimal!r}"
    return "text"


def _is_unit(text: str, known: Collection[str]) -> bool:
    """Whether text around a number is nothing, a sign or a known unit."""
    plain = _SIGNS.sub("", text).strip(" ./")
    if len(plain) <= 2 and plain != text.strip(" ./"):
        return True  # a sign, perhaps with letters: "US$", "\u00b0C", "m\u00b2"
    # "kr 30", but not "RS5", as codes are written
    is_code = known is _BEFORE and len(plain) == 2 and not text.endswith((" ", "."))
    return not plain or (not is_code and all(part in known for part in re.split(r"[\s/]+", plain)))


def count_values(values: Iterable[Any]) -> Counter[Any]:
    """Number of rows of each value that is text."""
    return Counter(value for value in values if isinstance(value, str) and value.strip())
