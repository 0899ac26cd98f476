"""MLflow: log rankers in its safe format, and evaluate models of type "ranker" (MLflow >= 3.10)."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from rankwise._packages import missing_package
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.results import find_column
from rankwise.datasets.table_columns import ALL_QUERY_NAMES, list_names
from rankwise.metrics.evaluation import DEFAULT_MEASURES
from rankwise.persistence import TRUSTED_TYPES
from rankwise.prediction import scores
from rankwise.report.html import write_report
from rankwise.report.rank_diagram import plot_leaderboard
from rankwise.selection.systems import evaluate_systems

try:
    import mlflow.sklearn  # pyright: ignore[reportMissingImports]
    from mlflow.models.evaluation import artifacts, base  # pyright: ignore[reportMissingImports]
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "mlflow":
        raise
    raise missing_package(__name__, "mlflow") from error


def trusted_types(model: Any) -> list[str]:
    """Types of a model that :func:`rankwise.load` trusts and skops alone does not.

    ``mlflow.sklearn.log_model(model, skops_trusted_types=trusted_types(model))`` is what
    :func:`log_model` calls.
    """
    import skops.io

    return sorted({*skops.io.get_untrusted_types(data=skops.io.dumps(model))} & {*TRUSTED_TYPES})


def log_model(model: Any, *args: Any, **kwargs: Any) -> Any:
    """Log a ranker, or a pipeline with one, that ``mlflow.sklearn.load_model`` reads.

    Parameters
    ----------
    model : fitted estimator
    *args, **kwargs
        Of ``mlflow.sklearn.log_model``. Types of your own go into ``skops_trusted_types``.

    Returns
    -------
    mlflow.models.model.ModelInfo

    Notes
    -----
    The loaded model scores bit-equal. MLflow checks no numbers of a file, as :func:`rankwise.load`
    does: load models from sources that you trust.
    """
    own = kwargs.pop("skops_trusted_types", None) or []
    types = [*trusted_types(model), *own]
    return mlflow.sklearn.log_model(model, *args, skops_trusted_types=types, **kwargs)


class RankingEvaluator(base.ModelEvaluator):
    """Evaluator of ``mlflow.models.evaluate(…, model_type="ranker")``.

    Keys of ``evaluator_config``: "qid", the column of queries (default: one with a usual name);
    "measures" and "preset" of :func:`rankwise.evaluate`; "systems", columns with scores of other
    systems, which get a line of the leaderboard; "metric_prefix". The model gets these columns
    only if it was fitted on them. A metric is called as its measure, with "_at_" for "@" and "_"
    for other characters that MLflow excludes. Estimators are scored by :func:`rankwise.scores`.
    """

    @classmethod
    def can_evaluate(cls, *, model_type: Any, evaluator_config: Any, **kwargs: Any) -> bool:
        """Whether the models are rankers."""
        return model_type == "ranker"

    def evaluate(
        self, *, dataset: Any, run_id: Any, evaluator_config: Any, model: Any = None, **kwargs: Any
    ) -> Any:
        """Metrics, and as artefacts the values per query, a leaderboard and its plot."""
        usual = {"qid": None, "measures": [*DEFAULT_MEASURES], "preset": None, "systems": [],
                 "metric_prefix": "", "col_mapping": None}  # fmt: skip
        config = usual | (evaluator_config or {})
        given = [name for name in ("extra_metrics", "custom_artifacts") if kwargs.get(name)]
        if unknown := given + [name for name in config if name not in usual]:
            raise ValueError(
                f"the evaluator of rankers does not know {unknown[0]}. It has measures in "
                f"evaluator_config, whose keys are {', '.join(usual)}."
            )
        X, others, prefix = dataset.features_data, config["systems"], config["metric_prefix"]
        if dataset.labels_data is None or not hasattr(X, "columns"):
            raise ValueError(
                "a ranker is evaluated on a frame with labels. Name their column with targets."
            )
        if isinstance(others, str) or "model" in others:
            raise ValueError(
                "systems in evaluator_config must be a list of columns, none of them called "
                f"'model' as the model's own line of the leaderboard, got {others!r}."
            )
        qid = config["qid"] or find_column([*map(str, X.columns)], ALL_QUERY_NAMES, "queries")
        for key, name in [("qid", qid), *(("systems", name) for name in others)]:
            if name not in X.columns:
                raise ValueError(
                    f"{key} in evaluator_config must name a column of the data besides labels and "
                    f"predictions, got {name!r}. There are {list_names([*X.columns])}."
                )
        scored = dataset.predictions_data
        if model is not None:
            scored = _score(model, X, qid, others, kwargs.get("predictions"))
        scored = np.asarray(scored)
        board = evaluate_systems(
            RankingData(scored.reshape(len(X), -1), dataset.labels_data, qid=X[qid]),
            {"model": scored, **{name: X[name] for name in others}},
            measures=config["measures"], preset=config["preset"],
        )  # fmt: skip
        values = {spec: board.values("model", spec) for spec in board.measures}
        metrics = {
            prefix + re.sub(r"[^\w.\-/ ]+_?", "_", spec.replace("@", "_at_")).strip("_"):
            float(np.nanmean(column)) for spec, column in values.items()
        }  # fmt: skip
        mlflow.log_metrics(metrics, run_id=run_id)
        client = mlflow.MlflowClient()
        table = type(X)({"qid": board.qids, **values}).to_csv(index=False)
        client.log_text(run_id, table, f"{prefix}per_query.csv")
        with TemporaryDirectory() as folder:
            page = write_report(board, Path(folder, f"{prefix}leaderboard.html"))
            client.log_artifact(run_id, str(page))
        found = {
            "per_query.csv": artifacts.CsvEvaluationArtifact,
            "leaderboard.html": artifacts.TextEvaluationArtifact,
        }
        if (figure := plot_leaderboard(board)) is not None:  # of several systems
            client.log_figure(run_id, figure, f"{prefix}leaderboard.png")
            found["leaderboard.png"] = artifacts.ImageEvaluationArtifact
        logged = {
            prefix + name: kind(uri=mlflow.get_artifact_uri(prefix + name))
            for name, kind in found.items()
        }
        return base.EvaluationResult(metrics=metrics, artifacts=logged, run_id=run_id)


def _score(model: Any, X: Any, qid: str, others: list[str], predictions: str | None) -> Any:
    """Scores of a model, by its estimator if it has one: ordinal ones predict classes."""
    try:
        estimator = model.get_raw_model()
    except (AttributeError, NotImplementedError):  # of a function, or of a server
        estimator = None
    try:
        signed = model.metadata.get_input_schema().input_names()
    except (AttributeError, mlflow.MlflowException):  # logged without a signature
        signed = []
    # Columns that the model reads: a system or the query may be one of them.
    known = [name for name in getattr(estimator, "feature_names_in_", signed) if name in X]
    rows = X[known] if known else X.drop(columns=qid)
    if not known and rows.shape[1] != getattr(estimator, "n_features_in_", None):
        rows = rows.drop(columns=others)
    if isinstance(estimator, BaseEstimator):
        return scores(estimator, rows, X[qid])
    scored = model.predict(rows)
    return scored if predictions is None else scored[predictions]
