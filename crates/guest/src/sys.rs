//! System calls that have no safe wrapper: all unsafe code of this program is here.
#![allow(unsafe_code)]

pub(crate) mod calls;
mod confine;

pub(crate) use confine::{
    adopt_orphans, before_exec, mount_at, mount_memory, pidfd, private_view, set_read_only,
    without_privileges, Bounds,
};
use dumbbell_model::scenario::TIMER_SLACK;
use nix::cmsg_space;
use nix::sys::socket::{recvmsg, ControlMessageOwned, MsgFlags};
use std::ffi::CString;
use std::io::{Error, IoSliceMut, Result};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::{from_mut, from_ref, null_mut};
use std::sync::atomic::AtomicU8;

fn checked(result: libc::c_int) -> Result<libc::c_int> {
    if result < 0 {
        Err(Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// A new socket, closed on exec.
pub(crate) fn socket(domain: i32, kind: i32, protocol: i32) -> Result<OwnedFd> {
    // SAFETY: no pointers; a valid descriptor that nobody else owns is returned.
    unsafe {
        let fd = checked(libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Sets a socket option to a number.
pub(crate) fn set_option(fd: BorrowedFd<'_>, level: i32, name: i32, value: i32) -> Result<()> {
    set_option_bytes(fd, level, name, &value.to_ne_bytes())
}

/// Sets a socket option to bytes.
pub(crate) fn set_option_bytes(
    fd: BorrowedFd<'_>,
    level: i32,
    name: i32,
    value: &[u8],
) -> Result<()> {
    // SAFETY: the slice is valid for its length during the call.
    checked(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    })
    .map(drop)
}

/// Reads a socket option into a buffer. Returns the number of bytes that the kernel wrote.
pub(crate) fn get_option(
    fd: BorrowedFd<'_>,
    level: i32,
    name: i32,
    buffer: &mut [u8],
) -> Result<usize> {
    let mut length = buffer.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into the slice.
    checked(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            level,
            name,
            buffer.as_mut_ptr().cast(),
            from_mut(&mut length),
        )
    })?;
    Ok(length as usize)
}

/// An IPv4 address for the calls below.
pub(crate) fn inet(address: [u8; 4], port: u16) -> libc::sockaddr_in {
    // SAFETY: a sockaddr_in of zeros is valid.
    let mut found: libc::sockaddr_in = unsafe { zeroed() };
    found.sin_family = libc::AF_INET as libc::sa_family_t;
    found.sin_port = port.to_be();
    found.sin_addr.s_addr = u32::from_ne_bytes(address);
    found
}

const INET_LENGTH: libc::socklen_t = size_of::<libc::sockaddr_in>() as libc::socklen_t;

pub(crate) fn bind(fd: BorrowedFd<'_>, address: &libc::sockaddr_in) -> Result<()> {
    // SAFETY: the address is valid for its length.
    checked(unsafe { libc::bind(fd.as_raw_fd(), from_ref(address).cast(), INET_LENGTH) }).map(drop)
}

/// Connects. A handshake in progress is no error.
pub(crate) fn connect(fd: BorrowedFd<'_>, address: &libc::sockaddr_in) -> Result<()> {
    // SAFETY: the address is valid for its length.
    match checked(unsafe { libc::connect(fd.as_raw_fd(), from_ref(address).cast(), INET_LENGTH) }) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        other => other.map(drop),
    }
}

/// Opens a socket for the frames of an interface of this namespace. With protocol 0 it only sends.
pub(crate) fn packet_socket(device: &str, protocol: u16) -> Result<OwnedFd> {
    let socket = socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
    bind_to_interface(std::os::fd::AsFd::as_fd(&socket), device, protocol)?;
    Ok(socket)
}

fn bind_to_interface(fd: BorrowedFd<'_>, device: &str, protocol: u16) -> Result<()> {
    // SAFETY: a sockaddr_ll of zeros is valid.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = interface_index(device)?;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address is valid for its length.
    checked(unsafe { libc::bind(fd.as_raw_fd(), from_ref(&address).cast(), length) }).map(drop)
}

/// Sets the DSCP of a socket's packets (RFC 2474).
pub(crate) fn set_dscp(fd: BorrowedFd<'_>, dscp: u8) -> Result<()> {
    match dscp {
        0 => Ok(()),
        dscp => set_option(fd, libc::IPPROTO_IP, libc::IP_TOS, i32::from(dscp) << 2),
    }
}

/// Sets the whole TOS byte of a datagram socket's packets, ECN field included.
pub(crate) fn set_tos(fd: BorrowedFd<'_>, tos: u8) -> Result<()> {
    set_option(fd, libc::IPPROTO_IP, libc::IP_TOS, tos.into())
}

pub(crate) fn listen(fd: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::listen(fd.as_raw_fd(), 8) }).map(drop)
}

/// Accepts a connection. Blocks if the listening socket blocks.
pub(crate) fn accept(fd: BorrowedFd<'_>) -> Result<OwnedFd> {
    let flags = libc::SOCK_CLOEXEC;
    // SAFETY: null addresses are allowed; the descriptor belongs to nobody else.
    unsafe {
        let found = checked(libc::accept4(fd.as_raw_fd(), null_mut(), null_mut(), flags))?;
        Ok(OwnedFd::from_raw_fd(found))
    }
}

/// Sends without blocking.
pub(crate) fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the slice is valid for its length.
    let sent = unsafe { libc::send(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    if sent < 0 {
        return Err(Error::last_os_error());
    }
    Ok(sent as usize)
}

/// Receives without blocking.
pub(crate) fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize> {
    let flags = libc::MSG_DONTWAIT;
    // SAFETY: the kernel writes at most the slice's length.
    let got =
        unsafe { libc::recv(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), flags) };
    if got < 0 {
        return Err(Error::last_os_error());
    }
    Ok(got as usize)
}

/// Receives a datagram and the TOS byte of its packet without blocking; the socket asks for `IP_RECVTOS`.
pub(crate) fn receive_with_tos(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<(usize, u8)> {
    let mut parts = [IoSliceMut::new(buffer)];
    let mut space = cmsg_space!(u8);
    let flags = MsgFlags::MSG_DONTWAIT;
    let message = recvmsg::<()>(fd.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    let tos = message.cmsgs()?.find_map(|one| match one {
        ControlMessageOwned::Ipv4Tos(tos) => Some(tos),
        _ => None,
    });
    Ok((message.bytes, tos.unwrap_or(0)))
}

/// Receives the beginning of a datagram without blocking. Returns the length of the whole datagram.
pub(crate) fn receive_beginning(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // SAFETY: the kernel writes at most the slice's length.
    let got =
        unsafe { libc::recv(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), flags) };
    if got < 0 {
        return Err(Error::last_os_error());
    }
    Ok(got as usize)
}

/// Buffer whose content is never read.
static SCRATCH: [AtomicU8; 1 << 20] = [const { AtomicU8::new(0) }; 1 << 20];

/// Discards at most `most` bytes of a stream, or one datagram, without copying them. Returns their
/// number.
pub(crate) fn discard(fd: BorrowedFd<'_>, most: usize) -> Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // The kernel checks that all of the buffer may be written, though it writes nothing.
    let most = most.min(SCRATCH.len());
    let scratch = SCRATCH.as_ptr().cast_mut();
    // SAFETY: the buffer has space for `most` bytes, and nobody else uses it.
    let got = unsafe { libc::recv(fd.as_raw_fd(), scratch.cast(), most, flags) };
    if got < 0 {
        return Err(Error::last_os_error());
    }
    Ok(got as usize)
}

/// Discards the data of a stream as it arrives, until the stream ends.
///
/// The kernel discards segment by segment within one call, as an application that reads at once, but
/// without waking a process for each segment.
pub(crate) fn discard_all(fd: BorrowedFd<'_>) {
    // Less than the address space above the program without randomisation (EFAULT otherwise).
    const MOST: usize = 1 << 26;
    let flags = libc::MSG_WAITALL | libc::MSG_TRUNC;
    let scratch = SCRATCH.as_ptr().cast_mut();
    // SAFETY: with MSG_TRUNC the kernel checks the buffer's address and length, and writes nothing.
    while unsafe { libc::recv(fd.as_raw_fd(), scratch.cast(), MOST, flags) } > 0 {}
}

/// Closes the sending direction.
pub(crate) fn shutdown_write(fd: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_WR) }).map(drop)
}

/// Calls `bpf(2)`. `attributes`: the beginning of its union.
fn bpf(command: i64, attributes: &[u64]) -> Result<libc::c_int> {
    let length = size_of_val(attributes);
    // SAFETY: the kernel reads the attributes and the memory that the callers below point to.
    let found = unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_ptr(), length) };
    checked(found as libc::c_int)
}

/// Makes an array with one 64-bit number, the counter of a classifier.
pub(crate) fn bpf_counter() -> Result<OwnedFd> {
    const MAP_CREATE: i64 = 0;
    const ARRAY: u64 = 2;
    // map_type and key_size, value_size and max_entries, map_flags and inner_map_fd.
    let fd = bpf(MAP_CREATE, &[ARRAY | 4 << 32, 8 | 1 << 32, 0])?;
    // SAFETY: a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Reads the number of such an array.
pub(crate) fn bpf_count(counter: BorrowedFd<'_>) -> Result<u64> {
    const MAP_LOOKUP: i64 = 1;
    let key = 0_u32;
    let mut value = 0_u64;
    let (from, to) = (from_ref(&key) as u64, from_mut(&mut value) as u64);
    bpf(MAP_LOOKUP, &[counter.as_raw_fd() as u64, from, to, 0])?;
    Ok(value)
}

/// Loads a classifier and pins it in a bpf file system. The error contains the verifier's log.
pub(crate) fn bpf_pin_classifier(instructions: &[u8], path: &str) -> Result<()> {
    const PROG_LOAD: i64 = 5;
    const OBJ_PIN: i64 = 6;
    const SCHED_CLS: u64 = 3;
    let licence = CString::new("Apache-2.0")?;
    // Loops fill it, and the kernel refuses a program whose log does not fit.
    let mut log = vec![0_u8; 4 << 20];
    let count = instructions.len() as u64 / 8;
    // prog_type and insn_cnt, insns, license, log_level and log_size, log_buf, kern_version and flags.
    let attributes = [
        SCHED_CLS | count << 32,
        instructions.as_ptr() as u64,
        licence.as_ptr() as u64,
        1 | (log.len() as u64) << 32,
        log.as_mut_ptr() as u64,
        0,
    ];
    let program = bpf(PROG_LOAD, &attributes).map_err(|error| {
        let told = log.split(|byte| *byte == 0).next().unwrap_or_default();
        let told = String::from_utf8_lossy(told);
        let end = told.len().saturating_sub(600);
        Error::other(format!("classifier: {error}: {}", told.get(end..).unwrap_or("")))
    })?;
    // SAFETY: a new descriptor that nobody else owns.
    let program = unsafe { OwnedFd::from_raw_fd(program) };
    let path = CString::new(path)?;
    bpf(OBJ_PIN, &[path.as_ptr() as u64, program.as_raw_fd() as u64, 0]).map(drop)
}

/// Offloads of an interface, by ethtool's names: segmentation and receive offload (linux/ethtool.h).
const OFFLOADS: [(&str, u32); 3] = [("tso", 0x1f), ("gso", 0x24), ("gro", 0x2c)];

/// Switches off segmentation and receive offload of an interface of this namespace.
pub(crate) fn offload_off(device: &str) -> Result<()> {
    OFFLOADS.iter().try_for_each(|(name, _)| set_offload(device, name, false))
}

/// Switches an offload of an interface, by ethtool's name of it.
pub(crate) fn set_offload(device: &str, name: &str, on: bool) -> Result<()> {
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    let Some((_, command)) = OFFLOADS.iter().find(|(known, _)| *known == name) else {
        return Err(Error::other(format!("the offload {name} is not known")));
    };
    let control = socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let mut value = Value { command: *command, data: u32::from(on) };
    // SAFETY: an ifreq of zeros is valid; the name fits with its terminator.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes().take(15)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = from_mut(&mut value).cast();
    // SAFETY: the request and its value outlive the call.
    checked(unsafe { libc::ioctl(control.as_raw_fd(), libc::SIOCETHTOOL, from_mut(&mut request)) })
        .map(drop)
}

/// Index of an interface of this namespace.
pub(crate) fn interface_index(device: &str) -> Result<i32> {
    let name = CString::new(device)?;
    // SAFETY: the string is terminated.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(Error::last_os_error()),
        index => Ok(index as i32),
    }
}

/// Disables address randomisation for the command, since addresses affect a guest's run.
pub(crate) fn with_fixed_addresses(command: &mut Command) {
    let fix = || {
        // SAFETY: no pointers; allowed between fork and exec.
        checked(unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) }).map(drop)
    };
    // SAFETY: the closure only makes a system call.
    unsafe { command.pre_exec(fix) };
}

/// Makes the timers of this process expire on time, by real-time scheduling. Linux lets the waits of
/// other processes take a thousandth longer (`select_estimate_accuracy`).
pub(crate) fn no_timer_slack() -> Result<()> {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameters live through the call.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) })?;
    Ok(())
}

/// Stack of the thread of an application that sleeps.
const STACK_BYTES: usize = 65_536;

/// Runs an application that sleeps, in its own thread with an ordinary program's timers. Nobody waits
/// for its end: after an error, the tables lack the rest of its work.
pub(crate) fn ordinary_program(
    program: impl FnOnce() -> Result<()> + Send + 'static,
) -> Result<()> {
    let run = move || drop(ordinary_timers().and_then(|()| program()));
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run).map(drop)
}

/// Sleeps. In a thread with ordinary timers this lasts longer by up to the timer slack.
#[expect(clippy::disallowed_methods, reason = "as the program that is imitated does")]
pub(crate) fn sleep_ns(ns: u64) {
    std::thread::sleep(std::time::Duration::from_nanos(ns));
}

/// Gives this thread an ordinary program's timers: they expire late by the timer slack, unless
/// another timer's interrupt comes first.
fn ordinary_timers() -> Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters live through the call.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const parameters) })?;
    // SAFETY: no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, TIMER_SLACK.as_ns()) }).map(drop)
}

/// A ring of blocks that the kernel fills with the frames at one interface (packet(7),
/// TPACKET_V3).
pub(crate) struct Ring {
    _socket: OwnedFd,
    memory: *mut u8,
    blocks: usize,
    next: usize,
}

const BLOCK_BYTES: usize = 1 << 20;
/// Timeout after which the kernel hands over a partly filled block.
pub(crate) const RETIRE_MS: u32 = 1000;
/// Offsets of 32-bit words in the headers of blocks and frames.
const STATUS: usize = 8;
const FRAMES: usize = 12;
const FIRST: usize = 16;
const STATUS_USER: u32 = 1;

/// One frame in a ring.
pub(crate) struct Frame<'a> {
    /// Timestamp, ns since 1970.
    pub(crate) time_ns: u64,
    /// Length of the whole frame.
    pub(crate) length: u32,
    /// Captured beginning of the frame.
    pub(crate) bytes: &'a [u8],
    /// True if the frame leaves by the interface.
    pub(crate) leaves: bool,
    /// True if the checksum is left to the device.
    pub(crate) unsummed: bool,
}

impl Ring {
    /// Opens a ring at an interface of this namespace.
    pub(crate) fn open(device: &str, blocks: usize, snap_bytes: u32) -> Result<Self> {
        let socket = socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
        let fd = std::os::fd::AsFd::as_fd(&socket);
        // A filter that keeps the first bytes of everything: one instruction, `ret #96`.
        let mut code = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: snap_bytes };
        let filter = libc::sock_fprog { len: 1, filter: from_mut(&mut code) };
        // SAFETY: plain structures, read by the kernel during the call.
        let bytes = unsafe {
            std::slice::from_raw_parts(
                from_ref(&filter).cast::<u8>(),
                size_of::<libc::sock_fprog>(),
            )
        };
        set_option_bytes(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, bytes)?;
        set_option(
            fd,
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            libc::tpacket_versions::TPACKET_V3 as i32,
        )?;
        // tpacket_req3: block size, blocks, frame size, frames, time-out in ms, private, features.
        let words = [
            BLOCK_BYTES as u32,
            blocks as u32,
            256,
            (BLOCK_BYTES / 256 * blocks) as u32,
            RETIRE_MS,
            0,
            0,
        ];
        let request: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        set_option_bytes(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let length = BLOCK_BYTES * blocks;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the address; the mapping lives as long as the ring.
        let memory = unsafe {
            libc::mmap(null_mut(), length, access, libc::MAP_SHARED, socket.as_raw_fd(), 0)
        };
        if memory == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        // Programs that are started inherit no ring: Linux 7.3 counts the pages of a copy wrong and dies.
        // SAFETY: the range is the mapping above.
        checked(unsafe { libc::madvise(memory, length, libc::MADV_DONTFORK) })?;
        bind_to_interface(std::os::fd::AsFd::as_fd(&socket), device, libc::ETH_P_ALL as u16)?;
        Ok(Self { _socket: socket, memory: memory.cast(), blocks, next: 0 })
    }

    /// Returns the frames dropped because the ring was full, since the last call.
    pub(crate) fn dropped(&self) -> Result<u32> {
        let mut statistics = [0; 12]; // packets, drops, freezes
        let fd = std::os::fd::AsFd::as_fd(&self._socket);
        get_option(fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut statistics)?;
        Ok(u32::from_ne_bytes([statistics[4], statistics[5], statistics[6], statistics[7]]))
    }

    /// Passes on the frames of all finished blocks, in order.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(&Frame<'_>)) {
        loop {
            // SAFETY: the block lies in the mapping; its status is written by the kernel, so it is
            // read and written volatile.
            let block = unsafe { self.memory.add(self.next * BLOCK_BYTES) };
            let status = unsafe { block.add(STATUS).cast::<u32>() };
            if unsafe { status.read_volatile() } & STATUS_USER == 0 {
                return;
            }
            // SAFETY: a block with this status belongs to us until it is given back.
            let bytes = unsafe { std::slice::from_raw_parts(block, BLOCK_BYTES) };
            frames(bytes, &mut each);
            unsafe { status.write_volatile(0) };
            self.next = (self.next + 1) % self.blocks;
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.cast(), BLOCK_BYTES * self.blocks) };
    }
}

/// Offset of `sll_pkttype` in a frame's header: behind `tpacket3_hdr`, in `sockaddr_ll`.
const KIND: usize = 48 + 10;
const OUTGOING: u8 = 4;
/// TP_STATUS_CSUMNOTREADY.
const UNSUMMED: u32 = 1 << 3;

/// Passes on the frames of a block. Each begins with a `tpacket3_hdr`.
fn frames(block: &[u8], each: &mut impl FnMut(&Frame<'_>)) {
    let word = |at: usize| {
        let bytes = block.get(at..at + 4).unwrap_or(&[0; 4]);
        u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    };
    let count = word(FRAMES);
    let mut at = word(FIRST) as usize;
    for _ in 0..count {
        // next offset, seconds, nanoseconds, snapped length, length, status; then u16 mac offset.
        let (next, seconds, nanoseconds) = (word(at), word(at + 4), word(at + 8));
        let (kept, length) = (word(at + 12) as usize, word(at + 16));
        let mac = (word(at + 24) & 0xffff) as usize;
        if let Some(bytes) = block.get(at + mac..at + mac + kept) {
            let time_ns = u64::from(seconds) * 1_000_000_000 + u64::from(nanoseconds);
            let leaves = block.get(at + KIND) == Some(&OUTGOING);
            let unsummed = word(at + 20) & UNSUMMED != 0;
            each(&Frame { time_ns, length, bytes, leaves, unsummed });
        }
        at += next as usize;
    }
}

/// Bytes of the processor's XSAVE state in standard format, with all features that the host has
/// enabled (Intel SDM vol. 1, 13.2: CPUID leaf 0xD, sub-leaf 0, EBX); 0 where there is none.
#[cfg(target_arch = "x86_64")]
pub(crate) fn register_bytes() -> u32 {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    const OSXSAVE: u32 = 1 << 27;
    // SAFETY: every x86-64 processor has the instruction; leaf 1 exists, leaf 0xD where XSAVE is on.
    #[allow(unused_unsafe)] // safe in later releases of Rust
    unsafe {
        if __cpuid(1).ecx & OSXSAVE == 0 {
            return 0;
        }
        __cpuid_count(0xd, 0).ebx
    }
}

/// Returns 0: no other processor has an XSAVE state.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn register_bytes() -> u32 {
    0
}
