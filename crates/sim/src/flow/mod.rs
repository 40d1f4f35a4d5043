//! A flow at run time: its endpoint, and the network's counters.

mod arrived;
pub(crate) mod reordering;

use arrived::Arrived;
use dumbbell_model::Time;
use reordering::Reorder;

/// Maximum number of timers per flow.
pub(crate) const FLOW_TIMERS: usize = 4;

/// Position of a flow among the endpoints.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    pub(crate) endpoint: u32,
    pub(crate) lane: u32,
    /// Start time of the flow; [`Time::NEVER`] if its endpoint opens it.
    pub(crate) start: Time,
    pub(crate) stop: Option<Time>,
}

/// See [`FlowState::sampled`].
pub(crate) const NOT_SAMPLED: u32 = u32::MAX;

/// A flow at run time.
pub(crate) struct FlowState {
    /// Number in the tables.
    pub(crate) number: u32,
    pub(crate) endpoint: u32,
    /// Index among the flows of the endpoint.
    pub(crate) lane: u32,
    /// Packets under way.
    pub(crate) under_way: u32,
    /// Index among the flows whose windows are sampled; [`NOT_SAMPLED`]: none of them.
    pub(crate) sampled: u32,
    /// DSCP of its packets.
    pub(crate) dscp: u8,
    /// Its endpoint sends nothing more: it ends with its last packet and its last timer.
    pub(crate) ending: bool,
    /// All that it sends is acknowledged, or it has given up.
    pub(crate) over: bool,
    /// It is over: its rows are kept.
    pub(crate) closed: bool,
    /// [`Time::NEVER`] until its endpoint opens it.
    pub(crate) start: Time,
    pub(crate) stop: Option<Time>,
    /// Packets sent outward and back.
    pub(crate) sent: [u64; 2],
    pub(crate) sent_bytes: u64,
    pub(crate) received_packets: u64,
    pub(crate) received_bytes: u64,
    pub(crate) dropped: u64,
    pub(crate) reorder: Reorder,
    /// Packets of the source that have arrived; kept only where a link duplicates.
    pub(crate) arrived: Option<Box<Arrived>>,
    /// Duplicates: packets of which another copy had arrived before.
    pub(crate) copies: u64,
}

impl FlowState {
    pub(crate) fn new(number: u32, place: Place, dscp: u8) -> Self {
        Self {
            number,
            endpoint: place.endpoint,
            lane: place.lane,
            under_way: 0,
            sampled: NOT_SAMPLED,
            dscp,
            ending: false,
            over: false,
            closed: false,
            start: place.start,
            stop: place.stop,
            sent: [0; 2],
            sent_bytes: 0,
            received_packets: 0,
            received_bytes: 0,
            dropped: 0,
            reorder: Reorder::default(),
            arrived: None,
            copies: 0,
        }
    }
}
