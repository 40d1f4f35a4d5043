/* Reno whose growth goes wrong 100 ms after the start of the run, as -DDOES says. */
#include "dumbbell_cc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef FLAGS
#define FLAGS 0
#endif
#ifndef ABI
#define ABI DUMBBELL_CC_ABI
#endif
#ifndef SIZE
#define SIZE sizeof(struct dumbbell_cc)
#endif
#ifndef STATE
#define STATE 8
#endif
#ifndef ALIGN
#define ALIGN 8
#endif
#ifndef NAME
#define NAME "bad"
#endif
#ifndef DOES
#define DOES
#endif
#ifndef AT_START
#define AT_START
#endif

static int32_t create(void *state, const struct dumbbell_parameters *all)
{
	(void)state, (void)all;
	AT_START;
	return 0;
}

static int32_t ssthresh(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w, uint32_t *to)
{
	(void)state, (void)conn;
	*to = w->cwnd / 2 < 2 ? 2 : w->cwnd / 2;
	return 0;
}

static int32_t cong_avoid(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w, uint32_t acked)
{
	(void)state;
	if (conn->now_ms >= 100) {
		DOES;
	}
	if (dumbbell_in_slow_start(w))
		acked = dumbbell_slow_start(w, acked);
	dumbbell_additive_increase(w, w->cwnd, acked);
	return 0;
}

static void error(void *state, char *to, uint32_t size)
{
	(void)state;
	snprintf(to, size, "the link is purple");
}

const struct dumbbell_cc *dumbbell_cc_v1(void)
{
	static const struct dumbbell_cc table = {
		.abi = ABI, .size = SIZE, .name = NAME, .flags = FLAGS, .state_size = STATE, .state_align = ALIGN,
		.create = create,
#ifdef WITH_ERROR
		.error = error,
#endif
#ifndef WITHOUT_SSTHRESH
		.ssthresh = ssthresh,
#endif
		.cong_avoid = cong_avoid,
	};
	(void)error, (void)ssthresh;
#ifdef NOTHING
	return NULL;
#endif
	return &table;
}

#ifdef CONSTRUCTOR
__attribute__((constructor)) static void first(void)
{
	CONSTRUCTOR;
}
#endif
