//! Scripted drops: an eBPF classifier that counts the segments of a flow at an interface and drops
//! those with given numbers (bpf(2), tc-bpf(8)).

use crate::sys;
use dumbbell_packet::wire::{CLIENT_PORT, SERVER_PORT};
use std::collections::BTreeSet;
use std::io::Result;
use std::os::fd::{AsRawFd, OwnedFd};

/// Offsets in a frame with an IPv4 header of 20 bytes.
const ETHERNET_TYPE: i32 = 12;
const IP_LENGTH: i32 = 16;
const IP_PROTOCOL: i32 = 23;
const SOURCE_PORT: i32 = 34;
const TARGET_PORT: i32 = 36;
const TCP_OFFSET: i32 = 46;

const IPV4: i32 = 0x0800;
const TCP: i32 = 6;
/// Results of a classifier: continue with the next one; drop.
const GO_ON: i32 = -1;
const DROP: i32 = 2;

/// Target of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Other,
    Matches,
    Pass,
    Drop,
}

/// Instructions of eight bytes each, and the targets of jumps.
#[derive(Default)]
struct Program {
    words: Vec<[u8; 8]>,
    jumps: Vec<(usize, Label)>,
    labels: Vec<(Label, usize)>,
}

impl Program {
    fn word(&mut self, code: u8, to: u8, from: u8, offset: i16, value: i32) {
        let mut word = [code, from << 4 | to, 0, 0, 0, 0, 0, 0];
        word[2..4].copy_from_slice(&offset.to_ne_bytes());
        word[4..8].copy_from_slice(&value.to_ne_bytes());
        self.words.push(word);
    }

    fn jump(&mut self, code: u8, register: u8, value: i32, to: Label) {
        self.jumps.push((self.words.len(), to));
        self.word(code, register, 0, 0, value);
    }

    fn label(&mut self, label: Label) {
        self.labels.push((label, self.words.len()));
    }

    /// Loads a byte of the packet in register 6 into r0.
    fn load_byte(&mut self, at: i32) {
        self.word(0x30, 0, 0, 0, at);
    }

    fn load_short(&mut self, at: i32) {
        self.word(0x28, 0, 0, 0, at);
    }

    fn copy(&mut self, to: u8, from: u8) {
        self.word(0xbf, to, from, 0, 0);
    }

    fn unless_equal(&mut self, register: u8, value: i32, to: Label) {
        self.jump(0x55, register, value, to);
    }

    fn if_equal(&mut self, register: u8, value: i32, to: Label) {
        self.jump(0x15, register, value, to);
    }

    fn answer(&mut self, value: i32) {
        self.word(0xb7, 0, 0, 0, value);
        self.word(0x95, 0, 0, 0, 0);
    }

    /// Returns all instructions with jumps resolved.
    fn bytes(mut self) -> Vec<u8> {
        for (at, label) in self.jumps {
            let target = self.labels.iter().find(|(known, _)| *known == label).map_or(at, |l| l.1);
            let offset = target as i16 - at as i16 - 1;
            self.words[at][2..4].copy_from_slice(&offset.to_ne_bytes());
        }
        self.words.concat()
    }
}

/// Makes the classifier of a flow. `counter`: a map with one 64-bit number.
fn classifier(flow: usize, nth: &[u64], counter: i32) -> Vec<u8> {
    let (client, server) =
        (i32::from(CLIENT_PORT) + flow as i32, i32::from(SERVER_PORT) + flow as i32);
    let mut program = Program::default();
    program.copy(6, 1);
    program.load_short(ETHERNET_TYPE);
    program.unless_equal(0, IPV4, Label::Pass);
    program.load_byte(IP_PROTOCOL);
    program.unless_equal(0, TCP, Label::Pass);
    program.load_short(SOURCE_PORT);
    program.copy(7, 0);
    program.load_short(TARGET_PORT);
    program.unless_equal(7, client, Label::Other);
    program.if_equal(0, server, Label::Matches);
    program.label(Label::Other);
    program.unless_equal(7, server, Label::Pass);
    program.unless_equal(0, client, Label::Pass);
    program.label(Label::Matches);
    // r7 = length of the IP packet, less the headers of IP and TCP.
    program.load_short(IP_LENGTH);
    program.copy(7, 0);
    program.load_byte(TCP_OFFSET);
    program.word(0x77, 0, 0, 0, 4); // r0 >>= 4: words of the header
    program.word(0x67, 0, 0, 0, 2); // r0 <<= 2: bytes
    program.word(0x1f, 7, 0, 0, 0); // r7 -= r0
    program.word(0x17, 7, 0, 0, 20); // r7 -= 20
    program.jump(0xd5, 7, 0, Label::Pass); // without payload
    program.word(0x62, 10, 0, -4, 0); // key 0, on the stack
    program.copy(2, 10);
    program.word(0x07, 2, 0, 0, -4);
    program.word(0x18, 1, 1, 0, counter); // r1 = the map, in two words
    program.word(0, 0, 0, 0, 0);
    program.word(0x85, 0, 0, 0, 1); // r0 = map_lookup_elem(r1, r2)
    program.if_equal(0, 0, Label::Pass);
    program.word(0x79, 1, 0, 0, 0); // r1 = *r0
    program.word(0x07, 1, 0, 0, 1); // r1 += 1
    program.word(0x7b, 0, 1, 0, 0); // *r0 = r1
    for number in nth {
        program.if_equal(1, i32::try_from(*number).unwrap_or(i32::MAX), Label::Drop);
    }
    program.label(Label::Pass);
    program.answer(GO_ON);
    program.label(Label::Drop);
    program.answer(DROP);
    program.bytes()
}

/// Loads the classifier of a flow and pins it at `path`, below a mounted bpf file system. `nth`
/// counts from 1, in both directions, retransmissions included.
///
/// # Errors
/// Returns the error of the kernel's verifier with the end of its log.
pub(crate) fn pin(flow: usize, nth: &[u64], path: &str) -> Result<OwnedFd> {
    let counter = sys::bpf_counter()?;
    let program = classifier(flow, nth, counter.as_raw_fd());
    sys::bpf_pin_classifier(&program, path)?;
    Ok(counter)
}

/// Number of scripted drops that have happened after `counted` segments.
pub(crate) fn dropped(nth: &[u64], counted: u64) -> u64 {
    nth.iter().filter(|&&number| number <= counted).collect::<BTreeSet<_>>().len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_was_dropped_once() {
        assert_eq!([0, 4, 5, 100].map(|counted| dropped(&[5, 9, 5], counted)), [0, 0, 1, 2]);
    }

    #[test]
    fn every_jump_ends_inside_the_program() {
        let bytes = classifier(3, &[1, 5, 9], 7);
        let words: Vec<_> = bytes.chunks(8).collect();
        for (at, word) in words.iter().enumerate() {
            if [0x15, 0x55, 0xd5].contains(&word[0]) {
                let offset = i16::from_ne_bytes([word[2], word[3]]);
                let target = at as i64 + 1 + i64::from(offset);
                assert!((0..words.len() as i64).contains(&target), "{at} → {target}");
                assert!(target > at as i64, "forwards alone");
            }
        }
        let ends = words.iter().filter(|word| word[0] == 0x95).count();
        assert_eq!(ends, 2);
    }
}
