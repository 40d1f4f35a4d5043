//! A connection for tests of the analysis, packet by packet.

#![allow(dead_code, reason = "each test program uses a part")]

use dumbbell_capture::connection::judge::Judgement;
use dumbbell_capture::connection::recovery::RetransmissionKind;
use dumbbell_capture::connection::stream::{Stream, Verdict};
use dumbbell_capture::tcp_header::TcpFlags;
use dumbbell_capture::{Connection, PacketInfo, TcpHeader};

pub(crate) const SYN: u16 = 2;
pub(crate) const ACK: u16 = 16;
pub(crate) const FIN: u16 = 1;
pub(crate) const RST: u16 = 4;
pub(crate) const MS: i64 = 1_000_000;
/// Initial sequence numbers: the client's numbers wrap after 999 bytes.
pub(crate) const CLIENT: u32 = u32::MAX - 999;
pub(crate) const SERVER: u32 = 5000;

/// A connection and its next sequence numbers. Positions count from the first byte.
pub(crate) struct Wire {
    pub(crate) connection: Connection,
    pub(crate) now_ms: i64,
    pub(crate) frame: u64,
    pub(crate) identifications: [u16; 2],
    pub(crate) sack: bool,
    /// Timestamp echo of the next packets; by default a time later than all packets so far.
    pub(crate) echo: Option<u32>,
    pub(crate) proved: Vec<u64>,
    pub(crate) shared_counter: bool,
}

impl Wire {
    /// Wire without a handshake.
    pub(crate) fn new() -> Self {
        Self {
            connection: Connection::default(),
            now_ms: 0,
            frame: 0,
            identifications: [65_530, 40],
            sack: true,
            echo: None,
            proved: Vec::new(),
            shared_counter: false,
        }
    }

    /// Wire after a handshake. The tap is 20 ms from the client and 30 ms from the server.
    pub(crate) fn open(sack: bool) -> Self {
        let mut wire = Self { sack, ..Self::new() };
        wire.handshake(0, 0, SYN);
        wire.handshake(30, 1, SYN | ACK);
        wire.send(50, 0, ACK, 0, 0, 0, &[]);
        wire
    }

    pub(crate) fn handshake(&mut self, at_ms: i64, side: usize, flags: u16) -> Option<Verdict> {
        let segment = TcpHeader {
            sequence: [CLIENT, SERVER][side],
            acknowledgement: CLIENT.wrapping_add(1),
            flags: TcpFlags(flags),
            window: 1000,
            window_scale: Some(7),
            sack_permitted: self.sack,
            timestamps: Some((at_ms as u32, 0)),
            ..TcpHeader::default()
        };
        self.pass(at_ms, side, segment, None)
    }

    pub(crate) fn pass(
        &mut self,
        at_ms: i64,
        side: usize,
        segment: TcpHeader,
        identification: Option<u16>,
    ) -> Option<Verdict> {
        self.now_ms = at_ms;
        self.frame += 1;
        let info = PacketInfo {
            now_ns: at_ms * MS,
            frame: self.frame,
            wire_bytes: 66 + segment.payload_bytes,
            identification,
            shared_counter: self.shared_counter,
            ..PacketInfo::default()
        };
        self.connection.packet(side, &info, &segment, &mut self.proved)
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of a header")]
    pub(crate) fn send(
        &mut self,
        at_ms: i64,
        side: usize,
        flags: u16,
        position: i64,
        length: u32,
        ack: i64,
        sack: &[(i64, i64)],
    ) -> Option<Verdict> {
        self.identifications[side] = self.identifications[side].wrapping_add(1);
        let identification = self.identifications[side];
        let initial = [CLIENT, SERVER];
        let at = |side: usize, position: i64| initial[side].wrapping_add(1 + position as u32);
        let mut segment = TcpHeader {
            sequence: at(side, position),
            acknowledgement: at(1 - side, ack),
            flags: TcpFlags(flags | ACK),
            window: 1000,
            payload_bytes: length,
            timestamps: Some((at_ms as u32, self.echo.unwrap_or(at_ms as u32))),
            sack_count: sack.len() as u8,
            ..TcpHeader::default()
        };
        for (block, (start, end)) in segment.sack.iter_mut().zip(sack) {
            *block = (at(1 - side, *start), at(1 - side, *end));
        }
        self.pass(at_ms, side, segment, Some(identification))
    }

    /// Sends data of the client.
    pub(crate) fn data(&mut self, at_ms: i64, position: i64) -> Judgement {
        let verdict = self.send(at_ms, 0, 0, position, 100, 0, &[]);
        assert_eq!(verdict.map(|verdict| verdict.position), Some(position));
        verdict.map_or(Judgement::New, |verdict| verdict.judgement)
    }

    /// Sends a retransmission of the client and returns its kind.
    pub(crate) fn retransmit(&mut self, at_ms: i64, position: i64) -> Option<RetransmissionKind> {
        self.send(at_ms, 0, 0, position, 100, 0, &[]).and_then(|verdict| verdict.kind)
    }

    pub(crate) fn ack(&mut self, at_ms: i64, ack: i64, sack: &[(i64, i64)]) {
        self.send(at_ms, 1, 0, 0, 0, ack, sack);
    }

    pub(crate) fn stream(&self) -> &Stream {
        match &self.connection.sides[0].stream {
            Some(stream) => stream,
            None => panic!("no data was seen"),
        }
    }
}
