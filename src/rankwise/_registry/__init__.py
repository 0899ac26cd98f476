"""Registry of estimators: keys, modules, and parameters for comparisons.

The tables determine the lazy imports of :mod:`rankwise`, the choices of the command line, the lists
of the documentation, the classes that model files may contain, and the common tests. A new
algorithm needs a file, a test and one row here. This package imports only the standard library, so
``rankwise --help`` and ``rankwise list`` start without delay.
"""

from __future__ import annotations

from rankwise._registry.entry import Entry as Entry
from rankwise._registry.entry import entries
from rankwise._registry.label_estimators import COST_SENSITIVE, MULTI_LABEL
from rankwise._registry.ordinal_estimators import ORDINAL
from rankwise._registry.rankers import RANKERS
from rankwise._registry.transformers import TRANSFORMERS
from rankwise.runtime.vocabulary import did_you_mean

REGISTRY: dict[str, Entry] = {
    **entries("ranker", "rankwise.rankers", RANKERS),
    **entries("ordinal", "rankwise.ordinal", ORDINAL),
    **entries("cost-sensitive", "rankwise.labels.cost_sensitive", COST_SENSITIVE),
    **entries("multi-label", "rankwise.labels.multi_label", MULTI_LABEL),
    **entries("transformer", "rankwise.features", TRANSFORMERS),
}
BY_CLASS_NAME: dict[str, Entry] = {entry.class_name: entry for entry in REGISTRY.values()}
# Estimators that can be compared and blended: all that rank.
RANKING: dict[str, Entry] = {
    key: entry for key, entry in REGISTRY.items() if entry.kind in ("ranker", "ordinal")
}


def find_ranker(key: str, setting: str) -> Entry:
    """Entry of a ranker; the error for an unknown key names the setting that holds it."""
    if key not in RANKING:
        hint = did_you_mean(key, RANKING, f"Known: {[*RANKING]}.")
        raise ValueError(f"{setting}: {key!r} is not a ranker of the registry. {hint}")
    return RANKING[key]
