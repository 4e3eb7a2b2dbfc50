"""The pictures of a report: SVG for its page, SVG and PNG files, and matplotlib figures (extra `report`)."""

from krag_eval.report.plots.causes import plot_causes
from krag_eval.report.plots.figures import PLOTS, Plot, ReportFigure, figures_of
from krag_eval.report.plots.hits import plot_hits
from krag_eval.report.plots.over_k import plot_over_k
from krag_eval.report.plots.spread import plot_spread
from krag_eval.report.plots.sweep_curve import plot_sweep
from krag_eval.report.plots.sweeping import sweeps_of
from krag_eval.report.plots.writing import write_plots

__all__ = [
    "PLOTS",
    "Plot",
    "ReportFigure",
    "figures_of",
    "plot_causes",
    "plot_hits",
    "plot_over_k",
    "plot_spread",
    "plot_sweep",
    "sweeps_of",
    "write_plots",
]
