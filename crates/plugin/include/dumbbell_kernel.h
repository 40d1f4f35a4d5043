/* A module of Linux with a congestion control, as a plug-in of Dumbbell.
 *
 * The source of a module, tcp_*.c, is compiled with this header in front of it and empty files in place of
 * the headers of Linux that it names. What it may use is here: the hooks of tcp_congestion_ops, the fields of
 * a socket that they read and write, and the helpers around them, as Linux 6.12 has them. A field that is
 * missing here is one that the simulator does not have.
 *
 * The file may be copied and used for anything.
 */
#ifndef DUMBBELL_KERNEL_H
#define DUMBBELL_KERNEL_H

#include "dumbbell_cc.h"
#include <stddef.h>
#include <string.h>

#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))
#ifndef LINUX_VERSION_CODE
#define LINUX_VERSION_CODE KERNEL_VERSION(6, 12, 0)
#endif

/* Types. */
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef s64 ktime_t;
typedef unsigned int gfp_t;

#define U8_MAX 0xffu
#define U16_MAX 0xffffu
#define U32_MAX 0xffffffffu
#define S8_MAX 0x7f
#define S16_MAX 0x7fff
#define S32_MAX 0x7fffffff
#define U64_MAX 0xffffffffffffffffull
#define S64_MAX 0x7fffffffffffffffll
#define S8_MIN (-S8_MAX - 1)
#define S16_MIN (-S16_MAX - 1)
#define S32_MIN (-S32_MAX - 1)
#define S64_MIN (-S64_MAX - 1)
#define U32_C(value) value##U
#undef INT_MAX
#undef INT_MIN
#undef UINT_MAX
#undef LONG_MAX
#undef LONG_MIN
#undef ULONG_MAX
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 0xffffffffu
#define LONG_MAX 0x7fffffffffffffffl
#define LONG_MIN (-LONG_MAX - 1)
#define ULONG_MAX 0xfffffffffffffffful
#define BITS_PER_BYTE 8
#define BITS_PER_TYPE(type) (sizeof(type) * BITS_PER_BYTE)

#define EPERM 1
#define ENOENT 2
#define ENOMEM 12
#define EBUSY 16
#define EINVAL 22
#define ERANGE 34
#define EOPNOTSUPP 95

/* Marks of functions and data. */
#define __init
#define __exit
#define __read_mostly
#define __ro_after_init
#define __bpf_kfunc
#define __bpf_kfunc_start_defs()
#define __bpf_kfunc_end_defs()
#define __user
#define __force
#define __rcu
#define __percpu
#define __must_check
#undef __pure
#define __pure __attribute__((pure))
#undef __attribute_const__
#define __attribute_const__ __attribute__((const))
#define __maybe_unused __attribute__((unused))
#define __used __attribute__((used))
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define noinline __attribute__((noinline))
#define __packed __attribute__((packed))
#define __aligned(bytes) __attribute__((aligned(bytes)))
#define __cacheline_aligned
#define ____cacheline_aligned
#define fallthrough __attribute__((fallthrough))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define barrier() __asm__ volatile("" ::: "memory")
#define cmpxchg(at, old, new)                                                                                \
	({                                                                                                   \
		__typeof__(*(at)) was_ = *(at);                                                              \
		if (was_ == (old))                                                                           \
			*(at) = (new);                                                                       \
		was_;                                                                                        \
	})
#define BUILD_BUG_ON(bad) _Static_assert(!(bad), #bad)
#define BUG_ON(bad) ((bad) ? __builtin_trap() : (void)0)
#define WARN_ON(bad) (!!(bad))
#define WARN_ON_ONCE(bad) (!!(bad))
#define WARN_ONCE(bad, ...) (!!(bad))
#define IS_ENABLED(option) 0
#define EXPORT_SYMBOL(name) struct dumbbell_nothing
#define EXPORT_SYMBOL_GPL(name) struct dumbbell_nothing

static inline __attribute__((format(printf, 1, 2))) int no_printk(const char *format, ...)
{
	(void)format;
	return 0;
}
#define printk(...) no_printk(__VA_ARGS__)
#define KERN_INFO
#define KERN_ERR
#define KERN_WARNING
#define KERN_DEBUG
#define KERN_NOTICE
#define KERN_ALERT
#define KERN_CRIT
#define KERN_EMERG
#define pr_debug(...) no_printk(__VA_ARGS__)
#define pr_info(...) no_printk(__VA_ARGS__)
#define pr_notice(...) no_printk(__VA_ARGS__)
#define pr_warn(...) no_printk(__VA_ARGS__)
#define pr_err(...) no_printk(__VA_ARGS__)
#define pr_crit(...) no_printk(__VA_ARGS__)
#define pr_alert(...) no_printk(__VA_ARGS__)
#define pr_emerg(...) no_printk(__VA_ARGS__)
#define pr_info_once(...) no_printk(__VA_ARGS__)
#define pr_warn_once(...) no_printk(__VA_ARGS__)
#define net_info_ratelimited(...) no_printk(__VA_ARGS__)
#define net_warn_ratelimited(...) no_printk(__VA_ARGS__)

/* Numbers. */
#define min_t(type, a, b)                                                                                    \
	({                                                                                                   \
		type a_ = (a), b_ = (b);                                                                     \
		a_ < b_ ? a_ : b_;                                                                           \
	})
#define max_t(type, a, b)                                                                                    \
	({                                                                                                   \
		type a_ = (a), b_ = (b);                                                                     \
		a_ > b_ ? a_ : b_;                                                                           \
	})
#define DUMBBELL_COMMON(a, b) __typeof__(1 ? (a) : (b))
#define min(a, b)                                                                                            \
	({                                                                                                   \
		DUMBBELL_COMMON(a, b) x_ = (a), y_ = (b);                                                    \
		x_ < y_ ? x_ : y_;                                                                           \
	})
#define max(a, b)                                                                                            \
	({                                                                                                   \
		DUMBBELL_COMMON(a, b) x_ = (a), y_ = (b);                                                    \
		x_ > y_ ? x_ : y_;                                                                           \
	})
#define min3(a, b, c)                                                                                        \
	({                                                                                                   \
		DUMBBELL_COMMON(a, b) z_ = min(a, b);                                                        \
		min(z_, c);                                                                                  \
	})
#define max3(a, b, c)                                                                                        \
	({                                                                                                   \
		DUMBBELL_COMMON(a, b) z_ = max(a, b);                                                        \
		max(z_, c);                                                                                  \
	})
#define min_not_zero(a, b)                                                                                   \
	({                                                                                                   \
		__typeof__(a) p_ = (a), q_ = (b);                                                            \
		p_ == 0 ? q_ : (q_ == 0 ? p_ : min(p_, q_));                                                 \
	})
#define clamp_t(type, value, low, high) min_t(type, max_t(type, value, low), high)
#define clamp_val(value, low, high) clamp_t(__typeof__(value), value, low, high)
#define clamp(value, low, high) clamp_t(__typeof__(value), value, low, high)
/* As Linux's: an unsigned value counts as signed, so that `abs(a - b)` is their distance. */
#undef abs
#define dumbbell_signed(value)                                                                               \
	_Generic((value), unsigned char: (signed char)0, unsigned short: (short)0, unsigned int: 0,          \
		 unsigned long: 0l, unsigned long long: 0ll, default: (value))
#define abs(value)                                                                                           \
	({                                                                                                   \
		__typeof__(dumbbell_signed(value)) v_ = (__typeof__(dumbbell_signed(value)))(value);         \
		v_ < 0 ? -v_ : v_;                                                                           \
	})
#define abs_diff(a, b)                                                                                       \
	({                                                                                                   \
		__typeof__(a) p_ = (a), q_ = (b);                                                            \
		p_ > q_ ? p_ - q_ : q_ - p_;                                                                 \
	})
#define swap(a, b)                                                                                           \
	do {                                                                                                 \
		__typeof__(a) t_ = (a);                                                                      \
		(a) = (b);                                                                                   \
		(b) = t_;                                                                                    \
	} while (0)
#define BIT(n) (1ul << (n))
#define BIT_ULL(n) (1ull << (n))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define roundup(n, d) (((n) + (d) - 1) / (d) * (d))
#define rounddown(n, d) ((n) - (n) % (d))
#define round_up(n, d) ((((n) - 1) | ((__typeof__(n))(d) - 1)) + 1)
#define round_down(n, d) ((n) & ~((__typeof__(n))(d) - 1))
#define mult_frac(n, above, below) ((n) / (below) * (above) + (n) % (below) * (above) / (below))
#define DIV_ROUND_CLOSEST(n, d)                                                                              \
	({                                                                                                   \
		__typeof__(n) n_ = (n);                                                                      \
		__typeof__(d) d_ = (d);                                                                      \
		((__typeof__(n))-1 > 0 || (__typeof__(d))-1 > 0 || (n_ > 0) == (d_ > 0)) ? (n_ + d_ / 2) / d_ \
											 : (n_ - d_ / 2) / d_; \
	})
#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))
#define do_div(n, base)                                                                                      \
	({                                                                                                   \
		u32 base_ = (base), rest_ = (u32)((u64)(n) % base_);                                         \
		(n) = (u64)(n) / base_;                                                                      \
		rest_;                                                                                       \
	})

static inline u64 div_u64(u64 n, u32 d) { return n / d; }
static inline s64 div_s64(s64 n, s32 d) { return n / d; }
static inline u64 div64_u64(u64 n, u64 d) { return n / d; }
static inline s64 div64_s64(s64 n, s64 d) { return n / d; }
#define div64_ul(n, d) div64_u64(n, d)
#define div64_long(n, d) div64_s64(n, d)
static inline u64 div_u64_rem(u64 n, u32 d, u32 *rest)
{
	*rest = (u32)(n % d);
	return n / d;
}
static inline u64 mul_u32_u32(u32 a, u32 b) { return (u64)a * b; }
static inline u64 mul_u64_u32_shr(u64 a, u32 b, unsigned int shift)
{
	return (u64)(((unsigned __int128)a * b) >> shift);
}
static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 d)
{
	return (u64)((unsigned __int128)a * b / d);
}
static inline int fls64(u64 value) { return value ? 64 - __builtin_clzll(value) : 0; }
static inline int dumbbell_fls(u32 value) { return value ? 32 - __builtin_clz(value) : 0; }
#define fls(value) dumbbell_fls(value)
#define ilog2(value) (fls64(value) - 1)
static inline bool is_power_of_2(unsigned long n) { return n && !(n & (n - 1)); }
static inline u32 int_sqrt64(u64 value)
{
	u64 root = 0, bit;

	for (bit = 1ull << 31; bit; bit >>= 1)
		if ((root | bit) * (root | bit) <= value)
			root |= bit;
	return (u32)root;
}
#define int_sqrt(value) ((unsigned long)int_sqrt64(value))

/* Memory: of a connection, given back by its `release`. */
void *calloc(size_t, size_t);
void free(void *);
#define GFP_KERNEL 0
#define GFP_ATOMIC 0
#define GFP_NOWAIT 0
#define __GFP_NOWARN 0
#define __GFP_ZERO 0
#define kcalloc(count, size, flags) calloc(count, size)
#define kzalloc(size, flags) calloc(1, size)
#define kmalloc(size, flags) calloc(1, size)
#define kmalloc_array(count, size, flags) calloc(count, size)
#define kfree(at) free((void *)(at))

/* The hook that runs now. Plug-ins of a run are called one after the other. */
static struct dumbbell_conn dumbbell_before; /* of a connection that is not established */
static const struct dumbbell_conn *dumbbell_now = &dumbbell_before;
static u32 dumbbell_drawn;

/* Time: of the connection, in steps of 1 ms for jiffies. */
#define HZ 1000
#define MSEC_PER_SEC 1000L
#define USEC_PER_MSEC 1000L
#define USEC_PER_SEC 1000000L
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L
#define jiffies ((unsigned long)dumbbell_now->now_ms)
#define jiffies_32 ((u32)dumbbell_now->now_ms)
#define tcp_jiffies32 ((u32)dumbbell_now->now_ms)
#define jiffies_to_msecs(value) ((unsigned int)(value))
#define jiffies_to_usecs(value) ((unsigned int)(value) * 1000u)
#define msecs_to_jiffies(value) ((unsigned long)(value))
#define usecs_to_jiffies(value) (((unsigned long)(value) + 999) / 1000)
#define nsecs_to_jiffies(value) ((unsigned long)(value) / 1000000)
#define before(a, b) ((s32)((u32)(a) - (u32)(b)) < 0)
#define after(a, b) before(b, a)
#define between(a, low, high) ((u32)(high) - (u32)(low) >= (u32)(a) - (u32)(low))
#define time_after(a, b) ((long)((b) - (a)) < 0)
#define time_before(a, b) time_after(b, a)
#define time_after_eq(a, b) ((long)((a) - (b)) >= 0)
#define time_before_eq(a, b) time_after_eq(b, a)
#define time_after32(a, b) ((s32)((u32)(b) - (u32)(a)) < 0)
#define time_before32(a, b) time_after32(b, a)
#define ktime_get() ((ktime_t)dumbbell_now->now_ns)
#define ktime_get_ns() dumbbell_now->now_ns
#define local_clock() dumbbell_now->now_ns
#define sched_clock() dumbbell_now->now_ns
#define ktime_to_us(time) ((time) / 1000)
#define ktime_to_ms(time) ((time) / 1000000)
#define ktime_to_ns(time) (time)
#define ktime_sub(a, b) ((a) - (b))
#define ktime_us_delta(a, b) (((a) - (b)) / 1000)

/* Random numbers: from the run's seed. The first of a hook is the connection's, further ones follow from it. */
static inline u32 get_random_u32(void)
{
	u64 mixed = ((u64)dumbbell_now->random << 32 | dumbbell_drawn) * 0x9e3779b97f4a7c15ull;

	if (dumbbell_drawn++ == 0)
		return dumbbell_now->random;
	return (u32)(mixed >> 32);
}
static inline u32 get_random_u32_below(u32 limit) { return (u32)(((u64)get_random_u32() * limit) >> 32); }
#define prandom_u32() get_random_u32()
#define get_random_int() get_random_u32()
#define prandom_u32_max(limit) get_random_u32_below(limit)
static inline void get_random_bytes(void *to, size_t count)
{
	u32 drawn = 0;

	for (size_t at = 0; at < count; at++) {
		drawn = at % 4 ? drawn >> 8 : get_random_u32();
		((u8 *)to)[at] = (u8)drawn;
	}
}

/* Largest value of a time (lib/win_minmax.c): three candidates, the best first, each from a later part of the
 * window. */
struct minmax_sample {
	u32 t, v;
};
struct minmax {
	struct minmax_sample s[3];
};
static inline u32 minmax_get(const struct minmax *m) { return m->s[0].v; }
static inline u32 minmax_reset(struct minmax *m, u32 t, u32 value)
{
	for (int i = 0; i < 3; i++)
		m->s[i] = (struct minmax_sample){ t, value };
	return value;
}
static inline u32 dumbbell_minmax(struct minmax *m, u32 window, u32 t, u32 value, bool largest)
{
	const struct minmax_sample now = { t, value };
	u32 age;

#define DUMBBELL_BEATS(number) (largest ? value >= m->s[number].v : value <= m->s[number].v)
	if (DUMBBELL_BEATS(0) || t - m->s[2].t > window)
		return minmax_reset(m, t, value);
	if (DUMBBELL_BEATS(1))
		m->s[1] = m->s[2] = now;
	else if (DUMBBELL_BEATS(2))
		m->s[2] = now;
#undef DUMBBELL_BEATS
	age = t - m->s[0].t;
	if (age > window) {
		/* The best is too old; perhaps the next is, too. */
		for (int i = 0; i < 2 && t - m->s[0].t > window; i++) {
			m->s[0] = m->s[1];
			m->s[1] = m->s[2];
			m->s[2] = now;
		}
	} else if (m->s[1].t == m->s[0].t && age > window / 4) {
		m->s[1] = m->s[2] = now;
	} else if (m->s[2].t == m->s[1].t && age > window / 2) {
		m->s[2] = now;
	}
	return m->s[0].v;
}
static inline u32 minmax_running_max(struct minmax *m, u32 window, u32 t, u32 value)
{
	return dumbbell_minmax(m, window, t, value, true);
}
static inline u32 minmax_running_min(struct minmax *m, u32 window, u32 t, u32 value)
{
	return dumbbell_minmax(m, window, t, value, false);
}

/* Sockets. */
#define TCP_CA_NAME_MAX 16
#define TCP_CONG_NON_RESTRICTED BIT(0)
#define TCP_CONG_NEEDS_ECN BIT(1)
#define TCP_INIT_CWND 10
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_ECN_OK 1
#define TCP_TS_HZ 1000
#define TCP_ESTABLISHED 1
#define TCP_CLOSE 7
#define ICSK_CA_PRIV_SIZE (13 * sizeof(u64))
#define MAX_TCP_HEADER 320
#define GSO_LEGACY_MAX_SIZE 65536u
#define GSO_MAX_SIZE 65536u

enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
enum {
	TCPF_CA_Open = 1 << TCP_CA_Open,
	TCPF_CA_Disorder = 1 << TCP_CA_Disorder,
	TCPF_CA_CWR = 1 << TCP_CA_CWR,
	TCPF_CA_Recovery = 1 << TCP_CA_Recovery,
	TCPF_CA_Loss = 1 << TCP_CA_Loss,
};
enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};
enum tcp_ca_ack_event_flags { CA_ACK_SLOWPATH = 1, CA_ACK_WIN_UPDATE = 2, CA_ACK_ECE = 4 };
enum sk_pacing { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };

struct net;
struct module;
#define THIS_MODULE ((struct module *)0)

struct sock {
	u32 sk_pacing_status;
	unsigned long sk_pacing_rate, sk_max_pacing_rate;
	u8 sk_pacing_shift, sk_state;
	u32 sk_gso_max_size;
};
struct inet_connection_sock {
	struct sock sk;
	u8 icsk_ca_state;
	u64 icsk_ca_priv[ICSK_CA_PRIV_SIZE / sizeof(u64)];
};
struct tcp_options_received {
	u32 rcv_tsval, rcv_tsecr;
};
struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_una, snd_nxt, mss_cache;
	u32 snd_cwnd, snd_cwnd_cnt, snd_cwnd_clamp, snd_ssthresh, prior_cwnd;
	u32 srtt_us, sacked_out, delivered, delivered_ce, lost, app_limited, lsndtime;
	u64 bytes_acked, tcp_mstamp, delivered_mstamp, tcp_wstamp_ns, tcp_clock_cache;
	u8 ecn_flags;
	bool is_cwnd_limited;
	struct tcp_options_received rx_opt;
	struct minmax rtt_min;
	/* behind functions of Linux */
	u32 in_flight_, syn_rtt_us_, tsoff_;
	bool cwnd_limited_, enters_cwr_, syn_acked_;
};
struct rate_sample {
	u32 prior_delivered;
	s32 delivered;
	long interval_us, rtt_us;
	int losses;
	u32 acked_sacked, prior_in_flight;
	bool is_app_limited, is_retrans, is_ack_delayed;
};
struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

/* What `ss` shows: never asked for here. */
struct tcpvegas_info {
	u32 tcpv_enabled, tcpv_rttcnt, tcpv_rtt, tcpv_minrtt;
};
struct tcp_dctcp_info {
	u16 dctcp_enabled, dctcp_ce_state;
	u32 dctcp_alpha, dctcp_ab_ecn, dctcp_ab_tot;
};
struct tcp_bbr_info {
	u32 bbr_bw_lo, bbr_bw_hi, bbr_min_rtt, bbr_pacing_gain, bbr_cwnd_gain;
};
union tcp_cc_info {
	struct tcpvegas_info vegas;
	struct tcp_dctcp_info dctcp;
	struct tcp_bbr_info bbr;
};
enum { INET_DIAG_VEGASINFO = 3, INET_DIAG_DCTCPINFO = 9, INET_DIAG_BBRINFO = 16 };

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *);
	void (*cong_avoid)(struct sock *, u32 ack, u32 acked);
	void (*set_state)(struct sock *, u8);
	void (*cwnd_event)(struct sock *, enum tcp_ca_event);
	void (*in_ack_event)(struct sock *, u32 flags);
	void (*pkts_acked)(struct sock *, const struct ack_sample *);
	u32 (*min_tso_segs)(struct sock *);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
	void (*cong_control)(struct sock *, u32 ack, int flag, const struct rate_sample *);
#else
	void (*cong_control)(struct sock *, const struct rate_sample *);
#endif
	u32 (*undo_cwnd)(struct sock *);
	u32 (*sndbuf_expand)(struct sock *);
	size_t (*get_info)(struct sock *, u32 ext, int *attr, union tcp_cc_info *);
	char name[TCP_CA_NAME_MAX];
	struct module *owner;
	u32 key, flags;
	void (*init)(struct sock *);
	void (*release)(struct sock *);
};

static inline struct tcp_sock *tcp_sk(const struct sock *sk) { return (struct tcp_sock *)sk; }
static inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}
static inline void *inet_csk_ca(const struct sock *sk) { return inet_csk(sk)->icsk_ca_priv; }
#define sock_net(sk) ((struct net *)0)
#define NET_INC_STATS(net, counter) ((void)0)
#define NET_ADD_STATS(net, counter, value) ((void)0)
static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp) { return tp->snd_cwnd; }
static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 cwnd) { tp->snd_cwnd = cwnd; }
static inline u32 tcp_packets_in_flight(const struct tcp_sock *tp) { return tp->in_flight_; }
static inline u32 tcp_min_rtt(const struct tcp_sock *tp) { return minmax_get(&tp->rtt_min); }
static inline bool tcp_in_slow_start(const struct tcp_sock *tp) { return tp->snd_cwnd < tp->snd_ssthresh; }
static inline bool tcp_is_cwnd_limited(const struct sock *sk) { return tcp_sk(sk)->cwnd_limited_; }
static inline u32 tcp_stamp_us_delta(u64 later, u64 earlier) { return (u32)max_t(s64, later - earlier, 0); }
#define tcp_time_stamp(tp) ((u32)((tp)->tcp_mstamp / 1000))
#define tcp_time_stamp_ts(tp) tcp_time_stamp(tp)
#define tcp_time_stamp_ms(tp) tcp_time_stamp(tp)

/* RFC 5681 §3.1: slow start up to the threshold; returns the ACKed packets beyond it. */
static inline u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 cwnd = min(tp->snd_cwnd + acked, tp->snd_ssthresh);

	acked -= cwnd - tp->snd_cwnd;
	tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
	return acked;
}
/* RFC 5681 §3.1: one packet per `per` ACKed packets. */
static inline void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 per, u32 acked)
{
	struct dumbbell_window w = { .cwnd = tp->snd_cwnd, .cwnd_cnt = tp->snd_cwnd_cnt };

	w.cwnd_clamp = tp->snd_cwnd_clamp;
	dumbbell_additive_increase(&w, per, acked);
	tp->snd_cwnd = w.cwnd;
	tp->snd_cwnd_cnt = w.cwnd_cnt;
}
static inline void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	(void)ack;
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (acked == 0)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}
static inline u32 tcp_reno_ssthresh(struct sock *sk) { return max(tcp_sk(sk)->snd_cwnd / 2, 2u); }
static inline u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}
/* The threshold of a window that was not reduced lately is three quarters of it, if that is more. */
static inline u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, (tp->snd_cwnd >> 1) + (tp->snd_cwnd >> 2));
}
static inline void tcp_enter_cwr(struct sock *sk) { tcp_sk(sk)->enters_cwr_ = true; }

/* BPF and BTF: nothing answers. */
#define BPF_SOCK_OPS_BASE_RTT 7
#define tcp_call_bpf(sk, op, count, args) (-1)
struct btf_id_set8 {
	u32 count;
};
struct btf_kfunc_id_set {
	struct module *owner;
	struct btf_id_set8 *set;
};
#define BTF_KFUNCS_START(name) static struct btf_id_set8 name __maybe_unused;
#define BTF_KFUNCS_END(name)
#define BTF_SET8_START(name) static struct btf_id_set8 name __maybe_unused;
#define BTF_SET8_END(name)
#define BTF_ID_FLAGS(...)
#define BPF_PROG_TYPE_STRUCT_OPS 0
static inline int register_btf_kfunc_id_set(int kind, const struct btf_kfunc_id_set *set)
{
	(void)kind, (void)set;
	return 0;
}

/* Parameters of a module: variables of the file. Their values are those of the whole run. */
enum { DUMBBELL_MOST_PARAMETERS = 64 };
struct dumbbell_variable {
	const char *name;
	void *at;
	u32 bytes;
	bool is_signed, is_bool;
	s64 before; /* value in the source */
};
static struct dumbbell_variable dumbbell_variables[DUMBBELL_MOST_PARAMETERS];
static u32 dumbbell_variable_count;

static inline s64 dumbbell_value(const struct dumbbell_variable *it)
{
	switch (it->bytes) {
	case 1: return it->is_signed ? (s64)*(s8 *)it->at : *(u8 *)it->at;
	case 2: return it->is_signed ? (s64)*(s16 *)it->at : *(u16 *)it->at;
	case 4: return it->is_signed ? (s64)*(s32 *)it->at : *(u32 *)it->at;
	default: return *(s64 *)it->at;
	}
}
static inline void dumbbell_set(const struct dumbbell_variable *it, s64 value)
{
	switch (it->bytes) {
	case 1: *(u8 *)it->at = (u8)value; break;
	case 2: *(u16 *)it->at = (u16)value; break;
	case 4: *(u32 *)it->at = (u32)value; break;
	default: *(s64 *)it->at = value;
	}
}
static inline void dumbbell_add_variable(const char *name, void *at, u32 bytes, bool is_signed, bool is_bool)
{
	struct dumbbell_variable *it = &dumbbell_variables[dumbbell_variable_count];

	if (dumbbell_variable_count == DUMBBELL_MOST_PARAMETERS)
		return;
	*it = (struct dumbbell_variable){ name, at, bytes, is_signed, is_bool, 0 };
	it->before = dumbbell_value(it);
	dumbbell_variable_count++;
}
#define module_param_named(name, variable, type, mode)                                                       \
	__attribute__((constructor)) static void dumbbell_param_##name(void)                                 \
	{                                                                                                    \
		_Static_assert(sizeof(variable) <= 8, "a parameter is a number");                            \
		dumbbell_add_variable(#name, (void *)&variable, sizeof(variable),                            \
				      (__typeof__(variable))-1 < (__typeof__(variable))1,                    \
				      __builtin_types_compatible_p(__typeof__(variable), bool));             \
	}                                                                                                    \
	struct dumbbell_nothing
#define module_param(name, type, mode) module_param_named(name, name, type, mode)
#define MODULE_PARM_DESC(name, text) struct dumbbell_nothing
#define MODULE_AUTHOR(text) struct dumbbell_nothing
#define MODULE_LICENSE(text) struct dumbbell_nothing
#define MODULE_DESCRIPTION(text) struct dumbbell_nothing
#define MODULE_VERSION(text) struct dumbbell_nothing
#define MODULE_ALIAS(text) struct dumbbell_nothing
#define module_init(name)                                                                                    \
	int dumbbell_module_init(void) { return name(); }                                                    \
	struct dumbbell_nothing
#define module_exit(name)                                                                                    \
	void dumbbell_module_exit(void) { name(); }                                                          \
	struct dumbbell_nothing
#define late_initcall(name) module_init(name)
int dumbbell_module_init(void);
void dumbbell_module_exit(void) __attribute__((weak));

static struct tcp_congestion_ops *dumbbell_ops;
static inline int tcp_register_congestion_control(struct tcp_congestion_ops *ops)
{
	if (!ops->ssthresh || !ops->undo_cwnd || !(ops->cong_avoid || ops->cong_control))
		return -EINVAL;
	if (!dumbbell_ops)
		dumbbell_ops = ops;
	return 0;
}
static inline int tcp_validate_congestion_control(struct tcp_congestion_ops *ops)
{
	return ops->ssthresh && ops->undo_cwnd && (ops->cong_avoid || ops->cong_control) ? 0 : -EINVAL;
}
static inline void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops) { (void)ops; }

/* From Dumbbell's hooks to those of Linux. */
static u32 dumbbell_live; /* connections that share the parameters */
static char dumbbell_message[200];

static inline struct sock *dumbbell_enter(void *state, const struct dumbbell_conn *conn,
					  const struct dumbbell_window *w)
{
	struct tcp_sock *tp = state;
	struct sock *sk = &tp->inet_conn.sk;

	dumbbell_now = conn;
	dumbbell_drawn = 0;
	tp->inet_conn.icsk_ca_state = (u8)conn->state;
	tp->snd_una = (u32)conn->snd_una;
	tp->snd_nxt = (u32)conn->snd_nxt;
	tp->bytes_acked = conn->snd_una + 1; /* the SYN counts */
	tp->mss_cache = conn->mss;
	tp->prior_cwnd = conn->prior_cwnd;
	tp->srtt_us = conn->srtt_us8;
	tp->sacked_out = conn->sacked_out;
	tp->delivered = (u32)conn->delivered;
	tp->delivered_ce = (u32)conn->delivered_ce;
	tp->lost = (u32)conn->lost;
	tp->app_limited = (u32)conn->app_limited;
	tp->lsndtime = (u32)conn->last_send_ms;
	tp->tcp_mstamp = conn->now_us;
	tp->delivered_mstamp = conn->delivered_us;
	tp->tcp_wstamp_ns = conn->wstamp_ns;
	tp->tcp_clock_cache = conn->now_ns;
	tp->ecn_flags = conn->ecn ? TCP_ECN_OK : 0;
	tp->is_cwnd_limited = conn->cwnd_limited_flight;
	tp->rx_opt.rcv_tsval = conn->tsval_ms + tp->tsoff_;
	tp->rx_opt.rcv_tsecr = conn->tsecr_ms;
	tp->in_flight_ = conn->in_flight;
	tp->rtt_min.s[0].v = conn->min_rtt_us;
	tp->cwnd_limited_ = conn->cwnd_limited;
	tp->enters_cwr_ = false;
	tp->snd_cwnd = w->cwnd;
	tp->snd_cwnd_cnt = w->cwnd_cnt;
	tp->snd_cwnd_clamp = w->cwnd_clamp;
	tp->snd_ssthresh = w->ssthresh;
	sk->sk_pacing_rate = w->pacing_rate;
	sk->sk_pacing_status = w->flags & DUMBBELL_PACING ? SK_PACING_NEEDED : SK_PACING_NONE;
	return sk;
}
static inline int32_t dumbbell_leave(void *state, struct dumbbell_window *w)
{
	struct tcp_sock *tp = state;
	const struct dumbbell_conn *conn = dumbbell_now;

	w->cwnd = tp->snd_cwnd;
	w->cwnd_cnt = tp->snd_cwnd_cnt;
	w->cwnd_clamp = tp->snd_cwnd_clamp;
	w->ssthresh = tp->snd_ssthresh;
	w->pacing_rate = tp->inet_conn.sk.sk_pacing_rate;
	w->flags &= ~DUMBBELL_PACING;
	if (tp->inet_conn.sk.sk_pacing_status != SK_PACING_NONE)
		w->flags |= DUMBBELL_PACING;
	if (tp->enters_cwr_)
		w->flags |= DUMBBELL_ENTER_CWR;
	if (tp->app_limited != (u32)conn->app_limited) {
		s64 ahead = (s32)(tp->app_limited - (u32)conn->delivered);

		w->flags |= DUMBBELL_SET_APP_LIMITED;
		w->app_limited = tp->app_limited ? conn->delivered + ahead : 0;
	}
	dumbbell_now = &dumbbell_before;
	return 0;
}

static inline void dumbbell_add(const char *text)
{
	size_t at = strlen(dumbbell_message);

	for (; *text && at + 1 < sizeof(dumbbell_message); text++)
		dumbbell_message[at++] = *text;
	dumbbell_message[at] = 0;
}
static inline void dumbbell_say(const char *a, const char *b, const char *c)
{
	dumbbell_message[0] = 0;
	dumbbell_add(a);
	dumbbell_add(b);
	dumbbell_add(c);
}
static int32_t dumbbell_set_parameter(const struct dumbbell_parameter *given, bool only_compare)
{
	for (u32 i = 0; i < dumbbell_variable_count; i++) {
		const struct dumbbell_variable *it = &dumbbell_variables[i];
		double low = it->is_signed ? -(double)(1ull << (8 * it->bytes - 1)) : 0;
		double high = it->is_bool ? 1 : (double)(it->is_signed ? -low : 2.0 * (1ull << (8 * it->bytes - 1)));

		if (strcmp(it->name, given->name) != 0)
			continue;
		if (!(given->value >= low && (it->is_bool ? given->value <= 1 : given->value < high)) ||
		    (double)(s64)given->value != given->value) {
			dumbbell_say("parameter ", it->name, it->is_bool ? ": 0 or 1 is needed" :
				     ": a whole number that its variable holds is needed");
			return -EINVAL;
		}
		if (!only_compare)
			dumbbell_set(it, (s64)given->value);
		else if (dumbbell_value(it) != (s64)given->value)
			return 1;
		return 0;
	}
	dumbbell_say("parameter ", given->name, ": the module has none of this name");
	for (u32 i = 0; i < dumbbell_variable_count; i++) {
		dumbbell_add(i == 0 ? "; it has " : ", ");
		dumbbell_add(dumbbell_variables[i].name);
	}
	return -EINVAL;
}
static int32_t dumbbell_create(void *state, const struct dumbbell_parameters *all)
{
	struct tcp_sock *tp = state;
	struct sock *sk = &tp->inet_conn.sk;
	int32_t status;

	for (u32 i = 0; i < dumbbell_variable_count && dumbbell_live == 0; i++)
		dumbbell_set(&dumbbell_variables[i], dumbbell_variables[i].before);
	for (u32 i = 0; i < all->count; i++) {
		status = dumbbell_set_parameter(&all->list[i], dumbbell_live != 0);
		if (status > 0)
			dumbbell_say("parameter ", all->list[i].name,
				     ": a module has one value of it for all flows of a run, as in Linux");
		if (status != 0)
			return status;
	}
	/* The module's start may compute from its parameters. */
	if (dumbbell_live == 0 && all->count != 0 && dumbbell_module_init() != 0) {
		dumbbell_say("its module_init", " does not accept the parameters", "");
		return -EINVAL;
	}
	dumbbell_live++;
	sk->sk_max_pacing_rate = ~0ul;
	sk->sk_pacing_shift = 10;
	sk->sk_gso_max_size = GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER;
	sk->sk_state = TCP_ESTABLISHED;
	tp->snd_cwnd = TCP_INIT_CWND;
	tp->snd_cwnd_clamp = ~0u;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->rtt_min.s[0].v = ~0u;
	return 0;
}
static void dumbbell_release(void *state)
{
	dumbbell_live--;
	if (dumbbell_ops->release)
		dumbbell_ops->release(state);
}
static void dumbbell_error(void *state, char *to, uint32_t bytes)
{
	(void)state;
	for (u32 i = 0; i < bytes && i < sizeof(dumbbell_message); i++)
		to[i] = dumbbell_message[i];
}
/* The SYN is a packet of its own, right before `init`: its `pkts_acked` waits for the clock of that. */
static int32_t dumbbell_syn_acked(void *state, uint32_t rtt_us)
{
	struct tcp_sock *tp = state;

	tp->syn_acked_ = true;
	tp->syn_rtt_us_ = rtt_us;
	return 0;
}
static int32_t dumbbell_init(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w)
{
	struct tcp_sock *tp = state;
	const struct ack_sample sample = { .pkts_acked = 1, .rtt_us = (s32)tp->syn_rtt_us_ };
	struct sock *sk;

	tp->tsoff_ = conn->random; /* the peer's clock begins at a random time (secure_tcp_ts_off) */
	sk = dumbbell_enter(state, conn, w);
	if (tp->syn_acked_)
		dumbbell_ops->pkts_acked(sk, &sample);
	tp->snd_cwnd = w->cwnd; /* set between both (tcp_init_transfer) */
	if (dumbbell_ops->init)
		dumbbell_ops->init(sk);
	return dumbbell_leave(state, w);
}
static int32_t dumbbell_ssthresh(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w,
				 uint32_t *to)
{
	*to = dumbbell_ops->ssthresh(dumbbell_enter(state, conn, w));
	return dumbbell_leave(state, w);
}
static int32_t dumbbell_cong_avoid(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w,
				   uint32_t acked)
{
	struct sock *sk = dumbbell_enter(state, conn, w);

	dumbbell_ops->cong_avoid(sk, tcp_sk(sk)->snd_una, acked);
	return dumbbell_leave(state, w);
}
static int32_t dumbbell_cong_control(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w,
				     const struct dumbbell_rate_sample *given)
{
	struct sock *sk = dumbbell_enter(state, conn, w);
	const struct rate_sample rs = {
		.prior_delivered = (u32)given->prior_delivered,
		.delivered = (s32)given->delivered,
		.interval_us = (long)given->interval_us,
		.rtt_us = (long)given->rtt_us,
		.losses = (int)given->losses,
		.acked_sacked = given->acked_sacked,
		.prior_in_flight = given->prior_in_flight,
		.is_app_limited = given->app_limited,
		.is_retrans = given->retransmitted,
		.is_ack_delayed = given->ack_delayed,
	};

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
	dumbbell_ops->cong_control(sk, tcp_sk(sk)->snd_una, 0, &rs);
#else
	dumbbell_ops->cong_control(sk, &rs);
#endif
	return dumbbell_leave(state, w);
}
static int32_t dumbbell_set_state(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w,
				  uint32_t next)
{
	dumbbell_ops->set_state(dumbbell_enter(state, conn, w), (u8)next);
	return dumbbell_leave(state, w);
}
static int32_t dumbbell_cwnd_event(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w,
				   uint32_t event)
{
	if (event > CA_EVENT_ECN_IS_CE)
		return 0;
	dumbbell_ops->cwnd_event(dumbbell_enter(state, conn, w), (enum tcp_ca_event)event);
	return dumbbell_leave(state, w);
}
static int32_t dumbbell_in_ack_event(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w,
				     const struct dumbbell_ack_event *event)
{
	u32 flags = (event->slow_path ? CA_ACK_SLOWPATH : 0) | (event->ece ? CA_ACK_ECE : 0);

	dumbbell_ops->in_ack_event(dumbbell_enter(state, conn, w), flags);
	return dumbbell_leave(state, w);
}
static int32_t dumbbell_pkts_acked(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w,
				   const struct dumbbell_ack_sample *given)
{
	/* Linux counts bytes in flight here. */
	const struct ack_sample sample = {
		given->pkts_acked,
		(s32)given->rtt_us,
		given->in_flight * conn->mss,
	};

	dumbbell_ops->pkts_acked(dumbbell_enter(state, conn, w), &sample);
	return dumbbell_leave(state, w);
}
static int32_t dumbbell_undo_cwnd(void *state, const struct dumbbell_conn *conn, struct dumbbell_window *w,
				  uint32_t *to)
{
	*to = dumbbell_ops->undo_cwnd(dumbbell_enter(state, conn, w));
	return dumbbell_leave(state, w);
}
static uint32_t dumbbell_min_tso_segs(void *state, const struct dumbbell_window *w)
{
	struct tcp_sock *tp = state;

	tp->snd_cwnd = w->cwnd;
	tp->inet_conn.sk.sk_pacing_rate = w->pacing_rate;
	return dumbbell_ops->min_tso_segs(&tp->inet_conn.sk);
}
static uint32_t dumbbell_sndbuf_expand(void *state) { return dumbbell_ops->sndbuf_expand(state); }

const struct dumbbell_cc *dumbbell_cc_v1(void)
{
	static struct dumbbell_cc table;
	const struct tcp_congestion_ops *ops;

	if (!dumbbell_ops && dumbbell_module_init() != 0)
		return 0;
	ops = dumbbell_ops;
	if (!ops)
		return 0;
#define DUMBBELL_HOOK(name) (ops->name ? dumbbell_##name : 0)
	table = (struct dumbbell_cc){
		.abi = DUMBBELL_CC_ABI,
		.size = sizeof(table),
		.name = ops->name,
		.flags = ops->flags & TCP_CONG_NEEDS_ECN ? DUMBBELL_CC_NEEDS_ECN : 0,
		.state_size = sizeof(struct tcp_sock),
		.create = dumbbell_create,
		.release = dumbbell_release,
		.error = dumbbell_error,
		.init = ops->init || ops->pkts_acked ? dumbbell_init : 0,
		.syn_acked = ops->pkts_acked ? dumbbell_syn_acked : 0,
		.ssthresh = dumbbell_ssthresh,
		.cong_avoid = DUMBBELL_HOOK(cong_avoid),
		.cong_control = DUMBBELL_HOOK(cong_control),
		.set_state = DUMBBELL_HOOK(set_state),
		.cwnd_event = DUMBBELL_HOOK(cwnd_event),
		.in_ack_event = DUMBBELL_HOOK(in_ack_event),
		.pkts_acked = DUMBBELL_HOOK(pkts_acked),
		.undo_cwnd = dumbbell_undo_cwnd,
		.min_tso_segs = DUMBBELL_HOOK(min_tso_segs),
		.sndbuf_expand = DUMBBELL_HOOK(sndbuf_expand),
	};
#undef DUMBBELL_HOOK
#ifdef DUMBBELL_MODULE_DRAWS
	table.flags |= DUMBBELL_CC_DRAWS;
#endif
	return &table;
}

#endif
