//! The contract between the parts of Dumbbell: units, the [`Scenario`], TCP options, the result
//! tables with the meaning of every column, the digest. It imports nothing of ours.

pub mod arrivals;
pub mod cake;
pub mod catalogue;
pub mod digest;
#[cfg(feature = "ipc")]
pub mod ipc;
pub mod multipath;
pub mod netem;
pub mod paths;
pub mod programs;
pub mod queue;
pub mod requests;
pub mod rng;
pub mod scenario;
pub mod session;
pub mod stack_rows;
pub mod tables;
pub mod tcp_options;
pub mod traffic;
pub mod units;
pub mod validate;
mod validate_arrivals;
mod validate_multipath;
mod validate_netem;
mod validate_queue;
mod validate_requests;
mod validate_session;
pub mod writer;

pub use queue::{Framing, Queue};
pub use scenario::Scenario;
pub use tcp_options::{DelayedAck, ReceiveBuffer, Search, TcpOptions};
pub use units::{Rate, Span, Time};
pub use validate::ScenarioError;
