//! Queue disciplines. To add one, write an entry here, a file of the same name in
//! `crates/sim/src/qdisc`, and a builder in `crates/guest/src/builders.rs`.

use super::parameter::{bytes, packets, Parameter, Value};
use super::InLinux;
use serde::Serialize;

/// Calls a macro with `Variant module { entry };` or `Variant module { entry } { parameters };` for
/// every discipline with its own file in `crates/sim/src/qdisc`. Pages and messages list them in this
/// order; it affects no result.
///
/// A parameter is `field "field of the scenario": Type = unit, range and default`. The struct of the
/// parameters is made from this list. Without a list, the struct is in `queue.rs`.
#[macro_export]
macro_rules! for_disciplines {
    ($call:ident) => {
        $call! {
            HeadDrop head_drop {
                name: "pfifo_head_drop",
                title: "FIFO, head drop",
                linux: in_linux("pfifo_head_drop", "NET_SCH_FIFO", "2.6.34"),
                source: "Linux's sch_fifo.c",
                about: "First in, first out; if the queue is full, its oldest packet is dropped.",
            } {
                /// Queue limit.
                limit_packets "limit_packets": u64 = packets("limit", 1000);
            };
            Red red {
                name: "red",
                title: "RED",
                linux: in_linux("red", "NET_SCH_RED", "2.2"),
                source: "Floyd and Jacobson 1993; Floyd et al. 2001; Linux's sch_red.c",
                about: "Signals at random, the more often the longer the average queue.",
            } {
                /// Queue limit.
                limit_bytes "limit_bytes": u64 = bytes("limit", 400_000);
                /// Average queue at which random signals begin.
                min_bytes "min_bytes": u64 = bytes("min", 0).derived("a third of `max`");
                /// Average queue at which every packet is signalled.
                max_bytes "max_bytes": u64 = bytes("max", 0).derived("3 `min`, or a quarter of `limit`");
                /// Mean packet length, from which the weight of the average follows.
                average_packet_bytes "average_packet_bytes": u64 = bytes("avpkt", 1000);
                /// Packets of a burst that may pass before the average reaches `min`; sets the weight of the average.
                burst_packets "burst_packets": u64 =
                    whole("burst", 1, 65_536, 0).derived("(2 `min` + `max`) / (3 `avpkt`)");
                /// Probability of a signal as the average reaches `max`.
                probability "probability": f64 = share("probability", 0.02);
                /// Mark packets of ECN-capable flows instead of dropping them (RFC 3168).
                ecn "ecn": bool = flag("ecn", false);
                /// Above `max`, drop all packets, also those that could be marked.
                harddrop "harddrop": bool = flag("harddrop", false);
                /// With `ecn`: packets of other flows are dropped only at `limit`, never earlier.
                nodrop "nodrop": bool = flag("nodrop", false);
                /// Adapts the probability so that the average stays between `min` and `max`. Simulator only: `tc`
                /// does not make the kernel adapt.
                adaptive "adaptive": bool = flag("adaptive", false);
            };
            Choke choke {
                name: "choke",
                title: "CHOKe",
                linux: in_linux("choke", "NET_SCH_CHOKE", "2.6.39"),
                source: "Pan, Prabhakar and Psounis 2000; Linux's sch_choke.c",
                about: "RED that also compares an arriving packet with one drawn from the queue, and drops both if they belong to one flow.",
            } {
                /// Queue limit.
                limit_packets "limit_packets": u64 = packets("limit", 1000).at_most(131_071);
                /// Average queue at which comparisons and random signals begin.
                min_packets "min_packets": u64 = packets("min", 0).derived("a third of `max`");
                /// Average queue above which every packet is signalled.
                max_packets "max_packets": u64 = packets("max", 0).derived("a quarter of `limit`");
                /// Packets of a burst that may pass before the average reaches `min`; sets the weight of the average.
                burst_packets "burst_packets": u64 =
                    whole("burst", 1, 65_536, 0).derived("(2 `min` + `max`) / 3");
                /// Probability of a signal as the average reaches `max`.
                probability "probability": f64 = share("probability", 0.02);
                /// Mark packets of ECN-capable flows instead of dropping them (RFC 3168). Pairs of one flow are still dropped.
                ecn "ecn": bool = flag("ecn", false);
            };
            Codel codel {
                name: "codel",
                title: "CoDel",
                linux: in_linux("codel", "NET_SCH_CODEL", "3.5"),
                source: "RFC 8289; Linux's sch_codel.c",
                about: "Signals once packets have waited longer than a target for a whole interval.",
            } {
                /// Queue limit.
                limit_packets "limit_packets": u64 = packets("limit", 1000);
                /// Time in the queue that is acceptable.
                target "target_ns": Span = time("target", 0, 5_000_000);
                /// Time for which packets may exceed the target before a signal.
                interval "interval_ns": Span = time("interval", 1, 100_000_000);
                /// Mark packets of ECN-capable flows instead of dropping them (RFC 3168).
                ecn "ecn": bool = flag("ecn", false);
                /// Mark every ECN-capable packet that has waited longer than this, as DCTCP expects (RFC 8257); 0: off.
                ce_threshold "ce_threshold_ns": Span = time("ce_threshold", 0, 0);
            };
            FqCodel fq_codel {
                name: "fq_codel",
                title: "FQ-CoDel",
                linux: in_linux("fq_codel", "NET_SCH_FQ_CODEL", "3.5"),
                source: "RFC 8290; Linux's sch_fq_codel.c",
                about: "A queue with CoDel for each flow, served in turn, new flows first.",
            } {
                /// Queue limit over all flows.
                limit_packets "limit_packets": u64 = packets("limit", 10_240);
                /// Number of queues.
                flows "flows": u32 = whole("flows", 1, 65_536, 1024);
                /// Bytes that a flow may send in its turn.
                quantum_bytes "quantum_bytes": u32 = quantum("quantum", 1514);
                /// Time in the queue that is acceptable.
                target "target_ns": Span = time("target", 0, 5_000_000);
                /// Time for which packets may exceed the target before a signal.
                interval "interval_ns": Span = time("interval", 1, 100_000_000);
                /// Mark packets of ECN-capable flows instead of dropping them (RFC 3168).
                ecn "ecn": bool = flag("ecn", true);
                /// Mark every ECN-capable packet that has waited longer than this, as DCTCP expects (RFC 8257); 0: off.
                ce_threshold "ce_threshold_ns": Span = time("ce_threshold", 0, 0);
                /// `ce_threshold` marks only ECT(1), as L4S expects (in `tc`: `ce_threshold_selector 0x1/0x3`).
                ce_threshold_ect1 "ce_threshold_ect1": bool = flag("ce_threshold_ect1", false);
            };
            Pie pie {
                name: "pie",
                title: "PIE",
                linux: in_linux("pie", "NET_SCH_PIE", "3.14"),
                source: "RFC 8033; Linux's sch_pie.c",
                about: "Signals at random; the probability follows the queueing delay and its change.",
            } {
                /// Queue limit.
                limit_packets "limit_packets": u64 = packets("limit", 1000);
                /// Queueing delay that the controller aims at.
                target "target_ns": Span = time("target", 1, 15_000_000);
                /// Time between updates of the probability.
                tupdate "tupdate_ns": Span = time("tupdate", 1_000_000, 15_000_000);
                /// Weight of the distance between delay and target, in sixteenths per second.
                alpha "alpha": u32 = whole("alpha", 0, 32, 2);
                /// Weight of the change of the delay, in sixteenths per second.
                beta "beta": u32 = whole("beta", 0, 32, 20);
                /// Mark packets of ECN-capable flows instead of dropping them, while the probability is at most 10 %.
                ecn "ecn": bool = flag("ecn", false);
                /// Drop probability in proportion to the packet's length.
                bytemode "bytemode": bool = flag("bytemode", false);
            };
            FqPie fq_pie {
                name: "fq_pie",
                title: "FQ-PIE",
                linux: in_linux("fq_pie", "NET_SCH_FQ_PIE", "5.6"),
                source: "RFC 8033, RFC 8290; Linux's sch_fq_pie.c",
                about: "A queue with PIE for each flow, served in turn, new flows first.",
            };
            Sfq sfq {
                name: "sfq",
                title: "SFQ",
                linux: in_linux("sfq", "NET_SCH_SFQ", "2.2"),
                source: "McKenney 1990; Linux's sch_sfq.c",
                about: "A queue for each flow, served in turn; its hash never changes (no perturbation).",
            } {
                /// Queue limit over all flows.
                limit_packets "limit_packets": u64 = packets("limit", 127);
                /// Number of flows that may have packets waiting at once.
                flows "flows": u32 = whole("flows", 1, 65_536, 128);
                /// Queue limit of a flow, packets.
                depth_packets "depth_packets": u32 = whole("depth", 1, 127, 127);
                /// Bytes that a flow may send in its turn.
                quantum_bytes "quantum_bytes": u32 = quantum("quantum", 1514);
                /// A flow at its depth drops its oldest packet, not the arriving one.
                headdrop "headdrop": bool = flag("headdrop", false);
            };
            Fq fq {
                name: "fq",
                title: "fq",
                linux: in_linux("fq", "NET_SCH_FQ", "3.12"),
                source: "Linux's sch_fq.c",
                about: "A queue for each flow, served in turn. On a link it paces nothing, as forwarded packets have no pacing rate.",
            } {
                /// Queue limit over all flows; with `priority_bands`, the limit of each band.
                limit_packets "limit_packets": u64 = packets("limit", 10_000);
                /// Queue limit of a flow.
                flow_limit_packets "flow_limit_packets": u64 = packets("flow_limit", 100);
                /// Bytes that a flow may send in its turn.
                quantum_bytes "quantum_bytes": u32 = quantum("quantum", 3028);
                /// Bytes that a flow may send in its first turn.
                initial_quantum_bytes "initial_quantum_bytes": u32 = quantum("initial_quantum", 15_140);
                /// fq of Linux 6.7 and later, which has three priority bands by DSCP and one common queue for packets
                /// that arrive while nothing waits. Kernels ignore this parameter: each has the fq of its release.
                priority_bands "priority_bands": bool = flag("priority_bands", true);
            };
            Dualpi2 dualpi2 {
                name: "dualpi2",
                title: "DualPI2",
                linux: in_linux("dualpi2", "NET_SCH_DUALPI2", "6.17"),
                source: "RFC 9332; Linux's sch_dualpi2.c",
                about: "A queue of low latency for packets with ECT(1) or CE, and one for all others; their signals are coupled.",
            } {
                /// Limit of both queues together.
                limit_packets "limit_packets": u64 = packets("limit", 10_000);
                /// Queueing delay that the controller aims at.
                target "target_ns": Span = time("target", 0, 15_000_000);
                /// Time between updates of the probability.
                tupdate "tupdate_ns": Span = time("tupdate", 1000, 16_000_000).at_most(4_000_000_000);
                /// Weight of the distance between delay and target, in 256ths per second.
                alpha "alpha": u32 = whole("alpha", 1, 65_535, 41);
                /// Weight of the change of the delay, in 256ths per second.
                beta "beta": u32 = whole("beta", 1, 65_535, 819);
                /// Time in the queue of low latency above which every packet is marked: the step.
                step_threshold "step_thresh_ns": Span = time("step_thresh", 0, 1_000_000).at_most(4_000_000_000);
                /// Fewest packets in the queue of low latency for which the step applies.
                min_qlen_step "min_qlen_step": u32 = whole("min_qlen_step", 0, 65_535, 0);
                /// Ratio of the marking probability in the queue of low latency to the controller's.
                coupling_factor "coupling_factor": u32 = whole("coupling_factor", 1, 255, 2);
                /// Least share of the rate for the queue of all other packets, percent.
                classic_protection_percent "classic_protection_percent": u32 = whole("classic_protection", 0, 100, 10);
                /// If the probability for low latency reaches 1, drop its packets; otherwise its queue grows to the limit.
                drop_on_overload "drop_on_overload": bool = flag("drop_on_overload", true);
                /// Drop or mark when a packet arrives, not when it leaves.
                drop_enqueue "drop_enqueue": bool = flag("drop_enqueue", false);
                /// Packets with ECT(0) also use the queue of low latency.
                any_ect "any_ect": bool = flag("any_ect", false);
            };
            Cake cake {
                name: "cake",
                title: "CAKE",
                linux: in_linux("cake", "NET_SCH_CAKE", "4.19"),
                source: "Høiland-Jørgensen, Täht and Morton 2018; Linux's sch_cake.c",
                about: "A shaper with priority tins by DSCP, a queue with COBALT for each flow, and fairness among hosts.",
            } {
                /// Rate of CAKE's own shaper; the link then has no `rate`.
                bandwidth "bandwidth_bps": Rate = rate("bandwidth").within(0, u64::MAX).derived("unlimited: the link's `rate` empties it");
                /// Set of priority tins by DSCP, as in tc-cake(8).
                diffserv "diffserv": Diffserv = choice("diffserv", Diffserv::WORDS);
                /// Parties that share the rate equally: flows, hosts, or both, as in tc-cake(8).
                isolation "isolation": Isolation = choice("isolation", Isolation::WORDS);
                /// Typical RTT: COBALT's interval; its target is a twentieth of it.
                rtt "rtt_ns": Span = time("rtt", 1000, 100_000_000).at_most(4_000_000_000);
                /// Bytes that the line adds to an IP packet. The default is an Ethernet header, as `tc` without `overhead`.
                overhead_bytes "overhead_bytes": i32 = of_unit("overhead", Unit::Signed).at_most(256).given(14);
                /// Shortest packet on the line; shorter ones count as this long.
                mpu_bytes "mpu_bytes": u32 = bytes("mpu", 0).within(0, 256);
                /// Line code: none, cells of ATM, or PTM.
                atm "atm": Cells = choice("atm", Cells::WORDS);
                /// Removes queued ACKs that a later ACK of the flow makes superfluous.
                ack_filter "ack_filter": AckFilter = choice("ack_filter", AckFilter::WORDS);
                /// The shaper stands behind the bottleneck, so dropped packets use its rate too.
                ingress "ingress": bool = flag("ingress", false);
                /// Queue limit as the memory that its packets take.
                memlimit_bytes "memlimit_bytes": u32 = bytes("memlimit", 0).within(0, 1 << 31).derived("4 `bandwidth` `rtt`, at least 4 MiB, at most 10240 frames");
            };
            Prio prio {
                name: "prio",
                title: "Priority bands",
                linux: in_linux("prio", "NET_SCH_PRIO", "2.2"),
                source: "Linux's sch_prio.c",
                about: "Bands by DSCP, in order of priority; the first that is not empty is served.",
            };
            Drr drr {
                name: "drr",
                title: "DRR",
                linux: in_linux("drr", "NET_SCH_DRR", "2.6.29"),
                source: "Shreedhar and Varghese 1995; Linux's sch_drr.c",
                about: "Classes by DSCP, served in turn; each sends the bytes of its quantum.",
            };
            Htb htb {
                name: "htb",
                title: "HTB",
                linux: in_linux("htb", "NET_SCH_HTB", "2.4.20"),
                source: "Linux's sch_htb.c",
                about: "Token buckets: classes by DSCP have rates of their own, and borrow what others leave unused.",
            };
        }
    };
}

/// Description of a queue discipline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Name in experiment files. Results show the name of [`InLinux`] if there is one.
    pub name: &'static str,
    /// Name in the scenario.
    pub key: &'static str,
    /// Name of its type. Its definition in the schema has this name with `Spec`.
    pub variant: &'static str,
    /// Name on pages.
    pub title: &'static str,
    /// Name and release in Linux; `None`: no kernel has it, for the reason in `not_in_linux`.
    pub linux: Option<InLinux>,
    /// Reason why no kernel has it; empty if a kernel has it.
    pub not_in_linux: &'static str,
    /// RFC, paper, or file of the Linux kernel.
    pub source: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
    /// Parameters in the order of pages. Empty for disciplines with classes, whose fields are written by hand.
    pub parameters: &'static [Parameter],
}

/// Parameters of a discipline and their values.
pub trait Parameters {
    /// Parameters in the order of pages.
    const PARAMETERS: &'static [Parameter] = &[];

    /// Values in the order of [`Self::PARAMETERS`].
    fn values(&self) -> Vec<Value> {
        Vec::new()
    }
}

const PLAIN: Entry = Entry {
    name: "",
    key: "",
    variant: "",
    title: "",
    linux: None,
    not_in_linux: "",
    source: "",
    about: "",
    parameters: &[],
};

const fn in_linux(
    name: &'static str,
    option: &'static str,
    since: &'static str,
) -> Option<InLinux> {
    Some(InLinux { name, option, since })
}

/// Queues without their own file: both are `drop_tail` in a scenario.
const FIFOS: [Entry; 2] = [
    Entry {
        name: "pfifo",
        key: "drop_tail",
        variant: "Pfifo",
        title: "FIFO",
        linux: in_linux("pfifo", "NET_SCH_FIFO", "2.2"),
        source: "Linux's sch_fifo.c",
        about: "First in, first out; a packet that does not fit is dropped.",
        parameters: &[Parameter {
            field: "limit_packets",
            about: "Queue limit.",
            ..packets("limit", 1000)
        }],
        ..PLAIN
    },
    Entry {
        name: "bfifo",
        key: "drop_tail",
        variant: "Bfifo",
        title: "FIFO, limit in bytes",
        linux: in_linux("bfifo", "NET_SCH_FIFO", "2.2"),
        source: "Linux's sch_fifo.c",
        about: "First in, first out; a packet that does not fit is dropped.",
        parameters: &[Parameter {
            field: "limit_bytes",
            about: "Queue limit, bytes of frames.",
            ..bytes("limit", 1_514_000)
        }],
        ..PLAIN
    },
];

macro_rules! define {
    ($($variant:ident $module:ident { $($entry:tt)+ } $({ $($parameters:tt)+ })?;)+) => {
        /// Disciplines with their own file, in the order of [`for_disciplines`].
        const OWN: &[Entry] = &[$(Entry {
            key: stringify!($module),
            variant: stringify!($variant),
            parameters: <crate::queue::$variant as Parameters>::PARAMETERS,
            $($entry)+
            ..PLAIN
        },)+];

        /// Number of queues without their own file.
        const FIRST: usize = FIFOS.len();

        /// All queues and disciplines.
        pub const ENTRIES: [Entry; FIRST + OWN.len()] = {
            let mut all = [PLAIN; FIRST + OWN.len()];
            let mut i = 0;
            while i < all.len() {
                all[i] = if i < FIRST { FIFOS[i] } else { OWN[i - FIRST] };
                i += 1;
            }
            all
        };
    };
}

for_disciplines!(define);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_say_what_pages_need() {
        for entry in ENTRIES {
            assert!(!entry.title.is_empty() && entry.about.ends_with('.'), "{}", entry.name);
            assert!(!entry.source.is_empty(), "{}", entry.name);
            assert_eq!(entry.linux.is_none(), !entry.not_in_linux.is_empty(), "{}", entry.name);
            for one in entry.parameters {
                let about = one.about;
                assert!(about.ends_with('.') && !about.contains("  "), "{}: {about}", entry.name);
                assert!(one.least <= one.most, "{}.{}", entry.name, one.name);
            }
        }
    }

    #[test]
    fn defaults_lie_in_their_ranges() {
        for entry in ENTRIES {
            for one in entry.parameters {
                if let super::super::parameter::Default::Given(value) = one.default {
                    assert_eq!(one.check("at", value), Ok(()), "{}", entry.name);
                }
            }
        }
    }
}
