"""Lost packets: those whose bytes passed again, and those that were lost before they passed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_RETRANSMITTED = 3


@dataclass(frozen=True)
class Lost:
    """Lost packets in order of time.

    Attributes:
        at_s: When it passed, or when the packet before its hole passed.
        end_bytes: Its end in the stream.
        nth: Its number among all data packets that the sender sent; the first is 1.
        seen_share: Share that the tap saw before they were lost (NaN: no loss).
    """

    at_s: Floats
    end_bytes: Floats
    nth: NDArray[np.int64]
    seen_share: float


_NONE = Lost(np.empty(0), np.empty(0), np.empty(0, np.int64), float("nan"))


def losses_of(columns: dict[str, NDArray[Any]], own: NDArray[np.bool_], seconds: Floats) -> Lost:
    """Losses of the data packets `own`.

    Of two transmissions of the same bytes the earlier was lost. A retransmission whose bytes did
    not pass before was lost in front of the tap: just after the packet before its hole passed.
    """
    position = columns["position_bytes"][own]
    what, time_s = columns["what"][own], seconds[own]
    end = position + columns["payload_bytes"][own]
    again = what == _RETRANSMITTED
    if not again.any():
        return _NONE
    order = np.lexsort((np.arange(len(position)), position))
    same = np.flatnonzero((np.diff(position[order]) == 0) & again[order][1:])
    dropped = order[same]
    first = again & ~np.isin(position, position[~again])
    unseen = np.flatnonzero(first)
    _, where = np.unique(position[unseen], return_index=True)
    unseen = unseen[where]
    reach = np.maximum.accumulate(end)
    hole = np.minimum(np.searchsorted(reach, position[unseen] + 1), unseen)
    after = np.maximum(hole - 1, 0)
    ends = np.concatenate((end[dropped], end[unseen])).astype(float)
    if not len(ends):
        return _NONE
    hidden = np.concatenate((np.zeros(len(dropped), bool), np.ones(len(unseen), bool)))
    place = np.concatenate((dropped, after))
    sorted_ = np.lexsort((ends, hidden, place))
    place, hidden = place[sorted_], hidden[sorted_]
    before = np.cumsum(hidden) - hidden  # packets that the tap did not see
    return Lost(
        time_s[place],
        ends[sorted_],
        (place + 1 + hidden + before).astype(np.int64),
        len(dropped) / len(ends),
    )
