/* Congestion control mine: Reno (RFC 5681), to be changed. */
#include "dumbbell_cc.h"

/* State of a connection: zeros before create. */
struct mine {
	double beta;
};

static int32_t create(void *state, const struct dumbbell_parameters *parameters)
{
	struct mine *m = state;

	m->beta = dumbbell_parameter(parameters, "beta", 0.5);
	return 0;
}

/* The threshold after a loss, packets. */
static int32_t ssthresh(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w, uint32_t *to)
{
	struct mine *m = state;

	(void)conn;
	*to = (uint32_t)(w->cwnd * m->beta);
	if (*to < 2)
		*to = 2;
	return 0;
}

/* Grows the window for `acked` packets. */
static int32_t cong_avoid(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w, uint32_t acked)
{
	(void)state;
	if (!conn->cwnd_limited)
		return 0;
	if (dumbbell_in_slow_start(w)) {
		acked = dumbbell_slow_start(w, acked);
		if (acked == 0)
			return 0;
	}
	dumbbell_additive_increase(w, w->cwnd, acked);
	return 0;
}

/* How far the ACKs of a flight may take the window, packets. */
static uint32_t growth_limit(void *state, const struct dumbbell_window *w, uint32_t flight)
{
	(void)state;
	return flight + (dumbbell_in_slow_start(w) ? flight : 1);
}

const struct dumbbell_cc *dumbbell_cc_v1(void)
{
	static const struct dumbbell_cc table = {
		.abi = DUMBBELL_CC_ABI,
		.size = sizeof(table),
		.name = "mine",
		.flags = DUMBBELL_CC_COUNTS_BYTES,
		.state_size = sizeof(struct mine),
		.create = create,
		.ssthresh = ssthresh,
		.cong_avoid = cong_avoid,
		.growth_limit = growth_limit,
	};
	return &table;
}
