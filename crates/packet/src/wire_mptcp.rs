//! Options of Multipath TCP as bytes (RFC 8684 §3), as Linux writes them: version 1, 64-bit data
//! sequence numbers, no checksums.

use crate::mptcp::Multipath;
use crate::Segment;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

const KIND: u8 = 30;
const MP_CAPABLE: u8 = 0;
const MP_JOIN: u8 = 1;
const DSS: u8 = 2;
/// Version 1 of the protocol.
const VERSION: u8 = 1;
/// HMAC-SHA256 is to be used (flag H).
const HMAC_SHA256: u8 = 1;
/// Flags of DSS: data ACK present, of 8 bytes; mapping present, with 8 bytes; DATA_FIN.
const ACK: u8 = 1;
const ACK64: u8 = 2;
const MAP: u8 = 4;
const MAP64: u8 = 8;
const FIN: u8 = 16;

/// What the headers of a connection's subflows say and its segments do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MultipathHeaders {
    /// Keys of who opens the connection and of who answers (§3.1).
    pub keys: [u64; 2],
    /// Random numbers of both in this subflow's handshake (§3.2).
    pub nonces: [u32; 2],
    /// Address identifier of this subflow at both ends.
    pub address_id: u8,
}

/// SHA-256 of a key.
fn hash(key: u64) -> [u8; 32] {
    Sha256::digest(key.to_be_bytes()).into()
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// The token of who has this key (§3.2).
fn token(key: u64) -> u32 {
    word(&hash(key)[..4]) as u32
}

/// The initial data sequence number of who has this key (§3.1).
fn initial(key: u64) -> u64 {
    word(&hash(key)[24..])
}

/// HMAC of both nonces under both keys, the own ones first (§3.2).
fn authentication(keys: [u64; 2], nonces: [u32; 2]) -> [u8; 32] {
    let key: Vec<u8> = keys.iter().flat_map(|key| key.to_be_bytes()).collect();
    match Hmac::<Sha256>::new_from_slice(&key) {
        Ok(mut mac) => {
            mac.update(&nonces.map(u32::to_be_bytes).concat());
            mac.finalize().into_bytes().into()
        }
        Err(_) => unreachable!("HMAC takes keys of any length"),
    }
}

impl MultipathHeaders {
    /// Where a data byte lies in the numbers of the wire. The stream is that of who opens.
    fn dsn(&self, offset: u64) -> u64 {
        initial(self.keys[0]).wrapping_add(1).wrapping_add(offset)
    }

    /// Appends a segment's option. `side`: 0 for who opens the connection.
    pub(crate) fn write(
        &self,
        option: Multipath,
        segment: &Segment,
        side: usize,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        let answers = side == 1;
        let length = option.bytes(answers && segment.flags.is_syn()) as usize;
        let begin = |out: &mut Vec<u8>, length: usize, subtype: u8, low: u8| {
            out.extend([KIND, length as u8, subtype << 4 | low]);
        };
        let [own, other] = [self.keys[side], self.keys[1 - side]];
        let nonces = [self.nonces[side], self.nonces[1 - side]];
        // The next byte of the other direction: there is no data there.
        let nothing = initial(self.keys[1]).wrapping_add(1);
        match option {
            Multipath::Capable => {
                begin(out, length, MP_CAPABLE, VERSION);
                out.push(HMAC_SHA256);
                if answers {
                    out.extend(own.to_be_bytes());
                }
            }
            Multipath::CapableAck { mapped_bytes } => {
                begin(out, if mapped_bytes > 0 { 22 } else { 20 }, MP_CAPABLE, VERSION);
                out.push(HMAC_SHA256);
                out.extend(own.to_be_bytes());
                out.extend(other.to_be_bytes());
                if mapped_bytes > 0 {
                    out.extend(mapped_bytes.to_be_bytes());
                }
            }
            Multipath::Join { backup } => {
                begin(out, length, MP_JOIN, u8::from(backup));
                out.push(self.address_id);
                if answers {
                    let mac = authentication([own, other], nonces);
                    out.extend(&mac[..8]);
                } else {
                    out.extend(token(other).to_be_bytes());
                }
                out.extend(nonces[0].to_be_bytes());
            }
            Multipath::JoinAck => {
                begin(out, length, MP_JOIN, 0);
                out.push(0);
                out.extend(&authentication([own, other], nonces)[..20]);
            }
            Multipath::DataAck { data_ack, fin } => {
                let (bytes, flags) =
                    if fin { (26, ACK | ACK64 | MAP | MAP64 | FIN) } else { (12, ACK | ACK64) };
                begin(out, bytes, DSS, 0);
                out.push(flags);
                out.extend(self.dsn(data_ack).to_be_bytes());
                if fin {
                    mapping(nothing, 0, 1, out);
                }
            }
            Multipath::NoMapping { closed } => {
                begin(out, length, DSS, 0);
                out.push(ACK);
                out.extend((nothing as u32).wrapping_add(u32::from(closed)).to_be_bytes());
            }
            Multipath::Mapping { dsn, fin } => {
                begin(out, 22, DSS, 0);
                out.push(ACK | MAP | MAP64 | if fin { FIN } else { 0 });
                out.extend((nothing as u32).to_be_bytes());
                let bytes = segment.payload_bytes as u16 + u16::from(fin);
                mapping(self.dsn(dsn), segment.seq as u32 + 1, bytes, out);
            }
            Multipath::DataFin { dsn } => {
                begin(out, 22, DSS, 0);
                out.push(ACK | MAP | MAP64 | FIN);
                out.extend((nothing as u32).to_be_bytes());
                mapping(self.dsn(dsn), 0, 1, out);
            }
        }
        out.resize(start + length, 1); // NOP
    }
}

fn mapping(dsn: u64, subflow_sequence: u32, bytes: u16, out: &mut Vec<u8>) {
    out.extend(dsn.to_be_bytes());
    out.extend(subflow_sequence.to_be_bytes());
    out.extend(bytes.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{Flags, Syn};

    const HEADERS: MultipathHeaders =
        MultipathHeaders { keys: [1, 2], nonces: [3, 4], address_id: 5 };

    fn written(option: Multipath, segment: Segment, side: usize) -> Vec<u8> {
        let mut out = Vec::new();
        HEADERS.write(option, &segment, side, &mut out);
        out
    }

    #[test]
    fn options_are_as_long_as_the_frames_count_them() {
        let syn = |syn| Segment { flags: Flags { syn, ..Flags::default() }, ..Segment::default() };
        let cases = [
            (Multipath::Capable, syn(Syn::Opens), 0, 4),
            (Multipath::Capable, syn(Syn::Answers), 1, 12),
            (Multipath::CapableAck { mapped_bytes: 0 }, Segment::default(), 0, 20),
            (Multipath::CapableAck { mapped_bytes: 9 }, Segment::default(), 0, 24),
            (Multipath::Join { backup: true }, syn(Syn::Opens), 0, 12),
            (Multipath::Join { backup: false }, syn(Syn::Answers), 1, 16),
            (Multipath::JoinAck, Segment::default(), 0, 24),
            (Multipath::DataAck { data_ack: 9, fin: false }, Segment::default(), 1, 12),
            (Multipath::DataAck { data_ack: 9, fin: true }, Segment::default(), 1, 28),
            (Multipath::NoMapping { closed: true }, Segment::default(), 0, 8),
            (Multipath::Mapping { dsn: 7, fin: false }, Segment::default(), 0, 24),
            (Multipath::DataFin { dsn: 7 }, Segment::default(), 0, 24),
        ];
        for (option, segment, side, length) in cases {
            let bytes = written(option, segment, side);
            assert_eq!(bytes.len(), length, "{option:?}");
            // What the option itself says is its length, less padding.
            assert!(usize::from(bytes[1]) <= length && usize::from(bytes[1]) + 2 >= length);
            assert_eq!(bytes[0], 30);
        }
    }

    #[test]
    fn keys_give_tokens_and_initial_numbers_as_in_the_rfc() {
        // SHA-256 of 00 00 00 00 00 00 00 01: cd2662154e6d76b2b2b92e70c0cac3cc
        // f534f9b74eb5b89819ec509083d00a50
        assert_eq!(token(1), 0xcd26_6215);
        assert_eq!(initial(1), 0x19ec_5090_83d0_0a50);
        // A join names the connection by the token of who answers.
        let headers = MultipathHeaders { keys: [2, 1], ..HEADERS };
        let mut bytes = Vec::new();
        headers.write(Multipath::Join { backup: false }, &Segment::default(), 0, &mut bytes);
        assert_eq!(bytes[4..8], [0xcd, 0x26, 0x62, 0x15]);
    }

    #[test]
    fn a_mapping_names_both_sequence_numbers() {
        let segment = Segment { seq: 100, payload_bytes: 50, ..Segment::default() };
        let bytes = written(Multipath::Mapping { dsn: 1000, fin: true }, segment, 0);
        assert_eq!(bytes[2..4], [0x20, ACK | MAP | MAP64 | FIN]);
        assert_eq!(bytes[8..16], (0x19ec_5090_83d0_0a50_u64 + 1001).to_be_bytes());
        assert_eq!(bytes[16..20], 101_u32.to_be_bytes());
        assert_eq!(bytes[20..22], 51_u16.to_be_bytes());
    }
}
