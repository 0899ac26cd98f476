"""Rank-agreement measures and significance beside scipy: many queries, one long query, growth.

    python -m benchmarks.bench_agreement

The measures run on prepared QueryGroups with all threads; scipy is called query by query, as its
users do, on one thread.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from benchmarks._timing import interleave, report, synthetic_ranking
from rankwise import QueryGroups
from rankwise.metrics import evaluate
from rankwise.metrics.statistics.intervals import bootstrap_intervals
from rankwise.metrics.statistics.paired import sign_flip_p_values

QUERIES, DOCS = 2000, 120
PEERS = {
    "Tau": lambda y, f: stats.kendalltau(y, f).statistic,
    "Misranking": lambda y, f: stats.kendalltau(y, f).statistic,
    "Rho": lambda y, f: stats.spearmanr(y, f).statistic,
    "Pearson": lambda y, f: stats.pearsonr(y, f).statistic,
}


def many_queries() -> None:
    """2,000 queries of 120 rows: each measure beside a loop over scipy's."""
    _, y, qid = synthetic_ranking(QUERIES, DOCS, n_features=10)
    scores = np.random.default_rng(1).standard_normal(len(y))
    groups = QueryGroups.from_qid(qid, len(y))
    specs = ["MSD", "M1D", "Misranking", "RankingError", "Tau", "Rho", "Pearson"]
    ours = {spec: (lambda s=spec: evaluate(y, scores, groups, s)) for spec in specs}
    ours["all seven"] = lambda: evaluate(y, scores, groups, specs)
    rows = [slice(lo, lo + DOCS) for lo in range(0, len(y), DOCS)]
    peers = {
        f"scipy for {spec}": (lambda peer=peer: [peer(y[r], scores[r]) for r in rows])
        for spec, peer in PEERS.items()
        if spec != "Misranking"
    }
    times = interleave({**ours, **peers})
    print(f"{QUERIES:,} queries x {DOCS} rows, ms:")
    print("  " + ", ".join(f"{spec} {times[spec].median * 1e3:.2f}" for spec in ours))
    for spec in PEERS:
        peer = times[f"scipy for {'Tau' if spec == 'Misranking' else spec}"]
        report(f"{spec}, {QUERIES:,} x {DOCS}", times[spec], peer, faster=20)


def one_query() -> None:
    """One query of 10^4, 10^5, 10^6 rows: milliseconds, growing as m log m."""
    rng = np.random.default_rng(2)
    for labels in ("5 grades", "real labels"):
        sides = {}
        for m in (10**4, 10**5, 10**6):
            y = rng.integers(0, 5, m).astype(float) if labels == "5 grades" else rng.random(m)
            scores, groups = rng.standard_normal(m), QueryGroups.single(m)
            for spec in ("Misranking", "Tau", "M1D", "MSD"):
                sides[f"{spec} {m}"] = lambda s=spec, a=(y, scores, groups): evaluate(*a, s)
            if m == 10**5:
                sides["scipy"] = lambda a=(y, scores): stats.kendalltau(*a)
        times = interleave(sides)
        for spec in ("Misranking", "M1D", "MSD"):
            ms = [times[f"{spec} {m}"].median * 1e3 for m in (10**4, 10**5, 10**6)]
            print(
                f"one query, {labels}, {spec}: {ms[0]:.2f}, {ms[1]:.2f}, {ms[2]:.1f} ms "
                "for 10^4, 10^5, 10^6 rows"
            )
        report(f"Tau, one query of 10^5, {labels}", times["Tau 100000"], times["scipy"], faster=2)
        # 10 times the rows: 12.5 times m log m; caches add to that.
        report(
            f"Misranking, {labels}, 10^5 rows beside 10^4",
            times["Misranking 100000"],
            times["Misranking 10000"],
            within=25,
        )


def significance() -> None:
    """Ten systems against one on 2,000 queries: 9,999 flips, 9,999 bootstrap draws."""
    rng = np.random.default_rng(3)
    differences = rng.standard_normal((QUERIES, 10))

    def scipy_flips() -> None:
        stats.permutation_test(
            (differences[:, 0], np.zeros(QUERIES)),
            lambda a, b, axis: np.mean(a - b, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=9999,
            batch=500,
            rng=0,
        )

    times = interleave(
        {
            "flips": lambda: sign_flip_p_values(differences),
            "scipy.permutation_test, one system": scipy_flips,
            "draws": lambda: bootstrap_intervals(differences),
            "scipy.bootstrap, one system": lambda: stats.bootstrap(
                (differences[:, 0],), np.mean, batch=500, rng=0
            ),
        },
        repeats=3,
    )
    report(
        "randomisation of 10 systems",
        times["flips"],
        times["scipy.permutation_test, one system"],
        within=1,
    )
    report(
        "BCa intervals of 10 systems",
        times["draws"],
        times["scipy.bootstrap, one system"],
        within=2,
    )


def main() -> None:
    many_queries()
    one_query()
    significance()


if __name__ == "__main__":
    main()
