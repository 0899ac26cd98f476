"""What the adapters need of a boosting library, and what they give it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from rankwise.rankers.adapters._rows import TrainingRows
from rankwise.rankers.adapters.validation_monitor import ValidationMonitor
from rankwise.rows.fit_data import FitData
from rankwise.trees.stored_boosters import StoredTrees
from rankwise.typing import Matrix


@dataclass(frozen=True, eq=False)
class BoosterInput:
    """Input of one training run."""

    rows: TrainingRows
    # Parameters of the ranker under the names of the library, then the user's ``params``.
    params: Mapping[str, Any]
    n_trees: int  # number of trees to add
    nominal: Collection[int]  # columns that hold codes of unordered categories
    monitor: ValidationMonitor | None = None  # called with the validation scores after every tree
    early_stopping_rounds: int | None = None  # trees without improvement; None without ``monitor``
    previous: Any = None  # model object of the library, whose trees come first
    # Connection to the other processes that train the same model.
    network: Mapping[str, Any] | None = None

    def last_iteration(self, n_before: int) -> int:
        """Number of trees to keep, the ``n_before`` of ``previous`` included."""
        if self.monitor is None or self.early_stopping_rounds is None:
            return n_before + self.n_trees
        return n_before + self.monitor.best


class BoosterLibrary(Protocol):
    """A boosting library: trains, stores, reads and evaluates its trees.

    A *booster* is the library's own model object. Stored trees are bytes, in a text format of the
    library and checked before parsing, so models can be pickled, copied and saved. They number the
    columns; a parsed booster has the names of the columns.
    """

    name: str
    errors: ClassVar[tuple[type[Exception], ...]]  # what training raises
    in_float32: bool  # whether the library rounds rows to float32
    auto_gain: str  # meaning of ``gain="auto"``; "auto" depends on the labels
    # Library name of each parameter of the ranker that the library receives.
    names: ClassVar[Mapping[str, str]]
    # Further library names that must not stand in ``params``, because the ranker sets them.
    reserved: frozenset[str]
    # Names that the library takes for one and the same parameter; those of parameters that the
    # ranker sets must not stand in ``params`` either.
    synonyms: ClassVar[tuple[frozenset[str], ...]]

    def known_params(self, params: Mapping[str, Any], n_features: int) -> set[str]:
        """Names of parameters that the library accepts, among them the known ones of ``params``."""
        ...

    def check_data(self, ranker: Any, data: FitData, directions: Sequence[int]) -> None:
        """Raise if the library does not support the weights, categories or constraints."""
        ...

    def train(self, given: BoosterInput) -> bytes:
        """Trees as bytes, cut after the best tree if training stops early; empty if there are none.

        The trees of ``given.previous`` come first.
        """
        ...

    def find_booster(self, model: Any) -> Any:
        """Booster in a user's object; None for objects without one."""
        ...

    def dump(self, booster: Any) -> bytes:
        """All trees of a booster as bytes."""
        ...

    def load(self, model: bytes, n_features: int, names: Sequence[str] | None) -> Any:
        """Booster of checked bytes, with the given feature names."""
        ...

    def predict(self, booster: Any, X: Matrix, nominal: Collection[int], n_threads: int) -> Any:
        """Score of every row."""
        ...

    def count_trees(self, booster: Any) -> int:
        """Number of trees of a booster."""
        ...

    def read_trees(self, model: bytes, n_categories: Any, /) -> StoredTrees:
        """Trees of checked bytes in our own form."""
        ...

    def importances(self, booster: Any) -> Any:
        """Importance of each feature, >= 0."""
        ...

    def networks(
        self, hosts: Sequence[str], ports: Sequence[int], here: str
    ) -> tuple[list[dict[str, Any]], Any]:
        """Connection of each share, and an object that must exist until all processes are done."""
        ...
