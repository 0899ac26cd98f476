"""A text index of a million short documents, features of 100,000 pairs, bm25s and rank-bm25 beside.

    python -m benchmarks.bench_text [DOCUMENTS]

Documents have 8 to 24 words of 50,000 whose frequencies follow Zipf's law, stems are taken. Seconds
are those of the processor; memory is the largest resident set of a process that only indexes. A
document of the pairs has 8 to 72 words, the mean of Vaswani's, and a query four words.

Building and searching an index is timed beside bm25s (its compiled backend) and rank-bm25, if they
are installed, on Vaswani, if it is in RANKWISE_DATA, and on 100,000 of the short documents. All
start from text and take the same words: no stop list, no stems. bm25s scores in float32, the others
in float64. One thread, interleaved, seconds of the processor.
"""

from __future__ import annotations

import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numba import set_num_threads

from benchmarks._timing import interleave, report
from benchmarks.bench_start import printed
from rankwise.text import Analyzer, QueryDocumentFeatures, TextIndex, load_text

N_SHORT, REPEATS, N_SLOW = 100_000, 5, 10
WORDS = Analyzer(stop_words=None, stemmer=None)
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
    return [" ".join(f"term{number}" for number in numbers) for numbers in drawn]


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


def beside_peers() -> None:
    """Print the times of the index beside those of bm25s and rank-bm25."""
    missing = [name for name in ("bm25s", "rank_bm25") if find_spec(name) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}")
        return
    set_num_threads(1)
    try:
        vaswani = load_text("vaswani")
        texts = {name: fields["text"] for name, fields in vaswani.documents.items()}
        _beside("Vaswani", texts, list(vaswani.queries.values()))
    except FileNotFoundError as error:
        print(f"not timed: {error}")
    short = {document["doc_id"]: document["text"] for document in documents(N_SHORT, 25)}
    _beside(f"{N_SHORT:,} short documents", short, queries(N_QUERIES))


def _beside(name: str, texts: dict[str, str], asked: list[str]) -> None:
    import bm25s
    from rank_bm25 import BM25Okapi

    def words(texts: list[str]) -> Any:
        options = {"token_pattern": r"\w+", "stopwords": None, "show_progress": False}
        return bm25s.tokenize(texts, **options)

    def theirs() -> Any:
        made = bm25s.BM25(k1=1.5, b=0.75, backend="numba")
        made.index(words(list(texts.values())), show_progress=False)
        return made

    def ours() -> TextIndex:
        made = TextIndex(analyzer=WORDS).add(texts)
        made.search(asked[:1], 1)
        return made

    def okapi() -> Any:
        return BM25Okapi([re.findall(r"\w+", text.lower()) for text in texts.values()])

    sides: dict[str, Callable[[], Any]] = {"ours": ours, "bm25s": theirs, "rank-bm25": okapi}
    times = interleave(sides, repeats=3, clock=time.process_time)
    for peer in ("bm25s", "rank-bm25"):
        report(f"{name}, index, beside {peer}", times["ours"], times[peer], within=1.0)
    index, peer, slow = ours(), theirs(), okapi()
    few = asked[:N_SLOW]

    def best_of_okapi(k: int) -> None:
        for text in few:
            np.argpartition(-slow.get_scores(re.findall(r"\w+", text.lower())), k)[:k]

    for k in (10, 100, 1000):
        sides = {
            "ours": partial(index.search, asked, k),
            "bm25s": lambda k=k: peer.retrieve(words(asked), k=k, n_threads=1, show_progress=False),
        }
        times = interleave(sides, REPEATS, clock=time.process_time)
        what = f"{name}, {len(asked)} queries, k={k}, beside bm25s"
        report(what, times["ours"], times["bm25s"], within=1.0)
        sides = {"ours": partial(index.search, few, k), "rank-bm25": partial(best_of_okapi, k)}
        times = interleave(sides, repeats=3, clock=time.process_time)
        what = f"{name}, {N_SLOW} queries, k={k}, beside rank-bm25"
        report(what, times["ours"], times["rank-bm25"], within=1.0)


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
    beside_peers()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
