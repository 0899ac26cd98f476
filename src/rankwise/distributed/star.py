"""Sums over programs on several machines: all send to the first program, which returns the sum."""

from __future__ import annotations

import hmac
import pickle
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

SECONDS_TO_MEET = 120.0
SECONDS_TO_GREET = 10.0
SECONDS_BETWEEN_LOOKS = 0.02
_NONCE = _DIGEST = 32  # bytes
_NUMBER = 8  # bytes of a whole number


@dataclass(frozen=True)
class Place:
    """Position of a program: its number, the number of programs, and the first one's address."""

    number: int
    n: int
    host: str
    port: int
    key: bytes

    @classmethod
    def all(cls, hosts: Sequence[str], ports: Sequence[int], here: str) -> list[Place]:
        """One place per host; the programs authenticate each other with a shared secret key."""
        key = secrets.token_bytes(32)
        return [cls(i, len(hosts), hosts[0], ports[0], key) for i in range(len(hosts))]


class Star:
    """Connections of one program to the others.

    Summing one array of b bytes from each of n programs transfers ``2 (n - 1) b`` bytes at the
    first program. It drops connections that do not prove knowledge of the key. ``n_bytes`` counts
    the bytes of the arrays that this program has contributed to sums so far. ConnectionError is
    raised if the others have not connected after two minutes, or one disconnects.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._spokes: list[socket.socket] = []
        self.n_bytes = 0
        if place.n > 1:
            self._spokes = self._accept() if place.number == 0 else [self._connect()]
        for spoke in self._spokes:
            spoke.settimeout(None)
            spoke.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for spoke in self._spokes:
            spoke.close()

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum of the arrays of all programs, added in their order."""
        self.n_bytes += values.nbytes
        total = np.array(values, order="C")
        if self._place.number > 0:
            self._spokes[0].sendall(_buffer(total))
            _receive_into(self._spokes[0], _buffer(total))
            return total
        other = np.empty_like(total)
        for spoke in self._spokes:
            _receive_into(spoke, _buffer(other))
            total += other
        for spoke in self._spokes:
            spoke.sendall(_buffer(total))
        return total

    def agree(self, value: Any, combine: Callable[[Sequence[Any]], Any]) -> Any:
        """Result of ``combine`` on the values of all programs, in their order."""
        if self._place.number > 0:
            _send(self._spokes[0], value)
            return _receive(self._spokes[0])
        result = combine([value, *(_receive(spoke) for spoke in self._spokes)])
        for spoke in self._spokes:
            _send(spoke, result)
        return result

    def _accept(self) -> list[socket.socket]:
        """Connections to the others. Each is checked in a thread, because a stranger may stall."""
        found: dict[int, socket.socket] = {}
        arrived: SimpleQueue[tuple[int, socket.socket]] = SimpleQueue()
        end = time.monotonic() + SECONDS_TO_MEET
        with socket.create_server(("", self._place.port), backlog=128) as server:
            server.settimeout(SECONDS_BETWEEN_LOOKS)
            while len(found) < self._place.n - 1:
                with suppress(TimeoutError):
                    guest = server.accept()[0]
                    Thread(target=self._greet, args=(guest, arrived), daemon=True).start()
                while not arrived.empty():
                    number, spoke = arrived.get()
                    found[number] = spoke
                if time.monotonic() > end:
                    raise ConnectionError(
                        f"{self._place.n - 1 - len(found)} of {self._place.n} programs did not "
                        f"connect to port {self._place.port} within {SECONDS_TO_MEET:.0f} s."
                    )
        return [found[number] for number in sorted(found)]

    def _greet(self, guest: socket.socket, arrived: SimpleQueue[tuple[int, socket.socket]]) -> None:
        """Admit a program that proves knowledge of the key; drop all others."""
        guest.settimeout(SECONDS_TO_GREET)
        try:
            host_nonce = secrets.token_bytes(_NONCE)
            guest.sendall(host_nonce)
            number, guest_nonce = _receive_bytes(guest, _NUMBER), _receive_bytes(guest, _NONCE)
            if not hmac.compare_digest(
                _receive_bytes(guest, _DIGEST),
                self._proof(b"guest", number, host_nonce, guest_nonce),
            ):
                raise ConnectionError("the key is wrong.")
            guest.sendall(self._proof(b"host", number, host_nonce, guest_nonce))
        except OSError:
            guest.close()
        else:
            arrived.put((int.from_bytes(number, "big"), guest))

    def _connect(self) -> socket.socket:
        """Connection to the first program."""
        end = time.monotonic() + SECONDS_TO_MEET
        while True:
            try:
                spoke = socket.create_connection(
                    (self._place.host, self._place.port), SECONDS_TO_MEET
                )
                break
            except ConnectionRefusedError:
                if time.monotonic() > end:
                    raise
                time.sleep(SECONDS_BETWEEN_LOOKS)
        try:
            host_nonce, guest_nonce = _receive_bytes(spoke, _NONCE), secrets.token_bytes(_NONCE)
            number = self._place.number.to_bytes(_NUMBER, "big")
            spoke.sendall(
                number + guest_nonce + self._proof(b"guest", number, host_nonce, guest_nonce)
            )
            proof = self._proof(b"host", number, host_nonce, guest_nonce)
            if not hmac.compare_digest(_receive_bytes(spoke, _DIGEST), proof):
                raise ConnectionError(
                    f"another program listens at {self._place.host}:{self._place.port}."
                )
        except OSError:
            spoke.close()
            raise
        return spoke

    def _proof(self, side: bytes, *parts: bytes) -> bytes:
        """Digest that requires knowledge of the key."""
        return hmac.digest(self._place.key, side + b"".join(parts), "sha256")


def _buffer(values: NDArray[Any]) -> memoryview:
    return values.reshape(-1).view(np.uint8).data


def _receive_into(spoke: socket.socket, buffer: memoryview) -> None:
    while buffer:
        n = spoke.recv_into(buffer)
        if n == 0:
            raise ConnectionError("a program that trains on other rows is gone.")
        buffer = buffer[n:]


def _receive_bytes(spoke: socket.socket, n: int) -> bytes:
    message = bytearray(n)
    _receive_into(spoke, memoryview(message))
    return bytes(message)


def _send(spoke: socket.socket, value: Any) -> None:
    message = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    spoke.sendall(len(message).to_bytes(_NUMBER, "big"))
    spoke.sendall(message)


def _receive(spoke: socket.socket) -> Any:
    return pickle.loads(
        _receive_bytes(spoke, int.from_bytes(_receive_bytes(spoke, _NUMBER), "big"))
    )
