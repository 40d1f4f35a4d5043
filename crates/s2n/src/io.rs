//! Queues between an endpoint and the network, in memory.

use dumbbell_stack::Transmit;
use s2n_quic_core::inet::datagram::Header;
use s2n_quic_core::inet::ExplicitCongestionNotification;
use s2n_quic_core::io::{rx, tx};
use s2n_quic_core::path::RemoteAddress;
use std::collections::VecDeque;

/// Largest datagram that fits the send buffer: as much as Ethernet carries.
pub(crate) const LARGEST_DATAGRAM_BYTES: usize = 1472;
/// Datagrams of a transmission (UDP GSO), as s2n-quic's own driver has at most (`MAX_BURST_PACKETS`).
const SEGMENTS: usize = 10;

/// One datagram that has arrived.
pub(crate) struct Arrived<'a> {
    pub(crate) from: RemoteAddress,
    pub(crate) ecn_field: u8,
    pub(crate) datagram: Option<&'a mut [u8]>,
}

impl rx::Queue for Arrived<'_> {
    type Handle = RemoteAddress;

    fn for_each<F: FnMut(Header<RemoteAddress>, &mut [u8])>(&mut self, mut on_packet: F) {
        let ecn = ExplicitCongestionNotification::new(self.ecn_field);
        if let Some(datagram) = self.datagram.take() {
            on_packet(Header { path: self.from, ecn }, datagram);
        }
    }

    fn is_empty(&self) -> bool {
        self.datagram.is_none()
    }
}

/// Datagrams of one transmission.
struct Burst {
    ecn: ExplicitCongestionNotification,
    /// Length of each datagram but the last, which may be shorter.
    datagram_bytes: usize,
    datagrams: usize,
    bytes: usize,
    /// Another datagram may follow in this transmission.
    open: bool,
}

/// Datagrams that are to be sent at once.
///
/// The queue does not claim `SUPPORTS_PACING`: s2n-quic 0.80 asks nobody for it, and messages have no delay. The
/// stack paces by a timer of its own, which is part of the endpoint's timeout.
#[derive(Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    /// Bytes at the front that were taken.
    taken: usize,
    bursts: VecDeque<Burst>,
}

impl Outgoing {
    /// Appends the datagrams of the next transmission to `out`.
    pub(crate) fn pop(&mut self, out: &mut Vec<u8>) -> Option<Transmit> {
        let burst = self.bursts.pop_front()?;
        out.extend(&self.bytes[self.taken..self.taken + burst.bytes]);
        self.taken += burst.bytes;
        if self.bursts.is_empty() {
            self.bytes.clear();
            self.taken = 0;
        }
        Some(Transmit { ecn_field: burst.ecn as u8, datagram_bytes: burst.datagram_bytes })
    }

    /// Closes the last transmission.
    fn close(&mut self) {
        if let Some(burst) = self.bursts.back_mut() {
            burst.open = false;
        }
    }

    /// Writes a message of at most this length behind the others.
    fn write<M: tx::Message>(
        &mut self,
        message: &mut M,
        most: usize,
        number: usize,
    ) -> Result<usize, tx::Error> {
        let start = self.bytes.len();
        self.bytes.resize(start + most, 0);
        let buffer = tx::PayloadBuffer::new(&mut self.bytes[start..]);
        let written = message.write_payload(buffer, number);
        self.bytes.truncate(start + written.unwrap_or(0));
        written.and_then(|size| if size == 0 { Err(tx::Error::EmptyPayload) } else { Ok(size) })
    }
}

impl tx::Queue for Outgoing {
    type Handle = RemoteAddress;

    const SUPPORTS_ECN: bool = true;

    fn push<M: tx::Message<Handle = RemoteAddress>>(
        &mut self,
        mut message: M,
    ) -> Result<tx::Outcome, tx::Error> {
        let ecn = message.ecn();
        let index = self.bursts.len();
        if let Some(&Burst { datagram_bytes, datagrams, .. }) = self
            .bursts
            .back()
            .filter(|last| last.open && last.ecn == ecn)
            .filter(|last| message.can_gso(last.datagram_bytes, last.datagrams))
        {
            let len = self.write(&mut message, datagram_bytes, datagrams)?;
            if let Some(last) = self.bursts.back_mut() {
                last.datagrams += 1;
                last.bytes += len;
                last.open = len == datagram_bytes && last.datagrams < SEGMENTS;
            }
            return Ok(tx::Outcome { len, index: index - 1 });
        }
        self.close();
        let len = self.write(&mut message, LARGEST_DATAGRAM_BYTES, 0)?;
        let burst = Burst { ecn, datagram_bytes: len, datagrams: 1, bytes: len, open: true };
        self.bursts.push_back(burst);
        Ok(tx::Outcome { len, index })
    }

    fn flush(&mut self) {
        self.close();
    }

    fn capacity(&self) -> usize {
        // The congestion window and the pacer are the limits.
        usize::MAX
    }
}
