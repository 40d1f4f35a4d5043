//! Rewriting of the headers that ECN uses: an eBPF classifier that changes packets of a flow at an interface
//! (bpf(2), tc-bpf(8)). The checksums follow by `bpf_l3_csum_replace` and `bpf_l4_csum_replace`.

use crate::bpf::{field, Label, Program, GO_ON, IPV4, TCP};
use crate::{counted, sys};
use dumbbell_model::scenario::{EcnFlag, Rewrite};
use std::io::Result;
use std::os::fd::AsRawFd;

/// Offsets in a frame.
const TOS: i32 = 15;
const IP_CHECKSUM: i32 = 24;
const TCP_CHECKSUM: i32 = 50;
const TCP_HEADER: i32 = 34;
const TCP_OPTIONS: i32 = 54;

/// Helpers of the kernel (`enum bpf_func_id`).
const STORE_BYTES: i32 = 9;
const IP_CHECKSUM_REPLACE: i32 = 10;
const TCP_CHECKSUM_REPLACE: i32 = 11;
const LOAD_BYTES: i32 = 26;

/// Kinds of the AccECN option (RFC 9768 §3.2.3), and of those without a length (RFC 9293 §3.2).
const ACCECN: [i32; 2] = [172, 174];
const END: i32 = 0;
const NOP: i32 = 1;
/// Maximum of options in a header, and of bytes in an AccECN option.
const OPTIONS_MAX: i32 = 40;
const ACCECN_BYTES_MAX: i32 = 11;

const CHOSEN: Label = "chosen";
const NEXT_OPTION: Label = "next option";
const AFTER_OPTION: Label = "after option";
const ONE_BYTE: Label = "one byte";
const FOUND: Label = "found";
const NEXT_BYTE: Label = "next byte";
const PASS: Label = "pass";

/// Places on the stack: what is loaded or stored, the kind of an option.
const VALUE: i16 = -8;
const KIND: i16 = -16;

/// Copies the packet's context and the address of the value on the stack to where helpers expect them.
fn store(program: &mut Program, at: i32, bytes: i32) {
    program.copy(1, 6);
    program.set(2, at);
    finish_store(program, bytes);
}

/// [`store`] at the offset in r2.
fn finish_store(program: &mut Program, bytes: i32) {
    program.copy(3, 10);
    program.word(0x07, 3, 0, 0, VALUE.into());
    program.set(4, bytes);
    program.set(5, 0);
    program.call(STORE_BYTES);
}

/// Loads the byte at the offset in r2 into r0. Ends the program beyond the packet.
fn load(program: &mut Program) {
    program.copy(1, 6);
    program.copy(3, 10);
    program.word(0x07, 3, 0, 0, VALUE.into());
    program.set(4, 1);
    program.call(LOAD_BYTES);
    program.unless_equal(0, 0, PASS);
    program.word(0x71, 0, 10, VALUE, 0); // r0 = byte
}

/// Replaces r3 by r4 in a checksum.
fn replace(program: &mut Program, helper: i32, at: i32) {
    program.copy(1, 6);
    program.set(2, at);
    program.set(5, 2);
    program.call(helper);
}

/// Jumps to `CHOSEN` for the packets of a flow, or for some of them. `counter`: a map with one 64-bit number.
fn choose(program: &mut Program, flow: usize, nth: &[u64], counter: i32) {
    counted::only(program, flow, PASS);
    if nth.is_empty() {
        return;
    }
    counted::count(program, counter, nth, CHOSEN, PASS);
    program.go_to(PASS);
    program.label(CHOSEN);
}

/// Sets the ECN field of the IP header.
fn set_ecn(program: &mut Program, bits: u8) {
    program.load_byte(TOS);
    program.copy(7, 0);
    program.copy(8, 0);
    program.word(0x57, 8, 0, 0, !3); // r8 &= !3
    program.word(0x47, 8, 0, 0, bits.into()); // r8 |= bits
    program.word(0x73, 10, 8, VALUE, 0); // value = r8
    program.copy(3, 7);
    program.word(0x67, 3, 0, 0, 8); // the low byte of a word in network order
    program.copy(4, 8);
    program.word(0x67, 4, 0, 0, 8);
    replace(program, IP_CHECKSUM_REPLACE, IP_CHECKSUM);
    store(program, TOS, 1);
}

/// AE, CWR and ECE in the two bytes of offset and flags.
fn mask(flags: &[EcnFlag]) -> i32 {
    i32::from(EcnFlag::bits(flags)) << 6
}

/// Clears and sets TCP flags.
fn set_flags(program: &mut Program, clear: &[EcnFlag], set: &[EcnFlag]) {
    program.load_short(field::TCP_OFFSET);
    program.copy(7, 0);
    program.copy(8, 0);
    program.word(0x57, 8, 0, 0, !mask(clear)); // r8 &= !mask
    program.word(0x47, 8, 0, 0, mask(set)); // r8 |= mask
    program.word(0xdc, 7, 0, 0, 16); // network order
    program.word(0xdc, 8, 0, 0, 16);
    program.word(0x6b, 10, 8, VALUE, 0); // value = r8
    program.copy(3, 7);
    program.copy(4, 8);
    replace(program, TCP_CHECKSUM_REPLACE, TCP_CHECKSUM);
    store(program, field::TCP_OFFSET, 2);
}

/// Overwrites the AccECN option with NOPs. Ends the program if there is none.
fn strip(program: &mut Program) {
    program.load_byte(field::TCP_OFFSET);
    program.word(0x77, 0, 0, 0, 4); // r0 >>= 4: words of the header
    program.word(0x67, 0, 0, 0, 2); // r0 <<= 2: bytes
    program.copy(9, 0);
    program.word(0x07, 9, 0, 0, TCP_HEADER); // r9 = end of the options
    program.set(7, TCP_OPTIONS);
    program.set(8, 0);
    program.label(NEXT_OPTION);
    program.unless_below(7, 9, PASS);
    program.copy(2, 7);
    load(program);
    program.if_equal(0, END, PASS);
    program.if_equal(0, NOP, ONE_BYTE);
    program.word(0x7b, 10, 0, KIND, 0);
    program.copy(2, 7);
    program.word(0x07, 2, 0, 0, 1);
    load(program);
    program.jump(0xa5, 0, 2, PASS); // a length below 2
    program.word(0x79, 1, 10, KIND, 0);
    ACCECN.iter().for_each(|kind| program.if_equal(1, *kind, FOUND));
    program.word(0x0f, 7, 0, 0, 0); // r7 += r0
    program.go_to(AFTER_OPTION);
    program.label(ONE_BYTE);
    program.word(0x07, 7, 0, 0, 1);
    program.label(AFTER_OPTION);
    program.word(0x07, 8, 0, 0, 1);
    program.jump(0xa5, 8, OPTIONS_MAX, NEXT_OPTION);
    program.go_to(PASS);
    program.label(FOUND);
    program.copy(9, 7);
    program.word(0x0f, 9, 0, 0, 0); // r9 = end of the option
    program.set(8, 0);
    program.label(NEXT_BYTE);
    program.unless_below(7, 9, PASS);
    program.copy(2, 7);
    load(program);
    program.copy(3, 0);
    program.set(4, NOP);
    program.copy(1, 7); // the place in a word in network order
    program.word(0x57, 1, 0, 0, 1);
    program.word(0x67, 1, 0, 0, 3);
    program.word(0x6f, 3, 1, 0, 0);
    program.word(0x6f, 4, 1, 0, 0);
    replace(program, TCP_CHECKSUM_REPLACE, TCP_CHECKSUM);
    program.word(0x72, 10, 0, VALUE, NOP);
    program.copy(1, 6);
    program.copy(2, 7);
    finish_store(program, 1);
    program.word(0x07, 7, 0, 0, 1);
    program.word(0x07, 8, 0, 0, 1);
    program.jump(0xa5, 8, ACCECN_BYTES_MAX, NEXT_BYTE);
}

/// Makes the classifier of a rewrite. `flow`: index of its flow.
fn classifier(spec: &Rewrite, flow: Option<usize>, counter: i32) -> Vec<u8> {
    let mut program = Program::default();
    program.copy(6, 1);
    program.load_short(field::ETHERNET_TYPE);
    program.unless_equal(0, IPV4, PASS);
    let of_tcp = |program: &mut Program| {
        program.load_byte(field::IP_PROTOCOL);
        program.unless_equal(0, TCP, PASS);
    };
    if let Some(flow) = flow {
        of_tcp(&mut program);
        choose(&mut program, flow, &spec.nth, counter);
    }
    if let Some(ecn) = spec.ecn {
        set_ecn(&mut program, ecn.bits());
    }
    if spec.is_of_tcp() {
        if flow.is_none() {
            of_tcp(&mut program);
        }
        if !spec.clear_flags.is_empty() || !spec.set_flags.is_empty() {
            set_flags(&mut program, &spec.clear_flags, &spec.set_flags);
        }
        if spec.strip_accecn {
            strip(&mut program);
        }
    }
    program.label(PASS);
    program.answer(GO_ON);
    program.bytes()
}

/// Loads the classifier of a rewrite and pins it at `path`, below a mounted bpf file system.
///
/// # Errors
/// Returns the error of the kernel's verifier with the end of its log.
pub(crate) fn pin(spec: &Rewrite, flow: Option<usize>, path: &str) -> Result<()> {
    let counter = sys::bpf_counter()?; // The program holds it.
    sys::bpf_pin_classifier(&classifier(spec, flow, counter.as_raw_fd()), path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::assert_jumps;
    use dumbbell_model::scenario::EcnField;

    #[test]
    fn every_jump_ends_inside_the_program() {
        for (ecn, flags, strip_accecn) in [
            (Some(EcnField::Ce), vec![], false),
            (None, vec![EcnFlag::Ae, EcnFlag::Ece], false),
            (None, vec![], true),
            (Some(EcnField::NotEct), vec![EcnFlag::Cwr], true),
        ] {
            for (flow, nth) in [(None, vec![]), (Some(3), vec![]), (Some(3), vec![1, 9])] {
                let spec = Rewrite {
                    flow: None,
                    nth,
                    ecn,
                    clear_flags: flags.clone(),
                    set_flags: Vec::new(),
                    strip_accecn,
                };
                assert_jumps(&classifier(&spec, flow, 7));
            }
        }
    }

    #[test]
    fn flags_lie_where_the_header_has_them() {
        assert_eq!(mask(&[EcnFlag::Ae]), 0x100); // RFC 9768 §3.1
        assert_eq!(mask(&[EcnFlag::Cwr, EcnFlag::Ece]), 0xc0); // RFC 3168 §6.1
    }
}
