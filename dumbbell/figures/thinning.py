"""Time series with fewer points that look the same."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def thinned(values: npt.ArrayLike, most: int) -> npt.NDArray[np.intp]:
    """Indices of at most `most` points of a series that keep its outline.

    The series is cut into equal stretches; of each the lowest and highest value stay, and the
    first and last point of all. Source: the extremes of M4 (Jugel et al., VLDB 2014).
    """
    y = np.asarray(values, dtype=np.float64)
    if y.size <= most:
        return np.arange(y.size)
    stretches = np.array_split(np.arange(y.size), max(1, (most - 2) // 2))
    kept = {0, y.size - 1}
    for stretch in stretches:
        part = np.nan_to_num(y[stretch], nan=-np.inf)
        kept.add(int(stretch[part.argmax()]))
        kept.add(int(stretch[part.argmin()]))
    return np.array(sorted(kept))
