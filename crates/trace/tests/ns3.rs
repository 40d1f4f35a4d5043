//! ns-3's ASCII traces of one device, of IPv6 and of Wi-Fi.

use dumbbell_trace::{read, OpenError, Reading, Summary};

fn summary(text: &str) -> (Summary, Reading) {
    let mut summary = Summary::default();
    let reading = match read(text.as_bytes(), &mut summary, |_| true) {
        Ok(reading) => reading,
        Err(error) => panic!("{error}"),
    };
    summary.end(&reading);
    (summary, reading)
}

fn lines_of(reading: &Reading, part: &str) -> u64 {
    let found = reading.problems.iter().find(|one| one.message.contains(part));
    found.map_or(0, |one| one.lines)
}

fn v4(id: u32, ends: &str, ports: &str) -> String {
    format!(
        "ns3::Ipv4Header (tos 0x0 DSCP Default ECN Not-ECT ttl 64 id {id} protocol 17 offset (bytes) 0 \
         flags [none] length: 1052 {ends}) ns3::UdpHeader (length: 1032 {ports}) Payload (size=1024)"
    )
}

fn tcp6(ends: &str, ports: &str, sequence: u32) -> String {
    format!(
        "ns3::Ipv6Header (Version 6 Traffic class 0x2 DSCP Default Flow Label 0x0 Payload Length 556 Next \
         Header 6 Hop Limit 64 ){ends}) ns3::TcpHeader ({ports} [ACK] Seq={sequence} Ack=1 Win=32768) \
         Payload (size=536)"
    )
}

const POINT: &str = "$ns3::PointToPointNetDevice";
const PPP: &str = "ns3::PppHeader (Point-to-Point Protocol: IP (0x0021))";

#[test]
fn a_file_of_one_device_has_no_context() {
    let there = v4(7, "10.1.1.1 > 10.1.1.2", "49153 > 9");
    let back = v4(3, "10.1.1.2 > 10.1.1.1", "9 > 49153");
    let text =
        format!("+ 2 {PPP} {there}\n- 2.5 {PPP} {there}\nr 3 {PPP} {back}\nd 4 {PPP} {there}\n");
    let (summary, reading) = summary(&text);
    assert_eq!(reading.problems, []);
    let pipes = summary.pipes(&reading);
    let counts: Vec<_> = pipes
        .iter()
        .map(|pipe| (pipe.pipe.as_str(), pipe.arrived_packets.stored(), pipe.left_packets.stored()))
        .collect();
    assert_eq!(
        counts,
        [("elsewhere-this device/backward", 1, 0), ("elsewhere-this device/forward", 0, 1)]
    );
    let [flow] = &summary.flows(&reading)[..] else { panic!("not one flow") };
    assert_eq!((flow.sent_packets.stored(), flow.dropped_packets.stored()), (1, 1));
    assert_eq!(pipes[0].sojourn_max_ns.stored(), 500_000_000);
}

/// The headers that identify an IPv6 packet are cut at 200 bytes, wherever a character ends.
#[test]
fn long_headers_of_ipv6_need_not_be_ascii() {
    for filler in 0..4 {
        let packet = tcp6("2001:1::1 > 2001:2::2", "49153 > 9", 1);
        let rest = format!("{}{}", "x".repeat(filler), "→".repeat(100));
        let text =
            format!("+ 1 /NodeList/0/DeviceList/1/{POINT}/TxQueue/Enqueue {PPP} {packet} {rest}\n");
        let (_, reading) = summary(&text);
        assert_eq!((reading.events, reading.problems), (1, vec![]), "{filler}");
    }
}

#[test]
fn packets_of_ipv6_are_recognised_by_their_transport_header() {
    let mut text = String::new();
    for (number, time) in [(1, 1), (537, 2)] {
        let packet = tcp6("2001:1::1 > 2001:2::2", "49153 > 9", number);
        text +=
            &format!("+ {time} /NodeList/0/DeviceList/1/{POINT}/TxQueue/Enqueue {PPP} {packet}\n");
        text +=
            &format!("- {time} /NodeList/0/DeviceList/1/{POINT}/TxQueue/Dequeue {PPP} {packet}\n");
        text += &format!("r {time}.25 /NodeList/3/DeviceList/1/{POINT}/MacRx {PPP} {packet}\n");
    }
    // A packet that cannot be distinguished from the next of its flow.
    text += &format!(
        "+ 3 /NodeList/0/DeviceList/1/{POINT}/TxQueue/Enqueue ns3::Ipv6Header (Version 6 Traffic class 0x0 \
         DSCP Default Flow Label 0x0 Payload Length 1032 Next Header 17 Hop Limit 64 )2001:1::1 > 2001:2::2) \
         ns3::UdpHeader (length: 1032 49153 > 9) Payload (size=1024)\n"
    );
    let (summary, reading) = summary(&text);
    assert_eq!(lines_of(&reading, "an IPv6 packet that cannot be distinguished from others"), 1);
    let [flow] = &summary.flows(&reading)[..] else { panic!("not one flow") };
    assert_eq!((flow.sent_packets.stored(), flow.received_packets.stored()), (2, 2));
    assert_eq!((flow.delivered_bytes.stored(), flow.sent_bytes.stored()), (2 * 536, 2 * 596));
    assert_eq!(flow.flow, "tcp 2001:1::1:49153→2001:2::2:9");
    assert_eq!(summary.streams.counts[0].delays.max_ns, 250_000_000);
}

/// Frame from a station to the access point, or in the reverse direction.
fn wifi(
    event: &str,
    time: &str,
    node: u32,
    kind: &str,
    [to, from]: [u32; 2],
    rest: &str,
) -> String {
    let state = if event == "t" { "Tx" } else { "RxOk" };
    let retry = u8::from(kind == "again");
    format!(
        "{event} {time} /NodeList/{node}/DeviceList/0/$ns3::WifiNetDevice/Phy/State/{state} OfdmRate6Mbps \
         ns3::WifiMacHeader (DATA ToDS=1, FromDS=0, MoreFrag=0, Retry={retry}, MoreData=0 Duration/ID=44us, \
         DA=00:00:00:00:00:09, SA(TA)=00:00:00:00:00:0{from}, BSSID(RA)=00:00:00:00:00:0{to}, \
         FragNumber=0, SeqNumber=0) ns3::LlcSnapHeader (type 0x800) {rest} ns3::WifiMacTrailer ()\n"
    )
}

#[test]
fn frames_of_wifi_count_once_and_where_they_are_addressed_to() {
    let (there, back) =
        (v4(7, "10.1.3.1 > 10.1.3.2", "49153 > 9"), v4(3, "10.1.3.2 > 10.1.3.1", "9 > 49153"));
    let arp = "ns3::ArpHeader (request source mac: 00-06-00:00:00:00:00:02)";
    let mut text = wifi("t", "1", 1, "new", [9, 2], arp); // so that node 1 is known
    text += &wifi("t", "2", 0, "new", [2, 1], &there);
    text += &wifi("t", "2.1", 0, "again", [2, 1], &there);
    text += &wifi("r", "2.25", 1, "new", [2, 1], &there);
    text += &wifi("r", "2.25", 5, "new", [2, 1], &there);
    text += &wifi("t", "3", 1, "new", [1, 2], &back);
    text += &wifi("r", "3.5", 0, "new", [1, 2], &back);
    let (summary, reading) = summary(&text);
    for (part, lines) in [
        ("without an IP header", 1),
        ("that the MAC retransmits", 1),
        ("heard by a node that it is not addressed to", 1),
    ] {
        assert_eq!(lines_of(&reading, part), lines, "{part}: {:?}", reading.problems);
    }
    let [flow] = &summary.flows(&reading)[..] else { panic!("not one flow") };
    assert_eq!((flow.sent_packets.stored(), flow.received_packets.stored()), (1, 1));
    let pipes: Vec<_> = summary.pipes(&reading).into_iter().map(|pipe| pipe.pipe).collect();
    assert_eq!(pipes, ["0-1/forward", "0-1/backward"]);
    assert_eq!(summary.links[0].transits.max_ns, 250_000_000);
}

#[test]
fn a_trace_without_ip_is_reported() {
    let line = wifi("t", "1", 1, "new", [9, 2], "ns3::ArpHeader (request)");
    let found = read(line.as_bytes(), &mut Summary::default(), |_| true);
    let Err(OpenError::Nothing(Some(problem))) = found else { panic!("read") };
    assert!(problem.message.contains("without an IP header"), "{}", problem.message);
}
