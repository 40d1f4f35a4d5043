//! Kinds of traffic. To add one, write an entry here and a file of the same name in
//! `crates/model/src/traffic` (fields, checks), `crates/sim/src/endpoint` and `crates/guest/src/traffic`.

use super::parameter::{bytes, choice, flag, of_unit, rate, time, whole, Parameter, Unit};
use serde::Serialize;

/// Calls a macro with `Variant module HeldType { entry };` for every kind of traffic.
#[macro_export]
macro_rules! for_traffic {
    ($call:ident) => {
        $call! {
            Tcp tcp Box<Tcp> {
                title: "TCP connection",
                linux: "socket(AF_INET, SOCK_STREAM), or IPPROTO_MPTCP for subflows",
                source: "RFC 9293, RFC 8684",
                about: "A TCP connection and the applications at its ends.",
                short: "congestion_control",
                parameters: &[],
            };
            Udp udp Udp {
                title: "UDP at a constant bit rate",
                linux: "socket(AF_INET, SOCK_DGRAM)",
                source: "RFC 768",
                about: "Datagrams whose payload has a constant bit rate.",
                short: "rate",
                parameters: UDP,
            };
            Ping ping Ping {
                title: "Echo requests",
                linux: "socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), or SOCK_DGRAM",
                source: "RFC 792, RFC 862",
                about: "Echo requests at an interval and their replies, by ICMP or UDP.",
                short: "interval",
                parameters: PING,
            };
            Video video Video {
                title: "Video over UDP",
                linux: "socket(AF_INET, SOCK_DGRAM)",
                source: "RFC 768; on/off periods as of ns-3's OnOffApplication",
                about: "While on, video frames at an interval, split into datagrams; while off, nothing.",
                short: "rate",
                parameters: VIDEO,
            };
            Quic quic Quic {
                title: "QUIC connection",
                linux: "socket(AF_INET, SOCK_DGRAM)",
                source: "RFC 9000, RFC 9002",
                about: "A connection of a QUIC stack: the stack itself runs, over UDP.",
                short: "congestion_control",
                parameters: QUIC,
            };
        }
    };
}

/// Upper bound of times without one.
const ANY: u64 = u64::MAX;

const UDP: &[Parameter] = &[
    rate("rate").at("rate_bps", "payload per second"),
    bytes("datagram", 1448).within(1, 65_507).at("datagram_bytes", "payload of a datagram"),
    time("interval", 0, 0).within(0, ANY).at(
        "interval_ns",
        "interval at which all due datagrams are sent together; 0: each when it is due",
    ),
    bytes("mtu", 1500)
        .within(68, 65_535)
        .at("mtu_bytes", "IP packet size above which datagrams are fragmented"),
    flag("sleeps", false).at(
        "sleeps",
        "the sender is an ordinary program: it wakes late by the kernel's timer slack",
    ),
    of_unit("codec", Unit::Unwritten).at("codec", "set by `voice`"),
];

const PING: &[Parameter] = &[
    time("interval", 1, 1_000_000_000).within(1, ANY).at("interval_ns", "time between requests"),
    bytes("payload", 56)
        .within(0, 65_507)
        .at("payload_bytes", "payload of ICMP or UDP; by UDP at least 8 bytes"),
    choice("protocol", &["icmp", "udp"]).at("protocol", "protocol of the requests"),
];

const VIDEO: &[Parameter] = &[
    rate("rate").at("rate_bps", "payload per second while it is on"),
    time("frame", 1, 40_000_000)
        .within(1, ANY)
        .at("frame_ns", "interval between frames; a frame has the bytes of `rate` in this time"),
    bytes("datagram", 1200).within(1, 1472).at(
        "datagram_bytes",
        "largest payload of a datagram; the datagrams of a frame are sent together",
    ),
    time("on", 1, 2_000_000_000).within(1, ANY).at("on_ns", "time on; with `exponential` the mean"),
    time("off", 0, 1_000_000_000)
        .within(0, ANY)
        .at("off_ns", "time off, 0 s: always on; with `exponential` the mean"),
    choice("lengths", &["fixed", "exponential"])
        .at("lengths", "fixed times on and off, or drawn from exponential distributions"),
];

const QUIC: &[Parameter] = &[
    choice("stack", &["quinn", "s2n", "own"])
        .at("stack", "the stack, which runs at both ends; `own`: that of a Rust program"),
    choice("congestion_control", &["cubic", "bbr", "new_reno"])
        .at("congestion_control", "congestion control of the stack at the sender; s2n has no `new_reno`"),
    whole("streams", 1, 100, 1).at("streams", "streams that are written at once"),
    bytes("bytes", 0)
        .within(0, ANY)
        .at("bytes", "bytes to send over all streams; 0 bytes: until `stop` or the end of the run"),
    choice("encryption", &["none", "tls"]).at(
        "encryption",
        "`none`: packets of the length of encrypted ones; `tls`: TLS 1.3, keys from the seed (quinn)",
    ),
];

/// Description of a kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Name in experiment files and in the scenario.
    pub name: &'static str,
    /// Name on pages.
    pub title: &'static str,
    /// Socket on the kernel's engines.
    pub linux: &'static str,
    /// RFC or paper.
    pub source: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
    /// Parameter that a bare value stands for.
    pub short: &'static str,
    /// Parameters in the order of pages. Empty: `dumbbell/experiment/traffic.py` has its own model.
    pub parameters: &'static [Parameter],
}

macro_rules! entries {
    ($($variant:ident $module:ident $held:ty { $($field:ident: $value:expr,)+ };)+) => {
        /// All kinds of traffic.
        pub const ENTRIES: &[Entry] =
            &[$(Entry { name: stringify!($module), $($field: $value,)+ },)+];
    };
}
for_traffic!(entries);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_complete() {
        for entry in ENTRIES {
            assert!(!entry.title.is_empty() && !entry.linux.is_empty(), "{}", entry.name);
            assert!(!entry.source.is_empty() && entry.about.ends_with('.'), "{}", entry.name);
            let short = entry.parameters.iter().any(|parameter| parameter.name == entry.short);
            assert!(short || entry.parameters.is_empty(), "{}: {}", entry.name, entry.short);
        }
    }
}
