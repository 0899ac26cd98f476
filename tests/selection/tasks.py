"""Tasks of worker processes, in a module of their own: each process imports it.

Without scikit-learn, and what needs it, a process starts in a quarter of the time.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np

from rankwise.selection.cells import workers


def start_child(path):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    with open(f"{path}.part", "w") as file:
        file.write(str(child.pid))
    os.replace(f"{path}.part", path)
    child.wait()


def lost(task, message):
    return message


def process_id(_):
    return os.getpid()


_GROWN = []


def grow(megabytes):
    """The process; it holds more memory from now on, and has lived for more than a second."""
    _GROWN.append(np.ones(megabytes * 125_000))
    time.sleep(1.1)
    return os.getpid()


class Deadly:
    """Ends the process that unpickles it."""

    def __reduce__(self):
        return os._exit, (3,)


def send_half(end):
    """A result; this process is killed, or gets stuck, in the middle of sending it."""

    def send(message, sink):
        whole = pickle.dumps(message)
        os.write(sink.fileno(), whole[: len(whole) // 2])
        if end == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(1000)

    if end != "whole":
        workers._send = send
    return end


def print_text(text):
    print(text)
    return text
