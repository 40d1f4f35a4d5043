//! Parts of a classifier: the packets of one flow, and their number.

use crate::bpf::{field, Label, Program};
use dumbbell_packet::wire::{CLIENT_PORT, SERVER_PORT};

/// Helper of the kernel (`enum bpf_func_id`).
const MAP_LOOKUP: i32 = 1;

/// Place of the map's key on the stack.
const KEY: i16 = -20;

const OTHER: Label = "other direction";
const MATCHES: Label = "matches";

/// Jumps to `pass` with a TCP packet of another flow than that with index `flow`.
pub(crate) fn only(program: &mut Program, flow: usize, pass: Label) {
    let (client, server) =
        (i32::from(CLIENT_PORT) + flow as i32, i32::from(SERVER_PORT) + flow as i32);
    program.load_short(field::SOURCE_PORT);
    program.copy(7, 0);
    program.load_short(field::TARGET_PORT);
    program.unless_equal(7, client, OTHER);
    program.if_equal(0, server, MATCHES);
    program.label(OTHER);
    program.unless_equal(7, server, pass);
    program.unless_equal(0, client, pass);
    program.label(MATCHES);
}

/// Adds 1 to the number in a map, which is then in r1, and jumps to `to` if it is one of `nth`. `counter`:
/// a map with one 64-bit number.
pub(crate) fn count(program: &mut Program, counter: i32, nth: &[u64], to: Label, pass: Label) {
    program.word(0x62, 10, 0, KEY, 0); // key 0
    program.copy(2, 10);
    program.word(0x07, 2, 0, 0, KEY.into());
    program.word(0x18, 1, 1, 0, counter); // r1 = the map, in two words
    program.word(0, 0, 0, 0, 0);
    program.call(MAP_LOOKUP);
    program.if_equal(0, 0, pass);
    program.word(0x79, 1, 0, 0, 0); // r1 = *r0
    program.word(0x07, 1, 0, 0, 1); // r1 += 1
    program.word(0x7b, 0, 1, 0, 0); // *r0 = r1
    for number in nth {
        program.if_equal(1, i32::try_from(*number).unwrap_or(i32::MAX), to);
    }
}
