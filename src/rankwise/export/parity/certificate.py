"""Result of a comparison of an exported file with its model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RowDifference:
    """A row that the file scores differently."""

    row: int  # position in X; -1 for rows tried besides
    model_score: float
    file_score: float
    cause: str  # where the paths part; empty if that is not known


@dataclass(frozen=True)
class ParityCertificate:
    """Comparison of the scores of an exported file with those of the model.

    Attributes
    ----------
    format : str
        Format of the file.
    reader : str
        Program that scored the file, with its version; or "interpreter", the arithmetic of the
        program rebuilt by rankwise.
    n_rows, n_queries : int
        Rows of X and their queries.
    n_probes : int
        Rows tried besides: values at thresholds and beside them, zeros of both signs, missing
        values and unknown categories.
    largest_difference : float
        Largest absolute difference of a score, on all rows.
    tolerance : float
        Difference that the sums of the format can cause by rounding.
    n_changed : int
        Queries in which two rows whose scores differ by more than twice the tolerance do not keep
        their order.
    n_rounded : int
        Queries in which only rows with nearer scores change places.
    n_different : int
        Rows, of X and besides, whose scores differ by more than the tolerance.
    first : RowDifference or None
        The first of them.
    not_tried : tuple of str
        Values that were not tried, with the reason.
    n_moved : int
        Rows of X that the model scores otherwise if their values are rounded to float32, as the
        program does. The file is compared with the scores after rounding.
    moved : str
        A value of the first of them, before and after.
    """

    format: str
    reader: str
    n_rows: int
    n_queries: int
    n_probes: int
    largest_difference: float
    tolerance: float
    n_changed: int
    n_rounded: int
    n_different: int
    first: RowDifference | None
    not_tried: tuple[str, ...] = ()
    n_moved: int = 0
    moved: str = ""

    @property
    def holds(self) -> bool:
        """Whether no order changes and no row takes another path."""
        return self.n_changed == 0 and self.n_different == 0

    def __str__(self) -> str:
        verdict = "the file ranks as the model" if self.holds else "THE FILE DIFFERS"
        lines = [
            f"{self.format}, read by {self.reader}: {verdict}",
            f"  rows                  {self.n_rows:,} in {self.n_queries:,} queries, and "
            f"{self.n_probes:,} at thresholds",
            f"  largest difference    {self.largest_difference:.3g} (rounding: up to "
            f"{self.tolerance:.3g})",
            f"  rows that differ      {self.n_different:,}",
            f"  queries reordered     {self.n_changed:,}, and {self.n_rounded:,} among scores "
            "nearer than rounding",
        ]
        if self.first is not None:
            where = "a row tried besides" if self.first.row < 0 else f"row {self.first.row}"
            lines.append(
                f"  first difference      {where}: model {self.first.model_score:.9g}, file "
                f"{self.first.file_score:.9g}"
            )
            cause = self.first.cause or "not known: no path in the trees of the file tells it"
            lines.append(f"  cause                 {cause}")
        if self.n_moved:
            lines.append(
                f"  moved by float32      {self.n_moved:,} rows score otherwise there: the program "
                f"reads float32 numbers, in which {self.moved}"
            )
        lines += [f"  not tried             {reason}" for reason in self.not_tried]
        return "\n".join(lines)
