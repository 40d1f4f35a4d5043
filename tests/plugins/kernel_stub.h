/* What a policy's module uses of Linux, for a test of its arithmetic outside of a kernel. */
#include <stdint.h>
#include <string.h>
typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;
typedef int32_t s32;
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))
#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define max_t(type, a, b) ((type)(a) > (type)(b) ? (type)(a) : (type)(b))
#define clamp_t(type, value, low, high) min_t(type, max_t(type, value, low), high)
#define div_u64(a, b) ((u64)(a) / (u32)(b))
#define div64_u64(a, b) ((u64)(a) / (u64)(b))
#define BUILD_BUG_ON(bad) _Static_assert(!(bad), "too large")
#define ICSK_CA_PRIV_SIZE 104
#define __init
#define __exit
#define __read_mostly
#define THIS_MODULE 0
#define TCP_CONG_NON_RESTRICTED 1
#define module_init(name) int (*exported_init)(void) = name;
#define module_exit(name) void (*exported_exit)(void) = name;
#define MODULE_LICENSE(text)
#define MODULE_DESCRIPTION(text)
struct tcp_sock {
	u64 tcp_mstamp;
	u32 delivered, lost, srtt_us, min_rtt_us, in_flight, snd_cwnd, snd_cwnd_clamp, snd_ssthresh;
};
struct sock {
	struct tcp_sock tp;
	u64 state[ICSK_CA_PRIV_SIZE / 8];
};
struct rate_sample {
	long rtt_us;
};
struct tcp_congestion_ops {
	u32 flags;
	const char *name;
	void *owner;
	void (*init)(struct sock *);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
	void (*cong_control)(struct sock *, u32, int, const struct rate_sample *);
#else
	void (*cong_control)(struct sock *, const struct rate_sample *);
#endif
	u32 (*ssthresh)(struct sock *);
	u32 (*undo_cwnd)(struct sock *);
};
static inline struct tcp_sock *tcp_sk(const struct sock *sk) { return (struct tcp_sock *)&sk->tp; }
static inline void *inet_csk_ca(const struct sock *sk) { return (void *)sk->state; }
static inline u32 tcp_packets_in_flight(const struct tcp_sock *tp) { return tp->in_flight; }
static inline u32 tcp_min_rtt(const struct tcp_sock *tp) { return tp->min_rtt_us; }
static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp) { return tp->snd_cwnd; }
static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 cwnd) { tp->snd_cwnd = cwnd; }
static inline u32 tcp_reno_undo_cwnd(struct sock *sk) { return sk->tp.snd_cwnd; }
static inline int tcp_register_congestion_control(struct tcp_congestion_ops *ops) { return !ops; }
static inline void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops) { (void)ops; }
