//! The link of smoltcp's interface: two queues of IPv4 packets.

use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use std::collections::VecDeque;

/// Packets that have arrived, and those to be sent.
pub(crate) struct Wire {
    pub(crate) arrived: VecDeque<Vec<u8>>,
    pub(crate) sent: VecDeque<Vec<u8>>,
    mtu_bytes: usize,
}

impl Wire {
    pub(crate) fn new(mtu_bytes: usize) -> Self {
        Self { arrived: VecDeque::new(), sent: VecDeque::new(), mtu_bytes }
    }
}

/// A packet that has arrived.
pub(crate) struct Arrived(Vec<u8>);

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

/// Room for a packet to be sent.
pub(crate) struct Room<'a>(&'a mut VecDeque<Vec<u8>>);

impl TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut packet = vec![0; length];
        let result = write(&mut packet);
        self.0.push_back(packet);
        result
    }
}

impl Device for Wire {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Arrived, Room<'_>)> {
        Some((Arrived(self.arrived.pop_front()?), Room(&mut self.sent)))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Room<'_>> {
        Some(Room(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu_bytes;
        capabilities
    }
}
