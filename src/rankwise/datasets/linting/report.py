"""Results of lint: findings and a summary of every part, as values and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rankwise.runtime.shown_text import escape_hidden, join_lines

LEVELS = ("error", "warning", "info")
LIKE_FINDINGS = 3  # number of findings of one kind in the text


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes
    ----------
    level : {"error", "warning", "info"}
        An error makes results wrong; a warning may make them wrong; an info is good to know.
    what : str
        Kind of the finding: "queries without relevant rows", "constant features", …
    where : str
        Part, or the two parts that share something.
    count : int
        Number of affected queries, rows or features.
    total : int
        Total of which ``count`` is a part.
    examples : tuple of str
        A few of the affected ones.
    note : str
        Consequence of the finding.
    """

    level: Literal["error", "warning", "info"]
    what: str
    where: str
    count: int
    total: int
    examples: tuple[str, ...]
    note: str


@dataclass(frozen=True)
class PartSummary:
    """Size and labels of one part."""

    name: str
    n_samples: int
    n_queries: int
    n_features: int
    # Number of rows with each label, or in each of ten ranges if there are more than 20 labels
    labels: dict[str, int]
    group_sizes: dict[str, float]  # "min", "median", "mean" and "max" number of rows per query


@dataclass(frozen=True)
class LintReport:
    """Findings, worst first, and the parts they were found in.

    Attributes
    ----------
    name : str
        Name of the data.
    rows : list of Finding
    parts : list of PartSummary
    """

    name: str
    rows: list[Finding]
    parts: list[PartSummary]

    @property
    def ok(self) -> bool:
        """Whether there are no errors."""
        return all(finding.level != "error" for finding in self.rows)

    def count(self, level: str) -> int:
        """Number of findings of that level."""
        return sum(finding.level == level for finding in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers, for JSON."""
        return {"ok": self.ok, **asdict(self)}

    def __str__(self) -> str:
        counts = [_format_count(self.count(level), level) for level in LEVELS]
        title = escape_hidden(f"Lint of {self.name or 'data'}: {', '.join(counts)}")
        parts = _table(
            ("part", "rows", "queries", "features", "rows a query", "labels"),
            [
                (
                    part.name,
                    f"{part.n_samples:,}",
                    f"{part.n_queries:,}",
                    f"{part.n_features:,}",
                    "{min:.0f} to {max:.0f}, median {median:g}".format(**part.group_sizes)
                    if part.n_queries
                    else "",
                    "  ".join(f"{label}: {count:,}" for label, count in part.labels.items()),
                )
                for part in self.parts
            ],
            right=(1, 2, 3),
        )
        seen: Counter[str] = Counter()
        lines = []
        for finding in self.rows:
            seen[finding.what] += 1
            if seen[finding.what] <= LIKE_FINDINGS:
                lines.append(
                    (
                        finding.level,
                        finding.where,
                        f"{finding.count:,} of {finding.total:,}",
                        f"{finding.what}: {finding.note}",
                        ", ".join(finding.examples),
                    )
                )
        findings = _table(("", "where", "found", "", "such as"), lines, right=(2,))
        more = join_lines(
            f"{what}: {count - LIKE_FINDINGS} more, see to_dict()"
            for what, count in seen.items()
            if count > LIKE_FINDINGS
        )
        return "\n\n".join(block for block in (title, parts, findings, more) if block)


def _format_count(count: int, level: str) -> str:
    noun = {"error": "error", "warning": "warning", "info": "note"}[level]
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _table(header: Sequence[str], rows: list[tuple[str, ...]], right: Sequence[int]) -> str:
    """Aligned columns; empty without rows."""
    if not rows:
        return ""
    lines = [tuple(header), *rows]
    widths = [max(len(line[j]) for line in lines) for j in range(len(header))]
    return join_lines(
        "  ".join(
            cell.rjust(width) if j in right else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
