"""Check of an object: its attributes against the rules of its class, and their relations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any

import numpy as np

from rankwise.structure.rules.scope import Found, Rule, Scope, StructureError, violation


@cache
def structure_of(cls: type) -> Mapping[str, Rule]:
    """Rules of a class and its bases; empty if none are declared."""
    rules: dict[str, Rule] = {}
    for base in reversed(cls.__mro__):
        rules |= vars(base).get("_structure", {})
    return rules


def forget(model: Any) -> None:
    """Remove the fitted attributes of the class: a fit learns nothing from the one before it."""
    for name in structure_of(type(model)).keys() & vars(model).keys():
        delattr(model, name)


def check_attributes(
    obj: Any,
    state: Mapping[str, Any],
    where: str,
    scope: Scope,
    *,
    complete: bool,
    own: Collection[str] = (),
) -> Found:
    """Check the declared attributes of an object.

    Parameters
    ----------
    obj : object
    state : dict
        Attributes of the object, not necessarily those of ``vars(obj)``.
    where : str
        Name of the object in messages.
    scope : Scope
        Scope of the object.
    complete : bool
        Whether all attributes not declared as ``Sometimes`` must be present.
    own : collection of str
        Names of attributes that need no rule, such as parameters. Others may not replace a method
        or another attribute of the class.

    Yields
    ------
    (str, object)
        Parts with their own rules, and their locations.

    Raises
    ------
    StructureError
    """
    rules, lacking = structure_of(type(obj)), False
    # Arrays and numbers bind the symbols that the parts refer to.
    for name, rule in sorted(rules.items(), key=lambda item: item[1].holds_parts):
        if name in state:
            yield from rule.check(state[name], f"{where}.{name}", scope)
        elif rule.may_lack:
            continue
        elif complete:
            raise StructureError(f"{where} must have the attribute {name}, got none")
        else:
            lacking = True
    for name in state:
        if name not in rules and name not in own and hasattr(type(obj), name):
            raise StructureError(f"{where}.{name} must not be replaced in an object, got a value")
    relations: Callable[[], None] | None = getattr(obj, "_check_structure", None)
    if relations is not None and not lacking:
        try:
            relations()
        except StructureError as error:
            raise StructureError(f"{where}.{error}") from None
        except ValueError as error:
            raise StructureError(f"{where}: {error}") from None


def check_children(
    feature: Any, left: Any, right: Any, name: str = "feature", names: str = "left and right"
) -> None:
    """Raise if the nodes do not form a tree.

    Parameters
    ----------
    feature : ndarray of shape (n_nodes,)
        Negative at leaves.
    left, right : ndarray of shape (n_nodes,)
        Children of the other nodes, -1 at leaves.
    name, names : str
        Names of the arrays, for the message.

    Raises
    ------
    StructureError
        If a node other than the first is not the child of exactly one earlier node, or a leaf
        has children. After this check, following children ends and never leaves the arrays.
    """
    inner = np.flatnonzero(feature >= 0)
    n_nodes = len(feature)
    if not n_nodes:
        raise StructureError(f"{name} must hold a node, got none")
    children = np.concatenate([left[inner], right[inner]]).astype(np.int64)
    leaves = feature < 0
    if (left[leaves] != -1).any() or (right[leaves] != -1).any():
        raise StructureError(f"{names} must be -1 at leaves, got children")
    if len(children) != n_nodes - 1 or not np.array_equal(np.sort(children), np.arange(1, n_nodes)):
        raise StructureError(f"{names} must name every node but the first once, but do not")
    if (children <= np.concatenate([inner, inner])).any():
        raise StructureError(f"{names} must come after their parent, got an earlier node")


def require(condition: Any, name: str, rule: str, value: Any) -> None:
    """Raise if a relation between attributes does not hold; for ``_check_structure``."""
    if not condition:
        raise violation(name, rule, value)


def require_attributes(obj: Any, *names: str) -> None:
    """Raise if an attribute is missing; for ``_check_structure``."""
    for name in names:
        if not hasattr(obj, name):
            raise StructureError(f"{name} must be there, got no such attribute")
