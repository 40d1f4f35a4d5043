//! Losses that the network reported by ICMP: packets above the path MTU, and packets without a route.

use super::{Data, Stream};
use crate::connection::recovery::RetransmissionKind;
use crate::connection::Fate;
use std::collections::VecDeque;

/// Maximum number of reported packets kept.
const REPORTED_MAX: usize = 64;
/// Lengths of IP and TCP headers that a quoted length may include.
const HEADERS: std::ops::RangeInclusive<i64> = 40..=160;

/// Bytes that are sent once more in smaller segments (RFC 1191 §6.5, RFC 8201 §5.4).
#[derive(Clone, Copy, Debug)]
struct Resized {
    /// Largest payload that fits the path.
    payload_max: i64,
    /// First byte that has not been sent again.
    from: i64,
    /// End of the bytes sent before the last report.
    until: i64,
}

/// Reports of the network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Network {
    resized: Option<Resized>,
    /// Positions of packets that were discarded, until their bytes are sent again.
    discarded: VecDeque<i64>,
}

impl Stream {
    /// Processes an ICMP error that quotes a packet of `ip_bytes` at a sequence number. Returns its
    /// position if it is in flight; other reports are ignored (RFC 5927 §4.1).
    pub(crate) fn icmp_error(&mut self, sequence: u32, fate: Fate, ip_bytes: u32) -> Option<i64> {
        let position = self.position(sequence);
        if !(self.acked..self.next).contains(&position) {
            return None;
        }
        match fate {
            Fate::TooBig(mtu) => self.resize(position, mtu, i64::from(ip_bytes)),
            Fate::Unreachable | Fate::Exceeded => {
                if self.network.discarded.len() == REPORTED_MAX {
                    self.network.discarded.pop_front();
                }
                self.network.discarded.push_back(position);
            }
        }
        Some(position)
    }

    fn resize(&mut self, position: i64, mtu: Option<u32>, ip_bytes: i64) {
        let quoted = self.sent.at(position).filter(|seen| seen.start == position);
        let headers = quoted.map(|seen| ip_bytes - (seen.end - seen.start));
        let headers = headers.filter(|headers| HEADERS.contains(headers));
        let headers = headers.unwrap_or(*HEADERS.start());
        // A router that states no MTU has one below the quoted length (RFC 1191 §5).
        let ip_max = mtu.map_or(ip_bytes - 1, i64::from);
        let payload_max = (ip_max - headers).max(1);
        let begun = self
            .network
            .resized
            .filter(|one| one.payload_max <= payload_max && self.acked < one.until);
        self.network.resized = Some(Resized {
            payload_max: begun.map_or(payload_max, |one| one.payload_max),
            from: begun.map_or(self.acked, |one| one.from),
            until: self.next,
        });
    }

    /// Returns true if a retransmission splits a segment that exceeded the path MTU.
    pub(super) fn fits_path(&mut self, data: &Data, start: i64, end: i64) -> bool {
        let payload = i64::from(data.payload_bytes);
        let Some(resized) = self.network.resized.as_mut() else { return false };
        let larger =
            self.sent.at(start).is_some_and(|seen| seen.end - seen.start > resized.payload_max);
        let next = (resized.from..resized.until).contains(&start) && payload <= resized.payload_max;
        if larger && next {
            resized.from = end;
        }
        larger && next
    }

    /// Kind of a retransmission that the sender's timer caused: unreachable if ICMP has said so of the
    /// earlier packet. Linux then retransmits without backing off (RFC 6069).
    pub(super) fn unless_discarded(
        &mut self,
        kind: RetransmissionKind,
        start: i64,
        end: i64,
    ) -> RetransmissionKind {
        let discarded = &mut self.network.discarded;
        let before = discarded.len();
        discarded.retain(|position| !(start..end).contains(position));
        let said = discarded.len() < before;
        match kind {
            RetransmissionKind::Timeout | RetransmissionKind::Probe if said => {
                RetransmissionKind::Unreachable
            }
            kind => kind,
        }
    }
}
