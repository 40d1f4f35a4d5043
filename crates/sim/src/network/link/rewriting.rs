//! Rewriting of the headers that ECN uses. A packet is changed as it enters the link, before all else.

use super::stage::{LinkSetup, Properties, Stage};
use dumbbell_model::scenario::{EcnField, EcnFlag, Rewrite, Scenario};
use dumbbell_packet::{Body, Packet};

/// ECN field of the IP header.
const ECN: u8 = 3;

pub(crate) struct Rewriting {
    rules: Vec<Rule>,
}

/// One rewrite with its count.
struct Rule {
    /// Index of the flow; `None`: all packets.
    flow: Option<u32>,
    /// Numbers of the packets, from 1; empty: all.
    nth: Vec<u64>,
    /// Packets of the flow so far.
    seen: u64,
    ecn: Option<EcnField>,
    /// Bits of the ACE field.
    clear: u8,
    set: u8,
    strip: bool,
}

impl Rule {
    fn new(spec: &Rewrite, scenario: &Scenario) -> Self {
        let index = |name: &String| scenario.flows.iter().position(|flow| flow.name == *name);
        Self {
            flow: spec.flow.as_ref().and_then(index).map(|index| index as u32),
            nth: spec.nth.clone(),
            seen: 0,
            ecn: spec.ecn,
            clear: EcnFlag::bits(&spec.clear_flags),
            set: EcnFlag::bits(&spec.set_flags),
            strip: spec.strip_accecn,
        }
    }

    /// Counts a packet. Returns true if it is to be rewritten.
    fn strikes(&mut self, packet: &Packet) -> bool {
        if self.flow.is_some_and(|flow| flow != packet.flow) {
            return false;
        }
        self.seen += 1;
        self.nth.is_empty() || self.nth.contains(&self.seen)
    }

    fn rewrite(&self, packet: &mut Packet) {
        if let Some(ecn) = self.ecn {
            packet.tos = packet.tos & !ECN | ecn.bits();
        }
        if let Body::Tcp(segment) = &mut packet.body {
            segment.flags.ace = segment.flags.ace & !self.clear | self.set;
            if self.strip {
                segment.strip_accurate_ecn();
            }
        }
    }
}

impl Rewriting {
    pub(super) fn new(setup: &LinkSetup<'_>) -> Self {
        let rules = setup.spec.rewrites.iter().map(|spec| Rule::new(spec, setup.scenario));
        Self { rules: rules.collect() }
    }

    pub(super) fn properties(&self) -> Properties {
        Properties::of(self)
    }

    /// Rewrites a packet that enters the link. Its length stays: NOPs take the place of an option.
    /// Takes and returns codepoint and ECN field: those of the handle, which queues may have marked.
    pub(super) fn rewrite(&mut self, tos: u8, packet: &mut Packet) -> u8 {
        if matches!(packet.body, Body::Arp { .. }) {
            return tos;
        }
        packet.tos = tos;
        for rule in &mut self.rules {
            if rule.strikes(packet) {
                rule.rewrite(packet);
            }
        }
        packet.tos
    }
}

impl Stage for Rewriting {
    const KEEPS_ORDER: bool = true;
    const OWN_EVENT: bool = false;

    fn acts(&self) -> bool {
        !self.rules.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Arena;
    use dumbbell_packet::tcp::{Flags, AE, CWR, ECE};
    use dumbbell_packet::{AccurateEcn, Segment};

    fn rule(flow: Option<u32>, nth: &[u64]) -> Rule {
        Rule { flow, nth: nth.to_vec(), seen: 0, ecn: None, clear: 0, set: 0, strip: false }
    }

    /// TOS, ACE field, option and frame length of three packets of flows 0, 1 and 1.
    fn rewritten(rules: Vec<Rule>) -> Vec<(u8, u8, bool, u32)> {
        let (mut stage, mut arena) = (Rewriting { rules }, Arena::default());
        let option = AccurateEcn { fields: 3, counters: [1, 2, 3] };
        let flags = Flags { ace: AE | ECE, ..Flags::default() };
        let segment = Segment { flags, ..Segment::default() }.with_accurate_ecn(option);
        let one = |flow| {
            let mut handle = arena.insert_segment(flow, true, 0b1011_1010, &segment);
            handle.tos = stage.rewrite(handle.tos, arena.get_mut(handle));
            let packet = arena.get(handle);
            let Body::Tcp(found) = packet.body else { panic!("no segment") };
            assert_eq!(handle.tos, packet.tos);
            (packet.tos, found.flags.ace, found.accurate_ecn().is_some(), packet.frame_bytes)
        };
        [0, 1, 1].map(one).to_vec()
    }

    #[test]
    fn packets_of_a_flow_are_counted_from_1() {
        let second = Rule { ecn: Some(EcnField::Ce), ..rule(Some(1), &[2]) };
        let tos: Vec<_> = rewritten(vec![second]).iter().map(|found| found.0).collect();
        assert_eq!(tos, [0b1011_1010, 0b1011_1010, 0b1011_1011]);
    }

    #[test]
    fn flags_and_option_of_all_packets_change_and_the_length_stays() {
        let bleach = Rule { ecn: Some(EcnField::NotEct), clear: AE, set: CWR, ..rule(None, &[]) };
        let strip = Rule { strip: true, ..rule(None, &[]) };
        let found = rewritten(vec![bleach, strip]);
        assert_eq!(found, [(0b1011_1000, CWR | ECE, false, 66); 3]);
    }
}
