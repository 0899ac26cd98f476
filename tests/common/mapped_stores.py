"""Stores whose arrays are mapped from files: how to write and how to open each, for two processes.

``python mapped_stores.py STORE FOLDER`` is the other process. It opens the store, says so, waits
for a line, and prints a checksum of what it had opened; ``kill`` writes the store in children that
are killed at every step in turn.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import signal
import sys
from pathlib import Path

import numpy as np


def write_index(folder, version):
    """An index of ``version + 2`` documents."""
    from rankwise.text import TextIndex

    n = version + 2
    index = TextIndex(analyzer=str.split)
    index.doc_ids = [f"d{k}" for k in range(n)]
    index.vocabulary = {f"t{k}": k for k in range(200)}
    index._tokens = [np.arange(400 * n, dtype=np.int32) % 200]
    index._bounds = [np.arange(n + 1) * 400]
    index.save(folder)


def open_index(folder):
    from rankwise.text import TextIndex

    index = TextIndex.load(folder, analyzer=str.split)
    p = index.postings
    return [
        *index._tokens,
        *index._bounds,
        p.starts,
        p.documents,
        p.counts,
        np.array(index.doc_ids),
    ]


def write_cache(folder, version):
    """Parsed rows; the file of rows is written anew beforehand."""
    from rankwise.datasets import read_letor

    source = folder / "rows.txt"
    part = folder / "rows.part"
    part.write_text(
        "".join(f"{k % 2} qid:{k // 3} 1:{k + version}\n" for k in range(version + 300))
    )
    os.replace(part, source)
    read_letor(source, cache="beside")


def open_cache(folder):
    from rankwise.datasets import read_letor

    data = read_letor(folder / "rows.txt", cache="beside")
    return [data.X, data.y, np.asarray(data.qid)]


STORES = {"index": (write_index, open_index), "cache": (write_cache, open_cache)}


def checksum(arrays):
    """Of all their bytes."""
    hashed = hashlib.sha256()
    for array in arrays:
        hashed.update(repr((array.shape, array.dtype)).encode() + array.tobytes())
    return hashed.hexdigest()


def expected(store, version, folder):
    """Checksum of a store of this version, written into a new folder."""
    write, load = STORES[store]
    folder.mkdir()
    write(folder, version)
    return checksum(load(folder))


def kill_at_every_step(store, folder):
    """Let children write ever newer versions and die at step 0, 1, … of the system's calls.

    Prints the number of steps of a write that ends.
    """
    write, load = STORES[store]
    known = [expected(store, 0, folder / "v0")]
    target = folder / "target"
    target.mkdir()
    write(target, 0)
    current = 0
    for step in itertools.count():
        newer = current + 1
        known += [expected(store, newer, folder / f"v{newer}")] if len(known) == newer else []
        if (child := os.fork()) == 0:
            _die_at(step)
            write(target, newer)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        found = checksum(load(target))
        if store == "cache":  # a cache that is missing is made anew, of the source as it is now
            assert found in known, step
        else:
            assert found in (known[current], known[newer]), step
        current = known.index(found)
        if not os.WIFSIGNALED(status):
            assert os.WEXITSTATUS(status) == 0
            assert current == newer
            left = sorted(path.name for path in target.iterdir())
            print(step, len(left))
            return


def _die_at(step):
    steps = itertools.count()

    def deadly(call):
        def wrapped(*args, **kwargs):
            if next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return wrapped

    for name in ("replace", "fsync", "unlink", "open"):
        setattr(os, name, deadly(getattr(os, name)))
    np.save = deadly(np.save)


def main():
    store, folder, *rest = sys.argv[1:]
    if rest == ["kill"]:
        kill_at_every_step(store, Path(folder))
        return
    arrays = STORES[store][1](Path(folder))
    print("open", flush=True)
    sys.stdin.readline()
    print(checksum(arrays))


if __name__ == "__main__":
    main()
