//! Settings of a script: packetdrill's options, with its defaults.

use crate::script::ScriptOption;
use crate::Wrong;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Port on which a socket listens, and to which one connects.
pub const PORT: u16 = 8080;
/// Port of the other end, when it connects.
pub const REMOTE_PORT: u16 = 40_001;

/// Version of IP, of the packets and of the sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// IPv4.
    V4,
    /// IPv4 packets, IPv6 sockets (RFC 4291, 2.5.5.2).
    V4Mapped,
    /// IPv6.
    V6,
}

/// Settings of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Version of IP.
    pub version: Version,
    /// Address of the TCP under test.
    pub local: IpAddr,
    /// Length of the local network's prefix.
    pub prefix: u8,
    /// Next hop to the other end.
    pub gateway: IpAddr,
    /// Address of the other end.
    pub remote: IpAddr,
    /// MTU of the device.
    pub mtu: u32,
    /// Segments in an arriving packet have at most this payload (GRO); 0: it is one segment.
    pub mss: u16,
    /// Allowed deviation of a time, µs; or the share below, if that is more.
    pub tolerance_us: i64,
    /// Allowed deviation as a share of the time since the event before, in percent.
    pub tolerance_percent: f64,
    /// A packet of the script is one packet, not several in a row.
    pub strict_segments: bool,
    /// Microseconds per tick of the sent timestamps; 0: their values are not checked.
    pub ts_tick_us: u32,
    /// A timestamp that was never sent may be echoed.
    pub ts_ecr_scaled: bool,
}

impl Settings {
    /// packetdrill's defaults for a version of IP.
    pub fn of(version: Version) -> Self {
        let (local, prefix, gateway, remote) = match version {
            Version::V4 | Version::V4Mapped => (
                IpAddr::from(Ipv4Addr::new(192, 168, 0, 1)),
                16,
                IpAddr::from(Ipv4Addr::new(192, 168, 0, 2)),
                IpAddr::from(Ipv4Addr::new(192, 0, 2, 1)),
            ),
            Version::V6 => (
                IpAddr::from(Ipv6Addr::new(0xfd3d, 0x0a0b, 0x17d6, 0, 0, 0, 0, 1)),
                48,
                IpAddr::from(Ipv6Addr::new(0xfd3d, 0x0a0b, 0x17d6, 0x8888, 0, 0, 0, 1)),
                IpAddr::from(Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, 1)),
            ),
        };
        Self {
            version,
            local,
            prefix,
            gateway,
            remote,
            // The same MSS as with IPv4, as the kernel's runner asks for.
            mtu: if version == Version::V6 { 1520 } else { 1500 },
            mss: 0,
            tolerance_us: 4000,
            tolerance_percent: 12.5,
            strict_segments: false,
            ts_tick_us: 0,
            ts_ecr_scaled: false,
        }
    }

    /// Applies the options of a script.
    ///
    /// # Errors
    /// An option that is unknown, or whose value is not of its kind.
    pub fn apply(&mut self, options: &[ScriptOption]) -> Result<(), Wrong> {
        for option in options {
            self.set(&option.name, option.value.as_deref().unwrap_or(""))
                .map_err(|message| Wrong { line: option.line, message })?;
        }
        Ok(())
    }

    /// An address of the script's version of IP.
    fn address(&self, name: &str, value: &str) -> Result<IpAddr, String> {
        let found: IpAddr = number(name, value)?;
        if found.is_ipv6() == (self.version == Version::V6) {
            Ok(found)
        } else {
            Err(no_value(name, value))
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "ip_version" => {} // The defaults of the others follow from it: see `Script::version`.
            "local_ip" => self.local = self.address(name, value)?,
            "remote_ip" => {
                self.remote = self.address(name, value.split('/').next().unwrap_or(""))?;
            }
            "gateway_ip" => self.gateway = self.address(name, value)?,
            "netmask_ip" => {
                let mask: Ipv4Addr = number(name, value)?;
                let ones = u32::from(mask).leading_ones();
                if ones != u32::from(mask).count_ones() {
                    return Err(no_value(name, value));
                }
                self.prefix = u8::try_from(ones).unwrap_or(32);
            }
            "mtu" => self.mtu = within(name, value, 68, MOST_MTU)?,
            "mss" => self.mss = number(name, value)?,
            "tolerance_usecs" => self.tolerance_us = within(name, value, 0, i64::from(u32::MAX))?,
            "tolerance_percent" => self.tolerance_percent = within(name, value, 0.0, 1e6)?,
            "tcp_ts_tick_usecs" => self.ts_tick_us = number(name, value)?,
            "tcp_ts_ecr_scaled" => self.ts_ecr_scaled = true,
            "strict_segments" => self.strict_segments = true,
            // Buffers of calls are never freed while a script runs.
            "send_omit_free" => {}
            _ => return Err(format!("the option --{name} is not known")),
        }
        Ok(())
    }
}

/// Largest MTU of the device (drivers/net/tun.c).
const MOST_MTU: u32 = 65_521;

/// A version of IP by packetdrill's name of it.
pub fn version_named(name: &str) -> Option<Version> {
    match name {
        "ipv4" => Some(Version::V4),
        "ipv4-mapped-ipv6" => Some(Version::V4Mapped),
        "ipv6" => Some(Version::V6),
        _ => None,
    }
}

/// Words that the runners of Google's and the kernel's suites define: cookies of TCP Fast Open (RFC 7413) that
/// follow from the addresses and the suites' key, and what differs between IPv4's and IPv6's sockets.
pub fn words_of_runners(version: Version) -> Vec<(String, String)> {
    let cookies = match version {
        Version::V6 => ("c1d1e9742a47a9bc", "82af1a8f9a205c34"),
        Version::V4 | Version::V4Mapped => ("3021b9d889017eeb", "b7c12350a90dc8f5"),
    };
    let errors = match version {
        Version::V4 => ("SOL_IP", "IP_RECVERR"),
        Version::V4Mapped | Version::V6 => ("SOL_IPV6", "IPV6_RECVERR"),
    };
    let code = if version == Version::V6 { "address_unreachable" } else { "host_unreachable" };
    [
        ("TFO_COOKIE", cookies.0),
        ("TFO_COOKIE_ZERO", cookies.1),
        ("CMSG_LEVEL_IP", errors.0),
        ("CMSG_TYPE_RECVERR", errors.1),
        ("CODE", code),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| no_value(name, value))
}

/// A number between two others; neither of them is NaN.
fn within<T: std::str::FromStr + PartialOrd>(
    name: &str,
    value: &str,
    least: T,
    most: T,
) -> Result<T, String> {
    let found: T = number(name, value)?;
    if (least..=most).contains(&found) {
        Ok(found)
    } else {
        Err(no_value(name, value))
    }
}

fn no_value(name: &str, value: &str) -> String {
    format!("--{name}={value}: this is no value of --{name}")
}
