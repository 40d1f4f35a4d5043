//! Builders of the disciplines without classes: arguments of `tc`, and the layout of `tc_…_xstats`
//! (linux/pkt_sched.h: 32-bit numbers in the machine's byte order).

use crate::discipline::OnLinux;
use crate::netlink::{known_word, long, word};
use crate::tc::{micros, refuse};
use crate::xstats::Xstats;
use dumbbell_model::queue::{Choke, Codel, Fq, FqCodel, FqPie, HeadDrop, Pie, Red, Sfq};
use dumbbell_model::tables::Int;
use dumbbell_model::{ScenarioError, Span};

/// A probability of 1 of PIE (`MAX_PROB`).
const PIE_CERTAIN: f64 = (u64::MAX >> 8) as f64;

/// Number of the statistics by its index.
fn number(bytes: &[u8], index: usize) -> Int {
    Int::from(known_word(bytes, 4 * index))
}

fn ecn(on: bool) -> &'static str {
    if on {
        "ecn"
    } else {
        "noecn"
    }
}

fn times(target: Span, interval: Span) -> String {
    format!("target {} interval {}", micros(target.as_ns()), micros(interval.as_ns()))
}

/// Argument of CoDel's step; empty: off.
fn ce_threshold(span: Span) -> String {
    if span == Span::ZERO {
        String::new()
    } else {
        format!(" ce_threshold {}", micros(span.as_ns()))
    }
}

/// Sum of two statistics; unknown if one is.
fn sum(bytes: &[u8], first: usize, second: usize) -> Int {
    match (known_word(bytes, 4 * first), known_word(bytes, 4 * second)) {
        (Some(first), Some(second)) => Int::from(Some(first + second)),
        _ => Int::UNKNOWN,
    }
}

impl OnLinux for HeadDrop {
    fn arguments(&self, _: &str) -> Result<String, ScenarioError> {
        Ok(format!("limit {}", self.limit_packets))
    }
}

impl OnLinux for Red {
    /// Arguments of RED. The bandwidth sets the decay of the average in idle times, which RED never
    /// sees below a shaper.
    fn arguments(&self, field: &str) -> Result<String, ScenarioError> {
        if self.adaptive {
            // tc sends the flag only in TCA_RED_FLAGS; the kernel starts its timer by the flags of TCA_RED_PARMS.
            return refuse(field, "adaptive RED: tc does not make the kernel adapt");
        }
        let mut line = format!(
            "limit {} min {} max {} avpkt {} burst {} probability {} bandwidth 10mbit",
            self.limit_bytes,
            self.min_bytes,
            self.max_bytes,
            self.average_packet_bytes,
            self.burst_packets,
            self.probability
        );
        for (wanted, name) in
            [(self.ecn, " ecn"), (self.harddrop, " harddrop"), (self.nodrop, " nodrop")]
        {
            if wanted {
                line += name;
            }
        }
        Ok(line)
    }

    fn xstats(bytes: &[u8], common: Xstats) -> Xstats {
        Xstats { dropped_overflow: number(bytes, 1), marked: number(bytes, 3), ..common }
    }
}

impl OnLinux for Choke {
    /// Arguments of CHOKe. Packet length and bandwidth set the decay of the average in idle times, as
    /// with RED.
    fn arguments(&self, _: &str) -> Result<String, ScenarioError> {
        let Self { limit_packets, min_packets, max_packets, burst_packets, probability, ecn } =
            self;
        Ok(format!(
            "limit {limit_packets} min {min_packets} max {max_packets} avpkt 1000 \
             burst {burst_packets} bandwidth 10mbit probability {probability}{}",
            if *ecn { " ecn" } else { "" }
        ))
    }

    fn xstats(bytes: &[u8], common: Xstats) -> Xstats {
        Xstats { dropped_overflow: number(bytes, 1), marked: number(bytes, 3), ..common }
    }
}

impl OnLinux for Codel {
    fn arguments(&self, _: &str) -> Result<String, ScenarioError> {
        let times = times(self.target, self.interval);
        let step = ce_threshold(self.ce_threshold);
        Ok(format!("limit {} {times} {}{step}", self.limit_packets, ecn(self.ecn)))
    }

    fn xstats(bytes: &[u8], common: Xstats) -> Xstats {
        let until_ns = i64::from(word(bytes, 16) as i32) * 1000;
        Xstats {
            dropped_overflow: number(bytes, 5),
            marked: sum(bytes, 6, 8), // by the control law, and by the step
            codel: Some((word(bytes, 28) != 0, word(bytes, 4), until_ns)),
            ..common
        }
    }
}

impl OnLinux for FqCodel {
    fn arguments(&self, _: &str) -> Result<String, ScenarioError> {
        let Self { limit_packets, flows, quantum_bytes, .. } = self;
        let (times, ecn) = (times(self.target, self.interval), ecn(self.ecn));
        let step = ce_threshold(self.ce_threshold);
        let selector = if self.ce_threshold_ect1 { " ce_threshold_selector 0x1/0x3" } else { "" };
        Ok(format!(
            "limit {limit_packets} flows {flows} quantum {quantum_bytes} {times} {ecn}{step}{selector}"
        ))
    }

    /// Statistics of FQ-CoDel, after the word with their type.
    fn xstats(bytes: &[u8], common: Xstats) -> Xstats {
        Xstats {
            dropped_overflow: number(bytes, 2),
            marked: sum(bytes, 3, 7),
            new_flows: number(bytes, 5),
            old_flows: number(bytes, 6),
            ..common
        }
    }
}

/// Arguments of PIE and of every PIE of FQ-PIE.
fn pie_arguments(pie: &Pie) -> String {
    let bytemode = if pie.bytemode { "bytemode" } else { "nobytemode" };
    format!(
        "target {} tupdate {} alpha {} beta {} {} {bytemode}",
        micros(pie.target.as_ns()),
        micros(pie.tupdate.as_ns()),
        pie.alpha,
        pie.beta,
        ecn(pie.ecn)
    )
}

impl OnLinux for Pie {
    fn arguments(&self, _: &str) -> Result<String, ScenarioError> {
        Ok(format!("limit {} {}", self.limit_packets, pie_arguments(self)))
    }

    fn xstats(bytes: &[u8], common: Xstats) -> Xstats {
        Xstats {
            dropped_overflow: number(bytes, 7),
            marked: number(bytes, 9),
            probability: (long(bytes, 0) as f64 / PIE_CERTAIN).into(),
            ..common
        }
    }
}

impl OnLinux for FqPie {
    fn arguments(&self, _: &str) -> Result<String, ScenarioError> {
        Ok(format!(
            "limit {} flows {} quantum {} ecn_prob {} {}",
            self.pie.limit_packets,
            self.flows,
            self.quantum_bytes,
            self.ecn_prob_percent,
            pie_arguments(&self.pie)
        ))
    }

    fn xstats(bytes: &[u8], common: Xstats) -> Xstats {
        Xstats {
            dropped_overflow: number(bytes, 2),
            marked: number(bytes, 4),
            new_flows: number(bytes, 6),
            old_flows: number(bytes, 7),
            ..common
        }
    }
}

impl OnLinux for Sfq {
    fn arguments(&self, _: &str) -> Result<String, ScenarioError> {
        let Self { limit_packets, flows, depth_packets, quantum_bytes, headdrop } = self;
        let headdrop = if *headdrop { " headdrop" } else { "" };
        Ok(format!(
            "limit {limit_packets} flows {flows} depth {depth_packets} divisor 1024 \
             quantum {quantum_bytes} perturb 0{headdrop}"
        ))
    }
}

impl OnLinux for Fq {
    fn arguments(&self, _: &str) -> Result<String, ScenarioError> {
        // Whether there are bands is the kernel's.
        let Self {
            limit_packets, flow_limit_packets, quantum_bytes, initial_quantum_bytes, ..
        } = self;
        Ok(format!(
            "limit {limit_packets} flow_limit {flow_limit_packets} quantum {quantum_bytes} \
             initial_quantum {initial_quantum_bytes}"
        ))
    }
}
