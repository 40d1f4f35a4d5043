//! The built-in CUBIC as a plug-in: the same code behind the table of functions.

use dumbbell_cc::cubic::Cubic;
use dumbbell_model::TcpOptions;
use dumbbell_plugin::{
    export, AckSample, CaEvent, CaState, CongestionControl, Conn, Parameters, Plugin, Window,
};

struct Exported(Cubic);

impl Plugin for Exported {
    fn new(_: &Parameters) -> Self {
        let options = TcpOptions::profile(dumbbell_model::tcp_options::DEFAULT_PROFILE);
        Self(Cubic::new(&options.expect("the default profile is part of the program")))
    }
}

impl CongestionControl for Exported {
    fn init(&mut self, conn: &Conn, window: &mut Window) {
        self.0.init(conn, window);
    }

    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        self.0.ssthresh(conn, window)
    }

    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, acked: u32) {
        self.0.cong_avoid(conn, window, acked);
    }

    fn growth_limit(&self, window: &Window, flight: u32) -> Option<u32> {
        self.0.growth_limit(window, flight)
    }

    fn pkts_acked(&mut self, conn: &Conn, window: &mut Window, sample: &AckSample) {
        self.0.pkts_acked(conn, window, sample);
    }

    fn undo_cwnd(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        self.0.undo_cwnd(conn, window)
    }

    fn pacing_ratio(&self) -> Option<u32> {
        self.0.pacing_ratio()
    }

    fn phase(&self) -> &'static str {
        self.0.phase()
    }

    fn set_state(&mut self, conn: &Conn, window: &mut Window, state: CaState) {
        self.0.set_state(conn, window, state);
    }

    fn cwnd_event(&mut self, conn: &Conn, window: &mut Window, event: CaEvent) {
        self.0.cwnd_event(conn, window, event);
    }
}

export!(Exported, name: "cubic");
