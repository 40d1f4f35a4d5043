//! Multipath TCP schedulers, which assign data to subflows; one per file.

mod blest;
mod ecf;
mod linux;
mod lowest_rtt;
mod redundant;
mod round_robin;

use dumbbell_model::scenario::Scheduler;

/// Snapshot of a subflow for a scheduler.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct View {
    /// True if established and neither closed nor stale.
    pub(crate) active: bool,
    pub(crate) backup: bool,
    /// True after a time-out, until data is acknowledged.
    pub(crate) in_loss: bool,
    /// Congestion window, packets in flight, and packets written but not sent.
    pub(crate) cwnd: u32,
    pub(crate) in_flight: u32,
    pub(crate) unsent: u32,
    /// Payload bytes per segment.
    pub(crate) mss: u32,
    /// Smoothed RTT and its deviation; 0 before the first sample.
    pub(crate) srtt_us: u32,
    pub(crate) rttvar_us: u32,
    /// Memory of unacknowledged data.
    pub(crate) queued_bytes: u64,
    pub(crate) has_memory: bool,
    /// Pacing rate, bytes per second.
    pub(crate) pacing_rate: u64,
}

impl View {
    /// Returns true if the congestion window allows one more segment.
    fn has_window(&self) -> bool {
        self.active && !self.in_loss && self.has_memory && self.in_flight + self.unsent < self.cwnd
    }
}

/// Snapshot of the connection's stream for a scheduler.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stream {
    /// First unacknowledged data byte.
    pub(crate) una: u64,
    /// Next byte not yet given to a subflow.
    pub(crate) next: u64,
    /// End of the written data.
    pub(crate) written: u64,
    /// End of the receive window.
    pub(crate) window_end: u64,
}

impl Stream {
    /// Bytes waiting for a subflow.
    fn waiting_bytes(&self) -> u64 {
        self.written - self.next
    }
}

/// Assignment of data to a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pick {
    pub(crate) subflow: usize,
    /// First data byte.
    pub(crate) from: u64,
    /// Maximum number of bytes before the next decision.
    pub(crate) most_bytes: u64,
}

/// Multipath TCP scheduler.
pub(crate) trait Schedule: Send {
    /// Returns the next assignment; `None` to wait for the next event. Called until it returns
    /// `None`.
    fn pick(&mut self, stream: &Stream, subflows: &[View]) -> Option<Pick>;

    /// Records that `bytes` bytes were assigned.
    fn sent(&mut self, _pick: &Pick, _bytes: u64) {}

    /// Resets the state before data is assigned again (`MPTCP_RESET_SCHEDULER`).
    fn reset(&mut self) {}

    /// Records that data waits because the receive window is full.
    fn window_full(&mut self, _subflows: &[View]) {}

    /// Returns true if the subflow of the last decision may get more data.
    fn burst_lasts(&self) -> bool {
        false
    }

    /// Returns true if subflows accept data beyond their congestion windows, as in Linux.
    fn fills_buffers(&self) -> bool {
        false
    }
}

/// Creates a scheduler. With `last_snd`, bursts of Linux's outlast the event that began them.
pub(crate) fn new(scheduler: Scheduler, last_snd: bool) -> Box<dyn Schedule> {
    match scheduler {
        Scheduler::Default => Box::new(linux::Linux::new(last_snd)),
        Scheduler::LowestRtt => Box::new(lowest_rtt::LowestRtt),
        Scheduler::RoundRobin => Box::new(round_robin::RoundRobin::default()),
        Scheduler::Redundant => Box::new(redundant::Redundant::default()),
        Scheduler::Blest => Box::new(blest::Blest::default()),
        Scheduler::Ecf => Box::new(ecf::Ecf::default()),
    }
}

/// Indices of the subflows to choose from: backups only without other subflows (RFC 8684 §3.3.8).
fn candidates(subflows: &[View]) -> impl Iterator<Item = usize> + '_ {
    let regular = subflows.iter().any(|subflow| subflow.active && !subflow.backup);
    let admitted = move |subflow: &View| subflow.active && (!subflow.backup || !regular);
    subflows.iter().enumerate().filter(move |(_, subflow)| admitted(subflow)).map(|(i, _)| i)
}

/// Subflow with the lowest RTT among these; the first one of equals.
fn fastest(subflows: &[View], among: impl Iterator<Item = usize>) -> Option<usize> {
    among.min_by_key(|&subflow| subflows[subflow].srtt_us)
}

/// Assigns the next segment to a subflow.
fn next_segment(stream: &Stream, subflows: &[View], subflow: usize) -> Pick {
    Pick { subflow, from: stream.next, most_bytes: u64::from(subflows[subflow].mss) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Subflow with an RTT, a congestion window, and packets in flight.
    pub(crate) fn path(srtt_ms: u32, cwnd: u32, in_flight: u32) -> View {
        View {
            active: true,
            cwnd,
            in_flight,
            mss: 1000,
            srtt_us: srtt_ms * 1000,
            has_memory: true,
            pacing_rate: 1_000_000,
            ..View::default()
        }
    }

    /// Stream with `packets` waiting packets and a wide window.
    pub(crate) fn stream(packets: u64) -> Stream {
        Stream { una: 0, next: 0, written: packets * 1000, window_end: 1 << 40 }
    }

    #[test]
    fn backups_wait_until_nothing_else_is_left() {
        for scheduler in [
            Scheduler::Default,
            Scheduler::LowestRtt,
            Scheduler::RoundRobin,
            Scheduler::Redundant,
            Scheduler::Blest,
            Scheduler::Ecf,
        ] {
            let backup = View { backup: true, ..path(1, 10, 0) };
            let mut paths = [path(50, 10, 0), backup];
            let first = new(scheduler, true).pick(&stream(9), &paths).map(|pick| pick.subflow);
            assert_eq!(first, Some(0), "{scheduler:?}");
            paths[0].active = false;
            let then = new(scheduler, true).pick(&stream(9), &paths).map(|pick| pick.subflow);
            assert_eq!(then, Some(1), "{scheduler:?}");
            paths[1].active = false;
            assert_eq!(new(scheduler, true).pick(&stream(9), &paths), None, "{scheduler:?}");
        }
    }
}
