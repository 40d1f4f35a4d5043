"""Agreement of the simulator with a kernel, on experiments that are drawn from a seed."""

from __future__ import annotations

from dumbbell.agreement.cells import Cell
from dumbbell.agreement.kinds import draw_cells
from dumbbell.agreement.running import Drawn, compare_drawn

__all__ = ["Cell", "Drawn", "compare_drawn", "draw_cells"]
