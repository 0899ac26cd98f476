"""Writes a page for each published experiment, and the table of all of them.

``reproduce/KEY.rst`` holds the title and the findings, ``reproduce/KEY.txt`` the stored output, the
package of the experiment the protocol. A page puts them together; nothing is typed twice.
"""

from __future__ import annotations

from pathlib import Path

import stored_figures

from rankwise_papers.experiments import EXPERIMENTS

SOURCES = Path(__file__).parent / "reproduce"
VERDICTS = ("met", "better", "missed", "not evidence", "no published value", "not run")
RUN = "The run\n-------\n"


def write(folder: Path) -> None:
    """Write ``KEY.rst`` for each experiment and ``table.inc`` into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for key in EXPERIMENTS:
        (folder / f"{key}.rst").write_text(page(key), encoding="utf-8")
    (folder / "table.inc").write_text(table(), encoding="utf-8")


def findings(key: str) -> tuple[str, str, str]:
    """Title, findings, and what is to be said of the run."""
    title, _, text = (SOURCES / f"{key}.rst").read_text("utf-8").split("\n", 2)
    said, _, run = text.partition(RUN)
    return title, said.strip("\n"), run.strip("\n")


def page(key: str) -> str:
    """Source, verdicts, findings, and the protocol and the output folded away."""
    title, said, run = findings(key)
    entry = EXPERIMENTS[key]
    return "\n".join(
        [
            f".. _experiment-{key}:\n",
            f"{title}\n{'=' * len(title)}\n",
            f"*{_plain(entry.title)}.*\n",
            f"Source: {_plain(entry.paper)}.\n",
            f".. figures-of:: {key}\n",
            ".. difference-plot::\n",
            f"{said}\n",
            "Verdicts\n--------\n",
            ".. verdicts-of-tables::\n",
            ":doc:`/reproduce` says how verdicts are decided.\n",
            RUN,
            f".. code-block:: console\n\n   rankwise reproduce {key}\n",
            f"{run}\n",
            ".. dropdown:: Protocol\n\n   .. protocol::\n",
            ".. dropdown:: Output\n",
            f"   .. literalinclude:: /reproduce/{key}.txt\n      :language: text\n"
            "      :class: wide-output\n",
        ]
    )


def table() -> str:
    """All experiments with the counts of their verdicts, and their pages for the sidebar."""
    shown = VERDICTS[:4]
    lines = [
        ".. list-table::",
        "   :header-rows: 1",
        "   :widths: 52 12 12 12 12",
        "",
        "   * - Experiment",
        *(f"     - {name}" for name in shown),
    ]
    for key in EXPERIMENTS:
        counts = stored_figures.read(key).by_verdict()
        lines.append(f"   * - :doc:`/generated/reproduce/{key}`")
        lines += [f"     - {counts.get(name, '')}".rstrip() for name in shown]
    lines += ["", ".. toctree::", "   :hidden:", ""]
    lines += [f"   /generated/reproduce/{key}" for key in EXPERIMENTS]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Text whose stars, ticks and bars mean themselves."""
    return "".join(f"\\{one}" if one in "*`|_\\" else one for one in text.rstrip("."))
