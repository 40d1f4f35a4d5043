// SPDX-License-Identifier: GPL-2.0
/* Congestion control mine: Reno (RFC 5681), to be changed. One file for the simulator and for Linux. */
#include <linux/module.h>
#include <net/tcp.h>

/* What the window keeps after a loss, in 1024ths. */
static int beta __read_mostly = 512;
module_param(beta, int, 0644);
MODULE_PARM_DESC(beta, "what the window keeps after a loss, in 1024ths");

/* State of a connection: zeros before init, at most ICSK_CA_PRIV_SIZE bytes. */
struct mine {
	u32 losses;
};

static void mine_init(struct sock *sk)
{
	struct mine *ca = inet_csk_ca(sk);

	ca->losses = 0;
}

/* The threshold after a loss, packets. */
static u32 mine_ssthresh(struct sock *sk)
{
	struct mine *ca = inet_csk_ca(sk);

	ca->losses++;
	return max((tcp_snd_cwnd(tcp_sk(sk)) * beta) >> 10, 2U);
}

/* Grows the window for `acked` packets. */
static void mine_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
}

static struct tcp_congestion_ops mine __read_mostly = {
	.init		= mine_init,
	.ssthresh	= mine_ssthresh,
	.cong_avoid	= mine_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "mine",
};

static int __init mine_register(void)
{
	BUILD_BUG_ON(sizeof(struct mine) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&mine);
}

static void __exit mine_unregister(void)
{
	tcp_unregister_congestion_control(&mine);
}

module_init(mine_register);
module_exit(mine_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("mine");
