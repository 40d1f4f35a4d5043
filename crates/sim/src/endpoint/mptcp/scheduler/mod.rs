//! Schedulers: which subflow carries what comes next. One file each.

mod blest;
mod ecf;
mod linux;
mod lowest_rtt;
mod redundant;
mod round_robin;

use dumbbell_model::scenario::Scheduler;

/// A subflow, as a scheduler sees it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct View {
    /// Established, and neither closed nor found dead.
    pub(crate) active: bool,
    pub(crate) backup: bool,
    /// After a time-out of which nothing was acknowledged yet.
    pub(crate) in_loss: bool,
    /// Congestion window, packets in flight and packets written but not sent.
    pub(crate) cwnd: u32,
    pub(crate) in_flight: u32,
    pub(crate) unsent: u32,
    /// Payload of a segment.
    pub(crate) mss: u32,
    /// Smoothed RTT and its deviation; 0 before the first sample.
    pub(crate) srtt_us: u32,
    pub(crate) rttvar_us: u32,
    /// Memory of what is written and not acknowledged, and whether there is room for more.
    pub(crate) queued_bytes: u64,
    pub(crate) has_room: bool,
    /// Bytes per second.
    pub(crate) pacing_rate: u64,
}

impl View {
    /// The congestion window has room for one more segment.
    fn has_window(&self) -> bool {
        self.active && !self.in_loss && self.has_room && self.in_flight + self.unsent < self.cwnd
    }
}

/// The connection's stream, as a scheduler sees it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stream {
    /// First data byte that is not acknowledged.
    pub(crate) una: u64,
    /// Next byte that was not given to any subflow.
    pub(crate) next: u64,
    /// Byte after the last that was written.
    pub(crate) written: u64,
    /// Byte after the last that the receiver has room for.
    pub(crate) window_end: u64,
}

impl Stream {
    /// Bytes that wait for a subflow.
    fn waiting_bytes(&self) -> u64 {
        self.written - self.next
    }
}

/// Who carries what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pick {
    pub(crate) subflow: usize,
    /// From this data byte on.
    pub(crate) from: u64,
    /// At most so many bytes before the scheduler is asked again.
    pub(crate) most_bytes: u64,
}

/// Decides. Asked until it answers `None`: wait for the next event.
pub(crate) trait Schedule: Send {
    /// The next decision.
    fn pick(&mut self, stream: &Stream, subflows: &[View]) -> Option<Pick>;

    /// So many bytes were taken.
    fn sent(&mut self, _pick: &Pick, _bytes: u64) {}

    /// Bytes are carried again although they were sent before: the scheduler may not rely on what it
    /// knew (`MPTCP_RESET_SCHEDULER`).
    fn reset(&mut self) {}

    /// Data waits, and the receiver's window is full.
    fn window_full(&mut self, _subflows: &[View]) {}

    /// Linux's: subflows take data before their windows have room for it.
    fn fills_buffers(&self) -> bool {
        false
    }
}

/// A new instance.
pub(crate) fn new(scheduler: Scheduler) -> Box<dyn Schedule> {
    match scheduler {
        Scheduler::Default => Box::new(linux::Linux::default()),
        Scheduler::LowestRtt => Box::new(lowest_rtt::LowestRtt),
        Scheduler::RoundRobin => Box::new(round_robin::RoundRobin::default()),
        Scheduler::Redundant => Box::new(redundant::Redundant::default()),
        Scheduler::Blest => Box::new(blest::Blest::default()),
        Scheduler::Ecf => Box::new(ecf::Ecf::default()),
    }
}

/// Numbers of the subflows to choose from: backups only where there is nothing else (RFC 8684
/// §3.3.8).
fn candidates(subflows: &[View]) -> impl Iterator<Item = usize> + '_ {
    let regular = subflows.iter().any(|subflow| subflow.active && !subflow.backup);
    let admitted = move |subflow: &View| subflow.active && (!subflow.backup || !regular);
    subflows.iter().enumerate().filter(move |(_, subflow)| admitted(subflow)).map(|(i, _)| i)
}

/// The one with the lowest RTT of these; of equals the first.
fn fastest(subflows: &[View], among: impl Iterator<Item = usize>) -> Option<usize> {
    among.min_by_key(|&subflow| subflows[subflow].srtt_us)
}

/// One segment of what comes next.
fn next_segment(stream: &Stream, subflows: &[View], subflow: usize) -> Pick {
    Pick { subflow, from: stream.next, most_bytes: u64::from(subflows[subflow].mss) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A subflow with an RTT, a window, and so many packets in flight.
    pub(crate) fn path(srtt_ms: u32, cwnd: u32, in_flight: u32) -> View {
        View {
            active: true,
            cwnd,
            in_flight,
            mss: 1000,
            srtt_us: srtt_ms * 1000,
            has_room: true,
            pacing_rate: 1_000_000,
            ..View::default()
        }
    }

    /// Much waits, and the window is wide.
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
            let first = new(scheduler).pick(&stream(9), &paths).map(|pick| pick.subflow);
            assert_eq!(first, Some(0), "{scheduler:?}");
            paths[0].active = false;
            let then = new(scheduler).pick(&stream(9), &paths).map(|pick| pick.subflow);
            assert_eq!(then, Some(1), "{scheduler:?}");
            paths[1].active = false;
            assert_eq!(new(scheduler).pick(&stream(9), &paths), None, "{scheduler:?}");
        }
    }
}
