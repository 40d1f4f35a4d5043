//! ns-2's wireless traces in both formats, and SCTP lines: counted and skipped lines.

use dumbbell_trace::{read, OpenError, Problem, Reading, Summary};

fn summary(text: &str) -> (Summary, Reading) {
    let mut summary = Summary::default();
    let reading = match read(text.as_bytes(), &mut summary, |_| true) {
        Ok(reading) => reading,
        Err(error) => panic!("{error}"),
    };
    summary.end(&reading);
    (summary, reading)
}

/// Line of the old format: event, time, node, level, packet, kind, bytes, endpoints, sequence
/// number.
fn old(what: &str, time: f64, at: [&str; 3], id: u64, kind: &str, ends: [&str; 2]) -> String {
    let [node, level, reason] = at;
    let [from, to] = ends;
    format!(
        "{what} {time:.9} _{node}_ {level}  {reason} {id} {kind} 1040 [13a 1 0 800] ------- \
         [{from} {to} 32 1] [{id} 0] 0 0\n"
    )
}

fn new(what: &str, time: f64, at: [&str; 3], id: u64, kind: &str, ends: [&str; 2]) -> String {
    let [node, level, reason] = at;
    let ends = ends.map(|end| end.replace(':', "."));
    format!(
        "{what} -t {time:.9} -Hs {node} -Hd -2 -Ni {node} -Nx 5.00 -Ny 2.00 -Nz 0.00 -Ne -1.000000 \
         -Nl {level} -Nw {reason} -Ma 0 -Md 0 -Ms 0 -Mt 0 -Is {} -Id {} -It {kind} -Il 1040 -If 2 \
         -Ii {id} -Iv 32 -Pn tcp -Ps {id} -Pa 0 -Pf 0 -Po 0 \n",
        ends[0], ends[1]
    )
}

type Writer = fn(&str, f64, [&str; 3], u64, &str, [&str; 2]) -> String;

fn trace(line: Writer, dropped: &str) -> String {
    let (there, back) = (["0:0", "2:1"], ["2:1", "0:0"]);
    let mut text = String::from("M 0.00000 0 (5.00, 2.00, 0.00), (20.00, 18.00), 1.00\n");
    text += &line("s", 0.5, ["0", "RTR", "---"], 90, "AODV", ["0:255", "-1:255"]);
    for id in 0..3_u64 {
        let time = 1.0 + id as f64;
        text += &line("s", time, ["0", "AGT", "---"], id, "tcp", there);
        text += &line("r", time, ["0", "RTR", "---"], id, "tcp", there);
        text += &line("s", time + 0.1, ["0", "MAC", "---"], id, "tcp", there);
        // Lost once and repeated by the MAC. Routing gives up the second packet.
        text += &line(dropped, time + 0.15, ["1", "MAC", "COL"], id, "tcp", there);
        text += &line("f", time + 0.2, ["1", "RTR", "---"], id, "tcp", there);
        if id == 1 {
            text += &line("D", time + 0.3, ["1", "RTR", "CBK"], id, "tcp", there);
            text += &line("D", time + 0.3, ["1", "IFQ", "---"], id, "tcp", there);
            continue;
        }
        text += &line("r", time + 0.5, ["2", "AGT", "---"], id, "tcp", there);
        text += &line("s", time + 0.5, ["2", "AGT", "---"], 50 + id, "ack", back);
        text += &line("r", time + 0.6, ["0", "AGT", "---"], 50 + id, "ack", back);
    }
    text += &line("s", 5.0, ["0", "AGT", "---"], 7, "tcp", there);
    text += &line("D", 6.0, ["1", "IFQ", "END"], 7, "tcp", there);
    text
}

fn problem<'a>(problems: &'a [Problem], part: &str) -> Option<&'a Problem> {
    problems.iter().find(|one| one.message.contains(part))
}

#[test]
fn what_agents_sent_and_received_is_counted_in_both_formats() {
    for (name, line, dropped) in [("old", old as Writer, "D"), ("new", new as Writer, "d")] {
        let (summary, reading) = summary(&trace(line, dropped));
        let [flow] = &summary.flows(&reading)[..] else { panic!("{name}: not one flow") };
        assert_eq!((flow.from_host.as_str(), flow.to_host.as_str()), ("0", "2"), "{name}");
        let counts = (
            flow.sent_packets.stored(),
            flow.received_packets.stored(),
            flow.dropped_packets.stored(),
        );
        assert_eq!(counts, (4, 2, 1), "{name}");
        assert_eq!(
            (flow.delivered_bytes.stored(), flow.kind.as_str()),
            (2 * 1040, "tcp"),
            "{name}"
        );
        let delays = &summary.streams.counts[0].delays;
        assert_eq!((delays.count, delays.min_ns, delays.max_ns), (2, 500_000_000, 500_000_000));
        let pipes: Vec<_> = summary.pipes(&reading).into_iter().map(|pipe| pipe.pipe).collect();
        assert_eq!(pipes, ["0-2/forward", "0-2/backward"], "{name}");
        for (part, lines) in [
            ("position or energy of a node", 1),
            ("an event of routing (RTR)", 7),
            ("'MAC', below routing", 3),
            ("lost by the MAC", 3),
            ("in transit at the end of the simulation", 1),
            ("that was dropped before", 1),
        ] {
            let found = problem(&reading.problems, part);
            assert_eq!(found.map(|one| one.lines), Some(lines), "{name}: {part}");
        }
        assert_eq!(reading.problems.len(), 6, "{name}: {:?}", reading.problems);
    }
}

#[test]
fn the_manuals_own_lines_are_read() {
    // ns manual, section 16.1.7.
    let text = "r -t 10.000000000 -Hs 0 -Hd -2 -Ni 0 -Nx 5.00 -Ny 2.00 -Nz 0.00 -Ne -1.000000 -Nl RTR \
        -Nw --- -Ma 0 -Md 0 -Ms 0 -Mt 0 -Is 0.0 -Id 1.0 -It tcp -Il 1000 -If 2 -Ii 2 -Iv 32 -Pn tcp \
        -Ps 0 -Pa 0 -Pf 0 -Po 0\n\
        s -t 100.004776054 -Hs 1 -Hd -2 -Ni 1 -Nx 25.05 -Ny 20.05 -Nz 0.00 -Ne -1.000000 -Nl AGT -Nw \
        --- -Ma 0 -Md 0 -Ms 0 -Mt 0 -Is 1.0 -Id 0.0 -It ack -Il 40 -If 2 -Ii 22 -Iv 32 -Pn tcp -Ps 0 \
        -Pa 0 -Pf 0 -Po 0\n";
    let (summary, reading) = summary(text);
    assert_eq!(reading.times_ns.0, 100_004_776_054);
    assert_eq!(summary.flows(&reading)[0].sent_packets.stored(), 1);
}

#[test]
fn a_broadcast_counts_at_its_first_receiver() {
    let ends = ["0:5", "-1:5"];
    let text = [
        old("s", 1.0, ["0", "AGT", "---"], 1, "cbr", ends),
        old("r", 1.1, ["3", "AGT", "---"], 1, "cbr", ends),
        old("r", 1.1, ["4", "AGT", "---"], 1, "cbr", ends),
        old("r", 1.2, ["4", "AGT", "---"], 9, "cbr", ends),
    ];
    let (summary, reading) = summary(&text.concat());
    assert_eq!(summary.flows(&reading)[0].received_packets.stored(), 1);
    assert!(problem(&reading.problems, "further receiver").is_some());
    assert!(problem(&reading.problems, "that no agent of the trace has sent").is_some());
}

#[test]
fn missing_agent_lines_are_reported() {
    let line = old("s", 0.5, ["0", "RTR", "---"], 90, "AODV", ["0:255", "-1:255"]);
    let found = read(line.as_bytes(), &mut Summary::default(), |_| true);
    let Err(OpenError::Nothing(Some(problem))) = found else { panic!("read") };
    assert!(problem.message.contains("routing (RTR)"), "{}", problem.message);
}

#[test]
fn packets_of_sctp_are_kept_and_count_once_whatever_their_chunks() {
    // ns manual, section 36.3; the fourth packet has two chunks.
    let text = "+ 0.5 1 4 sctp 56 -------I 0 1.0 4.0 1 -1 4 65535 65535\n\
        - 0.5 1 4 sctp 56 -------I 0 1.0 4.0 1 -1 4 65535 65535\n\
        r 0.700896 1 4 sctp 56 -------I 0 1.0 4.0 1 -1 4 65535 65535\n\
        + 1.302944 1 4 sctp 1500 -------S 0 1.0 4.0 2 3 8 65535 65535\n\
        + 1.302944 1 4 sctp 1500 -------D 0 1.0 4.0 2 1 8 0 0\n\
        - 1.302944 1 4 sctp 1500 -------S 0 1.0 4.0 2 3 8 65535 65535\n\
        - 1.302944 1 4 sctp 1500 -------D 0 1.0 4.0 2 1 8 0 0\n\
        r 1.526624 1 4 sctp 1500 -------S 0 1.0 4.0 2 3 8 65535 65535\n\
        r 1.526624 1 4 sctp 1500 -------D 0 1.0 4.0 2 1 8 0 0\n";
    let (summary, reading) = summary(text);
    let [flow] = &summary.flows(&reading)[..] else { panic!("not one flow") };
    assert_eq!((flow.sent_packets.stored(), flow.received_packets.stored()), (2, 2));
    assert_eq!(flow.received_bytes.stored(), 1556);
    let [chunks] = &reading.problems[..] else { panic!("{:?}", reading.problems) };
    assert!(chunks.message.contains("further chunk") && chunks.lines == 3);
}
