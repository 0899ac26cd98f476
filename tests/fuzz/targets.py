"""The table of targets: each group is a module with a tuple ``TARGETS``."""

from __future__ import annotations

from importlib import import_module

from tests.fuzz.harness import Target

GROUPS = {
    "readers": "tests.fuzz.readers",
    "texts": "tests.fuzz.texts",
    "exports": "tests.fuzz.exports",
    "judged_files": "tests.fuzz.judged_files",
    "score_tables": "tests.fuzz.score_tables",
    "kernels": "tests.fuzz.kernels",
    "models": "tests.fuzz.models",
    "fits": "tests.fuzz.fits",
    "fusion": "tests.fuzz.fusion",
    "preferences": "tests.fuzz.preferences",
    "clicks": "tests.fuzz.clicks",
}


def find_targets(names: str) -> list[Target]:
    """Targets by comma-separated names of targets or groups; "all" stands for every group.

    Raises
    ------
    ValueError
        When there is no such target.
    """
    groups = {group: import_module(module).TARGETS for group, module in GROUPS.items()}
    known = {target.name: [target] for targets in groups.values() for target in targets}
    known |= {group: list(targets) for group, targets in groups.items()}
    known["all"] = [target for targets in groups.values() for target in targets]
    found: dict[str, Target] = {}
    for name in names.split(","):
        if name not in known:
            raise ValueError(f"targets must be among {', '.join(known)}, got {name!r}.")
        found |= {target.name: target for target in known[name]}
    return list(found.values())
