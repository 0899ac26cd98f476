"""Time limits: who is cut short, and who is not."""

from __future__ import annotations

import pytest

from rankwise.runtime.progress import TimeLimitError, check_time, limit_time


def test_a_limit_ends_what_asks_after_it_and_says_so():
    check_time()
    left = [1.0]
    with limit_time(lambda: left[0]) as limit:
        check_time()
        assert not limit.is_reached
        left[0] = -0.1
        with limit_time(lambda: 1.0):
            check_time()
        with pytest.raises(TimeLimitError):
            check_time()
        assert limit.is_reached
    check_time()
