//! Optional parts of slow start, for Reno and CUBIC: HyStart++ (RFC 9406), SEARCH (draft-chung-ccwg-search)
//! and Careful Resume (RFC 9959).

use crate::careful_resume::CarefulResume;
use crate::hystart_plus_plus::HystartPlusPlus;
use crate::search::Search;
use crate::{CaEvent, CaState, Conn, Window};
use dumbbell_model::TcpOptions;

/// Parts of the start that the options ask for.
#[derive(Clone, Debug, Default)]
pub struct StartUp {
    plus_plus: Option<HystartPlusPlus>,
    search: Option<Search>,
    resume: Option<CarefulResume>,
}

impl StartUp {
    /// Initial state.
    pub fn new(options: &TcpOptions) -> Self {
        Self {
            plus_plus: options.hystart_plus_plus.then(HystartPlusPlus::new),
            search: Search::new(options.search, options.search_rollback),
            resume: CarefulResume::new(options),
        }
    }

    /// Returns true while Careful Resume sets the window alone.
    pub fn holds(&self) -> bool {
        self.resume.as_ref().is_some_and(CarefulResume::holds)
    }

    /// Slow start (RFC 5681 §3.1) by `acked` packets, at the pace that HyStart++ and SEARCH leave.
    /// Returns the packets beyond the threshold.
    pub fn slow_start(&mut self, window: &mut Window, acked: u32) -> u32 {
        if self.search.as_ref().is_some_and(Search::drains) {
            return 0;
        }
        let acked = match &mut self.plus_plus {
            Some(plus_plus) => plus_plus.growth(window, acked),
            None => acked,
        };
        window.slow_start(acked)
    }

    /// Processes an ACK.
    pub fn acked(&mut self, conn: &Conn, window: &mut Window) {
        if let Some(resume) = &mut self.resume {
            resume.acked(conn, window);
        }
    }

    /// Processes a sample of the RTT.
    pub fn sampled(&mut self, conn: &Conn, window: &mut Window, rtt_us: u32) {
        if let Some(plus_plus) = &mut self.plus_plus {
            plus_plus.update(conn, window, rtt_us);
        }
        if let (Some(search), true) = (&mut self.search, window.in_slow_start()) {
            search.update(conn, window, rtt_us);
        }
    }

    /// Returns the threshold after a loss or a mark, packets; `None`: that of the algorithm.
    pub fn congested(&mut self, conn: &Conn, window: &mut Window) -> Option<u32> {
        self.resume.as_mut().and_then(|resume| resume.congested(conn, window))
    }

    /// Returns the window after a reduction that was undone, packets; `None`: that of the algorithm.
    pub fn undone(&self, conn: &Conn, window: &Window) -> Option<u32> {
        self.resume.as_ref().and_then(|resume| resume.undone(conn, window))
    }

    /// Processes a change of the congestion state.
    pub fn state(&mut self, conn: &Conn, window: &mut Window, state: CaState) {
        if let Some(resume) = &mut self.resume {
            resume.state(conn, window, state);
        }
        if let (Some(search), CaState::Loss) = (&mut self.search, state) {
            search.reset();
        }
    }

    /// Processes an event.
    pub fn event(&mut self, event: CaEvent) {
        if let (Some(search), CaEvent::CwndRestart) = (&mut self.search, event) {
            search.reset();
        }
    }

    /// Pacing rate in percent of a window per RTT, where Careful Resume sets it.
    pub fn pacing_ratio(&self) -> Option<u32> {
        self.resume.as_ref().and_then(CarefulResume::pacing_ratio)
    }

    /// Name of Careful Resume's phase; empty without it.
    pub fn phase(&self) -> &'static str {
        self.resume.as_ref().map_or("", CarefulResume::phase)
    }
}
