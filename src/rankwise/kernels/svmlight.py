"""SVMlight/LETOR text parsed out of a block of bytes, and checks of external CSR arrays.

A block holds whole lines, ends with a newline and has 16 spare bytes after it. Decimal numbers
become the double nearest to them, bit for bit what ``float`` gives: up to 19 digits by an exact
product or quotient where mantissa and power of ten are exact doubles [1]_, else by a 128-bit
product with a tabulated power of five [2]_, for which no fallback is needed [3]_. More than 19
digits are bracketed by two such numbers. What is left (the bracket straddles a rounding boundary,
subnormal and infinite results, anything that does not look like a number) is reported as *hard*
with its position, and the caller decides. Digits are read eight at a time from a 64-bit word.

O(bytes), no allocation.

References
----------
.. [1] Clinger, "How to read floating point numbers accurately", PLDI 1990.
.. [2] Lemire, "Number parsing at a gigabyte per second", Softw. Pract. Exp. 51 (2021), alg. 1.
.. [3] Mushtak, Lemire, "Fast number parsing without fallback", Softw. Pract. Exp. 53 (2023).
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import leading_zeros, njit, trailing_zeros

# Fields of ``plan`` (what to do) and ``state`` (what happened), both int64.
START, STOP, ROW, BASE, WIDTH, DENSE, TEXT_QID, ROW_STOP, NO_LABEL = range(9)
STATUS, AT, ROWS, ENTRIES, HARD, TEXT, LOWEST, HIGHEST = range(8)
QID_AT, NO_QID_AT, UNORDERED, COSTS = range(8, 12)
N_PLAN, N_STATE = 9, 12

# ``state[STATUS]``: the first two errors are the file's, the next three ask for another plan. The
# last one says that the block has more rows than were counted.
OK, BAD_TOKEN, DUPLICATE, TOO_WIDE, NOT_ASCENDING, QID_IS_TEXT, TOO_MANY_ROWS = range(7)
SPARE_BYTES = 16
LARGEST_INDEX = (1 << 31) - 1
NO_INDEX = 1 << 40
_U0, _U1, _U2, _U3, _U4, _U5, _U6, _U7, _U8 = (np.uint64(k) for k in range(9))
_U9, _U10, _U16, _U19, _U24, _U32 = (np.uint64(k) for k in (9, 10, 16, 19, 24, 32))
_U40, _U48, _U52, _U56, _U63, _U64 = (np.uint64(k) for k in (40, 48, 52, 56, 63, 64))
_NINE_BITS, _52_BITS, _53_BITS, _63_BITS = (np.uint64((1 << k) - 1) for k in (9, 52, 53, 63))
_LOW_32 = np.uint64((1 << 32) - 1)
_ZEROS = np.uint64(0x3030303030303030)  # "0" in every byte
_SIXES = np.uint64(0x0606060606060606)
_HIGH_NIBBLES = np.uint64(0xF0F0F0F0F0F0F0F0)
_ONES, _HIGH_BITS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_NEWLINES = np.uint64(0x0A0A0A0A0A0A0A0A)
_PAIRS = np.uint64(0x000000FF000000FF)
_WEIGHTS_ODD, _WEIGHTS_EVEN = np.uint64(0x000F424000000064), np.uint64(0x0000271000000001)
_LOWER, _THREE_BYTES = np.uint64(0x202020), np.uint64(0xFFFFFF)
_NAN, _INF = (np.uint64(int.from_bytes(word, "little")) for word in (b"nan", b"inf"))
_QID, _FOUR_BYTES = np.uint64(int.from_bytes(b"qid:", "little")), np.uint64(0xFFFFFFFF)
_COST, _FIVE_BYTES = np.uint64(int.from_bytes(b"cost:", "little")), np.uint64((1 << 40) - 1)
_LARGEST_INDEX, _NO_INDEX = np.uint64(LARGEST_INDEX), np.uint64(NO_INDEX)
_EXACT_POWERS = np.array([float(10**k) for k in range(23)])
_INTEGER_POWERS = np.array([10**k for k in range(20)], dtype=np.uint64)
_LEAST_POWER, _MOST_POWER = -342, 308
_MOST_EXPONENT = 1 << 50  # larger ones decide nothing more, however many digits go before
_SPACE = np.zeros(256, dtype=np.bool_)  # white space; the newline is one
_SPACE[[9, 10, 11, 12, 13, 32]] = True
_ENDS = _SPACE.copy()  # characters that end a number or a query id: white space or "#"
_ENDS[35] = True


def _powers_of_five() -> np.ndarray:
    """128 leading bits of 5^q for q in [-342, 308], as (high, low) words [2]_, section 5.

    Values are truncated, except for q in [-27, -1], where the reciprocal is rounded up.
    """
    words = []
    for q in range(_LEAST_POWER, _MOST_POWER + 1):
        power = 5 ** abs(q)
        length = power.bit_length()
        if q < 0:
            bits = (1 << (length + 127)) // power + (q >= -27)
        else:
            bits = power >> (length - 128) if length > 128 else power << (128 - length)
        words.append((bits >> 64, bits & ((1 << 64) - 1)))
    return np.array(words, dtype=np.uint64)


_FIVES = _powers_of_five()


@njit
def _word(buf, i):
    """Eight bytes from ``i``, the first in the lowest bits (compiles to one load)."""
    return (
        buf[i]
        | buf[i + _U1] << _U8
        | buf[i + _U2] << _U16
        | buf[i + _U3] << _U24
        | buf[i + _U4] << _U32
        | buf[i + _U5] << _U40
        | buf[i + _U6] << _U48
        | buf[i + _U7] << _U56
    )


@njit
def _digits(word):
    """How many of the first bytes of ``word`` are digits, and the number they form."""
    nibbles = word ^ _ZEROS
    # A byte is a digit if it is 0 to 9 after the exclusive or: adding 6 to more reaches the upper
    # half of the byte.
    others = ((nibbles + _SIXES) | nibbles) & _HIGH_NIBBLES
    n = _U8
    if others != _U0:
        n = trailing_zeros(others) >> _U3
        if n == _U0:
            return n, n
        # The digits move up to the last bytes; the zeros below read as leading zeros.
        nibbles <<= _U64 - (n << _U3)
    # Eight digits in three products: pairs of digits, then pairs of pairs, all in one word.
    pairs = nibbles * _U10 + (nibbles >> _U8)
    number = (pairs & _PAIRS) * _WEIGHTS_ODD + ((pairs >> _U16) & _PAIRS) * _WEIGHTS_EVEN
    return n, number >> _U32


@njit
def _high_word(a, b):
    """High 64 bits of the 128-bit product."""
    a_high, a_low, b_high, b_low = a >> _U32, a & _LOW_32, b >> _U32, b & _LOW_32
    middle = a_high * b_low + (a_low * b_low >> _U32)
    return a_high * b_high + (middle >> _U32) + (a_low * b_high + (middle & _LOW_32) >> _U32)


@njit
def _nearest_double(mantissa, power):
    """``mantissa * 10^power`` rounded to the nearest double, and whether that is settled.

    Results below the smallest normal number are not.
    """
    if mantissa == _U0 or power < _LEAST_POWER:
        return 0.0, True
    if power > _MOST_POWER:
        return np.inf, True
    lead = leading_zeros(mantissa)
    shifted = mantissa << lead
    row = power - _LEAST_POWER
    high, low = _high_word(shifted, _FIVES[row, 0]), shifted * _FIVES[row, 0]
    # Only if the nine bits below the result are all ones can the second word of the power carry
    # into it.
    if high & _NINE_BITS == _NINE_BITS:
        more = _high_word(shifted, _FIVES[row, 1])
        low += more
        if low < more:
            high += _U1
    # Both factors have their highest bit set, so the product has it or the next one.
    top = high >> _U63
    drop = top + _U9
    bits = high >> drop
    # floor(power * log2(10)), by an integer quotient that is exact over the table's range.
    exponent = ((217706 * power) >> 16) + 1086 - np.int64(lead) + np.int64(top)
    if exponent <= 0:
        return 0.0, False
    if low <= _U1 and -4 <= power <= 23 and bits & _U3 == _U1 and bits << drop == high:
        bits -= _U1  # exactly half way: to even
    bits = (bits + (bits & _U1)) >> _U1
    if bits > _53_BITS:
        bits >>= _U1
        exponent += 1
    if exponent >= 2047:
        return np.inf, True
    return np.uint64((bits & _52_BITS) | np.uint64(exponent) << _U52).view(np.float64), True


@njit
def _number(buf, start):
    """Any number at ``start``: (first byte after it, value, whether that is settled)."""
    i = start
    negative = buf[i] == 45
    if negative or buf[i] == 43:
        i += _U1
    first = i
    mantissa, power, n_digits, point, settled = _U0, 0, _U0, False, True
    while True:
        n, number = _digits(_word(buf, i))
        mantissa = mantissa * _INTEGER_POWERS[n] + number
        n_digits += n
        i += n
        if point:
            # Digits after the point count down the exponent; more than 19 digits wrap around here
            # and are read again below.
            power -= np.int64(n)
        # Eight digits may go on; fewer ended at some other byte.
        if n < _U8:
            if buf[i] != 46 or point:
                break
            point = True
            i += _U1
    stop = i
    value = 0.0
    if n_digits == _U0:
        letters = (_word(buf, first) | _LOWER) & _THREE_BYTES
        value = np.nan if letters == _NAN else np.inf
        settled = letters in (_NAN, _INF)
        i = first + _U3 if settled else first
    elif buf[i] | 32 == 101:
        i += _U1
        down = buf[i] == 45
        if down or buf[i] == 43:
            i += _U1
        settled = buf[i] - _U48 < _U10
        exponent = 0
        while buf[i] - _U48 < _U10:
            exponent = min(10 * exponent + np.int64(buf[i] - _U48), _MOST_EXPONENT)
            i += _U1
        power += -exponent if down else exponent
    while not _ENDS[buf[i]]:
        settled = False
        i += _U1
    if not settled:
        return i, 0.0, False
    if n_digits > _U19:
        # Leading zeros do not count; of the rest keep 19 digits and bracket what follows.
        mantissa, n_digits = _U0, _U0
        for k in range(first, stop):
            digit = buf[k] - _U48
            if digit < _U10 and n_digits < _U19:
                mantissa = mantissa * _U10 + digit
                n_digits += np.uint64(mantissa > _U0)
            elif digit < _U10:
                n_digits += _U1
        power += np.int64(n_digits - min(n_digits, _U19))
        value, settled = _nearest_double(mantissa, power)
        above, settled_above = _nearest_double(mantissa + np.uint64(n_digits > _U19), power)
        settled = settled and settled_above and above == value
    # Both numbers are exact doubles: one rounding, that of the product or quotient.
    elif n_digits > _U0 and mantissa <= _53_BITS and -22 <= power <= 22:
        value = np.float64(mantissa)
        if power < 0:
            value /= _EXACT_POWERS[-power]
        else:
            value *= _EXACT_POWERS[power]
    elif n_digits > _U0:
        value, settled = _nearest_double(mantissa, power)
    return i, -value if negative else value, settled


@njit
def count_rows(buf, stop):
    """Number of lines in ``buf[:stop]`` that are neither blank nor comments.

    ``buf``, uint8, holds whole lines; a newline is the last byte before ``stop``, and
    ``SPARE_BYTES`` follow it.
    """
    i, n_rows = _U0, 0
    while i < np.uint64(stop):
        if _SPACE[buf[i]]:
            i += _U1
            continue
        n_rows += buf[i] != 35
        i = _next_newline(buf, i) + _U1
    return n_rows


@njit
def _next_newline(buf, i):
    """The first newline at ``i`` or later; there must be one."""
    while True:
        others = _word(buf, i) ^ _NEWLINES
        # The high bit of every byte that is zero (and perhaps of bytes above it).
        zeros = (others - _ONES) & ~others & _HIGH_BITS
        if zeros != _U0:
            return i + (trailing_zeros(zeros) >> _U3)
        i += _U8


@njit
def _begins_unlabelled(buf, i):
    """Whether a line begins with ``qid:`` or an index and its colon."""
    if _word(buf, i) & _FOUR_BYTES == _QID:
        return True
    first = i
    while buf[i] - _U48 < _U10:
        i += _U1
    return i > first and buf[i] == 58


@njit
def parse_block(buf, plan, y, qid, weight, sizes, values, indices, text, hard, state):
    """Parse the lines in ``buf[plan[START]:plan[STOP]]``; writes into all arrays but the first two.

    - ``buf``, uint8: whole lines; a newline is the last byte before ``STOP``, and ``SPARE_BYTES``
      follow it.
    - ``plan`` (N_PLAN,), int64. ``ROW``: the first row in ``y``, ``qid``, ``sizes`` and, dense,
      ``values``. ``BASE``: the lowest index allowed, 0 or 1. ``WIDTH``: number of columns allowed.
      ``DENSE``: 1 to write row by row, 0 to append entries. ``TEXT_QID``: 1 to keep query ids as
      text, with their lengths in ``qid``. ``ROW_STOP``: rows from this one on are not written.
      ``NO_LABEL``: 1 if lines may begin with their query id or first feature; their ``y`` is then
      NaN.
    - ``y`` and ``qid``, float64 and int64.
    - ``weight``, float64: numbers after ``cost:``; NaN for rows without one.
    - ``sizes`` (n_rows, 2), int64: number of entries and of comment bytes (-1: no comment) of every
      row.
    - ``values``, float32 or float64. Dense: rows of zeros. Sparse: entries of this block, from 0.
    - ``indices``, int32. Sparse: indices as written. Dense: not used.
    - ``text``, uint8: query ids (if kept as text) and comments without the white space around them,
      row by row.
    - ``hard`` (n, 3), int64: tokens left to the caller: slot in ``values`` (or -1 - row for a
      label), first byte, end.
    - ``state`` (N_STATE,), int64: result of the scan; ``STATUS`` is OK or says why parsing stopped
      at byte ``AT``.
    """
    i, stop, row = np.uint64(plan[START]), np.uint64(plan[STOP]), np.uint64(plan[ROW])
    base, width = np.uint64(plan[BASE]), np.uint64(plan[WIDTH])
    dense, text_qid, row_stop = plan[DENSE] != 0, plan[TEXT_QID] != 0, np.uint64(plan[ROW_STOP])
    may_lack_label = plan[NO_LABEL] != 0
    slot, n_hard, n_text, first_row = _U0, _U0, _U0, row
    lowest, highest, n_entries, n_costs = _NO_INDEX, _U0, _U0, _U0
    state[QID_AT] = state[NO_QID_AT] = -1
    state[UNORDERED] = 0
    status = OK

    while status == OK and i < stop:
        if _SPACE[buf[i]]:
            i += _U1
            continue
        if buf[i] == 35:
            while buf[i] != 10:
                i += _U1
            continue

        if row == row_stop:
            status = TOO_MANY_ROWS
            break
        token = i
        value, settled = np.nan, True
        if not (may_lack_label and _begins_unlabelled(buf, i)):
            i, value, settled = _number(buf, i)
        y[row] = value
        if not settled or np.isinf(value):
            hard[n_hard, 0] = -1 - np.int64(row)
            hard[n_hard, 1] = np.int64(token)
            hard[n_hard, 2] = np.int64(i)
            n_hard += _U1
        while _SPACE[buf[i]] and buf[i] != 10:
            i += _U1

        qid[row] = 0
        if _word(buf, i) & _FOUR_BYTES != _QID:
            if state[NO_QID_AT] < 0:
                state[NO_QID_AT] = np.int64(token)
        else:
            if state[QID_AT] < 0:
                state[QID_AT] = np.int64(token)
            token = i
            i += _U4
            if _ENDS[buf[i]]:
                status = BAD_TOKEN
            elif text_qid:
                first = i
                while not _ENDS[buf[i]]:
                    text[n_text] = buf[i]
                    n_text += _U1
                    i += _U1
                qid[row] = np.int64(i - first)
            else:
                negative = buf[i] == 45
                if negative:
                    i += _U1
                number, first = _U0, i
                while buf[i] - _U48 < _U10:
                    number = number * _U10 + (buf[i] - _U48)
                    i += _U1
                qid[row] = -np.int64(number) if negative else np.int64(number)
                # Only what the integer writes again: 7, 07, +7 and -0 would merge with others.
                is_whole = i > first and i - first <= _U19 and _ENDS[buf[i]]
                is_whole &= buf[first] != 48 or (i - first == _U1 and not negative)
                if not is_whole or number > _63_BITS + np.uint64(negative):
                    status = QID_IS_TEXT
            if status != OK:
                i = token
                break

        row_start, row_entries, previous = row * width, _U0, _NO_INDEX
        sizes[row, 1] = -1
        weight[row] = np.nan
        while True:
            if buf[i] == 32:
                i += _U1
            # One comparison sends digits on: white space, the newline and # are all up to 35.
            if buf[i] <= 35:
                if buf[i] == 10:
                    break
                if _SPACE[buf[i]]:
                    i += _U1
                    continue
                if buf[i] == 35:
                    i += _U1
                    while _SPACE[buf[i]] and buf[i] != 10:
                        i += _U1
                    first = kept = n_text
                    while buf[i] != 10:
                        text[n_text] = buf[i]
                        n_text += _U1
                        if not _SPACE[buf[i]]:
                            kept = n_text
                        i += _U1
                    n_text = kept
                    sizes[row, 1] = np.int64(kept - first)
                    break

            token = i
            index = _U0
            while buf[i] - _U48 < _U10 and index <= _LARGEST_INDEX:
                index = index * _U10 + (buf[i] - _U48)
                i += _U1
            # A weight may stand at any place of the row. Only words that are no index get here.
            if i == token and _word(buf, i) & _FIVE_BYTES == _COST:
                i, value, settled = _number(buf, token + _U5)
                if settled and value >= 0.0 and value < np.inf and np.isnan(weight[row]):
                    weight[row] = value
                    n_costs += _U1
                    continue
                i = token
            if i == token or buf[i] != 58 or index > _LARGEST_INDEX:
                status = BAD_TOKEN
            elif index <= previous and previous != _NO_INDEX:
                state[UNORDERED] = 1
                if index == previous:
                    status = DUPLICATE
                elif dense:
                    status = NOT_ASCENDING
            previous = index
            column = index - base
            if dense:
                slot = row_start + column
            if column >= width and status == OK:
                status = TOO_WIDE
            if status != OK:
                i = token
                break
            i += _U1
            if not dense:
                indices[slot] = np.int32(index)
                lowest = min(lowest, index)
            highest = max(highest, index)

            # Up to seven digits on either side of the point; everything else in _number.
            negative = buf[i] == 45
            end = i + np.uint64(negative)
            n, mantissa = _digits(_word(buf, end))
            end += n
            n_decimals = _U0
            if buf[end] == 46:
                n_decimals, number = _digits(_word(buf, end + _U1))
                mantissa = mantissa * _INTEGER_POWERS[n_decimals] + number
                end += n_decimals + _U1
            if _SPACE[buf[end]] and n < _U8 and n_decimals < _U8 and n + n_decimals > _U0:
                # Up to 14 digits over at most 10^7: both exact, and rounded once.
                value = np.float64(mantissa) / _EXACT_POWERS[n_decimals]
                values[slot] = -value if negative else value
            else:
                end, value, settled = _number(buf, i)
                values[slot] = value
                if not settled or np.isinf(values[slot]):  # too large, or written so
                    hard[n_hard, 0] = np.int64(slot)
                    hard[n_hard, 1] = np.int64(i)
                    hard[n_hard, 2] = np.int64(end)
                    n_hard += _U1
            i = end
            row_entries += _U1
            slot += _U1
        sizes[row, 0] = np.int64(row_entries)
        n_entries += row_entries
        row += _U1

    state[STATUS] = status
    state[AT] = np.int64(i)
    state[ROWS] = np.int64(row - first_row)
    state[ENTRIES] = np.int64(n_entries)
    state[HARD] = np.int64(n_hard)
    state[TEXT] = np.int64(n_text)
    state[LOWEST] = np.int64(lowest)
    state[HIGHEST] = np.int64(highest)
    state[COSTS] = np.int64(n_costs)


@njit
def is_canonical(indptr, indices, n_columns):
    """Check that ``indptr`` is ascending, and that each row has ascending indices in range.

    ``indptr`` is (n_rows + 1,) and ``indices`` (n_entries,), of any integers. Never reads outside
    the arrays, whatever they contain. O(rows + indices).
    """
    if len(indptr) < 1 or indptr[0] != 0 or indptr[-1] != len(indices):
        return False
    for row in range(len(indptr) - 1):
        start, stop = indptr[row], indptr[row + 1]
        if stop < start or stop > len(indices):
            return False
        # Refuses negative indices as well.
        previous = -1
        for k in range(start, stop):
            if indices[k] <= previous or indices[k] >= n_columns:
                return False
            previous = indices[k]
    return True
