"""The registry of estimators: what exists, where it lives, how it is compared.

The tables drive the lazy import of :mod:`rankwise`, the choices of the command line, the
documentation's lists, the classes that model files may contain, and the common tests. Adding an
algorithm is its file, its test and one row here. This package imports nothing but the standard
library, so that ``rankwise --help`` and ``rankwise list`` start at once.
"""

from __future__ import annotations

from rankwise._registry.entry import Entry as Entry
from rankwise._registry.entry import entries
from rankwise._registry.labels import COST_SENSITIVE, MULTI_LABEL
from rankwise._registry.ordinal import ORDINAL
from rankwise._registry.rankers import RANKERS
from rankwise._registry.transformers import TRANSFORMERS

REGISTRY: dict[str, Entry] = {
    **entries("ranker", "rankwise.rankers", RANKERS),
    **entries("ordinal", "rankwise.ordinal", ORDINAL),
    **entries("cost-sensitive", "rankwise.labels.cost_sensitive", COST_SENSITIVE),
    **entries("multi-label", "rankwise.labels.multi_label", MULTI_LABEL),
    **entries("transformer", "rankwise.features", TRANSFORMERS),
}
BY_CLASS_NAME: dict[str, Entry] = {entry.class_name: entry for entry in REGISTRY.values()}
