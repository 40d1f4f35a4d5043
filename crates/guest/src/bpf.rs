//! Assembler of eBPF classifiers (bpf(2), tc-bpf(8), the kernel's `Documentation/bpf/standardization`).

/// Offsets in a frame with an IPv4 header of 20 bytes.
pub(crate) mod field {
    pub(crate) const ETHERNET_TYPE: i32 = 12;
    pub(crate) const IP_LENGTH: i32 = 16;
    pub(crate) const IP_FRAGMENT: i32 = 20;
    pub(crate) const IP_PROTOCOL: i32 = 23;
    pub(crate) const SOURCE_ADDRESS: i32 = 26;
    pub(crate) const TARGET_ADDRESS: i32 = 30;
    pub(crate) const SOURCE_PORT: i32 = 34;
    pub(crate) const TARGET_PORT: i32 = 36;
    pub(crate) const TCP_OFFSET: i32 = 46;
}

pub(crate) const IPV4: i32 = 0x0800;
pub(crate) const TCP: i32 = 6;
pub(crate) const UDP: i32 = 17;

/// Result of a classifier: continue with the next one.
pub(crate) const GO_ON: i32 = -1;

/// Name of a target of jumps.
pub(crate) type Label = &'static str;

/// Instructions of eight bytes each, and the targets of jumps.
#[derive(Default)]
pub(crate) struct Program {
    words: Vec<[u8; 8]>,
    jumps: Vec<(usize, Label)>,
    labels: Vec<(Label, usize)>,
}

impl Program {
    /// Adds an instruction: code, destination and source register, offset, immediate value.
    pub(crate) fn word(&mut self, code: u8, to: u8, from: u8, offset: i16, value: i32) {
        let mut word = [code, from << 4 | to, 0, 0, 0, 0, 0, 0];
        word[2..4].copy_from_slice(&offset.to_ne_bytes());
        word[4..8].copy_from_slice(&value.to_ne_bytes());
        self.words.push(word);
    }

    /// Jumps if register and value compare as `code` says.
    pub(crate) fn jump(&mut self, code: u8, register: u8, value: i32, to: Label) {
        self.jumps.push((self.words.len(), to));
        self.word(code, register, 0, 0, value);
    }

    /// Jumps if register `one` is above register `other`.
    pub(crate) fn if_above(&mut self, one: u8, other: u8, to: Label) {
        self.jumps.push((self.words.len(), to));
        self.word(0x2d, one, other, 0, 0);
    }

    /// Jumps unless register `one` is below register `other`.
    pub(crate) fn unless_below(&mut self, one: u8, other: u8, to: Label) {
        self.jumps.push((self.words.len(), to));
        self.word(0x3d, one, other, 0, 0);
    }

    /// Jumps always.
    pub(crate) fn go_to(&mut self, to: Label) {
        self.jump(0x05, 0, 0, to);
    }

    /// Sets the target of the jumps to this label.
    pub(crate) fn label(&mut self, label: Label) {
        self.labels.push((label, self.words.len()));
    }

    /// Loads a byte of the packet in register 6 into r0.
    pub(crate) fn load_byte(&mut self, at: i32) {
        self.word(0x30, 0, 0, 0, at);
    }

    /// Loads two bytes of the packet into r0. All loads clobber r1 to r5.
    pub(crate) fn load_short(&mut self, at: i32) {
        self.word(0x28, 0, 0, 0, at);
    }

    /// Loads four bytes of the packet into r0.
    pub(crate) fn load_word(&mut self, at: i32) {
        self.word(0x20, 0, 0, 0, at);
    }

    /// Loads a constant of 64 bits.
    pub(crate) fn load_constant(&mut self, to: u8, value: u64) {
        self.word(0x18, to, 0, 0, value as i32);
        self.word(0, 0, 0, 0, (value >> 32) as i32);
    }

    /// Copies a register.
    pub(crate) fn copy(&mut self, to: u8, from: u8) {
        self.word(0xbf, to, from, 0, 0);
    }

    /// Sets a register to a value.
    pub(crate) fn set(&mut self, to: u8, value: i32) {
        self.word(0xb7, to, 0, 0, value);
    }

    /// Jumps unless register and value are equal.
    pub(crate) fn unless_equal(&mut self, register: u8, value: i32, to: Label) {
        self.jump(0x55, register, value, to);
    }

    /// Jumps if register and value are equal.
    pub(crate) fn if_equal(&mut self, register: u8, value: i32, to: Label) {
        self.jump(0x15, register, value, to);
    }

    /// Calls a helper of the kernel (`enum bpf_func_id`).
    pub(crate) fn call(&mut self, helper: i32) {
        self.word(0x85, 0, 0, 0, helper);
    }

    /// Begins a classifier: frames that are not TCP over IPv4 go to `others`.
    pub(crate) fn only_tcp(&mut self, others: Label) {
        self.copy(6, 1);
        self.load_short(field::ETHERNET_TYPE);
        self.unless_equal(0, IPV4, others);
        self.load_byte(field::IP_PROTOCOL);
        self.unless_equal(0, TCP, others);
    }

    /// Loads the payload of a TCP segment into r7: length of the IP packet less the headers of IP and TCP.
    pub(crate) fn load_payload_bytes(&mut self) {
        self.load_short(field::IP_LENGTH);
        self.copy(7, 0);
        self.load_byte(field::TCP_OFFSET);
        self.word(0x77, 0, 0, 0, 4); // r0 >>= 4: words of the header
        self.word(0x67, 0, 0, 0, 2); // r0 <<= 2: bytes
        self.word(0x1f, 7, 0, 0, 0); // r7 -= r0
        self.word(0x17, 7, 0, 0, 20); // r7 -= 20
    }

    /// Ends the program with this result.
    pub(crate) fn answer(&mut self, value: i32) {
        self.set(0, value);
        self.word(0x95, 0, 0, 0, 0);
    }

    /// Returns all instructions with jumps resolved.
    pub(crate) fn bytes(mut self) -> Vec<u8> {
        for (at, label) in self.jumps {
            let target = self.labels.iter().find(|(known, _)| *known == label).map_or(at, |l| l.1);
            let offset = target as i16 - at as i16 - 1;
            self.words[at][2..4].copy_from_slice(&offset.to_ne_bytes());
        }
        self.words.concat()
    }
}

/// Asserts what the kernel's verifier asks of jumps: they lead to an instruction of the program, backwards
/// only below a bound (`BPF_JLT`), and every instruction is reached.
#[cfg(test)]
pub(crate) fn assert_jumps(bytes: &[u8]) {
    let words: Vec<_> = bytes.chunks(8).collect();
    let mut reached = vec![false; words.len()];
    reached[0] = true;
    for (at, word) in words.iter().enumerate() {
        assert!(reached[at], "instruction {at} is never reached");
        let (jumps, goes_on) = match word[0] {
            0x05 => (true, false),
            0x95 => (false, false),
            0x85 => (false, true),
            code => (code & 7 == 5, true),
        };
        if jumps {
            let offset = i16::from_ne_bytes([word[2], word[3]]);
            let target = at as i64 + 1 + i64::from(offset);
            let first = if word[0] == 0xa5 { 0 } else { at as i64 + 1 };
            assert!((first..words.len() as i64).contains(&target), "{at} → {target}");
            reached[target as usize] = true;
        }
        if goes_on {
            assert!(at + 1 < words.len(), "the last instruction goes on");
            reached[at + 1] = true;
        }
    }
}

/// Runs a program on a frame as the kernel does, and returns its result. `call` takes the helper and its
/// second argument. Registers hold packet bytes in the host's order (`BPF_ABS`).
#[cfg(test)]
pub(crate) fn run(program: &[u8], frame: &[u8], mut call: impl FnMut(i32, u64)) -> i32 {
    let mut register = [0_u64; 11];
    let mut at = 0;
    loop {
        let word = &program[8 * at..8 * at + 8];
        let (to, from) = (usize::from(word[1] & 15), usize::from(word[1] >> 4));
        let offset = i16::from_ne_bytes([word[2], word[3]]);
        let value = i32::from_ne_bytes([word[4], word[5], word[6], word[7]]);
        at += 1;
        let bytes = |count: usize| {
            let place = value as usize;
            frame[place..place + count].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
        };
        let (left, right) = (register[to], value as u64);
        let mut jump = false;
        match word[0] {
            0x20 => register[0] = bytes(4),
            0x28 => register[0] = bytes(2),
            0x30 => register[0] = bytes(1),
            0x18 => {
                let low = u64::from(value as u32);
                let high = &program[8 * at + 4..8 * at + 8];
                let high = u32::from_ne_bytes([high[0], high[1], high[2], high[3]]);
                register[to] = low | u64::from(high) << 32;
                at += 1;
            }
            0x05 => jump = true,
            0x15 => jump = left == right,
            0x2d => jump = left > register[from],
            0x35 => jump = left >= right,
            0x45 => jump = left & right != 0,
            0x55 => jump = left != right,
            0xa5 => jump = left < right,
            0x0f => register[to] = left.wrapping_add(register[from]),
            0x17 => register[to] = left.wrapping_sub(right),
            0x1f => register[to] = left.wrapping_sub(register[from]),
            0x2f => register[to] = left.wrapping_mul(register[from]),
            0x4f => register[to] = left | register[from],
            0x67 => register[to] = left << right,
            0x77 => register[to] = left >> right,
            0xaf => register[to] = left ^ register[from],
            0xb7 => register[to] = right,
            0xbf => register[to] = register[from],
            0x85 => call(value, register[2]),
            0x95 => return register[0] as i32,
            code => panic!("instruction {code:#x}"),
        }
        if matches!(word[0], 0x20 | 0x28 | 0x30 | 0x85) {
            register[1..6].fill(u64::MAX); // clobbered
        }
        if jump {
            at = at.wrapping_add_signed(isize::from(offset));
        }
    }
}
