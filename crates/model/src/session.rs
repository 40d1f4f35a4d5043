//! Sessions: a client loads a page, object by object, over connections of its own.
//!
//! Connections are flows whose source is `session`: from the server to the client, opened by the
//! client. What is asked when, over which of them, is decided while the run happens.

use crate::units::Span;
use serde::{Deserialize, Serialize};

/// A client loads a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Unique among sessions.
    pub name: String,
    /// When the first objects are wanted.
    #[serde(rename = "start_ns")]
    pub start: Span,
    /// The start is moved by a uniform random time below this.
    #[serde(rename = "start_jitter_ns")]
    pub start_jitter: Span,
    /// Where objects come from.
    pub origins: Vec<Origin>,
    /// What is loaded.
    pub objects: Vec<Object>,
}

/// A server, and how it is spoken to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Names of the flows that carry it: so many connections are opened at most.
    pub connections: Vec<String>,
    /// How requests share a connection.
    pub protocol: Protocol,
    /// Time until its name is found, before the first connection is opened.
    #[serde(rename = "lookup_ns")]
    pub lookup: Span,
    /// What each connection exchanges before its first request, such as a TLS handshake.
    pub setup: Vec<Exchange>,
}

/// How requests share a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// One at a time, over persistent connections (RFC 9112 §9.3).
    Http1,
    /// All at once, their answers in frames by turns (RFC 9113 §4.1).
    Http2,
}

/// The client sends, the server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// From the client.
    pub request_bytes: u64,
    /// From the server, once it has all of the request.
    pub response_bytes: u64,
}

/// One of a page's objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// For people; in `transfers`.
    pub name: String,
    /// What it belongs to in `transfers`; empty: to the session.
    #[serde(default)]
    pub group: String,
    /// Number of its origin.
    pub origin: u32,
    /// Numbers of the objects that must have arrived before it is wanted, all lower than its own.
    pub after: Vec<u32>,
    /// From then (from the session's start, if there are none) until it is wanted: a parser's time,
    /// or a person's.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
    /// Its request and answer, headers included.
    pub exchange: Exchange,
    /// The server takes this long to answer.
    #[serde(rename = "service_ns")]
    pub service: Span,
}
