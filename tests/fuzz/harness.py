"""Targets, mutations, and the loop that runs cases and checks what must hold for each."""

from __future__ import annotations

import re
import time
import traceback
import tracemalloc
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

MOST_FAILURES = 3  # of a target; more would be the same ones
SPARE_ADDRESSES = 4 << 30  # kernels that no warming case called are compiled in it
LONGEST_INPUT = 1 << 16
_WORD = re.compile(rb"""[^ \t\n,:{}"']+""")


@dataclass(frozen=True)
class Target:
    """Something that reads untrusted bytes.

    Attributes
    ----------
    name : str
    make : callable
        ``make(rng)`` returns the bytes of one case, usually a valid input after
        :func:`mutated`. All randomness comes from ``rng``.
    check : callable
        ``check(path)`` reads the case from a file. It returns True if the input was accepted,
        and raises AssertionError if the value is wrong. A refusal is an exception of one of
        ``refusals``; any other exception is a failure.
    suffix : str
        End of the file's name.
    refusals : tuple of exception types
        What the documentation of the reader lists.
    names_file : bool
        Whether every refusal must name the file.
    base_bytes, bytes_per_byte : int
        Memory that one case may allocate: ``base_bytes + bytes_per_byte * len(input)``.
    measures_memory : bool
        False for cases that compile kernels: measuring doubles the time of compilation. What the
        others may allocate is limited too.
    """

    name: str
    make: Callable[[np.random.Generator], bytes]
    check: Callable[[Path], bool]
    suffix: str = ".txt"
    refusals: tuple[type[Exception], ...] = (ValueError, OSError)
    names_file: bool = True
    base_bytes: int = 8 << 20
    bytes_per_byte: int = 200
    measures_memory: bool = True


@dataclass(frozen=True)
class Failure:
    """A case for which a property does not hold."""

    target: str
    case: int
    what: str


@dataclass
class Counts:
    """How many cases of a target were accepted and refused, and the seconds they took."""

    target: str
    accepted: int = 0
    refused: int = 0
    failed: int = 0
    seconds: float = 0.0

    def as_dict(self) -> dict[str, int | float | str]:
        """For JSON."""
        return asdict(self)


def case_rng(target: str, case: int) -> np.random.Generator:
    """The generator of one case: the same on every machine, independent of all other cases."""
    return np.random.default_rng([zlib.crc32(target.encode()), case])


def run_cases(
    target: Target, cases: Sequence[int], folder: Path, counts: Counts
) -> Iterator[int | Failure]:
    """Run cases; yields the number of each before it runs, and its failure after it.

    The memory of a case is what Python and NumPy allocate (by ``tracemalloc``). What else is
    allocated is bounded by a limit on the address space, past which allocation fails.
    """
    path = folder / f"case{target.suffix}"
    _limit_addresses(None)  # not those of the target before
    for case in cases[:2]:  # imports and compilation belong to no case
        yield case
        _outcome(target, case_rng(target.name, case), path)
    if target.measures_memory:  # compiled kernels and stacks of threads take addresses of their own
        _limit_addresses(SPARE_ADDRESSES)
        tracemalloc.start(1)
    start = time.perf_counter()
    try:
        for case in cases:
            yield case
            accepted, what = _outcome(target, case_rng(target.name, case), path)
            if what is not None:  # once more, without the memory of modules imported meanwhile
                accepted, what = _outcome(target, case_rng(target.name, case), path)
            counts.accepted += accepted is True
            counts.refused += accepted is False
            if what is not None:
                counts.failed += 1
                yield Failure(target.name, case, what)
                if counts.failed >= MOST_FAILURES:
                    break
    finally:
        counts.seconds = time.perf_counter() - start
        tracemalloc.stop()


def _outcome(
    target: Target, rng: np.random.Generator, path: Path
) -> tuple[bool | None, str | None]:
    """Whether the case was accepted (None: neither), and what is wrong."""
    data = target.make(rng)
    path.write_bytes(data)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    accepted, what = None, None
    try:
        accepted = target.check(path)
    except target.refusals as error:
        accepted = False
        if target.names_file and path.name not in str(error):
            what = f"the refusal does not name the file: {error}"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        what = "".join(traceback.format_exception(error)[-6:])
    used = tracemalloc.get_traced_memory()[1] - before
    most = target.base_bytes + target.bytes_per_byte * len(data)
    if what is None and used > most:
        what = f"{used:,} bytes were allocated for an input of {len(data):,}, at most {most:,} may"
    if what is not None:
        what += f"\ninput ({len(data)} bytes): {data[:200]!r}"
    return accepted, what


def _limit_addresses(spare: int | None) -> None:
    """Let allocations fail beyond what the process has now and ``spare`` bytes; None: no limit."""
    import resource  # Unix only

    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = most if spare is None else pages * resource.getpagesize() + spare
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))


def mutated(
    rng: np.random.Generator, data: bytes, tokens: Sequence[bytes] = (), other: bytes = b""
) -> bytes:
    """``data`` after none to eight random edits.

    Parameters
    ----------
    rng : Generator
    data : bytes
        A valid input.
    tokens : sequence of bytes
        What the format gives meaning to, and numbers on the edge of a rule.
    other : bytes
        Another valid input, of which parts are spliced in.
    """
    edits = [_flip_bit, _set_byte, _cut_out, _cut_off, _repeat, _swap_lines]
    if tokens:
        edits += [_insert_token, _replace_word] * 3
    if other:
        edits += [_splice]
    for _ in range(min(int(rng.geometric(0.4)) - int(rng.random() < 0.3), 8)):
        edit = edits[rng.integers(len(edits))]
        data = edit(rng, data, tokens, other)[:LONGEST_INPUT]
    return data


def _at(rng: np.random.Generator, data: bytes) -> int:
    return int(rng.integers(len(data) + 1))


def _range(rng: np.random.Generator, data: bytes) -> tuple[int, int]:
    start = _at(rng, data)
    return start, min(len(data), start + int(rng.geometric(0.05)))


def _flip_bit(rng, data, tokens, other):
    if not data:
        return data
    at = int(rng.integers(len(data)))
    return data[:at] + bytes([data[at] ^ 1 << int(rng.integers(8))]) + data[at + 1 :]


def _set_byte(rng, data, tokens, other):
    at = _at(rng, data)
    return data[:at] + bytes([int(rng.integers(256))]) + data[at + 1 :]


def _cut_out(rng, data, tokens, other):
    start, stop = _range(rng, data)
    return data[:start] + data[stop:]


def _cut_off(rng, data, tokens, other):
    return data[: _at(rng, data)]


def _repeat(rng, data, tokens, other):
    start, stop = _range(rng, data)
    times = int(rng.choice([1, 2, 20, 300, 5000], p=[0.5, 0.2, 0.15, 0.1, 0.05]))
    return data[:stop] + data[start:stop] * times + data[stop:]


def _swap_lines(rng, data, tokens, other):
    lines = data.split(b"\n")
    i, j = rng.integers(len(lines), size=2)
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def _insert_token(rng, data, tokens, other):
    at = _at(rng, data)
    return data[:at] + tokens[rng.integers(len(tokens))] + data[at:]


def _replace_word(rng, data, tokens, other):
    """Put a token in place of what stands between two separators."""
    words = list(_WORD.finditer(data))
    if not words:
        return data
    word = words[rng.integers(len(words))]
    return data[: word.start()] + tokens[rng.integers(len(tokens))] + data[word.end() :]


def _splice(rng, data, tokens, other):
    start, stop = _range(rng, other)
    at = _at(rng, data)
    return data[:at] + other[start:stop] + data[at:]
