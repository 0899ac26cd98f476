"""The same program on several workers at once, each with its share of the rows.

Programs talk to one another, so that all must run at the same time: one a worker. Where a worker
dies, the others are restarted and all programs begin again, with the same shares: Dask computes
their rows anew, and a nanny puts a worker in the place of each that is gone. A program that depends
on nothing but its share and its number gives the same result then.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

from distributed.comm.addressing import get_address_host
from distributed.utils import get_ip

from rankwise.distributed.tasks import current_client

ATTEMPTS = 4
SECONDS_TO_RETURN = 300.0
SECONDS_TO_NOTICE = 10.0
SECONDS_BETWEEN_LOOKS = 0.05


def client_of(client: Any) -> Any:
    """The client, or the current one.

    Raises
    ------
    ValueError
        Where there is none.
    """
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
    """Results of ``program(network, *args, *parts)`` for the parts of every share.

    Parameters
    ----------
    client : Client
    shares : sequence of sequence of Future
        At most one share for each worker.
    program : callable
    networks : callable
        From the hosts of the workers, a free port of each, and the address of this machine to the
        network that each program gets.
    *args
        The same for all programs.

    Raises
    ------
    Exception
        What a program raises.
    RuntimeError
        Where workers died four times, or too few came back.
    """
    for _ in range(ATTEMPTS):
        workers = _workers(client, len(shares))
        ports = [client.submit(_free_port, workers=[at], pure=False) for at in workers]
        if not _finish(client, ports, workers):
            continue
        here = str(get_ip(get_address_host(workers[0])))
        hosts = [get_address_host(worker) for worker in workers]
        asked = networks(hosts, client.gather(ports), here)
        futures = [
            client.submit(program, network, *args, *share, workers=[worker], pure=False)
            for share, network, worker in zip(shares, asked, workers, strict=True)
        ]
        if _finish(client, futures, workers):
            return client.gather(futures)
        # The programs that live may wait for the one that died, for minutes: they must go too.
        client.cancel(futures)
        alive = client.nthreads()
        client.restart_workers([at for at in workers if at in alive], raise_for_error=False)
    raise RuntimeError(
        f"workers died in each of {ATTEMPTS} attempts to train on them. Give them more memory, or "
        "fewer rows each."
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def _workers(client: Any, n: int) -> list[str]:
    """Addresses of so many workers, as soon as they are there."""
    end = time.monotonic() + SECONDS_TO_RETURN
    while len(found := sorted(client.nthreads())) < n:
        if time.monotonic() > end:
            raise RuntimeError(
                f"training needs {n} workers, as many as when it began, got {len(found)} after "
                f"{SECONDS_TO_RETURN:.0f} s. Start workers in place of those that died."
            )
        time.sleep(SECONDS_BETWEEN_LOOKS)
    return found[:n]


def _finish(client: Any, futures: list[Any], workers: Sequence[str]) -> bool:
    """Wait for all; False where a worker has died meanwhile.

    Raises
    ------
    Exception
        That of a program, where all workers live.
    """
    failed_at = None
    while True:
        alive = client.nthreads()
        if not all(worker in alive for worker in workers):
            return False
        if all(future.status == "finished" for future in futures):
            return True
        failed = [future for future in futures if future.status in ("error", "cancelled", "lost")]
        if not failed:
            time.sleep(SECONDS_BETWEEN_LOOKS)
            continue
        # The programs beside a dying one may fail before it is known to be dead.
        failed_at = failed_at or time.monotonic()
        errors = [future.exception() for future in failed if future.status == "error"]
        network = [error for error in errors if _is_of_network(error)]
        if len(network) < len(errors) or time.monotonic() - failed_at > SECONDS_TO_NOTICE:
            raise next((error for error in errors if error not in network), errors[0])
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _is_of_network(error: BaseException) -> bool:
    text = str(error).lower()
    words = ("socket", "connect", "communicator", "rabit", "network", "tracker", "collective")
    return isinstance(error, OSError | EOFError) or any(word in text for word in words)
