/* CUBIC (RFC 9438) as Linux has it, as a plug-in in C: the same packets as the built-in.
 *
 *     cc -O2 -shared -fPIC -o libcubic.so cubic.c -I"$(dumbbell plugin include)"
 */
#include "dumbbell_cc.h"

enum {
	BETA = 717, BETA_SCALE = 1024, /* 0.7 */
	CUBE_SCALE = 41 * 10,          /* C in 1024ths: 0.4 packets per s^3 */
	CUBE_SHIFT = 40,               /* 10 bits of C, and three times 10 bits of time */
	FRIENDLY_SCALE = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA),
	UPDATE_INTERVAL_MS = 31,
	HYSTART_LOW_WINDOW = 16,
	HYSTART_ACK_DELTA_US = 2000,
	HYSTART_MIN_SAMPLES = 8,
};

struct cubic {
	uint32_t count, w_max, last_cwnd, last_update_ms, origin, k, min_delay_us, epoch_ms, acked, reno_cwnd;
	bool in_epoch;
	/* HyStart */
	bool found;
	uint32_t round_start_us, last_ack_us, round_rtt_us, samples;
	uint64_t round_end;
};

/* First guess of the cube root: about 64 times the cube root of 8 to 63. */
static const uint16_t guess[56] = {
	133, 139, 144, 148, 153, 157, 161, 166, 167, 171, 174, 178, 180, 183, 186, 189, 191, 195, 197,
	200, 202, 204, 207, 209, 210, 212, 214, 216, 219, 221, 223, 225, 227, 229, 231, 232, 234, 235,
	237, 239, 241, 242, 244, 246, 247, 249, 250, 252, 254, 255, 256, 258, 260, 261, 262, 264,
};

static uint32_t min_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t max_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Cube root by a guess from the highest bits and one Newton step. */
static uint32_t cube_root(uint64_t a)
{
	uint32_t bits = 0, shift, x;

	if (a < 64)
		return a == 0 ? 0 : a < 4 ? 1 : a < 16 ? 2 : a < 42 ? 3 : 4;
	while (bits < 64 && a >> bits)
		bits++;
	shift = ((bits * 84) >> 8) - 1;
	x = ((uint32_t)guess[(a >> (3 * shift)) - 8] << shift) >> 6;
	x = 2 * x + (uint32_t)(a / ((uint64_t)x * (x - 1)));
	return (x * 341) >> 10;
}

static void start_round(struct cubic *c, const struct dumbbell_conn *conn)
{
	c->round_start_us = c->last_ack_us = (uint32_t)conn->now_us;
	c->round_end = conn->snd_nxt;
	c->round_rtt_us = UINT32_MAX;
	c->samples = 0;
}

static void reset(struct cubic *c, const struct dumbbell_conn *conn)
{
	*c = (struct cubic){0};
	start_round(c, conn);
}

static int32_t create(void *state, const struct dumbbell_parameters *parameters)
{
	(void)state, (void)parameters; /* a state of zeros */
	return 0;
}

static int32_t init(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w)
{
	(void)w;
	reset(state, conn);
	return 0;
}

static int32_t ssthresh(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w, uint32_t *to)
{
	struct cubic *c = state;

	(void)conn;
	c->in_epoch = false;
	/* fast convergence, RFC 9438 4.7 */
	c->w_max = w->cwnd < c->w_max ? w->cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE) : w->cwnd;
	*to = max_u32(w->cwnd * BETA / BETA_SCALE, 2);
	return 0;
}

static void start_epoch(struct cubic *c, uint32_t now_ms, uint32_t cwnd, uint32_t acked)
{
	c->in_epoch = true;
	c->epoch_ms = now_ms;
	c->acked = acked;
	c->reno_cwnd = cwnd;
	if (c->w_max <= cwnd) {
		c->k = 0;
		c->origin = cwnd;
	} else {
		c->k = cube_root((1ull << CUBE_SHIFT) / CUBE_SCALE * (c->w_max - cwnd));
		c->origin = c->w_max;
	}
}

static uint32_t cubic_count(const struct cubic *c, uint32_t now_ms, uint32_t cwnd)
{
	uint32_t rtt_ms = c->min_delay_us / 1000 + (c->min_delay_us % 1000 != 0);
	uint64_t t = (((uint64_t)(int64_t)(int32_t)(now_ms - c->epoch_ms) + rtt_ms) << 10) / 1000;
	uint64_t distance = t < c->k ? c->k - t : t - c->k;
	uint32_t delta = (uint32_t)((CUBE_SCALE * distance * distance * distance) >> CUBE_SHIFT);
	uint32_t target = t < c->k ? c->origin - delta : c->origin + delta;
	uint32_t count = target > cwnd ? cwnd / (target - cwnd) : cwnd * 100;

	return c->w_max == 0 ? min_u32(count, 20) : count;
}

static void update(struct cubic *c, uint32_t now_ms, uint32_t cwnd, uint32_t acked)
{
	uint32_t per_packet, grown;

	c->acked += acked;
	if (c->last_cwnd == cwnd && (int32_t)(now_ms - c->last_update_ms) <= UPDATE_INTERVAL_MS)
		return;
	if (!c->in_epoch || now_ms != c->last_update_ms) {
		c->last_cwnd = cwnd;
		c->last_update_ms = now_ms;
		if (!c->in_epoch)
			start_epoch(c, now_ms, cwnd, acked);
		c->count = cubic_count(c, now_ms, cwnd);
	}
	/* never slower than Reno, 4.3 */
	per_packet = max_u32((cwnd * FRIENDLY_SCALE) >> 3, 1);
	grown = (c->acked ? c->acked - 1 : 0) / per_packet;
	c->acked -= grown * per_packet;
	c->reno_cwnd += grown;
	if (c->reno_cwnd > cwnd)
		c->count = min_u32(c->count, cwnd / (c->reno_cwnd - cwnd));
	c->count = max_u32(c->count, 2);
}

static int32_t cong_avoid(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w, uint32_t acked)
{
	struct cubic *c = state;

	if (!conn->cwnd_limited)
		return 0;
	if (dumbbell_in_slow_start(w)) {
		acked = dumbbell_slow_start(w, acked);
		if (acked == 0)
			return 0;
	}
	update(c, (uint32_t)conn->now_ms, w->cwnd, acked);
	dumbbell_additive_increase(w, c->count, acked);
	return 0;
}

static void hystart(struct cubic *c, const struct dumbbell_conn *conn, struct dumbbell_window *w, uint32_t rtt_us)
{
	uint32_t now = (uint32_t)conn->now_us;
	bool train = false, delay = false;

	if (conn->snd_una > c->round_end)
		start_round(c, conn);
	if (w->cwnd < HYSTART_LOW_WINDOW)
		return;
	if ((int32_t)(now - c->last_ack_us) <= HYSTART_ACK_DELTA_US) {
		uint64_t burst_us = w->pacing_rate ? 65215ull * 4 * 1000000 / w->pacing_rate : 0;
		uint32_t threshold = c->min_delay_us + (uint32_t)(burst_us < 1000 ? burst_us : 1000);

		c->last_ack_us = now;
		if (!(w->flags & DUMBBELL_PACING))
			threshold /= 2;
		train = now - c->round_start_us > threshold;
	}
	c->round_rtt_us = min_u32(c->round_rtt_us, rtt_us);
	if (c->samples < HYSTART_MIN_SAMPLES)
		c->samples++;
	else
		delay = c->round_rtt_us > c->min_delay_us + min_u32(max_u32(c->min_delay_us / 8, 4000), 16000);
	if (train || delay) {
		c->found = true;
		w->ssthresh = w->cwnd;
	}
}

static int32_t pkts_acked(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w,
			  const struct dumbbell_ack_sample *sample)
{
	struct cubic *c = state;
	uint32_t rtt_us;

	if (sample->rtt_us < 0)
		return 0;
	if (c->in_epoch && (int32_t)((uint32_t)conn->now_ms - c->epoch_ms) < 1000)
		return 0;
	rtt_us = sample->rtt_us > INT32_MAX ? INT32_MAX : max_u32((uint32_t)sample->rtt_us, 1);
	if (c->min_delay_us == 0 || rtt_us < c->min_delay_us)
		c->min_delay_us = rtt_us;
	if (!c->found && dumbbell_in_slow_start(w))
		hystart(c, conn, w, rtt_us);
	return 0;
}

static int32_t set_state(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w, uint32_t to)
{
	(void)w;
	if (to == DUMBBELL_LOSS) /* a time-out clears all, 4.8 */
		reset(state, conn);
	return 0;
}

static int32_t cwnd_event(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w, uint32_t event)
{
	struct cubic *c = state;
	uint32_t now_ms = (uint32_t)conn->now_ms, idle_ms = now_ms - (uint32_t)conn->last_send_ms;

	(void)w;
	/* idle time does not count, 5.8 */
	if (event == DUMBBELL_TX_START && c->in_epoch && (int32_t)idle_ms > 0) {
		c->epoch_ms += idle_ms;
		if ((int32_t)(now_ms - c->epoch_ms) < 0)
			c->epoch_ms = now_ms;
	}
	return 0;
}

/* How far the ACKs of a flight may take the window (draft-ietf-ccwg-ratelimited-increase). */
static uint32_t growth_limit(void *state, const struct dumbbell_window *w, uint32_t flight)
{
	const struct cubic *c = state;

	if (dumbbell_in_slow_start(w))
		return flight * 2;
	return flight + max_u32(c->count ? flight / c->count : 0, 1);
}

const struct dumbbell_cc *dumbbell_cc_v1(void)
{
	static const struct dumbbell_cc table = {
		.abi = DUMBBELL_CC_ABI,
		.size = sizeof(table),
		.name = "cubic",
		.state_size = sizeof(struct cubic),
		.create = create,
		.init = init,
		.ssthresh = ssthresh,
		.cong_avoid = cong_avoid,
		.pkts_acked = pkts_acked,
		.set_state = set_state,
		.cwnd_event = cwnd_event,
		.growth_limit = growth_limit,
	};
	return &table;
}
