"""Candidates without fitting: existing scores of a system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.named_columns import frame_for
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.result_lists import as_run
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.datasets.readers.trec_ids import id_array, string_codes
from rankwise.datasets.table_columns import is_frame
from rankwise.prediction import Predictions
from rankwise.runtime.vocabulary import did_you_mean
from rankwise.selection.category_rows import prepare_rows, unfreeze
from rankwise.selection.fold_result import FoldResult
from rankwise.selection.measured import Measurement
from rankwise.typing import Float64Array

COLUMN = "column:"


class RowScores(NamedTuple):
    """Scores of judged rows; ``retrieved`` is False for rows without one, None if all have one."""

    scores: Float64Array
    retrieved: NDArray[np.bool_] | None
    note: str = ""


@runtime_checkable
class GivenScores(Protocol):
    """Interface of existing scores."""

    def of(self, data: RankingData) -> RowScores:
        """Scores of the rows of a test part."""
        ...

    def describe(self) -> str:
        """Source of the scores, for reports."""
        ...


@dataclass(frozen=True, eq=False)
class RunScores:
    """Scores of a TREC run, by query and document id.

    As in trec_eval, a judged row that the run did not retrieve counts as never found.
    """

    run: Run

    def of(self, data: RankingData) -> RowScores:
        """Scores of a test part with document ids, of which at least one must be in the run."""
        if data.doc_ids is None:
            raise ValueError(
                f"a run ({self.run.tag}) needs document ids, but the data have none. Add them as "
                "comments '#docid = …' in LETOR text, or as a column doc_id of a table."
            )
        (of_run, of_rows), n_queries = string_codes(self.run.qid, id_array(data.qid, "qid"))
        (in_run, in_rows), _ = string_codes(self.run.doc_ids, id_array(data.doc_ids, "doc_ids"))
        run_keys, keys = of_run + in_run * n_queries, of_rows + in_rows * n_queries
        order = np.argsort(run_keys, kind="stable")
        place = np.minimum(np.searchsorted(run_keys[order], keys), max(len(order) - 1, 0))
        entry = order[place] if len(order) else np.zeros(len(keys), dtype=np.int64)
        retrieved = run_keys[entry] == keys if len(order) else np.zeros(len(keys), dtype=bool)
        if not retrieved.any():
            raise ValueError(
                f"the run ({self.run.tag}) has none of the {len(keys)} test rows: its first entry "
                f"is query {self.run.qid[:1].tolist()}, document {self.run.doc_ids[:1].tolist()}; "
                f"the first row is query {str(data.qid[0])!r}, document {str(data.doc_ids[0])!r}."
            )
        if retrieved.all():
            return RowScores(self.run.scores[entry], None)
        missing = int((~retrieved).sum())
        note = f"{missing} of {len(keys)} test rows are not in the run and count as never found"
        return RowScores(np.where(retrieved, self.run.scores[entry], -np.inf), retrieved, note)

    def describe(self) -> str:
        """Tag and size of the run."""
        return f"run {self.run.tag} of {len(self.run)} entries"


@dataclass(frozen=True)
class ColumnScores:
    """Scores in a column of the data."""

    # one of the ``score_columns`` or a feature; in LETOR text, the feature's number from 1
    name: str

    def of(self, data: RankingData) -> RowScores:
        """Scores of the rows of a test part, in which the column has no missing values."""
        given = data.score_columns or {}
        if self.name in given:
            return RowScores(given[self.name], None)
        names = data.feature_names or [str(number + 1) for number in range(data.n_features)]
        if self.name not in names:
            hint = did_you_mean(self.name, [*given, *names], f"There are {len(names)} features.")
            raise ValueError(
                f"{COLUMN}{self.name} must name a feature or a score column of the data. {hint}"
            )
        number = names.index(self.name)
        if number in (data.categories or ()):
            raise ValueError(
                f"{COLUMN}{self.name} must name a column of numbers, and this one holds text."
            )
        values = data.X[:, [number]]
        dense = values if isinstance(values, np.ndarray) else values.toarray()
        scores = dense[:, 0].astype(np.float64)
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores)))
            raise ValueError(
                f"{COLUMN}{self.name} must hold a finite score in every row, got {scores[row]} at "
                f"test row {row}."
            )
        return RowScores(scores, None)

    def describe(self) -> str:
        """Name of the column."""
        return f"column {self.name} of the data"


@dataclass(frozen=True, eq=False)
class ArrayScores:
    """One score per row."""

    scores: Float64Array

    def of(self, data: RankingData) -> RowScores:
        """The scores: one finite number per row of the data."""
        if self.scores.shape != (data.n_samples,):
            found = f"{len(self.scores)} scores" if self.scores.ndim == 1 else self.scores.shape
            raise ValueError(
                f"got {found} for {data.n_samples} rows. Pass one score per row, in the same order."
            )
        if not np.isfinite(self.scores).all():
            row = int(np.argmin(np.isfinite(self.scores)))
            raise ValueError(f"scores must be finite, got {self.scores[row]} at row {row}.")
        return RowScores(self.scores, None)

    def describe(self) -> str:
        """Number of scores."""
        return f"{len(self.scores)} given scores"


def run_scores(system: Any) -> RunScores | None:
    """Scores of a run in any form that names queries and documents; None for anything else."""
    is_list = isinstance(system, list) and bool(system) and _is_run(system[0])
    return RunScores(as_run(system)) if is_list or _is_run(system) else None


def _is_run(system: Any) -> bool:
    several = is_frame(system) and len(getattr(system, "columns", [])) > 1
    return several or isinstance(system, Run | Qrels | RankingData | str | Path | Mapping)


def fill_given(
    measurement: Measurement, empty: FoldResult, given: GivenScores, test: RankingData
) -> FoldResult:
    """The result of existing scores."""
    rows = given.of(test)
    notes = [rows.note] if rows.note else []
    return measurement.fill(empty, test, Predictions(rows.scores), rows.retrieved, notes=notes)


def model_rows(model: Any, data: RankingData) -> tuple[Any, list[str] | None]:
    """Rows in the form that a fitted model reads, and the names of their columns.

    Columns are chosen by name if the data have all of them. A pipeline that was fitted on a frame
    gets a frame.
    """
    fitted = [str(name) for name in getattr(model, "feature_names_in_", ())]
    known = data.feature_names or []
    wanted = fitted if fitted and {*fitted} <= {*known} else None
    X, names = prepare_rows(model, data, wanted)
    return frame_for(unfreeze(model), X, names), names
