"""Hashes by which CatBoost stores categories: 32 bits of CityHash64 [1]_, for texts of any length.

References
----------
.. [1] G. Pike and J. Alakuijala, "Introducing CityHash", Google Open Source Blog, 2011; its
   version 1.0.
"""

from __future__ import annotations

_MASK = 2**64 - 1
_K0, _K1, _K2, _K3 = (
    0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557,
)  # fmt: skip
_MULTIPLIER = 0x9DDFEA08EB382D69
LONGEST = 64  # bytes of a text; longer ones are hashed in another way


def hash_category(text: str) -> int:
    """Signed 32 bits by which CatBoost knows a category of at most 64 bytes of UTF-8."""
    data = text.encode()
    if len(data) > LONGEST:
        raise ValueError(
            f"categories of CatBoost must have at most {LONGEST} bytes, got {len(data)}: {text!r}."
        )
    low = _city_hash(data) & (2**32 - 1)
    return low - 2**32 if low >= 2**31 else low


def _city_hash(data: bytes) -> int:
    n = len(data)
    if n > 32:
        return _hash_33_to_64(data)
    if n > 16:
        return _hash_17_to_32(data)
    if n > 8:
        a, b = _fetch(data, 0), _fetch(data, n - 8)
        return _mix(a, _rotate((b + n) & _MASK, n)) ^ b
    if n >= 4:
        return _mix((n + (_fetch(data, 0, 4) << 3)) & _MASK, _fetch(data, n - 4, 4))
    if n == 0:
        return _K2
    y = data[0] + (data[n >> 1] << 8)
    z = n + (data[-1] << 2)
    return _shift_mix((y * _K2 & _MASK) ^ (z * _K3 & _MASK)) * _K2 & _MASK


def _hash_17_to_32(data: bytes) -> int:
    n = len(data)
    a = _fetch(data, 0) * _K1 & _MASK
    b = _fetch(data, 8)
    c = _fetch(data, n - 8) * _K2 & _MASK
    d = _fetch(data, n - 16) * _K0 & _MASK
    first = (_rotate((a - b) & _MASK, 43) + _rotate(c, 30) + d) & _MASK
    return _mix(first, (a + _rotate(b ^ _K3, 20) - c + n) & _MASK)


def _hash_33_to_64(data: bytes) -> int:
    n = len(data)
    start = (_fetch(data, 0) + (n + _fetch(data, n - 16)) * _K0) & _MASK
    vf, vs = _weak_hash(data, start, _fetch(data, 24), 8)
    start = (_fetch(data, 16) + _fetch(data, n - 32)) & _MASK
    wf, ws = _weak_hash(data, start, _fetch(data, n - 8), n - 24)
    r = _shift_mix(((vf + ws) * _K2 + (wf + vs) * _K0) & _MASK)
    return _shift_mix((r * _K0 + vs) & _MASK) * _K2 & _MASK


def _weak_hash(data: bytes, a: int, z: int, place: int) -> tuple[int, int]:
    """Two words of a block of 32 bytes, of which those from ``place`` are still to be read."""
    b = _rotate((a + z) & _MASK, 52)
    c = _rotate(a, 37)
    a = (a + _fetch(data, place)) & _MASK
    c = (c + _rotate(a, 7)) & _MASK
    a = (a + _fetch(data, place + 8)) & _MASK
    return (a + z) & _MASK, (b + _rotate(a, 31) + c) & _MASK


def _mix(u: int, v: int) -> int:
    a = (u ^ v) * _MULTIPLIER & _MASK
    a ^= a >> 47
    b = (v ^ a) * _MULTIPLIER & _MASK
    b ^= b >> 47
    return b * _MULTIPLIER & _MASK


def _shift_mix(value: int) -> int:
    return value ^ value >> 47


def _rotate(value: int, shift: int) -> int:
    shift %= 64
    return (value >> shift | value << (64 - shift)) & _MASK


def _fetch(data: bytes, place: int, size: int = 8) -> int:
    return int.from_bytes(data[place : place + size], "little")
