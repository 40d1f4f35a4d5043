//! Observation of packets in the network.

use crate::frame::Packet;
use dumbbell_model::Time;

/// Observer of all packets that pass an interface.
pub trait Tap {
    /// Called when `packet` passes `interface` (index of the tap in the scenario) at time `at`.
    fn frame(&mut self, at: Time, interface: usize, packet: &Packet);
}
