"""PyTerrier's pipelines and experiments give what a direct fit, a saved model and fuse give."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise
from rankwise.fusion import fuse
from rankwise.prediction import fit_with
from tests.metrics._peers import ranx_uncompiled

pd = pytest.importorskip("pandas")
pt = pytest.importorskip("pyterrier", reason="needs pyterrier")
door = pytest.importorskip("rankwise.integrations.pyterrier")

# PyTerrier 1.1 with pandas 3.1.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in")
N_QUERIES, N_DOCS, N_FEATURES = 12, 8, 4
NAMED = [f"f{i}" for i in range(N_FEATURES)]


def results(seed=0, first=1):
    """Results whose queries come interleaved, with features as vectors and as columns."""
    rng = np.random.default_rng(seed)
    X = rng.random((N_QUERIES * N_DOCS, N_FEATURES))
    frame = pd.DataFrame(X, columns=NAMED)
    frame["qid"] = [f"q{first + row % N_QUERIES}" for row in range(len(X))]
    frame["docno"] = [f"d{row // N_QUERIES}" for row in range(len(X))]
    frame["query"] = "words of " + frame["qid"]
    frame["score"] = rng.random(len(X)).round(1)
    frame["features"] = list(X)
    return pt.model.add_ranks(frame)


def judge(frame):
    """Qrels of every other result, one of them below 0, and labels of all."""
    labels = np.rint(2 * frame["f0"]).astype(int)
    labels.iloc[2] = -2
    kept = np.arange(len(frame)) % 2 == 0
    qrels = frame[["qid", "docno"]].assign(label=labels, iteration="0")[kept]
    return qrels, np.where(kept, np.maximum(labels, 0), 0)


@pytest.fixture(scope="module")
def train():
    return results()


@pytest.fixture(scope="module")
def test():
    return results(1, first=101)


def rankers():
    return {
        "lambdamart": rankwise.LambdaMART(n_estimators=5, early_stopping_rounds=None),
        "ridge": rankwise.RidgeRanker(),
        "pipeline": make_pipeline(StandardScaler(), rankwise.RidgeRanker()),
        "ordinal": rankwise.RankingTree(),
    }


@pytest.mark.parametrize("name", rankers())
@pytest.mark.parametrize("features", ["features", NAMED], ids=["vectors", "columns"])
def test_an_experiment_equals_a_direct_fit(name, features, train, test, tmp_path):
    source = pt.Transformer.from_df(pd.concat([train, test]))  # sorts the rows by query
    pipeline = source >> door.RankerEstimator(rankers()[name], features)
    topics = [frame[["qid", "query"]].drop_duplicates() for frame in (train, test)]
    train, test = map(source.transform, topics)
    qrels, labels = judge(train)
    pipeline.fit(topics[0], qrels)
    direct = rankers()[name]

    def rows(frame):
        return frame[NAMED] if features is NAMED else np.stack(list(frame["features"]))

    fit_with(direct, rows(train), labels, {"qid": np.asarray(train["qid"])})
    expected = rankwise.scores(direct, rows(test), qid=np.asarray(test["qid"]))
    found = pipeline.transform(topics[1]).set_index(["qid", "docno"])
    wanted = test.assign(score=expected).set_index(["qid", "docno"])["score"]
    assert found["score"].to_dict() == wanted.to_dict()
    assert set(found["rank"]) == set(range(N_DOCS))
    judged, _ = judge(test)
    run = test[["qid", "docno"]].assign(score=expected)
    compared = [pipeline, pt.model.add_ranks(run)]
    measures, names = ["map", "ndcg_cut_5"], ["door", "direct"]
    with ranx_uncompiled():  # pt.Experiment imports it
        pass
    table = pt.Experiment(compared, topics[1], judged, measures, names, validate="error")
    assert table.iloc[0, 1:].tolist() == table.iloc[1, 1:].tolist()
    path = rankwise.save(pipeline[1].estimator, tmp_path / "model.rankwise")
    saved = door.ModelTransformer(path, features).transform(test)
    assert saved["score"].tolist() == expected.tolist()


def test_validation_results_stop_lambdamart_early(train, test):
    ranker = rankwise.LambdaMART(n_estimators=60, early_stopping_rounds=3)
    qrels, labels = judge(train)
    val_qrels, val_labels = judge(test)
    door.RankerEstimator(ranker).fit(train, qrels, test, val_qrels)
    direct = rankwise.LambdaMART(n_estimators=60, early_stopping_rounds=3).fit(
        train[NAMED].to_numpy(), labels, qid=train["qid"],
        X_val=test[NAMED].to_numpy(), y_val=val_labels, qid_val=test["qid"],
    )  # fmt: skip
    X = test[NAMED].to_numpy()
    assert ranker.predict(X).tolist() == direct.predict(X).tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.assign(docno="other"), "judge some of the 96 training results"),
        (lambda frame: frame.iloc[:0], "judge some of the 0 training results"),
        (
            lambda frame: frame.assign(features=[np.ones(1 + (i == 7)) for i in range(len(frame))]),
            r"'features' must hold vectors of one length, got \[1, 2\]",
        ),
    ],
    ids=["other ids", "empty", "ragged"],
)
def test_results_that_cannot_be_fitted(change, message, train):
    qrels, _ = judge(train)
    with pytest.raises(ValueError, match=message):
        door.RankerEstimator(rankwise.RidgeRanker()).fit(change(train), qrels)


def test_results_without_features(train):
    fitted = rankwise.RidgeRanker().fit(train[NAMED].to_numpy(), judge(train)[1], qid=train["qid"])
    transformer = door.ModelTransformer(fitted)
    assert transformer.transform(train.iloc[:0])["rank"].tolist() == []
    with pytest.raises(pt.validate.InputValidationError, match="features"):
        transformer.transform(train.drop(columns="features"))


def systems():
    parts = [results(seed) for seed in range(3)]
    parts[1] = parts[1][parts[1]["qid"] != "q3"]
    kept = ["qid", "docno", "score", "rank"]
    return [pt.Transformer.from_df(part[kept]) for part in parts]


@pytest.mark.parametrize("rule", ["rrf", "sum", "borda", "condorcet"])
def test_fusion_equals_fuse(rule):
    topics = results()[["qid", "query"]].drop_duplicates()
    weights = {"rrf": [1, 2, 0.5], "sum": [3, 1, 1]}.get(rule)
    transformer = door.FusionTransformer(*systems(), rule=rule, weights=weights)
    found = transformer.transform(topics)
    run = fuse([system.transform(topics) for system in systems()], rule, weights=weights)
    keys = zip(run.qid.tolist(), run.doc_ids.tolist(), strict=True)
    expected = dict(zip(keys, run.scores.tolist(), strict=True))
    assert found.set_index(["qid", "docno"])["score"].to_dict() == expected
    assert list(found.columns) == ["qid", "query", "docno", "score", "rank"]
    assert pt.inspect.transformer_outputs(transformer, ["qid", "query"]) == list(found.columns)
    assert (found["query"] == "words of " + found["qid"]).all()


@pytest.mark.parametrize("rule", ["rrf", "sum", "borda"])
def test_fusion_where_pipelines_return_nothing(rule):
    topics = pd.DataFrame({"qid": ["q3", "q4", "q99"], "query": ["a", "b", "c"]})
    first, second, third = systems()
    weights = None if rule == "borda" else [1, 5, 2]
    transformer = door.FusionTransformer(first, second, third, rule=rule, weights=weights)
    found = transformer.transform(topics)
    alone = transformer.transform(topics[::2])  # the second has neither query
    assert alone.equals(found[found["qid"] == "q3"])
    nothing = door.FusionTransformer(first, second).transform(topics.iloc[2:])
    assert list(nothing.columns) == list(found.columns) and not len(nothing)


@pytest.mark.parametrize("rule", ["rrf", "sum", "borda", "condorcet"])
def test_fusion_of_pipelines_without_a_common_query(rule):
    frame = results()[["qid", "docno", "score", "rank"]]
    first, second = (frame[frame["qid"] == name] for name in ("q3", "q4"))
    topics = pd.DataFrame({"qid": ["q3", "q4"], "query": ["a", "b"]})
    parts = [pt.Transformer.from_df(part) for part in (first, second)]
    found = door.FusionTransformer(*parts, rule=rule).transform(topics)
    for name in topics["qid"]:
        lists = [part if (part["qid"] == name).all() else {name: {}} for part in (first, second)]
        run = fuse(lists, rule)
        expected = dict(zip(run.doc_ids.tolist(), run.scores.tolist(), strict=True))
        assert found[found["qid"] == name].set_index("docno")["score"].to_dict() == expected


def test_weights_that_do_not_fit():
    with pytest.raises(ValueError, match="a weight for each"):
        door.FusionTransformer(*systems()[:2], weights=[1])


def test_rules_and_estimators_are_checked_at_once():
    with pytest.raises(ValueError, match=r"rule must be one of .* Did you mean 'rrf'"):
        door.FusionTransformer(*systems()[:2], rule="rff")
    for estimator in ("lambdamart", rankwise.LambdaMART):
        for make in (door.RankerEstimator, door.ModelTransformer):
            with pytest.raises(ValueError, match="must be an estimator or the path of a model"):
                make(estimator)
