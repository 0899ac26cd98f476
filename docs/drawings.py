"""Charts of the pages, computed by the library when the pages are built.

``.. drawing:: NAME`` shows the chart that ``draw_NAME`` of this file returns; its content is the
caption. Pages whose own examples draw the figure use ``.. figure-of::`` instead.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from docutils import nodes
from docutils.parsers.rst import Directive
from figures_of_pages import LOOK, shown
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import rankwise
from rankwise.datasets import Fold, load_dataset
from rankwise.report.axes import MARKERS, draw_lines, light, name_ends, panels, series, style

HERE = Path(__file__).parent


@functools.cache
def bundled() -> Fold:
    """The first fold of LightGBM's ranking example."""
    return load_dataset("lambdarank", fold=1)


def draw_bars(
    axes: Axes, values: dict[str, float], digits: int = 2, colours: list[str] | None = None
) -> None:
    """Horizontal bars, the first on top, each with its value at its end."""
    names = list(values)
    axes.barh(names, list(values.values()), 0.66, color=colours or light("series-1"))
    for position, value in enumerate(values.values()):
        axes.annotate(
            f"{value:.{digits}f}", (value, position), (4, 0), textcoords="offset points",
            va="center", fontsize=9,
        )  # fmt: skip
    axes.invert_yaxis()
    axes.set_xlim(0, 1.2 * max(values.values()))
    style(axes)
    axes.grid(False)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)


def draw_boxes(axes: Axes, parts: list[Any]) -> None:
    """Median, quartiles and range of each part, in colours of both themes."""
    line = {"color": light("muted")}
    axes.boxplot(
        parts, showfliers=False, boxprops=line, whiskerprops=line, capprops=line,
        medianprops={"color": series(0), "linewidth": 2},
    )  # fmt: skip


def draw_named(
    x: Any, lines: dict[str, Any], xlabel: str, ylabel: str, height: float = 2.9
) -> Figure:
    """Lines with their names at their right ends."""
    figure, (axes,) = panels(1, height, most=1)
    found = draw_lines(axes, x, lines)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    style(axes)
    figure.canvas.draw()
    name_ends(axes, x, lines, found)
    return figure


# Rankers


def read_board(path: Path) -> list[tuple[str, float, float, float, float]]:
    """Name, mean, half interval, fit and predict seconds of the rankers of a stored board."""
    rows = []
    for line in path.read_text("utf-8").splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        if re.fullmatch(r"\d+", cells[0]) and len(cells) > 8:
            mean, half = map(float, cells[2].split(" ± "))
            rows.append((cells[1], mean, half, float(cells[-3]), float(cells[-2])))
    return rows


def draw_quality_and_time() -> Figure:
    """AP on OHSUMED, time of a fit and time of a prediction, from the stored board."""
    rows = read_board(HERE / "leaderboards" / "ohsumed.txt")
    names, mean, half, *seconds = zip(*rows, strict=True)
    figure, grid = panels(3, 0.26 * len(rows) + 0.5, share_y=True)
    grid[0].errorbar(mean, names, xerr=half, fmt="o", color=series(0), elinewidth=1)
    grid[0].set_xlabel("AP, 95 % interval")
    for axes, values, word in zip(grid[1:], seconds, ("fit", "predict"), strict=True):
        axes.hlines(names, min(values) / 2, values, color=light("rule"), linewidth=1.4)
        axes.plot(values, names, "o", color=series(1))
        axes.set_xscale("log")
        axes.set_xlim(min(values) / 2)
        axes.set_xlabel(f"seconds to {word}")
    grid[0].invert_yaxis()
    for axes in grid:
        style(axes)
        axes.grid(True, axis="x", color=light("rule"), linewidth=0.8)
    return figure


def draw_training_log() -> Figure:
    """nDCG@10 on training and validation rows, recorded by a callback."""
    train, vali = bundled().train, bundled().vali
    measure, seen = rankwise.metrics.parse("nDCG@10"), []

    def record(env: Any) -> None:
        scores = env.model.predict(train.X)
        seen.append(measure.mean(train.y, scores, train.groups))

    ranker = rankwise.LambdaMART(40).fit(
        train.X, train.y, qid=train.qid, X_val=vali.X, y_val=vali.y, qid_val=vali.qid,
        callbacks=[record],
    )  # fmt: skip
    lines = {"training": seen, "validation": np.asarray(ranker.validation_scores_)}
    return draw_named(range(1, 41), lines, "trees", "nDCG@10", 2.4)


def draw_pair_losses() -> Figure:
    """Losses of a pair by the lead of the better row."""
    lead = np.linspace(-2.0, 2.0, 81)
    lines = {
        "hinge (RankSVM)": np.maximum(0, 1 - lead),
        "squared hinge": np.maximum(0, 1 - lead) ** 2,
        "logistic (RankLR, RankNet)": np.log1p(np.exp(-lead)),
        "exponential (RankBoost)": np.exp(-lead),
        "squared (PairwiseELM)": (1 - lead) ** 2,
    }
    figure, (axes,) = panels(1, 3.0, most=1)
    for number, (name, values) in enumerate(lines.items()):
        axes.plot(lead, values, color=series(number), linewidth=1.7, label=name)
    axes.axvline(0, color=light("muted"), linewidth=0.8)
    axes.set(xlabel="score of the better row minus score of the worse row", ylabel="loss")
    axes.set_ylim(0, 4.5)
    axes.legend(frameon=False, fontsize=9.5, labelcolor=light("ink"))
    style(axes)
    return figure


def draw_penalty_path() -> Figure:
    """nDCG@10 of held-out queries by penalty: 26 values from one decomposition per fold."""
    train = bundled().train
    ranker = rankwise.PairwiseELM(100, C="cv", measure="nDCG@10", random_state=0)
    found = ranker.fit(train.X, train.y, qid=train.qid).cv_results_
    folds = np.asarray(found["fold_test_scores"])
    folds = folds.T if folds.shape[0] == len(found["C"]) else folds
    figure, (axes,) = panels(1, 2.7, most=1)
    axes.semilogx(found["C"], folds.T, color=light("muted"), linewidth=0.7)
    axes.semilogx(found["C"], found["mean_test_score"], color=series(0), linewidth=2)
    axes.axvline(ranker.C_, color=light("worse"), linestyle="--", linewidth=1)
    axes.set(xlabel="C (small: strong penalty)", ylabel="nDCG@10")
    style(axes)
    return figure


# Classes, labels and costs


def draw_thresholds() -> Figure:
    """Scores of the rows of every grade, and the thresholds."""
    from rankwise.report import plot_thresholds

    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    signal = X @ [1.0, 0.5, -0.5, 0.0] + 0.4 * rng.logistic(size=1500)
    y = np.digitize(signal, [-1.0, 0.3, 1.5])
    model = rankwise.ProportionalOdds().fit(X[:500], y[:500])
    return plot_thresholds(model, X[500:], y[500:])


def draw_label_axes() -> Figure:
    """Hamming loss of PLST by number of label axes, and of one model per label."""
    from rankwise.labels import PLST, BinaryRelevance

    rng = np.random.default_rng(0)
    topic = rng.normal(size=(1500, 3)) @ np.diag([1.0, 0.9, 0.8])
    X = topic @ rng.normal(size=(3, 8)) + 0.3 * rng.normal(size=(1500, 8))
    Y = (np.repeat(topic, 4, axis=1) + 0.6 * rng.normal(size=(1500, 12)) > 0.7).astype(int)
    counts = range(1, 13)
    models = [PLST(n_components=count).fit(X[:1000], Y[:1000]) for count in counts]
    apart = -BinaryRelevance().fit(X[:1000], Y[:1000]).score(X[1000:], Y[1000:])
    figure, (axes,) = panels(1, 2.3, most=1)
    axes.plot(counts, [-model.score(X[1000:], Y[1000:]) for model in models], "o-", color=series(0))
    axes.axhline(apart, color=light("muted"), linestyle="--", linewidth=1)
    axes.annotate(
        "one model per label", (12, apart), (0, 9), textcoords="offset points", ha="right"
    )
    axes.set_xticks(counts)
    axes.set(xlabel="axes of the label space", ylabel="Hamming loss")
    style(axes)
    return figure


def draw_costs() -> Figure:
    """Predicted classes without costs and with a class that is expensive to miss."""
    from rankwise.labels import CSOVO

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=300), [-0.5, 0.5])
    costs = np.array([[0, 1, 2], [5, 0, 5], [2, 1, 0]])
    sides = {
        "true class": y,
        "predicted, without costs": CSOVO().fit(X, y).predict(X),
        "predicted, with costs": CSOVO().fit(X, y, costs=costs).predict(X),
    }
    figure, grid = panels(3, 1.5, share_y=True)
    for axes, (name, classes) in zip(grid, sides.items(), strict=True):
        counts = np.bincount(np.asarray(classes, dtype=np.int64), minlength=3)
        draw_bars(
            axes, {f"class {k}": float(n) for k, n in enumerate(counts)}, 0,
            [series(1 if k == 1 else 0) for k in range(3)],
        )  # fmt: skip
        axes.set_title(name, fontsize=10, loc="left")
    grid[0].set_ylim(2.5, -0.5)
    return figure


# Text, fusion, preferences


def draw_terms() -> Figure:
    """BM25 of each result, taken apart by term."""
    from rankwise.text import TextIndex

    documents = {
        "Cabin by the lake": "A quiet cabin by the lake with a boat, a sauna and a view.",
        "Lake hotel": "Hotel at the lake. Rooms with a view, breakfast, sauna, parking.",
        "Forest cabin": "Wooden cabin in the forest. Quiet, no neighbours, a stove and a sauna.",
        "City flat": "Flat in the old town with parking, close to the station and the lake.",
        "Boat house": "Sleep on the water: a boat with two beds, quiet at night.",
    }
    terms = ["quiet", "cabin", "sauna", "lake"]
    index = TextIndex().add(documents)
    names = index.search(" ".join(terms)).doc_ids.tolist()
    figure, (axes,) = panels(1, 2.0, most=1)
    left = np.zeros(len(names))
    for number, term in enumerate(terms):
        found = index.search(term)
        score = dict(zip(found.doc_ids.tolist(), found.scores.tolist(), strict=True))
        part = np.array([score.get(name, 0.0) for name in names])
        axes.barh(names, part, 0.7, left=left, color=series(number), label=term)
        left += part
    axes.invert_yaxis()
    axes.set_xlabel("BM25")
    axes.legend(frameon=False, fontsize=9, labelcolor=light("ink"))
    style(axes)
    axes.grid(False)
    return figure


def draw_fusion() -> Figure:
    """nDCG@10 of two systems and of four rules that fuse them."""
    from rankwise.fusion import fuse, pool_runs

    rng = np.random.default_rng(0)
    qrels: dict[str, dict[str, int]] = {}
    systems: dict[str, dict[str, dict[str, float]]] = {"BM25": {}, "encoder": {}}
    for query in map(str, range(200)):
        relevance = rng.random(60) < 0.15
        qrels[query] = {f"d{i}": int(value) for i, value in enumerate(relevance)}
        for name, gain in (("BM25", 1.0), ("encoder", 1.3)):
            scores = gain * relevance + rng.normal(size=60)
            systems[name][query] = {f"d{i}": float(scores[i]) for i in np.argsort(-scores)[:30]}
    pool = pool_runs(systems)
    runs = dict(systems) | {
        f"fused by {rule}": fuse(pool, rule, **options)
        for rule, options in {"rrf": {}, "sum": {"scaling": "min_max"}, "max": {}}.items()
    }
    values = {
        name: rankwise.evaluate(qrels, run, "nDCG@10")["nDCG@10"] for name, run in runs.items()
    }
    figure, (axes,) = panels(1, 1.8, most=1)
    colours = [light("muted")] * 2 + [light("series-1")] * 3
    draw_bars(axes, values, 3, colours)
    axes.set_xlabel("nDCG@10, mean over 200 queries")
    return figure


def draw_preferences() -> Figure:
    """Strengths with intervals from pairwise votes."""
    from rankwise.preferences import PairwisePreferences

    rng = np.random.default_rng(0)
    names = [f"model {letter}" for letter in "ABCDEF"]
    strengths = np.array([1.2, 0.9, 0.8, 0.2, -0.4, -1.0])
    first, second = rng.integers(6, size=(2, 700))
    first, second = first[first != second], second[first != second]
    won = rng.random(len(first)) < 1 / (1 + np.exp(strengths[second] - strengths[first]))
    model = PairwisePreferences().fit(
        [(names[i], names[j]) for i, j in zip(first, second, strict=True)], won.astype(float)
    )
    order = np.argsort(-model.strengths_)
    ranks = model.rank_intervals()
    figure, (axes,) = panels(1, 2.1, most=1)
    axes.errorbar(
        model.strengths_[order], range(6), xerr=1.96 * model.standard_errors_[order], fmt="o",
        color=series(0),
    )  # fmt: skip
    axes.set_yticks(
        range(6), [f"{model.items_[k]}, rank {ranks.low[k]}–{ranks.high[k]}" for k in order]
    )
    axes.invert_yaxis()
    axes.set_xlabel("strength")
    style(axes)
    axes.grid(False)
    return figure


# Clicks


@functools.cache
def simulated_log(temperature: float = 0.6) -> Any:
    """Clicks of users who look at position k with probability 1 / k."""
    from rankwise.clicks import simulate_clicks

    data = bundled().test
    user = {"model": "pbm", "examination": 1 / np.arange(1.0, 11.0)}
    return simulate_clicks(
        data, data.y.astype(float), user, n_sessions=20_000, temperature=temperature
    )


def draw_judged_clicks() -> Figure:
    """Grades from clicks by method, by true grade."""
    from rankwise.clicks import judgements

    data, log = bundled().test, simulated_log()
    figure, grid = panels(3, 2.3, share_y=False)
    for axes, method in zip(grid, ("ctr", "coec", "harvest"), strict=True):
        judged = judgements(log, method)
        rows = judged.doc_id if hasattr(judged, "doc_id") else judged.doc_ids
        truth = data.y[np.asarray(rows).astype(int)]
        grades = np.asarray(judged.grade, dtype=float)
        parts = [grades[truth == grade] for grade in np.unique(truth)]
        draw_boxes(axes, parts)
        axes.set_title(method, fontsize=10, loc="left")
        axes.set_xlabel("true grade")
        axes.set_xticks(range(1, len(parts) + 1), [f"{g:g}" for g in np.unique(truth)])
        style(axes)
    grid[0].set_ylabel("judgement")
    return figure


# Measures and tests


def draw_discounts() -> Figure:
    """Weight of a relevant document by its rank, relative to the first."""
    rank = np.arange(1, 16)
    lines = {
        "nDCG": 1 / np.log2(1 + rank),
        "RBP, p = 0.8": 0.8 ** (rank - 1.0),
        "RR": 1 / rank,
        "P@10": (rank <= 10) * 1.0,
    }
    return draw_named(rank, lines, "rank of the document", "weight, relative to rank 1")


def draw_conventions() -> Figure:
    """What gains, empty queries and ties do to nDCG of the same scores."""
    cases = [
        ("Gain: grades 0 1 2 3", [0, 1, 2, 3], [4, 3, 2, 1], [1] * 4, "gain", ("exp2", "linear")),
        (
            "Empty: 0 1 2, and 0 0",
            [0, 1, 2, 0, 0], [3, 2, 1, 2, 1], [1, 1, 1, 2, 2], "empty", ("skip", "0", "1"),
        ),
        (
            "Ties: 0 0 1, equal scores",
            [0, 0, 1], [1, 1, 1], [1] * 3, "ties", ("best", "mean", "stable", "worst"),
        ),
    ]  # fmt: skip
    figure, grid = panels(3, 1.7)
    for axes, (title, y, scores, qid, option, choices) in zip(grid, cases, strict=True):
        values = {}
        for choice in choices:
            name = f"nDCG({option}={choice})@3"
            values[f"{option}={choice}"] = rankwise.evaluate(y, scores, qid, name)[name]
        draw_bars(axes, values)
        axes.set_ylim(3.5, -0.5)
        axes.set_xlim(0, 1.25)
        axes.set_title(title, fontsize=10, loc="left")
    return figure


def draw_missing_judgements() -> Figure:
    """Measures of one run as fewer of the relevant and irrelevant documents are judged."""
    rng = np.random.default_rng(0)
    shares = [1.0, 0.8, 0.6, 0.4, 0.2]
    names = ["AP", "nDCG@10", "bpref"]
    lines: dict[str, list[float]] = {name: [] for name in names}
    truth, run = {}, {}
    for query in map(str, range(200)):
        relevance = rng.random(60) < 0.25
        scores = 1.2 * relevance + rng.normal(size=60)
        truth[query] = {f"d{i}": int(value) for i, value in enumerate(relevance)}
        run[query] = {f"d{i}": float(value) for i, value in enumerate(scores)}
    for share in shares:
        judged = {
            query: {name: grade for name, grade in grades.items() if rng.random() < share}
            for query, grades in truth.items()
        }
        found = rankwise.evaluate(judged, run, names, preset="trec_eval")
        for name in names:
            lines[name].append(found[name])
    percent = [100 * share for share in shares]
    figure = draw_named(percent, lines, "% of the documents judged", "mean over 200 queries")
    figure.axes[0].set_xlim(100, 20)
    return figure


def draw_machine_judge() -> Figure:
    """Half widths of 95 % intervals with human judgements alone and with a machine's."""
    share = np.linspace(0, 0.95, 20)
    lines = {
        f"{ratio} machine queries per human one": 100
        * (1 - np.sqrt(1 - share**2 * ratio / (1 + ratio)))
        for ratio in (1, 4, 20)
    }
    figure, (axes,) = panels(1, 2.6, most=1)
    for number, (name, values) in enumerate(lines.items()):
        axes.plot(share, values, color=series(number), linewidth=1.7, label=name)
    axes.set(xlabel="correlation of human and machine values", ylabel="% narrower interval")
    axes.legend(frameon=False, fontsize=9.5, labelcolor=light("ink"))
    style(axes)
    return figure


@functools.cache
def subtract_queries(first: str, second: str) -> Any:
    """nDCG@10 per test query of one ranker minus that of another, with default parameters."""
    train, test = bundled().train, bundled().test
    values = []
    for name in (first, second):
        ranker = getattr(rankwise, name)().fit(train.X, train.y, qid=train.qid)
        scores = ranker.predict(test.X)
        values.append(rankwise.evaluate(test.y, scores, test.qid, "nDCG@10").per_query["nDCG@10"])
    return values[0] - values[1]


def draw_query_differences() -> Figure:
    """Differences in nDCG@10 query by query, largest gain first."""
    difference = np.sort(subtract_queries("LambdaMART", "RidgeRanker"))[::-1]
    figure, (axes,) = panels(1, 2.2, most=1)
    colours = [light("better" if value > 0 else "worse") for value in difference]
    axes.bar(range(1, len(difference) + 1), difference, 0.8, color=colours)
    axes.axhline(0, color=light("ink"), linewidth=0.8)
    axes.set(xlabel="test queries, sorted", ylabel="difference in nDCG@10")
    style(axes)
    return figure


def draw_own_measure() -> Figure:
    """A measure of one's own against nDCG@10, a point per test query."""
    train, test = bundled().train, bundled().test

    def first_page(y: Any, scores: Any) -> float:
        relevant = y > 0
        found = relevant[np.argsort(-scores)[:3]].sum()
        return found / min(relevant.sum(), 3) if relevant.any() else np.nan

    ranker = rankwise.RidgeRanker().fit(train.X, train.y, qid=train.qid)
    result = rankwise.evaluate(
        test.y, ranker.predict(test.X), test.qid, ["nDCG@10", first_page]
    ).per_query
    spread = np.random.default_rng(0).uniform(-0.02, 0.02, len(result["nDCG@10"]))
    figure, (axes,) = panels(1, 2.3, most=1)
    axes.plot(result["nDCG@10"], result["first_page"] + spread, "o", color=series(0), alpha=0.6)
    axes.set(xlabel="nDCG@10 of a query", ylabel="first_page")
    style(axes)
    return figure


def draw_sign_flips() -> Figure:
    """Mean differences under random signs, and the mean that was observed."""
    difference = subtract_queries("LambdaMART", "RankLR")
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(9999, len(difference)))
    means = signs @ difference / len(difference)
    observed = difference.mean()
    p = (1 + np.sum(np.abs(means) >= abs(observed))) / 10_000
    figure, (axes,) = panels(1, 2.4, most=1)
    counts, edges = np.histogram(means, 60)
    beyond = np.abs(edges[:-1] + np.diff(edges) / 2) >= abs(observed)
    colours = [light("worse") if far else light("muted") for far in beyond]
    axes.bar(edges[:-1], counts, np.diff(edges), align="edge", color=colours)
    axes.axvline(observed, color=series(0), linewidth=1.8)
    axes.annotate(
        f"observed: {observed:+.3f}, p = {p:.3f}", (observed, counts.max()), (6, -4),
        textcoords="offset points", color=series(0),
    )  # fmt: skip
    axes.set(xlabel="mean difference in nDCG@10 with random signs", ylabel="draws of the signs")
    style(axes)
    return figure


def draw_interval_errors() -> Figure:
    """Error found divided by the error promised, a point per line of the stored table."""
    import csv

    with (HERE / "interval_errors.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if re.fullmatch(r"[\d.]+", row["found"])]
    kinds = list(dict.fromkeys(re.split("[ ,:]", row["procedure"])[0] for row in rows))
    figure, (axes,) = panels(1, 0.23 * len(kinds) + 0.6, most=1)
    for number, verdict in enumerate(("holds", "named", "refused")):
        kept = [row for row in rows if row["verdict"] == verdict]
        axes.plot(
            [max(float(row["found"]) / float(row["promised"]), 0.02) for row in kept],
            [kinds.index(re.split("[ ,:]", row["procedure"])[0]) for row in kept],
            MARKERS[number], color=series(number), alpha=0.5, label=f"{verdict} ({len(kept)})",
        )  # fmt: skip
    axes.axvline(1, color=light("ink"), linewidth=0.9)
    axes.set_xscale("log")
    axes.set_yticks(range(len(kinds)), kinds)
    axes.invert_yaxis()
    axes.set_xlabel("error found / error promised (log scale; 1: as promised)")
    figure.legend(loc="outside upper right", ncols=3, frameon=False, labelcolor=light("ink"))
    style(axes)
    return figure


# Explanations, data, drift


def draw_waterfall() -> Figure:
    """From the score of one document to that of a better one, feature by feature."""
    from rankwise.explain import explain_pair

    rng = np.random.default_rng(0)
    names = ["text match", "clicks", "age", "price", "stock"]
    X = rng.normal(size=(900, 5))
    signal = X[:, 0] * (1 + 0.4 * X[:, 4]) + 0.8 * X[:, 1] - 0.6 * X[:, 2].clip(0)
    y = np.digitize(signal + 0.5 * rng.normal(size=900), [0.0, 1.0, 2.0])
    forest = rankwise.RankingForest(40, max_depth=6, random_state=0).fit(X[:800], y[:800])
    order = 800 + np.argsort(-forest.predict(X[800:810]))
    pair = explain_pair(forest, X[order[0]], X[order[3]])
    steps = np.argsort(-np.abs(pair.values))
    values = pair.values[steps]
    start = pair.score_b + np.concatenate([[0.0], np.cumsum(values)])
    figure, (axes,) = panels(1, 2.5, most=1)
    rows = ["score of B", *(names[k] for k in steps), "score of A"]
    colours = [light("better" if value >= 0 else "worse") for value in values]
    axes.barh(rows[0], pair.score_b, 0.6, color=light("muted"))
    axes.barh(rows[1:-1], values, 0.6, left=start[:-1], color=colours)
    axes.barh(rows[-1], pair.score_a, 0.6, color=light("muted"))
    ends = [pair.score_b, *np.maximum(start[:-1], start[1:]), pair.score_a]
    labels = [f"{pair.score_b:.2f}", *(f"{value:+.2f}" for value in values), f"{pair.score_a:.2f}"]
    for position, (end, label) in enumerate(zip(ends, labels, strict=True)):
        axes.annotate(
            label, (end, position), (4, 0), textcoords="offset points", va="center", fontsize=9
        )
    axes.invert_yaxis()
    axes.set_xlabel("score")
    style(axes)
    axes.grid(False)
    return figure


def draw_drift() -> Figure:
    """A feature in the weeks after training: one column moved in week 5."""
    rng = np.random.default_rng(0)
    weeks = [rng.gamma(3.0, 1.0, 400) for _ in range(4)]
    weeks += [rng.gamma(3.0, 1.0, 400) + 1.5 for _ in range(3)]
    figure, (axes,) = panels(1, 2.3, most=1)
    draw_boxes(axes, weeks)
    axes.axvline(4.5, color=light("worse"), linestyle="--", linewidth=1)
    axes.annotate("unit of the column changed", (4.5, 0), (5, 2), textcoords="offset points")
    axes.set(xlabel="week after training", ylabel="a feature")
    style(axes)
    return figure


HELPERS = ("draw_bars", "draw_boxes", "draw_lines", "draw_named")
DRAWINGS = {
    name.removeprefix("draw_"): function
    for name, function in list(globals().items())
    if name.startswith("draw_") and name not in HELPERS
}


def draw(name: str) -> Figure:
    """The chart of a name, in the style of all pages."""
    with mpl.rc_context(LOOK):
        return DRAWINGS[name]()


class Drawing(Directive):
    """``.. drawing:: NAME``, with the caption as its content."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        if name not in DRAWINGS:
            raise self.error(f"{name!r} is none of {', '.join(DRAWINGS)}.")
        caption = " ".join(self.content)
        return [shown(draw(name), f"drawing-{name.replace('_', '-')}", caption)]


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("drawing", Drawing)
    return {"parallel_read_safe": True}
