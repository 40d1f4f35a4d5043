//! Scripted drops: an eBPF classifier that counts the segments of a flow at an interface and drops
//! those with given numbers (bpf(2), tc-bpf(8)).

use crate::bpf::{Label, Program, GO_ON};
use crate::{counted, sys};
use std::collections::BTreeSet;
use std::io::Result;
use std::os::fd::{AsRawFd, OwnedFd};

/// Result of a classifier: drop.
const DROP: i32 = 2;

const PASS: Label = "pass";
const DROPPED: Label = "dropped";

/// Makes the classifier of a flow. `counter`: a map with one 64-bit number.
fn classifier(flow: usize, nth: &[u64], counter: i32) -> Vec<u8> {
    let mut program = Program::default();
    program.only_tcp(PASS);
    counted::only(&mut program, flow, PASS);
    program.load_payload_bytes();
    program.jump(0xd5, 7, 0, PASS); // without payload
    counted::count(&mut program, counter, nth, DROPPED, PASS);
    program.label(PASS);
    program.answer(GO_ON);
    program.label(DROPPED);
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
    use crate::bpf::assert_jumps;

    #[test]
    fn what_was_counted_was_dropped_once() {
        assert_eq!([0, 4, 5, 100].map(|counted| dropped(&[5, 9, 5], counted)), [0, 0, 1, 2]);
    }

    #[test]
    fn every_jump_ends_inside_the_program() {
        let bytes = classifier(3, &[1, 5, 9], 7);
        assert_jumps(&bytes);
        let ends = bytes.chunks(8).filter(|word| word[0] == 0x95).count();
        assert_eq!(ends, 2);
    }
}
