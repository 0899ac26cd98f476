from .explanation_plots import plot_contributions as plot_contributions
from .html import write_report as write_report
from .plots import plot_curves as plot_curves
from .plots import plot_differences as plot_differences
from .plots import plot_paths as plot_paths
from .rank_plots import plot_confusion as plot_confusion
from .rank_plots import plot_thresholds as plot_thresholds
from .tree_plot import plot_tree as plot_tree
