"""Runs the command line inside this process on a pseudo-terminal of a given width."""

from __future__ import annotations

import os
import re
import struct
import threading
import warnings

import pytest

from rankwise.cli.main import app

fcntl = pytest.importorskip("fcntl", reason="pseudo-terminals need POSIX")
termios = pytest.importorskip("termios", reason="pseudo-terminals need POSIX")


def run_in_terminal(monkeypatch, arguments, width=80):
    """Lines that a command shows on a terminal, without colours, and its exit code."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    shown = []

    def read():
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # Linux reports the closed terminal as an error
                return
            if not part:
                return
            shown.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    with monkeypatch.context() as patched, warnings.catch_warnings():
        warnings.simplefilter("default")  # notes, which pytest would turn into errors
        patched.delenv("COLUMNS", raising=False)
        patched.setenv("TERM", "xterm")
        with open(slave, "w", encoding="utf-8", buffering=1) as terminal:
            patched.setattr("sys.stdout", terminal)
            patched.setattr("sys.stderr", terminal)
            patched.setattr("sys.__stdout__", terminal)
            patched.setattr("sys.__stderr__", terminal)
            try:
                app([str(a) for a in arguments], prog_name="rankwise")
            except SystemExit as end:
                code = end.code
    reader.join()
    os.close(master)
    text = b"".join(shown).decode("utf-8").replace("\r\n", "\n")
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).split("\n"), code
