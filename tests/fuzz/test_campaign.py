"""A bounded campaign over every target, and the campaign itself."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.fuzz import broken, harness, kernels
from tests.fuzz.campaign import run_campaign
from tests.fuzz.harness import Counts, case_rng, mutated, run_cases
from tests.fuzz.targets import GROUPS, find_targets

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="limits of memory are Linux's"
)


# Kernels are of interest with bounds checks only: make boundscheck. Exports and fits have their own
# tests.
CHECKED = [group for group in GROUPS if group not in ("kernels", "models", "exports", "fits")]


def test_every_case_gives_a_value_or_a_documented_refusal():
    """All targets in one process and one test: its imports take as long as the cases of a group."""
    names = [target.name for group in CHECKED for target in find_targets(group)]
    report = run_campaign(names, n_cases=60)
    assert not report.failures, str(report)
    for name in names:
        counts = report.counts[name]
        assert counts.accepted + counts.refused == 60, name
        assert counts.accepted >= 3, f"the seeds of {name} are not valid"
        assert counts.refused >= 3, f"the mutations do not damage {name}"


def test_a_campaign_sees_every_kind_of_failure():
    """Only the target that hangs gets a short limit: others may be slow on a busy machine."""
    names = [name for name in broken.TARGETS if name != "hang"]
    report = run_campaign(names, 40, find="tests.fuzz.broken:find")
    said = {failure.target: failure.what for failure in report.failures}
    assert {*said} == {*names} - {"refuse"}
    assert "SIGSEGV" in said["crash"]
    assert "SystemExit" in said["leave"]
    assert "IndexError" in said["index"]
    assert "does not name the file" in said["refuse_without_a_name"]
    assert "bytes were allocated" in said["allocate"]
    assert "MemoryError" in said["allocate_far_too_much"]
    counts = report.counts["refuse"]
    assert counts.accepted + counts.refused == 40
    assert min(counts.accepted, counts.refused) > 0


def test_a_campaign_ends_a_case_that_hangs():
    report = run_campaign(["hang"], 40, find="tests.fuzz.broken:find", hangs_after=0.5)
    assert report.failures
    assert all("no end after 0.5 s" in failure.what for failure in report.failures)


def test_a_reported_case_can_be_run_again():
    report = run_campaign(["crash"], 40, find="tests.fuzz.broken:find")
    case = report.failures[0].case
    again = run_campaign(["crash"], 1, case, find="tests.fuzz.broken:find")
    assert [failure.case for failure in again.failures] == [case]
    assert f"--targets crash --first {case} --cases 1" in str(again)


def test_cases_differ_and_are_reproducible():
    data = b"1 qid:1 1:2\n" * 10

    def cases():
        return [mutated(case_rng("t", k), data, [b"x"], b"other") for k in range(200)]

    assert cases() == cases()
    assert len({*cases()}) > 150
    assert data in cases()
    assert np.random.default_rng(0).random() != case_rng("t", 0).random()


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyError, IndexError])
def test_a_kernel_may_refuse_with_a_value_error_only(error, tmp_path, monkeypatch):
    def found(kind):
        class Model:
            def fit(self, X, y, qid):
                raise kind("no")

        monkeypatch.setattr(kernels, "RANKERS", dict.fromkeys(kernels.RANKERS, Model))
        (target,), counts = kernels.TARGETS, Counts("kernels")
        monkeypatch.setattr(harness, "_limit_addresses", lambda spare: None)
        items = [*run_cases(target, range(12), tmp_path, counts)]
        return [item.what for item in items if not isinstance(item, int)], counts

    failures, _ = found(error)
    assert failures
    assert all(error.__name__ in what for what in failures), failures
    failures, counts = found(ValueError)
    assert not failures
    assert counts.refused


def test_bounds_checks_reach_the_kernels(tmp_path):
    """What ``make boundscheck`` relies on: options of our ``njit`` do not turn the checks off."""
    (tmp_path / "outside.py").write_text(
        "import numpy as np\n"
        "from rankwise.runtime.jit import njit\n"
        "@njit(fastmath=True)\n"
        "def entry(a, i):\n"
        "    return a[np.uint64(i)]\n"
        "entry(np.zeros(3), 3)\n"
    )
    for value, expected in (("1", "IndexError"), ("0", "")):
        cache = tmp_path / f"cache{value}"
        env = {**os.environ, "NUMBA_BOUNDSCHECK": value, "NUMBA_CACHE_DIR": str(cache)}
        done = subprocess.run(
            [sys.executable, str(tmp_path / "outside.py")],
            env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert expected in done.stderr
        assert bool(done.returncode) == bool(expected)
