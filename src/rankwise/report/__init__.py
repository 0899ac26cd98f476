"""Reports: plots of a comparison and one self-contained HTML page of it."""

from rankwise.report.html import write_report
from rankwise.report.plots import plot_curves, plot_differences, plot_paths

__all__ = ["plot_curves", "plot_differences", "plot_paths", "write_report"]
