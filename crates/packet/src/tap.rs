//! The tap: anyone who wants to see packets pass implements this.

use crate::frame::Packet;
use dumbbell_model::Time;

/// Sees every packet that passes an interface.
pub trait Tap {
    /// `packet` passes `interface` (index of the tap in the scenario) at `at`.
    fn frame(&mut self, at: Time, interface: usize, packet: &Packet);
}
