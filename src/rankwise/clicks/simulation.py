"""Simulate clicks of users whose habits are known, for tests and for planning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.clicks.log import ClickLog
from rankwise.datasets.data import RankingData
from rankwise.prediction import scores as predict_scores
from rankwise.runtime.constraints import make_generator
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import check_choice
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Seed

UserName = Literal["pbm", "trust", "dbn"]

# Examination by place of a large web search engine, from a reproduction study of Baidu-ULTR; the
# last one counts for all places below.
EXAMINATION = (1.0, 0.674, 0.414, 0.293, 0.208, 0.171, 0.136, 0.117, 0.084, 0.058)
USERS: dict[str, dict[str, Any]] = {
    "pbm": {"examination": EXAMINATION},
    "trust": {"examination": EXAMINATION, "true_click": 0.98, "false_click": 0.4},
    "dbn": {"continuation": 0.9, "satisfaction": 0.7},
}


def attractiveness_of(y: ArrayLike, noise: float = 0.1) -> Float64Array:
    """Click probability of an examined row: ``noise + (1 - noise) (2^y - 1) / (2^max(y) - 1)``."""
    gain = np.exp2(np.asarray(y, dtype=np.float64)) - 1.0
    return noise + (1.0 - noise) * gain / max(gain.max(initial=0.0), 1.0)


@names_its_class
def simulate_clicks(
    data: RankingData,
    estimator: Any,
    user: UserName | Mapping[str, Any] = "pbm",
    *,
    n_sessions: int = 10_000,
    n_places: int = 10,
    noise: float = 0.1,
    temperature: float = 0.0,
    n_users: int | None = None,
    random_state: Seed = 0,
) -> ClickLog:
    """Show lists of a ranker to simulated users, and record their clicks.

    Parameters
    ----------
    data : RankingData
        Judged rows; grades give the click probability of examined documents, a = ``noise +
        (1 - noise) (2^y - 1) / (2^max(y) - 1)``. Rows without document ids are named by number.
    estimator : fitted ranker, or array-like of shape (n_samples,)
        System that logs: its scores order each list.
    user : {"pbm", "trust", "dbn"} or mapping
        Probability of a click on a document of attractiveness a at place k:

        - "pbm": g_k a, with ``examination`` g;
        - "trust": g_k (p a + f / k (1 - a)): users click on the top because it is the top [1]_;
          p is ``true_click``, f ``false_click``;
        - "dbn": users read downwards and click with probability a; after a click they are satisfied
          with probability ``satisfaction`` times a and stop; otherwise they go on with probability
          ``continuation`` [2]_.

        A mapping has the key "model" and any of these parameters.
    n_sessions : int >= 1
        Number of lists; queries are drawn with equal probability.
    n_places : int >= 1
        Largest length of a list.
    noise : float in [0, 1)
        Attractiveness of grade 0.
    temperature : float >= 0
        Variation of the lists: documents are drawn by a Plackett-Luce model on the scores, divided
        by this many standard deviations of the query's scores. 0: always the same list.
    n_users : int, optional
        Number of users, to whom sessions belong at random. None: one user per session.
    random_state : int, RandomState, Generator or None, default=0

    Returns
    -------
    ClickLog

    Raises
    ------
    ValueError
        If a parameter is out of range or unknown.

    References
    ----------
    .. [1] Agarwal et al., "Addressing trust bias for unbiased learning-to-rank", WWW 2019.
    .. [2] Chapelle and Zhang, "A dynamic Bayesian network click model for web search ranking",
       WWW 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankingData
    >>> from rankwise.clicks import simulate_clicks
    >>> data = RankingData(np.eye(4), np.array([0.0, 2, 1, 0]), qid=np.array([1, 1, 2, 2]))
    >>> simulate_clicks(data, [1.0, 0.0, 1.0, 0.0], n_sessions=100)
    ClickLog(200 impressions, 60 clicks, 100 lists, 2 queries, 4 pairs)
    """
    model, habits = _user(user)
    if n_sessions < 1 or n_places < 1 or not 0 <= temperature < np.inf or not 0 <= noise < 1:
        raise ValueError(
            "n_sessions and n_places must be >= 1, temperature >= 0 and noise in [0, 1), got "
            f"{n_sessions}, {n_places}, {temperature} and {noise}."
        )
    if n_users is not None and n_users < 1:
        raise ValueError(f"n_users must be >= 1, got {n_users}.")
    rng = make_generator(random_state)
    scores = (
        predict_scores(estimator, data.X, data.qid) if hasattr(estimator, "predict") else estimator
    )
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != (len(data),):
        raise ValueError(f"estimator must give {len(data)} scores, got shape {scores.shape}.")
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores)))
        raise ValueError(f"scores of the estimator must be finite, got {scores[row]} at row {row}.")
    row, session, place = _draw_lists(data, scores, n_sessions, n_places, temperature, rng)
    a = attractiveness_of(data.y, noise)[row]
    draws = rng.random((2, len(row)))
    if model == "dbn":
        click = _browse(a, session, place, habits, draws)
    else:
        chance = a
        if model == "trust":
            chance = habits["true_click"] * a + habits["false_click"] / place * (1 - a)
        click = draws[0] < examination_at(place, habits["examination"]) * chance
    documents = np.arange(len(data)) if data.doc_ids is None else data.doc_ids
    users = None if n_users is None else rng.integers(n_users, size=n_sessions)[session]
    return ClickLog.from_columns(
        data.qid[row], documents[row], place, click, session=session, user=users, first_place=1
    )


def _user(user: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Model and habits of a user."""
    given: dict[str, Any] = {"model": user} if isinstance(user, str) else dict(user)
    model: Any = given.pop("model", None)
    check_choice("user", model, USERS)
    unknown = sorted({*given} - {*USERS[model]})
    if unknown:
        raise ValueError(
            f"user {model!r} has no parameter {unknown[0]!r}; it has {', '.join(USERS[model])}."
        )
    habits: dict[str, Any] = USERS[model] | given
    for name, value in habits.items():
        if name == "examination":
            check_examination(value, most=1.0)
        elif not 0 <= value <= 1:
            raise ValueError(f"user: {name} must be in [0, 1], got {value!r}.")
    return model, habits


def check_examination(examination: ArrayLike, most: float = np.inf) -> None:
    """Raise ValueError unless there are examinations, from 0 to ``most``."""
    table = np.asarray(examination, dtype=np.float64)
    if table.ndim != 1 or not len(table):
        raise ValueError(
            f"examination must be one number per place, for one place or more, got {examination!r}."
        )
    bad = ~(np.isfinite(table) & (table >= 0) & (table <= most))
    if bad.any():
        rule = "finite and >= 0" if np.isinf(most) else f"in [0, {most:g}]"
        place = int(bad.argmax())
        raise ValueError(f"examination must be {rule}, got {table[place]} at place {place + 1}.")


def examination_at(place: NDArray[Any], examination: ArrayLike) -> Float64Array:
    """Examination of places from 1; the lowest given place counts for all below it."""
    table = np.asarray(examination, dtype=np.float64)
    return table[np.minimum(np.asarray(place) - 1, len(table) - 1)]


def _browse(
    a: Float64Array,
    session: Int64Array,
    place: Int64Array,
    habits: Mapping[str, Any],
    draws: Float64Array,
) -> NDArray[np.bool_]:
    """Clicks of users who read downwards, place by place."""
    reads = np.ones(session.max() + 1, dtype=bool)
    click = np.zeros(len(a), dtype=bool)
    for k in range(1, int(place.max()) + 1):
        rows = np.flatnonzero(place == k)
        click[rows] = reads[session[rows]] & (draws[0, rows] < a[rows])
        # One draw decides both: satisfied in its lowest part, bored in its highest.
        satisfied = click[rows] * habits["satisfaction"] * a[rows]
        goes_on = draws[1, rows] < (1 - satisfied) * habits["continuation"]
        reads[session[rows]] &= goes_on
    return click


def _draw_lists(
    data: RankingData,
    scores: Float64Array,
    n_sessions: int,
    n_places: int,
    temperature: float,
    rng: np.random.Generator,
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Row of the data, session and place of every impression."""
    groups = data.groups
    query = rng.integers(groups.n_queries, size=n_sessions)
    parts = []
    for q in np.unique(query):
        sessions, rows = np.flatnonzero(query == q), groups.rows([q])
        s = scores[rows]
        s = np.tile((s - s.mean()) / (s.std() or 1.0), (len(sessions), 1))
        if temperature:
            s = s / temperature + rng.gumbel(size=s.shape)
        shown = np.argsort(-s, axis=1, kind="stable")[:, :n_places]
        places = np.tile(np.arange(1, shown.shape[1] + 1), len(sessions))
        parts.append((rows[shown].ravel(), np.repeat(sessions, shown.shape[1]), places))
    row, session, place = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((place, session))
    return row[order], session[order], place[order]
