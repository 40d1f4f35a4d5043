//! Spraying per flow: classifiers that give each packet at a router its hash for the choice among equal
//! paths.
//!
//! A multipath route takes the hash that a packet has, else computes one (`fib_multipath_hash`). In
//! a guest both would be the same at every router: a packet keeps the hash of its socket from
//! namespace to namespace, and before Linux 6.11 all namespaces have one key. So a classifier at the
//! router's interfaces sets the hash ([`FlowHash`](dumbbell_packet::ecmp::FlowHash), as in the
//! simulator) of packets that arrive, and another removes it from packets that leave, so that queue
//! disciplines compute their own.

use crate::bpf::{field, Label, Program, GO_ON, IPV4, TCP, UDP};
use crate::plan::PerFlow;
use crate::sys;
use dumbbell_model::scenario::SprayWhat;
use dumbbell_packet::ecmp::{MULTIPLIERS, SHIFT};
use dumbbell_packet::wire::CLIENT_PORT;
use std::io::Result;

/// Helpers of the kernel.
const SET_HASH_INVALID: i32 = 41;
const SET_HASH: i32 = 48;

/// IP packets below this length have no payload; an ACK with four SACK blocks is shorter.
const BARE_BELOW_BYTES: i32 = 128;
/// Flag "more fragments" and offset of IP's fragment field.
const FRAGMENT: i32 = 0x3fff;

const NO_PORTS: Label = "no ports";
const PORTS: Label = "ports";
const CLIENT: Label = "client";
const SORTED: Label = "sorted";
const HASH: Label = "hash";
const FIRST: Label = "first next hop";
const SET: Label = "set";
const PASS: Label = "pass";

/// Makes the classifier of packets that arrive at a router.
fn hashing(router: &PerFlow) -> Vec<u8> {
    let mut program = Program::default();
    program.copy(6, 1);
    program.load_short(field::ETHERNET_TYPE);
    program.unless_equal(0, IPV4, PASS);
    program.load_short(field::IP_LENGTH);
    match router.what {
        SprayWhat::Both => {}
        SprayWhat::Data => program.jump(0xa5, 0, BARE_BELOW_BYTES, FIRST), // r0 < …
        SprayWhat::Acks => program.jump(0x35, 0, BARE_BELOW_BYTES, FIRST), // r0 >= …
    }
    // r7 = identity of the flow. Client ports are above server ports.
    program.load_short(field::IP_FRAGMENT);
    program.jump(0x45, 0, FRAGMENT, NO_PORTS); // r0 & …
    program.load_byte(field::IP_PROTOCOL);
    program.if_equal(0, TCP, PORTS);
    program.if_equal(0, UDP, PORTS);
    program.go_to(NO_PORTS);
    program.label(PORTS);
    program.load_short(field::SOURCE_PORT);
    program.copy(7, 0);
    program.load_short(field::TARGET_PORT);
    program.if_above(7, 0, CLIENT);
    program.copy(7, 0);
    program.label(CLIENT);
    program.word(0x17, 7, 0, 0, i32::from(CLIENT_PORT)); // r7 -= …
    program.go_to(HASH);
    program.label(NO_PORTS);
    program.load_word(field::SOURCE_ADDRESS);
    program.copy(7, 0);
    program.load_word(field::TARGET_ADDRESS);
    program.if_above(0, 7, SORTED);
    program.copy(8, 0);
    program.copy(0, 7);
    program.copy(7, 8);
    program.label(SORTED);
    program.word(0x67, 7, 0, 0, 32); // r7 <<= 32
    program.word(0x4f, 7, 0, 0, 0); // r7 |= r0
    program.label(HASH);
    program.load_constant(1, router.hash.key);
    program.word(0x0f, 7, 1, 0, 0); // r7 += r1
    for multiplier in MULTIPLIERS {
        fold(&mut program);
        program.load_constant(1, multiplier);
        program.word(0x2f, 7, 1, 0, 0); // r7 *= r1
    }
    fold(&mut program);
    program.word(0x77, 7, 0, 0, 32); // r7 >>= 32
    if router.what != SprayWhat::Both {
        program.go_to(SET);
        program.label(FIRST);
        program.set(7, 0);
        program.label(SET);
    }
    program.copy(1, 6);
    program.copy(2, 7);
    program.call(SET_HASH);
    program.label(PASS);
    program.answer(GO_ON);
    program.bytes()
}

/// r7 ^= r7 >> 33
fn fold(program: &mut Program) {
    program.copy(1, 7);
    program.word(0x77, 1, 0, 0, SHIFT as i32); // r1 >>= …
    program.word(0xaf, 7, 1, 0, 0); // r7 ^= r1
}

/// Makes the classifier of packets that leave a router.
fn forgetting() -> Vec<u8> {
    let mut program = Program::default();
    program.call(SET_HASH_INVALID);
    program.answer(GO_ON);
    program.bytes()
}

/// Loads the classifier of packets that arrive at a router and pins it at `path`.
///
/// # Errors
/// Returns the error of the kernel's verifier with the end of its log.
pub(crate) fn pin_hash(router: &PerFlow, path: &str) -> Result<()> {
    sys::bpf_pin_classifier(&hashing(router), path)
}

/// Loads the classifier of packets that leave a router and pins it at `path`.
///
/// # Errors
/// See [`pin_hash`].
pub(crate) fn pin_forget(path: &str) -> Result<()> {
    sys::bpf_pin_classifier(&forgetting(), path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::{assert_jumps, run};
    use dumbbell_model::traffic::TrafficKind;
    use dumbbell_model::Scenario;
    use dumbbell_packet::ecmp::{identities, FlowHash};
    use dumbbell_packet::wire::{address, SERVER_PORT};

    const ICMP: i32 = 1;

    fn router(what: SprayWhat) -> PerFlow {
        PerFlow { namespace: 3, hash: FlowHash::new(7, "r1"), what }
    }

    /// Makes a frame between hosts 4 and 1 with these ports and this length of the IP packet.
    fn frame(protocol: i32, fragment: u16, ports: [u16; 2], swap: bool, bytes: u16) -> Vec<u8> {
        let side = |n: usize| if swap { 1 - n } else { n };
        let hosts = [address(4), address(1)];
        let mut frame = vec![0; 12];
        frame.extend([8, 0, 0x45, 0]);
        frame.extend(bytes.to_be_bytes());
        frame.extend([0, 0]);
        frame.extend(fragment.to_be_bytes());
        frame.extend([64, protocol as u8, 0, 0]);
        frame.extend([hosts[side(0)], hosts[side(1)]].concat());
        frame.extend([ports[side(0)], ports[side(1)]].iter().flat_map(|port| port.to_be_bytes()));
        frame.resize(14 + usize::from(bytes), 0);
        frame
    }

    /// Hash that the classifier sets, and its result.
    fn hash(what: SprayWhat, frame: &[u8]) -> (Option<u32>, i32) {
        let mut set = None;
        let result = run(&hashing(&router(what)), frame, |helper, value| {
            assert_eq!(helper, SET_HASH);
            set = Some(value as u32);
        });
        (set, result)
    }

    #[test]
    fn the_classifier_computes_the_hash_of_the_simulator() {
        for (flow, swap) in (0..1000_u16).flat_map(|flow| [(flow, false), (flow, true)]) {
            let ports = [CLIENT_PORT + flow, SERVER_PORT + flow];
            for protocol in [TCP, UDP] {
                let found = hash(SprayWhat::Both, &frame(protocol, 0x4000, ports, swap, 600));
                let expected = router(SprayWhat::Both).hash.of(u64::from(flow));
                assert_eq!(found, (Some(expected), GO_ON), "flow {flow}");
            }
        }
    }

    #[test]
    fn echoes_and_fragments_have_the_hash_of_their_hosts() {
        let scenario = Scenario::from_json(include_str!("plan/two-paths.json"));
        let Ok(mut scenario) = scenario else { panic!("{scenario:?}") };
        let [from, to] = [4, 1].map(|node: usize| scenario.nodes[node].name.clone());
        let Some(flow) = scenario.flows.first_mut() else { panic!("no flow") };
        (flow.from, flow.to) = (from, to);
        flow.traffic = serde_json::from_str(
            r#"{"ping": {"interval_ns": 1, "payload_bytes": 1, "protocol": "icmp"}}"#,
        )
        .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(flow.traffic.carrier().fragments(), 1);
        let expected = Some(router(SprayWhat::Both).hash.of(identities(&scenario)[0]));
        for swap in [false, true] {
            let ports = [CLIENT_PORT, SERVER_PORT];
            let of = |protocol, fragment| {
                hash(SprayWhat::Both, &frame(protocol, fragment, ports, swap, 600)).0
            };
            assert_eq!(of(ICMP, 0), expected);
            assert_eq!(
                (of(UDP, 0x2000), of(UDP, 0x2003), of(UDP, 3)),
                (expected, expected, expected)
            );
            assert_ne!(of(UDP, 0), expected);
        }
    }

    #[test]
    fn packets_that_are_not_sprayed_take_the_first_next_hop() {
        let ports = [CLIENT_PORT, SERVER_PORT];
        let of = |what, bytes| hash(what, &frame(TCP, 0, ports, false, bytes)).0;
        let hashed = Some(router(SprayWhat::Both).hash.of(0));
        assert_eq!([127, 128].map(|bytes| of(SprayWhat::Data, bytes)), [Some(0), hashed]);
        assert_eq!([127, 128].map(|bytes| of(SprayWhat::Acks, bytes)), [hashed, Some(0)]);
        let mut arp = frame(TCP, 0, ports, false, 600);
        arp[12..14].copy_from_slice(&[8, 6]);
        assert_eq!(hash(SprayWhat::Both, &arp), (None, GO_ON));
    }

    #[test]
    fn the_verifier_accepts_the_jumps() {
        for what in [SprayWhat::Both, SprayWhat::Data, SprayWhat::Acks] {
            assert_jumps(&hashing(&router(what)));
        }
        assert_eq!(
            run(&forgetting(), &[], |helper, _| assert_eq!(helper, SET_HASH_INVALID)),
            GO_ON
        );
    }
}
