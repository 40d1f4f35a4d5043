//! Multipath TCP options as bytes (RFC 8684 §3), as Linux writes them: version 1, 64-bit data
//! sequence numbers, no checksums.

use crate::mptcp::Multipath;
use crate::Segment;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

const KIND: u8 = 30;
const MP_CAPABLE: u8 = 0;
const MP_JOIN: u8 = 1;
const DSS: u8 = 2;
/// Protocol version.
const VERSION: u8 = 1;
/// Flag H: HMAC-SHA256 is used.
const HMAC_SHA256: u8 = 1;
/// Flags of DSS: data ACK present, 8-byte data ACK, mapping present, 8-byte mapping, DATA_FIN.
const ACK: u8 = 1;
const ACK64: u8 = 2;
const MAP: u8 = 4;
const MAP64: u8 = 8;
const FIN: u8 = 16;

/// Header fields of a connection's subflows that its segments do not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MultipathHeaders {
    /// Keys of the opener and of the listener (§3.1).
    pub keys: [u64; 2],
    /// Random numbers of opener and listener in this subflow's handshake (§3.2).
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

/// Token of the host with this key (§3.2).
fn token(key: u64) -> u32 {
    word(&hash(key)[..4]) as u32
}

/// Initial data sequence number of the host with this key (§3.1).
fn initial(key: u64) -> u64 {
    word(&hash(key)[24..])
}

impl MultipathHeaders {
    /// Data sequence number on the wire for an offset in the opener's stream.
    fn dsn(&self, offset: u64) -> u64 {
        initial(self.keys[0]).wrapping_add(1).wrapping_add(offset)
    }

    /// HMAC of both nonces under both keys, with the values of `side` first (§3.2).
    fn authentication(&self, side: usize) -> [u8; 32] {
        let order = [side, 1 - side];
        let key = order.map(|side| self.keys[side].to_be_bytes()).concat();
        match Hmac::<Sha256>::new_from_slice(&key) {
            Ok(mut mac) => {
                mac.update(&order.map(|side| self.nonces[side].to_be_bytes()).concat());
                mac.finalize().into_bytes().into()
            }
            Err(_) => unreachable!("HMAC takes keys of any length"),
        }
    }

    /// Appends a segment's option. `side` is 0 for the connection's opener.
    pub(crate) fn write(
        &self,
        option: Multipath,
        segment: &Segment,
        side: usize,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        let answers = side == 1;
        match option {
            Multipath::Capable => self.write_capable(answers, out),
            Multipath::CapableAck { mapped_bytes } => {
                self.write_capable_ack(mapped_bytes, side, out);
            }
            Multipath::Join { backup } => self.write_join(backup, side, out),
            Multipath::JoinAck => self.write_join_ack(side, out),
            Multipath::DataAck { .. }
            | Multipath::NoMapping { .. }
            | Multipath::Mapping { .. }
            | Multipath::DataFin { .. } => self.write_dss(option, segment, out),
        }
        let length = option.bytes(answers && segment.flags.is_syn()) as usize;
        out.resize(start + length, 1); // NOP
    }

    /// MP_CAPABLE of a SYN, or with the key of the listener (§3.1).
    fn write_capable(&self, answers: bool, out: &mut Vec<u8>) {
        begin(out, if answers { 12 } else { 4 }, MP_CAPABLE, VERSION);
        out.push(HMAC_SHA256);
        if answers {
            out.extend(self.keys[1].to_be_bytes());
        }
    }

    /// MP_CAPABLE with both keys, and the length of the data if there is any (§3.1).
    fn write_capable_ack(&self, mapped_bytes: u16, side: usize, out: &mut Vec<u8>) {
        begin(out, if mapped_bytes > 0 { 22 } else { 20 }, MP_CAPABLE, VERSION);
        out.push(HMAC_SHA256);
        out.extend(self.keys[side].to_be_bytes());
        out.extend(self.keys[1 - side].to_be_bytes());
        if mapped_bytes > 0 {
            out.extend(mapped_bytes.to_be_bytes());
        }
    }

    /// MP_JOIN of a SYN, or with the HMAC of the listener (§3.2).
    fn write_join(&self, backup: bool, side: usize, out: &mut Vec<u8>) {
        let answers = side == 1;
        begin(out, if answers { 16 } else { 12 }, MP_JOIN, u8::from(backup));
        out.push(self.address_id);
        if answers {
            out.extend(&self.authentication(side)[..8]);
        } else {
            out.extend(token(self.keys[1 - side]).to_be_bytes());
        }
        out.extend(self.nonces[side].to_be_bytes());
    }

    /// MP_JOIN with the HMAC of the opener (§3.2).
    fn write_join_ack(&self, side: usize, out: &mut Vec<u8>) {
        begin(out, 24, MP_JOIN, 0);
        out.push(0);
        out.extend(&self.authentication(side)[..20]);
    }

    /// DSS (§3.3).
    fn write_dss(&self, option: Multipath, segment: &Segment, out: &mut Vec<u8>) {
        // Next byte of the reverse direction, which carries no data.
        let reverse = initial(self.keys[1]).wrapping_add(1);
        match option {
            Multipath::DataAck { data_ack, fin } => {
                let (bytes, flags) =
                    if fin { (26, ACK | ACK64 | MAP | MAP64 | FIN) } else { (12, ACK | ACK64) };
                begin(out, bytes, DSS, 0);
                out.push(flags);
                out.extend(self.dsn(data_ack).to_be_bytes());
                if fin {
                    mapping(reverse, 0, 1, out);
                }
            }
            Multipath::Mapping { dsn, fin, .. } => {
                begin(out, 22, DSS, 0);
                out.push(ACK | MAP | MAP64 | if fin { FIN } else { 0 });
                out.extend((reverse as u32).to_be_bytes());
                let bytes = segment.payload_bytes as u16 + u16::from(fin);
                mapping(self.dsn(dsn), segment.seq as u32 + 1, bytes, out);
            }
            Multipath::DataFin { dsn } => {
                begin(out, 22, DSS, 0);
                out.push(ACK | MAP | MAP64 | FIN);
                out.extend((reverse as u32).to_be_bytes());
                mapping(self.dsn(dsn), 0, 1, out);
            }
            Multipath::NoMapping { closed } => {
                begin(out, 8, DSS, 0);
                out.push(ACK);
                out.extend((reverse as u32).wrapping_add(u32::from(closed)).to_be_bytes());
            }
            Multipath::Capable
            | Multipath::CapableAck { .. }
            | Multipath::Join { .. }
            | Multipath::JoinAck => unreachable!("not a DSS option"),
        }
    }
}

/// Writes kind, length, subtype and the four bits after it.
fn begin(out: &mut Vec<u8>, length: u8, subtype: u8, low: u8) {
    out.extend([KIND, length, subtype << 4 | low]);
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
            (
                Multipath::Mapping { dsn: 7, offset_bytes: 0, fragments: 1, fin: false },
                Segment::default(),
                0,
                24,
            ),
            (Multipath::DataFin { dsn: 7 }, Segment::default(), 0, 24),
        ];
        for (option, segment, side, length) in cases {
            let bytes = written(option, segment, side);
            assert_eq!(bytes.len(), length, "{option:?}");
            // The option's length field is its length without padding.
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
        // An MP_JOIN identifies the connection by the listener's token.
        let headers = MultipathHeaders { keys: [2, 1], ..HEADERS };
        let mut bytes = Vec::new();
        headers.write(Multipath::Join { backup: false }, &Segment::default(), 0, &mut bytes);
        assert_eq!(bytes[4..8], [0xcd, 0x26, 0x62, 0x15]);
    }

    #[test]
    fn a_mapping_names_both_sequence_numbers() {
        let segment = Segment { seq: 100, payload_bytes: 50, ..Segment::default() };
        let bytes = written(
            Multipath::Mapping { dsn: 1000, offset_bytes: 0, fragments: 1, fin: true },
            segment,
            0,
        );
        assert_eq!(bytes[2..4], [0x20, ACK | MAP | MAP64 | FIN]);
        assert_eq!(bytes[8..16], (0x19ec_5090_83d0_0a50_u64 + 1001).to_be_bytes());
        assert_eq!(bytes[16..20], 101_u32.to_be_bytes());
        assert_eq!(bytes[20..22], 51_u16.to_be_bytes());
    }
}
