//! State that the subflows of a Multipath TCP connection share for coupled congestion control.

pub use dumbbell_plugin::Subflow;

/// Returns true if the subflow counts in the sums: it is active and has an RTT to divide by.
pub(crate) fn takes_part(subflow: &&Subflow) -> bool {
    subflow.active && subflow.srtt_us8 > 0
}

/// Iterates over the subflows that count in the sums, without index `me`.
pub(crate) fn siblings(all: &[Subflow], me: usize) -> impl Iterator<Item = &Subflow> {
    let others = all.iter().enumerate().filter(move |(number, _)| *number != me);
    others.map(|(_, subflow)| subflow).filter(takes_part)
}

/// Rate of a subflow, bytes per eighth of a microsecond. Only ratios of rates matter.
pub(crate) fn rate(cwnd: u32, mss: u32, srtt_us8: u32) -> f64 {
    f64::from(cwnd) * f64::from(mss) / f64::from(srtt_us8)
}
