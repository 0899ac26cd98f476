"""Features of items, of users, and of user-item pairs, from ratings by groups of users."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rankwise.datasets.ratings_task.context import (
    CELL_PRIOR,
    OWN_PRIOR,
    Context,
    SideTables,
    plain_mean,
    shrunk_mean,
)
from rankwise.typing import Float64Array, Int64Array

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
            yield f"flags residual by {name}", _flags_mean(context, tables, codes, users, items)


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


def _flags_mean(
    context: Context, tables: SideTables, codes: Int64Array, users: Int64Array, items: Int64Array
) -> Float64Array:
    assert tables.flags is not None
    sums, counts = _sum_by_flag(context, tables.flags, codes)
    flags = tables.flags[items]
    means = sums / (counts + CELL_PRIOR)
    return (means[codes[users]] * flags).sum(axis=1) / np.maximum(flags.sum(axis=1), 1)


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
