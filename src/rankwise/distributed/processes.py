"""The same program on several workers at once, each with its share of the rows.

Programs communicate with each other, so all must run at the same time, one per worker. Every worker
fetches its rows before the programs start. Otherwise Dask might recompute the lost rows of one
worker on another whose program is waiting for the first.

If a worker dies, the other programs may wait for it forever (LightGBM keeps reading its closed
connection). Their workers are restarted by their nannies, and all programs restart with the same
shares. A program that depends only on its share and its number then gives the same result.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from distributed.comm.addressing import get_address_host
from distributed.utils import get_ip

from rankwise.distributed.tasks import current_client, gather
from rankwise.selection.workers import SECONDS_TO_RETURN

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
