"""Likelihoods and covariances in plain loops, as their definitions say."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import minimize


def logistic(z):
    return 1.0 / (1.0 + math.exp(-z))


def probabilities(model, eta, tie):
    """Of a win of the first item, a tie, and a win of the second."""
    if model == "davidson":
        terms = [math.exp(eta / 2), math.exp(tie), math.exp(-eta / 2)]
        return [term / sum(terms) for term in terms]
    if model == "rao_kupper":
        # Rao and Kupper's own form, with pi = exp(strength) and theta = exp(tie).
        worth, theta = math.exp(eta), math.exp(tie)
        first, second = worth / (worth + theta), 1.0 / (1.0 + theta * worth)
        return [first, 1.0 - first - second, second]
    first = logistic(eta)
    return [first, math.sqrt(first * (1 - first)), 1 - first]  # half of each log-probability


def pair_loss(theta, games, n_items, model, order, has_tie):
    """Negative log-likelihood of games (first, second, outcome, weight, covariates)."""
    total = 0.0
    for first, second, outcome, weight, z in games:
        effects = list(theta[n_items:])
        eta = theta[first] - theta[second]
        if order:
            eta += effects.pop(0)
        tie = effects.pop() if has_tie else 0.0
        eta += sum(slope * value for slope, value in zip(effects, z, strict=True))
        total -= weight * math.log(probabilities(model, eta, tie)[outcome])
    return total


def minimise(loss, start, n_items, alpha):
    """Minimiser with strengths of mean 0, found without derivatives of ours."""

    def objective(theta):
        strengths = theta[:n_items]
        penalty = 0.5 * alpha * strengths @ strengths
        return loss(theta) + penalty + 0.5 * strengths.sum() ** 2

    found = minimize(objective, start, method="BFGS", options={"gtol": 1e-9, "maxiter": 2000})
    return found.x


def second_derivatives(function, theta, h=1e-4):
    """Central differences."""
    n = len(theta)
    hessian = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            e, f = np.eye(n)[i] * h, np.eye(n)[j] * h
            hessian[i, j] = (
                function(theta + e + f) - function(theta + e - f)
                - function(theta - e + f) + function(theta - e - f)
            ) / (4 * h * h)  # fmt: skip
    return hessian


def first_derivatives(function, theta, h=1e-6):
    """Central differences."""
    steps = np.eye(len(theta)) * h
    return np.array([(function(theta + e) - function(theta - e)) / (2 * h) for e in steps])


def invert_centred(hessian, n_items):
    """Inverse among parameters whose strengths have mean 0."""
    n = len(hessian)
    basis = np.linalg.qr(np.eye(n_items) - 1.0 / n_items)[0][:, : n_items - 1]
    full = np.zeros((n, n - 1))
    full[:n_items, : n_items - 1] = basis
    full[n_items:, n_items - 1 :] = np.eye(n - n_items)
    return full @ np.linalg.inv(full.T @ hessian @ full) @ full.T


def cluster_middle(gradients, clusters):
    """Sum over clusters of the outer products of summed gradients, times G / (G - 1)."""
    names = set(clusters)
    total = 0.0
    for name in names:
        g = sum(g for g, c in zip(gradients, clusters, strict=True) if c == name)
        total = total + np.outer(g, g)
    return total * len(names) / (len(names) - 1)


def rank_bounds(estimates, covariance, critical, floor=None):
    """Ranks allowed by pairwise comparisons, item by item."""
    bounds = []
    for i in range(len(estimates)):
        better = worse = 0
        for j in range(len(estimates)):
            variance = max(
                c[i, i] + c[j, j] - 2 * c[i, j] for c in (covariance, floor) if c is not None
            )
            if i == j or variance <= 0:
                continue
            t = (estimates[j] - estimates[i]) / math.sqrt(variance)
            better += t > critical
            worse += t < -critical
        bounds.append((1 + better, len(estimates) - worse))
    return bounds


def order_loss(theta, orders, n_items, tie_sizes, everyone=()):
    """Negative log-likelihood of orders (groups, weight), from a list of all possible choices.

    ``everyone`` are items that are alternatives in every order.
    """
    delta = {1: 0.0} | dict(zip(tie_sizes, theta[n_items:], strict=True))
    total = 0.0
    for groups, weight in orders:
        left = {*everyone, *(item for group in groups for item in group)}
        for group in groups:
            if len(left) == 1:
                break
            terms = {
                chosen: delta[k] + sum(theta[item] for item in chosen) / k
                for k in delta
                for chosen in itertools.combinations(sorted(left), k)
            }
            log_sum = math.log(sum(math.exp(term) for term in terms.values()))
            total -= weight * (terms[tuple(sorted(group))] - log_sum)
            left -= {*group}
    return total


def effective_clusters(occurrences, n_items):
    """Mean over items of ``(sum n_c^2)^2 / sum n_c^4``, from (cluster, item, weight)."""
    found = []
    for item in range(n_items):
        sizes = {}
        for cluster, other, weight in occurrences:
            if other == item:
                sizes[cluster] = sizes.get(cluster, 0) + weight
        squares = [size**2 for size in sizes.values()]
        found.append(sum(squares) ** 2 / sum(square**2 for square in squares))
    return sum(found) / n_items
