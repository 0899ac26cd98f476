"""Reports: plots of a comparison and one self-contained HTML page of it."""

from rankwise.report.explanation_plots import plot_contributions
from rankwise.report.html import write_report
from rankwise.report.plots import plot_curves, plot_differences, plot_paths
from rankwise.report.rank_plots import plot_confusion, plot_thresholds
from rankwise.report.tree_plot import plot_tree

__all__ = [
    "plot_confusion",
    "plot_contributions",
    "plot_curves",
    "plot_differences",
    "plot_paths",
    "plot_thresholds",
    "plot_tree",
    "write_report",
]
