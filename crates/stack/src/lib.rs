//! The seam between Dumbbell and a transport stack without I/O: datagrams in, datagrams out, the next
//! deadline. A [`Stack`] is one connection with both of its ends; the simulator carries its datagrams.
//!
//! Time is the time since the start of the run. A stack reads no clock and draws no random number that does
//! not come from [`Spec::seed`]: the same seed gives the same bytes.

pub mod line;
pub mod random;
pub mod task;
pub mod tls;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// End of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that opens the connection and sends the data: the flow's source.
    Client = 0,
    /// The end that receives the data.
    Server = 1,
}

impl Side {
    /// Both ends.
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];
}

/// Addresses and ports of a stack whose datagrams are IPv4 packets. The network knows the flow by itself.
pub mod ip {
    /// Addresses of client and server.
    pub const ADDRESSES: [[u8; 4]; 2] = [[10, 0, 0, 1], [10, 0, 0, 2]];
    /// Ports of client and server.
    pub const PORTS: [u16; 2] = [20_001, 5001];
}

/// Log of an end, in memory.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Returns what was written so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Task of the connection of a flow.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Congestion control, by the name in the catalogue.
    pub congestion_control: String,
    /// Streams opened at once, each with an equal part of the bytes.
    pub streams: u32,
    /// Bytes to send over all streams; `None`: until it is stopped.
    pub bytes: Option<u64>,
    /// Largest UDP payload that the hosts' interfaces carry; of a stack of TCP, the largest IP packet.
    pub datagram_bytes: u16,
    /// Source of all randomness.
    pub seed: [u8; 32],
    /// The stack encrypts, with keys from `seed`. Otherwise its packets have the lengths of encrypted
    /// ones alone.
    pub encrypts: bool,
    /// Secrets of TLS, as SSLKEYLOGFILE has them (RFC 9850). Stays empty without encryption.
    pub secrets: Log,
    /// Logs of client and server in the stack's format (qlog for QUIC), if they are wanted.
    pub logs: Option<[Log; 2]>,
}

/// Datagrams handed to the network at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// ECN field of the IP header (RFC 3168 §5), 0 to 3.
    pub ecn_field: u8,
    /// Length of each datagram but the last, which may be shorter (UDP segmentation offload). Above 0.
    pub datagram_bytes: usize,
}

/// What is known of a connection. `None`: the stack does not tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Time at which the handshake was finished at the client.
    pub established: Option<Duration>,
    /// Payload that the receiving application has read.
    pub delivered_bytes: u64,
    /// Time of the last such read.
    pub last_delivery: Option<Duration>,
    /// Time at which all data had arrived at the receiving application.
    pub received: Option<Duration>,
    /// Time at which all data was acknowledged.
    pub acknowledged: Option<Duration>,
    /// Reason for which the connection was lost.
    pub lost: Option<String>,
    /// Congestion window of the client.
    pub cwnd_bytes: Option<u64>,
    /// Its slow-start threshold; `u64::MAX` before the first loss.
    pub ssthresh_bytes: Option<u64>,
    /// Bytes in flight.
    pub in_flight_bytes: Option<u64>,
    /// Largest datagram that the client sends at present.
    pub datagram_bytes: Option<u16>,
    /// Smoothed RTT of the client.
    pub srtt: Option<Duration>,
    /// Minimum RTT of the client.
    pub rtt_min: Option<Duration>,
    /// Packets that the client has declared lost.
    pub lost_packets: Option<u64>,
    /// Reductions of the window.
    pub congestion_events: Option<u64>,
}

impl State {
    /// A number of bytes in datagrams of the client's present size.
    pub fn packets(&self, bytes: Option<u64>) -> Option<u64> {
        Some(bytes? / u64::from(self.datagram_bytes.filter(|&size| size > 0)?))
    }
}

/// A connection with both of its ends.
pub trait Stack: Send {
    /// Opens the connection. The client's application writes from now on.
    fn open(&mut self, now: Duration);

    /// Stops the client's application: no data is sent for the first time after this.
    fn stop(&mut self, now: Duration);

    /// A datagram arrived at an end, with this ECN field.
    fn receive(&mut self, now: Duration, side: Side, ecn_field: u8, datagram: &[u8]);

    /// The deadline of an end has come. A call before the deadline has no effect.
    fn wake(&mut self, now: Duration, side: Side);

    /// Appends the next datagrams of an end to `out`; `None`: there is none at present.
    fn transmit(&mut self, now: Duration, side: Side, out: &mut Vec<u8>) -> Option<Transmit>;

    /// Time at which an end is to be woken. Asked for after each of the calls above.
    fn deadline(&mut self, side: Side) -> Option<Duration>;

    /// What is known at present.
    fn state(&self) -> State;
}

/// Makes connections of one stack.
pub trait Maker: Send + Sync {
    /// Creates a connection that is not yet open.
    ///
    /// # Errors
    /// What the stack cannot do, in a sentence.
    fn make(&self, spec: &Spec) -> Result<Box<dyn Stack>, String>;
}
