//! Any file is read to its end, and the counters are consistent.

use dumbbell_model::tables::Int;
use dumbbell_trace::{read, Hops, Summary, Window};
use proptest::prelude::*;

/// Arbitrary field.
fn odd() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "",
        "-",
        "0",
        "-1",
        "1e-05",
        "1e400",
        "nan",
        "999999999999999999",
        "9999999999999999999",
        "4294967296",
        "0x",
        "0xffff",
        "_0_",
        "-t",
        "é",
        "\u{0}",
        "\t",
        "1.2.3.4",
        "1073741824.0",
        "::",
        "/NodeList/0/DeviceList/1/",
        "ns3::Ipv4Header (",
        ")",
        "length: ",
        ">",
    ])
    .prop_map(str::to_owned)
}

/// Line of ns-2, mostly valid.
fn line() -> impl Strategy<Value = String> {
    let event = prop::sample::select(vec!["+", "-", "r", "d", "+", "-", "r", "v", "s", "x"]);
    let numbers = (0..2_000_000u64, 0..4u32, 0..4u32, 0..1500u32, 0..20i64, 0..30u64);
    let kind = prop::sample::select(vec!["tcp", "ack", "cbr"]);
    let broken = proptest::option::weighted(0.2, (0..13usize, odd()));
    (event, numbers, kind, broken, any::<bool>()).prop_map(
        |(event, (time, from, to, size, seq, uid), kind, broken, long)| {
            let mut fields = vec![
                event.to_owned(),
                format!("{}.{:06}", time / 1_000_000, time % 1_000_000),
                from.to_string(),
                to.to_string(),
                kind.to_owned(),
                size.to_string(),
                "-------".to_owned(),
                (uid % 3).to_string(),
                format!("{from}.0"),
                format!("{to}.0"),
                seq.to_string(),
                uid.to_string(),
            ];
            if long {
                fields.extend(["7", "0x10", "40", "0"].map(str::to_owned));
            }
            if let Some((at, odd)) = broken {
                if at < fields.len() {
                    fields[at] = odd;
                } else {
                    fields.truncate(5);
                }
            }
            fields.join(" ")
        },
    )
}

/// Line of ns-3, mostly valid.
fn line_of_ns_3() -> impl Strategy<Value = String> {
    let event = prop::sample::select(vec!["+", "-", "r", "d"]);
    let odd = proptest::option::weighted(0.2, odd());
    (event, 0..1000u32, 0..3u32, 0..2u32, 0..5u32, odd).prop_map(
        |(event, time, node, device, id, odd)| {
            let odd = odd.unwrap_or_default();
            format!(
                "{event} {time} /NodeList/{node}/DeviceList/{device}/$ns3::X{odd} ns3::Ipv4Header (tos \
                 0x0 DSCP Default ECN Not-ECT ttl 64 id {id} protocol 6 offset (bytes) 0 flags [none] \
                 length: 56 10.0.0.1 > 10.0.0.2) ns3::TcpHeader (1 > 2 [ACK{odd}] Seq={id} Ack=0 Win=9) \
                 Payload (size={id})"
            )
        },
    )
}

fn check(bytes: &[u8]) {
    let mut summary = Summary::default();
    let Ok(reading) = read(bytes, &mut summary, |_| true) else { return };
    summary.end(&reading);
    assert!(reading.events <= reading.lines);
    let reported: u64 = reading.problems.iter().map(|problem| problem.lines).sum();
    assert!(reported + reading.events <= reading.lines);
    let (flows, pipes) = (summary.flows(&reading), summary.pipes(&reading));
    assert_eq!(pipes.len(), summary.links.len());
    assert_eq!(flows.len(), reading.network.flows.len());
    let arrived = pipes.iter().map(|pipe| pipe.arrived_packets).sum::<Int>().stored();
    assert!(arrived <= reading.events as i64);
    let dropped: u64 = summary.links.iter().map(|link| link.dropped[0] + link.dropped[1]).sum();
    assert_eq!(dropped, summary.dropped);
    for flow in &flows {
        assert!(flow.delivered_bytes.get() <= flow.received_bytes.get(), "{flow:?}");
    }
    assert!(summary.queues(&reading).len() + summary.samples(&reading).len() <= 1_000_000);
    let mut hops = Hops::new(Window { from_ns: 0, to_ns: i64::MAX, most: 1000 });
    let Ok(again) = read(bytes, &mut hops, |_| true) else { panic!("read once, but not again") };
    let rows = hops.rows(&again);
    assert_eq!(rows.len() as u64 + hops.left_out, arrived as u64);
    for row in rows {
        let [offered, left, ended] = [row.offered_ns, row.leaves_ns, row.ended_ns].map(Int::stored);
        assert!(left < 0 || offered <= left);
        assert!(ended < 0 || offered.max(left) <= ended);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..<_>::default() })]

    #[test]
    fn ns_2(lines in proptest::collection::vec(line(), 1..80), sorted: bool, cut in 0..200usize) {
        let mut lines = lines;
        if sorted {
            let time = |line: &String| line.split(' ').nth(1).map(str::to_owned);
            lines.sort_by_key(time);
        }
        let mut bytes = lines.join("\n").into_bytes();
        bytes.truncate(bytes.len().saturating_sub(cut));
        check(&bytes);
    }

    #[test]
    fn ns_3(lines in proptest::collection::vec(line_of_ns_3(), 1..40)) {
        check(lines.join("\n").as_bytes());
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        check(&bytes);
    }
}
