"""Features of items, of users, and of user-item pairs, from ratings by groups of users.

Ratings and users are split by hashes of their ids. Residuals are predicted by similar items and
users, and by factors: alternating least squares [1]_ and truncated SVD.

References
----------
.. [1] Zhou, Wilkinson, Schreiber & Pan, "Large-scale parallel collaborative filtering for the
   Netflix prize", AAIM 2008: a penalty times the number of ratings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import svds

from rankwise.datasets.catalog.ratings import Ratings
from rankwise.row_order import scramble
from rankwise.typing import Float64Array, Int64Array

# Numbers of zero ratings added to a mean: of an item, a user, a cell of users, user and flag.
ITEM_PRIOR, USER_PRIOR, CELL_PRIOR, OWN_PRIOR = 25.0, 10.0, 10.0, 5.0


@dataclass(frozen=True, eq=False)
class SideTables:
    """Side information about users and items; None if there is none.

    Attributes
    ----------
    gender, occupation : ndarray of shape (n_users,), int64, or None
        Codes from 0.
    age : ndarray of shape (n_users,), or None
    year : ndarray of shape (n_items,), or None
        Years; finite.
    flags : ndarray of shape (n_items, n_flags), bool, or None
        Properties of items, such as genres.
    flag_names : tuple of str
    """

    gender: Int64Array | None = None
    age: Float64Array | None = None
    occupation: Int64Array | None = None
    year: Float64Array | None = None
    flags: NDArray[np.bool_] | None = None
    flag_names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        known = [name for name, value in vars(self).items() if value is not None]
        return f"SideTables({', '.join(known)})"


@dataclass(frozen=True, eq=False)
class Context:
    """Ratings (n_ratings,) that describe users and items."""

    users: Int64Array
    items: Int64Array
    values: Float64Array
    n_users: int
    n_items: int
    scale: tuple[float, float]
    mean: float = field(init=False)
    item_bias: Float64Array = field(init=False)
    user_bias: Float64Array = field(init=False)
    residuals: Float64Array = field(init=False)

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        put("mean", float(self.values.mean()))
        above = self.values - self.mean
        put("item_bias", shrunk_mean(self.items, above, self.n_items, ITEM_PRIOR))
        above = above - self.item_bias[self.items]
        put("user_bias", shrunk_mean(self.users, above, self.n_users, USER_PRIOR))
        put("residuals", above - self.user_bias[self.users])

    def matrix(self, values: Any) -> Any:
        """Sparse matrix of one number per rating, shape (n_users, n_items)."""
        shape = (self.n_users, self.n_items)
        return sparse.csr_array((values, (self.users, self.items)), shape=shape)

    def baseline(self, users: Int64Array, items: Int64Array) -> Float64Array:
        """Sum of the mean and the biases for pairs."""
        return self.mean + self.user_bias[users] + self.item_bias[items]

    @property
    def item_counts(self) -> Float64Array:
        """Number of ratings of every item."""
        return np.bincount(self.items, minlength=self.n_items).astype(np.float64)

    @property
    def user_counts(self) -> Float64Array:
        """Number of ratings of every user."""
        return np.bincount(self.users, minlength=self.n_users).astype(np.float64)


def shrunk_mean(keys: Int64Array, values: Float64Array, n_keys: int, prior: float) -> Float64Array:
    """Mean of the values of each key with ``prior`` additional zeros."""
    sums = np.bincount(keys, values, n_keys)
    return sums / (np.bincount(keys, minlength=n_keys) + prior)


def plain_mean(
    keys: Int64Array, values: Float64Array, n_keys: int, otherwise: float
) -> Float64Array:
    """Mean of the values of each key; ``otherwise`` for keys without values."""
    counts = np.bincount(keys, minlength=n_keys)
    sums = np.bincount(keys, values, n_keys)
    return np.where(counts > 0, sums / np.maximum(counts, 1), otherwise)


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ITEMS, _OTHER_STREAM = np.uint64(65536), np.uint64(10**6)
_PARTS = np.uint64(1000)
_TRAIN, _VALIDATION = 600, 800


def splitmix64(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """First output of the generator splitmix64 for each seed."""
    return scramble(numbers.astype(np.uint64) + _GOLDEN)


def context_mask(ratings: Ratings) -> NDArray[np.bool_]:
    """Mask of the context ratings: the first half of each user's ratings by hash, rounded up.

    The other ratings are to be ranked. Ids that are not whole numbers are replaced by their
    positions.
    """
    users = np.repeat(np.arange(ratings.n_users), ratings.counts)
    keys = splitmix64(_numbers(ratings.user_ids)[users] * _ITEMS
                      + _numbers(ratings.item_ids)[ratings.items])  # fmt: skip
    order = np.lexsort((keys, users))
    place = np.empty(len(keys), dtype=np.int64)
    place[order] = np.arange(len(keys)) - np.repeat(ratings.indptr[:-1], ratings.counts)
    return place < ((ratings.counts + 1) // 2)[users]


def part_of_users(ratings: Ratings) -> Int64Array:
    """Part of every user: 0 for training (60 %), 1 for validation (20 %), 2 for test (20 %)."""
    drawn = splitmix64(_numbers(ratings.user_ids) + _OTHER_STREAM) % _PARTS
    return np.searchsorted([_TRAIN, _VALIDATION], drawn.astype(np.int64), side="right")


def _numbers(ids: NDArray[Any]) -> NDArray[np.uint64]:
    if ids.dtype.kind in "iu" and (ids >= 0).all():
        return ids.astype(np.uint64)
    return np.arange(len(ids), dtype=np.uint64)


N_NEIGHBOURS, _COMMON, _WEIGHT_PRIOR = 40, 20.0, 1.0
_BLOCK = 1024


def neighbour_columns(
    context: Context, users: Int64Array, items: Int64Array
) -> Iterator[tuple[str, Float64Array]]:
    """Yield (name, one number per pair), from similar items of the user and from similar users.

    Similarity is the cosine of the residuals, or of the sets of raters, times n / (n + 20) for n
    common ratings. Only the 40 largest similarities of each row are used. Predictions are sums of
    similarity times residual, divided by 1 plus the sum of similarities.
    """
    residuals = context.matrix(context.residuals)
    rated = context.matrix(np.ones(len(context.residuals)))
    by_residuals = similar(sparse.csr_array(residuals.T), sparse.csr_array(rated.T))
    by_raters = similar(sparse.csr_array(rated.T), sparse.csr_array(rated.T))
    for name, like in (("items", by_residuals), ("co-rated items", by_raters)):
        turned = sparse.csr_array(like.T)
        sums = _evaluate_pairs(residuals @ turned, users, items)
        weights = _evaluate_pairs(rated @ turned, users, items)
        yield f"{name} prediction", sums / (weights + _WEIGHT_PRIOR)
        yield f"{name} weight", weights
    turned = sparse.csr_array(by_raters.T)
    liked = context.matrix((context.residuals > 0).astype(np.float64))
    yield "liked items weight", _evaluate_pairs(liked @ turned, users, items)
    yield "disliked items weight", _evaluate_pairs((rated - liked) @ turned, users, items)
    like = similar(residuals, rated)
    sums, weights = (
        _evaluate_pairs(like @ residuals, users, items),
        _evaluate_pairs(like @ rated, users, items),
    )
    yield "users prediction", sums / (weights + _WEIGHT_PRIOR)
    yield "users weight", weights
    yield "users liked weight", _evaluate_pairs(like @ liked, users, items)


def weight_columns(
    context: Context, users: Int64Array, items: Int64Array
) -> Iterator[tuple[str, Float64Array]]:
    """Yield (name, one number per pair): similarities of what users have seen, without ratings."""
    seen = context.matrix(np.ones(len(context.items)))
    by_users = sparse.csr_array(seen.T)
    like_items = sparse.csr_array(similar(by_users, by_users).T)
    yield "co-seen items weight", _evaluate_pairs(seen @ like_items, users, items)
    yield "similar users weight", _evaluate_pairs(similar(seen, seen) @ seen, users, items)


def similar(values: Any, rated: Any) -> Any:
    """Largest positive similarities of every row with other rows, as CSR of shape (n_rows, n_rows).

    ``values`` are the numbers to compare and ``rated`` has 1 for every stored number, both CSR of
    shape (n_rows, n_columns).
    """
    norms = np.sqrt(np.asarray(values.power(2).sum(axis=1)).ravel())
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    unit = sparse.csr_array(values.multiply(inverse[:, None]))
    unit_t, rated_t = sparse.csr_array(unit.T), sparse.csr_array(rated.T)
    rows, columns, kept = [], [], []
    for start in range(0, values.shape[0], _BLOCK):
        block = slice(start, start + _BLOCK)
        cosine = (unit[block] @ unit_t).toarray()
        common = (rated[block] @ rated_t).toarray()
        found = cosine * common / (common + _COMMON)
        n = len(found)
        found[np.arange(n), np.arange(start, start + n)] = 0.0
        k = min(N_NEIGHBOURS, found.shape[1] - 1)
        best = np.argpartition(-found, k, axis=1)[:, :k]
        value = np.take_along_axis(found, best, axis=1)
        positive = value > 0
        rows.append(np.repeat(np.arange(start, start + n), positive.sum(axis=1)))
        columns.append(best[positive])
        kept.append(value[positive])
    n = values.shape[0]
    entries = np.concatenate(kept), (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array(entries, shape=(n, n))


def _evaluate_pairs(matrix: Any, users: Int64Array, items: Int64Array) -> Float64Array:
    """Entries of a matrix at pairs, computed for blocks of users."""
    out = np.empty(len(users))
    order = np.argsort(users, kind="stable")
    for start in range(0, matrix.shape[0], _BLOCK):
        low, high = np.searchsorted(users[order], [start, start + _BLOCK])
        pairs = order[low:high]
        block = matrix[start : start + _BLOCK].toarray()
        out[pairs] = block[users[pairs] - start, items[pairs]]
    return out


SINGULAR_RANK = 20
PENALTIES = (0.05, 0.1, 0.2)
_ROUNDS, _ROUNDS_TRIED = 8, 4
_HELD_OUT = 10  # every tenth rating chooses the penalty
Factors = tuple[Float64Array, Float64Array]


def choose_penalty(context: Context, rank: int, penalties: Sequence[float] = PENALTIES) -> float:
    """Choose the penalty with the least squared error on a tenth of the context ratings."""
    keys = splitmix64(context.users * context.n_items + context.items)
    held = keys % np.uint64(_HELD_OUT) == 0
    if not held.any() or held.all():  # so few ratings that none can choose
        return penalties[len(penalties) // 2]
    kept = Context(
        context.users[~held], context.items[~held], context.values[~held], context.n_users,
        context.n_items, context.scale,
    )  # fmt: skip
    users, items = context.users[held], context.items[held]
    rest = context.values[held] - kept.baseline(users, items)
    errors = []
    for penalty in penalties:
        P, Q = fit_factors(kept, rank, penalty, _ROUNDS_TRIED)
        errors.append(float(((rest - (P[users] * Q[items]).sum(axis=1)) ** 2).mean()))
    return penalties[int(np.argmin(errors))]


def fit_factors(context: Context, rank: int, penalty: float, n_rounds: int = _ROUNDS) -> Factors:
    """Factors P of users and Q of items, of shapes (n_users, rank) and (n_items, rank).

    They minimise, over ratings with residuals r,
    ``sum (r - p_u q_i)^2 + penalty (sum_u n_u |p_u|^2 + sum_i n_i |q_i|^2)``.
    """
    residuals: Any = context.matrix(context.residuals.astype(np.float32))
    rated = context.matrix(np.ones(len(context.residuals), dtype=np.float32))
    Q = np.random.RandomState(0).normal(size=(context.n_items, rank)) / np.sqrt(rank)
    P = np.zeros((context.n_users, rank))
    by_item: Any = sparse.csr_array(residuals.T)
    rated_by: Any = sparse.csr_array(rated.T)
    for _ in range(n_rounds):
        P = _solve_rows(residuals, rated, Q, penalty)
        Q = _solve_rows(by_item, rated_by, P, penalty)
    return P, Q


def rotate_factors(factors: Factors) -> Factors:
    """Rotate factors without changing the products of pairs, so that the largest comes first.

    The shapes are kept; zeros are added if there are fewer users or items than factors.
    """
    (left, upper), (right, lower) = (np.linalg.qr(matrix) for matrix in factors)
    U, S, Vt = np.linalg.svd(upper @ lower.T, full_matrices=False)
    found = left @ U * np.sqrt(S), right @ Vt.T * np.sqrt(S)
    missing = factors[0].shape[1] - len(S)
    return np.pad(found[0], ((0, 0), (0, missing))), np.pad(found[1], ((0, 0), (0, missing)))


def singular(matrix: Any) -> Factors:
    """Factors of the best low-rank approximation of a matrix, including its zeros."""
    rank = min(SINGULAR_RANK, min(matrix.shape) - 1)
    if rank < 1 or not matrix.data.any():  # ARPACK takes neither
        return np.zeros((matrix.shape[0], 1)), np.zeros((matrix.shape[1], 1))
    start = np.random.RandomState(0).normal(size=min(matrix.shape))
    found: Any = svds(matrix.astype(np.float64), k=rank, v0=start)
    U, S, Vt = found
    return U * np.sqrt(S), Vt.T * np.sqrt(S)


def products(factors: Factors, users: Int64Array, items: Int64Array) -> Float64Array:
    """Products of the factors of pairs, shape (n_pairs, rank); their sum is the prediction."""
    P, Q = factors
    return P[users] * Q[items]


def _solve_rows(targets: Any, rated: Any, Q: Float64Array, penalty: float) -> Float64Array:
    """Solve least squares for every row, with normal equations from one matrix product."""
    rank = Q.shape[1]
    first, second = np.triu_indices(rank)
    outer = (Q[:, first] * Q[:, second]).astype(np.float32)
    upper = rated @ outer
    grams = np.empty((rated.shape[0], rank, rank))
    grams[:, first, second] = upper
    grams[:, second, first] = upper
    counts = np.diff(rated.indptr)
    diagonal = np.arange(rank)
    grams[:, diagonal, diagonal] += penalty * np.maximum(counts, 1)[:, None]
    sums = (targets @ Q.astype(np.float32)).astype(np.float64)
    return np.linalg.solve(grams, sums[:, :, None])[:, :, 0]


Columns = Iterator[tuple[str, Float64Array]]
_SLOPE_PRIOR = 10.0


def item_columns(context: Context, tables: SideTables) -> Columns:
    """Yield (name, one number per item)."""
    counts, items, n = context.item_counts, context.items, context.n_items
    yield "item mean", context.mean + context.item_bias
    yield "item log count", np.log1p(counts)
    squares = (context.values - context.mean - context.item_bias[items]) ** 2
    yield "item variance", plain_mean(items, squares, n, float(squares.mean()))
    low, high = context.scale
    # The share of the middle of the scale follows from the other shares.
    for step in (0, 1, 3, 4):
        at = low + step * (high - low) / 4
        near = np.abs(context.values - at) <= (high - low) / 8
        yield f"item share {at:g}", plain_mean(items, near.astype(float), n, float(near.mean()))
    generous = context.user_bias[context.users]
    above = context.values - context.mean - generous
    yield "item bias", shrunk_mean(items, above, n, CELL_PRIOR)
    if tables.year is not None:
        yield "item year", tables.year
    if tables.flags is not None:
        yield "item flags", tables.flags.sum(axis=1).astype(np.float64)
        for number, name in enumerate(tables.flag_names):
            yield f"item {name}", tables.flags[:, number].astype(np.float64)
    if tables.gender is not None:
        first = (tables.gender[context.users] == 0).astype(float)
        yield "raters gender 0", plain_mean(items, first, n, float(first.mean()))
    if tables.age is not None:
        ages = tables.age[context.users]
        yield "raters age", plain_mean(items, ages, n, float(ages.mean()))
    yield "raters generosity", plain_mean(items, generous, n, 0.0)
    active = np.log1p(context.user_counts)[context.users]
    yield "raters activity", plain_mean(items, active, n, float(active.mean()))


def user_columns(context: Context, tables: SideTables) -> Columns:
    """Yield (name, one number per user)."""
    yield "user bias", context.user_bias
    yield "user log count", np.log1p(context.user_counts)
    mean = plain_mean(context.users, context.values, context.n_users, context.mean)
    yield "user mean", mean
    squares = (context.values - mean[context.users]) ** 2
    yield "user sd", np.sqrt(plain_mean(context.users, squares, context.n_users, 0.0))
    for name, column in (
        ("gender", tables.gender), ("age", tables.age), ("occupation", tables.occupation),
    ):  # fmt: skip
        if column is not None:
            yield f"user {name}", column.astype(np.float64)


def group_columns(
    context: Context, tables: SideTables, users: Int64Array, items: Int64Array
) -> Columns:
    """Yield (name, one number per pair): residuals of the user's groups for item and kind."""
    groups: dict[str, Int64Array] = {}
    if tables.gender is not None:
        groups["gender"] = tables.gender
    if tables.age is not None:
        groups["age"] = np.unique(tables.age, return_inverse=True)[1]
    if tables.occupation is not None:
        groups["occupation"] = tables.occupation
    if "gender" in groups and "age" in groups:
        groups["cell"] = groups["gender"] * (groups["age"].max() + 1) + groups["age"]
    n = context.n_items
    for name, codes in groups.items():
        means = shrunk_mean(
            codes[context.users] * n + context.items, context.residuals,
            (int(codes.max()) + 1) * n, CELL_PRIOR,
        )  # fmt: skip
        yield f"item residual by {name}", means[codes[users] * n + items]
    if "cell" in groups:
        yield "item lift in cell", _lift(context, groups["cell"], users, items)
    if tables.flags is not None:
        for name, codes in groups.items():
            sums, counts = _sum_by_flag(context, tables.flags, codes)
            flags = tables.flags[items]
            means = (sums / (counts + CELL_PRIOR))[codes[users]]
            mean = (means * flags).sum(axis=1) / np.maximum(flags.sum(axis=1), 1)
            yield f"flags residual by {name}", mean


def own_columns(
    context: Context, tables: SideTables, users: Int64Array, items: Int64Array
) -> Columns:
    """Yield (name, one number per pair): the user's own context ratings of similar items."""
    everyone = np.arange(context.n_users)
    if tables.flags is not None:
        sums, counts = _sum_by_flag(context, tables.flags, everyone)
        means, shares = sums / (counts + OWN_PRIOR), counts / context.user_counts[:, None]
        flags = tables.flags[items]
        some = flags.any(axis=1)
        n_flags = np.maximum(flags.sum(axis=1), 1)
        yield "user flags residual mean", (means[users] * flags).sum(axis=1) / n_flags
        yield "user flags residual max", _reduce_flags(np.max, means[users], flags, some, -np.inf)
        yield "user flags residual min", _reduce_flags(np.min, means[users], flags, some, np.inf)
        yield "user flags share mean", (shares[users] * flags).sum(axis=1) / n_flags
        yield "user flags share max", _reduce_flags(np.max, shares[users], flags, some, -np.inf)
    if tables.year is not None:
        decade = (tables.year // 10 - tables.year.min() // 10).astype(np.int64)
        n = int(decade.max()) + 1
        key, at = context.users * n + decade[context.items], users * n + decade[items]
        yield (
            "user decade residual",
            shrunk_mean(key, context.residuals, context.n_users * n, OWN_PRIOR)[at],
        )
        own = np.bincount(key, minlength=context.n_users * n)[at]
        yield "user decade share", own / context.user_counts[users]
        liked = context.residuals > 0
        overall = float(tables.year[context.items].mean())
        year = plain_mean(
            context.users[liked], tables.year[context.items[liked]], context.n_users, overall
        )
        yield "year after liked", tables.year[items] - year[users]
        yield "year from liked", np.abs(tables.year[items] - year[users])
    described = {"popularity": np.log1p(context.item_counts), "bias": context.item_bias}
    if tables.year is not None:
        described["year"] = tables.year
    for name, column in described.items():
        x = (column - column[context.items].mean()) / (column[context.items].std() or 1.0)
        values = x[context.items]
        products = np.bincount(context.users, values * context.residuals, context.n_users)
        squares = np.bincount(context.users, values**2, context.n_users)
        yield f"user slope on {name}", (products / (squares + _SLOPE_PRIOR))[users] * x[items]
    yield "baseline", context.baseline(users, items)


def _sum_by_flag(
    context: Context, flags: Any, codes: Int64Array
) -> tuple[Float64Array, Float64Array]:
    """Sums of residuals and counts by group of users and flag, shape (n_groups, n_flags)."""
    n = int(codes.max()) + 1
    rated_flags = flags[context.items]
    group = codes[context.users]
    columns = [
        (np.bincount(group[has], context.residuals[has], n), np.bincount(group[has], minlength=n))
        for has in rated_flags.T
    ]
    sums, counts = zip(*columns, strict=True)
    return np.stack(sums, axis=1), np.stack(counts, axis=1).astype(np.float64)


def _lift(
    context: Context, cells: Int64Array, users: Int64Array, items: Int64Array
) -> Float64Array:
    """Logarithm of the item's share of a cell's ratings divided by its share of all ratings."""
    n, size = context.n_items, int(cells.max()) + 1
    own = np.bincount(cells[context.users] * n + context.items, minlength=size * n)
    totals = np.bincount(cells[context.users], minlength=size).astype(np.float64)
    expected = totals[cells[users]] * context.item_counts[items] / len(context.values)
    return np.log((own[cells[users] * n + items] + 1.0) / (expected + 1.0))


def _reduce_flags(reduce: Any, values: Any, flags: Any, some: Any, empty: float) -> Float64Array:
    """Reduction over the flags of each pair; 0 without flags."""
    found = reduce(np.where(flags, values, empty), axis=1)
    return np.where(some, found, 0.0)
