//! States of the TCP sockets of hosts that run programs, by sock_diag(7).

use crate::info::TcpInfo;
use crate::netlink::{attribute, text, word, Netlink};
use crate::realise::Namespaces;
use dumbbell_model::scenario::{NodeKind, Scenario};
use dumbbell_model::tables::{SocketRow, Table};
use std::collections::BTreeSet;
use std::io::Result;

/// `SOCK_DIAG_BY_FAMILY` (linux/sock_diag.h).
const BY_FAMILY: u16 = 20;
/// Bytes of `struct inet_diag_req_v2` and of `struct inet_diag_msg` (linux/inet_diag.h).
const REQUEST_BYTES: usize = 56;
const MESSAGE_BYTES: usize = 72;
/// `INET_DIAG_INFO` and `INET_DIAG_CONG`.
const INFO: u16 = 2;
const CONGESTION_CONTROL: u16 = 4;
/// Names of connected states by number (net/tcp_states.h; RFC 9293 §3.3.2).
const STATES: [(u8, &str); 6] = [
    (1, "ESTABLISHED"),
    (4, "FIN-WAIT-1"),
    (5, "FIN-WAIT-2"),
    (8, "CLOSE-WAIT"),
    (9, "LAST-ACK"),
    (11, "CLOSING"),
];

/// Sockets of hosts with programs.
pub(crate) struct Sockets {
    hosts: Vec<(String, Netlink)>,
    rows: Vec<SocketRow>,
}

impl Sockets {
    /// Opens the hosts with programs; none if the scenario keeps no samples.
    pub(crate) fn open(scenario: &Scenario, namespaces: &Namespaces) -> Result<Self> {
        let with: BTreeSet<&str> = scenario.programs.iter().map(|one| one.on.as_str()).collect();
        let mut hosts = Vec::new();
        for (number, node) in scenario.nodes.iter().enumerate() {
            let wanted = scenario.sampling.samples && with.contains(node.name.as_str());
            if wanted && node.kind == NodeKind::Host {
                namespaces.enter(number)?;
                let opened = Netlink::open_family(libc::NETLINK_SOCK_DIAG);
                namespaces.leave()?;
                hosts.push((node.name.clone(), opened?));
            }
        }
        Ok(Self { hosts, rows: Vec::new() })
    }

    /// Takes a row of every connected socket.
    pub(crate) fn sample(&mut self, now: i64) -> Result<()> {
        for (host, netlink) in &self.hosts {
            let begin = self.rows.len();
            // A server that listens on [::] has sockets of IPv6, with mapped addresses.
            for family in [libc::AF_INET, libc::AF_INET6] {
                netlink.dump(BY_FAMILY, &request(family), |kind, message| {
                    if kind == BY_FAMILY {
                        self.rows.extend(row(now, host, message));
                    }
                })?;
            }
            // The kernel lists them in order of a hash.
            self.rows[begin..].sort_by(|a, b| (&a.local, &a.remote).cmp(&(&b.local, &b.remote)));
        }
        Ok(())
    }

    /// The table; none without hosts with programs.
    pub(crate) fn table(&self, scenario: &Scenario) -> Option<Table> {
        (!scenario.programs.is_empty()).then(|| SocketRow::table(&self.rows))
    }
}

/// Request for all connected TCP sockets of a family, with their state and algorithm.
fn request(family: i32) -> [u8; REQUEST_BYTES] {
    let mut request = [0; REQUEST_BYTES];
    request[0] = family as u8;
    request[1] = libc::IPPROTO_TCP as u8;
    request[2] = 1 << (INFO - 1) | 1 << (CONGESTION_CONTROL - 1);
    let states = STATES.iter().fold(0_u32, |states, (number, _)| states | 1 << number);
    request[4..8].copy_from_slice(&states.to_ne_bytes());
    request
}

/// Row of a socket; `None` if the message is cut off or has no state.
fn row(now: i64, host: &str, message: &[u8]) -> Option<SocketRow> {
    let attributes = message.get(MESSAGE_BYTES..)?;
    let info = TcpInfo::of_bytes(attribute(attributes, INFO)?);
    let (least, rtt_us) = (info.min_rtt_us(), info.rtt_us());
    let ns = |us: u32| u64::from(us) * 1000;
    let rate = |bytes: u64| (bytes > 0 && bytes != u64::MAX).then(|| bytes.saturating_mul(8));
    let number = message[1];
    let tcp_state = STATES.iter().find(|(known, _)| *known == number).map_or("", |(_, name)| name);
    Some(SocketRow {
        time_ns: now.into(),
        host: host.to_owned(),
        local: address(message, 4, 8),
        remote: address(message, 6, 24),
        tcp_state: tcp_state.to_owned(),
        congestion_control: text(attribute(attributes, CONGESTION_CONTROL).unwrap_or(&[])),
        state: info.ca_state_name().to_owned(),
        cwnd_packets: info.cwnd().into(),
        ssthresh_packets: info.ssthresh().min(i32::MAX as u32).into(),
        in_flight_packets: info.in_flight().into(),
        srtt_ns: (rtt_us > 0).then(|| ns(rtt_us)).into(),
        rttvar_ns: (rtt_us > 0).then(|| ns(info.rttvar_us())).into(),
        rtt_min_ns: (least != u32::MAX).then(|| ns(least)).into(),
        rto_ns: ns(info.rto_us()).into(),
        pacing_bps: rate(info.pacing_rate()).into(),
        delivery_rate_bps: rate(info.delivery_rate()).into(),
        receive_queue_bytes: word(message, 56).into(),
        send_queue_bytes: word(message, 60).into(),
        acked_bytes: info.bytes_acked().into(),
        received_bytes: info.bytes_received().into(),
        retransmitted_packets: info.total_retrans().into(),
    })
}

/// Address and port, from their places in the message. IPv6 is shown by its last four bytes: no
/// experiment has other addresses than mapped ones.
fn address(message: &[u8], port_at: usize, address_at: usize) -> String {
    let port = u16::from_be_bytes([message[port_at], message[port_at + 1]]);
    let at = address_at + if i32::from(message[0]) == libc::AF_INET6 { 12 } else { 0 };
    let [a, b, c, d] = [message[at], message[at + 1], message[at + 2], message[at + 3]];
    format!("{a}.{b}.{c}.{d}:{port}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::put_attribute;

    #[test]
    fn a_message_becomes_a_row_and_a_cut_one_none() {
        let mut message = vec![0; MESSAGE_BYTES];
        message[0] = libc::AF_INET6 as u8;
        message[1] = 1;
        message[4..8].copy_from_slice(&[0x14, 0x51, 0x9c, 0x40]); // 5201, 40000
        message[20..24].copy_from_slice(&[10, 0, 0, 2]);
        message[36..40].copy_from_slice(&[10, 0, 0, 1]);
        assert!(row(0, "a", &message).is_none());
        let mut info = [0; 232];
        info[80] = 10;
        put_attribute(&mut message, INFO, &info);
        put_attribute(&mut message, CONGESTION_CONTROL, b"cubic\0");
        let found = row(5, "a", &message).expect("whole");
        assert_eq!(
            (found.local.as_str(), found.remote.as_str()),
            ("10.0.0.2:5201", "10.0.0.1:40000")
        );
        assert_eq!(
            (found.tcp_state.as_str(), found.congestion_control.as_str()),
            ("ESTABLISHED", "cubic")
        );
        assert_eq!(found.cwnd_packets.get(), Some(10));
        assert!(row(0, "a", &message[..60]).is_none());
    }
}
