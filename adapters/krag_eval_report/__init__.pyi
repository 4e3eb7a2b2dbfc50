"""The public names, once: type checkers read them here, and `__init__.py` loads each when it is first used."""

from .boards import read_boards as read_boards
from .build import build_report as build_report
from .leaderboards import leaderboard_badge as leaderboard_badge
from .leaderboards import write_leaderboard as write_leaderboard
from .plots import plot_causes as plot_causes
from .plots import plot_changes as plot_changes
from .plots import plot_hits as plot_hits
from .plots import plot_over_k as plot_over_k
from .plots import plot_over_searches as plot_over_searches
from .plots import plot_over_size as plot_over_size
from .plots import plot_slices as plot_slices
from .plots import plot_spread as plot_spread
from .plots import plot_stages as plot_stages
from .plots import plot_sweep as plot_sweep
from .plots import write_plots as write_plots
from .records import Report as Report
from .run_table import Leaderboard as Leaderboard
from .run_table import leaderboard as leaderboard
from .writers import write_report as write_report
