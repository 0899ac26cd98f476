"""Sums over programs that connect to each other."""

from __future__ import annotations

import secrets
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from rankwise.distributed import processes as star
from rankwise.distributed.processes import Place, Star


@pytest.fixture
def places():
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]
    return Place.all(["127.0.0.1"] * 3, [port] * 3, "127.0.0.1")


def knock(place):
    """A connection to the first program, as soon as it listens."""
    for _ in range(6000):
        try:
            return socket.create_connection((place.host, place.port), 60)
        except ConnectionRefusedError:
            time.sleep(0.01)
    raise AssertionError("nobody listens")


def summed(place):
    """What a program gets from two sums and an agreement."""
    with Star(place) as shares:
        values = np.arange(6, dtype=np.int64).reshape(2, 3)[:, ::2] + place.number
        large = shares.sum(np.full(300_000, 2.0**place.number))
        agreed = shares.agree([place.number], lambda parts: [n for part in parts for n in part])
        return shares.sum(values), large, agreed, shares.n_bytes


def test_all_get_the_same_sum(places):
    with ThreadPoolExecutor(3) as pool:
        for small, large, agreed, n_bytes in pool.map(summed, places):
            np.testing.assert_array_equal(small, [[3, 9], [12, 18]])
            assert (large == 7).all() and large.shape == (300_000,)
            assert agreed == [0, 1, 2]
            assert n_bytes == 4 * 8 + 300_000 * 8


def test_strangers_are_dropped_and_the_others_go_on(places):
    silent, hasty, chatty = [], [], []
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(summed, places[0])
        silent.append(knock(places[0]))  # says nothing, and stays
        hasty.append(knock(places[0]))
        hasty[0].close()
        chatty.append(knock(places[0]))
        chatty[0].sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + b"x" * 500)
        with pytest.raises(ConnectionError):
            Star(replace(places[1], key=secrets.token_bytes(32)))
        others = [pool.submit(summed, place) for place in places[1:]]
        for future in [first, *others]:
            np.testing.assert_array_equal(future.result(60)[0], [[3, 9], [12, 18]])
    silent[0].close()
    chatty[0].close()


def test_a_program_that_is_gone_ends_the_others(places):
    with ThreadPoolExecutor(3) as pool:
        stars = list(pool.map(Star, places))
        stars[2].__exit__()
        second = pool.submit(stars[1].sum, np.ones(3))
        with stars[0], pytest.raises(ConnectionError):
            stars[0].sum(np.ones(3))
        with stars[1], pytest.raises(ConnectionError):
            second.result(60)


def test_programs_that_never_come_are_missed(places, monkeypatch):
    monkeypatch.setattr(star, "SECONDS_TO_MEET", 0.0)
    with pytest.raises(ConnectionError, match="2 of 3 programs did not connect"):
        Star(places[0])
