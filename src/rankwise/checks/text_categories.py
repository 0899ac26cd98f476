"""Text in the columns of a table: what it is to people, and its codes as categories.

Dates and numbers with units are neither numbers that can be computed with nor categories, whose
order would be lost: columns of them are left out with a note. In the matrix of a table's rows, a
column of categories holds codes, positions in a list of its categories. Estimators that take
categories get a frame with the text, so that a saved model knows its categories by their text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankwise.runtime.arrow import pa
from rankwise.runtime.frames import convert_to_array, is_missing
from rankwise.typing import Float64Array

if TYPE_CHECKING:
    import narwhals as nw


# Kinds of text that are numbers or dates to people; the kind of a column adds an example.
UNITS, NUMBERS_AS_TEXT, DATES = "numbers with units", "numbers as text", "dates"
DECIMAL_COMMAS = "numbers with decimal commas"
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
# A comma that marks no thousands: "1,5" and "0,125", but not "4,089", which may be either.
_COMMA = re.compile(r"[+-]?(?:\d+,(?!\d{3}$)\d+|0\d*,\d{3}|\d{4,},\d{3}|\d{1,3}(?:\.\d{3})+,\d+)")
_SIGNS = re.compile(r"[%\u2030\u00b0\u2032\u2033\"\u00b2\u00b3$\u20ac\u00a3\u00a5\u20a0-\u20cf#]")


def kind_of_text(counts: Mapping[Any, int], n_plain: int = 0) -> str:
    """What a column of text holds to people: "text", or dates or numbers, with an example.

    Dates are so called if most filled cells are dates or times. Numbers with units need a unit that
    nothing else is (%, EUR, km, a mark for thousands) in one of the cells, or one that more than
    half of the cells share ("5 stars"); most cells are then numbers with or without it. Numbers
    have decimal commas if one of them has, and none has a unit or another mark. Numbers as
    text have a decimal point or an exponent; whole numbers may be codes, so they are text.
    ``counts`` are rows per value, where only text is looked at; ``n_plain`` further cells hold
    plain numbers.
    """
    cells = {str(value).strip(): n for value, n in counts.items() if isinstance(value, str)}
    filled = sum(cells.values()) + n_plain
    n_dates, n_numbers = 0, n_plain
    date = amount = decimal = fraction = comma = ""
    marked = False
    n_large = 0
    shared: Counter[str] = Counter()
    for cell, n in cells.items():
        if len(cell) > 60:
            continue
        if _DATE.fullmatch(cell):
            n_dates += n
            date = date or cell
        elif _COMPOUND.fullmatch(cell):
            n_numbers, amount, marked = n_numbers + n, amount or cell, True
        elif found := _AMOUNT.fullmatch(re.sub(r"(?<=\d)[.,][-\u2013\u2014]{1,2}$", ",00", cell)):
            before, after = found["before"].lower(), (found["after"] or "").strip()
            after = after.lower() if len(after) > 1 else after  # "5 m", but not "5M"
            if not before and not after:
                n_numbers += n
                if not re.fullmatch(r"[+-]?\d*\.?\d*(e[+-]?\d+)?", cell.lower()):
                    amount = amount or cell
                    comma = comma or (cell if _COMMA.fullmatch(cell) else "")
                    marked = marked or not re.fullmatch(r"[+-]?\d[\d.]*,\d+", cell)
                elif not cell.lstrip("+-").isdecimal():
                    decimal = decimal or cell
            elif _is_unit(before, _BEFORE) and _is_unit(after, _AFTER):
                n_numbers += n
                amount, marked = amount or cell, True
            elif after in _MILLIONS and not before:
                n_large += n
                fraction = fraction or (cell if "." in cell else "")
            elif not before and (len(after) > 1 or after == "x") and not _CLOTHING.fullmatch(after):
                shared[after] += n
    if 2 * n_dates > filled:
        return f"{DATES}, such as {date!r}"
    if fraction:
        n_numbers, amount, marked = n_numbers + n_large, amount or fraction, True
    (unit, n_shared), *_ = shared.most_common(1) or [("", 0)]
    with_unit = [cell for cell in cells if unit and cell.lower().endswith(unit)]
    if 2 * n_shared > filled and len(with_unit) > 1:
        n_numbers, amount, marked = n_numbers + n_shared, amount or with_unit[0], True
    if 2 * n_numbers > filled and comma and not (marked or decimal):
        return f"{DECIMAL_COMMAS}, such as {comma!r}"
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


# Categories of each nominal column, by its number.
Categories = Mapping[int, NDArray[Any]]


def encode_texts(column: nw.Series[Any]) -> tuple[Float64Array, NDArray[Any]]:
    """Codes of a column of text, and its distinct values, ascending.

    Missing values and empty text are NaN.
    """
    values = convert_to_array(column.to_native()).tolist()
    known, code_of = _number_categories({v for v in values if not (is_missing(v) or v == "")})
    codes = np.fromiter((code_of.get(value, np.nan) for value in values), float, len(values))
    return codes, known


def _number_categories(values: Collection[Any]) -> tuple[NDArray[Any], dict[Any, float]]:
    """Categories of these values, ascending, and the code of each value.

    Values that are not all numbers count as text, such as intervals and a mixture of numbers and
    text: a column of Arrow has one type.
    """
    are_numbers = all(isinstance(value, int | float) for value in values)
    category_of = {value: value if are_numbers else str(value) for value in values}
    known = sorted({*category_of.values()})
    place_of = {category: float(place) for place, category in enumerate(known)}
    codes = {value: place_of[category] for value, category in category_of.items()}
    return np.array(known, dtype=object), codes


def check_codes(X: Any, names: Sequence[str] | None, categories: Categories) -> None:
    """Raise ValueError if columns of categories lack a name, or hold anything but places and NaN.

    X is the matrix of rows, and ``names`` are those of its columns.
    """
    if names is None or not isinstance(X, np.ndarray):
        raise ValueError(
            "categories need feature_names and an array X. Make them by "
            "RankingData.from_frame(frame, categories=True)."
        )
    for j, known in categories.items():
        if not 0 <= j < X.shape[1]:
            raise ValueError(
                f"categories must be of columns below n_features={X.shape[1]}, got {j}. Number "
                "columns from 0."
            )
        column = X[:, j]
        is_place = (column >= 0) & (column < len(known)) & (column % 1 == 0)
        is_place |= np.isnan(column)
        if not is_place.all():
            row = int(is_place.argmin())
            raise ValueError(
                f"column {j} of X must hold places in its {len(known)} categories, or NaN, got "
                f"{column[row]} at row {row}. Encode the text as such places."
            )


def join_coded(
    parts: Sequence[tuple[NDArray[Any], Categories]],
) -> tuple[NDArray[Any], dict[int, NDArray[Any]]]:
    """Rows of several tables with the same columns, and their categories together."""
    joined = np.concatenate([X for X, _ in parts])
    stops = np.cumsum([len(X) for X, _ in parts])[:-1]
    views = zip(np.split(joined, stops), (categories for _, categories in parts), strict=True)
    return joined, share_codes_inplace([*views])


def share_codes_inplace(
    parts: Sequence[tuple[NDArray[Any], Categories]],
) -> dict[int, NDArray[Any]]:
    """Categories of several tables with the same columns together; rewrites the codes in X."""
    together: dict[int, NDArray[Any]] = {}
    for j in parts[0][1]:
        values = {value for _, categories in parts for value in categories[j].tolist()}
        together[j], code_of = _number_categories(values)
        for X, categories in parts:
            # The last entry is the code of missing values, which have no place.
            places = [*(code_of[value] for value in categories[j].tolist()), np.nan]
            codes = np.nan_to_num(X[:, j], nan=len(places) - 1).astype(np.int64)
            X[:, j] = np.array(places)[codes]
    return together


def category_frame(X: NDArray[Any], names: Sequence[str], categories: Categories) -> Any:
    """Arrow table of rows, with the text of the categories in place of codes."""
    columns = []
    for j in range(len(names)):
        values = np.ascontiguousarray(X[:, j])
        if j not in categories:
            columns.append(pa.array(values))
            continue
        missing = np.isnan(values)
        codes = pa.array(np.where(missing, 0, values).astype(np.int32), mask=missing)
        known = categories[j].tolist()
        dictionary = pa.array(known) if known else pa.array(known, pa.string())
        columns.append(pa.DictionaryArray.from_arrays(codes, dictionary))
    return pa.table(columns, names=list(names))
