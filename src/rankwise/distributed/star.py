"""Sums over programs on several machines: all send to the first one, which sends the sum back."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Client, Connection, Listener
from typing import Any, Self

from numpy.typing import NDArray

SECONDS_TO_MEET = 120.0


@dataclass(frozen=True)
class Place:
    """Place of a program: its number, the number of programs, and the address of the first one."""

    number: int
    n: int
    host: str
    port: int
    key: bytes

    @classmethod
    def all(cls, hosts: Sequence[str], ports: Sequence[int], here: str) -> list[Place]:
        """One for each host; the programs prove to each other that they know a secret key."""
        key = secrets.token_bytes(32)
        return [cls(i, len(hosts), hosts[0], ports[0], key) for i in range(len(hosts))]


class Star:
    """Connections of one program to the others.

    Parameters
    ----------
    place : Place

    Raises
    ------
    ConnectionError
        Where the others are not there after two minutes, or one is gone.

    Notes
    -----
    An array of b bytes of each of n programs takes ``2 (n - 1) b`` bytes over the network of the
    first one.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._spokes: list[Connection] = []
        self.n_bytes = 0
        if place.n > 1:
            self._spokes = self._accept() if place.number == 0 else [self._connect()]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for spoke in self._spokes:
            spoke.close()

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum of the arrays of all programs, added in their order."""
        self.n_bytes += values.nbytes
        return self.agree(values, lambda parts: sum(parts[1:], parts[0]))

    def agree(self, value: Any, combine: Callable[[Sequence[Any]], Any]) -> Any:
        """Result of ``combine`` on the values of all programs, in their order."""
        if self._place.number > 0:
            self._spokes[0].send(value)
            return self._spokes[0].recv()
        result = combine([value, *(spoke.recv() for spoke in self._spokes)])
        for spoke in self._spokes:
            spoke.send(result)
        return result

    def _accept(self) -> list[Connection]:
        found: dict[int, Connection] = {}
        with Listener(("", self._place.port), backlog=128, authkey=self._place.key) as listener:
            _socket(listener).settimeout(SECONDS_TO_MEET)
            while len(found) < self._place.n - 1:
                spoke = listener.accept()
                found[spoke.recv()] = spoke
        return [found[number] for number in sorted(found)]

    def _connect(self) -> Connection:
        end = time.monotonic() + SECONDS_TO_MEET
        while True:
            try:
                spoke = Client((self._place.host, self._place.port), authkey=self._place.key)
                break
            except ConnectionRefusedError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
        spoke.send(self._place.number)
        return spoke


def _socket(listener: Any) -> Any:
    """The socket of a listener, which has no time-out of its own."""
    return listener._listener._socket
