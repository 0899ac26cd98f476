"""``python -m tests.fuzz``: run a campaign, print its counts, exit 1 when a property fails."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from tests.fuzz.campaign import run_campaign, work
from tests.fuzz.targets import find_targets


def main() -> int:
    """Parse the options and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--targets", default="all", help="names of targets or groups, by commas")
    parser.add_argument("--cases", type=int, default=10_000, help="cases of every target")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        work(options.worker)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    names = [target.name for target in find_targets(options.targets)]
    report = run_campaign(names, options.cases, options.first)
    print(report)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
