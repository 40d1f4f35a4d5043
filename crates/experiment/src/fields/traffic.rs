//! Fields of traffic.

use crate::fields::network::tcp_options;
use crate::fields::{choice, def, list, need, opt, rules, section, sections, Form, Kind, Section};
use crate::fields::{of_parameter, sentence};
use crate::queue::default_of;
use crate::stream::STACKS;
use dumbbell_model::catalogue::congestion_control;
use dumbbell_model::catalogue::parameter::{Parameter, Unit};
use dumbbell_model::catalogue::traffic::ENTRIES;
use serde_json::{json, Value};

/// Congestion controls of a connection with one path.
pub(crate) fn single() -> Vec<&'static str> {
    let entries = congestion_control::ENTRIES.iter().filter(|entry| !entry.coupled);
    entries.map(|entry| entry.name).collect()
}

/// All congestion controls, those that couple subflows last.
pub(crate) fn every() -> Vec<&'static str> {
    let coupled = congestion_control::ENTRIES.iter().filter(|entry| entry.coupled);
    single().into_iter().chain(coupled.map(|entry| entry.name)).collect()
}

/// Traffic of a kind with parameters in the catalogue.
fn of_kind(name: &'static str, spec: &'static str) -> Section {
    let entry = ENTRIES.iter().find(|entry| entry.name == name);
    let parameters = entry.map_or(&[][..], |entry| entry.parameters);
    let field = |one: &Parameter| match default_of(one) {
        Value::Null => need(one.name, of_parameter(one, false), &sentence(one.about)),
        value => def(one.name, of_parameter(one, false), value, &sentence(one.about)),
    };
    let written = parameters.iter().filter(|one| one.unit != Unit::Unwritten);
    section(spec, entry.map_or("", |entry| entry.about), written.map(field).collect())
}

sections! {
    udp = of_kind("udp", "UdpSpec");
    ping = of_kind("ping", "PingSpec");
    video = of_kind("video", "VideoSpec");
    quic = of_kind("quic", "QuicSpec");
    arrivals = section("ArrivalsSpec", "Poisson process of TCP flows, given by flows per second or by load.", vec![
        need("name", Kind::Name, "Name of the process. Its flows are name.1, name.2 and so on."),
        opt("group", Kind::Name, "Group of the flows."),
        need("from", Kind::Name, "Sending host."),
        need("to", Kind::Name, "Receiving host."),
        def("start", Kind::Time, json!(0), "First possible arrival."),
        opt("stop", Kind::Time, "Last possible arrival. By default the end of the run."),
        def("dscp", Kind::Codepoint, json!(0), "Codepoint of the packets of its flows."),
        opt("per_second", Kind::Positive, "Mean number of arrivals per second."),
        opt("load", Kind::Rate, "Mean payload per second, in place of per_second."),
        need("size", Kind::Short(size, Form::SIZE), "Size of a flow: fixed, or a distribution."),
        need("tcp", Kind::Short(connection, Form::TCP), "The flows' TCP: the name of a congestion control, or fields."),
    ]).one_of(&["per_second", "load"]);
    bulk = section("BulkSpec", "Writes whenever the send buffer has free space.", vec![
        opt("bytes", Kind::PositiveSize, "Bytes to send; then the connection closes."),
        def("refill", Kind::Time, json!(0), "Sleep between writes that fill the send buffer. 0 s means no sleep."),
    ]);
    connection = section("ConnectionSpec", "TCP settings of the flows.", vec![
        need("congestion_control", Kind::Algorithm, "Congestion control of the sender."),
        opt("fq", Kind::Flag, "The fq qdisc of the sending host paces. By default as the congestion control needs."),
        opt("sender", Kind::Section(tcp_options), "TCP options at the sender. They precede those of the host."),
        opt("receiver", Kind::Section(tcp_options), "TCP options at the receiver. They precede those of the host."),
    ]);
    exponential = section("ExponentialSpec", "Exponential distribution.", vec![
        need("mean", Kind::PositiveSize, "Mean size."),
    ]);
    flow = section("FlowSpec", "Traffic from one host to another. `count`: number of such flows. With `count`, `{i}` in name, from and to stands for 1, 2, … count, and `{i+n}` for the number `n` further on; with n below count, 1 follows count.", vec![
        opt("name", Kind::Name, "Name of the flow. By default flow1, flow2 and so on."),
        opt("group", Kind::Name, "Group of the flow. Metrics that begin with group_ add up a group."),
        need("from", Kind::Name, "Sending host."),
        need("to", Kind::Name, "Receiving host."),
        def("start", Kind::Time, json!(0), "Time of the first packet."),
        opt("stop", Kind::Time, "Time after which no new data is sent. By default the end of the run."),
        opt("start_jitter", Kind::Jitter, "Upper bound of a uniform random delay of the start: a time, or a multiple of the base RTT, as 1 RTT."),
        def("dscp", Kind::Codepoint, json!(0), "Codepoint of its packets in both directions: EF, AF41, CS1, or 0 to 63."),
        opt("count", Kind::Whole(1, 1_000_000_000), "Number of such flows. {i} in name, from and to stands for 1, 2 and so on."),
        opt("tcp", Kind::Short(tcp, Form::TCP), "A TCP flow: the name of a congestion control, or fields."),
        opt("mptcp", Kind::Short(mptcp, Form::MPTCP), "A Multipath TCP connection: the name of a congestion control, or fields."),
        opt("udp", Kind::Short(udp, Form::UDP), "A UDP flow: a rate of payload, or fields."),
        opt("ping", Kind::Short(ping, Form::PING), "Echo requests: their interval, or fields."),
        opt("video", Kind::Short(video, Form::VIDEO), "Video over UDP: a rate of payload, or fields."),
        opt("quic", Kind::Short(quic, Form::QUIC), "A connection of a QUIC stack: the name of its congestion control, or fields."),
        opt("voice", Kind::Short(voice, Form::VOICE), "A voice call over RTP: the name of a codec."),
    ]).one_of(&["tcp", "mptcp", "udp", "ping", "video", "quic", "voice"]).hint(|key| rules::option_hint(key, "tcp."));
    lognormal = section("LognormalSpec", "Lognormal distribution. `sigma`: standard deviation of the natural logarithm.", vec![
        need("median", Kind::PositiveSize, "Median size."),
        need("sigma", Kind::Positive, "Standard deviation of the logarithm of the size."),
    ]);
    mptcp = section("MptcpSpec", "A Multipath TCP connection (RFC 8684) and its applications. `fullmesh`: a subflow for each pair of interfaces of both hosts with a path between them. `ndiffports`: `subflows` subflows between the first pair of interfaces.", vec![
        need("congestion_control", Kind::SubflowAlgorithm, "Congestion control of every subflow, or a coupled one."),
        def("scheduler", choice(&["default", "lowest_rtt", "round_robin", "redundant", "blest", "ecf"], "scheduler"), json!("default"), "Scheduler of Multipath TCP, which chooses the subflow of new data."),
        def("path_manager", choice(&["fullmesh", "ndiffports"], "path manager"), json!("fullmesh"), "How subflows are opened: fullmesh or ndiffports."),
        opt("subflows", Kind::Subflows, "Number of subflows, or a list of them."),
        def("opportunistic", Kind::Flag, json!(false), "Opportunistic retransmission and penalties (Raiciu et al. 2012)."),
    ]).over(stream()).hint(|key| rules::option_hint(key, ""));
    on_off = section("OnOffSpec", "Writes chunks at an interval in on periods, and nothing in off periods.", vec![
        need("chunk", Kind::PositiveSize, "Bytes of each write."),
        need("interval", Kind::PositiveTime, "Time between writes during an on period."),
        need("on", Kind::PositiveTime, "Length of an on period, or its mean."),
        need("off", Kind::Time, "Length of an off period, or its mean."),
        def("lengths", choice(&["fixed", "exponential"], "distribution"), json!("fixed"), "fixed: all periods have these lengths. exponential: each is drawn."),
        opt("bytes", Kind::PositiveSize, "Bytes to send; then the connection closes."),
    ]);
    pareto = section("ParetoSpec", "Bounded Pareto distribution.", vec![
        need("shape", Kind::Positive, "Shape of the distribution. Smaller values have heavier tails."),
        need("min", Kind::PositiveSize, "Smallest size."),
        need("max", Kind::PositiveSize, "Size at which the distribution is cut off."),
    ]);
    periodic = section("PeriodicSpec", "Writes a chunk at a fixed interval: application-limited.", vec![
        need("chunk", Kind::PositiveSize, "Bytes of each write."),
        need("interval", Kind::PositiveTime, "Time between writes."),
        opt("bytes", Kind::PositiveSize, "Bytes to send; then the connection closes."),
    ]);
    point = section("PointSpec", "Point of a CDF: the share `upto` of the sizes is at most `size`.", vec![
        need("size", Kind::PositiveSize, "Size at this point of the CDF."),
        need("upto", Kind::Share, "Share of sizes up to this one."),
    ]);
    sink = section("SinkSpec", "The receiving application.", vec![
        def("lowat", Kind::PositiveSize, json!(1), "The application reads when this many bytes are readable (SO_RCVLOWAT)."),
        opt("rate", Kind::Rate, "Greatest rate at which the application reads."),
    ]);
    size = section("SizeSpec", "Distribution of sizes.", vec![
        opt("fixed", Kind::PositiveSize, "One size for all."),
        opt("exponential", Kind::Short(exponential, Form::EXPONENTIAL), "Exponential distribution of sizes."),
        opt("lognormal", Kind::Section(lognormal), "Lognormal distribution of sizes."),
        opt("pareto", Kind::Section(pareto), "Pareto distribution of sizes, cut off at max."),
        opt("empirical", list(Kind::Section(point), 1, 10000, false), "Distribution given by points of its CDF."),
    ]).one_of(&["fixed", "exponential", "lognormal", "pareto", "empirical"]);
    requests = section("RequestsSpec", "A client that sends requests to a server over persistent connections.", vec![
        need("name", Kind::Name, "Name of the requests. Their connections are flows called name-1, name-2 and so on, from the server to the client; of messages from the client."),
        opt("group", Kind::Name, "Group of the requests in metrics. By default their name."),
        need("client", Kind::Name, "Host that sends requests and opens the connections."),
        need("server", Kind::Name, "Host that responds."),
        def("connections", Kind::Whole(1, 10_000), json!(1), "Number of connections. Each has one request at a time."),
        def("start", Kind::Time, json!(0), "Time at which all connections are opened."),
        opt("stop", Kind::Time, "Time after which no request is due. By default the end of the run."),
        opt("count", Kind::Whole(1, 1_000_000_000), "Number of requests; with `think` of each connection. By default no limit."),
        opt("think", Kind::Time, "Closed loop: time from a response until the next request on its connection. The default is 0 s."),
        opt("interval", Kind::PositiveTime, "Open loop: time between requests, whether earlier ones are answered or not."),
        opt("per_second", Kind::Positive, "Open loop: mean number of requests per second, in place of interval."),
        opt("times", choice(&["fixed", "exponential"], "distribution"), "fixed: all think times or intervals have this length. exponential: each is drawn. By default exponential with per_second, else fixed."),
        need("request", Kind::Short(size, Form::SIZE), "Size of a request: fixed, or a distribution."),
        opt("response", Kind::Short(size, Form::SIZE), "Size of a response. Without it requests are messages that the server does not answer."),
        def("service", Kind::Time, json!(0), "Time of the server before it responds."),
        def("request_writes", Kind::Whole(1, 1000), json!(1), "Writes of equal size in which the client sends a request."),
        def("response_writes", Kind::Whole(1, 1000), json!(1), "Writes of equal size in which the server sends a response."),
        def("nodelay", Kind::Flag, json!(false), "TCP_NODELAY at both ends: small segments are sent at once. Otherwise Nagle's algorithm holds them."),
        def("dscp", Kind::Codepoint, json!(0), "Codepoint of the packets in both directions."),
        def("congestion_control", Kind::Algorithm, json!("cubic"), "Congestion control at both ends."),
        opt("fq", Kind::Flag, "The fq qdisc of both ends paces. By default as the congestion control needs."),
    ]).rule(rules::requests);
    source = section("SourceSpec", "The sending application.", vec![
        opt("bulk", Kind::Section(bulk), "The application writes as fast as the socket accepts."),
        opt("periodic", Kind::Section(periodic), "The application writes a chunk at each interval."),
        opt("on_off", Kind::Section(on_off), "The application writes chunks during on periods, and nothing during off periods."),
    ]).one_of(&["bulk", "periodic", "on_off"]);
    subflow = section("SubflowSpec", "A subflow of a multipath connection: its interfaces and times.", vec![
        opt("local", Kind::Name, "Link (or neighbour) of the sender."),
        opt("remote", Kind::Name, "Link (or neighbour) of the receiver."),
        def("backup", Kind::Flag, json!(false), "The subflow is used only if no other can be."),
        opt("start", Kind::Time, "Time of its addition."),
        opt("stop", Kind::Time, "Time of its removal."),
    ]);
    stream = section("StreamSpec", "Applications of a connection, and the TCP options of its hosts.", vec![
        opt("fq", Kind::Flag, "The fq qdisc of the sending host paces. By default as the congestion control needs."),
        opt("bytes", Kind::PositiveSize, "Bytes to send; then the connection closes."),
        opt("source", Kind::Short(source, Form::SOURCE), "What the sending application writes: bulk, periodic or on_off."),
        def("sink", Kind::Section(sink), json!({}), "How the receiving application reads."),
        opt("sender", Kind::Section(tcp_options), "TCP options of this flow at its sender. They precede those of the host."),
        opt("receiver", Kind::Section(tcp_options), "TCP options of this flow at its receiver. They precede those of the host."),
    ]).rule(rules::one_amount);
    tcp = section("TcpSpec", "A TCP connection and its applications.", vec![
        need("congestion_control", Kind::Algorithm, "Congestion control of the sender."),
        def("stack", choice(STACKS, "stack"), json!("linux"), "Stack of the sender: Linux's TCP, or smoltcp's, which has CUBIC and Reno. The receiver is Linux's."),
        opt("nodelay", Kind::Flag, "TCP_NODELAY: small segments are sent at once. By default Nagle's algorithm holds them."),
        opt("notsent_lowat", Kind::PositiveSize, "TCP_NOTSENT_LOWAT: the application writes while less than this is not sent. By default the send buffer decides."),
    ]).over(stream()).hint(|key| rules::option_hint(key, "")).forbidden(rules::of_subflows);
    voice = section("VoiceSpec", "Speech: an RTP datagram (RFC 3550) every 20 ms.", vec![
        def("codec", choice(&["g711"], "codec"), json!("g711"), "Codec of the call."),
    ]);
}
