//! This kernel as the system under test of a script.

use super::calls::{self, Addresses, Descriptors, Done};
use super::{shell, state};
use crate::batch::batch;
use crate::sys::calls as raw;
use crate::{clock, sys};
use dumbbell_packetdrill::script::Call;
use dumbbell_packetdrill::settings::{Settings, Version, PORT};
use dumbbell_packetdrill::system::{Answer, System};
use std::collections::{BTreeMap, VecDeque};
use std::io::{Error, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::Arc;

/// Beginning of a script on the kernel's clock, µs: that of runs (see [`clock`]), and a quarter of a
/// jiffy after a tick, so that a time on a whole millisecond is beyond the tick that belongs to it.
const BEGIN_US: i64 = 5_088_000 + 250;
/// `struct virtio_net_hdr` (linux/virtio_net.h): bytes, and types of segmentation.
const HEADER: usize = 10;
const GSO_V4: u8 = 1;
const GSO_V6: u8 = 4;
/// Largest packet with its header.
const MOST_BYTES: usize = HEADER + (1 << 17);
/// Time after which a call blocks for ever, µs.
const BLOCKS_US: i64 = 600_000_000;
const WATCHED_NS: u64 = 10_000_000_000;

pub(super) struct Guest {
    tun: std::fs::File,
    settings: Settings,
    folder: PathBuf,
    addresses: Addresses,
    fds: Descriptors,
    /// Packets that were sent and not yet asked for.
    sent: VecDeque<(i64, Vec<u8>)>,
    blocked: Option<Receiver<(Result<Done, String>, i64)>>,
    /// When the call began that is running, and its line.
    calling: Arc<(AtomicI64, AtomicU32)>,
}

impl Guest {
    /// Makes the device, with its addresses and routes.
    pub(super) fn new(settings: &Settings, folder: PathBuf) -> Result<Self, Error> {
        let tun: OwnedFd = raw::tun()?;
        let address = |ip: IpAddr| match ip {
            IpAddr::V4(v4) if settings.version == Version::V4Mapped => v4.to_ipv6_mapped().into(),
            other => other,
        };
        let nodad = if settings.local.is_ipv6() { " nodad" } else { "" };
        let Settings { local, prefix, gateway, remote, mtu, .. } = settings;
        let width = if remote.is_ipv6() { 128 } else { 32 };
        let via = if gateway == local { String::new() } else { format!(" via {gateway}") };
        batch(
            "ip",
            &[
                "link set lo up".to_owned(),
                format!("link set tun0 up mtu {mtu}"),
                format!("address add {local}/{prefix} dev tun0{nodad}"),
                format!(
                    "route add {remote}/{width}{via} dev tun0{}",
                    if via.is_empty() { "" } else { " onlink" }
                ),
            ],
        )?;
        Ok(Self {
            tun: tun.into(),
            settings: settings.clone(),
            folder,
            addresses: Addresses {
                local: SocketAddr::new(address(*local), PORT),
                remote: SocketAddr::new(address(*remote), PORT),
                begin_real_us: BEGIN_US + clock::real_ahead_ns()? / 1000,
                tolerance_us: settings.tolerance_us,
            },
            fds: Descriptors::new(),
            sent: VecDeque::new(),
            blocked: None,
            calling: Arc::new((AtomicI64::new(i64::MAX), AtomicU32::new(0))),
        })
    }

    /// Watches over calls: one that never returns is told, with its line.
    pub(super) fn watch_calls(&self, tell: impl Fn(u32, String) + Send + 'static) {
        let calling = Arc::clone(&self.calling);
        let watch = move || loop {
            sys::sleep_ns(WATCHED_NS);
            let since_us = calling.0.load(Ordering::SeqCst);
            if now_us().saturating_sub(since_us) > BLOCKS_US {
                let line = calling.1.load(Ordering::SeqCst);
                tell(line, format!("this call did not return within {} s", BLOCKS_US / 1_000_000));
            }
        };
        // Without the thread, the host's limit of time is what ends such a script.
        let _ = std::thread::Builder::new().spawn(watch);
    }

    /// Takes in a packet if one is sent within some time.
    fn take(&mut self, ns: i64) -> Result<bool, String> {
        let fault = |error: Error| format!("the device: {error}");
        if !raw::readable_within(self.tun.as_fd(), ns).map_err(fault)? {
            return Ok(false);
        }
        let at_us = now_us();
        let mut packet = vec![0; MOST_BYTES];
        let length = self.tun.read(&mut packet).map_err(fault)?;
        packet.truncate(length);
        packet.drain(..HEADER.min(length));
        self.sent.push_back((at_us, packet));
        Ok(true)
    }

    fn done(&mut self, done: Done) -> Answer {
        for (number, fd) in done.made {
            self.fds.insert(number, Arc::new(fd));
        }
        if let Some(number) = done.closed {
            self.fds.remove(&number);
        }
        done.answer
    }
}

fn now_us() -> i64 {
    clock::monotonic_ns().unwrap_or(0) / 1000
}

impl System for Guest {
    fn now_us(&mut self) -> i64 {
        let now_us = now_us();
        if now_us >= BEGIN_US {
            return now_us;
        }
        self.wait(BEGIN_US);
        BEGIN_US
    }

    fn wait(&mut self, until_us: i64) {
        loop {
            let left_us = until_us - now_us();
            // A packet that is sent meanwhile is taken in at once, for its time.
            if left_us <= 0 || self.take(left_us * 1000).is_err() {
                return;
            }
        }
    }

    fn inject(&mut self, packet: &[u8], mss: u16) -> Result<(), String> {
        let mut frame = vec![0; HEADER];
        if mss > 0 {
            frame[1] = if self.settings.local.is_ipv6() { GSO_V6 } else { GSO_V4 };
            frame[4..6].copy_from_slice(&mss.to_le_bytes());
        }
        frame.extend(packet);
        self.tun.write_all(&frame).map_err(|error| format!("the device: {error}"))
    }

    fn receive(&mut self, until_us: i64) -> Result<Option<(i64, Vec<u8>)>, String> {
        loop {
            if let Some(packet) = self.sent.pop_front() {
                return Ok(Some(packet));
            }
            let left_us = until_us - now_us();
            if left_us <= 0 && !self.take(0)? {
                return Ok(None);
            }
            if left_us > 0 {
                self.take(left_us * 1000)?;
            }
        }
    }

    fn call(&mut self, call: &Call) -> Result<Option<Answer>, String> {
        if call.returns_us.is_some() {
            let (tell, told) = mpsc::channel();
            let (call, fds, addresses) = (call.clone(), self.fds.clone(), self.addresses);
            let run = move || {
                let done = calls::make(&call, &fds, addresses);
                let _ = tell.send((done, now_us()));
            };
            std::thread::Builder::new().spawn(run).map_err(|error| error.to_string())?;
            self.blocked = Some(told);
            return Ok(None);
        }
        self.calling.1.store(call.line, Ordering::SeqCst);
        self.calling.0.store(now_us(), Ordering::SeqCst);
        let done = calls::make(call, &self.fds, self.addresses);
        self.calling.0.store(i64::MAX, Ordering::SeqCst);
        done.map(|done| Some(self.done(done)))
    }

    fn returned(&mut self) -> Result<(Answer, i64), String> {
        let Some(told) = self.blocked.take() else {
            return Err("no call blocks".to_owned());
        };
        let patience = std::time::Duration::from_micros(BLOCKS_US.cast_unsigned());
        let (done, at_us) =
            told.recv_timeout(patience).map_err(|_| "the call did not return".to_owned())?;
        done.map(|done| (self.done(done), at_us))
    }

    fn shell(&mut self, line: &str) -> Result<(), String> {
        shell::run(line, &self.folder)
    }

    fn info(&mut self, fd: i64) -> Result<BTreeMap<String, i128>, String> {
        let found = self.fds.get(&fd).ok_or_else(|| format!("there is no descriptor {fd}"))?;
        state::of(found.as_fd())
    }
}
