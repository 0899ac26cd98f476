"""TextRanker: retrieve documents for a text query and rerank them with a learnt ranker."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.judged_run import find_missed_documents, grades_of
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.features.query_scaling import QueryScaler
from rankwise.groups import QueryGroups
from rankwise.persistence import dump_bytes, load_bytes
from rankwise.rankers.rank_svm import RankSVM
from rankwise.runtime.array_folder import HEADER
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.finite import names_its_class, restore_on_error
from rankwise.runtime.messages import callers_level, check_choice
from rankwise.runtime.renames import VALUES
from rankwise.runtime.scikit_learn import BaseEstimator
from rankwise.structure.state_rules import require, violation
from rankwise.text.collections import read_judgements
from rankwise.text.documents import convert_to_queries
from rankwise.text.models import MODELS, check_count
from rankwise.text.query_document_features import QueryDocumentFeatures
from rankwise.text.text_index import TextIndex, read_index, write_index
from rankwise.typing import Float64Array, Seed

_FEATURE_PARAMETERS = ("k1", "b", "mu", "lam", "delta", "near")
# C of the default ranker, whose pairs are hundreds a query: with 1 it overfits.
_C, _C_OF_FEW, _FOLDS = [1e-5, 1e-4, 1e-3, 1e-2], 1e-3, 5
UNJUDGED = ("zero", "ignore", "sample")


class TextRanker(BaseEstimator):
    """Retrieve documents, compute their features and rerank them with a learnt ranker.

    Parameters
    ----------
    index : TextIndex
        Index of the documents to rank.
    estimator : estimator or None, default=None
        Any ranker. None: :class:`rankwise.RankSVM`, with C chosen from 10^-5, 10^-4, 10^-3 and
        10^-2 by cross-validation on five folds of queries. With fewer than five queries, C is
        10^-3.
    n_candidates : int >= 1, default=100
        Number of documents to retrieve and rerank for each query.
    model : str, default="bm25"
        Retrieval model with default parameters, see :meth:`TextIndex.search`.
    unjudged : {"zero", "ignore", "sample"}, default="zero"
        Treatment of unjudged candidates in ``fit``:

        - "zero": not relevant, as in trec_eval;
        - "ignore": left out;
        - "sample": a random sample, of the same size as the query's judged candidates, counts as
          not relevant; the rest is left out.
    features : QueryDocumentFeatures, optional
        Features computed from the same index. None: ``QueryDocumentFeatures(index)``.
    random_state : int, RandomState, Generator or None, default=None
        Seed for ``unjudged="sample"``.

    Attributes
    ----------
    estimator_ : estimator
        The fitted ranker. Its inputs are the features and the retrieval score, each standardised
        within the candidates of a query.
    feature_names_ : list of str
        Names of these inputs.

    Notes
    -----
    Relevant documents that are not retrieved cannot be ranked; :meth:`recall` gives the share that
    is retrieved. Documents that are not retrieved count as missed when rankers are compared on
    :meth:`table` (:func:`rankwise.compare`). They also count when runs of :meth:`rank` or
    :meth:`cross_rank` are evaluated (:func:`rankwise.selection.evaluate_systems`).

    A query takes time in proportion to the postings of its terms, plus O(n d) for d features of n
    retrieved documents. Memory holds the index and the features of all queries.

    Examples
    --------
    >>> from rankwise.text import TextIndex, TextRanker
    >>> documents = {"a": "black cat", "b": "a cat and a black dog", "c": "white cat"}
    >>> queries = {"q1": "black cat", "q2": "white cat"}
    >>> judgements = {"q1": {"a": 1}, "q2": {"c": 1}}
    >>> ranker = TextRanker(TextIndex().add(documents)).fit(queries, judgements)
    >>> ranker.rank("black dog", k=1).doc_ids.tolist()
    ['b']
    """

    @names_its_class
    def __init__(
        self,
        index: TextIndex,
        estimator: Any = None,
        *,
        n_candidates: int = 100,
        model: str = "bm25",
        unjudged: Literal["zero", "ignore", "sample"] = "zero",
        features: QueryDocumentFeatures | None = None,
        random_state: Seed = None,
    ) -> None:
        self.index = index
        self.estimator = estimator
        self.n_candidates = n_candidates
        self.model = model
        self.unjudged = unjudged
        self.features = features
        self.random_state = random_state

    def fit(self, queries: Any, qrels: Any) -> Self:
        """Fit the ranker to the candidates of judged queries.

        Parameters
        ----------
        queries
            Query texts, see :meth:`TextIndex.search`. Queries without judgements are ignored.
        qrels : Qrels, mapping, frame or path
            Relevance judgements, for example ``{query id: {document id: grade}}``, see
            :func:`read_judgements`.

        Raises
        ------
        ValueError
            If no candidate is judged, or a parameter is out of range.
        TypeError
            If ``qrels`` is an array.
        """
        if isinstance(qrels, np.ndarray):
            raise TypeError(
                "fit takes texts of queries and their judgements, got arrays of features and "
                "labels. To compare rankers of text, call compare on table(queries, qrels), or "
                "evaluate_systems on cross_rank(queries, qrels)."
            )
        qrels = read_judgements(qrels)
        table = self.table(queries, qrels)
        known = self.index.has(qrels.doc_ids)
        if not known.all():
            name = qrels.doc_ids[int(np.argmin(known))]
            warnings.warn(
                f"{int((~known).sum())} of {len(known)} judgements are of documents that the index "
                f"does not have, such as {str(name)!r}. fit ignores them.",
                stacklevel=2,
            )
        if self.estimator is None:
            ranker: Any = RankSVM(_C if table.n_queries >= _FOLDS else _C_OF_FEW, cv=_FOLDS)
        else:
            ranker = clone(self.estimator)
        with restore_on_error(self):
            self.estimator_: Any = ranker.fit(table.X, table.y, qid=table.qid)
            self.feature_names_: list[str] | None = table.feature_names
        return self

    def cross_rank(
        self,
        queries: Any,
        qrels: Any,
        k: int | None = None,
        *,
        cv: int = 5,
        random_state: Seed = 0,
        tag: str = "rankwise",
    ) -> Run:
        """Rank every judged query with a ranker that was fitted on the other folds only.

        Parameters
        ----------
        queries, qrels
            As in :meth:`fit`.
        k : int >= 1, optional
            Number of documents per query. None: ``n_candidates``.
        cv : int >= 2, default=5
            Number of folds of shuffled queries.
        random_state : int, RandomState, Generator or None, default=0
            Seed for shuffling the queries.
        tag : str, default="rankwise"
            Name of the run.

        Returns
        -------
        Run
            Best document first. Evaluate it with :func:`rankwise.selection.evaluate_systems`.

        Raises
        ------
        ValueError
            If there are fewer judged queries than folds, or :meth:`fit` raises it.
        """
        qrels = read_judgements(qrels)
        wanted = set(qrels.qid.tolist())
        texts = {name: text for name, text in convert_to_queries(queries).items() if name in wanted}
        if check_count("cv", cv, 2) > len(texts):
            raise ValueError(
                f"cv must lie between 2 and the number of judged queries, {len(texts)}, got {cv}."
            )
        k = check_count("k", self.n_candidates if k is None else k)
        names = np.array(list(texts))
        fold = check_random_state(random_state).permutation(len(names)) % cv
        runs = []
        for number in range(cv):
            kept = np.isin(qrels.qid, names[fold != number])
            seen = Qrels(qrels.qid[kept], qrels.doc_ids[kept], qrels.relevance[kept])
            asked = {name: texts[name] for name in names[fold == number].tolist()}
            ranker: Any = clone(self)
            runs.append(ranker.fit(texts, seen).rank(asked, k))
        return Run(
            np.concatenate([run.qid for run in runs]),
            np.concatenate([run.doc_ids for run in runs]),
            np.concatenate([run.scores for run in runs]),
            tag,
        )

    def rank(self, queries: Any, k: int = 10, *, tag: str = "rankwise") -> Run:
        """Return the best documents of each query.

        Parameters
        ----------
        queries
            Query texts, see :meth:`TextIndex.search`.
        k : int >= 1, default=10
            Number of documents per query, at most ``n_candidates``.
        tag : str, default="rankwise"
            Name of the run.

        Returns
        -------
        Run
            Best document first. Queries without a known term have no lines.
        """
        check_is_fitted(self, "estimator_")
        k = check_count("k", k)
        texts = convert_to_queries(queries)
        run = self._candidates(texts)
        if not len(run):
            return Run(run.qid, run.doc_ids, run.scores, tag)
        scores = np.asarray(self.estimator_.predict(self._features_of(texts, run)), dtype=float)
        groups = QueryGroups.from_qid(run.qid, len(run))
        ranks = groups.ranks(scores)
        kept = np.lexsort((ranks, groups.codes()))
        kept = kept[ranks[kept] <= k]
        return Run(run.qid[kept], run.doc_ids[kept], scores[kept], tag)

    def table(self, queries: Any, qrels: Any) -> RankingData:
        """Return the training rows of :meth:`fit`, for example for :func:`rankwise.compare`.

        Parameters
        ----------
        queries, qrels
            As in :meth:`fit`.

        Returns
        -------
        RankingData
            Standardised features of the candidates of judged queries, with their grades. Judged
            documents that are not candidates are in ``missed``.

        Warns
        -----
        UserWarning
            If judged queries retrieve no document and therefore have no rows.
        """
        check_choice("unjudged", self.unjudged, UNJUDGED)
        check_count("n_candidates", self.n_candidates)
        qrels = read_judgements(qrels)
        wanted = set(qrels.qid.tolist())
        texts = {name: text for name, text in convert_to_queries(queries).items() if name in wanted}
        run = self._candidates(texts)
        y, judged = grades_of(qrels, run.qid, run.doc_ids)
        if not judged.any():
            raise ValueError(
                "qrels judge no candidate. Check that queries and documents have the same ids in "
                "the index, the queries and qrels."
            )
        if n_without := len(set(texts) - set(run.qid.tolist())):
            warnings.warn(
                f"{n_without} of {len(texts)} judged queries find no document. They have no rows, "
                "and no measure counts them.",
                stacklevel=callers_level(),
            )
        X = self._features_of(texts, run)
        names = [*self._pairs.feature_names, "retrieval_score"]
        missed = find_missed_documents(qrels, run.qid, run.doc_ids)
        data = RankingData(
            X, y, qid=run.qid, doc_ids=run.doc_ids, feature_names=names, name="text", missed=missed
        )
        if self.unjudged == "zero":
            return data
        kept = judged.copy()
        if self.unjudged == "sample":
            rng = check_random_state(self.random_state)
            for query in range(data.n_queries):
                rows = data.groups.rows([query])
                others = rows[~judged[rows]]
                n = min(len(others), int(judged[rows].sum()))
                kept[rng.permutation(others)[:n]] = True
        return data if kept.all() else data.take(np.flatnonzero(kept))

    def recall(self, queries: Any, qrels: Any) -> float:
        """Share of relevant documents that are candidates, averaged over the judged queries."""
        texts, qrels = convert_to_queries(queries), read_judgements(qrels)
        run = self._candidates(texts)
        grades, _ = grades_of(qrels, run.qid, run.doc_ids)
        found = dict.fromkeys(texts, 0)
        for name in run.qid[grades > 0].tolist():
            found[name] += 1
        total: dict[str, int] = {}
        for name in qrels.qid[qrels.relevance > 0].tolist():
            total[name] = total.get(name, 0) + 1
        shares = [found[name] / total[name] for name in texts if name in total]
        if not shares:
            raise ValueError("qrels name no relevant document of the queries.")
        return float(np.mean(shares))

    def save(self, folder: str | Path) -> Path:
        """Write the fitted ranker and its index to a folder, see :meth:`load`.

        What is in the folder is replaced at once, as by :meth:`TextIndex.save`. The parameters of
        the features are saved, but document vectors are not. If the features use
        vectors, pass ``features`` to :meth:`load`.
        """
        check_is_fitted(self, "estimator_")
        folder = Path(folder)
        facts = {"n_candidates": int(self.n_candidates), "model": self.model}
        facts |= {"unjudged": self.unjudged, "feature_names": self.feature_names_}
        numbers = {name: np.asarray(getattr(self._pairs, name)) for name in _FEATURE_PARAMETERS}
        facts["features"] = {name: number.item() for name, number in numbers.items()}
        write_index(folder, self.index, (facts, dump_bytes(self.estimator_)))
        return folder

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        analyzer: Any = None,
        features: Any = None,
    ) -> TextRanker:
        """Load a ranker that :meth:`save` wrote.

        Parameters
        ----------
        folder : path
        analyzer : callable, optional
            See :meth:`TextIndex.load`.
        features : callable, optional
            Function that builds the features of ``fit`` from the index. Required if the features
            use vectors.

        Raises
        ------
        FileNotFoundError
            If the folder contains no index or no ranker.
        ValueError
            If the features differ from those of ``fit``.
        """
        folder = Path(folder)
        index, stored = read_index(folder, analyzer)
        if stored is None:
            raise FileNotFoundError(
                f"{folder} has no ranker, only an index. Write one: TextRanker.save, or rankwise "
                "fit --text."
            )
        facts, model = stored
        _check_settings(facts, f"{folder / HEADER}: ranker")
        names, parameters = facts.pop("feature_names"), facts.pop("features")
        try:
            made = QueryDocumentFeatures(index, **parameters)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{folder / HEADER}: ranker.features: {error}") from None
        made = made if features is None else features(index)
        ranker = cls(index, features=made, **facts)
        if [*ranker._pairs.feature_names, "retrieval_score"] != names:
            raise ValueError(
                f"{folder} was fitted on other features. Pass features=…, a function of the index."
            )
        other = [name for name, value in parameters.items() if getattr(made, name) != value]
        if other:
            raise ValueError(
                f"{folder} was fitted on features with {other[0]}={parameters[other[0]]}, got "
                f"{getattr(made, other[0])}. Use the same parameters."
            )
        ranker.estimator_ = load_bytes(model, folder)
        ranker.feature_names_ = names
        return ranker

    @property
    def _pairs(self) -> QueryDocumentFeatures:
        if self.features is not None:
            if self.features.index is not self.index:
                raise ValueError("features must be of the index of the ranker.")
            return self.features
        made = self.__dict__.get("_made")
        if made is None or made.index is not self.index:
            made = self.__dict__["_made"] = QueryDocumentFeatures(self.index)
        return made

    def _candidates(self, texts: dict[str, str]) -> Run:
        return self.index.search(texts, self.n_candidates, model=self.model)

    def _features_of(self, texts: dict[str, str], run: Run) -> Float64Array:
        X = self._pairs.compute(texts, run.qid, run.doc_ids)
        X = np.concatenate([X, run.scores[:, None]], axis=1)
        return QueryScaler("standard").fit_transform(X, qid=run.qid)


def _check_settings(facts: dict[str, Any], where: str) -> None:
    """Raise StructureError unless the JSON values of a saved ranker are those of :meth:`save`."""
    kinds = {"n_candidates": int, "model": str, "unjudged": str, "feature_names": list,
             "features": dict}  # fmt: skip
    if facts.keys() != kinds.keys():
        raise violation(where, f"have the keys {', '.join(kinds)}", list(facts))
    for name, kind in kinds.items():
        require(type(facts[name]) is kind, f"{where}.{name}", f"be a {kind.__name__}", facts[name])
    facts["model"] = VALUES.get(facts["model"], facts["model"])
    for name, known in (("model", MODELS), ("unjudged", UNJUDGED)):
        allowed = f"be one of {', '.join(known)}"
        require(facts[name] in known, f"{where}.{name}", allowed, facts[name])
    require(facts["n_candidates"] >= 1, f"{where}.n_candidates", "be >= 1", facts["n_candidates"])
    features = facts["features"]
    require(
        features.keys() == {*_FEATURE_PARAMETERS}
        and all(type(value) in (int, float) for value in features.values()),
        f"{where}.features", f"be numbers named {', '.join(_FEATURE_PARAMETERS)}", features,
    )  # fmt: skip
