//! Rows of the result tables of a connection of a transport stack, the same on every engine.

use crate::tables::{Float, FlowRow, Int, SampleRow, TransferRow};
use dumbbell_stack::State;
use std::time::Duration;

/// Sums over samples of a client's window.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowSums {
    samples: u64,
    cwnd_packets: u64,
    cwnd_max_packets: u64,
    srtt_ns: u128,
    /// Time at which the application stopped.
    stopped_ns: Option<u64>,
}

fn ns(at: Option<Duration>) -> Int {
    at.and_then(|at| u64::try_from(at.as_nanos()).ok()).into()
}

impl WindowSums {
    /// The application stops: what was not sent is abandoned.
    pub fn stop(&mut self, at_ns: u64) {
        self.stopped_ns = Some(at_ns);
    }

    /// Adds a sample, if the connection is established. Returns false if no further one will follow.
    pub fn add(&mut self, state: &State) -> bool {
        if state.acknowledged.is_some() || state.lost.is_some() || self.stopped_ns.is_some() {
            return false;
        }
        if let (Some(_), Some(cwnd)) = (state.established, state.packets(state.cwnd_bytes)) {
            self.samples += 1;
            self.cwnd_packets += cwnd;
            self.cwnd_max_packets = self.cwnd_max_packets.max(cwnd);
            self.srtt_ns += state.srtt.unwrap_or_default().as_nanos();
        }
        true
    }

    /// Fills the totals of a flow. `label`: stack and congestion control; `now_ns`: time of the report.
    pub fn fill_flow(&self, state: &State, label: &str, now_ns: u64, row: &mut FlowRow) {
        row.kind = "quic".to_owned();
        label.clone_into(&mut row.congestion_control);
        row.established_ns = ns(state.established);
        row.delivered_bytes = state.delivered_bytes.into();
        row.last_delivery_ns = ns(state.last_delivery);
        // A stream that is abandoned is never acknowledged: it ends with its last data.
        let last = self.stopped_ns.zip(row.last_delivery_ns.get());
        let ended = last.map(|(stop, last)| stop.max(last.unsigned_abs())).or(self.stopped_ns);
        let end_ns = ended.map_or(now_ns, |at| at.min(now_ns));
        row.end_ns = state.acknowledged.map_or(end_ns.into(), |at| ns(Some(at)));
        row.retransmitted_packets = state.lost_packets.into();
        row.rtt_min_ns = ns(state.rtt_min.filter(|_| state.established.is_some()));
        row.cwnd_max_packets = (self.samples > 0).then_some(self.cwnd_max_packets).into();
        row.cwnd_mean_packets = Float::mean(self.cwnd_packets as f64, self.samples);
        row.srtt_mean_ns = Float::mean(self.srtt_ns as f64, self.samples);
    }
}

/// Fills the sample of a flow.
pub fn fill_sample(state: &State, row: &mut SampleRow) {
    let established = state.established.is_some();
    row.delivered_bytes = state.delivered_bytes.into();
    row.cwnd_packets = state.packets(state.cwnd_bytes).into();
    row.ssthresh_packets =
        state.packets(state.ssthresh_bytes).map(|packets| packets.min(i32::MAX as u64)).into();
    row.in_flight_packets = state.packets(state.in_flight_bytes).into();
    row.srtt_ns = ns(state.srtt.filter(|_| established));
    row.rtt_min_ns = ns(state.rtt_min.filter(|_| established));
    row.retransmitted_packets = state.lost_packets.into();
}

/// Row of the table `transfers`, if all data has arrived. `flow`: the totals of the flow.
pub fn transfer(state: &State, flow: &FlowRow) -> Option<TransferRow> {
    Some(TransferRow {
        flow: flow.flow.clone(),
        group: flow.group.clone(),
        session: String::new(),
        object: String::new(),
        start_ns: flow.start_ns,
        request_ns: Int::UNKNOWN,
        first_byte_ns: Int::UNKNOWN,
        end_ns: ns(Some(state.received?)),
        transfer_bytes: state.delivered_bytes.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_counted_in_datagrams_and_only_while_the_connection_lives() {
        let state = State {
            established: Some(Duration::from_millis(40)),
            cwnd_bytes: Some(14_520),
            datagram_bytes: Some(1452),
            srtt: Some(Duration::from_millis(41)),
            ..State::default()
        };
        let mut sums = WindowSums::default();
        assert!(sums.add(&State { established: None, ..state.clone() }));
        assert!(sums.add(&state));
        assert!(sums.add(&State { cwnd_bytes: Some(29_040), ..state.clone() }));
        assert!(!sums.add(&State { lost: Some("idle".to_owned()), ..state.clone() }));
        let mut row = FlowRow::default();
        sums.fill_flow(&state, "quinn:cubic", 7, &mut row);
        assert_eq!((row.cwnd_max_packets, row.end_ns), (20_u64.into(), 7_u64.into()));
        assert_eq!(row.cwnd_mean_packets, Float::mean(30.0, 2));
        assert_eq!(transfer(&state, &row), None);
        sums.stop(5);
        assert!(!sums.add(&state));
        sums.fill_flow(&state, "quinn:cubic", 7, &mut row);
        assert_eq!(row.end_ns, 5_u64.into());
        let late = State { last_delivery: Some(Duration::from_nanos(6)), ..state.clone() };
        sums.fill_flow(&late, "quinn:cubic", 7, &mut row);
        assert_eq!(row.end_ns, 6_u64.into());
        let done = State { received: Some(Duration::from_nanos(9)), ..state };
        assert_eq!(transfer(&done, &row).map(|row| row.end_ns), Some(9_u64.into()));
    }
}
