"""A function of one query, and a subclass of Measure, wherever a spec string is taken."""

from __future__ import annotations

import json
from dataclasses import dataclass
from inspect import signature
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

import rankwise
from rankwise import RankingData, compare, evaluate, load
from rankwise._registry import REGISTRY
from rankwise.datasets import judge
from rankwise.explain import permutation_importances
from rankwise.fusion import LearnedFusion, learning_curve
from rankwise.metrics import Measure, evaluate_labels, make_label_scorer, make_scorer, parse
from rankwise.metrics.measures.agreement import Misranking
from rankwise.metrics.measures.ndcg import NDCG
from rankwise.persistence import ModelFileError
from rankwise.rankers import evaluate_stream, record_evaluation
from rankwise.selection import (
    Leaderboard,
    difference_bounds,
    evaluate_systems,
    evaluate_with_judge,
    tune,
)
from rankwise.streams import stream
from rankwise.text import read_judgements


def hits(y, scores):
    """P@3 of rows without ties; it sorts in place, as a function may."""
    grades = y[np.argsort(-scores)]
    scores.sort()
    y[:] = 0
    return (grades[:3] > 0).sum() / 3


@dataclass(frozen=True)
class Gap(Measure):
    """Lowest grade above 0 that the first row misses: a loss of the user's own."""

    name: ClassVar[str] = "Gap"
    greater_is_better: ClassVar[bool] = False

    power: float = 1.0

    def from_groups(self, scored):
        ends = zip(scored.indptr[:-1], scored.indptr[1:], strict=True)
        rows = [(scored.y[a:b], scored.scores[a:b]) for a, b in ends]
        return np.array([(y.max() - y[scores.argmax()]) ** self.power for y, scores in rows])


def rows(n_queries=24, size=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * size, 3))
    y = np.clip(np.round(X[:, 0] + rng.normal(size=len(X))), 0, 2)
    return X, y, np.repeat(np.arange(n_queries), size)


def run_and_qrels():
    X, y, qid = rows()
    qrels = {f"q{q}": {} for q in range(24)}
    run = {f"q{q}": {} for q in range(24)}
    for number, (query, grade, score) in enumerate(zip(qid, y, X[:, 0], strict=True)):
        if number % 5:
            run[f"q{query}"][f"d{number}"] = float(score)
        if number % 7:
            qrels[f"q{query}"][f"d{number}"] = int(grade)
    return run, qrels


def ridge(X, y, qid):
    return rankwise.RidgeRanker().fit(X, y, qid=qid)


def of_search(measure):
    X, y, qid = rows()
    search = GridSearchCV(
        rankwise.RidgeRanker(), {"alpha": [1e-2, 1.0, 1e4]}, scoring=make_scorer(measure),
        cv=GroupKFold(3),
    )  # fmt: skip
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(X, y, qid=qid, groups=qid)
    return search.cv_results_["mean_test_score"]


def first(mapping):
    return next(iter(mapping.values()))


def of_cells(board):
    return np.concatenate([*board.per_query().values()])


def of_importances(measure):
    X, y, qid = rows()
    found = permutation_importances(
        ridge(X, y, qid), X, y, qid, measure=measure, n_repeats=2, random_state=0
    )
    return found.values


def data():
    X, y, qid = rows()
    return RankingData(X, y, qid=qid)


def of_judges(measure):
    run, qrels = run_and_qrels()
    found = evaluate_with_judge(dict(list(qrels.items())[:9]), qrels, {"a": run}, measure)
    return first(found.means)["a"].mean


def of_curve(measure):
    run, qrels = run_and_qrels()
    runs = {"a": run, "b": {q: {d: -s for d, s in a.items()} for q, a in run.items()}}
    words = {"n_judged": [4], "n_draws": 2, "measure": measure}
    return learning_curve(LearnedFusion(), runs, read_judgements(qrels), **words).learned


def of_labels(measure):
    rng = np.random.default_rng(1)
    Y, scores = rng.integers(0, 2, size=(9, 6)), rng.normal(size=(9, 6))
    return first(evaluate_labels(Y, scores, measure).per_row)


WAYS = {
    "arrays": lambda m: first(evaluate(rows()[1], rows()[0][:, 0], rows()[2], m).per_query),
    "a list": lambda m: first(evaluate(data(), rows()[0][:, 0], [m, "AP"])),
    "a preset": lambda m: first(evaluate(data(), rows()[0][:, 0], m, preset="letor4")),
    "a run": lambda m: first(evaluate(*run_and_qrels()[::-1], m)),
    "names": lambda m: first(
        evaluate(run=run_and_qrels()[0], qrels=run_and_qrels()[1], measures=[m])
    ),
    "a joined run": lambda m: first(evaluate(judge(*run_and_qrels()[::-1]), m)),
    "systems": lambda m: of_cells(
        evaluate_systems(run_and_qrels()[1], {"a": run_and_qrels()[0]}, measures=m)
    ),
    "rows of systems": lambda m: of_cells(
        evaluate_systems(data(), {"a": data().X[:, 0], "b": data().X[:, 1]}, measures=[m])
    ),
    "a stream": lambda m: first(evaluate_stream(ridge(*rows()), stream([rows()]), m)),
    "judges": of_judges,
    "fusion": of_curve,
    "labels": of_labels,
    "a scorer": lambda m: make_scorer(m)(ridge(*rows()), *rows()[:2], qid=rows()[2]),
    "a search": of_search,
    "compare": lambda m: of_cells(
        compare(["ridge", rankwise.RankSVM()], data(), measures=[m], cv=3, isolate=False)
    ),
    "select_by": lambda m: of_cells(
        compare(["ridge"], data(), measures="AP", select_by=m, cv=3, isolate=False)
    ),
    "tune": lambda m: tune(
        rankwise.RankSVM(), data(), None, m, space={"C": [1e-4, 1.0]}
    ).search[1]["score"],
    "importances": of_importances,
    "the score": lambda m: rankwise.RidgeRanker(measure=m).fit(*rows()[:2], qid=rows()[2]).score(
        *rows()[:2], qid=rows()[2]
    ),
    "a penalty": lambda m: rankwise.RidgeRanker("cv", measure=m).fit(
        *rows()[:2], qid=rows()[2]
    ).cv_results_["mean_test_score"],
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_function_equals_the_measure_that_it_computes(way):
    spec = "P@3" if way in ("fusion", "judges") else "P(rel=1e-300)@3"
    np.testing.assert_allclose(WAYS[way](hits), WAYS[way](spec), rtol=1e-12)


LOSSES = [way for way in WAYS if way not in ("a run", "names", "a joined run", "systems", "judges",
                                             "fusion", "labels", "a penalty")]  # fmt: skip


@pytest.mark.parametrize("way", LOSSES)
def test_a_loss_of_the_users_own(way):
    assert np.isfinite(WAYS[way](Gap(power=2.0))).any()


@pytest.mark.parametrize("way", WAYS)
def test_a_measure_object_equals_its_spec(way):
    spec = "nDCG(empty=0)@3"
    np.testing.assert_array_equal(
        WAYS[way](parse(spec)), WAYS[way](spec if way == "" else str(parse(spec)))
    )


WITH_MEASURE = [
    key
    for key, entry in REGISTRY.items()
    if "measure" in signature(entry.load()).parameters and not entry.extra
]


@pytest.mark.parametrize(
    "measure",
    [hits, Gap(), NDCG(cutoff=5), "nDCG@5"],
    ids=lambda measure: getattr(measure, "__name__", str(measure)),
)
def test_every_estimator_takes_each_kind(measure):
    for key in WITH_MEASURE:
        estimator = REGISTRY[key].load()(measure=measure)
        estimator._validate_params()
        assert clone(estimator).get_params()["measure"] == measure
        assert str(getattr(measure, "__name__", "measure=")) in repr(estimator)


FITS = {
    "RankSVM": lambda m: rankwise.RankSVM("cv", measure=m),
    "PairwiseELM": lambda m: rankwise.PairwiseELM(20, C="cv", measure=m, random_state=0),
    "AdaRank": lambda m: rankwise.AdaRank(measure=m, n_estimators=3),
    "CoordinateAscent": lambda m: rankwise.CoordinateAscent(measure=m, random_state=0),
    "RankBoost": lambda m: rankwise.RankBoost(5, measure=m, early_stopping_rounds=2),
    "LambdaMART": lambda m: rankwise.LambdaMART(5, validation_measure=m, early_stopping_rounds=2),
    "LambdaMART squared": lambda m: rankwise.LambdaMART(5, objective="squared", measure=m),
    "ScoreBlend": lambda m: rankwise.ScoreBlend(["ridge", "lambdamart"], measure=m, random_state=0),
    "ProportionalOdds": lambda m: rankwise.ProportionalOdds("cv", measure=m),
    "ORBoost": lambda m: rankwise.ORBoost(measure=m, n_estimators=5, early_stopping_rounds=2),
}


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize(
    "measure",
    [hits, Gap(), Misranking()],
    ids=lambda measure: getattr(measure, "__name__", str(measure)),
)
def test_fit_score_and_files(name, measure, tmp_path):
    if name == "AdaRank" and not isinstance(measure, type(hits)):
        pytest.skip("AdaRank takes measures from 0 to 1, larger is better")
    X, y, qid = rows()
    words = {"qid": qid}
    model = FITS[name](measure)
    if "X_val" in signature(model.fit).parameters:
        X_val, y_val, qid_val = rows(seed=1)
        words |= {"X_val": X_val, "y_val": y_val, "qid_val": qid_val}
    model.fit(X, y, **words)
    value = model.score(X, y, qid=qid)
    own = name not in ("LambdaMART",)
    if own:
        label = "-Gap(power=1.0)" if isinstance(measure, Gap) else str(parse(measure))
        assert model.score_name_.endswith(label) or isinstance(measure, Misranking)
        sign = -1 if isinstance(measure, Gap) else 1
        scores = rankwise.scores(model, X, qid)
        expected = evaluate(y, scores, qid, measure)[str(parse(measure))]
        expected = 1 - expected if isinstance(measure, Misranking) else sign * expected
        assert value == pytest.approx(expected)
    model.save(tmp_path / "model")
    if not isinstance(measure, Misranking):
        with pytest.raises(ModelFileError, match=r"trusted=\[(hits|Gap)\]"):
            load(tmp_path / "model")
    restored = load(tmp_path / "model", trusted=[hits, Gap])
    assert restored.score(X, y, qid=qid) == value
    for parameter, given in model.get_params(deep=False).items():
        if parameter.endswith("measure"):
            assert restored.get_params(deep=False)[parameter] == given


def test_lambdamart_names_the_parameter_for_other_measures():
    with pytest.raises(ValueError, match=r"got 'hits'.*validation_measure for this one"):
        rankwise.LambdaMART(measure=hits).fit(*rows()[:2], qid=rows()[2])


def test_a_search_with_a_measure_is_saved(tmp_path):
    X, y, _ = rows()
    search = GridSearchCV(rankwise.RidgeRanker(), {"alpha": [0.1, 1.0]}, scoring=make_scorer(hits))
    search.fit(X, y)
    rankwise.save(search, tmp_path / "model")
    assert load(tmp_path / "model", trusted=[hits]).best_score_ == search.best_score_
    assert make_scorer(NDCG(cutoff=5)).measure == str(NDCG(cutoff=5))
    assert make_label_scorer("LRAP").measure == str(parse("LRAP"))


@pytest.mark.parametrize(
    ("field_name", "value"), [("cutoff", -3), ("cutoff", "5"), ("gain", (2.0, 1.0)), ("x", 1)]
)
def test_measures_in_files_are_checked(field_name, value, tmp_path):
    model = rankwise.RidgeRanker(measure=NDCG(cutoff=5)).fit(*rows()[:2], qid=rows()[2])
    broken = NDCG(cutoff=5)
    object.__setattr__(broken, field_name, value)
    model.measure = broken
    with pytest.raises(ValueError, match=r"RidgeRanker\.measure: "):
        model.save(tmp_path / "model")


def test_compare_keeps_names_and_directions(tmp_path):
    board = compare(["ridge", "rank_svm"], data(), measures=[Gap(), hits], cv=3, isolate=False)
    assert board.measures == ["Gap(power=1.0)", "hits"]
    board.to_json(tmp_path / "board.json")
    restored = Leaderboard.from_json(tmp_path / "board.json")
    for found in (board, restored):
        assert not found.greater_is_better() and found.greater_is_better("hits")
        means = {name: found.per_query()[name].mean() for name in found.rankers}
        assert means[found.best] == min(means.values())
        assert "hits" in str(found)
    json.loads((tmp_path / "board.json").read_text())


def test_a_store_notices_changed_code(tmp_path):
    def one(value):
        def own(y, scores):
            return float(len(y) > value)

        return own

    for value in (3, 100, 100):
        words = {"cv": 3, "isolate": False, "store": tmp_path / "store"}
        board = compare(["ridge"], data(), measures=one(value), **words)
        assert board.rows()[0]["mean"] == (value == 3)


def test_workers_take_functions(tmp_path):
    board = compare(["ridge"], data(), measures=[hits, Gap()], cv=3, n_jobs=1)
    same = compare(["ridge"], data(), measures=[hits, Gap()], cv=3, isolate=False)
    np.testing.assert_array_equal(of_cells(board), of_cells(same))


def test_wrong_functions_and_names():
    X, y, qid = rows()
    for value in (None, np.inf, "x", [1.0], np.ones(2)):
        with pytest.raises(ValueError, match=r"wrong\(y, scores\) must return a finite number"):

            def wrong(y, scores, value=value):
                return value

            evaluate(y, X[:, 0], qid, wrong)

    def raises(y, scores):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        evaluate(y, X[:, 0], qid, raises)
    with pytest.raises(KeyError, match="mine"):
        rankwise.RidgeRanker("cv", measure=raises).fit(X, y, qid=qid)
    with pytest.raises(TypeError, match=r"Pass NDCG\(\)"):
        evaluate(y, X[:, 0], qid, NDCG)
    with pytest.raises(TypeError, match="a spec string, a Measure or a function"):
        evaluate(y, X[:, 0], qid, [3])

    def AP(y, scores):
        return 0.0

    with pytest.raises(ValueError, match="two are called AP"):
        evaluate(y, X[:, 0], qid, [AP, parse("P@1"), lambda y, s: 1.0, AP, "AP"])
    assert evaluate(y, X[:, 0], qid, AP)["AP"] == 0.0
    with pytest.raises(ValueError, match="two are called <lambda>"):
        compare(["ridge"], data(), measures=[lambda y, s: 1.0, lambda y, s: 2.0], cv=3)
    run, qrels = run_and_qrels()
    with pytest.raises(ValueError, match="must take unjudged documents as not relevant, got hits"):
        difference_bounds(qrels, {"a": run, "b": run}, hits)


def test_results_show_the_name_of_a_function():
    X, y, qid = rows()
    found = permutation_importances(ridge(X, y, qid), X, y, qid, measure=hits, random_state=0)
    assert found.source == "loss of hits"
    recorded = {}
    rankwise.LambdaMART(n_estimators=2, validation_measure=hits).fit(
        X, y, qid=qid, X_val=X, y_val=y, qid_val=qid, callbacks=[record_evaluation(recorded)]
    )
    assert [*recorded["valid_0"]] == ["hits"]


def test_queries_that_do_not_count():
    def sometimes(y, scores):
        return np.nan if len(y) < 3 else 1

    result = evaluate([1, 0, 1, 0, 1], [1, 2, 3, 4, 5], [0, 0, 1, 1, 1], sometimes)
    assert result["sometimes"] == 1.0
    np.testing.assert_array_equal(result.per_query["sometimes"], [np.nan, 1.0])
    with pytest.warns(rankwise.metrics.UndefinedMeasureWarning, match="it is NaN for every query"):
        evaluate([1, 0], [1, 2], 0, sometimes)


def test_frames_and_labels_of_other_kinds():
    """The function sees numbers: grades as they are, real targets unscaled."""
    seen = []

    def look(y, scores):
        seen.append((y.dtype, y.tolist()))
        return 0.5

    evaluate(pd.Series([1, 2]), pd.Series([0.5, 0.25]), 0, look)
    evaluate([-1.5, 40.25], [1, 2], None, look)
    X, y, qid = rows()
    rankwise.CoordinateAscent(measure=look).fit(X, y - 7.5, qid=qid)
    assert seen[:2] == [(np.float64, [1.0, 2.0]), (np.float64, [-1.5, 40.25])]
    assert min(min(y) for _, y in seen[2:]) == -7.5
