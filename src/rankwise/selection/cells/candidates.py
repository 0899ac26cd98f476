"""Candidates of a comparison: registry keys, estimators, and scores that exist already."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from rankwise._registry import BY_CLASS_NAME, build_ranker
from rankwise.checks.text_categories import category_frame
from rankwise.datasets.data import Fold, FoldedData, RankingData
from rankwise.datasets.readers.results import as_run
from rankwise.datasets.readers.trec import Qrels, Run, id_array, string_codes
from rankwise.datasets.table_columns import IgnoredColumnsWarning, is_frame, list_names
from rankwise.prediction import Predictions, check_ranker, innermost
from rankwise.runtime.frames import frame_for
from rankwise.runtime.messages import callers_level, did_you_mean
from rankwise.selection.cells.fingerprint import canonical, origin
from rankwise.selection.cells.measured import Measurement
from rankwise.selection.cells.result_store import FoldResult
from rankwise.trees.column_table import CategoricalInput
from rankwise.typing import Float64Array


@dataclass(frozen=True)
class Candidate:
    """One ranker of a comparison."""

    name: str
    estimator: Any  # unfitted estimator, GivenScores, or None if its extra is missing
    # grid to search on the validation part; empty for none
    space: dict[str, list[Any]] = field(default_factory=dict)
    is_recipe: bool = False  # the tuned recipe of a key
    is_class: bool = False  # KEY(…): the class with these parameters, nothing chosen
    missing: str = ""  # why the ranker cannot run, and how to fix that; empty if it can

    def describe(self) -> str:
        """Estimator as code, for reports."""
        if self.estimator is None:
            return self.missing
        if self.is_given:
            return self.estimator.describe()
        grid = f" over {self.space}" if self.space else ""
        return " ".join(repr(self.estimator).split()) + grid

    @property
    def ran(self) -> str:
        """What was tuned, or the parameters that differ from the defaults of the class."""
        if self.estimator is None or self.is_given:
            return self.describe()
        return describe_settings(self.estimator, self.space, is_recipe=self.is_recipe)

    @property
    def is_given(self) -> bool:
        """Whether scores are given, so nothing is fitted, timed or stored."""
        return isinstance(self.estimator, GivenScores)

    @property
    def is_kept(self) -> bool:
        """Whether a store keeps the finished cells."""
        return not self.missing and not self.is_given

    @cached_property
    def origin(self) -> dict[str, str]:
        """Versions of libraries and hashes of the user's own code that the ranker runs."""
        return {} if self.missing or self.is_given else origin(self.estimator)

    def identity(self) -> Any:
        """Values that determine the results: parameters, grid and code."""
        return canonical([self.estimator, self.space, self.origin])


def convert_to_candidates(rankers: Any, *, random_state: int = 0) -> list[Candidate]:
    """Convert rankers to candidates with unique names.

    ``rankers`` is a key or an estimator, a sequence of them, or a mapping from names to either. A
    bare key is its tuned recipe, with the seed ``random_state``; ``KEY(NAME=VALUE, …)`` is its
    class with these parameters. An estimator is used unchanged and named after its class. Existing
    scores are a key "column:NAME" or a run (also a Path, a frame or ``{query: {document: score}}``
    with a name).
    """
    named: list[tuple[str, Any]] = []
    if isinstance(rankers, Mapping):
        named = [(str(name), ranker) for name, ranker in rankers.items()]
    else:
        if isinstance(rankers, RankingData | Fold | FoldedData) or is_frame(rankers):
            raise TypeError(
                f"rankers must be keys or estimators, got a {type(rankers).__name__}. The data "
                "come after the rankers: compare(rankers, data)."
            )
        is_single = isinstance(rankers, str | Run) or hasattr(rankers, "fit")
        several: Any = [rankers] if is_single else rankers
        listed: list[Any] = list(several)
        for ranker in listed:
            if isinstance(ranker, str):
                name = ranker.removeprefix(COLUMN)
            else:
                name = ranker.tag if isinstance(ranker, Run) else type(ranker).__name__
            named.append((name, ranker))
    if not named:
        raise ValueError("rankers must name at least one ranker, got none.")
    seen: dict[str, int] = {}
    candidates = []
    for name, ranker in named:
        seen[name] = seen.get(name, 0) + 1
        unique = name if seen[name] == 1 else f"{name} #{seen[name]}"
        candidates.append(_candidate(unique, ranker, random_state))
    return candidates


def score_columns(candidates: Sequence[Candidate]) -> list[str]:
    """Columns of the data that candidates use as scores."""
    given = [candidate.estimator for candidate in candidates]
    return list(dict.fromkeys(scores.name for scores in given if isinstance(scores, ColumnScores)))


def _candidate(name: str, ranker: Any, random_state: int) -> Candidate:
    if not isinstance(ranker, str) and (run := run_scores(ranker)) is not None:
        return Candidate(name, run)
    if isinstance(ranker, str) and ranker.startswith(COLUMN):
        return Candidate(name, ColumnScores(ranker.removeprefix(COLUMN)))
    if isinstance(ranker, str):
        try:
            estimator, space = build_ranker(ranker, "rankers", seed=random_state)
        except ImportError as error:
            return Candidate(name, None, missing=str(error))
        return Candidate(
            name, estimator, space, is_recipe="(" not in ranker, is_class="(" in ranker
        )
    check_ranker(name, ranker)
    return Candidate(name, ranker)


_SEARCHED = ("val", "cv", "loqo", "lpo", "grid")


def describe_settings(
    estimator: Any, space: Mapping[str, list[Any]], *, is_recipe: bool = False
) -> str:
    """What a ranker runs: what its recipe tunes, or how it differs from its class's defaults.

    The seed of a recipe is left out, because a comparison sets it. Estimators that are not of the
    registry are shown as code. Ordinal classifiers, whose ``predict`` returns classes, are marked.
    """
    kind = type(estimator)
    ranked = "; ranked by rank_score" if hasattr(innermost(estimator), "rank_score") else ""
    entry = BY_CLASS_NAME.get(kind.__name__)
    if entry is None or entry.path.partition(":")[0] != kind.__module__:
        return " ".join(repr(estimator).split()) + ranked
    defaults = kind().get_params(deep=False)
    changed = {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if not (is_recipe and name == "random_state") and repr(value) != repr(defaults[name])
    }
    tuned = [f"{name} of {', '.join(map(str, values))}" for name, values in space.items()]
    for name, value in list(changed.items()) if is_recipe else ():
        if isinstance(value, list):
            tuned.append(f"{name} of {', '.join(map(str, changed.pop(name)))}")
        elif isinstance(value, str) and value in _SEARCHED:
            tuned.append(f"{name} along its path")
            del changed[name]
        elif name == "early_stopping_rounds":
            rounds = "trees" if "trees" in entry.tags else "rounds"
            tuned.append(f"{'epochs' if 'n_epochs' in defaults else rounds} by early stopping")
    given = "with " + ", ".join(f"{name}={value!r}" for name, value in changed.items())
    if tuned:
        return f"tuned: {'; '.join([*tuned, given] if changed else tuned)}{ranked}"
    return f"class defaults {given}{ranked}" if changed else f"class defaults{ranked}"


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
        scores = self.values(data)
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores)))
            raise ValueError(
                f"{COLUMN}{self.name} must hold a finite score in every row, got {scores[row]} at "
                f"test row {row}."
            )
        return RowScores(scores, None)

    def values(self, data: RankingData) -> Float64Array:
        """Scores of the rows, of which some may be missing."""
        given = data.score_columns or {}
        if self.name in given:
            return given[self.name]
        names = data.feature_names or [str(number + 1) for number in range(data.n_features)]
        if self.name not in names:
            count = f"There are {len(names)} features"
            hint = f"{count}." if data.feature_names else f"{count}, numbered from 1."
            hint = did_you_mean(self.name, [*given, *names], hint)
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
        return dense[:, 0].astype(np.float64)

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


def unfreeze(model: Any) -> Any:
    """Return the estimator inside a FrozenEstimator; others unchanged."""
    return unfreeze(model.estimator) if isinstance(model, FrozenEstimator) else model


def takes_categories(estimator: Any) -> bool:
    """Whether an estimator takes frames with columns of text."""
    return isinstance(unfreeze(estimator), CategoricalInput)


def prepare_rows(
    estimator: Any, data: RankingData, wanted: Sequence[str] | None = None
) -> tuple[Any, list[str] | None]:
    """Rows as an estimator reads them, and the names of their columns.

    Rows without categories are X. An estimator that takes categories gets a frame with their text,
    without columns of more categories than it takes. All others get X without their columns. An
    IgnoredColumnsWarning names the columns that are left out; it is an error if none remains.

    ``wanted`` are columns to read, in this order, as they were prepared before; None: all.
    """
    X: Any = data.X
    names, categories = data.feature_names, dict(data.categories or {})
    if names is not None and wanted is not None and names != [*wanted]:
        places = [names.index(name) for name in wanted]
        categories = {i: categories[j] for i, j in enumerate(places) if j in categories}
        X, names = X[:, places], list(wanted)
    if not categories or names is None:
        return X, names
    kind = type(unfreeze(estimator)).__name__
    # A fitted pipeline encodes the text that it knows.
    encodes = wanted is not None and hasattr(unfreeze(estimator), "steps")
    if encodes or takes_categories(estimator):
        most = unfreeze(estimator)._most_categories if wanted is None else None
        many = [j for j, known in categories.items() if most is not None and len(known) > most]
        if not many or len(many) == len(names):  # fit says what is wrong with them
            return category_frame(X, names, categories), names
        listed = [f"{names[j]!r} ({len(categories[j])} categories)" for j in many]
        warnings.warn(
            f"{kind} takes at most {most} categories in a column, and leaves out "
            f"{list_names(listed, quote=str)}. Merge rare categories to use them, or use "
            "LambdaMART with categorical_encoding='auto', AutoRanker, LightGBMRanker, "
            "XGBoostRanker or CatBoostRanker.",
            IgnoredColumnsWarning,
            stacklevel=callers_level(),
        )
        kept = [j for j in range(len(names)) if j not in many]
        names = [names[j] for j in kept]
        categories = {i: categories[j] for i, j in enumerate(kept) if j in categories}
        return category_frame(X[:, kept], names, categories) if categories else X[:, kept], names
    kept = [j for j in range(len(names)) if j not in categories]
    texts = [names[j] for j in sorted(categories)]
    if not kept:
        raise ValueError(
            f"{kind} takes columns of numbers, but all columns hold text: {list_names(texts)}. "
            "Encode them as numbers, or use LambdaMART, AutoRanker or a booster."
        )
    warnings.warn(
        f"{kind} takes columns of numbers, and leaves out those of text: {list_names(texts)}. "
        "Encode them as numbers to use them, or use LambdaMART, AutoRanker or a booster.",
        IgnoredColumnsWarning,
        stacklevel=callers_level(),
    )
    return X[:, kept], [names[j] for j in kept]
