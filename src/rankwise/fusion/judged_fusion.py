"""Base class of fusions that learn from judged queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.fusion.run_pool import RunPool, convert_to_pool, same_systems
from rankwise.persistence import Save
from rankwise.runtime.constraints import ValidatedParameters
from rankwise.runtime.scikit_learn import BaseEstimator
from rankwise.typing import Float64Array, Seed


class JudgedFusion(ValidatedParameters, Save, BaseEstimator):
    """Base class of fusions that learn from judged queries.

    Subclasses define how the judged rows are chosen, what is learnt from them, and the scores of
    the rows of a pool.
    """

    _tag: ClassVar[str]
    systems_: NDArray[np.str_]

    def fit(
        self,
        runs: RunPool | Sequence[Any] | Mapping[str, Any],
        qrels: Qrels,
        *,
        systems: Sequence[str] | None = None,
    ) -> Self:
        """Learn from judged queries.

        Parameters
        ----------
        runs : RunPool, sequence, or mapping from system name to result lists
            See :func:`rankwise.fusion.pool_runs`.
        qrels : Qrels
            Relevance judgements. Queries without any are not read.
        systems : sequence of str, optional
            Names of the systems, see :func:`rankwise.fusion.pool_runs`.

        Raises
        ------
        ValueError
            If no document of the runs is judged, or a parameter is invalid: a feature is unknown,
            both ``estimator`` and ``nonnegative`` are set, or ``cuts`` do not ascend from 1.
        """
        pool, rows = self._select_judged(runs, qrels, systems)
        return self._learn(pool.systems, rows, qrels)

    def fuse(
        self,
        runs: RunPool | Sequence[Any] | Mapping[str, Any],
        *,
        systems: Sequence[str] | None = None,
        tag: str | None = None,
    ) -> Run:
        """Fuse the lists of the same systems for any queries.

        Parameters
        ----------
        runs : RunPool, sequence, or mapping from system name to result lists
            The systems of ``fit``; a mapping may have them in another order.
        systems : sequence of str, optional
            Names of the systems, see :func:`rankwise.fusion.pool_runs`.
        tag : str, optional
            Name of the fused run. None: "learned" or "probabilistic".

        Returns
        -------
        Run
            Every document that any system returned, with its score.

        Raises
        ------
        ValueError
            If the systems are not those of ``fit``.
        """
        check_is_fitted(self)
        pool = same_systems(convert_to_pool(runs, systems), self.systems_)
        return pool.run(self._scores(pool), self._tag if tag is None else tag)

    def fuse_held_out(
        self,
        runs: RunPool | Sequence[Any] | Mapping[str, Any],
        qrels: Qrels,
        *,
        systems: Sequence[str] | None = None,
        folds: int | None = None,
        random_state: Seed = None,
        tag: str | None = None,
    ) -> Run:
        """Fuse every judged query by what was learnt without it.

        Parameters
        ----------
        runs, qrels, systems
            See :meth:`fit`.
        folds : int >= 2, optional
            Number of folds of queries. None: leave one query out.
        random_state : int, RandomState, Generator or None, default=None
            Shuffles the queries before they are dealt to folds. None: in the order of the runs.
        tag : str, optional
            Name of the fused run. None: "learned" or "probabilistic".

        Returns
        -------
        Run
            Every returned document of the judged queries. The estimator itself is not fitted.

        Raises
        ------
        ValueError
            Raised by :meth:`fit`, or if there are fewer judged queries than folds, or only one.
        """
        pool, rows = self._select_judged(runs, qrels, systems)
        judged = pool.take(np.flatnonzero(np.isin(pool.qid, np.unique(rows.qid))))
        groups = judged.groups
        n_folds = groups.n_queries if folds is None else folds
        if not 2 <= n_folds <= groups.n_queries:
            raise ValueError(
                f"folds must lie in [2, {groups.n_queries}], the number of judged queries, got "
                f"{n_folds}."
            )
        found = np.empty(len(judged))
        for fold in groups.split(n_folds, random_state=random_state):
            test = np.isin(judged.qid, groups.ids[fold])
            rest = rows.take(np.flatnonzero(~np.isin(rows.qid, groups.ids[fold])))
            model: Any = clone(self)
            model._learn(pool.systems, rest, qrels)
            found[test] = model._scores(judged.take(np.flatnonzero(test)))
        return judged.run(found, self._tag if tag is None else tag)

    def _select_judged(
        self, runs: Any, qrels: Qrels, systems: Sequence[str] | None
    ) -> tuple[RunPool, Any]:
        """All rows, and the rows of judged queries in the form that :meth:`_learn` reads."""
        raise NotImplementedError

    def _learn(self, systems: Sequence[str], rows: Any, qrels: Qrels) -> Self:
        """Fit the rows of some judged queries."""
        raise NotImplementedError

    def _scores(self, pool: RunPool) -> Float64Array:
        """Score of every row."""
        raise NotImplementedError
