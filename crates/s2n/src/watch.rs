//! What an endpoint tells of its connection.

use s2n_quic_core::connection::Error;
use s2n_quic_core::event::api::{
    Congestion, ConnectionClosed, ConnectionInfo, ConnectionMeta, MtuUpdated, PacketLost,
    RecoveryMetrics,
};
use s2n_quic_core::event::Subscriber;
use std::time::Duration;

/// Subscriber of an endpoint's events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    pub(crate) cwnd_bytes: Option<u64>,
    pub(crate) in_flight_bytes: Option<u64>,
    pub(crate) srtt: Option<Duration>,
    pub(crate) rtt_min: Option<Duration>,
    pub(crate) datagram_bytes: Option<u16>,
    /// Packets declared lost, but for MTU probes.
    pub(crate) lost_packets: u64,
    /// Reductions of the window after a loss or a CE mark. s2n-quic tells each batch of losses, of which only the
    /// first of a recovery period reduces the window.
    pub(crate) congestion_events: u64,
    /// A loss or a CE mark was told since the window was.
    congested: bool,
    pub(crate) closed: Option<Error>,
}

impl Subscriber for Watch {
    type ConnectionContext = ();

    fn create_connection_context(&mut self, _meta: &ConnectionMeta, _info: &ConnectionInfo<'_>) {}

    fn on_recovery_metrics(
        &mut self,
        (): &mut (),
        _meta: &ConnectionMeta,
        event: &RecoveryMetrics<'_>,
    ) {
        let cwnd_bytes = Some(u64::from(event.congestion_window));
        let reduced = std::mem::take(&mut self.congested) && cwnd_bytes < self.cwnd_bytes;
        self.congestion_events += u64::from(reduced);
        self.cwnd_bytes = cwnd_bytes;
        self.in_flight_bytes = Some(u64::from(event.bytes_in_flight));
        self.srtt = Some(event.smoothed_rtt);
        self.rtt_min = Some(event.min_rtt);
    }

    fn on_packet_lost(&mut self, (): &mut (), _meta: &ConnectionMeta, event: &PacketLost<'_>) {
        self.lost_packets += u64::from(!event.is_mtu_probe);
    }

    fn on_congestion(&mut self, (): &mut (), _meta: &ConnectionMeta, _event: &Congestion<'_>) {
        self.congested = true;
    }

    fn on_mtu_updated(&mut self, (): &mut (), _meta: &ConnectionMeta, event: &MtuUpdated) {
        self.datagram_bytes = Some(event.mtu);
    }

    fn on_connection_closed(
        &mut self,
        (): &mut (),
        _meta: &ConnectionMeta,
        event: &ConnectionClosed,
    ) {
        self.closed = Some(event.error);
    }
}
