"""Stores that are mapped into memory: readers keep what they opened, writers may be killed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.common import mapped_stores
from tests.common.mapped_stores import STORES, checksum


@pytest.mark.parametrize("store", STORES)
def test_a_process_keeps_what_it_opened(tmp_path, store):
    write, load = STORES[store]
    write(tmp_path, 40)
    before = checksum(load(tmp_path))
    with subprocess.Popen(
        [sys.executable, mapped_stores.__file__, store, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as reader:  # fmt: skip
        assert reader.stdout is not None
        assert reader.stdout.readline() == "open\n"
        for version in (0, 1):
            write(tmp_path, version)
            assert checksum(load(tmp_path)) != before
        assert reader.communicate("go\n")[0] == f"{before}\n"
    assert reader.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
@pytest.mark.parametrize("store", STORES)
def test_a_killed_writer_leaves_the_old_store_or_the_new_one(tmp_path, store):
    done = subprocess.run(
        [sys.executable, mapped_stores.__file__, store, str(tmp_path), "kill"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    n_steps = int(done.stdout.split()[0])
    assert n_steps > 3
