//! Congestion control, one algorithm per file. Pure: no clock, no I/O, no knowledge of the
//! simulator. Units are Linux's: windows in packets, RTTs in microseconds, sequence numbers as
//! unwrapped 64-bit byte counts.
//!
//! The trait ([`dumbbell_plugin`]) follows Linux's `tcp_congestion_ops` hook by hook, because this crate
//! promises to behave as Linux does. Each file cites the RFC or paper at every step and names the constants
//! that differ from it.

pub mod careful_resume;
pub mod coupled;
pub mod hystart_plus_plus;
pub mod minmax;
pub mod plugin;
pub mod search;
pub mod start_up;

use dumbbell_model::catalogue::congestion_control::Algorithm;
use dumbbell_model::{for_congestion_controls, TcpOptions};
pub use dumbbell_plugin::{
    AckEvent, AckSample, CaEvent, CaState, CongestionControl, Conn, LostSkb, RateSample, Window,
    INFINITE_SSTHRESH,
};
use plugin::Plugins;

macro_rules! files {
    ($($variant:ident $module:ident $entry:tt;)+) => {
        $(pub mod $module;)+

        /// Creates an instance of the algorithm for a flow.
        pub fn new(
            algorithm: Algorithm,
            options: &TcpOptions,
            plugins: &dyn Plugins,
            flow: &str,
        ) -> Box<dyn CongestionControl> {
            match algorithm {
                $(Algorithm::$variant => $module::new(options),)+
                Algorithm::Plugin(plugin) => plugins.make(plugin, flow, options),
            }
        }
    };
}
for_congestion_controls!(files);
