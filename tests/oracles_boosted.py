"""Growth of a gradient tree by hand: every split of every column, sums of floats."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(eq=False)
class Node:
    """A node of the tree by hand."""

    rows: np.ndarray
    depth: int
    low: float = -np.inf
    high: float = np.inf
    path: frozenset = frozenset()
    question: tuple | None = None  # column, cut, whether missing values go left
    gain: float = 0.0
    children: list[Node] = field(default_factory=list)


class TreeByHand:
    """Grows a tree as :class:`rankwise.trees.boosted.growing_tree.TreeGrower` should."""

    def __init__(self, X, g, h, rules, nominal=()):
        self.nominal = nominal
        self.X, self.g, self.h, self.rules = X, g, h, rules
        self.reg_lambda = rules.reg_lambda + rules.relative_lambda * h.sum()
        self.cat_l2 = rules.cat_l2 + rules.relative_cat_l2 * h.sum()
        self.root = Node(np.arange(len(X)), 0)
        if rules.growth == "symmetric":
            self._grow_levels()
        else:
            self._grow_leaves()

    def penalty(self, column):
        """Further L2 penalty of splits by a column."""
        values = self.X[:, column]
        n_categories = len(np.unique(values[~np.isnan(values)])) if column in self.nominal else 0
        return self.cat_l2 if n_categories > 4 else 0.0

    def values(self, g, h, node, more=0.0):
        """Values of leaves with these sums of gradients and of Hessians; ``more`` L2 penalty."""
        pull = np.sign(g) * np.maximum(np.abs(g) - self.rules.reg_alpha, 0)
        return np.clip(-pull / (h + self.reg_lambda + more), node.low, node.high)

    def value(self, rows, node):
        return self.values(self.g[rows].sum(), self.h[rows].sum(), node)

    def worth(self, g, h, node, more=0.0):
        """Twice what the value lowers the second-order model and its penalties."""
        v, penalty = self.values(g, h, node, more), self.reg_lambda + more
        return -2 * (g * v + (h + penalty) * v**2 / 2 + self.rules.reg_alpha * np.abs(v))

    def left(self, question, rows):
        column, cut, missing_left = question
        values = self.X[rows, column]
        if column in self.nominal:
            return np.where(np.isnan(values), missing_left, np.isin(values, list(cut)))
        return np.where(np.isnan(values), missing_left, values <= cut)

    def questions(self, rows, column):
        values = self.X[rows, column]
        if column in self.nominal:
            cuts = self.subsets(rows, values, self.reg_lambda + self.penalty(column))
        else:
            cuts = [*np.unique(values[~np.isnan(values)]), np.inf]
        return [(column, cut, side) for cut in cuts for side in (False, True)]

    def subsets(self, rows, values, penalty):
        """All subsets of categories; with penalties those in the order of mean gradients."""
        present = np.unique(values[~np.isnan(values)])
        n, most = len(present), self.rules.max_cat_threshold
        if penalty == 0 and self.rules.growth != "symmetric":
            sets = [[number >> i & 1 == 1 for i in range(n)] for number in range(1, 2**n)]
        else:
            mean = [
                self.g[mine].sum() / (self.h[mine].sum() + penalty)
                for mine in (rows[values == category] for category in present)
            ]
            ranks = np.argsort(np.argsort(mean))
            sets = [ranks < size for size in range(1, n + 1)]
        for chosen in sets:
            if min(sum(chosen), n - sum(chosen)) <= most:
                yield frozenset(present[chosen])

    def gains(self, questions, node):
        """What a split by each question about a column gains; NaN where a child is too small."""
        left = np.array([self.left(question, node.rows) for question in questions])
        g, h, r = self.g[node.rows], self.h[node.rows], self.rules
        sums = [(side @ g, side @ h, side.sum(axis=1)) for side in (left, ~left)]
        least = max((r.min_samples_leaf - 0.5) * h.sum() / len(h), r.min_hessian_leaf)
        sign = r.signs[questions[0][0]] if r.signs else 0
        with np.errstate(divide="ignore", invalid="ignore"):  # a side without rows
            more = self.penalty(questions[0][0])
            low, high = (self.values(*side[:2], node, more) for side in sums)
            of_sides = sum(self.worth(*side[:2], node, more) for side in sums)
        found = of_sides - self.worth(g.sum(), h.sum(), node)
        found[sign * (high - low) < 0] = 0.0
        for _, hessian, n in sums:
            found[(n == 0) | (hessian < least * (1 - 1e-9))] = np.nan
        if r.max_depth is not None and node.depth >= r.max_depth:
            found[:] = np.nan
        return found

    def gain(self, question, node):
        """What a split gains; NaN where a child would be too small."""
        return self.gains([question], node)[0]

    def may_ask(self, column, node):
        """Whether a group holds the question's column and those on the path."""
        groups, path = self.rules.groups, node.path | {column}
        return groups is None or any(path <= group for group in groups)

    def best(self, nodes):
        """Question of the largest sum of gains, and that sum."""
        best, found = max(self.rules.min_split_gain, 1e-9), None
        for column in range(self.X.shape[1]):
            if not self.may_ask(column, nodes[0]):
                continue
            questions = self.questions(np.concatenate([node.rows for node in nodes]), column)
            if not questions:
                continue
            totals = np.nansum([self.gains(questions, node) for node in nodes], axis=0)
            for question, total in zip(questions, totals, strict=True):
                if total > best + 1e-9:
                    best, found = total, question
        return found, best

    def split(self, node, question):
        left = self.left(question, node.rows)
        node.question, node.gain = question, self.gain(question, node)
        node.children = [
            Node(node.rows[side], node.depth + 1, node.low, node.high, node.path | {question[0]})
            for side in (left, ~left)
        ]
        sign = self.rules.signs[question[0]] if self.rules.signs else 0
        low, high = (self.value(child.rows, node) for child in node.children)
        middle = (low + high) / 2 if sign * (high - low) >= 0 else self.value(node.rows, node)
        if sign:
            first, last = node.children[::sign]
            first.high = last.low = middle
        return node.children

    def _grow_leaves(self):
        waiting = [(self.root, *self.best([self.root]))]
        for _ in range(self.rules.max_leaf_nodes - 1):
            able = [item for item in waiting if item[1] is not None]
            if not able:
                return
            if self.rules.growth == "depth":
                lowest = min(item[0].depth for item in able)
                able = [item for item in able if item[0].depth == lowest]
            chosen = max(able, key=lambda item: item[2])
            waiting.remove(chosen)
            waiting += [(child, *self.best([child])) for child in self.split(*chosen[:2])]

    def _grow_levels(self):
        level, n_ends = [self.root], 0
        while n_ends + 2 * len(level) <= self.rules.max_leaf_nodes:
            question, _ = self.best(level)
            if question is None:
                return
            able = [node for node in level if not np.isnan(self.gain(question, node))]
            n_ends += len(level) - len(able)
            level = [child for node in able for child in self.split(node, question)]

    def leaves(self, node=None):
        """Leaves, left to right."""
        node = node or self.root
        if not node.children:
            return [node]
        return [leaf for child in node.children for leaf in self.leaves(child)]

    def scores(self):
        """Value of the leaf of every row."""
        out = np.empty(len(self.X))
        for leaf in self.leaves():
            out[leaf.rows] = self.value(leaf.rows, leaf)
        return out
