/* Congestion control for Dumbbell, as a plug-in in C.
 *
 * A plug-in is a shared library with one function:
 *
 *     const struct dumbbell_cc *dumbbell_cc_v1(void);
 *
 * Its table has the hooks of Linux's tcp_congestion_ops. A missing hook (NULL) stands for what Linux does
 * without it; `create`, `ssthresh`, and one of `cong_avoid` and `cong_control` are needed. Each hook
 * returns 0, or another number to end the run with the text of `error`. Hooks get the state of their
 * connection: `state_size` bytes, which the caller allocates and clears. They must not keep state elsewhere,
 * since runs and flows share the library; and they have no clock and no random numbers but those of
 * struct dumbbell_conn, so that a run can be repeated.
 *
 * A WebAssembly module is a plug-in, too, built without a library:
 *
 *     clang --target=wasm32 -mbulk-memory -O2 -nostdlib -Wl,--no-entry,--export-table,--export=dumbbell_cc_v1 \
 *         -o mine.wasm mine.c
 *
 * It exports `memory`, `__indirect_function_table` and dumbbell_cc_v1, and imports nothing. Pointers have 32
 * bits. State and arguments lie in pages that Dumbbell adds behind its memory after the start.
 *
 * Units are Linux's: windows in packets, RTTs in microseconds, sequence numbers as unwrapped byte counts.
 * The file may be copied and used for anything.
 */
#ifndef DUMBBELL_CC_H
#define DUMBBELL_CC_H

#include <stdbool.h>
#include <stdint.h>

#define DUMBBELL_CC_ABI 1
#define DUMBBELL_INFINITE_SSTHRESH 0x7fffffffu /* before the first loss */
#define DUMBBELL_DEFAULT 0xffffffffu           /* of a hook that gives a number: the caller's own */

/* flags of struct dumbbell_cc */
#define DUMBBELL_CC_NEEDS_ECN (1u << 0)    /* negotiates ECN at both ends (TCP_CONG_NEEDS_ECN) */
#define DUMBBELL_CC_L4S (1u << 1)          /* sends ECT(1), takes Accurate ECN alone (RFC 9331) */
#define DUMBBELL_CC_PACED_BY_FQ (1u << 2)  /* the fq qdisc of the sending host paces by default */
#define DUMBBELL_CC_COUNTS_BYTES (1u << 3) /* congestion avoidance counts bytes (RFC 3465) */
#define DUMBBELL_CC_DRAWS (1u << 4)        /* reads `random` */

/* enum tcp_ca_state */
enum dumbbell_ca_state { DUMBBELL_OPEN, DUMBBELL_DISORDER, DUMBBELL_CWR, DUMBBELL_RECOVERY, DUMBBELL_LOSS };

/* enum tcp_ca_event */
enum dumbbell_ca_event {
	DUMBBELL_TX_START = 0,     /* first transmission while nothing is in flight */
	DUMBBELL_CWND_RESTART = 1, /* restart of the window after an idle period */
	DUMBBELL_COMPLETE_CWR = 2, /* end of a window reduction */
	DUMBBELL_RTO = 3,          /* retransmission time-out */
	DUMBBELL_TLP_RECOVERY = 6, /* a loss that a tail loss probe repaired */
};

/* What a hook may read. */
struct dumbbell_conn {
	uint64_t now_us;         /* current time (tcp_mstamp) */
	uint64_t now_ms;         /* current time (tcp_jiffies32 at 1000 Hz) */
	uint32_t srtt_us8;       /* smoothed RTT times 8; 0 before the first sample */
	uint32_t min_rtt_us;     /* windowed minimum RTT; UINT32_MAX before the first sample */
	uint64_t snd_una;        /* first unacknowledged byte */
	uint64_t snd_nxt;        /* next byte to send */
	uint32_t mss;            /* payload bytes per segment (mss_cache) */
	uint32_t header_bytes;   /* of IP and TCP, with timestamps */
	uint32_t in_flight;      /* packets: out - SACKed - lost + retransmitted */
	uint32_t sacked_out;     /* packets SACKed and not yet acknowledged */
	uint64_t delivered;      /* packets since the start of the connection */
	uint64_t delivered_us;   /* time of the most recent delivery */
	uint64_t delivered_ce;   /* packets that the peer reported as marked */
	bool ecn;                /* both ends negotiated ECN */
	uint64_t lost;           /* packets marked lost since the start */
	uint64_t app_limited;    /* `delivered` at the end of the application-limited phase; 0: none */
	bool cwnd_limited;       /* tcp_is_cwnd_limited() */
	bool cwnd_limited_flight;/* tp->is_cwnd_limited */
	bool tlp_app_limited;    /* the last tail loss probe's segment was sent application-limited */
	uint32_t state;          /* enum dumbbell_ca_state, before the hook */
	uint64_t last_send_ms;   /* send time of the last data segment (lsndtime) */
	uint32_t prior_cwnd;     /* window before the reduction, packets */
	uint64_t wstamp_ns;      /* earliest departure of the next packet (tcp_wstamp_ns) */
	uint64_t now_ns;         /* current time (tcp_clock_cache) */
	uint32_t tsval_ms;       /* timestamp of the last ACK (rcv_tsval) */
	uint32_t tsecr_ms;       /* own timestamp that the last ACK echoes (rcv_tsecr) */
	uint32_t random;         /* for this hook, from the run's seed; 0 without DUMBBELL_CC_DRAWS */
};

/* flags of struct dumbbell_window */
#define DUMBBELL_PACING (1u << 0)          /* segments are paced (sk_pacing_status) */
#define DUMBBELL_SET_APP_LIMITED (1u << 1) /* take `app_limited` */
#define DUMBBELL_SET_MTU (1u << 2)         /* take `mtu` (tcp_sync_mss) */
#define DUMBBELL_ENTER_CWR (1u << 3)       /* reduce the window as for a mark (tcp_enter_cwr) */

/* What a hook may change. */
struct dumbbell_window {
	uint64_t pacing_rate; /* bytes per second; UINT64_MAX: not limited (sk_pacing_rate) */
	uint64_t app_limited; /* new value, with DUMBBELL_SET_APP_LIMITED */
	uint32_t cwnd;        /* packets, from 1 to cwnd_clamp (snd_cwnd) */
	uint32_t cwnd_cnt;    /* ACKed packets counted towards the next increase (snd_cwnd_cnt) */
	uint32_t ssthresh;    /* packets */
	uint32_t cwnd_clamp;  /* packets */
	uint32_t mtu;         /* length of IP packets, bytes, with DUMBBELL_SET_MTU */
	uint32_t flags;
};

/* struct rate_sample */
struct dumbbell_rate_sample {
	uint64_t prior_delivered; /* `delivered` when the most recently ACKed packet was sent */
	int64_t delivered;        /* packets over the interval; negative: invalid */
	int64_t interval_us;      /* not positive: invalid */
	int64_t rtt_us;           /* of the most recently (S)ACKed packet; negative: invalid */
	uint32_t losses;          /* packets newly marked lost */
	uint32_t acked_sacked;    /* packets newly ACKed or SACKed */
	uint32_t prior_in_flight; /* packets in flight before this ACK */
	bool app_limited;         /* the packet left while the sender was application-limited */
	bool retransmitted;       /* the packet was a retransmission */
	bool ack_delayed;         /* the receiver probably delayed this ACK */
	uint32_t tx_in_flight;    /* packets in flight after the packet left */
	int64_t lost;             /* packets marked lost since then */
	uint32_t marked;          /* packets that this ACK reported as marked */
	bool acks_tlp_retransmission;
};

/* struct ack_sample */
struct dumbbell_ack_sample {
	uint32_t pkts_acked; /* packets newly ACKed or SACKed */
	int64_t rtt_us;      /* of the most recently sent of them; negative: invalid */
	uint32_t in_flight;  /* packets in flight before this ACK */
};

/* enum tcp_ca_ack_event_flags */
struct dumbbell_ack_event {
	bool slow_path; /* CA_ACK_SLOWPATH */
	bool ece;       /* CA_ACK_ECE */
};

/* An skb that was marked lost, as it was when it was sent. */
struct dumbbell_lost_skb {
	uint32_t packets;
	uint32_t tx_in_flight;   /* packets in flight after it was sent */
	int64_t lost_since_sent; /* packets marked lost since then, with its own */
	bool app_limited;
	bool used;               /* its delivery was counted before */
};

/* Parameters that the experiment file gives. */
struct dumbbell_parameter {
	const char *name;
	double value;
};
struct dumbbell_parameters {
	const struct dumbbell_parameter *list;
	uint32_t count;
};

struct dumbbell_cc {
	uint32_t abi;         /* DUMBBELL_CC_ABI */
	uint32_t size;        /* sizeof(struct dumbbell_cc) */
	const char *name;
	uint32_t flags;
	uint32_t state_size;  /* bytes */
	uint32_t state_align; /* bytes; 0: of a pointer */
	uint32_t reserved;    /* 0 */
	int32_t (*create)(void *, const struct dumbbell_parameters *);
	void (*release)(void *);
	void (*error)(void *, char *, uint32_t); /* why the last hook failed, in so many bytes */
	uint32_t (*properties)(void *);          /* NULL: they follow from the hooks and flags */
	int32_t (*init)(void *, const struct dumbbell_conn *, struct dumbbell_window *);
	int32_t (*syn_acked)(void *, uint32_t rtt_us);
	/* the new threshold after a loss */
	int32_t (*ssthresh)(void *, const struct dumbbell_conn *, struct dumbbell_window *, uint32_t *);
	int32_t (*cong_avoid)(void *, const struct dumbbell_conn *, struct dumbbell_window *, uint32_t acked);
	/* all congestion control for an ACK, in place of cong_avoid and PRR */
	int32_t (*cong_control)(void *, const struct dumbbell_conn *, struct dumbbell_window *,
				const struct dumbbell_rate_sample *);
	int32_t (*set_state)(void *, const struct dumbbell_conn *, struct dumbbell_window *, uint32_t state);
	int32_t (*cwnd_event)(void *, const struct dumbbell_conn *, struct dumbbell_window *, uint32_t event);
	int32_t (*in_ack_event)(void *, const struct dumbbell_conn *, struct dumbbell_window *,
				const struct dumbbell_ack_event *);
	int32_t (*pkts_acked)(void *, const struct dumbbell_conn *, struct dumbbell_window *,
			      const struct dumbbell_ack_sample *);
	int32_t (*marked_lost)(void *, const struct dumbbell_conn *, struct dumbbell_window *,
			       const struct dumbbell_lost_skb *);
	/* the window to restore; NULL: the larger of cwnd and prior_cwnd */
	int32_t (*undo_cwnd)(void *, const struct dumbbell_conn *, struct dumbbell_window *, uint32_t *);
	/* numbers; DUMBBELL_DEFAULT: the caller's own */
	uint32_t (*growth_limit)(void *, const struct dumbbell_window *, uint32_t flight);
	uint32_t (*tso_segs)(void *, const struct dumbbell_window *, uint32_t mss);
	uint32_t (*min_tso_segs)(void *, const struct dumbbell_window *);
	uint32_t (*pacing_ratio)(void *); /* percent of a window per RTT */
	uint32_t (*sndbuf_expand)(void *);
	uint32_t (*min_cwnd)(void *, const struct dumbbell_window *);
	const char *(*phase)(void *); /* for samples */
};

/* Value of a parameter; `otherwise` if the file does not give it. */
static inline double dumbbell_parameter(const struct dumbbell_parameters *all, const char *name,
					double otherwise)
{
	for (uint32_t i = 0; i < all->count; i++) {
		const char *a = all->list[i].name, *b = name;

		while (*a && *a == *b)
			a++, b++;
		if (*a == *b)
			return all->list[i].value;
	}
	return otherwise;
}

/* tcp_in_slow_start() */
static inline bool dumbbell_in_slow_start(const struct dumbbell_window *w)
{
	return w->cwnd < w->ssthresh;
}

/* tcp_slow_start(): grows up to the threshold, and returns the ACKed packets beyond it. */
static inline uint32_t dumbbell_slow_start(struct dumbbell_window *w, uint32_t acked)
{
	uint64_t grown = (uint64_t)w->cwnd + acked;
	uint32_t cwnd = grown < w->ssthresh ? (uint32_t)grown : w->ssthresh;

	acked -= cwnd - w->cwnd;
	w->cwnd = cwnd < w->cwnd_clamp ? cwnd : w->cwnd_clamp;
	return acked;
}

/* tcp_cong_avoid_ai(): grows by one packet per `per` ACKed packets. */
static inline void dumbbell_additive_increase(struct dumbbell_window *w, uint32_t per, uint32_t acked)
{
	if (w->cwnd_cnt >= per) {
		w->cwnd_cnt = 0;
		w->cwnd++;
	}
	w->cwnd_cnt += acked;
	if (w->cwnd_cnt >= per) {
		uint32_t grown = w->cwnd_cnt / per;

		w->cwnd_cnt -= grown * per;
		w->cwnd += grown;
	}
	if (w->cwnd > w->cwnd_clamp)
		w->cwnd = w->cwnd_clamp;
}

/* Exported by the plug-in. */
const struct dumbbell_cc *dumbbell_cc_v1(void);

#endif
