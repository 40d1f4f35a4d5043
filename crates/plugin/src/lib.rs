//! Congestion controls for Dumbbell. An algorithm implements [`CongestionControl`], whose methods are the
//! hooks of Linux's `tcp_congestion_ops`; [`export!`] makes a shared library of it that an experiment
//! file names under `plugins:`. The built-in algorithms implement the same trait.
//!
//! Units are Linux's: windows in packets, RTTs in microseconds, sequence numbers as unwrapped 64-bit byte
//! counts. An algorithm has no clock and no random numbers but those of [`Conn`].
//!
//! ```
//! use dumbbell_plugin::{export, CongestionControl, Conn, Parameters, Plugin, Window};
//!
//! struct Mine {
//!     beta: f64,
//! }
//!
//! impl Plugin for Mine {
//!     fn new(parameters: &Parameters) -> Self {
//!         Self { beta: parameters.get("beta", 0.5) }
//!     }
//! }
//!
//! impl CongestionControl for Mine {
//!     fn ssthresh(&mut self, _: &Conn, window: &mut Window) -> u32 {
//!         ((f64::from(window.cwnd) * self.beta) as u32).max(2)
//!     }
//!
//!     fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, acked: u32) {
//!         if conn.cwnd_limited {
//!             let left = if window.in_slow_start() { window.slow_start(acked) } else { acked };
//!             window.additive_increase(window.cwnd, left);
//!         }
//!     }
//! }
//!
//! export!(Mine, name: "mine");
//! ```

mod conn;
mod control;
mod export;
pub mod table;

pub use conn::{
    AckEvent, AckSample, CaEvent, CaState, Conn, LostSkb, RateSample, Window, INFINITE_SSTHRESH,
};
pub use control::{CongestionControl, Subflow};
pub use export::{Flags, Parameters, Plugin};
