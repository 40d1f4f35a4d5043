//! What a capture holds: totals, conversations, lengths of packets.

use crate::decode::{self, Address, Headers, TCP, UDP};
use crate::file::Record;
use crate::fragments::Fragments;
use std::collections::BTreeMap;

/// Between what a conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Two hosts.
    Ip,
    /// Two ends of TCP.
    Tcp,
    /// Two ends of UDP.
    Udp,
}

/// One side's part of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Frames.
    pub packets: u64,
    /// Their lengths on the wire.
    pub bytes: u64,
}

/// Two ends and what passed between them. `a` is the one that was seen first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Hosts, or ends of a protocol.
    pub layer: Layer,
    /// The first sender and its port (0 for hosts).
    pub a: (Address, u16),
    /// The other.
    pub b: (Address, u16),
    /// Towards `b`, and towards `a`.
    pub counted: [Counted; 2],
    /// First and last frame, since 1970; `None` without stamps.
    pub times_ns: Option<(i64, i64)>,
    /// Sequence number with which `a` or `b` opened it.
    opened: Option<u32>,
}

/// Upper ends of the bins of lengths, as Wireshark has them; the last bin has none.
pub const LENGTH_BINS: [u32; 9] = [19, 39, 79, 159, 319, 639, 1279, 2559, 5119];

type Ends = (Layer, (Address, u16), (Address, u16));

/// Counts the records of one file.
#[derive(Debug, Default)]
pub struct Survey {
    /// All frames.
    pub total: Counted,
    /// Frames with less than all of them kept.
    pub truncated: u64,
    /// Frames that carry no IP that could be read.
    pub other: u64,
    /// First and last stamp.
    pub times_ns: Option<(i64, i64)>,
    /// Frames by length: the bins of [`LENGTH_BINS`] and one above.
    pub lengths: [Counted; LENGTH_BINS.len() + 1],
    /// In order of their first frame.
    pub conversations: Vec<Conversation>,
    latest: BTreeMap<Ends, usize>,
    fragments: Fragments,
}

impl Survey {
    /// Counts a record.
    pub fn add(&mut self, record: &Record<'_>) {
        let bytes = record.original_bytes;
        self.total.add(bytes);
        self.lengths[LENGTH_BINS.partition_point(|&end| end < bytes)].add(bytes);
        self.truncated += u64::from(record.data.len() < bytes as usize);
        if let Some(now) = record.time_ns {
            let (first, last) = self.times_ns.unwrap_or((now, now));
            self.times_ns = Some((first.min(now), last.max(now)));
        }
        let Some(headers) = decode::headers(record.link, record.data) else {
            self.other += 1;
            return;
        };
        let hosts = ((headers.source, 0), (headers.destination, 0));
        self.count(Layer::Ip, hosts.0, hosts.1, record, None);
        // A packet in fragments counts where it is complete, or where its ports are.
        let whole = match headers.fragment {
            Some(fragment) if fragment.complete => self.fragments.add(&headers, fragment),
            _ => Some(headers),
        };
        let Some(Headers { protocol, ports: Some((from, to)), opens, .. }) = whole else { return };
        let layer = match protocol {
            TCP => Layer::Tcp,
            UDP => Layer::Udp,
            _ => return,
        };
        self.count(layer, (headers.source, from), (headers.destination, to), record, opens);
    }

    fn count(
        &mut self,
        layer: Layer,
        from: (Address, u16),
        to: (Address, u16),
        record: &Record<'_>,
        opens: Option<u32>,
    ) {
        let key = (layer, from.min(to), from.max(to));
        let known = self.latest.get(&key).copied().filter(|&number| {
            // Another opening sequence number is another connection between the same ports.
            let opened = self.conversations[number].opened;
            opens.is_none() || opened.is_none() || opens == opened
        });
        let number = known.unwrap_or_else(|| {
            let number = self.conversations.len();
            self.conversations.push(Conversation {
                layer,
                a: from,
                b: to,
                counted: [Counted::default(); 2],
                times_ns: None,
                opened: None,
            });
            self.latest.insert(key, number);
            number
        });
        let conversation = &mut self.conversations[number];
        conversation.opened = conversation.opened.or(opens);
        conversation.counted[usize::from(conversation.a != from)].add(record.original_bytes);
        if let Some(now) = record.time_ns {
            let (first, last) = conversation.times_ns.unwrap_or((now, now));
            conversation.times_ns = Some((first.min(now), last.max(now)));
        }
    }
}

impl Counted {
    fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}
