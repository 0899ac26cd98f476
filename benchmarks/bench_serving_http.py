"""Serving over HTTP: start, memory, first request and latency of four ways to serve one model.

    python -m benchmarks serving_http

Every server is the one of the page "Serve over HTTP": Python's ``http.server``, forked into one or
four workers after the model is loaded. A request is a connection's next POST of rows of 136 float64
features as bytes, and the answer their scores as bytes, so that no text is parsed. The model is a
LambdaMART of 100 trees with 31 leaves, fitted on 3,000 rows, and for the side of LightGBM, its own
model of the same size by ``Booster.predict`` on one thread.

- start: seconds from the launch of the interpreter until all workers listen, median of three;
- first: milliseconds of the first request (100 rows) of a worker, median of three;
- resident: memory of a worker before its first request, with all that it shares; private: memory
  that no other process shares, after its requests and a garbage collection (both Linux);
- p50, p99: milliseconds of requests, the servers in turn, on connections that stay open; CPU:
  milliseconds of processor time of the worker per request, which other programs disturb less.

"not warmed" loads the model without ``warm=True``, and scores a row before it forks, as a health
check would. "not frozen" is warmed up, but forks without ``gc.freeze()``.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rankwise
from benchmarks._timing import synthetic_ranking
from rankwise.export import to_onnx, to_python

if TYPE_CHECKING:
    from collections.abc import Iterator

STARTS, REQUESTS, SIZES, N_WORKERS = 3, 300, (1, 10, 100, 1000), 4
WIDTH = 136
# How each side scores rows, and what it does after the fork.
SIDES = {
    "rankwise": "import rankwise; score = rankwise.load(PATH, warm=True).predict",
    "not warmed": (
        "import rankwise; score = rankwise.load(PATH).predict; score(np.zeros((1, WIDTH)))"
    ),
    "not frozen": (
        "import rankwise; score = rankwise.load(PATH, warm=True).predict; gc.freeze = gc.collect"
    ),
    "Python file": (
        "import importlib.util as u; spec = u.spec_from_file_location('ranker', PATH)\n"
        "ranker = u.module_from_spec(spec); spec.loader.exec_module(ranker); score = ranker.score"
    ),
    "ONNX": (
        "import onnxruntime\n"
        "def after_fork():\n"
        "    global score\n"
        "    options = onnxruntime.SessionOptions(); options.intra_op_num_threads = 1\n"
        "    session = onnxruntime.InferenceSession(PATH, options)\n"
        "    score = lambda X: session.run(['score'], {'X': X.astype(np.float32)})[0].ravel()"
    ),
    "LightGBM": (
        "import lightgbm; booster = lightgbm.Booster(model_file=PATH)\n"
        "score = lambda X: booster.predict(X, raw_score=True, num_threads=1)"
    ),
}
SERVER = """
import gc, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
import numpy as np
PATH, WIDTH, N = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def after_fork():
    pass
{side}
class Handler(BaseHTTPRequestHandler):
    protocol_version, wbufsize = "HTTP/1.1", -1
    def do_GET(self):
        gc.collect()
        self.send(b"")
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send(np.asarray(score(np.frombuffer(body).reshape(-1, WIDTH)), np.float64).tobytes())
    def send(self, answer):
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
    def log_message(self, *arguments):
        pass
server = HTTPServer(("127.0.0.1", 0), Handler)
gc.collect()
gc.freeze()
workers = []
for _ in range(N):
    worker = os.fork()
    if worker == 0:
        after_fork()
        os.write(1, b".")
        server.serve_forever()
    workers.append(worker)
print(server.server_port, *workers, flush=True)
sys.stdin.read()
for worker in workers:
    os.kill(worker, 9)
"""


@contextmanager
def serve(side: str, path: Path, n_workers: int) -> Iterator[tuple[int, list[int], float]]:
    """Run a server; yields its port, the processes of its workers and its seconds to start."""
    start = time.perf_counter()
    code = SERVER.format(side=SIDES[side])
    run = [sys.executable, "-W", "ignore", "-c", code, str(path), str(WIDTH), str(n_workers)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(run, **pipes) as process:
        assert process.stdout is not None
        said = b""
        while said.count(b".") < n_workers or b"\n" not in said:
            said += os.read(process.stdout.fileno(), 1000) or sys.exit(f"{side} does not start")
        port, *workers = map(int, said.replace(b".", b"").split())
        try:
            yield port, workers, time.perf_counter() - start
        finally:
            process.communicate()


class Client:
    """An open connection to one worker."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port)

    def collect_garbage(self) -> None:
        """Have the worker look at all of its objects, as it does from time to time."""
        self._connection.request("GET", "/")
        self._connection.getresponse().read()

    def ask(self, rows: np.ndarray) -> float:
        """Milliseconds of a request."""
        body = rows.tobytes()
        start = time.perf_counter()
        self._connection.request("POST", "/", body)
        answer = self._connection.getresponse().read()
        seconds = time.perf_counter() - start
        assert len(answer) == 8 * len(rows)
        return 1e3 * seconds


def megabytes(worker: int, what: str) -> float:
    """Memory of a process: "Rss", or "Private", which no other process shares."""
    lines = Path(f"/proc/{worker}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(what)) / 1000


def cpu_milliseconds(worker: int) -> float:
    """Processor time that a process has taken."""
    return int(Path(f"/proc/{worker}/schedstat").read_text().split()[0]) / 1e6


def write_models(folder: Path, rows: tuple[np.ndarray, np.ndarray, np.ndarray]) -> dict[str, Path]:
    """The file that each side serves."""
    X, y, qid = rows
    model = rankwise.LambdaMART(100, max_leaf_nodes=31).fit(X, y, qid=qid)
    paths = {
        "rankwise": model.save(folder / "ranker.rw"),
        "not warmed": folder / "ranker.rw",
        "not frozen": folder / "ranker.rw",
        "Python file": folder / "ranker.py",
        "ONNX": folder / "ranker.onnx",
        "LightGBM": folder / "ranker.txt",
    }
    to_python(model, paths["Python file"])
    to_onnx(model, paths["ONNX"])
    booster = rankwise.LightGBMRanker(n_estimators=100, num_leaves=31).fit(X, y, qid=qid).booster_
    booster.save_model(str(paths["LightGBM"]))
    return paths


def print_starts(paths: dict[str, Path], X: np.ndarray) -> None:
    """Start, first request and memory of one worker."""
    print("one worker: start (s), resident (MB), first request of 100 rows (ms), private (MB)")
    found: dict[str, list[tuple[float, ...]]] = {side: [] for side in paths}
    for _ in range(STARTS):
        for side, path in paths.items():
            with serve(side, path, 1) as (port, (worker,), seconds):
                resident = megabytes(worker, "Rss")
                client = Client(port)
                first = client.ask(X[:100])
                for n_rows in SIZES:
                    client.ask(X[:n_rows])
                client.collect_garbage()
                found[side].append((seconds, resident, first, megabytes(worker, "Private")))
    for side, values in found.items():
        start, resident, first, private = map(statistics.median, zip(*values, strict=True))
        print(
            f"      {side:12} {start:6.2f} {resident:7.1f} {first:8.1f} {private:7.1f}", flush=True
        )
        if side == "rankwise":
            for what, value, most in (
                ("first request, ms", first, 50),
                ("private MB", private, 10),
            ):
                verdict = "met " if value <= most else "MISS"
                print(f"{verdict}  a forked worker, {what}: {value:.1f} (target <= {most})")


def print_latencies(paths: dict[str, Path], X: np.ndarray) -> None:
    """Latency by the number of rows, one worker each, the servers in turn."""
    rng = np.random.default_rng(0)
    with ExitStack() as stack:
        clients, workers = {}, {}
        for side, path in paths.items():
            if not side.startswith("not "):
                port, (workers[side],), _ = stack.enter_context(serve(side, path, 1))
                clients[side] = Client(port)
        for n_rows in SIZES:
            times: dict[str, list[float]] = {side: [] for side in clients}
            before: dict[str, float] = {}
            for turn in range(-20, REQUESTS):
                if turn == 0:
                    before = {side: cpu_milliseconds(worker) for side, worker in workers.items()}
                rows = X[rng.integers(len(X), size=n_rows)]
                for side, client in clients.items():
                    value = client.ask(rows)
                    if turn >= 0:
                        times[side].append(value)
            middles = {side: statistics.median(values) for side, values in times.items()}
            cpu = {
                side: (cpu_milliseconds(worker) - before[side]) / REQUESTS
                for side, worker in workers.items()
            }
            ratio, ratio_cpu = (found["rankwise"] / found["LightGBM"] for found in (middles, cpu))
            verdict = "met " if ratio <= 1 else "MISS"
            print(
                f"{verdict}  {n_rows} row{'s' * (n_rows > 1)}: {ratio:.2f} x the p50 of LightGBM "
                f"(target <= 1 x), {ratio_cpu:.2f} x its CPU time"
            )
            for side, values in times.items():
                last = float(np.quantile(values, 0.99))
                print(
                    f"      {side:12} p50 {middles[side]:6.2f} ms, p99 {last:6.2f} ms, "
                    f"CPU {cpu[side]:6.2f} ms",
                    flush=True,
                )


def print_four(paths: dict[str, Path], X: np.ndarray) -> None:
    """Latency and memory of four workers that are asked at the same time."""
    print(f"{N_WORKERS} workers, all asked at the same time")
    for side, path in paths.items():
        if side.startswith("not "):
            continue
        with serve(side, path, N_WORKERS) as (port, workers, seconds):
            clients = [Client(port) for _ in workers]
            print(f"      {side:12} start {seconds:5.2f} s", end="")
            for n_rows in (100, 1000):

                def ask(client: Client, rows: np.ndarray = X[:n_rows]) -> list[float]:
                    return [client.ask(rows) for _ in range(REQUESTS)]

                with ThreadPoolExecutor(N_WORKERS) as pool:
                    values = np.array(list(pool.map(ask, clients)))
                if n_rows == 100:
                    print(f", first {values[:, 0].max():6.1f} ms", end="")
                middle, last = np.quantile(values[:, 1:], (0.5, 0.99))
                print(f"; {n_rows} rows: p50 {middle:6.2f} ms, p99 {last:6.2f} ms", end="")
            private = max(megabytes(worker, "Private") for worker in workers)
            print(f"; private {private:5.1f} MB", flush=True)


def main() -> None:
    """Print the lines."""
    rows = synthetic_ranking(n_queries=25)
    X = rows[0].astype(np.float64)
    with tempfile.TemporaryDirectory() as folder:
        paths = write_models(Path(folder), rows)
        print_starts(paths, X)
        print_latencies(paths, X)
        print_four(paths, X)


if __name__ == "__main__":
    main()
