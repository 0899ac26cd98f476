"""Share of 95 % intervals from clicks that hold the truth, where it is known.

    python -m benchmarks.study_click_intervals [pairs] [sparse] [user]

- Position-based logs from 1.5 impressions a pair, by a logger that shows good documents above and
  one that shows bad ones above: examination of place 2, which is .5, by the default of ClickModel
  and by joint_prior=True, with its prior and with a thousandth of it; shares of the intervals of
  propensities that hold the truth; and the log-likelihood of other lists of the same users, in
  thousandths an impression, minus that of the truth.
- Judgements and examination: pairs stay within one place of their own, rates are beta(2, 5) and
  users position-based. "ips" and "harvest" know the examination; "few": pairs with less than 5
  clicks. "logs": share of the logs in which clicks go both ways between all places.
- One heavy user with the given share of the lists, users with tastes of their own: one look and any
  time of interleaving_test (systems alike), and click rates of a summary.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.interval_errors.clicks import USUAL
from benchmarks.interval_errors.clicks import record as record_lists
from rankwise.clicks import ClickLog, ClickModel, interleaving_test, judgements, propensities
from rankwise.clicks.simulation import EXAMINATION

G = np.array(EXAMINATION)


def record(rng: np.random.Generator, n_pairs: int, n: float) -> tuple[ClickLog, np.ndarray]:
    """Clicks on n impressions of each pair on average, and the rates of the pairs at the top."""
    rate = rng.beta(2, 5, size=n_pairs)
    pair = np.repeat(np.arange(n_pairs), np.floor(n + rng.random(n_pairs)).astype(int))
    place = np.clip(rng.integers(10, size=n_pairs)[pair] + rng.integers(3, size=len(pair)), 1, 10)
    click = rng.random(len(pair)) < rate[pair] * G[place - 1]
    return ClickLog.from_columns(pair % 30, pair, place, click), rate


def study_pairs(n_simulations: int = 100, n_pairs: int = 300) -> None:
    """Print coverage by the impressions of a pair."""
    print(f"{n_pairs} pairs, {n_simulations} simulations a line")
    print("impressions  ips   (few)     harvest (few)   pbm    examination by em   logs")
    for n in (1.5, 5, 10, 33, 100, 333):
        found: dict[str, list[float]] = {"em": []}
        for seed in range(n_simulations):
            log, rate = record(np.random.default_rng(seed), n_pairs, n)
            for name, options in (
                ("ips", {"method": "ips", "propensities": G}),
                ("harvest", {"method": "harvest", "propensities": G}),
                ("pbm", {"method": "pbm"}),
            ):
                judged = judgements(log, **options)  # type: ignore[arg-type]
                truth = rate[judged.doc_ids.astype(int)]
                inside = (judged.low <= truth) & (truth <= judged.high)
                found.setdefault(name, []).append(inside.mean())
                if (few := judged.clicks < 5).any():
                    found.setdefault(f"{name} few", []).append(inside[few].mean())
            if log.summary().identifies_examination:
                g = propensities(log, "em")
                inside = (g.low <= G[g.place - 1]) & (g.high >= G[g.place - 1])
                found["em"].append(inside[(g.place != g.unit) & np.isfinite(g.high)].mean())
        m = {name: float(np.mean(values)) for name, values in found.items() if values}
        linked = len(found["em"]) / n_simulations
        few, rare = m.get("ips few", np.nan), m.get("harvest few", np.nan)
        print(f"{n:11g}  {m['ips']:.3f} ({few:.3f})   {m['harvest']:.3f} ({rare:.3f})   "
              f"{m['pbm']:.3f}  {m.get('em', np.nan):.3f}               {linked:.2f}",
              flush=True)  # fmt: skip


def study_sparse(n_simulations: int = 50) -> None:
    """Print examinations, coverage and held-out likelihood by the impressions of a pair."""
    print(f"1,200 lists of 6 of 10 documents, {n_simulations} simulations a line")
    print("                     g of place 2              g in interval      held out")
    print("impressions  logger  default  joint  no prior  harvest  em        default  joint")
    for logger, name in ((1.0, "good"), (-1.0, "bad ")):
        for n in (1.5, 3.0, 5.0, 10.0, 22.0, 100.0):
            rows = [_compare(np.random.default_rng(s), n, logger) for s in range(n_simulations)]
            g, joint, bare, harvest, em, ours, other = np.mean(rows, axis=0)
            print(f"{n:11g}  {name}    {g:7.3f} {joint:6.3f} {bare:9.3f} {harvest:8.3f} {em:6.3f}"
                  f"   {1000 * ours:9.1f} {1000 * other:6.1f}", flush=True)  # fmt: skip


def _compare(rng: np.random.Generator, n: float, logger: float) -> tuple[float, ...]:
    """One line of the table: half of the lists for the fits, half held out."""
    both, appeal = record_lists(rng, 2 * n, USUAL, logger, n_lists=2_400)
    first = both.session.codes % 2 == 0  # type: ignore[union-attr]
    log, other = (both.take(np.flatnonzero(rows)) for rows in (first, ~first))
    models = [
        ClickModel("pbm", **options).fit(log)  # type: ignore[arg-type]
        for options in (
            {}, {"joint_prior": True}, {"joint_prior": True, "prior": (2e-4, 1e-3)},
        )
    ]  # fmt: skip
    coverage = []
    for method in ("harvest", "em"):
        found = propensities(log, method)  # type: ignore[arg-type]
        truth = USUAL[found.place - 1]
        inside = (found.low <= truth) & (truth <= found.high)
        coverage.append(inside[found.place != found.unit].mean())
    truth = appeal[both.pairs.code][~first] * USUAL[other.place - 1]
    values = []
    for p in (truth, *(model.predict_proba(other) for model in models[:2])):
        p = np.clip(p, 1e-9, 1 - 1e-9)
        values.append(np.where(other.click, np.log(p), np.log1p(-p)).mean())
    g = [model.examination_[1] for model in models]
    return (*g, *coverage, values[1] - values[0], values[2] - values[0])


def study_heavy_user(n_simulations: int = 1000, n: int = 400, n_users: int = 60) -> None:
    """Print coverage by the share of the heaviest user."""
    print(f"{n} lists of {n_users} users, {n_simulations} simulations a line")
    print("share   one look   any time   click rate")
    for share in (0.02, 0.3, 0.6, 0.9):
        inside = np.zeros(3)
        for seed in range(n_simulations):
            rng = np.random.default_rng(seed)
            user = np.where(rng.random(n) < share, 0, rng.integers(1, n_users, size=n))
            first = rng.random(n) < rng.beta(5, 5, size=n_users)[user]
            log = ClickLog.from_columns(
                np.zeros(2 * n, int), np.tile([0, 1], n), np.tile([1, 2], n),
                np.c_[first, ~first].ravel(), session=np.repeat(np.arange(n), 2),
                user=np.repeat(user, 2), arm=["a", "b"] * n,
            )  # fmt: skip
            test, summary = interleaving_test(log, n_resamples=1), log.summary()
            inside += (
                test.low <= 0 <= test.high,
                test.sequential_low <= 0 <= test.sequential_high,
                summary.low[0] <= 0.5 <= summary.high[0],
            )
        print("{:5.2f}   {:8.3f}   {:8.3f}   {:10.3f}".format(share, *inside / n_simulations),
              flush=True)  # fmt: skip


STUDIES = {"sparse": study_sparse, "pairs": study_pairs, "user": study_heavy_user}

if __name__ == "__main__":
    for number, study in enumerate(sys.argv[1:] or STUDIES):
        if number:
            print()
        STUDIES[study]()
