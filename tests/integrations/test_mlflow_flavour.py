"""MLflow: models leave and come back, and are evaluated as rankers."""

from __future__ import annotations

import sys
from importlib import invalidate_caches

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import BoltzRank, LambdaMART, ProportionalOdds, RidgeRanker, evaluate, scores
from rankwise.prediction import fit_with

mlflow = pytest.importorskip("mlflow")
pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow's own dependencies


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlflow")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        mlflow.set_experiment("rankers")
        yield


@pytest.fixture
def tracking(store):
    yield
    mlflow.sklearn.autolog(disable=True)
    mlflow.end_run()


@pytest.fixture
def table(rng):
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    frame["qid"], frame["bm25"] = np.repeat(np.arange(12), 5), rng.normal(size=60)
    frame["label"] = (frame.a + 0.5 * rng.normal(size=60) > 0).astype(int)
    return frame


@pytest.mark.parametrize(
    "ranker",
    [LambdaMART(n_estimators=5), RidgeRanker(), make_pipeline(StandardScaler(), RidgeRanker())],
    ids=["LambdaMART", "RidgeRanker", "pipeline"],
)
def test_logged_models_come_back_bit_equal(tracking, table, ranker):
    from rankwise.integrations.mlflow import log_model

    X = table[["a", "b", "c"]]
    fit_with(ranker, X, table.label, {"qid": table.qid})
    with mlflow.start_run():
        info = log_model(ranker, name="model", pip_requirements=[])
    loaded = mlflow.sklearn.load_model(info.model_uri)
    assert type(loaded) is type(ranker)
    assert loaded.predict(X).tobytes() == ranker.predict(X).tobytes()
    scores = mlflow.pyfunc.load_model(info.model_uri).predict(X)
    assert np.asarray(scores).tobytes() == ranker.predict(X).tobytes()


@pytest.fixture
def entry_point(tmp_path, monkeypatch):
    """The entry point of pyproject.toml, for installations that are older than it."""
    from mlflow.models.evaluation import list_evaluators

    if "rankwise" not in list_evaluators():
        meta = tmp_path / "rankwise_door-0.dist-info"
        meta.mkdir()
        (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: rankwise_door\nVersion: 0\n")
        line = "rankwise = rankwise.integrations.mlflow:RankingEvaluator\n"
        (meta / "entry_points.txt").write_text(f"[mlflow.model_evaluator]\n{line}")
        monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
        invalidate_caches()
        from mlflow.models.evaluation import evaluator_registry as registry

        registry._model_evaluation_registry.register_entrypoints()


@pytest.mark.parametrize("static", [False, True], ids=["model", "predictions"])
def test_evaluation_is_ours(tracking, entry_point, table, static):
    from rankwise.integrations.mlflow import log_model

    X = table[["a", "b", "c"]]
    ranker = RidgeRanker().fit(X, table.label, qid=table.qid)
    measures = ["nDCG(ties=mean)@3", "AP"]
    config = {"measures": measures, "systems": ["bm25"]}
    ours = evaluate(table.label, ranker.predict(X), table.qid, measures)
    with mlflow.start_run():
        if static:
            words = {"data": table.assign(score=ranker.predict(X)), "predictions": "score"}
        else:
            info = log_model(ranker, name="model", pip_requirements=[])
            words = {"model": info.model_uri, "data": table}
        found = mlflow.models.evaluate(
            **words, targets="label", model_type="ranker", evaluator_config=config
        )
    assert list(found.metrics.values()) == pytest.approx(list(ours.means.values()), abs=1e-12)
    assert list(found.metrics) == ["nDCG_ties_mean_at_3", "AP"]
    logged = mlflow.get_run(found.run_id or mlflow.last_active_run().info.run_id).data.metrics
    assert logged == pytest.approx(found.metrics, abs=1e-12)
    assert sorted(found.artifacts) == ["leaderboard.html", "leaderboard.png", "per_query.csv"]
    assert "bm25" in found.artifacts["leaderboard.html"].content
    assert found.artifacts["per_query.csv"].content.AP.to_numpy() == pytest.approx(
        ours.per_query["AP"], nan_ok=True
    )


def test_a_model_alone_has_a_board_without_a_plot(tracking, entry_point, table):
    X = table[["a", "qid"]].assign(score=table.a)
    with mlflow.start_run():
        found = mlflow.models.evaluate(
            data=X.assign(label=table.label), predictions="score", targets="label",
            model_type="ranker",
        )  # fmt: skip
    assert found.metrics["AP"] == pytest.approx(evaluate(table.label, table.a, table.qid)["AP"])
    assert "leaderboard.html" in found.artifacts


class Doubling:
    """A model that is no estimator."""

    def __call__(self, rows):
        return pd.DataFrame({"other": 0.0, "score": 2 * rows.a})


@pytest.mark.parametrize("kind", ["ordinal", "list-wise", "function", "autolog"])
def test_models_are_scored_as_the_library_does(tracking, entry_point, table, kind, monkeypatch):
    """Classes of ordinal estimators are no scores, and some rankers read the whole list."""
    from rankwise.integrations.mlflow import log_model

    X, words = table[["a", "b", "c"]], {}
    if kind == "function":
        model, expected, words = Doubling(), 2 * table.a, {"predictions": "score"}
    else:
        estimator = {
            "ordinal": ProportionalOdds(),
            "list-wise": BoltzRank(n_epochs=1),
            # MLflow logs by itself what scikit-learn fits: pipelines and searches.
            "autolog": make_pipeline(StandardScaler(), RidgeRanker()),
        }[kind]
        if kind == "autolog":
            monkeypatch.setenv("MLFLOW_ALLOW_PICKLE_DESERIALIZATION", "true")
            mlflow.sklearn.autolog()
        with mlflow.start_run():
            fit_with(estimator, X, table.label, {"qid": table.qid})
            if kind != "autolog":
                model = log_model(estimator, name="model", pip_requirements=[]).model_uri
            else:
                model = mlflow.last_logged_model().model_uri
        expected = scores(estimator, X, table.qid)
    with mlflow.start_run():
        found = mlflow.models.evaluate(
            model, table.assign(note=1.0), targets="label", model_type="ranker",
            evaluator_config={"systems": ["bm25"], "metric_prefix": "test_"}, **words,
        )  # fmt: skip
    ours = evaluate(table.label, expected, table.qid)
    assert list(found.metrics.values()) == pytest.approx(list(ours.means.values()), abs=1e-12)
    assert found.metrics["test_AP"] == pytest.approx(ours["AP"], abs=1e-12)
    assert "test_per_query.csv" in found.artifacts


@pytest.mark.parametrize("kind", ["ranker", "arrays", "pipeline", "signature", "query"])
def test_a_system_may_be_a_feature_too(tracking, entry_point, table, kind):
    """A model reads the columns that it was fitted on, whatever else they are."""
    from rankwise.integrations.mlflow import log_model

    X, words = table[["a", "b", "bm25"]], {}
    ranker = make_pipeline(StandardScaler(), RidgeRanker()) if kind == "pipeline" else RidgeRanker()
    if kind == "arrays":
        table = table.drop(columns="c")
        X = table[["a", "b", "bm25"]].to_numpy()
    elif kind == "query":  # a number that says something
        X = table[["a", "bm25", "qid"]]
    fit_with(ranker, X, table.label, {"qid": table.qid})
    with mlflow.start_run():
        if kind == "signature":
            words = {"signature": mlflow.models.infer_signature(X, ranker.predict(X))}
            words["python_model"] = lambda rows: rows.a + rows.bm25
            model = mlflow.pyfunc.log_model(name="m", pip_requirements=[], **words)
            expected = table.a + table.bm25
        else:
            model, expected = log_model(ranker, name="m", pip_requirements=[]), ranker.predict(X)
        found = mlflow.models.evaluate(
            model.model_uri, table, targets="label", model_type="ranker",
            evaluator_config={"systems": ["bm25"]},
        )  # fmt: skip
    assert found.metrics["AP"] == evaluate(table.label, expected, table.qid)["AP"]
    assert "bm25" in found.artifacts["leaderboard.html"].content


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"extra_metrics": [1]}, "does not know extra_metrics"),
        ({"custom_artifacts": [1]}, "does not know custom_artifacts"),
        ({"evaluator_config": {"measure": ["AP"]}}, "does not know measure. It has measures"),
        ({"evaluator_config": {"systems": ["x"]}}, "^systems in .* got 'x'. There are 'a', 'b'"),
        ({"evaluator_config": {"systems": ["label"]}}, "besides labels and .* got 'label'"),
        ({"evaluator_config": {"systems": "bm25"}}, "must be a list of columns"),
        ({"evaluator_config": {"systems": ["model"]}}, "none of them called 'model'"),
        ({"evaluator_config": {"qid": "x"}}, "^qid in .* got 'x'"),
        ({"targets": None}, "Name their column with targets"),
        ({"targets": np.ones(60), "predictions": None}, "evaluated on a frame"),
    ],
)
def test_what_the_evaluator_does_not_know_is_refused(tracking, entry_point, table, words, said):
    data = table.drop(columns="label") if "targets" in words else table
    if words.get("targets") is not None:
        data = table.to_numpy()
    words = {"targets": "label", "predictions": "bm25"} | words
    with mlflow.start_run(), pytest.raises(ValueError, match=said):
        mlflow.models.evaluate(data=data, model_type="ranker", **words)
