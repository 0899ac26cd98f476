"""Deaths of workers at a known place; the process that takes the place of the dead knows none."""

from __future__ import annotations

import os
import time

from rankwise.distributed.processes import Star
from rankwise.rankers.adapters.boosted_ranker import ValidationMonitor


def armed(client, number, death):
    """Address of the worker of a share, once it is bound to die."""
    for _ in range(6000):
        if len(ready(client)) == len(client.cluster.workers):
            break
        time.sleep(0.05)
    address = sorted(ready(client))[number]
    client.run(death, workers=[address])
    return address


def ready(client):
    """Addresses of the workers that may die: a nanny gives up on one that dies while it starts."""
    return [at for at, status in client.run(_status, nanny=True).items() if status == "running"]


def _status(dask_worker):
    process = dask_worker.process
    return "none" if process is None else process.status.name


def die():
    """Ends the process of the task that calls this."""
    from distributed import get_client, get_worker

    at = get_worker().address
    for _ in range(6000):
        if at in ready(get_client()):
            break
        time.sleep(0.05)
    os._exit(1)


def die_inside_a_tree():
    """The process ends at the second histogram of its second tree."""
    real, n_trees, n_histograms = Star.sum, [0], [0]

    def dying(self, values):
        if values.shape == (3,):  # sums of derivatives, once a tree
            n_trees[0] += 1
        is_histogram = values.ndim == 2 and values.shape[1] > 64  # cells; others are a few sums
        n_histograms[0] += n_trees[0] == 2 and is_histogram
        if n_histograms[0] == 2:
            os._exit(1)
        return real(self, values)

    Star.sum = dying


def die_before_the_first_tree():
    """The process ends before it meets the others."""
    Star.__init__ = lambda *_: os._exit(1)


def die_after_the_first_tree():
    """The process ends when the first tree is measured."""
    ValidationMonitor.__call__ = lambda *_: os._exit(1)
