"""Results of the library, as :mod:`benchmarks.fingerprints` stores them."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import itertools
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

SAID_BY = ("predict", "predict_proba", "rank_score", "decision_function", "transform")
MEMBERS = ["linear_regression", "ridge"]
# Defaults that take more than five seconds, or as long as the clock says; threads of libraries.
QUICK: dict[str, dict[str, Any]] = {
    "auto": {"time_budget": None, "n_trials": 4, "cv": 3},
    "boltz_rank": {"n_epochs": 3, "n_rankings": 10},
    "lightgbm": {"n_jobs": 1},
    "xgboost": {"n_jobs": 1},
    "catboost": {"n_jobs": 1, "n_estimators": 30},
}
SHORT = {"n_estimators": 20, "n_epochs": 3, "n_nodes": 20, "n_restarts": 1, "n_trials": 2}
FUSION_RULES = (
    "sum", "mnz", "gmnz", "anz", "min", "max", "med", "wmnz", "mixed", "rrf", "isr", "log_isr",
    "logn_isr", "rbc", "borda", "condorcet",
)  # fmt: skip
NORMALIZATIONS = ("min_max", "max", "sum", "z", "rank", "borda", "none")
CLICK_METHODS = ("ctr", "coec", "harvest", "ips", "pbm", "ubm", "sdbn", "dbn")


def digest(value: Any) -> str:
    """SHA-256 of a result: bits, shape and type of arrays, and what else is in it, in order."""
    found = hashlib.sha256()

    def add(part: Any) -> None:
        part = part.toarray() if sparse.issparse(part) else part
        part = part.to_numpy() if hasattr(part, "to_numpy") else part
        if isinstance(part, np.ndarray) and part.dtype.kind not in "OUT":
            found.update(f"{part.dtype}{part.shape}".encode() + part.tobytes())
        elif isinstance(part, (list, tuple, np.ndarray)):
            found.update(f"[{len(part)}".encode())
            for item in part:
                add(item)
        elif isinstance(part, float):
            add(part.hex())
        elif part is None or isinstance(part, (str, int, np.generic)):
            found.update(f"{part}\0".encode())
        else:  # a result: what it holds, by name
            values = part if isinstance(part, dict) else vars(part)
            add([(name, values[name]) for name in sorted(values, key=str)])

    add(value)
    return found.hexdigest()


def told(show: Callable[[Any], Any], call: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What a call gives, or the error that it raises; and its warnings, if there are any."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = show(call(*given, **named))
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    said = sorted({f"{type(each.message).__name__}: {each.message}" for each in caught})
    return [cut(result), *map(cut, said)] if said else cut(result)


def cut(text: Any) -> Any:
    """The text without addresses in memory, and without the modules of our classes."""
    if not isinstance(text, str):
        return text
    return re.sub(r"rankwise(?:_papers)?\.[\w.]*\.(?=\w)| at 0x\w+|/\S*/(?=\w)", "", text)


def small_rows(kind: str, n_rows: int = 120) -> dict[str, Any]:
    """Twelve queries with four grades, or four labels, that depend on the first columns."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(n_rows, 6))
    y = np.clip(np.round(X[:, 0] + 0.5 * X[:, 1] + 1), 0, 3).astype(int)
    y[:4] = range(4)
    if kind == "multi-label":
        y = (X[:, :4] + draw.normal(size=(n_rows, 4)) > 0.5).astype(int)
    return {"X": X, "y": y, "qid": np.arange(n_rows) // (n_rows // 12)}


def letor_rows(kind: str) -> dict[str, Any]:
    """The first 60 queries of the bundled set."""
    from rankwise.datasets import load_dataset

    data: Any = load_dataset("lambdarank", fold=1)
    rows = np.flatnonzero(np.isin(data.train.qid, list(dict.fromkeys(data.train.qid))[:60]))
    part = data.train.take(rows)
    y = part.y.astype(int)
    y = np.stack([y >= 1, y >= 2, y % 2 == 1], axis=1).astype(int) if kind == "multi-label" else y
    return {"X": part.X, "y": y, "qid": part.qid}


def mixed_rows(kind: str) -> dict[str, Any]:
    """A frame with text, a flag and missing numbers."""
    import pandas as pd

    given = small_rows(kind)
    X = given["X"].copy()
    X[::7, 1] = np.nan
    frame = pd.DataFrame(X, columns=pd.Index(list("abcdef")))
    frame["g"] = pd.Categorical(np.array(["red", "green", "blue"])[np.arange(len(X)) % 3])
    frame["h"] = X[:, 2] > 0
    return {**given, "X": frame}


def frame_rows(kind: str) -> dict[str, Any]:
    """A frame of numbers with names."""
    import pandas as pd

    given = small_rows(kind)
    return {**given, "X": pd.DataFrame(given["X"], columns=pd.Index(list("abcdef")))}


def sparse_rows(kind: str) -> dict[str, Any]:
    """CSR rows, three quarters of them empty."""
    given = small_rows(kind)
    return {**given, "X": sparse.csr_array(np.where(given["X"] > 0.7, given["X"], 0.0))}


def kind_rows(kind: str) -> dict[str, Any]:
    """Rows as the kind's data sets have them, with validation rows: ratings, ordered classes."""
    from rankwise import datasets

    if kind == "ranker":
        draw = np.random.default_rng(1)
        users, items = np.divmod(np.flatnonzero(draw.random(40 * 30) < 0.5), 30)
        stars = np.clip(np.round(3 + 0.1 * (items % 9 - 4) + draw.normal(size=len(users))), 1, 5)
        ratings = datasets.ratings_from_triplets(users, items, stars, scale=(1, 5))
        fold = datasets.ratings_task(ratings, random_state=0)
        parts: list[Any] = [fold.train, fold.test if fold.vali is None else fold.vali]
        made = [{"X": part.X, "y": part.y, "qid": part.qid} for part in parts]
    elif kind in ("ordinal", "cost-sensitive"):
        sets = [datasets.make_ordinal_square(240, random_state=seed) for seed in (0, 1)]
        made = [{"X": X, "y": y, "qid": np.arange(240) // 12} for X, y in sets]
    else:
        made = [small_rows(kind, 240)] * 2
    return {**made[0], **{f"{name}_val": value for name, value in made[1].items()}}


def settings(cls: type, key: str) -> dict[str, Any]:
    """Parameters that every fit needs."""
    from sklearn.linear_model import LogisticRegression

    needed = {"estimator": LogisticRegression(), "final_estimator": MEMBERS[0]}
    names = inspect.signature(cls).parameters
    params = {n: v for n, v in needed.items() if n in names and names[n].default is names[n].empty}
    params |= {"estimators": MEMBERS} if "estimators" in names else {}
    return params | ({"random_state": 0} if "random_state" in names else {}) | QUICK.get(key, {})


def predictions(cls: type, params: dict[str, Any], given: dict[str, Any]) -> Any:
    """Digests of what the fitted estimator says of the rows that it was fitted to."""
    takes = inspect.signature(cls.fit).parameters
    rows = {name: value for name, value in given.items() if name in takes}
    if "costs" in takes:
        n_classes = len(np.unique(given["y"]))
        rows["costs"] = np.abs(np.subtract.outer(np.arange(n_classes), np.arange(n_classes))) * 1.0
    model: Any = None

    def say() -> dict[str, str]:
        nonlocal model
        model = cls(**params)
        model.fit(**rows)
        said = {}
        for name in SAID_BY:
            if hasattr(model, name):
                reads = inspect.signature(getattr(model, name)).parameters
                by_query = {"qid": given["qid"]} if "qid" in reads else {}
                said[name] = digest(getattr(model, name)(given["X"], **by_query))
        return said

    return told(dict, say)


def fits() -> Iterator[tuple[str, Any]]:
    """Predictions of every entry of the registry on each set, and with each single option."""
    from rankwise._registry import REGISTRY

    for key, entry in REGISTRY.items():
        try:
            cls = entry.load()
            params = settings(cls, key)
            if entry.extra == "neural":
                importlib.import_module("torch")
        except ImportError:
            continue
        kind = entry.kind
        for make in (letor_rows, mixed_rows, frame_rows, sparse_rows):
            yield f"{key} {make.__name__}", predictions(cls, params, make(kind))
        tuned = entry.params | params
        tuned |= {n: min(v, 100) for n, v in tuned.items() if n == "n_estimators"}
        yield f"{key} kind_rows {tuned}", predictions(cls, tuned, kind_rows(kind))
        short = {n: v for n, v in SHORT.items() if n in inspect.signature(cls).parameters} | params
        for name, value in options(cls):
            given = small_rows(kind, 48)
            if value == "precomputed":
                given["X"] = given["X"] @ given["X"].T
            elif value == "val":
                given |= {f"{n}_val": v for n, v in given.items()}
            yield f"{key} {name}={value}", predictions(cls, short | {name: value}, given)


def options(cls: Any) -> Iterator[tuple[str, Any]]:
    """Every named value of every parameter, one at a time."""
    for name, constraints in getattr(cls, "_parameter_constraints", {}).items():
        for constraint in constraints:
            if constraint == "boolean":
                yield from ((name, value) for value in (False, True))
            else:
                yield from ((name, v) for v in sorted(getattr(constraint, "options", ()), key=str))


def measures() -> Iterator[tuple[str, Any]]:
    """Every measure on random rows with ties, in every convention; label measures on labels."""
    from rankwise.metrics import PRESETS, evaluate, evaluate_labels, label_propensities
    from rankwise.metrics._table import LABEL_MEASURES, MEASURES

    draw = np.random.default_rng(2)
    y, scores, qid = draw.integers(0, 4, 300), draw.normal(size=300).round(1), np.arange(300) // 10
    Y, S = draw.integers(0, 2, (60, 5)), draw.normal(size=(60, 5)).round(1)

    def show(result: Any) -> list[str]:
        values = [value.hex() for value in map(float, result.values())]
        return [*values, digest(getattr(result, "per_query", {}))]

    known: Any = {"doc_ids": np.arange(300)[::-1].astype(str), "judged": draw.random(300) < 0.7}
    for name, preset in itertools.product(MEASURES, (None, *PRESETS)):
        by = known | {"preset": preset}
        yield f"{name} {preset}", told(show, evaluate, y, scores, qid, [name], **by)
        if "@" not in str(told(show, evaluate, y, scores, qid, [f"{name}@5"])):  # takes no cut-off
            yield f"{name}@5 {preset}", told(show, evaluate, y, scores, qid, [f"{name}@5"], **by)
    for name in MEASURES:
        yield f"{name} of rows", told(show, evaluate, y, scores, qid, [name])
        yield f"{name} of ranks", told(show, evaluate, y, y[::-1], qid, [name], classes=range(4))
    given: Any = {"predicted": (S > 0).astype(int), "propensity": label_propensities(Y)}
    for name, cut_off in itertools.product({**MEASURES, **LABEL_MEASURES}, ("", "@3")):
        yield (
            f"{name}{cut_off} of labels",
            told(show, evaluate_labels, Y, S, [name + cut_off], **given),
        )


def boards() -> Iterator[tuple[str, Any]]:
    """Leaderboards as CSV, and what the functions of significance say."""
    import pandas as pd

    from rankwise import compare, leaderboard
    from rankwise.datasets import RankingData
    from rankwise.metrics import significance

    def csv(board: Any) -> str:
        return board.to_csv()

    rows = letor_rows("ranker")
    data = RankingData(rows["X"][:, :60], rows["y"].astype(float), qid=rows["qid"])
    rankers = ["ridge", "linear_regression", "rank_svm", "lambdamart", "proportional_odds"]
    wanted: Any = ({}, {"baseline": "ridge", "test": "wilcoxon"}, {"select_by": "AP"})
    for given in wanted:
        yield f"compare {given}", told(csv, compare, rankers, data, cv=3, isolate=False, **given)
    draw = np.random.default_rng(3)
    values = {name: draw.beta(2, 2, 40) + place / 40 for place, name in enumerate("abcd")}
    table = pd.DataFrame(values).rename_axis("query").reset_index()
    table = table.melt("query", var_name="system", value_name="score")
    a, b, c, _ = values.values()
    for test in ("t", "wilcoxon", "randomization"):
        yield f"paired {test}", told(digest, significance.paired_test, a, b, test)
        for correction in ("auto", "holm", "bonferroni", "max_t", "benjamini_hochberg"):
            by: Any = {"test": test, "correction": correction, "baseline": "a"}
            yield f"leaderboard {by}", told(csv, leaderboard, table, **by)
            by = {"method": test, "correction": correction}
            yield f"best {by}", told(digest, significance.compare_to_best, values, **by)
    stack = np.stack(list(values.values()), axis=1)
    for name, *given in (
        ("average_ranks", values), ("bootstrap_interval", a), ("mean_intervals", stack),
        ("t_intervals", stack), ("detectable_difference", values), ("queries_needed", values, 0.05),
        ("always_valid_interval", a - b), ("prediction_powered_mean", a, b, c),
        ("cliffs_delta", a, b), ("cohens_d", a, b), ("rank_biserial", a, b), ("holm", a / 2),
    ):  # fmt: skip
        yield name, told(digest, getattr(significance, name), *given)


def fusion() -> Iterator[tuple[str, Any]]:
    """Three runs by every rule, weighting and normalisation, and fusion that learns."""
    from rankwise.datasets import Qrels, Run
    from rankwise.fusion import LearnedFusion, ProbabilisticFusion, fuse

    draw = np.random.default_rng(4)
    qid, doc = (part.ravel().astype(str) for part in np.mgrid[:8, :20])
    kept = [np.flatnonzero(draw.random(160) < 0.7) for _ in range(3)]
    scores = [draw.normal(size=len(rows)).round(1) for rows in kept]
    runs = {n: Run(qid[r], doc[r], s) for n, r, s in zip("abc", kept, scores, strict=True)}
    qrels = Qrels(qid, doc, draw.integers(0, 3, 160))
    for rule in FUSION_RULES:
        yield rule, told(digest, fuse, runs, rule)
        yield f"{rule} weighted", told(digest, fuse, runs, rule, weights=[1.0, 2.0, 0.5])
    for method in NORMALIZATIONS:
        yield f"mnz of {method}", told(digest, fuse, runs, "mnz", scaling=method)
    for model in (LearnedFusion(), ProbabilisticFusion()):
        yield type(model).__name__, told(digest, model.fit(runs, qrels).fuse, runs)


def clicks() -> Iterator[tuple[str, Any]]:
    """Simulated logs, and what every click model and kind of judgement makes of them."""
    from rankwise.clicks import ClickModel, interleave, judgements, propensities, simulate_clicks
    from rankwise.datasets import RankingData

    def numbers(model: Any) -> str:
        found = {name: value for name, value in vars(model).items() if name.endswith("_")}
        return digest(
            [found[n] for n in sorted(found) if isinstance(found[n], (np.ndarray, float))]
        )

    rows = small_rows("ranker")
    data = RankingData(rows["X"], rows["y"].astype(float), qid=rows["qid"])
    log: Any = None
    for user in ("dbn", "trust", "pbm"):
        by: Any = {"n_sessions": 1500, "n_users": 100, "temperature": 0.5}
        log = simulate_clicks(data, rows["X"][:, 0], user, **by)
        yield f"log of {user}", digest(log)
    methods: Any = CLICK_METHODS
    for method in methods:
        yield f"judgements {method}", told(digest, judgements, log, method)
        by = {"grades": 3, "shrinkage": "fit"}
        yield f"grades {method}", told(digest, judgements, log, method, **by)
    methods = ("random", "harvest", "em")
    for method in methods:
        yield f"propensities {method}", told(digest, propensities, log, method)
    methods = ("ctr", "pbm", "ubm", "sdbn", "dbn")
    for method in methods:
        model = ClickModel(method)
        yield f"model {method}", told(numbers, model.fit, log)
        yield f"clicks by {method}", told(digest, model.predict_proba, log)
    one = {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"d": 2.0, "e": 1.0}}
    other = {"1": {"c": 2.0, "a": 1.0}, "2": {"e": 2.0, "f": 1.0}}
    yield "interleave", told(digest, interleave, one, other, random_state=0)
