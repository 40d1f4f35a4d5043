//! Captures in pcapng (draft-ietf-opsawg-pcapng), with one interface block per tap. Timestamps are
//! nanoseconds since the start of the run.

use dumbbell_model::Time;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const DECRYPTION_SECRETS: u32 = 10;
/// Secrets of TLS, as SSLKEYLOGFILE has them.
const TLS_KEY_LOG: u32 = 0x544c_534b;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const ETHERNET: u16 = 1;

/// Option codes.
const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
const INTERFACE_NAME: u16 = 2;
const USER_APPLICATION: u16 = 4;
const TIME_RESOLUTION: u16 = 9;
/// Timestamp resolution: 10^-9 s.
const NANOSECONDS: u8 = 9;

/// A recorded frame and the range of its bytes.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    at: Time,
    interface: u32,
    original_bytes: u32,
    start: usize,
    end: usize,
}

/// Frames of all taps of a run. They may be added in any order; the file is sorted by time.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    snap_bytes: u32,
    frames: Vec<Recorded>,
    bytes: Vec<u8>,
}

impl Recording {
    /// Recording with at most `snap_bytes` of each frame.
    pub fn new(snap_bytes: u32) -> Self {
        Self { snap_bytes, ..Self::default() }
    }

    /// Adds a frame of `original_bytes` on the wire and keeps the first bytes. Returns its number.
    pub fn frame(&mut self, at: Time, interface: u32, original_bytes: u32, bytes: &[u8]) -> usize {
        let start = self.bytes.len();
        let kept = bytes.len().min(self.snap_bytes as usize);
        self.bytes.extend_from_slice(&bytes[..kept]);
        let end = self.bytes.len();
        self.frames.push(Recorded { at, interface, original_bytes, start, end });
        self.frames.len() - 1
    }

    /// Contents of the file. `interfaces` are names by number; `secrets` are lines of SSLKEYLOGFILE (RFC 9850),
    /// with which Wireshark decrypts; `comment` returns the comment of a frame by its number.
    pub fn file(
        &self,
        interfaces: &[String],
        secrets: &[u8],
        mut comment: impl FnMut(usize) -> Option<String>,
    ) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len() + 40 * self.frames.len() + 1000);
        let mut body = Vec::new();
        body.extend(BYTE_ORDER.to_le_bytes());
        body.extend([1_u16.to_le_bytes(), 0_u16.to_le_bytes()].concat()); // version 1.0
        body.extend(u64::MAX.to_le_bytes()); // section length: unspecified
        option(&mut body, USER_APPLICATION, b"dumbbell");
        option(&mut body, END_OF_OPTIONS, &[]);
        block(&mut out, SECTION_HEADER, &body);
        if !secrets.is_empty() {
            body.clear();
            body.extend(TLS_KEY_LOG.to_le_bytes());
            body.extend((secrets.len() as u32).to_le_bytes());
            body.extend(secrets);
            pad(&mut body);
            block(&mut out, DECRYPTION_SECRETS, &body);
        }
        for name in interfaces {
            body.clear();
            body.extend(ETHERNET.to_le_bytes());
            body.extend([0; 2]);
            body.extend(self.snap_bytes.to_le_bytes());
            option(&mut body, INTERFACE_NAME, name.as_bytes());
            option(&mut body, TIME_RESOLUTION, &[NANOSECONDS]);
            option(&mut body, END_OF_OPTIONS, &[]);
            block(&mut out, INTERFACE_DESCRIPTION, &body);
        }
        let mut order: Vec<usize> = (0..self.frames.len()).collect();
        order.sort_by_key(|&number| self.frames[number].at);
        for number in order {
            let Recorded { at, interface, original_bytes, start, end } = self.frames[number];
            body.clear();
            body.extend(interface.to_le_bytes());
            body.extend(((at.as_ns() >> 32) as u32).to_le_bytes());
            body.extend((at.as_ns() as u32).to_le_bytes());
            body.extend(((end - start) as u32).to_le_bytes());
            body.extend(original_bytes.to_le_bytes());
            body.extend(&self.bytes[start..end]);
            pad(&mut body);
            if let Some(text) = comment(number) {
                option(&mut body, COMMENT, text.as_bytes());
                option(&mut body, END_OF_OPTIONS, &[]);
            }
            block(&mut out, ENHANCED_PACKET, &body);
        }
        out
    }
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

/// Writes type, length, body, and the length again.
fn block(out: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let length = (body.len() + 12) as u32;
    out.extend(kind.to_le_bytes());
    out.extend(length.to_le_bytes());
    out.extend(body);
    out.extend(length.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    }

    #[test]
    fn frames_are_in_order_of_time_and_blocks_can_be_read_in_both_directions() {
        let mut recording = Recording::new(5);
        recording.frame(Time::from_ns(7_000_000_000), 1, 60, &[1; 60]);
        recording.frame(Time::from_ns(3), 0, 3, &[2; 3]);
        let names = ["a:x".to_owned(), "b:y".to_owned()];
        let file = recording
            .file(&names, b"CLIENT_RANDOM", |number| (number == 0).then(|| "why".to_owned()));
        let mut at = 0;
        let mut kinds = Vec::new();
        let mut stamps = Vec::new();
        while at < file.len() {
            let length = word(&file, at + 4) as usize;
            assert_eq!(length % 4, 0);
            assert_eq!(word(&file, at + length - 4) as usize, length);
            kinds.push(word(&file, at));
            if word(&file, at) == ENHANCED_PACKET {
                let ns = u64::from(word(&file, at + 12)) << 32 | u64::from(word(&file, at + 16));
                stamps.push((ns, word(&file, at + 8), word(&file, at + 20), word(&file, at + 24)));
            }
            at += length;
        }
        assert_eq!(at, file.len());
        assert_eq!(
            kinds,
            [SECTION_HEADER, DECRYPTION_SECRETS, 1, 1, ENHANCED_PACKET, ENHANCED_PACKET]
        );
        assert_eq!(stamps, [(3, 0, 3, 3), (7_000_000_000, 1, 5, 60)]);
    }
}
