"""A text index of a million short documents, and the features of 100,000 pairs.

    python -m benchmarks.bench_text [DOCUMENTS]

Documents have 8 to 24 words of 50,000 whose frequencies follow Zipf's law, stems are taken. Seconds
are those of the processor; memory is the largest resident set of a process that only indexes. A
document of the pairs has 8 to 72 words, the mean of Vaswani's, and a query four words.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.bench_start import printed
from rankwise.text import QueryDocumentFeatures, TextIndex

N_WORDS, N_QUERIES, N_PAIRS = 50_000, 200, 100_000
MOST_SECONDS, MOST_GIB, MOST_MS, MOST_PAIR_SECONDS = 300, 4, 10, 10


def documents(n: int, longest: int) -> Iterator[dict[str, str]]:
    """Random documents by Zipf's law."""
    rng = np.random.default_rng(0)
    words = np.array([f"term{number}" for number in range(N_WORDS)])
    shares = np.cumsum(1 / np.arange(1, N_WORDS + 1))
    for first in range(0, n, 10_000):
        sizes = rng.integers(8, longest, min(10_000, n - first))
        drawn = words[np.searchsorted(shares, rng.random(sizes.sum()) * shares[-1])]
        for number, part in enumerate(np.split(drawn, np.cumsum(sizes)[:-1])):
            yield {"doc_id": f"d{first + number}", "text": " ".join(part)}


def queries(n: int) -> list[str]:
    """Four words each, none of the most frequent."""
    drawn = np.random.default_rng(1).integers(50, 5000, (n, 4))
    return [" ".join(f"term{number}" for number in of) for of in drawn]


def index(n: int) -> None:
    """Build, search; print seconds of the processor, milliseconds a query, and memory."""
    start = time.process_time()
    built = TextIndex().add(documents(n, 25))
    built.postings.n_tokens  # noqa: B018
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    asked = queries(N_QUERIES)
    built.search(asked, 10)
    start = time.process_time()
    built.search(asked, 10)
    print(seconds, peak, (time.process_time() - start) / N_QUERIES * 1e3)


def told(what: str, value: float, unit: str, most: float) -> None:
    """A line of the report."""
    print(f"{'met ' if value <= most else 'MISS'}  {what}: {value:.2f} {unit} (<= {most:g})")


def main(n: int) -> None:
    """Print what is measured beside its target."""
    code = f"from benchmarks.bench_text import index; index({n})"
    seconds, peak, milliseconds = (float(number) for number in printed(code).split())
    told(f"index of {n:,} documents, with making them", seconds, "s", MOST_SECONDS)
    told(f"index of {n:,} documents, largest memory", peak, "GiB", MOST_GIB)
    told(f"query over {n:,} documents", milliseconds, "ms", MOST_MS)
    built = TextIndex().add(documents(10_000, 73))
    features, asked = QueryDocumentFeatures(built), queries(N_QUERIES)
    texts = {str(number): text for number, text in enumerate(asked)}
    rng = np.random.default_rng(2)
    qid = rng.integers(0, N_QUERIES, N_PAIRS).astype(str)
    doc_ids = np.array(built.doc_ids)[rng.integers(0, len(built), N_PAIRS)]
    features.compute(texts, qid[:10], doc_ids[:10])
    start = time.process_time()
    X = features.compute(texts, qid, doc_ids)
    seconds = time.process_time() - start
    told(f"{X.shape[1]} features of {N_PAIRS:,} pairs", seconds, "s", MOST_PAIR_SECONDS)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
