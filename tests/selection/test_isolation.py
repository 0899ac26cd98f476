"""A ranker that exits, crashes or never ends fails alone, with one job and with two."""

from __future__ import annotations

import ctypes
import multiprocessing.connection
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest
from sklearn.base import BaseEstimator

from rankwise.selection import compare
from rankwise.selection.cells import workers
from rankwise.selection.cells.result_store import ResultStore
from rankwise.selection.cells.workers import _Worker, run_all
from tests.selection.forking import ROOT
from tests.selection.helpers import Column, Moody, one_fold
from tests.selection.tasks import Deadly, grow, lost, print_text, process_id, send_half, start_child

ENDS = {
    "exit": (lambda: sys.exit("bye"), "the ranker called sys.exit('bye')"),
    "leave": (sys.exit, "the ranker called sys.exit()"),
    "interrupt": (
        lambda: signal.raise_signal(signal.SIGINT) or _raise(KeyboardInterrupt),
        "KeyboardInterrupt, without a message",
    ),
    "assert": (lambda: _raise(AssertionError), "AssertionError, without a message"),
    "_exit": (lambda: os._exit(0), "its process ended with exit code 0."),
    "crash": (lambda: ctypes.string_at(0), "its process was ended by signal SIGSEGV."),
    "kill": (lambda: os.kill(os.getpid(), signal.SIGKILL), "its process was killed"),
}


def _raise(error):
    raise error


class Ends(BaseEstimator):
    """Ends its process in one of the ways of the table."""

    def __init__(self, how="exit"):
        self.how = how

    def fit(self, X, y):
        ENDS[self.how][0]()
        return self

    def predict(self, X):
        return X[:, 0]


@pytest.mark.skipif(os.name != "posix", reason="exit codes of POSIX")
@pytest.mark.parametrize(
    ("n_jobs", "ends"), [(1, [*ENDS]), (2, ["exit", "_exit", "crash", "kill"])]
)
def test_every_end_of_a_process_is_that_cells_failure(rng, tmp_path, n_jobs, ends):
    rankers = {how: Ends(how) for how in ends} | {"good": Column(0)}
    fold = one_fold(rng)
    board = compare(rankers, fold, n_jobs=n_jobs, store=tmp_path)
    for how in ends:
        message = ENDS[how][1]
        cell = board.cell(how, "fold1")
        assert (cell.status, cell.message[: len(message)]) == ("failed", message)
    assert board.cell("good", "fold1").status == "done"
    assert board.best == "good"
    assert ("n_jobs=1" in board.cell("kill", "fold1").message) == (n_jobs > 1)
    logged = [record["ranker"] for record in ResultStore(tmp_path)._lines]
    assert sorted(logged) == sorted(rankers)


def expire(monkeypatch, is_due):
    """Let the time limit of a task pass once ``is_due`` of it is true, whatever the clock says."""
    begin = _Worker.run

    def run(self, place, work, time_limit, n_jobs):
        _, task = pickle.loads(work)

        def clock(seconds, act):
            assert (seconds, act) == (600, self.expire)
            return threading.Timer(0, lambda: is_due(task) and act())

        with monkeypatch.context() as patch:
            patch.setattr(workers, "Timer", clock)
            return begin(self, place, work, time_limit, n_jobs)

    monkeypatch.setattr(_Worker, "run", run)


def test_a_time_limit_stops_a_cell_and_the_rest_runs(rng, monkeypatch):
    rankers = {"endless": Moody("fine", pause=1000.0), "good": Column(0)}
    expire(monkeypatch, lambda task: task.candidate.name == "endless")
    board = compare(rankers, one_fold(rng), time_limit=600)
    assert board.cell("endless", "fold1").message == "stopped at the time limit of 600 s"
    assert board.cell("good", "fold1").status == "done"
    assert "failed: endless (fold1): stopped at the time limit of 600 s" in str(board)


def test_a_short_time_limit_passes_by_itself():
    done = list(run_all(time.sleep, lambda: iter([1000.0]), 1, lost, isolate=True, time_limit=0.2))
    assert done == ["stopped at the time limit of 0.2 s"]


def test_children_of_a_stopped_cell_end_with_it(tmp_path, monkeypatch):
    """A search with processes of its own, say."""

    def has_child(path):
        while not os.path.exists(path):
            time.sleep(0.01)
        return True

    expire(monkeypatch, has_child)
    done = list(
        run_all(start_child, lambda: iter([str(tmp_path / "pid")]), 1, lost, isolate=True,
                time_limit=600)
    )  # fmt: skip
    assert done == ["stopped at the time limit of 600 s"]
    pid = int((tmp_path / "pid").read_text())
    _wait_until(lambda: not _is_running(pid))


def _wait_until(is_true):
    for _ in range(30000):
        if is_true():
            return
        time.sleep(0.01)
    raise AssertionError("waited five minutes in vain")


def _is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_worker_that_has_grown_goes_on():
    """No pool takes 300 MB more than at its start for a leak."""
    done = list(run_all(grow, lambda: iter([0, 400, 0, 0]), 1, lost, isolate=True))
    assert len(set(done)) == 1
    assert isinstance(done[0], int)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("time_limit", [None, 600])
@pytest.mark.parametrize("is_noticed", [True, False], ids=["noticed", "unnoticed"])
def test_a_worker_that_ended_while_it_waited_is_replaced(is_noticed, time_limit):
    def run():
        (done,) = run_all(
            process_id, lambda: iter([0]), 1, lost, isolate=True, time_limit=time_limit
        )  # fmt: skip
        return done

    before = run()
    assert run() == before
    process = workers._waiting[-1]._process
    os.kill(before, signal.SIGKILL)
    os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)
    if is_noticed:
        process.wait()
    after = run()
    assert isinstance(after, int)
    assert after != before
    assert run() == after


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_does_not_use_the_workers_that_wait():
    """The threads that serve them are not in the fork, where a task would wait for ever."""

    def run():
        return next(run_all(process_id, lambda: iter([0]), 1, lost, isolate=True))

    before = run()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, str(run()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    answered = multiprocessing.connection.wait([reader], timeout=300)
    if not answered:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = os.read(reader, 100)
    os.close(reader)
    assert answered and found.isdigit() and int(found) != before
    assert run() == before


@pytest.mark.skipif(os.name != "posix", reason="exit codes of POSIX")
@pytest.mark.parametrize("time_limit", [None, 600])
def test_workers_that_end_at_their_start_fail_the_task(monkeypatch, time_limit):
    monkeypatch.setattr(workers, "_waiting", [])
    monkeypatch.setattr(workers, "_START", "import os; os._exit(3)")
    done = list(
        run_all(process_id, lambda: iter([0]), 1, lost, isolate=True, time_limit=time_limit)
    )
    assert done == ["its process ended with exit code 3."]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (255, "its process ended with exit code 255."),
        (-40, "its process was ended by signal 40."),
        (-15, "its process was ended by signal SIGTERM."),
    ],
)
def test_ends_without_a_name_are_told_too(code, message):
    assert workers.how_it_ended(code, 1) == message


KILLED = "its process was killed, perhaps for lack of memory"


@pytest.mark.skipif(os.name != "posix", reason="exit codes of POSIX")
@pytest.mark.parametrize("time_limit", [None, 600])
def test_a_worker_that_ends_before_it_starts_its_task_fails_that_task(monkeypatch, time_limit):
    """The second of three: its process has the task, and ends while it unpickles it."""
    here, calls = workers._CallerState.here, []

    def second_is_deadly():
        calls.append(None)
        return Deadly() if len(calls) == 2 else here()

    monkeypatch.setattr(workers._CallerState, "here", second_is_deadly)
    first, second, third = run_all(
        process_id, lambda: iter(range(3)), 1, lost, isolate=True, time_limit=time_limit
    )
    assert second == "its process ended with exit code 3."
    assert isinstance(third, int)
    assert third != first


@pytest.mark.skipif(os.name != "posix", reason="sends through a POSIX pipe")
@pytest.mark.parametrize("time_limit", [None, 600])
def test_a_worker_killed_while_it_sends_its_result_fails_that_task(time_limit):
    first, second = run_all(
        send_half, lambda: iter(["killed", "whole"]), 1, lost, isolate=True, time_limit=time_limit
    )
    assert first.startswith(KILLED)
    assert second == "whole"


@pytest.mark.skipif(os.name != "posix", reason="sends through a POSIX pipe")
def test_a_time_limit_that_passes_while_a_result_is_sent_stops_the_task(monkeypatch):
    expire(monkeypatch, lambda task: time.sleep(0.5) or task == "stuck")
    first, second = run_all(
        send_half, lambda: iter(["stuck", "whole"]), 1, lost, isolate=True, time_limit=600
    )
    assert first == "stopped at the time limit of 600 s"
    assert second == "whole"


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])  # Windows lacks one of them
def test_workers_end_with_their_parent_in_the_middle_of_a_task(tmp_path, name):
    number = getattr(signal, name)
    code = (
        "import sys\n"
        "from rankwise.selection.cells.workers import run_all\n"
        "from tests.selection.tasks import lost, start_child\n"
        "list(run_all(start_child, lambda: iter([sys.argv[1]]), 1, lost, isolate=True))\n"
    )
    path = tmp_path / "pid"
    with subprocess.Popen([sys.executable, "-c", code, str(path)], cwd=ROOT) as parent:
        _wait_until(path.exists)
        parent.send_signal(number)
    pid = int(path.read_text())
    _wait_until(lambda: not _is_running(pid))


def test_what_tasks_print_goes_to_standard_error(capfd):
    workers._retire_all()  # those that wait hold the standard error of an earlier test
    done = list(run_all(print_text, lambda: iter(["noise"]), 1, lost, isolate=True))
    assert done == ["noise"]
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "noise" in captured.err


# What code that runs at the start of a process may print.
PRINTS = {
    "a line": "print('noise')",
    "a line at once": "print('noise', flush=True)",
    "no end of the line": "import os; os.write(1, b'noise')",
    "bytes": r"import os; os.write(1, b'noise\xff\x80\x04\n\x80')",
    "more than a pipe holds": "import os; [os.write(1, b'noise\\n' * 1000) for _ in range(99)]",
}


@pytest.mark.parametrize("printing", PRINTS)
def test_what_the_start_of_a_process_prints_is_no_message(monkeypatch, capfd, tmp_path, printing):
    (tmp_path / "sitecustomize.py").write_text(PRINTS[printing])
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    workers._retire_all()  # those that wait have started
    try:
        done = list(run_all(print_text, lambda: iter(["task", "x" * 10**6]), 1, lost, isolate=True))
    finally:
        workers._retire_all()
    assert done == ["task", "x" * 10**6]
    captured = capfd.readouterr()
    assert captured.out == "" and "noise" in captured.err


@pytest.fixture
def heeds_ctrl_c():
    """A process started in the background may have inherited that the signal is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs POSIX signals")
def test_ctrl_c_stops_the_run(rng, monkeypatch, heeds_ctrl_c):
    """Of the user: the signal reaches this process, wherever the cells run."""
    started = threading.Event()
    begin = _Worker.run

    def run(self, *arguments):
        started.set()
        return begin(self, *arguments)

    monkeypatch.setattr(_Worker, "run", run)
    main = threading.main_thread().ident

    def interrupt():
        started.wait()
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        compare({"endless": Moody("fine", pause=1000.0)}, one_fold(rng))
    thread.join()


def test_in_this_process_an_interrupt_goes_through_and_an_exit_does_not(rng, heeds_ctrl_c):
    fold = one_fold(rng)
    board = compare({"exit": Ends("exit"), "good": Column(0)}, fold, isolate=False)
    assert board.cell("exit", "fold1").message == "the ranker called sys.exit('bye')"
    with pytest.raises(KeyboardInterrupt):
        compare({"interrupt": Ends("interrupt")}, fold, isolate=False)


def test_an_interrupt_before_a_task_is_sent_leaves_no_worker(rng, monkeypatch):
    started = []

    class Recorded(workers._Worker):
        def __init__(self, sources):
            super().__init__(sources)
            started.append(self)

    class Interrupted(workers.ThreadPoolExecutor):
        def submit(self, *arguments):
            raise KeyboardInterrupt

    workers._retire_all()
    monkeypatch.setattr(workers, "_Worker", Recorded)
    monkeypatch.setattr(workers, "ThreadPoolExecutor", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        compare({"good": Column(0)}, one_fold(rng))
    assert [worker.has_ended() for worker in started] == [True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"time_limit": 0}, "positive number of seconds, got 0"),
        ({"time_limit": float("nan")}, "positive number of seconds, got nan"),
        ({"isolate": False, "n_jobs": 2}, "runs cells in this process, got n_jobs=2"),
        ({"isolate": False, "time_limit": 5}, "runs cells in this process, got time_limit=5"),
    ],
)
def test_wrong_limits_raise_before_anything_runs(rng, arguments, message):
    with pytest.raises(ValueError, match=message):
        compare({"a": Moody("error")}, one_fold(rng), **arguments)
