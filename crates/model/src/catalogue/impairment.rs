//! Impairments of a link. To add one, write an entry here and a stage in `crates/sim/src/network/link`.

use super::parameter::{bytes, choice, rate, share, time, whole, Parameter};
use serde::Serialize;

/// Upper bound of times without one.
const ANY: u64 = u64::MAX;

/// Description of an impairment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Field of a link in experiment files; below it, after a dot, one of several models.
    pub name: &'static str,
    /// Name on pages.
    pub title: &'static str,
    /// Realisation on the kernel's engines; empty: they refuse it.
    pub linux: &'static str,
    /// Paper or RFC.
    pub source: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
    /// Parameters in the order of pages; empty: the field is a value.
    pub parameters: &'static [Parameter],
}

/// Step of a chain of losses.
const fn every() -> Parameter {
    time("every", 1, 0)
        .within(1, ANY)
        .derived("a packet")
        .at("every_ns", "length of a step in time")
}

/// All impairments, in the order in which a packet passes them.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "rewrites",
        title: "Rewriting of ECN",
        linux: "the filter of `crates/guest/src/rewriting.rs`",
        source: "RFC 3168 §18, RFC 9768 §3.2.2.4, §3.2.3.2",
        about: "ECN field, TCP flags or AccECN option of chosen packets are changed, as by some \
                middleboxes.",
        parameters: &[],
    },
    Entry {
        name: "duplication",
        title: "Duplication",
        linux: "netem duplicate",
        source: "",
        about: "A share of packets enters the link twice.",
        parameters: &[],
    },
    Entry {
        name: "policer",
        title: "Policer",
        linux: "tc police",
        source: "RFC 2697",
        about: "Packets beyond a token bucket are dropped at once.",
        parameters: &[
            rate("rate").at("rate_bps", "fill rate"),
            bytes("burst", 0).required().at("burst_bytes", "depth of the bucket"),
        ],
    },
    Entry {
        name: "loss.independent",
        title: "Independent loss",
        linux: "netem loss random",
        source: "",
        about: "Each packet is lost with the same probability.",
        parameters: &[share("probability", 0.0)
            .required()
            .at("probability", "of a loss, per packet")],
    },
    Entry {
        name: "loss.gilbert_elliott",
        title: "Loss in bursts",
        linux: "netem loss gemodel",
        source: "Gilbert 1960, Elliott 1963",
        about:
            "Two states with a loss probability each; every packet draws the state, then the loss.",
        parameters: &[
            share("good_to_bad", 0.0)
                .required()
                .at("good_to_bad", "change to the bad state, per packet"),
            share("bad_to_good", 0.0)
                .required()
                .at("bad_to_good", "change to the good state, per packet"),
            share("loss_good", 0.0).at("loss_good", "loss in the good state"),
            share("loss_bad", 1.0).at("loss_bad", "loss in the bad state"),
            every(),
        ],
    },
    Entry {
        name: "loss.state",
        title: "Loss by four states",
        linux: "netem loss state",
        source: "Salsano, Ludovici, Ordine 2009",
        about: "A chain of received and lost packets in gaps and bursts; every packet draws the next \
                state.",
        parameters: &[
            share("p13", 0.0).required().at("p13", "a burst of losses begins, per packet"),
            share("p31", 0.0).derived("1 - `p13`").at("p31", "a burst ends"),
            share("p32", 0.0).at("p32", "a packet of a burst is received"),
            share("p23", 1.0).at("p23", "the burst goes on behind it"),
            share("p14", 0.0).at("p14", "a lone loss"),
            every(),
        ],
    },
    Entry {
        name: "loss.scripted",
        title: "Scripted loss",
        linux: "the filter of `crates/guest/src/scripted.rs`",
        source: "",
        about: "Named data segments of named flows are lost.",
        parameters: &[],
    },
    Entry {
        name: "ack_aggregation",
        title: "ACK aggregation",
        linux: "the sockets of `crates/guest/src/aggregation.rs`, in front of the queue",
        source: "RFC 3449 §4",
        about: "Bare ACKs are collected and enter the queue in batches.",
        parameters: &[
            time("max_wait", 1, 0)
                .within(1, ANY)
                .required()
                .at("max_wait_ns", "longest wait of an ACK"),
            whole("max_acks", 1, u32::MAX as u64, 0).required().at("max_acks", "ACKs of a batch"),
        ],
    },
    Entry {
        name: "corruption",
        title: "Corruption",
        linux: "netem corrupt",
        source: "",
        about: "A share of packets crosses the link damaged; the far end drops them.",
        parameters: &[],
    },
    Entry {
        name: "netem",
        title: "netem",
        linux: "netem delay, loss, ecn, duplicate, corrupt, reorder, seed",
        source: "tc-netem(8), sch_netem.c",
        about: "Linux's netem as the queue, with the words of tc: distributions, correlations, models of \
                loss, early packets. Both engines draw the same numbers.",
        parameters: &[],
    },
    Entry {
        name: "slots",
        title: "Transmission opportunities",
        linux: "netem slot",
        source: "sch_netem.c",
        about:
            "Packets wait for a slot, and leave in it together: a TXOP of Wi-Fi, a grant of LTE, \
                5G, DOCSIS or GPON. Pauses are the simulator's alone.",
        parameters: &[
            time("min", 0, 0).within(0, ANY).at("min_ns", "shortest wait for a slot"),
            time("max", 1, 0)
                .within(1, ANY)
                .derived("needed without `distribution`")
                .at("max_ns", "longest wait for a slot, uniform between both"),
            choice("distribution", &["normal", "pareto", "paretonormal"])
                .derived("uniform")
                .at("distribution", "of the wait, in place of `min` and `max`"),
            whole("packets", 0, i32::MAX as u64, 0).at("packets", "packets of a slot (0: all)"),
            bytes("bytes", 0)
                .within(0, i32::MAX as u64)
                .at("bytes", "bytes of a slot (0: all); the packet that exceeds them leaves"),
            time("pause", 0, 0).within(0, ANY).at("pause_ns", "length of pauses without slots"),
            time("pause_every", 0, 0).within(0, ANY).at("pause_every_ns", "interval of pauses"),
        ],
    },
    Entry {
        name: "reordering",
        title: "Reordering",
        linux: "netem reorder, at an interface behind the queue",
        source: "RFC 4737",
        about: "A share of packets is held back on the line and arrives behind later ones.",
        parameters: &[
            share("probability", 0.0).required().at("probability", "of holding a packet back"),
            time("extra_delay", 1, 0)
                .within(1, ANY)
                .required()
                .at("extra_delay_ns", "how long it is held"),
        ],
    },
    Entry {
        name: "jitter",
        title: "Jitter",
        linux: "netem delay",
        source: "",
        about: "A uniform random addition to the delay; packets stay in order.",
        parameters: &[],
    },
];
