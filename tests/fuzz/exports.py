"""A target that compares exported trees with their models, by the rules of the program that reads.

Rows hold the values at which a tree changes its mind: every threshold and its two neighbours in
float32, zeros of both signs, the largest and smallest numbers, and missing values where the format
has them. One branch taken wrongly shifts a score by the difference of two leaves; what float32 sums
may cost is far below that.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import rankwise as rw
from rankwise.export import (
    to_elasticsearch,
    to_lightgbm,
    to_onnx,
    to_opensearch,
    to_python,
    to_ranklib,
    to_solr,
    to_vespa,
    to_xgboost,
)
from rankwise.export.parts import SOLR_SLACK, floor_float32, part_of, subtract_slack
from rankwise.prediction import scores_of
from rankwise.trees.tree_ensemble import ScoreTree
from tests.export.readers import (
    elasticsearch_scores,
    native_scores,
    opensearch_scores,
    ranklib_scores,
    solr_scores,
    vespa_scores,
)
from tests.fuzz.harness import Target

N_PROBES = 48
# Of a sum of n float32 numbers, relative to the sum of the largest leaves of the trees.
SUMMATION = 1e-6
_TREES = {"n_estimators": 6}
MODELS: dict[str, Callable[[int], Any]] = {
    "lambdamart": lambda seed: rw.LambdaMART(**_TREES, min_samples_leaf=2, max_leaf_nodes=6),
    "lambdamart depth": lambda seed: rw.LambdaMART(
        **_TREES, growth="depth", min_samples_leaf=2, reg_lambda=1.0
    ),
    "lambdamart symmetric": lambda seed: rw.LambdaMART(
        **_TREES, growth="symmetric", max_depth=3, min_samples_leaf=2
    ),
    "orboost": lambda seed: rw.ORBoost(n_estimators=12),
    "rank_boost": lambda seed: rw.RankBoost(n_estimators=12),
    "frank": lambda seed: rw.FRank(n_estimators=6),
    "ranking_tree": lambda seed: rw.RankingTree(),
    "ranking_forest": lambda seed: rw.RankingForest(n_estimators=4, random_state=seed, n_jobs=1),
}
if find_spec("lightgbm"):
    MODELS["lightgbm"] = lambda seed: rw.LightGBMRanker(**_TREES, min_child_samples=2, n_jobs=1)
if find_spec("xgboost"):
    MODELS["xgboost"] = lambda seed: rw.XGBoostRanker(**_TREES, n_jobs=1)
NO_MISSING = {"orboost"}
KEEP_MISSING = ["solr with nulls", "native", "opensearch", "vespa", "python"]
FORMATS = ["solr", "ranklib", "elasticsearch", *KEEP_MISSING]
LIGHTGBM_ZERO = np.float32(1e-35)  # it takes smaller values for 0
if find_spec("lightgbm"):
    KEEP_MISSING.append("lightgbm")
    FORMATS.append("lightgbm")
if find_spec("xgboost"):
    KEEP_MISSING.append("xgboost")
    FORMATS.append("xgboost")
if find_spec("onnxruntime") and find_spec("skl2onnx"):
    KEEP_MISSING.append("onnx")
    FORMATS.append("onnx")


def _make(rng: np.random.Generator) -> bytes:
    """The model, the format and the seed of a table; ``_check`` makes the rest from them."""
    case = {
        "model": [*MODELS][rng.integers(len(MODELS))],
        "format": FORMATS[rng.integers(len(FORMATS))],
        "scaler": [None, None, None, "standard", "min_max"][rng.integers(5)],
        "seed": int(rng.integers(1 << 31)),
    }
    return json.dumps(case).encode()


def _column(rng: np.random.Generator, n: int) -> np.ndarray:
    """Values on which rounding to float32, Solr's slack or a search for thresholds could fail."""
    values = rng.normal(size=n)
    match rng.integers(9):
        case 0:
            return np.round(values)
        case 1:
            return np.abs(values).astype(np.float32).astype(float)
        case 2:  # neighbours in float32
            return 1.0 + rng.integers(0, 6, n) * 2.0**-23
        case 3:  # neighbours in float64, equal in float32
            return 0.1 + rng.integers(0, 6, n) * 2.0**-55
        case 4:  # within Solr's slack of zero
            return values * 10.0 ** rng.integers(-9, -4)
        case 5:
            return np.where(values > 0.5, values, 0.0)
        case 6:
            return values * 10.0 ** rng.integers(3, 30)
        case 7:
            return np.full(n, float(np.round(values[0])))
        case _:
            return values


def _table(rng: np.random.Generator, missing: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, d = int(rng.integers(12, 40)), int(rng.integers(1, 4))
    X = np.stack([_column(rng, n) for _ in range(d)], axis=1)
    y = np.clip(
        np.digitize(X[:, 0], np.quantile(X[:, 0], [0.4, 0.8])) + rng.integers(0, 2, n), 0, 3
    )
    y[:2] = 0, 1  # a pair to learn from, whatever was drawn
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X, y, np.arange(n) // 6


def _probes(
    rng: np.random.Generator, trees: tuple[ScoreTree, ...], width: int, format: str
) -> np.ndarray:
    """Rows of float32 values at the thresholds of their columns and beside them."""
    features = np.concatenate([tree.feature for tree in trees] or [np.empty(0, int)])
    thresholds = np.concatenate([tree.threshold for tree in trees] or [np.empty(0)])
    limits = np.finfo(np.float32)
    X = np.empty((N_PROBES, width), dtype=np.float32)
    for column in range(width):
        cuts = thresholds[(features == column) & np.isfinite(thresholds)]
        at = floor_float32(cuts)
        values = np.concatenate(
            [
                at,
                np.nextafter(at, np.float32(-np.inf)),
                np.nextafter(at, np.float32(np.inf)),
                np.array([0.0, -0.0, limits.tiny, -limits.tiny, limits.max, -limits.max], "f4"),
                rng.normal(size=4).astype("f4"),
            ]
        )
        values = values[np.isfinite(values)]
        if format == "lightgbm":
            values = values[(values == 0) | (np.abs(values) > LIGHTGBM_ZERO)]
        if format.startswith("solr"):
            # No sum with Solr's slack equals some thresholds (see before_slack): values between
            # such a threshold and the sum are on the wrong side, as documented.
            sums = subtract_slack(cuts) + SOLR_SLACK
            moved = (values[:, None] <= floor_float32(cuts)) != (values[:, None] <= sums)
            values = values[~moved.any(axis=1)]
        X[:, column] = rng.choice(values, N_PROBES)
    return X


def _scores(format: str, model: Any, X: np.ndarray) -> np.ndarray:
    """Scores of an exported model, computed as the program that reads the format does."""
    names = [f"f{number + 1}" for number in range(X.shape[1])]
    if format.startswith("solr"):
        written = to_solr(model, nulls=format == "solr with nulls")
        return solr_scores(json.loads(json.dumps(written)), dict(zip(names, X.T, strict=True)))
    if format == "ranklib":
        return ranklib_scores(to_ranklib(model), X)
    if format == "elasticsearch":
        return elasticsearch_scores(to_elasticsearch(model), names, X)
    if format in _ENGINES:
        return _ENGINES[format](model, names, X)
    import onnxruntime as runtime

    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    written = to_onnx(model).SerializeToString()
    session = runtime.InferenceSession(written, options, providers=["CPUExecutionProvider"])
    return session.run(["score"], {"X": X})[0][:, 0]


def _lightgbm_scores(model: Any, names: list[str], X: np.ndarray) -> np.ndarray:
    import lightgbm

    return lightgbm.Booster(model_str=to_lightgbm(model)).predict(X.astype(float), num_threads=1)


def _xgboost_scores(model: Any, names: list[str], X: np.ndarray) -> np.ndarray:
    import xgboost

    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(bytearray(json.dumps(to_xgboost(model)).encode()))
    return booster.inplace_predict(X)


def _python_scores(model: Any, names: list[str], X: np.ndarray) -> np.ndarray:
    module: dict[str, Any] = {}
    exec(to_python(model), module)
    return module["score"](X.astype(float))


def _opensearch_scores(model: Any, names: list[str], X: np.ndarray) -> np.ndarray:
    # The plugin has no constant.
    return opensearch_scores(to_opensearch(model), names, X) + part_of(model, "")[1][0].constant


_ENGINES: dict[str, Callable[[Any, list[str], np.ndarray], np.ndarray]] = {
    "lightgbm": _lightgbm_scores,
    "xgboost": _xgboost_scores,
    "python": _python_scores,
    "opensearch": _opensearch_scores,
    "native": lambda model, names, X: native_scores(
        to_elasticsearch(model, native=True), names, X.astype(float)
    ),
    "vespa": lambda model, names, X: vespa_scores(to_vespa(model)["model"], names, X.astype(float)),
}


def _check(path: Path) -> bool:
    case = json.loads(path.read_bytes())
    rng = np.random.default_rng(case["seed"])
    format, scaler = case["format"], case["scaler"]
    takes_missing = format in KEEP_MISSING and case["model"] not in NO_MISSING
    X, y, qid = _table(rng, takes_missing and rng.random() < 0.7)
    model = MODELS[case["model"]](case["seed"] % 100)
    if scaler:
        model = make_pipeline(StandardScaler() if scaler == "standard" else MinMaxScaler(), model)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        model.fit(X, y, **({} if scaler else {"qid": qid}))
        trees = part_of(model, format)[1][0]
        probes = _probes(rng, trees.trees, X.shape[1], format)
        if takes_missing and np.isnan(X).any():
            probes[rng.random(probes.shape) < 0.1] = np.nan
        wanted = scores_of(model, probes.astype(np.float64))
        found = np.asarray(_scores(format, model, probes), dtype=float)
    largest = sum(np.abs(tree.values[tree.feature < 0]).max() for tree in trees.trees)
    wrong = np.flatnonzero(np.abs(found - wanted) > SUMMATION * (largest + abs(trees.constant)))
    assert not len(wrong), (
        f"{case}: row {probes[wrong[0]]!r} has score {found[wrong[0]]!r}, "
        f"the model gives {wanted[wrong[0]]!r} ({len(wrong)} of {len(probes)} rows)"
    )
    return True


TARGETS = (Target("exports", _make, _check, ".json", (), names_file=False, measures_memory=False),)
