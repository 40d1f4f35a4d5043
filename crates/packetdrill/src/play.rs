//! Plays a script against a system: when each event happens, and what the system did then.

use crate::check::{self, Shown};
use crate::flow::{Flow, State};
use crate::script::{Action, At, Call, Content, Event, Icmp, Packet, Script, Value};
use crate::settings::{Settings, PORT};
use crate::symbols;
use crate::system::{Answer, System};
use crate::wire::{icmp_bytes, Tcp};
use std::collections::BTreeMap;

/// How long after its time a packet is waited for, µs.
const PATIENCE_US: i64 = 2_000_000;
/// Time for which a packet that may be sent at any time is waited for, µs.
const LONG_PATIENCE_US: i64 = 600_000_000;
/// Most packets in a row that are one packet of the script.
const MOST_PARTS: usize = 4096;

/// Result of a script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Played {
    /// Why it failed; None: it passed, as far as it has no code.
    pub failure: Option<Failure>,
    /// Packets that were sent, as expected or not.
    pub seen: Vec<Seen>,
    /// Code to evaluate, in order.
    pub code: Vec<Code>,
}

/// Failure of a script: line, message, packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Line of the script.
    pub line: u32,
    /// Message: the expected value and the actual one.
    pub message: String,
    /// Both packets, in the words of the script.
    pub packets: Option<(String, String)>,
}

/// A packet that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Line of the script.
    pub line: u32,
    /// When the script expects it, µs since the first event; None: at any time.
    pub expected_us: Option<i64>,
    /// When it was sent, µs since the first event.
    pub at_us: i64,
}

/// Code of a script, and the values that it may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Line of the script.
    pub line: u32,
    /// Python.
    pub text: String,
    /// State of the connection at that time.
    pub values: BTreeMap<String, i128>,
}

/// Plays a script.
pub fn play(script: &Script, settings: &Settings, system: &mut dyn System) -> Played {
    let mut player = Player::new(settings, system);
    let failure = match &script.init {
        None => None,
        Some(init) => player.system.shell(&init.text).err().map(|why| failed(init.line, why)),
    };
    player.begin_us = player.system.now_us();
    let failure = failure.or_else(|| player.events(&script.events).err());
    let Player { seen, code, .. } = player;
    let failure = match (&script.cleanup, failure) {
        (_, Some(failure)) => Some(failure),
        (Some(last), None) => system.shell(&last.text).err().map(|why| failed(last.line, why)),
        (None, None) => None,
    };
    Played { failure, seen, code }
}

fn failed(line: u32, message: impl Into<String>) -> Failure {
    Failure { line, message: message.into(), packets: None }
}

/// An event with its times: µs since the first event.
#[derive(Clone, Copy, Debug)]
struct When {
    from_us: i64,
    to_us: i64,
    /// Origin of the time at which a call returns.
    origin_us: i64,
    any: bool,
}

/// The event before.
#[derive(Clone, Copy, Debug)]
struct Before {
    from_us: i64,
    absolute: bool,
    inbound: bool,
}

/// A call that blocks.
struct Blocked {
    line: u32,
    call: Call,
    returns_us: i64,
    begun_us: i64,
}

struct Player<'a> {
    settings: &'a Settings,
    system: &'a mut dyn System,
    begin_us: i64,
    flows: Vec<Flow>,
    under_test: Option<usize>,
    accepted: u16,
    before: Option<Before>,
    blocked: Option<Blocked>,
    seen: Vec<Seen>,
    code: Vec<Code>,
}

impl<'a> Player<'a> {
    fn new(settings: &'a Settings, system: &'a mut dyn System) -> Self {
        Self {
            settings,
            system,
            begin_us: 0,
            flows: Vec::new(),
            under_test: None,
            accepted: 0,
            before: None,
            blocked: None,
            seen: Vec::new(),
            code: Vec::new(),
        }
    }

    fn events(&mut self, events: &[Event]) -> Result<(), Failure> {
        for event in events {
            let when = self.when(event).map_err(|why| failed(event.line, why))?;
            self.event(event, when)?;
            let inbound = matches!(event.action, Action::Inbound(_));
            let absolute = matches!(event.at, At::Absolute(_));
            self.before = Some(Before { from_us: when.from_us, absolute, inbound });
        }
        self.returned()
    }

    fn now_us(&mut self) -> i64 {
        self.system.now_us() - self.begin_us
    }

    /// Relative times count from now; those of packets that arrive in a row from each other.
    fn when(&mut self, event: &Event) -> Result<When, String> {
        let inbound = matches!(event.action, Action::Inbound(_));
        let now_us = self.now_us();
        let origin_us = match self.before {
            Some(before) if inbound && before.inbound => before.from_us,
            _ => now_us,
        };
        let (from_us, to_us, any) = match event.at {
            At::Absolute(at) => (at, at, false),
            At::Relative(after) => (origin_us + after, origin_us + after, false),
            At::Range(from, to) => (from, to, false),
            At::RelativeRange(from, to) => (origin_us + from, origin_us + to, false),
            At::Any => (origin_us, origin_us, true),
        };
        let is_absolute = matches!(event.at, At::Absolute(_));
        match self.before {
            Some(before) if is_absolute && before.absolute && from_us < before.from_us => {
                Err("time goes backwards".to_owned())
            }
            _ => {
                let origin_us = if is_absolute { 0 } else { origin_us };
                Ok(When { from_us, to_us, origin_us, any })
            }
        }
    }

    fn event(&mut self, event: &Event, when: When) -> Result<(), Failure> {
        let line = event.line;
        if !matches!(event.action, Action::Outbound(_)) {
            self.wait(line, when)?;
        }
        match &event.action {
            Action::Outbound(packet) => self.outbound(line, packet, when),
            Action::Inbound(packet) => self.inbound(packet).map_err(|why| failed(line, why)),
            Action::Call(call) => self.call(line, call, when),
            Action::Shell(text) => self.system.shell(text).map_err(|why| failed(line, why)),
            Action::Code(text) => self.collect(line, text),
        }
    }

    /// Waits for the time of an event, and checks that it is not over.
    fn wait(&mut self, line: u32, when: When) -> Result<(), Failure> {
        self.system.wait(self.begin_us + when.from_us);
        let now_us = self.now_us();
        if self.before.is_some() {
            self.check_time(when, now_us, "this event").map_err(|why| failed(line, why))?;
        }
        Ok(())
    }

    fn tolerance_us(&self, span_us: i64) -> i64 {
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
        let share = (self.settings.tolerance_percent / 100.0 * span_us as f64) as i64;
        self.settings.tolerance_us.max(share)
    }

    fn check_time(&self, when: When, at_us: i64, what: &str) -> Result<(), String> {
        let span_us = self.before.map_or(0, |before| when.from_us - before.from_us);
        let tolerance_us = self.tolerance_us(span_us);
        let is_late = at_us > when.to_us + tolerance_us;
        if when.any || (at_us >= when.from_us - tolerance_us && !is_late) {
            return Ok(());
        }
        let expected = if when.from_us == when.to_us {
            format!("at {}", seconds(when.from_us))
        } else {
            format!("from {} to {}", seconds(when.from_us), seconds(when.to_us))
        };
        Err(format!(
            "{what} is expected {expected} ± {} and was at {}",
            seconds(tolerance_us),
            seconds(at_us)
        ))
    }

    fn flow(&mut self) -> Option<&mut Flow> {
        self.under_test.map(|at| &mut self.flows[at])
    }

    fn add(&mut self, flow: Flow) {
        self.under_test = Some(self.flows.len());
        self.flows.push(flow);
    }

    fn inbound(&mut self, packet: &Packet) -> Result<(), String> {
        let settings = self.settings;
        let listens = self.flow().is_none_or(|flow| flow.state == State::Listening);
        match &packet.content {
            Content::Tcp(segment) if listens => {
                self.add(Flow::accepted(settings, segment, self.accepted));
                self.accepted = self.accepted.saturating_add(1);
            }
            Content::Tcp(_) => {}
            Content::Icmp(icmp) => return self.icmp(packet, icmp),
        }
        let Some(flow) = self.flow() else {
            return Err("there is no socket for this packet".to_owned());
        };
        let wire = flow.to_wire(packet, settings)?;
        self.system.inject(&wire.bytes(), settings.mss)
    }

    fn icmp(&mut self, packet: &Packet, icmp: &Icmp) -> Result<(), String> {
        let from = self.settings.remote;
        let Some(flow) = self.flow() else {
            return Err("there is no socket for this packet".to_owned());
        };
        let mut quoted = flow.quoted(icmp.quoted.0, icmp.quoted.1);
        quoted.flow_label = packet.ip.flow_label.unwrap_or(0);
        self.system.inject(&icmp_bytes(icmp, from, &quoted)?, 0)
    }

    fn outbound(&mut self, line: u32, packet: &Packet, when: When) -> Result<(), Failure> {
        let Content::Tcp(segment) = &packet.content else {
            return Err(failed(line, "packets of ICMP that are sent are not checked"));
        };
        let syn = segment.flags.has(crate::script::Flags::SYN);
        match self.flow() {
            Some(flow) if syn => flow.sends_syn(segment),
            Some(_) => {}
            None => return Err(failed(line, "there is no socket for this packet")),
        }
        let wanted = usize::from(segment.payload_bytes);
        let mut whole: Option<(Packet, i64, Tcp)> = None;
        for _ in 0..MOST_PARTS {
            let (at_us, wire) = self.next(line, packet, when)?;
            let Some(flow) = self.flow() else { break };
            flow.learn(&wire);
            let part = flow.to_script(&wire, packet);
            // Before it, another connection may have sent its SYN again.
            let earlier = whole.take().filter(|first| first.2.source_port == wire.source_port);
            whole = Some(match earlier {
                None => (part, at_us, wire),
                Some(first) => {
                    let joined = join(&first.0, &part).map_err(|why| failed(line, why))?;
                    (joined, first.1, first.2)
                }
            });
            let Some((Packet { content: Content::Tcp(so_far), .. }, ..)) = &whole else { break };
            if usize::from(so_far.payload_bytes) >= wanted || self.settings.strict_segments {
                break;
            }
        }
        let Some((sent, at_us, wire)) = whole else {
            return Err(failed(line, "no packet was sent"));
        };
        let expected_us = if when.any { None } else { Some(when.from_us) };
        self.seen.push(Seen { line, expected_us, at_us });
        let tolerance_us = self.tolerance_us(when.from_us);
        let same = check::packet(packet, &sent, self.settings, tolerance_us)
            .and_then(|()| self.check_flow_label(packet, &wire))
            .and_then(|()| check_payload(&wire))
            .and_then(|()| self.check_time(when, at_us, "this packet"));
        same.map_err(|message| Failure {
            line,
            message,
            packets: Some((Shown(packet).to_string(), Shown(&sent).to_string())),
        })
    }

    fn check_flow_label(&mut self, packet: &Packet, wire: &Tcp) -> Result<(), String> {
        match (packet.ip.flow_label, self.flow()) {
            (Some(label), Some(flow)) => flow.check_flow_label(label, wire.flow_label),
            _ => Ok(()),
        }
    }

    /// The next packet of the connection under test; those of others are passed over.
    fn next(&mut self, line: u32, packet: &Packet, when: When) -> Result<(i64, Tcp), Failure> {
        let patience_us = if when.any { LONG_PATIENCE_US } else { PATIENCE_US };
        let until_us = self.begin_us + self.now_us().max(when.to_us) + patience_us;
        loop {
            let received = self.system.receive(until_us).map_err(|why| failed(line, why))?;
            let Some((at_us, bytes)) = received else {
                let message =
                    format!("no packet was sent up to {}", seconds(until_us - self.begin_us));
                let packets = Some((Shown(packet).to_string(), "nothing".to_owned()));
                return Err(Failure { line, message, packets });
            };
            let Some(wire) = Tcp::read(&bytes) else { continue };
            if self.flow().is_some_and(|flow| flow.sent(&wire)) {
                return Ok((at_us - self.begin_us, wire));
            }
        }
    }

    fn collect(&mut self, line: u32, text: &str) -> Result<(), Failure> {
        let now_us = self.now_us();
        if self.blocked.as_ref().is_some_and(|call| call.returns_us <= now_us) {
            self.returned()?;
        }
        let Some(fd) = self.flow().and_then(|flow| flow.fd) else {
            return Err(failed(line, "there is no socket whose state code could read"));
        };
        let values = self.system.info(fd).map_err(|why| failed(line, why))?;
        self.code.push(Code { line, text: text.to_owned(), values });
        Ok(())
    }

    fn call(&mut self, line: u32, call: &Call, when: When) -> Result<(), Failure> {
        self.returned()?;
        self.prepare(call);
        match self.system.call(call).map_err(|why| failed(line, why))? {
            Some(answer) => self.answered(line, call, &answer),
            None => {
                let returns_us = call.returns_us.unwrap_or(0) + when.origin_us;
                let call = call.clone();
                self.blocked = Some(Blocked { line, call, returns_us, begun_us: when.from_us });
                Ok(())
            }
        }
    }

    /// Waits for the call that blocks, if one does.
    fn returned(&mut self) -> Result<(), Failure> {
        let Some(blocked) = self.blocked.take() else {
            return Ok(());
        };
        let line = blocked.line;
        let (answer, at_us) = self.system.returned().map_err(|why| failed(line, why))?;
        let at_us = at_us - self.begin_us;
        let tolerance_us = self.tolerance_us(blocked.returns_us - blocked.begun_us);
        if (at_us - blocked.returns_us).abs() > tolerance_us {
            let message = format!(
                "{} is expected to return at {} ± {} and returned at {}",
                blocked.call.name,
                seconds(blocked.returns_us),
                seconds(tolerance_us),
                seconds(at_us)
            );
            return Err(failed(line, message));
        }
        self.answered(line, &blocked.call, &answer)
    }

    /// What a call means before its result is known.
    fn prepare(&mut self, call: &Call) {
        let connects = matches!(call.name.as_str(), "connect" | "sendto" | "sendmsg");
        if !connects || call.arguments.iter().any(is_unspecified) {
            return;
        }
        let fd = call.arguments.first().and_then(number);
        let remote = (self.settings.remote, PORT);
        for flow in &mut self.flows {
            if flow.fd == fd && flow.state == State::New {
                flow.state = State::Connecting;
                flow.remote = remote;
            }
        }
    }

    fn answered(&mut self, line: u32, call: &Call, answer: &Answer) -> Result<(), Failure> {
        check_answer(call, answer).map_err(|why| failed(line, why))?;
        let first = call.arguments.first().and_then(number);
        let result = number(&call.result);
        match call.name.as_str() {
            "socket" if answer.result >= 0 => self.add(Flow::new(result, self.settings)),
            "listen" if answer.result == 0 => {
                for flow in self.flows.iter_mut().filter(|flow| flow.fd == first) {
                    flow.state = State::Listening;
                }
            }
            "connect" if call.arguments.iter().any(is_unspecified) => {
                for flow in self.flows.iter_mut().filter(|flow| flow.fd == first) {
                    flow.state = State::New;
                }
            }
            "accept" if answer.result >= 0 => {
                let is = |flow: &&mut Flow| Some(flow.remote.1) == answer.peer_port;
                match self.flows.iter_mut().rev().find(is) {
                    Some(flow) => flow.fd = result,
                    None => {
                        return Err(failed(line, "a connection unknown to the script is accepted"))
                    }
                }
            }
            "close" if answer.result == 0 => {
                for flow in self.flows.iter_mut().filter(|flow| flow.fd == first) {
                    flow.fd = None;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn check_payload(wire: &Tcp) -> Result<(), String> {
    match wire.payload.iter().position(|&byte| byte != 0) {
        Some(at) => Err(format!("byte {at} of the payload is not 0, as all that was written")),
        None => Ok(()),
    }
}

/// Two parts of one packet, with the flags of the last.
fn join(before: &Packet, next: &Packet) -> Result<Packet, String> {
    check::continues(before, next)?;
    let mut joined = before.clone();
    if let (Content::Tcp(all), Content::Tcp(part)) = (&mut joined.content, &next.content) {
        all.payload_bytes = all.payload_bytes.saturating_add(part.payload_bytes);
        all.flags = part.flags;
    }
    Ok(joined)
}

fn check_answer(call: &Call, answer: &Answer) -> Result<(), String> {
    let Some(expected) = number(&call.result) else {
        return if call.result == Value::Any {
            Ok(())
        } else {
            Err("the result is no number".into())
        };
    };
    let makes_fd = ["socket", "accept", "open", "epoll_create", "epoll_create1"];
    let same = if makes_fd.contains(&call.name.as_str()) && expected >= 0 {
        answer.result >= 0
    } else {
        answer.result == expected
    };
    let errno = symbols::error(answer.errno).unwrap_or("an unknown error");
    let got = if answer.result < 0 {
        format!("{} {errno}", answer.result)
    } else {
        answer.result.to_string()
    };
    let wanted = call.error.as_deref().and_then(symbols::value);
    if let (Some(name), None) = (&call.error, wanted) {
        return Err(format!("the error {name} is not known"));
    }
    let same_error = wanted.is_none_or(|number| i64::from(answer.errno) == number);
    if same && (same_error || answer.result >= 0) {
        return Ok(());
    }
    let name = call.error.as_deref().unwrap_or("");
    Err(format!("{} is expected to return {expected} {name}, it returned {got}", call.name))
}

/// Number of a value: itself, that of a constant, or of several with `|`.
pub(crate) fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Word(word) => symbols::value(word),
        Value::Or(all) => all.iter().try_fold(0, |sum, one| Some(sum | number(one)?)),
        _ => None,
    }
}

fn is_unspecified(value: &Value) -> bool {
    match value {
        Value::Word(word) => word == "AF_UNSPEC",
        Value::Braces(all) => all.iter().any(is_unspecified),
        Value::Field(_, inner) => is_unspecified(inner),
        _ => false,
    }
}

#[allow(clippy::cast_precision_loss)]
fn seconds(us: i64) -> String {
    format!("{:.6} s", us as f64 / 1e6)
}

impl Value {
    /// Number of a value: itself, that of a constant, or of several with `|`.
    pub fn number(&self) -> Option<i64> {
        number(self)
    }
}
