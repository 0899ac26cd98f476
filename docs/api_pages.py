"""Writes the lists that the code itself knows best.

Estimators come from the registry, functions and classes from ``__all__`` or, of adapters for other
tools, from the text of their modules, commands and options from the command line's own tree.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from inspect import cleandoc
from pathlib import Path
from typing import Any

from typer import Context
from typer.main import get_command

from rankwise._registry import REGISTRY, Entry
from rankwise.cli.help_pages import example_of
from rankwise.cli.main import app
from rankwise.runtime.renames import PUBLIC

KINDS = {
    "ranker": "Rankers",
    "transformer": "Feature maps",
    "ordinal": "Ordinal classifiers",
    "multi-label": "Multi-label methods",
    "cost-sensitive": "Cost-sensitive classifiers",
}
INHERITED_UP_TO = "BaseEstimator, RegressorMixin, TransformerMixin"
NOT_SHOWN = (
    "set_fit_request, set_score_request, set_partial_fit_request, set_predict_request, "
    "set_transform_request, set_output, get_metadata_routing, get_feature_names_out"
)
# The guides of an estimator, by the start of its module's name; the longest start decides.
GUIDES = {
    "features": ("theory",),
    "labels.cost_sensitive": ("costs",),
    "labels.multi_label": ("labels", "tags"),
    "ordinal": ("ordinal", "grades"),
    "rankers": ("choose", "theory"),
    "rankers.adapters": ("boosters", "training_log"),
    "rankers.boosting": ("choose", "training_log"),
    "rankers.boosting.lambdamart": ("lambdamart", "training_log"),
    "rankers.ensemble": ("combine_rankers", "choose"),
    "rankers.neural": ("pairwise", "training_log"),
    "rankers.pair_ranker": ("pairwise", "loss_of_your_own"),
    "rankers.rank_svm": ("pairwise", "theory"),
    "rankers.svrank": ("theory",),
}
# The pages that explain the functions and classes of a module, for their autosummary pages.
GUIDES_OF_MODULES = {
    "rankwise": ("from_your_csv", "choose"),
    "rankwise.clicks": ("clicks", "clicks_explained"),
    "rankwise.datasets": ("data", "data_sets"),
    "rankwise.distributed": ("cluster", "laptop_to_cluster"),
    "rankwise.decisions": (
        "answer_or_abstain",
        "how_many_results",
        "tune_weights",
        "rerank_budget",
    ),
    "rankwise.experiments": ("reproduce",),
    "rankwise.explain": ("explain", "explain_a_ranking"),
    "rankwise.export": ("export", "deploy"),
    "rankwise.features.kernels": ("theory",),
    "rankwise.fusion": ("fusion", "fuse_two_systems"),
    "rankwise.integrations.ir_measures": ("measures",),
    "rankwise.integrations.mlflow": ("operate",),
    "rankwise.integrations.pyterrier": ("pyterrier",),
    "rankwise.integrations.results": ("boards",),
    "rankwise.labels": ("labels", "costs"),
    "rankwise.metrics": ("measures", "measure_conventions"),
    "rankwise.metrics.significance": ("is_the_difference_real", "intervals_and_tests"),
    "rankwise.ordinal": ("ordinal", "grades"),
    "rankwise.preferences": ("preferences", "leaderboard_of_models"),
    "rankwise.rankers": ("training_log",),
    "rankwise.report": ("report",),
    "rankwise.selection": ("is_the_difference_real", "is_the_gain_memory", "boards"),
    "rankwise.streams": ("cluster", "laptop_to_cluster"),
    "rankwise.text": ("text", "documents_to_ranker"),
    "rankwise.trees": ("report", "explain"),
}
MOST_RELATED = 5
MODULES = {
    "rankwise": "Core",
    "rankwise.metrics": "Measures",
    "rankwise.metrics.significance": "Significance",
    "rankwise.datasets": "Data",
    "rankwise.selection": "Comparison",
    "rankwise.decisions": "Decisions",
    "rankwise.explain": "Explanations",
    "rankwise.fusion": "Fusion of result lists",
    "rankwise.preferences": "Preferences",
    "rankwise.text": "Text",
    "rankwise.clicks": "Click logs",
    "rankwise.report": "Report",
    "rankwise.export": "Export",
    "rankwise.distributed": "Clusters",
    "rankwise.exceptions": "Warnings and errors",
    "rankwise.rankers": "Training logs, stored boosters",
    "rankwise.streams": "Streams of rows",
    "rankwise.experiments": "Published experiments",
    "rankwise.ordinal": "Ordinal classes",
    "rankwise.labels": "Labels and costs",
    "rankwise.features.kernels": "Kernels",
    "rankwise.trees": "Trees",
    "rankwise.integrations.ir_measures": "Measures in ir_measures",
    "rankwise.integrations.mlflow": "MLflow",
    "rankwise.integrations.pyterrier": "PyTerrier",
    "rankwise.integrations.results": "Results of other programs",
}


def write(folder: Path) -> None:
    """Write ``estimators.rst``, ``functions.rst`` and ``commands.rst`` into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "api").mkdir(exist_ok=True)
    (folder / "estimators.rst").write_text(estimators(), encoding="utf-8")
    for entry in REGISTRY.values():
        page = folder / "api" / f"{public_name(entry)}.rst"
        page.write_text(estimator(entry), encoding="utf-8")
    (folder / "functions.rst").write_text(functions(), encoding="utf-8")
    (folder / "commands.rst").write_text(commands(), encoding="utf-8")


def estimators() -> str:
    """One section per kind: a table from the registry, then a page per class."""
    parts = [_title("Estimators", "=")]
    for kind, title in KINDS.items():
        entries = {key: entry for key, entry in REGISTRY.items() if entry.kind == kind}
        if entries:
            pages = [f"   api/{public_name(entry)}" for entry in entries.values()]
            parts += [_title(title, "-"), _table(entries), ".. toctree::", "   :hidden:", ""]
            parts += [*pages, ""]
    return "\n".join(parts)


def estimator(entry: Entry) -> str:
    """The page of one estimator: guides, docstring, methods a user calls, related estimators."""
    options = {"members": "", "inherited-members": INHERITED_UP_TO, "exclude-members": NOT_SHOWN}
    name = public_name(entry)
    links = [f"Guides: {', '.join(f':doc:`/{page}`' for page in guides(entry))}"]
    author, year = re.match(r"([a-z]*)(\d*)", entry.paper).groups()
    source = f"Literature: :ref:`{author.capitalize()} ({year}) <{entry.paper}>`"
    links += [source] if entry.paper else []
    lines = [_title(entry.class_name, "="), " · ".join(links), "", f".. autoclass:: {name}"]
    lines += [f"   :{key}: {value}".rstrip() for key, value in options.items()]
    lines += ["", _title("See also", "-")]
    lines += [f"- :class:`~{public_name(other)}`: {other.summary}" for other in related(entry)]
    lines += ["", f".. minigallery:: {name}", "   :add-heading: Gallery", "   :heading-level: -"]
    return "\n".join(lines) + "\n"


def guides(entry: Entry) -> tuple[str, ...]:
    """The pages that explain an estimator."""
    module = entry.path.partition(":")[0].removeprefix("rankwise.")
    starts = [start for start in GUIDES if f"{module}.".startswith(f"{start}.")]
    return GUIDES[max(starts, key=len)]


def related(entry: Entry) -> list[Entry]:
    """Estimators of the same kind and source, then of the same module, then of the same package."""
    others = [other for other in REGISTRY.values() if other != entry and other.kind == entry.kind]
    module = entry.path.partition(":")[0]
    package = module.rpartition(".")[0]
    near = [other for other in others if entry.paper and other.paper == entry.paper]
    near += [other for other in others if other.path.startswith(f"{module}:")]
    near += [other for other in others if other.path.startswith(f"{package}.")]
    return list({other.path: other for other in near}.values())[:MOST_RELATED]


def public_name(entry: Entry) -> str:
    """Rankers and ordinal classifiers are in ``rankwise``, other estimators in their package."""
    own = f"rankwise.{entry.class_name}"
    return PUBLIC.get(own, own)


def functions() -> str:
    """One section per public module, without the estimators."""
    classes = {entry.class_name for entry in REGISTRY.values()}
    parts, seen = [_title("Functions and classes", "=")], set()
    for module, title in MODULES.items():
        names = []
        if module.startswith("rankwise.integrations."):
            names = [f"{module}.{name}" for name in _defined(module)]
        else:
            public = import_module(module)
            for name in public.__all__:
                value = getattr(public, name) if name not in classes else None
                if callable(value) and id(value) not in seen:
                    seen.add(id(value))
                    names.append(f"{module}.{name}")
        parts += [_title(title, "-"), _module(module), _autosummary(names)]
    return "\n".join(parts)


def _defined(module: str) -> list[str]:
    """Public classes and functions in the text of a module, whose tool may not be installed."""
    tree = ast.parse(Path(find_spec(module).origin).read_text("utf-8"))
    kinds = (ast.ClassDef, ast.FunctionDef)
    names = [node.name for node in tree.body if isinstance(node, kinds)]
    return [name for name in names if not name.startswith("_")]


def commands() -> str:
    """One section per command of ``rankwise``: what it does, arguments, options."""
    parts = [_title("Commands", "=")]
    for name, command in _single_commands(get_command(app)):
        about = cleandoc(command.help or "").partition("Example: ")[0]
        example = [".. code-block:: console", "", f"    {example_of(command)}", ""]
        parts += [_title(f"rankwise {name}", "-"), about, *example]
        for parameter in command.params:
            help_text = " ".join((getattr(parameter, "help", "") or "").split())
            default = "" if "default:" in help_text else _default(parameter)
            parts += [_spelling(parameter), f"    {_plain(help_text)}{default}", ""]
    return "\n".join(parts)


def _single_commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Commands of a group and of the groups in it, by their full names."""
    context = Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "commands"):
            yield from _single_commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def _spelling(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"``{parameter.metavar or parameter.name.upper()}``"
    return ", ".join(f"``{option}``" for option in (*parameter.opts, *parameter.secondary_opts))


def _default(parameter: Any) -> str:
    shown = parameter.default if isinstance(parameter.default, str | int | float) else ""
    if shown == "" or shown is False:
        return ""
    return f" Default: ``{getattr(shown, 'value', shown)}``."


def _plain(text: str) -> str:
    """Text whose stars, ticks and bars mean themselves."""
    return re.sub(r"([*`|_\\])", r"\\\1", text)


def _title(text: str, mark: str) -> str:
    return f"{text}\n{mark * len(text)}\n"


def _table(entries: dict[str, Entry]) -> str:
    lines = [
        ".. list-table::",
        "   :header-rows: 1",
        "   :widths: 35 45 20",
        "",
        "   * - Class, name on the command line",
        "     - What it is",
        "     - Source, extra",
    ]
    for key, entry in entries.items():
        source = [f":ref:`{entry.paper} <{entry.paper}>`"] if entry.paper else []
        source += [f"``{entry.extra}``"] if entry.extra else []
        lines += [
            f"   * - :class:`~{public_name(entry)}` ``{key}``",
            f"     - {entry.summary}",
            f"     - {', '.join(source)}",
        ]
    return "\n".join(lines) + "\n"


def _module(name: str) -> str:
    """A target for links to a module; names below it are written in full."""
    return f".. py:module:: {name}\n\n.. py:currentmodule:: None\n"


def _autosummary(names: list[str]) -> str:
    return (
        "\n".join([".. autosummary::", "   :toctree: api", "", *(f"   {n}" for n in names)]) + "\n"
    )
