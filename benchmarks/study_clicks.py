"""What clicks are good for, where the truth is known: simulated users on synthetic queries.

    python -m benchmarks.study_clicks [judgements] [interleaving] [off_policy]

- "judgements": agreement with the truth of the order that each method gives to the documents that a
  log shows, as Kendall's tau and nDCG, mean over queries and seeds. 100 queries of 20 documents;
  the logging ranker is fixed ("fixed": the same list always, but for one list in ten) or varied.
  "rule" is that of OpenSearch's judgements: clicks over impressions times the click rate of the
  best rank at which the document was ever shown.
- "interleaving": share of false rejections at level .05, with lists of equal and unequal length and
  with heavy users; lists that 80 % power needs, beside an A/B test of the clicks per list, in which
  users see one system each. Users have 5 lists on average, habits of their own, and queries click
  rates of their own: "swap": two neighbours change places; "shuffled": all ten documents move.
- "off_policy": coverage and width of the intervals of the estimators.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator

import numpy as np
from scipy.stats import kendalltau

from rankwise import RankingData, evaluate
from rankwise.clicks import (
    ClickLog,
    ClickModel,
    interleave,
    interleaving_test,
    judgements,
    off_policy,
    simulate_clicks,
)
from rankwise.clicks.log import count_cells
from rankwise.clicks.simulation import EXAMINATION, attractiveness_of

# Nobody looks with certainty, so that no truth lies on the edge of its range.
G = 0.9 * np.array(EXAMINATION)
USERS = {
    "pbm": {"model": "pbm", "examination": G},
    "trust": {"model": "trust", "examination": G},
    "dbn": {"model": "dbn"},
}
METHODS = ("coec", "harvest", "ips", "pbm", "sdbn", "dbn")


def queries(seed: int, n_queries: int = 100, n_documents: int = 20) -> RankingData:
    """Queries whose grades fall off, as judged ones do; X is the grade with noise."""
    rng = np.random.default_rng(seed)
    n = n_queries * n_documents
    y = rng.choice(5, size=n, p=[0.5, 0.2, 0.15, 0.1, 0.05]).astype(float)
    X = (y + 1.5 * rng.normal(size=n))[:, None]
    return RankingData(X, y, qid=np.arange(n) // n_documents, doc_ids=np.arange(n).astype(str))


def record(data: RankingData, user: str, n: int, varied: bool, seed: int) -> ClickLog:
    """A log of n lists; a fixed system swaps documents in one list of ten."""
    scores = data.X[:, 0]
    if varied:
        return simulate_clicks(data, scores, USERS[user], n_sessions=n, temperature=0.5,
                               random_state=seed)  # fmt: skip
    most = simulate_clicks(data, scores, USERS[user], n_sessions=n * 9 // 10, random_state=seed)
    few = simulate_clicks(data, scores, USERS[user], n_sessions=n - n * 9 // 10, temperature=0.3,
                          random_state=seed + 1)  # fmt: skip
    parts = (most, few)
    names = [[getattr(log, what).names[getattr(log, what).codes] for log in parts]
             for what in ("query", "document", "session")]  # fmt: skip
    session = np.concatenate([np.char.add("m", names[2][0]), np.char.add("f", names[2][1])])
    return ClickLog.from_columns(
        np.concatenate(names[0]), np.concatenate(names[1]),
        np.concatenate([log.place for log in parts]), np.concatenate([log.click for log in parts]),
        session=session, first_place=1,
    )  # fmt: skip


def opensearch_rule(log: ClickLog) -> np.ndarray:
    """Clicks over impressions times the click rate of the best rank, by pair."""
    cells = count_cells(log)
    n_pairs = len(log.pairs.query)
    rate = np.bincount(cells.slot, cells.clicks) / np.bincount(cells.slot, cells.n)
    best = np.full(n_pairs, log.n_places)
    np.minimum.at(best, cells.pair, cells.slot)
    n = np.bincount(cells.pair, cells.n, n_pairs)
    return np.bincount(cells.pair, cells.clicks, n_pairs) / (n * rate[best])


def grades(log: ClickLog) -> Iterator[tuple[str, np.ndarray]]:
    """Grades by each method, by pair of the log."""
    yield "ctr", judgements(log, "ctr").grade
    yield "ctr fit", judgements(log, "ctr", shrinkage="fit").grade
    yield "rule", opensearch_rule(log)
    for method in METHODS:
        try:
            yield method, judgements(log, method).grade  # type: ignore[arg-type]
        except ValueError:  # places that no pair links
            yield method, np.full(len(log.pairs.query), np.nan)


def study_judgements(seeds: int = 3) -> None:
    """Print tau and nDCG of every method."""
    print(
        "user   log     lists "
        + "".join(f"{name:>14s}" for name in ("ctr", "ctr fit", "rule", *METHODS))
    )
    for user in USERS:
        for varied in (False, True):
            for n in (2_000, 20_000, 100_000):
                cells: dict[str, list[tuple[float, float]]] = {}
                for seed in range(seeds):
                    data = queries(seed)
                    log = record(data, user, n, varied, seed)
                    row = log.document.names[log.pairs.document].astype(int)
                    for name, grade in grades(log):
                        cells.setdefault(name, []).append(agreement(data, row, grade))
                line = "".join(
                    "   {:.3f} {:.3f}".format(*np.mean(v, axis=0)) for v in cells.values()
                )
                print(f"{user:6s} {'varied' if varied else 'fixed ':6s} {n:6d} {line}", flush=True)


def agreement(data: RankingData, row: np.ndarray, grade: np.ndarray) -> tuple[float, float]:
    """Mean tau-b and nDCG@10 of shown documents, over queries."""
    if np.isnan(grade).any():
        return np.nan, np.nan
    truth, qid = attractiveness_of(data.y)[row], data.qid[row]
    taus = [kendalltau(truth[qid == q], grade[qid == q]).statistic for q in np.unique(qid)]
    ndcg = evaluate(data.y[row], grade, qid, "nDCG@10")["nDCG@10"]
    return float(np.nanmean(taus)), float(ndcg)


def interleaved_log(
    rng: np.random.Generator, a: list[dict], b: list[dict], appeal: np.ndarray, user: np.ndarray
) -> ClickLog:
    """Team drafts of the lists of two systems, one for each entry of ``user``; position-based."""
    queries = [str(number) for number in range(len(user))]
    habit = rng.beta(2, 2, size=user.max() + 1)[user]
    merged = interleave(
        dict(zip(queries, a, strict=True)), dict(zip(queries, b, strict=True)), random_state=rng
    )
    session = merged.qid.astype(int)
    chance = appeal[session, [int(d) for d in merged.doc_ids]] * habit[session]
    chance *= G[np.minimum(merged.place, len(G)) - 1]
    return ClickLog.from_columns(
        np.zeros(len(merged), int), merged.doc_ids, merged.place,
        rng.random(len(merged)) < chance, session=session, user=user[session], arm=merged.team,
    )  # fmt: skip


def as_scores(order: np.ndarray) -> dict[str, float]:
    """Scores of documents in an order."""
    return {str(document): -float(place) for place, document in enumerate(order)}


# Lengths of the two lists, and whether users are as unequal as a Pareto distribution makes them.
NULL_EXPERIMENTS = ((1, 1, False), (10, 20, False), (3, 3, True))


def study_interleaving(n_simulations: int = 2000, n: int = 200) -> None:
    """Print error rates of equal systems, and lists needed beside an A/B test."""
    print(f"{n_simulations} null experiments of {n} lists a line")
    print("lists              p-value    p exact   interval   at any time")
    for size_a, size_b, heavy in NULL_EXPERIMENTS:
        rng = np.random.default_rng([size_a, size_b])
        appeal = np.full((n, 21), 0.6)
        wrong = np.zeros(4)
        for _ in range(n_simulations):
            # Other documents in another order; all are alike.
            drawn = rng.permutation(size_b + 1)
            a, b = as_scores(drawn[-size_a:]), as_scores(drawn[:size_b])
            user = rng.integers(n, size=n)
            if heavy:
                user = np.minimum(rng.pareto(0.8, size=n).astype(int), 99)
            log = interleaved_log(rng, [a] * n, [b] * n, appeal, user)
            test = interleaving_test(log, n_resamples=999)
            wrong += (test.p_value <= 0.05, test.p_exact <= 0.05,
                      not test.low <= 0 <= test.high,
                      not test.sequential_low <= 0 <= test.sequential_high)  # fmt: skip
        name = f"{size_a}:{size_b}" + " heavy users" * heavy
        shares = "   ".join(f"{share:8.4f}" for share in wrong / n_simulations)
        print(f"{name:17s} {shares}", flush=True)
    for name, order in (
        ("swap at the top", [1, 0, *range(2, 10)]),
        ("swap at 3 and 4", [0, 1, 3, 2, *range(4, 10)]),
        ("shuffled", [3, 1, 5, 0, 7, 2, 9, 4, 8, 6]),
    ):
        sensitivity(name, np.array(order))


def sensitivity(name: str, order: np.ndarray, n_users: int = 8_000) -> None:
    """Lists that 80 % power needs, by interleaving and by an A/B test of clicks per list."""
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(n_users), rng.geometric(0.2, size=n_users))
    n = len(user)
    rate = np.linspace(0.6, 0.05, 10)
    query = rng.uniform(0.2, 1.6, size=n)
    appeal = query[:, None] * rate
    a, b = (as_scores(documents) for documents in (np.arange(10), order))
    test = interleaving_test(interleaved_log(rng, [a] * n, [b] * n, appeal, user), n_resamples=1)
    habit = rng.beta(2, 2, size=n_users)[user]
    # The true difference of clicks a list: its estimate would be noise for small ones.
    truth = 0.5 * 0.9 * float((rate * G).sum() - (rate[order] * G).sum())
    variance = 0.0
    for documents in (np.arange(10), order):
        clicks = (rng.random((n, 10)) < appeal[:, documents] * G * habit[:, None]).sum(axis=1)
        variance += (np.bincount(user, clicks - clicks.mean()) ** 2).sum() / n
    needed = (1.96 + 0.8416) ** 2 * 2 * variance / truth**2
    ours = test.lists_needed(test.delta)
    print(f"{name}: interleaving needs {ours} lists, an A/B test {needed:.0f}: "
          f"{needed / ours:.0f} x")  # fmt: skip


def study_off_policy(n_simulations: int = 300) -> None:
    """Print coverage and mean width for lists of three of five documents, drawn by a softmax."""
    appeal, v = np.array([0.8, 0.6, 0.4, 0.2, 0.1]), np.array([0.9, 0.6, 0.3])
    logits = np.array([0.0, 0.4, 0.8, 0.4, 0.0])
    wanted = {"q": {str(d): 5.0 - d for d in range(5)}}
    truth = float((appeal[:3] * v).mean())
    found: dict[str, list[tuple[float, float, float]]] = {}
    for seed in range(n_simulations):
        rng = np.random.default_rng(seed)
        n = 8_000
        shown = np.argsort(-(logits + rng.gumbel(size=(n, 5))), axis=1)[:, :3]
        weight = np.exp(logits)[shown]
        left = np.exp(logits).sum() - np.cumsum(weight, axis=1) + weight
        click = rng.random((n, 3)) < appeal[shown] * v
        marginal = np.array([np.bincount(shown[:, k], minlength=5) / n for k in range(3)])
        for chain, chance in ((True, weight / left), (False, marginal[range(3), shown])):
            log = ClickLog.from_columns(
                ["q"] * (3 * n), shown.ravel(), np.tile([1, 2, 3], n), click.ravel(),
                session=np.repeat(np.arange(n), 3),
                **{"list_propensity" if chain else "propensity": chance.ravel()},
            )  # fmt: skip
            model = ClickModel("pbm").fit(log) if not chain else None
            for method in ("ips", "snips") if chain else ("item_position", "dr"):
                value = off_policy(log, wanted, "CTR", method, baseline=model)  # type: ignore[arg-type]
                hit = value.low <= truth <= value.high
                found.setdefault(method, []).append(
                    (hit, value.high - value.low, value.value - truth)
                )
    print(f"{n_simulations} simulations of 8,000 lists; truth {truth:.4f}")
    for method, values in found.items():
        hit, width, bias = np.mean(values, axis=0)
        print(f"{method:14s} coverage {hit:.3f}  width {width:.4f}  bias {bias:+.5f}")


STUDIES = {
    "judgements": study_judgements,
    "interleaving": study_interleaving,
    "off_policy": study_off_policy,
}


def main(*names: str) -> None:
    """Print the studies that are named; all by default."""
    warnings.simplefilter("ignore", UserWarning)  # rows that no list shows
    for name in names or STUDIES:
        print(f"# {name}")
        STUDIES[name]()


if __name__ == "__main__":
    main(*sys.argv[1:])
