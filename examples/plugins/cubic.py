"""CUBIC (RFC 9438) as Linux has it, in Python: the same packets as the built-in, but slowly."""

import dumbbell

BETA, BETA_SCALE = 717, 1024  # 0.7
CUBE_SCALE = 41 * 10  # C in 1024ths: 0.4 packets per s³
CUBE_SHIFT = 40  # 10 bits of C, and three times 10 bits of time
CUBE_FACTOR = (1 << CUBE_SHIFT) // CUBE_SCALE
FRIENDLY_SCALE = 8 * (BETA_SCALE + BETA) // 3 // (BETA_SCALE - BETA)
UPDATE_INTERVAL_MS = 31
HYSTART_LOW_WINDOW = 16
HYSTART_ACK_DELTA_US = 2000
HYSTART_MIN_SAMPLES = 8
MASK = 0xFFFF_FFFF

# First guess of the cube root: about 64 times the cube root of 8 … 63.
GUESS = [
    133, 139, 144, 148, 153, 157, 161, 166, 167, 171, 174, 178, 180, 183, 186, 189, 191, 195, 197,
    200, 202, 204, 207, 209, 210, 212, 214, 216, 219, 221, 223, 225, 227, 229, 231, 232, 234, 235,
    237, 239, 241, 242, 244, 246, 247, 249, 250, 252, 254, 255, 256, 258, 260, 261, 262, 264,
]  # fmt: skip


def cube_root(a: int) -> int:
    """Cube root by a guess from the highest bits and one Newton step."""
    if a < 64:
        return 0 if a == 0 else 1 if a < 4 else 2 if a < 16 else 3 if a < 42 else 4
    shift = ((a.bit_length() * 84) >> 8) - 1
    x = (GUESS[(a >> (3 * shift)) - 8] << shift) >> 6
    x = 2 * x + a // (x * (x - 1))
    return (x * 341) >> 10


@dumbbell.congestion_control("cubic")
class Cubic:
    """State of a connection."""

    def __init__(self) -> None:
        self.reset_growth()
        self.found = False
        self.round_start_us = self.last_ack_us = self.round_end = 0
        self.round_rtt_us, self.samples = MASK, 0

    def reset_growth(self) -> None:
        self.count = self.w_max = self.last_cwnd = self.last_update_ms = 0
        self.origin = self.k = self.acked = self.reno_cwnd = 0
        self.min_delay_us: int | None = None
        self.epoch_ms: int | None = None

    def start_round(self, conn) -> None:
        self.round_start_us = self.last_ack_us = conn.now_us
        self.round_end = conn.snd_nxt
        self.round_rtt_us, self.samples = MASK, 0

    def init(self, conn, window) -> None:
        self.reset_growth()
        self.found = False
        self.start_round(conn)

    def ssthresh(self, conn, window) -> int:
        cwnd, self.epoch_ms = window.cwnd, None
        if cwnd < self.w_max:  # fast convergence, §4.7
            self.w_max = cwnd * (BETA_SCALE + BETA) // (2 * BETA_SCALE)
        else:
            self.w_max = cwnd
        return max(cwnd * BETA // BETA_SCALE, 2)

    def cong_avoid(self, conn, window, acked) -> None:
        if not conn.cwnd_limited:
            return
        if window.in_slow_start():
            acked = window.slow_start(acked)
            if acked == 0:
                return
        self.update(conn.now_ms, window.cwnd, acked)
        window.additive_increase(self.count, acked)

    def update(self, now_ms: int, cwnd: int, acked: int) -> None:
        self.acked += acked
        if self.last_cwnd == cwnd and now_ms - self.last_update_ms <= UPDATE_INTERVAL_MS:
            return
        if self.epoch_ms is None or now_ms != self.last_update_ms:
            self.last_cwnd, self.last_update_ms = cwnd, now_ms
            if self.epoch_ms is None:
                self.start_epoch(now_ms, cwnd, acked)
            self.count = self.cubic_count(now_ms, cwnd)
        per_packet = max((cwnd * FRIENDLY_SCALE) >> 3, 1)  # never slower than Reno, §4.3
        grown = max(self.acked - 1, 0) // per_packet
        self.acked -= grown * per_packet
        self.reno_cwnd += grown
        if self.reno_cwnd > cwnd:
            self.count = min(self.count, cwnd // (self.reno_cwnd - cwnd))
        self.count = max(self.count, 2)

    def start_epoch(self, now_ms: int, cwnd: int, acked: int) -> None:
        self.epoch_ms, self.acked, self.reno_cwnd = now_ms, acked, cwnd
        if self.w_max <= cwnd:
            self.k, self.origin = 0, cwnd
        else:
            self.k, self.origin = cube_root(CUBE_FACTOR * (self.w_max - cwnd)), self.w_max

    def cubic_count(self, now_ms: int, cwnd: int) -> int:
        rtt_ms = -(-(self.min_delay_us or 0) // 1000)
        t = ((now_ms - self.epoch_ms + rtt_ms) << 10) // 1000
        delta = (CUBE_SCALE * abs(t - self.k) ** 3) >> CUBE_SHIFT
        target = self.origin + (delta if t >= self.k else -delta)
        count = cwnd // (target - cwnd) if target > cwnd else 100 * cwnd
        return min(count, 20) if self.w_max == 0 else count

    def pkts_acked(self, conn, window, sample) -> None:
        if sample.rtt_us < 0:
            return
        if self.epoch_ms is not None and conn.now_ms - self.epoch_ms < 1000:
            return
        rtt_us = max(sample.rtt_us, 1)
        self.min_delay_us = min(self.min_delay_us or rtt_us, rtt_us)
        if not self.found and window.in_slow_start():
            self.hystart(conn, window, rtt_us)

    def hystart(self, conn, window, rtt_us: int) -> None:
        if conn.snd_una > self.round_end:
            self.start_round(conn)
        if window.cwnd < HYSTART_LOW_WINDOW:
            return
        train = delay = False
        if conn.now_us - self.last_ack_us <= HYSTART_ACK_DELTA_US:
            self.last_ack_us = conn.now_us
            burst = min(65_215 * 4 * 1_000_000 // window.pacing_rate, 1000)
            threshold = self.min_delay_us + burst
            if not window.pacing:
                threshold //= 2
            train = conn.now_us - self.round_start_us > threshold
        self.round_rtt_us = min(self.round_rtt_us, rtt_us)
        if self.samples < HYSTART_MIN_SAMPLES:
            self.samples += 1
        else:
            tolerated = min(max(self.min_delay_us // 8, 4000), 16_000)
            delay = self.round_rtt_us > self.min_delay_us + tolerated
        if train or delay:
            self.found, window.ssthresh = True, window.cwnd

    def set_state(self, conn, window, state) -> None:
        if state == "loss":  # a time-out clears all, §4.8
            self.init(conn, window)

    def cwnd_event(self, conn, window, event) -> None:
        if event != "tx_start" or self.epoch_ms is None:
            return
        idle_ms = conn.now_ms - conn.last_send_ms  # idle time does not count, §5.8
        if idle_ms > 0:
            self.epoch_ms = min(self.epoch_ms + idle_ms, conn.now_ms)
