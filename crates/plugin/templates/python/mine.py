"""Congestion control mine: Reno (RFC 5681), to be changed."""

import dumbbell


@dumbbell.congestion_control("mine")
class Mine:
    """State of a connection. Parameters come from the experiment file."""

    def __init__(self, beta: float = 0.5) -> None:
        self.beta = beta

    def ssthresh(self, conn, window):
        """The threshold after a loss, packets."""
        return max(int(window.cwnd * self.beta), 2)

    def cong_avoid(self, conn, window, acked):
        """Grows the window for `acked` packets."""
        if not conn.cwnd_limited:
            return
        if window.in_slow_start():
            acked = window.slow_start(acked)
            if acked == 0:
                return
        window.additive_increase(window.cwnd, acked)
