//! Fields of network.

use crate::fields::queues::queue;
use crate::fields::{
    choice, def, list, need, opt, rules, section, sections, Field, Form, Kind, Section, MOST,
};
use crate::fields::{of_parameter, sentence};
use dumbbell_model::catalogue::tcp_options;
use dumbbell_model::tcp_options::PROFILES;
use serde_json::json;

/// Names of the access links.
pub(crate) const ACCESS_LINKS: &[&str] =
    &["wifi", "starlink", "lte", "5g", "docsis", "gpon", "geo"];

/// Options of TCP by their Linux names, with a profile.
fn options() -> Section {
    let profiles: Vec<_> = PROFILES.iter().map(|(name, _)| *name).collect();
    let mut fields = vec![opt(
        "profile",
        choice(&profiles, "profile"),
        "Version of Linux whose defaults count.",
    )];
    for entry in tcp_options::ENTRIES {
        let one = &entry.parameter;
        let bare = one.name == one.field;
        fields.push(opt(one.name, of_parameter(one, bare), &sentence(one.about)));
    }
    let about = "TCP options by their Linux sysctl names (without `net.ipv4.`), over a profile. Sysctls with a unit \
                 that Linux fixes (`tcp_rmem`, `tcp_limit_output_bytes`, `…_ns`) take a bare number in that unit, \
                 or a quantity.";
    section("TcpOptionsSpec", about, fields).hint(rules::of_a_flow)
}

/// Transitions of a chain of four states, with the defaults of `tc`.
fn four_state_fields() -> Vec<Field> {
    vec![
        need("p13", Kind::Share, "Probability per packet to go from 1 to 3: a burst begins."),
        opt("p31", Kind::Share, "From 3 to 1: a burst ends; 1 - p13 by default."),
        def("p32", Kind::Share, json!(0.0), "From 3 to 2: a packet of a burst is received."),
        def("p23", Kind::Share, json!(1.0), "From 2 to 3: the burst goes on."),
        def("p14", Kind::Share, json!(0.0), "From 1 to 4: a lone loss."),
    ]
}

sections! {
    tcp_options = options();
    access = section("AccessSpec", "Named access link. `down` and `up` are the rates to and from the subscriber.", vec![
        need("type", choice(ACCESS_LINKS, "access link"), "Kind of access: wifi, starlink, lte, 5g, docsis, gpon or geo."),
        opt("down", Kind::Rate, "Nominal rate to the subscriber."),
        opt("up", Kind::Rate, "Nominal rate from the subscriber."),
        opt("rtt", Kind::PositiveTime, "Base RTT of the link, without waits for slots."),
        opt("subscriber", Kind::Name, "End of the link where the subscriber is. By default the first of between."),
        def("draw", Kind::Whole(0, 4_294_967_295), json!(1), "Number of a draw of rates and delays over time. Runs with the same number have the same."),
    ]);
    ack_aggregation = section("AckAggregationSpec", "Pure ACKs released in batches.", vec![
        need("max_wait", Kind::PositiveTime, "Longest wait of an ACK for its batch."),
        need("max_acks", Kind::Whole(1, 4_294_967_295), "Most ACKs of a batch."),
    ]);
    both_directions = section("BothDirections", "A pipe in each direction: shared fields, and fields of one direction.", vec![
        opt("forward", Kind::Section(pipe), "Fields of the direction from the first end to the second."),
        opt("backward", Kind::Section(pipe), "Fields of the direction from the second end to the first."),
    ]).over(pipe());
    capture = section("CaptureSpec", "Capture at all taps. `snap`: maximum bytes kept of each frame.", vec![
        def("snap", Kind::PositiveSize, json!(96), "Bytes of each packet that are captured."),
    ]);
    change = section("ChangeSpec", "Change of a pipe at a time: new rate, delay, loss or state.", vec![
        need("at", Kind::Time, "Time from which the new values are valid."),
        opt("rate", Kind::Rate, "New rate."),
        opt("delay", Kind::Time, "New delay."),
        opt("loss", Kind::Short(loss, Form::LOSS), "New loss."),
        opt("state", choice(&["up", "down"], "state of a link"), "New state, up or down. A link that goes down loses all packets in it, and drops what follows."),
    ]);
    empty = section("Empty", "Mapping without fields.", vec![
    ]);
    framing = section("FramingSpec", "Size of frames on the wire. `overhead`: bytes beyond the Ethernet frame without FCS. `mpu`: minimum length. `atm`: carried in ATM cells.", vec![
        def("overhead", Kind::Overhead, json!(0), "Bytes beyond the Ethernet frame without FCS. It may be negative."),
        def("mpu", Kind::Size, json!(0), "Minimum length of a packet on the line."),
        def("atm", Kind::Flag, json!(false), "Packets travel in ATM cells of 53 bytes that carry 48."),
    ]);
    gilbert_elliott = section("GilbertElliottSpec", "Loss in bursts: two states (Gilbert 1960, Elliott 1963).", vec![
        need("good_to_bad", Kind::Share, "Probability per packet to enter the bad state."),
        need("bad_to_good", Kind::Share, "Probability per packet to leave the bad state."),
        def("loss_good", Kind::Share, json!(0.0), "Probability of loss in the good state."),
        def("loss_bad", Kind::Share, json!(1.0), "Probability of loss in the bad state."),
        opt("every", Kind::PositiveTime, "Length of a step in time. Without it each packet is a step."),
    ]);
    host = section("HostSpec", "A host: TCP options and processing jitter.", vec![
        opt("processing_jitter", Kind::Time, "Upper bound of a uniform random delay of every packet at this host. Order is kept."),
    ]).over(tcp_options()).hint(rules::of_a_flow);
    independent = section("IndependentSpec", "Independent loss of each packet.", vec![
        need("probability", Kind::Share, "Probability that a packet is lost."),
    ]);
    link = section("LinkSpec", "A link. Forward is from the first node of `between` to the second.", vec![
        opt("name", Kind::Name, "Name of the link. By default its two ends, as s1-r1."),
        opt("between", list(Kind::Name, 2, 2, false), "The two ends. Forward is from the first to the second."),
        opt("access", Kind::Short(access, Form::ACCESS), "Kind of access link by name, as starlink. Other fields of the link replace its own."),
    ]).over(both_directions());
    loss = section("LossSpec", "Loss model, applied before the queue.", vec![
        opt("none", Kind::Section(empty), "No loss."),
        opt("independent", Kind::Section(independent), "Each packet is lost with the same probability."),
        opt("gilbert_elliott", Kind::Section(gilbert_elliott), "Loss in bursts, with two states."),
        opt("state", Kind::Section(state_loss), "Loss by a chain of four states, as netem's."),
        opt("scripted", list(Kind::Section(scripted_drop), 0, 20000, false), "Loss of named packets of a flow."),
    ]).one_of(&["none", "independent", "gilbert_elliott", "state", "scripted"]);
    neighbour_discovery = section("NeighbourDiscoverySpec", "Address resolution (ARP) by hosts and routers, with Linux's times.", vec![
        def("reachable", Kind::PositiveTime, json!(30_000_000_000_u64), "Mean time for which a resolved address stays reachable."),
        def("probe_delay", Kind::Time, json!(5_000_000_000_u64), "Time after a use of a stale address until the node sends an ARP request."),
    ]);
    netem = section("NetemSpec", "Linux's netem as the queue. `limit` counts delayed packets as well as queued ones.", vec![
        opt("delay", Kind::Short(netem_delay, Form::MEAN), "Fixed delay, or tc's delay with jitter around a mean."),
        opt("jitter", Kind::Time, "Uniform random addition to delay. It may reorder packets. Not beside the words of tc that follow limit."),
        need("limit", Kind::PacketLimit, "Queue limit in packets, delayed and waiting packets together."),
        opt("loss", Kind::Short(netem_loss, Form::NETEM_LOSS), "Share of packets that are lost, or a model of loss of tc."),
        def("ecn", Kind::Flag, json!(false), "ECN-capable packets are marked in place of a loss."),
        opt("duplicate", Kind::Short(correlated, Form::PROBABILITY), "Share of packets queued twice."),
        opt("corrupt", Kind::Short(correlated, Form::PROBABILITY), "Share of packets that are damaged. Their receiver drops them."),
        opt("reorder", Kind::Short(early_reorder, Form::PROBABILITY), "Share of packets that are sent without the delay, in front of all others."),
        opt("seed", Kind::Whole(0, 9_007_199_254_740_992), "Seed of netem's random numbers, the same in each repeat. Without it they follow from the run's seed."),
    ]).rule(rules::netem);
    netem_delay = section("NetemDelaySpec", "Delay of a netem as in tc: jitter on both sides of a mean.", vec![
        need("mean", Kind::Time, "Mean delay."),
        def("jitter", Kind::Time, json!(0), "Half the width of uniform delays; standard deviation of others."),
        def("correlation", Kind::Share, json!(0.0), "Weight of the random number before in the next one."),
        def("distribution", Kind::Name, json!("uniform"), "uniform, normal, pareto, paretonormal, or a file beside the experiment with a table in iproute2's form."),
    ]);
    netem_loss = section("NetemLossSpec", "Models of loss of a netem, with tc's names.", vec![
        opt("random", Kind::Short(correlated, Form::PROBABILITY), "Each packet is lost with the same probability."),
        opt("state", Kind::Section(four_states), "Chain of four states."),
        opt("gemodel", Kind::Section(gemodel), "Gilbert–Elliott: two states."),
    ]).one_of(&["random", "state", "gemodel"]);
    correlated = section("CorrelatedSpec", "A probability, and the correlation of the random numbers behind it.", vec![
        need("probability", Kind::Share, "Probability per packet."),
        def("correlation", Kind::Share, json!(0.0), "Weight of the random number before in the next one."),
    ]);
    early_reorder = section("EarlyReorderSpec", "Early packets of a netem.", vec![
        need("probability", Kind::Share, "Probability that a packet is sent without the delay."),
        def("correlation", Kind::Share, json!(0.0), "Weight of the random number before in the next one."),
        def("gap", Kind::Whole(1, 4_294_967_295), json!(1), "Least distance of two early packets, in packets."),
    ]);
    gemodel = section("GemodelSpec", "Gilbert–Elliott loss of a netem. The state in which a packet finds the chain decides.", vec![
        need("p", Kind::Share, "Probability per packet to enter the bad state."),
        opt("r", Kind::Share, "Probability per packet to leave the bad state; 1 - p by default."),
        def("loss_bad", Kind::Share, json!(1.0), "Probability of loss in the bad state, tc's 1-h."),
        def("loss_good", Kind::Share, json!(0.0), "Probability of loss in the good state, tc's 1-k."),
    ]);
    four_states = section("FourStatesSpec", "Loss by four states: 1 received in a gap, 2 received in a burst, 3 lost in a burst, 4 lost in a gap.", four_state_fields());
    state_loss = section("StateLossSpec", "Loss by four states: 1 received in a gap, 2 received in a burst, 3 lost in a burst, 4 lost in a gap.", {
        let mut fields = four_state_fields();
        fields.push(opt("every", Kind::PositiveTime, "Length of a step in time. Without it each packet is a step."));
        fields
    });
    slot_distribution = section("SlotDistributionSpec", "Waits for slots from a distribution, as tc's `slot distribution`.", vec![
        need("name", Kind::Name, "normal, pareto, paretonormal, or a file beside the experiment with a table in iproute2's form."),
        need("delay", Kind::Time, "Mean wait."),
        need("jitter", Kind::PositiveTime, "Standard deviation of the wait. A wait below 0 is over at once."),
        opt("seed", Kind::Whole(0, 9_007_199_254_740_992), "Seed of the random numbers, the same in each repeat."),
    ]);
    peak = section("PeakSpec", "Peak rate of a token bucket, and the burst at that rate.", vec![
        need("rate", Kind::Rate, "Peak rate of bursts."),
        def("burst", Kind::PositiveSize, json!(1514), "Depth of the second bucket; one frame by default."),
    ]);
    pipe = section("PipeSpec", "One direction of a link, or the fields that both directions share.", vec![
        opt("rate", Kind::Rate, "Rate of the wire. Each packet takes its serialisation time."),
        opt("rates", Kind::Section(rate_trace), "Rates over time from a CSV file, in place of rate."),
        opt("trace", Kind::Section(joint_trace), "Rate, delay and loss over time from one CSV file."),
        opt("shaper", Kind::Short(shaper, Form::SHAPER), "In place of rate: none, serial, tbf (token-bucket filter) or trace (packet-delivery trace)."),
        opt("buffer", Kind::Limits, "Limit of a drop-tail queue: packets, a size, a time, or BDP."),
        opt("netem", Kind::Section(netem), "Linux's netem as the queue, in place of buffer."),
        opt("queue", Kind::Short(queue, Form::QUEUE), "Queue discipline by its name in tc, alone or with its parameters, in place of buffer."),
        opt("delay", Kind::Time, "Propagation delay."),
        opt("jitter", Kind::Time, "Upper bound of a uniform random addition to delay. Order is kept."),
        opt("loss", Kind::Short(loss, Form::LOSS), "Share of packets that are lost, or a model of loss."),
        opt("corruption", Kind::Share, "Share of packets damaged in transit. Their receiver drops them."),
        opt("duplication", Kind::Share, "Share of packets queued twice."),
        opt("policer", Kind::Section(policer), "Token bucket that drops packets in excess of its rate and burst."),
        opt("reordering", Kind::Section(reordering), "A share of packets that gets an extra delay."),
        opt("ack_aggregation", Kind::Section(ack_aggregation), "Release of pure ACKs in batches."),
        opt("slots", Kind::Section(slots), "Transmission opportunities behind the wire, as netem's slot."),
        opt("rewrites", list(Kind::Section(rewrite), 0, 1000, false), "Changes of the headers that ECN uses, for chosen packets."),
        opt("overhead", Kind::Overhead, "Bytes on the wire beyond the Ethernet frame without FCS, as shapers count them."),
        opt("framing", Kind::Short(framing, Form::FRAMING), "Framing of the line by name, or overhead, mpu and atm, in place of overhead."),
        opt("changes", list(Kind::Section(change), 0, 20000, false), "New values of rate, delay, loss or state, each valid from its time on."),
    ]).rule(rules::rivals);
    policer = section("PolicerSpec", "Drops what exceeds a token bucket.", vec![
        need("rate", Kind::Rate, "Rate at which the bucket fills."),
        need("burst", Kind::PositiveSize, "Depth of the bucket."),
    ]);
    rate_trace = section("RateTraceSpec", "Rates over time: a CSV file beside the experiment, and its columns.", vec![
        need("file", Kind::Name, "CSV file beside the experiment, with a header."),
        need("column", Kind::Name, "Column of rates."),
        opt("unit", choice(&["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "bit", "kbit", "Mbit", "Gbit", "Tbit"], "unit of a rate"), "Unit of the rates, as kbit/s."),
        opt("time", Kind::Name, "Column of times."),
        def("time_unit", choice(&["ns", "us", "µs", "μs", "ms", "s", "min", "h"], "unit of a time"), json!("s"), "Unit of times that are numbers."),
        def("from", Kind::Time, json!(0), "Start of the part of the measurement that is used."),
        opt("length", Kind::PositiveTime, "Length of the part of the measurement that is used."),
    ]);
    joint_trace = section("JointTraceSpec", "Rate, delay and loss over time: a CSV file beside the experiment whose columns have units in their names.", vec![
        need("file", Kind::Name, "CSV file beside the experiment: a column of times, and any of rate, delay, loss, as time_s, rate_mbps, delay_ms, loss_percent."),
        def("from", Kind::Time, json!(0), "Start of the part of the file that is used."),
        opt("length", Kind::PositiveTime, "Length of the part of the file that is used."),
        def("end", choice(&["hold", "repeat"], "end of a trace"), json!("hold"), "Behind the last row: its values hold, or the trace repeats."),
    ]);
    reordering = section("ReorderingSpec", "Reordering: an extra delay for some packets.", vec![
        need("probability", Kind::Share, "Share of packets with the extra delay."),
        need("extra_delay", Kind::PositiveTime, "Delay that these packets get in addition."),
    ]);
    rewrite = section("RewriteSpec", "Change of the headers of packets that enter a link.", vec![
        opt("flow", Kind::Name, "Name of the flow whose packets are changed. Without it all are."),
        opt("nth", list(Kind::Whole(1, 9_007_199_254_740_992), 1, MOST, true), "Numbers of the packets that are changed, from 1 on, in the order in which they enter."),
        opt("ecn", choice(&["not_ect", "ect1", "ect0", "ce"], "ECN field"), "ECN field of the IP header after the change."),
        opt("clear_flags", list(choice(&["ece", "cwr", "ae"], "TCP flag"), 1, MOST, true), "TCP flags that are cleared."),
        opt("set_flags", list(choice(&["ece", "cwr", "ae"], "TCP flag"), 1, MOST, true), "TCP flags that are set."),
        opt("strip_option", choice(&["accecn"], "TCP option"), "TCP option that is overwritten with no-operation options."),
    ]).rule(rules::rewrite);
    route = section("RouteSpec", "An explicit route. `via` names links, or neighbours joined by one link.", vec![
        need("at", list(Kind::Name, 1, MOST, true), "Node or nodes with this route."),
        need("to", list(Kind::Name, 1, MOST, true), "Destination host or hosts."),
        need("via", list(Kind::Name, 1, MOST, true), "Next hop, or several in order for spraying. A link, or the name of a neighbour."),
    ]);
    router = section("RouterSpec", "A router or switch.", vec![
        opt("spray", Kind::Short(spray, Form::SPRAY), "Packet spraying over all next hops, or none."),
        opt("processing_jitter", Kind::Time, "Upper bound of a uniform random delay of every packet at this node. Order is kept."),
    ]);
    sampling = section("SamplingSpec", "Tables over time. `repeats`: number of first repeats that keep them.", vec![
        def("interval", Kind::PositiveTime, json!(20000000), "Time between samples."),
        def("keep", list(choice(&["samples", "queues", "drops", "probes"], "table"), 0, MOST, false), json!([]), "Tables over time to keep, such as samples, queues, drops or probes."),
        opt("packets", Kind::Section(time_range), "Time during which every packet that passes a tap is kept."),
        opt("hops", Kind::Section(time_range), "Time during which the path of every packet is kept, for traces and animations."),
        opt("capture", Kind::Short(capture, Form::CAPTURE), "Capture of packets at the taps, as pcapng."),
        opt("repeats", Kind::Whole(1, 100_000), "Number of first repeats for which these are kept."),
    ]);
    scripted_drop = section("ScriptedDropSpec", "Drops of the n-th segments of a flow, counted from 1.", vec![
        need("flow", Kind::Name, "Flow that loses packets."),
        need("nth", list(Kind::Whole(1, 9_007_199_254_740_992), 1, MOST, true), "Which packets with payload of this flow are dropped, from 1, retransmissions included."),
    ]);
    serial = section("SerialSpec", "Serialisation: one packet at a time, at the rate of the link.", vec![
        need("rate", Kind::Rate, "Rate of the wire."),
    ]);
    shaper = section("ShaperSpec", "Shaper of a pipe.", vec![
        opt("none", Kind::Section(empty), "No shaper; packets leave at once."),
        opt("serial", Kind::Section(serial), "A wire: one packet at a time."),
        opt("tbf", Kind::Section(tbf), "Token-bucket filter, as Linux's tbf."),
        opt("trace", Kind::Section(trace), "Packet-delivery trace of mahimahi."),
    ]).one_of(&["none", "serial", "tbf", "trace"]);
    slots = section("SlotsSpec", "Slots in which packets leave. Names and meaning as in netem's `slot`.", vec![
        def("min", Kind::Time, json!(0), "Shortest wait for a slot."),
        opt("max", Kind::PositiveTime, "Longest wait for a slot."),
        opt("distribution", Kind::Section(slot_distribution), "Distribution of the wait, in place of min and max."),
        def("packets", Kind::Whole(0, 2_147_483_647), json!(0), "Packets that leave in a slot; 0 means all that wait."),
        def("bytes", Kind::Size, json!(0), "Bytes that leave in a slot; 0 means all that wait."),
        def("pause", Kind::Time, json!(0), "Time without slots in each interval pause_every."),
        def("pause_every", Kind::Time, json!(0), "Interval between pauses."),
    ]).rule(rules::slots);
    spray = section("SpraySpec", "Packet spraying over equal-cost paths.", vec![
        need("policy", choice(&["round_robin", "random", "per_flow"], "spraying policy"), "round_robin, random (per packet), or per_flow (by a hash of the flow)."),
        def("what", choice(&["data", "acks", "both"], "kind of packets"), json!("both"), "Packets that are sprayed: data (with payload), acks (without), or both."),
        opt("first", Kind::Whole(0, 4_294_967_295), "First next hop of round_robin, from 0. By default it is drawn from the seed."),
    ]);
    tap = section("TapSpec", "Tap: the interface of a node at which packets are observed.", vec![
        opt("name", Kind::Name, "Name of the tap. By default node:link."),
        need("at", Kind::Name, "Node of the tap."),
        need("link", Kind::Name, "Link of the tap."),
    ]);
    tbf = section("TbfSpec", "Linux's token-bucket filter.", vec![
        need("rate", Kind::Rate, "Rate at which the bucket fills."),
        need("burst", Kind::PositiveSize, "Depth of the bucket."),
        opt("peak", Kind::Section(peak), "Second bucket that limits the rate of bursts."),
        def("initial", Kind::Initial, json!("random"), "Level at the start: full, empty, a size, or random (drawn from the seed)."),
    ]);
    time_range = section("TimeRangeSpec", "Time range in which packets are recorded.", vec![
        def("from", Kind::Time, json!(0), "Start of the time."),
        need("to", Kind::PositiveTime, "End of the time."),
    ]);
    trace = section("TraceSpec", "Packet-delivery trace in mahimahi's format: a file, or times in ms.", vec![
        opt("file", Kind::Name, "File beside the experiment with one time in ms per line. At each time up to 1504 bytes leave."),
        opt("deliveries", list(Kind::Whole(0, 1_099_511_627_776), 0, MOST, false), "Times of delivery, in place of a file."),
    ]).one_of(&["file", "deliveries"]);
}
