"""Shared fixtures: where data lie, what is installed."""

from __future__ import annotations

import gc
import gzip
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from rankwise.runtime.files import BUNDLED
from rankwise.runtime.threads import single_threaded_blas

# OpenMP reads this when it is loaded, which the imports of the tests do. Threads that wait asleep
# leave the cores to the other workers: McRank's common tests take a fifth of the CPU time.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


# Tests of other things fit and score without a qid; checks/test_queries.py has the warning.
# What users read and run must not warn.
_MUST_NOT_WARN = ("tests/repository/test_docs.py", "papers/tests/", "tests/experiments/")


# Pages, papers, journeys through several processes, rates over many draws, and large inputs take
# half of the time: `make test-all` has them, `make test` does without.
_SLOW = (
    "papers/tests/",
    "tests/checks/test_constant_scores.py",
    "tests/checks/test_dominant_columns.py::test_estimators",
    "tests/cli/test_categories.py",
    "tests/cli/test_clicks.py::test_off_policy",
    "tests/cli/test_cold_start.py",
    "tests/cli/test_compare.py::test_a_time_limit",
    "tests/cli/test_ignored_columns.py",
    "tests/cli/test_row_lines.py::test_values_that_are_not_finite",
    "tests/clicks/test_interleaving.py::test_teams",
    "tests/clicks/test_judgement.py::test_grades_follow",
    "tests/clicks/test_judgement.py::test_shrunk",
    "tests/common/test_common_estimators.py::test_number_of_threads",
    "tests/common/test_common_hostile.py",
    "tests/common/test_full_disk.py",
    "tests/common/test_plain_kernels.py",
    "tests/datasets/catalog/",
    "tests/datasets/readers/test_one_reader.py::test_a_field_of_20_megabytes",
    "tests/experiments/",
    "tests/export/test_xgboost.py::test_categories",
    "tests/export/test_xgboost.py::test_dumps",
    "tests/fuzz/",
    "tests/kernels/test_tree_shapley.py::test_background_values",
    "tests/kernels/test_tree_shapley.py::test_path_values",
    "tests/metrics/measures/test_kappa_interval.py::test_coverage",
    "tests/metrics/statistics/test_max_t.py::test_error_rates",
    "tests/metrics/statistics/test_prediction_powered.py::test_intervals_cover",
    "tests/metrics/test_scored.py::test_a_million_rows",
    "tests/papers/",
    "tests/persistence/test_roundtrip.py",
    "tests/preferences/test_interval_coverage.py",
    "tests/rankers/adapters/test_tables.py",
    "tests/rankers/ensemble/test_auto.py",
    "tests/rankers/ensemble/test_auto_inputs.py",
    "tests/rankers/kernel/test_kernel_rankers.py::test_memory",
    "tests/rankers/neural/test_boltz_rank.py::test_training",
    "tests/rankers/test_stream.py::test_same_bits_in_float32",
    "tests/rankers/test_stream_memory.py",
    "tests/report/test_line_plots.py",
    "tests/repository/test_archives.py",
    "tests/repository/test_contributing.py",
    "tests/repository/test_docs.py",
    "tests/repository/test_gallery.py",
    "tests/repository/test_imports.py::test_loaded_models",
    "tests/selection/judging/test_difference_bounds.py::test_extremes",
    "tests/selection/test_isolation.py",
    "tests/selection/test_origin.py",
    "tests/selection/test_resume.py",
    "tests/solvers/least_squares/test_leave_out.py::test_leave_pair_out",
    "tests/structure/test_model_check.py::test_a_kill",
    "tests/structure/test_model_check.py::test_a_short_write",
    "tests/text/test_cf_letor.py",
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import files whose tests are all slow, if those are not wanted."""
    path = collection_path.relative_to(config.rootpath).as_posix()
    is_slow = (f"{path}/" if collection_path.is_dir() else path).startswith(_SLOW)
    return True if config.option.markexpr == "not slow" and is_slow else None


def pytest_configure() -> None:
    """Keep the garbage collector off the tests, which live to the end.

    It took 12 s in every process that collects them, and as much for 1,400 tests; without the tests
    themselves it takes 3 s.
    """
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(10_000)  # few objects are left to look at: fewer rounds suffice
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow folders, and ignore OneQueryWarning in tests of other things."""
    ignored = pytest.mark.filterwarnings("ignore::rankwise.exceptions.OneQueryWarning")
    for item in items:
        if item.nodeid.startswith(_SLOW):
            item.add_marker(pytest.mark.slow)
        if not item.nodeid.startswith(_MUST_NOT_WARN):
            item.add_marker(ignored, append=False)


settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("ci")


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is read from or left in the user's own cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKWISE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_wait_for_disks() -> Iterator[None]:
    """Files need not outlive a loss of power; tests of the order of writes have their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def kernels_compile_once() -> Iterator[None]:
    """Workers that share a cache of kernels compile each of them once.

    A worker that needs a kernel which another one compiles waits, and loads it from the cache.
    Without the lock each of them compiles it, and entries of a cache are lost where two workers
    write them at once.
    """
    folder = os.environ.get("NUMBA_CACHE_DIR")
    if not folder or sys.platform == "win32" or "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    import fcntl

    try:
        from numba.core.caching import NullCache
        from numba.core.compiler_lock import global_compiler_lock
        from numba.core.dispatcher import Dispatcher

        compile_unlocked = Dispatcher.compile
    except (ImportError, AttributeError):  # Numba's own modules may move: the lock saves time only
        yield
        return
    Path(folder).mkdir(parents=True, exist_ok=True)

    def compile_locked(self: Dispatcher, sig: object) -> object:
        if isinstance(getattr(self, "_cache", None), NullCache | None):
            return compile_unlocked(self, sig)
        code = self.py_func.__code__
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}.{code.co_firstlineno}"
        # Numba's own lock comes first in every thread, and kernels do not call each other in
        # circles: no two processes wait for each other.
        with global_compiler_lock, Path(folder, f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return compile_unlocked(self, sig)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dispatcher, "compile", compile_locked)
        yield


@pytest.fixture(autouse=True)
def folder_of_examples(request: pytest.FixtureRequest) -> None:
    """Examples write their files into a folder of their own, not into the repository.

    No other test gets a folder that it does not ask for: pytest reads the names of all folders
    before it makes the next one, which takes 7 ms where there are 13,000 of them.
    """
    if isinstance(request.node, pytest.DoctestItem):
        folder = request.getfixturevalue("tmp_path")
        request.getfixturevalue("monkeypatch").chdir(folder)


@pytest.fixture
def blas_of_one_thread() -> Iterator[None]:
    """BLAS as ``reproduce`` runs it: threads that wait in busy loops cost a multiple."""
    with single_threaded_blas():
        yield


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder named by RANKWISE_DATA; tests that need it skip where it is absent."""
    root = os.environ.get("RANKWISE_DATA", "")
    if not root or not Path(root).is_dir():
        pytest.skip("RANKWISE_DATA does not name a folder with the data sets")
    return Path(root)


@pytest.fixture(scope="session")
def letor_sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file in LETOR's form, made of bundled judgements: dense rows, ids in comments.

    Licences do not allow LETOR's own files to be passed on.
    """
    source = gzip.decompress((BUNDLED / "lightgbm-lambdarank/rank.test.txt.gz").read_bytes())
    lines = []
    for number, line in enumerate(source.decode().splitlines()):
        label, qid, *tokens = line.split()
        values = dict(token.split(":") for token in tokens)
        columns = " ".join(f"{j}:{values.get(str(j), '0')}" for j in range(1, 47))
        comment = f"#docid = GX{number:03}-86 inc = 1 prob = 0.0{number}"
        lines.append(f"{label} {qid} {columns} {comment}\n")
    file = tmp_path_factory.mktemp("letor") / "S1.txt.gz"
    file.write_bytes(gzip.compress("".join(lines).encode()))
    return file


@pytest.fixture(params=["bundled rows", "MQ2008"])
def letor_file(request: pytest.FixtureRequest) -> Path:
    """A file of judged rows with comments: the sample, and LETOR's own where there is one."""
    if request.param == "bundled rows":
        return request.getfixturevalue("letor_sample")
    return request.getfixturevalue("data_root") / "letor4-mq2008" / "S1.txt.gz"


@pytest.fixture
def rng() -> np.random.Generator:
    """A seeded generator, fresh for each test."""
    return np.random.default_rng(20261121)
