//! System calls with whatever arguments a script gives. None of them gets a length above its buffer's.

use super::{checked, Error, Result};
use std::mem::{size_of, zeroed};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::ptr::{from_mut, from_ref, null, null_mut};

/// Name of the device, flags IFF_TUN, IFF_NO_PI and IFF_VNET_HDR (linux/if_tun.h).
const TUN: (&str, i32) = ("tun0", 0x0001 | 0x1000 | 0x4000);
/// TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6, TUN_F_TSO_ECN: an ordinary Ethernet device's.
const OFFLOADS: libc::c_ulong = 1 | 2 | 4 | 8;
const TUNSETIFF: libc::c_ulong = 0x4004_54CA;
const TUNSETOFFLOAD: libc::c_ulong = 0x4004_54D0;

/// Makes a device whose packets this program sends and receives, each after a `virtio_net_hdr`.
pub(crate) fn tun() -> Result<OwnedFd> {
    let path = Path::new("/dev/net/tun");
    let device = std::fs::OpenOptions::new().read(true).write(true).open(path)?;
    // SAFETY: an ifreq of zeros is valid; the name fits with its terminator.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(TUN.0.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = TUN.1 as libc::c_short;
    // SAFETY: the request outlives the call.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), TUNSETIFF as _, from_mut(&mut request)) })?;
    // SAFETY: a number, no pointer.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), TUNSETOFFLOAD as _, OFFLOADS) })?;
    Ok(device.into())
}

fn count(result: isize) -> Result<i64> {
    if result < 0 {
        Err(Error::last_os_error())
    } else {
        Ok(result as i64)
    }
}

fn raw(result: libc::c_int) -> Result<i64> {
    checked(result).map(i64::from)
}

/// A new descriptor that nobody owns yet.
fn owned(result: libc::c_int) -> Result<OwnedFd> {
    let fd = checked(result)?;
    // SAFETY: the kernel has just made it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(crate) fn new_socket(domain: i32, kind: i32, protocol: i32) -> Result<OwnedFd> {
    // SAFETY: no pointers.
    owned(unsafe { libc::socket(domain, kind, protocol) })
}

/// An address as the kernel takes it.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl Address {
    pub(crate) fn of(address: SocketAddr) -> Self {
        // SAFETY: all zeros is valid.
        let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
        let length = match address {
            SocketAddr::V4(v4) => {
                let found = super::inet(v4.ip().octets(), v4.port());
                // SAFETY: a sockaddr_storage has the size and alignment of any address.
                unsafe { from_mut(&mut storage).cast::<libc::sockaddr_in>().write(found) };
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(v6) => {
                // SAFETY: all zeros is valid.
                let mut found: libc::sockaddr_in6 = unsafe { zeroed() };
                found.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                found.sin6_port = v6.port().to_be();
                found.sin6_addr.s6_addr = v6.ip().octets();
                // SAFETY: as above.
                unsafe { from_mut(&mut storage).cast::<libc::sockaddr_in6>().write(found) };
                size_of::<libc::sockaddr_in6>()
            }
        };
        Self { storage, length: length as libc::socklen_t }
    }

    /// An address of the family AF_UNSPEC, which ends a connection.
    pub(crate) fn unspecified() -> Self {
        // SAFETY: all zeros is valid, and of this family.
        Self { storage: unsafe { zeroed() }, length: 16 }
    }

    fn port(&self) -> u16 {
        let at = from_ref(&self.storage);
        match i32::from(self.storage.ss_family) {
            // SAFETY: the family says which type was written.
            libc::AF_INET => u16::from_be(unsafe { (*at.cast::<libc::sockaddr_in>()).sin_port }),
            // SAFETY: the family says which type was written.
            libc::AF_INET6 => u16::from_be(unsafe { (*at.cast::<libc::sockaddr_in6>()).sin6_port }),
            _ => 0,
        }
    }
}

pub(crate) fn bind_to(fd: BorrowedFd<'_>, to: &Address) -> Result<i64> {
    // SAFETY: the address is valid for its length.
    raw(unsafe { libc::bind(fd.as_raw_fd(), from_ref(&to.storage).cast(), to.length) })
}

pub(crate) fn connect_to(fd: BorrowedFd<'_>, to: &Address) -> Result<i64> {
    // SAFETY: the address is valid for its length.
    raw(unsafe { libc::connect(fd.as_raw_fd(), from_ref(&to.storage).cast(), to.length) })
}

pub(crate) fn listen_with(fd: BorrowedFd<'_>, backlog: i32) -> Result<i64> {
    // SAFETY: no pointers.
    raw(unsafe { libc::listen(fd.as_raw_fd(), backlog) })
}

/// Accepts a connection; the port of its other end.
pub(crate) fn accept_from(fd: BorrowedFd<'_>) -> Result<(OwnedFd, u16)> {
    let mut peer = Address::unspecified();
    peer.length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: the storage has the length that is told.
    let found = owned(unsafe {
        libc::accept(fd.as_raw_fd(), from_mut(&mut peer.storage).cast(), from_mut(&mut peer.length))
    })?;
    Ok((found, peer.port()))
}

/// Writes zeros; `buffer`: None is a null pointer.
pub(crate) fn write_all(fd: BorrowedFd<'_>, buffer: Option<&[u8]>, length: usize) -> Result<i64> {
    let at = pointer(buffer, length)?;
    // SAFETY: the slice is as long as told, or the kernel refuses a null pointer.
    count(unsafe { libc::write(fd.as_raw_fd(), at.cast(), length) })
}

pub(crate) fn read_into(
    fd: BorrowedFd<'_>,
    buffer: Option<&mut [u8]>,
    length: usize,
) -> Result<i64> {
    let at = pointer_mut(buffer, length)?;
    // SAFETY: as above.
    count(unsafe { libc::read(fd.as_raw_fd(), at.cast(), length) })
}

pub(crate) fn send_to(
    fd: BorrowedFd<'_>,
    buffer: Option<&[u8]>,
    length: usize,
    flags: i32,
    to: Option<&Address>,
) -> Result<i64> {
    let at = pointer(buffer, length)?;
    let (address, address_length) =
        to.map_or((null(), 0), |to| (from_ref(&to.storage).cast(), to.length));
    // SAFETY: as above; the address is valid for its length.
    count(unsafe {
        libc::sendto(fd.as_raw_fd(), at.cast(), length, flags, address, address_length)
    })
}

pub(crate) fn receive_into(
    fd: BorrowedFd<'_>,
    buffer: Option<&mut [u8]>,
    length: usize,
    flags: i32,
) -> Result<i64> {
    let at = pointer_mut(buffer, length)?;
    // SAFETY: as above.
    count(unsafe { libc::recv(fd.as_raw_fd(), at.cast(), length, flags) })
}

fn pointer(buffer: Option<&[u8]>, length: usize) -> Result<*const u8> {
    match buffer {
        None => Ok(null()),
        Some(bytes) if bytes.len() >= length => Ok(bytes.as_ptr()),
        Some(_) => Err(Error::other("the buffer is shorter than told")),
    }
}

fn pointer_mut(buffer: Option<&mut [u8]>, length: usize) -> Result<*mut u8> {
    match buffer {
        None => Ok(null_mut()),
        Some(bytes) if bytes.len() >= length => Ok(bytes.as_mut_ptr()),
        Some(_) => Err(Error::other("the buffer is shorter than told")),
    }
}

/// A message that was received: result, flags, control messages as level, type and content.
pub(crate) struct Received {
    pub(crate) result: i64,
    pub(crate) flags: i32,
    pub(crate) control: Vec<(i32, i32, Vec<u8>)>,
}

/// Parts of a message as the kernel takes them.
fn parts(buffers: &mut [Vec<u8>]) -> Vec<libc::iovec> {
    let part = |buffer: &mut Vec<u8>| libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    buffers.iter_mut().map(part).collect()
}

pub(crate) fn send_message(
    fd: BorrowedFd<'_>,
    buffers: &mut [Vec<u8>],
    flags: i32,
    to: Option<&Address>,
) -> Result<i64> {
    let mut parts = parts(buffers);
    // SAFETY: all zeros is valid.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len() as _;
    if let Some(to) = to {
        message.msg_name = from_ref(&to.storage).cast_mut().cast();
        message.msg_namelen = to.length;
    }
    // SAFETY: all pointers are to values that live through the call, with their lengths.
    count(unsafe { libc::sendmsg(fd.as_raw_fd(), from_ref(&message), flags) })
}

pub(crate) fn receive_message(
    fd: BorrowedFd<'_>,
    buffers: &mut [Vec<u8>],
    flags: i32,
) -> Result<Received> {
    let mut parts = parts(buffers);
    let mut control = [0u64; 256];
    // SAFETY: all zeros is valid.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len() as _;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: all pointers are to values that live through the call, with their lengths.
    let result = count(unsafe { libc::recvmsg(fd.as_raw_fd(), from_mut(&mut message), flags) })?;
    let mut found = Vec::new();
    // SAFETY: the kernel has filled in the control messages and their length.
    let mut at = unsafe { libc::CMSG_FIRSTHDR(from_ref(&message)) };
    while !at.is_null() {
        // SAFETY: not null, so a whole header within the buffer, and its content after it.
        unsafe {
            let header = at.read();
            let begin = libc::CMSG_DATA(at);
            let bytes = header.cmsg_len as usize - (begin as usize - at as usize);
            let content = std::slice::from_raw_parts(begin, bytes).to_vec();
            found.push((header.cmsg_level, header.cmsg_type, content));
            at = libc::CMSG_NXTHDR(from_ref(&message), at);
        }
    }
    Ok(Received { result, flags: message.msg_flags, control: found })
}

/// `fcntl` with a number or without argument; other commands are refused.
pub(crate) fn control(fd: BorrowedFd<'_>, command: i32, argument: libc::c_long) -> Result<i64> {
    const NUMBERS: [i32; 5] =
        [libc::F_DUPFD, libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_SETFL];
    if !NUMBERS.contains(&command) {
        return Err(Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: these commands take a number, no pointer.
    raw(unsafe { libc::fcntl(fd.as_raw_fd(), command, argument) })
}

/// `ioctl` that writes a number: bytes to be read, or not yet sent; other requests are refused.
pub(crate) fn ioctl_number(fd: BorrowedFd<'_>, request: u64) -> Result<(i64, i32)> {
    if ![libc::FIONREAD, libc::TIOCOUTQ].contains(&request) {
        return Err(Error::from_raw_os_error(libc::ENOTTY));
    }
    let mut number = 0i32;
    // SAFETY: these requests write an `int`.
    let result = raw(unsafe { libc::ioctl(fd.as_raw_fd(), request as _, from_mut(&mut number)) })?;
    Ok((result, number))
}

pub(crate) fn shut(fd: BorrowedFd<'_>, how: i32) -> Result<i64> {
    // SAFETY: no pointers.
    raw(unsafe { libc::shutdown(fd.as_raw_fd(), how) })
}

/// `poll` of descriptors and events; the result, and what happened on each.
pub(crate) fn poll_for(wanted: &[(i32, i16)], timeout_ms: i32) -> Result<(i64, Vec<i16>)> {
    let one = |&(fd, events): &(i32, i16)| libc::pollfd { fd, events, revents: 0 };
    let mut all: Vec<libc::pollfd> = wanted.iter().map(one).collect();
    // SAFETY: the array has the length that is told.
    let result = raw(unsafe { libc::poll(all.as_mut_ptr(), all.len() as _, timeout_ms) })?;
    Ok((result, all.iter().map(|one| one.revents).collect()))
}

/// Waits until a descriptor can be read, at most some time. True if it can.
pub(crate) fn readable_within(fd: BorrowedFd<'_>, ns: i64) -> Result<bool> {
    let mut one = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let time = libc::timespec {
        tv_sec: (ns.max(0) / 1_000_000_000) as _,
        tv_nsec: (ns.max(0) % 1_000_000_000) as _,
    };
    // SAFETY: both live through the call; no mask of signals.
    let found = raw(unsafe { libc::ppoll(from_mut(&mut one), 1, from_ref(&time), null()) })?;
    Ok(found > 0)
}

pub(crate) fn new_epoll() -> Result<OwnedFd> {
    // SAFETY: no pointers.
    owned(unsafe { libc::epoll_create1(0) })
}

pub(crate) fn epoll_change(
    epoll: BorrowedFd<'_>,
    operation: i32,
    fd: BorrowedFd<'_>,
    events: u32,
    data: u64,
) -> Result<i64> {
    let mut event = libc::epoll_event { events, u64: data };
    // SAFETY: the event lives through the call.
    raw(unsafe {
        libc::epoll_ctl(epoll.as_raw_fd(), operation, fd.as_raw_fd(), from_mut(&mut event))
    })
}

/// `epoll_wait` for at most one event; its events and data.
pub(crate) fn epoll_next(epoll: BorrowedFd<'_>, timeout_ms: i32) -> Result<Option<(u32, u64)>> {
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    // SAFETY: one event has space.
    let found =
        raw(unsafe { libc::epoll_wait(epoll.as_raw_fd(), from_mut(&mut event), 1, timeout_ms) })?;
    Ok((found > 0).then_some((event.events, event.u64)))
}

pub(crate) fn new_pipe() -> Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: two descriptors have space.
    checked(unsafe { libc::pipe(fds.as_mut_ptr()) })?;
    // SAFETY: the kernel has just made both.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

pub(crate) fn splice_between(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    length: usize,
    flags: u32,
) -> Result<i64> {
    let (a, b) = (from.as_raw_fd(), to.as_raw_fd());
    // SAFETY: null offsets are allowed.
    count(unsafe { libc::splice(a, null_mut(), b, null_mut(), length, flags) })
}

/// `sendfile` from an offset; the result and the offset after it.
pub(crate) fn send_file(
    to: BorrowedFd<'_>,
    from: BorrowedFd<'_>,
    offset: i64,
    length: usize,
) -> Result<(i64, i64)> {
    let mut offset = offset as libc::off_t;
    // SAFETY: the offset lives through the call.
    let result = count(unsafe {
        libc::sendfile(to.as_raw_fd(), from.as_raw_fd(), from_mut(&mut offset), length)
    })?;
    Ok((result, offset as i64))
}

/// `setsockopt` with bytes and a length that need not be theirs; None: a null pointer.
pub(crate) fn set_option_raw(
    fd: BorrowedFd<'_>,
    level: i32,
    name: i32,
    value: Option<&[u8]>,
    length: usize,
) -> Result<i64> {
    let at = pointer(value, length)?;
    // SAFETY: the slice is as long as told, or the kernel refuses a null pointer.
    raw(unsafe {
        libc::setsockopt(fd.as_raw_fd(), level, name, at.cast(), length as libc::socklen_t)
    })
}
