"""MLflow: log rankers in its safe format, and evaluate models of type "ranker" (MLflow >= 3.10)."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rankwise._packages import missing_package
from rankwise.datasets.readers.results import find_column
from rankwise.datasets.table_columns import ALL_QUERY_NAMES
from rankwise.metrics.evaluation import DEFAULT_MEASURES, evaluate
from rankwise.persistence import TRUSTED_TYPES
from rankwise.report.html import write_report
from rankwise.report.rank_diagram import plot_leaderboard
from rankwise.selection.table_leaderboard import leaderboard

try:
    import mlflow.sklearn  # pyright: ignore[reportMissingImports]
    from mlflow.models.evaluation import artifacts as kinds  # pyright: ignore[reportMissingImports]
    from mlflow.models.evaluation import base  # pyright: ignore[reportMissingImports]
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
    systems, which get a line of the leaderboard. Neither is passed to the model. A metric is
    called as its measure, with "_at_" for "@" and "_" for other characters that MLflow excludes.
    """

    @classmethod
    def can_evaluate(cls, *, model_type: Any, evaluator_config: Any, **kwargs: Any) -> bool:
        """Whether the models are rankers."""
        return model_type == "ranker"

    def evaluate(
        self, *, dataset: Any, run_id: Any, evaluator_config: Any, model: Any = None, **kwargs: Any
    ) -> Any:
        """Metrics, and as artefacts the values per query, a leaderboard and its plot."""
        config = {"measures": list(DEFAULT_MEASURES), "systems": [], "preset": None}
        config |= evaluator_config or {}
        X, y = dataset.features_data, dataset.labels_data
        if y is None:
            raise ValueError("a ranker is evaluated by labels. Name their column with targets.")
        names = [str(name) for name in X.columns]
        qid = config.get("qid") or find_column(names, ALL_QUERY_NAMES, "queries")
        others = list(config["systems"])
        if unknown := [name for name in (qid, *others) if name not in names]:
            raise ValueError(
                f"evaluator_config names column {unknown[0]!r}, which data lack. Their columns are "
                f"{', '.join(map(repr, names[:12]))}."
            )
        features = X.drop(columns=[qid, *others])
        scored = dataset.predictions_data if model is None else model.predict(features)
        measures, qids = config["measures"], X[qid].to_numpy()
        results = {
            name: evaluate(y, values, qids, measures, preset=config["preset"])
            for name, values in {"model": scored, **{name: X[name] for name in others}}.items()
        }
        result = results["model"]
        metrics = {
            re.sub(r"[^\w.\-/ ]+_?", "_", spec.replace("@", "_at_")).strip("_"): float(mean)
            for spec, mean in result.means.items()
        }
        mlflow.log_metrics(metrics, run_id=run_id)
        first = next(iter(result.means))
        board = leaderboard(
            {name: dict(zip(map(str, r.qids), r.per_query[first], strict=True))
             for name, r in results.items()}, missing="drop",
        )  # fmt: skip
        client, found = mlflow.MlflowClient(), {}
        with TemporaryDirectory() as folder:
            table = type(X)({"qid": result.qids, **result.per_query})
            table.to_csv(Path(folder, "per_query.csv"), index=False)
            write_report(board, Path(folder, "leaderboard.html"))
            if (figure := plot_leaderboard(board)) is not None:  # of several systems
                figure.savefig(Path(folder, "leaderboard.png"))
            for name, kind in (
                ("per_query.csv", kinds.CsvEvaluationArtifact),
                ("leaderboard.html", kinds.TextEvaluationArtifact),
                ("leaderboard.png", kinds.ImageEvaluationArtifact),
            ):
                if Path(folder, name).exists():
                    client.log_artifact(run_id, str(Path(folder, name)))
                    found[name] = kind(uri=mlflow.get_artifact_uri(name))
        return base.EvaluationResult(metrics=metrics, artifacts=found, run_id=run_id)
