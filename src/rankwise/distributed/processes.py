"""The same program on several workers at once, each with its share of the rows.

Programs communicate with each other, so all must run at the same time, one per worker. Every worker
fetches its rows before the programs start. Otherwise Dask might recompute the lost rows of one
worker on another whose program is waiting for the first.

If a worker dies, the other programs may wait for it forever (LightGBM keeps reading its closed
connection). Their workers are restarted by their nannies, and all programs restart with the same
shares. A program that depends only on its share and its number then gives the same result.

Sums over programs on several machines go through a :class:`Star`: all send to the first program,
which returns the sum.
"""

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
from distributed.comm.addressing import get_address_host
from distributed.utils import get_ip
from numpy.typing import NDArray

from rankwise.distributed.dask_partitions import current_client, gather
from rankwise.selection.cells.workers import SECONDS_TO_RETURN

ATTEMPTS = 4
SECONDS_TO_NOTICE = 10.0
SECONDS_TO_END = 5.0
SECONDS_BETWEEN_LOOKS = 0.05


def client_of(client: Any) -> Any:
    """The client, or the current one; ValueError is raised if there is none."""
    found = current_client(client)
    if found is None:
        raise ValueError(
            "client must be a distributed.Client for boosted trees, got none. Start one: "
            "Client(LocalCluster()), or fit rows in memory with ranker.fit."
        )
    return found


def run_ranks(
    client: Any,
    shares: Sequence[Sequence[Any]],
    program: Callable[..., Any],
    networks: Callable[[Sequence[str], Sequence[int], str], Sequence[Any]],
    *args: Any,
) -> list[Any]:
    """Results of ``program(network, *args, parts)`` for the parts of every share.

    There is at most one share for each worker. ``networks`` maps the hosts of the workers, a free
    port of each and the address of this machine to the network of each program. The exception that
    a program raises is raised here. RuntimeError: workers died or lost each other four times, too
    few came back, or a worker that must be restarted has no nanny.
    """
    broken: BrokenRunError | None = None
    for _ in range(ATTEMPTS):
        workers = _workers(client, len(shares))
        futures: list[Any] = []
        try:
            held = [
                client.submit(_together, *share, workers=[at], pure=False)
                for share, at in zip(shares, workers, strict=True)
            ]
            ports = [client.submit(_free_port, workers=[at], pure=False) for at in workers]
            _finish(client, held + ports, workers)
            here = str(get_ip(get_address_host(workers[0])))
            hosts = [get_address_host(worker) for worker in workers]
            asked = networks(hosts, _fetch(client, ports, workers), here)
            futures = [
                client.submit(program, network, *args, parts, workers=[at], pure=False)
                for parts, network, at in zip(held, asked, workers, strict=True)
            ]
            _finish(client, futures, workers)
            return _fetch(client, futures, workers)
        except BrokenRunError as error:
            broken = error
            _end(client, futures, workers)
        except BaseException:
            with suppress(Exception):  # the program's own error is more informative
                _end(client, futures, workers)
            raise
    raise RuntimeError(
        f"training failed in each of {ATTEMPTS} attempts, the last time because {broken}. If "
        "workers die, give them more memory, or fewer rows each."
    ) from broken


class BrokenRunError(Exception):
    """A worker died, or programs lost each other; the message says which."""


def _together(*parts: Any) -> tuple[Any, ...]:
    """Collect parts on one worker."""
    return parts


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def _workers(client: Any, n: int) -> list[str]:
    """Addresses of ``n`` workers, once they have connected."""
    end = time.monotonic() + SECONDS_TO_RETURN
    while len(found := sorted(client.nthreads())) < n:
        if time.monotonic() > end:
            raise RuntimeError(
                f"training needs {n} workers, as many as when it began, got {len(found)} after "
                f"{SECONDS_TO_RETURN:.0f} s. Start workers in place of those that died."
            )
        time.sleep(SECONDS_BETWEEN_LOOKS)
    return found[:n]


def _finish(client: Any, futures: list[Any], workers: Sequence[str]) -> None:
    """Wait for all programs, and raise the exception that one raises.

    BrokenRunError: a worker has died meanwhile, or the programs cannot reach each other.
    """
    failed_at = None
    while True:
        _check_alive(client, workers)
        if all(future.status == "finished" for future in futures):
            return
        failed = [future for future in futures if future.status in ("error", "cancelled", "lost")]
        if failed:
            errors = [future.exception() for future in failed if future.status == "error"]
            others = [error for error in errors if not _is_of_network(error)]
            if others:
                raise others[0]
            # Other programs may fail before the dying worker is known to be dead.
            failed_at = failed_at or time.monotonic()
            if time.monotonic() - failed_at > SECONDS_TO_NOTICE:
                raise BrokenRunError(
                    f"a program failed with {errors[0]!r}" if errors else "a task was lost"
                ) from (errors[0] if errors else None)
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _fetch(client: Any, futures: list[Any], workers: Sequence[str]) -> list[Any]:
    """Results of programs that have ended; raises BrokenRunError if a worker dies with one.

    Dask would wait for the dead worker, to which the program is pinned, to compute it again.
    """
    return gather(client, futures, lambda: _check_alive(client, workers))


def _check_alive(client: Any, workers: Sequence[str]) -> None:
    alive = client.nthreads()
    if dead := [worker for worker in workers if worker not in alive]:
        raise BrokenRunError(f"worker {dead[0]} died")


def _end(client: Any, futures: list[Any], workers: Sequence[str]) -> None:
    """Wait for programs to end, and restart the workers of those that do not.

    RuntimeError is raised if such a worker has no nanny.
    """
    end = time.monotonic() + SECONDS_TO_END
    places = list(zip(futures, workers, strict=False))  # no futures: the programs did not start
    while True:
        nannies = client.run_on_scheduler(_nannies)
        waiting = [at for future, at in places if future.status == "pending" and at in nannies]
        if not waiting or time.monotonic() > end:
            break
        time.sleep(SECONDS_BETWEEN_LOOKS)
    client.cancel(futures)
    if alone := [worker for worker in waiting if not nannies[worker]]:
        raise RuntimeError(
            f"the program on worker {alone[0]} may wait for a dead one for ever, because the "
            "worker has no nanny that could restart it. Restart it, and start workers with a nanny."
        )
    if waiting:
        client.restart_workers(waiting, raise_for_error=False)


def _nannies(dask_scheduler: Any) -> dict[str, str | None]:
    """Address of the nanny of every worker, if it has one."""
    return {address: state.nanny for address, state in dask_scheduler.workers.items()}


def _is_of_network(error: BaseException) -> bool:
    text = str(error).lower()
    words = ("socket", "connect", "communicator", "rabit", "network", "tracker", "collective")
    return isinstance(error, OSError | EOFError) or any(word in text for word in words)


SECONDS_TO_MEET = 120.0
SECONDS_TO_GREET = 10.0
SECONDS_BETWEEN_CALLS = 0.02
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

    n_bytes: int

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
            server.settimeout(SECONDS_BETWEEN_CALLS)
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
                time.sleep(SECONDS_BETWEEN_CALLS)
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
