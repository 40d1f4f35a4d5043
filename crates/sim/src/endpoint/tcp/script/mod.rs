//! Plays scripts of packetdrill on the model's TCP: one connection, whose application makes the
//! script's calls, and whose packets the script sees.
//!
//! What a script asks and the model does not have ends it with a message that begins with
//! [`NOT_MODELLED`].

mod calls;
mod segments;
mod state;
mod sysctls;

use super::duplex::End;
use super::handshake::SynOptions;
use super::receiver::Receiver;
use super::sender::{Phase, Sender};
use crate::soft_timers::SoftRange;
use calls::done;
use dumbbell_cc::plugin::NoPlugins;
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{Algorithm, Sink};
use dumbbell_model::writer::{Source, Writer};
use dumbbell_model::{Rate, Span, TcpOptions, Time};
use dumbbell_packetdrill::script::{Call, Flags, TcpOption, Value};
use dumbbell_packetdrill::settings::{PORT, REMOTE_PORT};
use dumbbell_packetdrill::shell::{steps, Step};
use dumbbell_packetdrill::system::{Answer, System};
use dumbbell_packetdrill::wire::Tcp;
use dumbbell_packetdrill::{play, Played, Script, Settings};
use segments::Wire;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

/// Beginning of the message about what a script asks beyond the model.
const NOT_MODELLED: &str = "not modelled: ";
/// Beginning of a script: a quarter of a jiffy after a tick, as on a guest.
const BEGIN: Span = Span::from_us(250);
/// Most events at one time: a model that stands still ends its script.
const MOST_EVENTS: usize = 1_000_000;
/// An application that reads when the script says: the model's own reads are far apart.
const READS_NOTHING: Sink = Sink { lowat_bytes: 1, rate_bps: Some(Rate::from_bps(1)) };
/// How long a call may block.
const PATIENCE: Span = Span::from_us(600_000_000);

/// Plays a script on the model, with the sysctls of a profile.
///
/// `controls`: a congestion control by Linux's name. `read`: content of a file that the script's shell
/// names.
pub fn play_script(
    script: &Script,
    settings: &Settings,
    profile: &TcpOptions,
    controls: &dyn Fn(&str) -> Option<Algorithm>,
    read: &dyn Fn(&str) -> Option<String>,
) -> Played {
    let mut options = profile.clone();
    options.mtu_bytes = settings.mtu - if settings.local.is_ipv6() { 20 } else { 0 };
    let control = controls("cubic").unwrap_or(Algorithm::Reno);
    let mut model = Model {
        now: Time::ZERO + BEGIN,
        options,
        control,
        controls,
        read,
        local: settings.local,
        remote: settings.remote,
        sockets: BTreeMap::new(),
        connection: None,
        accepted: 0,
        sent: VecDeque::new(),
        blocked: None,
    };
    play(script, settings, &mut model)
}

fn lacks<T>(what: impl std::fmt::Display) -> Result<T, String> {
    Err(format!("{NOT_MODELLED}{what}"))
}

/// A descriptor of the script.
#[derive(Clone, Copy, Debug, Default)]
struct Socket {
    listens: bool,
    /// True if it is the connection.
    connected: bool,
    non_blocking: bool,
    sndbuf: Option<u64>,
    nodelay: bool,
}

struct Connection {
    sender: Sender,
    receiver: Receiver,
    wire: Wire,
    soft: SoftRange,
    /// True if this end's FIN followed the peer's.
    answers: bool,
}

impl Connection {
    fn end(&mut self) -> End<'_> {
        End { sender: &mut self.sender, receiver: &mut self.receiver }
    }

    /// The application writes no more.
    fn stop(&mut self, now: Time) {
        self.answers |= self.receiver.finished && !self.sender.fin;
        self.end().send(now, |sender| sender.stop(now));
    }
}

struct Model<'a> {
    now: Time,
    options: TcpOptions,
    control: Algorithm,
    controls: &'a dyn Fn(&str) -> Option<Algorithm>,
    read: &'a dyn Fn(&str) -> Option<String>,
    local: IpAddr,
    remote: IpAddr,
    sockets: BTreeMap<i64, Socket>,
    connection: Option<Connection>,
    accepted: u16,
    sent: VecDeque<(i64, Vec<u8>)>,
    blocked: Option<Blocked>,
}

/// A call that blocks, and its answer once it has one.
struct Blocked {
    call: Call,
    answer: Option<(Answer, i64)>,
}

impl Model<'_> {
    /// A connection with options that both ends agreed on; `connects`: this end sends the SYN.
    fn begin(&mut self, connects: bool, agreed: TcpOptions) -> Connection {
        let remote_port = if connects { PORT } else { REMOTE_PORT.saturating_add(self.accepted) };
        let local_port = if connects { 50_000 } else { PORT };
        let mut wire = Wire::new(
            connects,
            (self.local, local_port),
            (self.remote, remote_port),
            &self.options,
        );
        wire.scales_window(agreed.tcp_window_scaling);
        let agreed = Arc::new(agreed);
        let rng = Rng::named(1, "script");
        let writer = Writer::new(Source::Session, rng.clone());
        let cc = dumbbell_cc::new(self.control, &agreed, &NoPlugins, "script");
        let mut sender = Sender::new(self.control, cc, &agreed, writer, false, rng);
        sender.offers = SynOptions::of(&self.options);
        sender.buffer.nodelay = self.sockets.values().any(|socket| socket.nodelay);
        let mut receiver = Receiver::new(&agreed, READS_NOTHING, self.control);
        receiver.advertise(self.options.mtu_bytes);
        Connection { sender, receiver, wire, soft: SoftRange::NOT_QUEUED, answers: false }
    }

    /// Options that this end and a SYN agree on (RFC 7323, 1.3; RFC 2018, 2).
    fn agreed(&self, syn: &Tcp) -> TcpOptions {
        let mut agreed = self.options.clone();
        let has = |is: fn(&TcpOption) -> bool| syn.options.iter().any(is);
        agreed.tcp_timestamps &= has(|option| matches!(option, TcpOption::Timestamps(..)));
        agreed.tcp_sack &= has(|option| matches!(option, TcpOption::SackPermitted));
        agreed.tcp_dsack &= agreed.tcp_sack;
        agreed.tcp_window_scaling &= has(|option| matches!(option, TcpOption::WindowScale(_)));
        let mss = syn.options.iter().find_map(|option| match option {
            TcpOption::Mss(mss) => Some(u32::from(*mss)),
            _ => None,
        });
        // No MSS is 536 (RFC 9293, 3.7.1); Linux sends no smaller segments than 48 bytes.
        let mss = mss.filter(|mss| *mss > 0).unwrap_or(536).max(48);
        agreed.mtu_bytes = agreed.mtu_bytes.min(mss + 40);
        agreed
    }

    /// Takes what the connection has sent.
    fn drain(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        connection.receiver.read_at = None; // The script reads.
        if let Some(range) = connection.receiver.changed_soft_timer() {
            connection.soft = range;
        }
        let at_us = self.now.as_us() as i64;
        for at in 0..connection.sender.out.len() {
            let segment = connection.sender.out.segments()[at];
            let field = connection.sender.ecn_field(&segment);
            self.sent.push_back((at_us, connection.wire.packet(&segment, field)));
        }
        connection.sender.out.clear();
        for at in 0..connection.receiver.out.len() {
            let segment = connection.receiver.out.segments()[at];
            let field = connection.receiver.ecn.field(&segment);
            self.sent.push_back((at_us, connection.wire.packet(&segment, field)));
        }
        connection.receiver.out.clear();
        self.unblock();
    }

    /// Answers the call that blocks if what it waits for has come.
    fn unblock(&mut self) {
        let Some(Blocked { call, answer: None }) = &self.blocked else { return };
        let call = call.clone();
        let answer = match call.name.as_str() {
            "accept" => self.accept(&call).ok().flatten(),
            "connect" => {
                let open = self.connection.as_ref().is_some_and(|one| one.sender.is_open());
                open.then(|| done(0))
            }
            "write" | "send" => {
                let all = self.connection.as_ref().is_some_and(|one| one.sender.wrote_all());
                all.then(|| done(call.arguments.get(2).and_then(Value::number).unwrap_or(0)))
            }
            _ => {
                let Some(connection) = &mut self.connection else { return };
                let fin = u64::from(connection.receiver.finished);
                let most = call.arguments.get(2).and_then(Value::number).unwrap_or(0) as u64;
                let bytes = connection.receiver.unread_bytes().saturating_sub(fin).min(most);
                if bytes > 0 {
                    connection.end().receive(|receiver| receiver.read(bytes));
                }
                (bytes > 0 || fin > 0).then(|| done(bytes as i64))
            }
        };
        if let Some(answer) = answer {
            let at_us = self.now.as_us() as i64;
            self.blocked = Some(Blocked { call, answer: Some((answer, at_us)) });
        }
    }

    fn next_event(&self) -> Time {
        let Some(connection) = &self.connection else { return Time::NEVER };
        let (sender, receiver) = (&connection.sender, &connection.receiver);
        sender.next_deadline().min(receiver.next_deadline()).min(connection.soft.hard)
    }

    /// Runs the connection's timers that are due.
    fn fire(&mut self) {
        let now = self.now;
        if let Some(connection) = &mut self.connection {
            if connection.soft.hard <= now {
                connection.soft = SoftRange::NOT_QUEUED;
                connection.end().receive(|receiver| receiver.compressed_ack_kick(now));
            }
            if connection.receiver.next_deadline() <= now {
                connection.end().receive(|receiver| receiver.on_timeout(now));
            }
            if connection.sender.next_deadline() <= now {
                connection.end().send(now, |sender| {
                    sender.on_timeout(now);
                    sender.wake_source();
                });
            }
        }
        self.drain();
    }

    /// Lets time pass up to `until`, or to the first packet that is sent.
    fn pass(&mut self, until: Time, stops: bool) -> Result<(), String> {
        for _ in 0..MOST_EVENTS {
            let next = self.next_event();
            if stops && !self.sent.is_empty() {
                return Ok(());
            }
            if next > until {
                self.now = self.now.max(until);
                return Ok(());
            }
            self.now = self.now.max(next);
            self.fire();
        }
        Err(format!("the model runs {MOST_EVENTS} events without an end"))
    }

    /// Runs what the application does at this instant: its writes come in pieces.
    fn settle(&mut self) -> Result<(), String> {
        self.drain();
        let soon = self.now + Span::from_us(1);
        let writes = |model: &Self| {
            model.connection.as_ref().is_some_and(|connection| {
                connection.sender.waits_to_write() && connection.sender.is_open()
            })
        };
        for _ in 0..MOST_EVENTS {
            if !writes(self) || self.next_event() > soon {
                return Ok(());
            }
            self.now = self.now.max(self.next_event());
            self.fire();
        }
        Err("a write has no end".to_owned())
    }
}

impl System for Model<'_> {
    fn now_us(&mut self) -> i64 {
        self.now.as_us() as i64
    }

    fn wait(&mut self, until_us: i64) {
        // An endless model is told by the next call that fails.
        let _ = self.pass(Time::ZERO + Span::from_us(until_us.max(0) as u64), false);
    }

    fn inject(&mut self, packet: &[u8], mss: u16) -> Result<(), String> {
        let Some(tcp) = Tcp::read(packet) else {
            return lacks("a packet that is no TCP");
        };
        let odd = Flags::RST | Flags::URG;
        if tcp.flags & odd != 0 || tcp.flags & (Flags::ACK | Flags::SYN) == 0 {
            return lacks("segments with RST or URG, or without ACK");
        }
        if tcp.options.iter().any(|option| matches!(option, TcpOption::Other(19 | 34 | 254, _))) {
            return lacks("options of TCP Fast Open and MD5");
        }
        let opens = tcp.flags & (Flags::SYN | Flags::ACK) == Flags::SYN;
        let known = |one: &Connection| one.wire.remote_port() == tcp.source_port;
        let waits = |one: &Connection| matches!(one.sender.phase, Phase::SynSent { .. });
        if opens && self.connection.as_ref().is_some_and(waits) {
            return lacks("a simultaneous open");
        }
        if opens && !self.connection.as_ref().is_some_and(known) {
            if !self.sockets.values().any(|socket| socket.listens) {
                return lacks("a SYN without a listening socket");
            }
            if !tcp.payload.is_empty() {
                return lacks("a SYN with data");
            }
            let agreed = self.agreed(&tcp);
            self.connection = Some(self.begin(false, agreed));
        }
        let answers = tcp.flags & (Flags::SYN | Flags::ACK) == Flags::SYN | Flags::ACK;
        if answers {
            self.reopen(&tcp)?;
        }
        let now = self.now;
        let Some(connection) = &mut self.connection else {
            return lacks("a packet without a connection");
        };
        let (segment, ecn_field) = connection.wire.segment(&tcp);
        connection.receiver.reader.unit_bytes = if mss > 0 { mss.into() } else { u32::MAX };
        connection.end().on_segment(now, &segment, ecn_field);
        self.settle()
    }

    fn receive(&mut self, until_us: i64) -> Result<Option<(i64, Vec<u8>)>, String> {
        self.pass(Time::ZERO + Span::from_us(until_us.max(0) as u64), true)?;
        Ok(self.sent.pop_front())
    }

    fn call(&mut self, call: &Call) -> Result<Option<Answer>, String> {
        if call.returns_us.is_some() {
            self.block(call)?;
            return Ok(None);
        }
        match self.make(call)? {
            Some(answer) => Ok(Some(answer)),
            None => lacks("a call that blocks for longer than the script says"),
        }
    }

    fn returned(&mut self) -> Result<(Answer, i64), String> {
        let limit = self.now + PATIENCE;
        for _ in 0..MOST_EVENTS {
            match self.blocked.take() {
                None => return Err("no call blocks".to_owned()),
                Some(Blocked { answer: Some(answer), .. }) => return Ok(answer),
                waits => self.blocked = waits,
            }
            let next = self.next_event();
            if next > limit {
                break;
            }
            self.now = self.now.max(next);
            self.fire();
        }
        Err(format!("this call did not return within {} s", PATIENCE.as_us() / 1_000_000))
    }

    fn shell(&mut self, line: &str) -> Result<(), String> {
        for step in steps(line, self.read)? {
            match step {
                Step::Set(name, value) if name == "tcp_congestion_control" => {
                    match (self.controls)(&value) {
                        Some(control) => self.control = control,
                        None => return lacks(format!("the congestion control {value}")),
                    }
                }
                Step::Set(name, value) => {
                    if !sysctls::set(&mut self.options, &name, &value) {
                        return lacks(format!("the sysctl {name}={value}"));
                    }
                    if let Some(connection) = &mut self.connection {
                        sysctls::set_later(&mut connection.sender.options, &name, &value);
                        sysctls::set_later(&mut connection.receiver.options, &name, &value);
                    }
                }
                Step::Other(words) => return lacks(format!("the command `{words}`")),
            }
        }
        Ok(())
    }

    fn info(&mut self, _fd: i64) -> Result<BTreeMap<String, i128>, String> {
        match &self.connection {
            Some(one) => Ok(state::of(&one.sender, &one.receiver, one.answers)),
            None => Err("there is no connection".to_owned()),
        }
    }
}

impl Model<'_> {
    /// A SYN-ACK arrives: the connection was begun without knowing what the peer agrees to. It begins
    /// again with that, as it was.
    fn reopen(&mut self, syn_ack: &Tcp) -> Result<(), String> {
        let Some(before) = &self.connection else {
            return lacks("a SYN-ACK without a connection");
        };
        let Phase::SynSent { first, tries, timeout } = before.sender.phase else {
            return Ok(());
        };
        let agreed = self.agreed(syn_ack);
        let mut connection = self.begin(true, agreed);
        connection.end().open(first);
        connection.sender.phase = Phase::SynSent { first, tries, timeout };
        for at in 0..connection.sender.out.len() {
            let segment = connection.sender.out.segments()[at];
            connection.wire.packet(&segment, 0); // The SYN, for its numbers.
        }
        connection.sender.out.clear();
        self.connection = Some(connection);
        Ok(())
    }
}
