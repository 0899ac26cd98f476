"""PyTerrier: rankers, saved models and fusion as transformers of a pipeline; needs no Java."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rankwise._packages import missing_package
from rankwise.checks.exact_values import id_texts
from rankwise.datasets.readers.judged_run import grades_of
from rankwise.datasets.readers.results import read_judgements
from rankwise.fusion.rules import RULES, fuse
from rankwise.persistence import load
from rankwise.prediction import fit_with, scores
from rankwise.runtime.messages import check_choice

try:
    import pandas as pd
    import pyterrier as pt  # pyright: ignore[reportMissingImports]
except ModuleNotFoundError as error:
    raise missing_package(__name__, error.name or "pyterrier") from error


class ModelTransformer(pt.Transformer):
    """Rerank results by a fitted or saved model, query by query.

    ``estimator`` is fitted, or the path of a model file. ``features`` is the column of feature
    vectors, as PyTerrier's ``**`` makes it, or a list of columns.
    """

    def __init__(self, estimator: Any, features: str | list[str] = "features") -> None:
        is_path = isinstance(estimator, str | Path)
        if isinstance(estimator, type) or (is_path and not Path(estimator).exists()):
            raise ValueError(
                f"estimator must be an estimator or the path of a model file, got {estimator!r}. "
                "Pass an instance, such as rankwise.LambdaMART()."
            )
        self.estimator = load(estimator) if is_path else estimator
        self.features = features

    def transform(self, inp: Any) -> Any:
        """Results with the scores of the model and their ranks."""
        rows, qid = self._rows(inp), inp["qid"].to_numpy()
        values = scores(self.estimator, rows, qid) if len(inp) else np.empty(0)
        return pt.model.add_ranks(inp.assign(score=values))

    def _rows(self, results: Any) -> Any:
        columns = [self.features] if isinstance(self.features, str) else self.features
        pt.validate.result_frame(results, extra_columns=columns)
        if columns is self.features or not len(results):
            return results[columns]
        vectors = [np.atleast_1d(vector) for vector in results[self.features]]
        if len(sizes := {len(vector) for vector in vectors}) > 1:
            raise ValueError(
                f"{self.features!r} must hold vectors of one length, got {sorted(sizes)}. Compute "
                "the same features for all documents."
            )
        return np.stack(vectors)


class RankerEstimator(ModelTransformer, pt.Estimator):
    """Fit a ranker to results with their query ids, and rerank by it.

    The parameters are those of :class:`ModelTransformer`; ``estimator`` is fitted in place.
    """

    def fit(self, topics_or_res_tr: Any, qrels_tr: Any, topics_or_res_va: Any = None,
            qrels_va: Any = None) -> None:  # fmt: skip
        """Fit to training results; a result without a judgement or with one below 0 has label 0.

        Validation results go to a ranker whose ``fit`` takes ``X_val``. Results that are empty, or
        of which none is judged, raise ValueError.
        """
        X, y, qid = self._judge(topics_or_res_tr, qrels_tr, "training")
        validation: dict[str, Any] | None = None
        if topics_or_res_va is not None and qrels_va is not None:
            judged = self._judge(topics_or_res_va, qrels_va, "validation")
            validation = dict(zip(("X_val", "y_val", "qid_val"), judged, strict=True))
        fit_with(self.estimator, X, y, {"qid": qid}, validation)

    def _judge(self, results: Any, qrels: Any, part: str) -> tuple[Any, Any, Any]:
        rows = self._rows(results)
        ids = [np.array(id_texts(results[name], name), object) for name in ("qid", "docno")]
        labels, judged = grades_of(read_judgements(qrels), *ids)
        if not judged.any():
            raise ValueError(
                f"qrels must judge some of the {len(results)} {part} results, but judge none. "
                "Compare the columns qid and docno of both."
            )
        return rows, labels, results["qid"].to_numpy()


class FusionTransformer(pt.Transformer):
    """Fuse the results of pipelines: columns of the queries, ``docno``, ``score`` and ``rank``.

    ``settings`` are those of :func:`rankwise.fusion.fuse`; ``weights`` has one entry per pipeline.
    """

    def __init__(self, *systems: Any, rule: str = "rrf", weights: Any = None, **settings: Any):
        if len(systems) < 2 or (weights is not None and len(weights) != len(systems)):
            raise ValueError("FusionTransformer needs two or more pipelines and a weight for each.")
        check_choice("rule", rule, RULES)
        self.systems, self.rule, self.weights, self.settings = systems, rule, weights, settings

    def transform(self, inp: Any) -> Any:
        """Fused results of the queries."""
        columns = self.transform_outputs(list(inp.columns))
        found = [system.transform(inp.copy()) for system in self.systems]
        if not any(map(len, found)):
            return inp.iloc[:0].reindex(columns=columns)
        nothing: dict[str, Any] = {query: {} for query in inp["qid"]}
        lists = [results if len(results) else nothing for results in found]
        shared = pd.concat([r["qid"].drop_duplicates() for r in found]).duplicated().any()
        # Where no two share a query, fuse would suspect ids that differ: one call for each.
        calls = [lists] if shared else [[x if x is y else nothing for x in lists] for y in lists]
        runs = [fuse(call, self.rule, weights=self.weights, **self.settings) for call in calls]
        rows = [pd.DataFrame({"qid": r.qid, "docno": r.doc_ids, "score": r.scores}) for r in runs]
        fused = pd.concat(rows).merge(inp[columns[:-3]].drop_duplicates("qid"), on="qid")
        return pt.model.add_ranks(fused)[columns]

    def transform_outputs(self, inp_cols: list[str]) -> list[str]:
        """Columns of the results, for columns of the queries."""
        pt.validate.columns(inp_cols, includes=["qid"])
        return [*(name for name in inp_cols if name.startswith("q")), "docno", "score", "rank"]
