//! Sessions: a client loads a page, object by object, over its own connections.
//!
//! Connections are flows with the source `session`, from the server to the client. The client opens
//! them. Time and connection of each request are decided during the run.

use crate::units::Span;
use serde::{Deserialize, Serialize};

/// A session: a client loads a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Name, unique among sessions.
    pub name: String,
    /// Start of the page load, before `start_jitter`.
    #[serde(rename = "start_ns")]
    pub start: Span,
    /// Upper bound of a uniform random addition to the start.
    #[serde(rename = "start_jitter_ns")]
    pub start_jitter: Span,
    /// Origins of the objects.
    pub origins: Vec<Origin>,
    /// Objects of the page.
    pub objects: Vec<Object>,
}

/// An origin: a server and the protocol towards it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Names of its flows. Their number is the maximum number of connections.
    pub connections: Vec<String>,
    /// HTTP version: how requests share a connection.
    pub protocol: Protocol,
    /// Time of the name lookup before the first connection is opened.
    #[serde(rename = "lookup_ns")]
    pub lookup: Span,
    /// Exchanges of each connection before its first request, such as a TLS handshake.
    pub setup: Vec<Exchange>,
}

/// HTTP version: how requests share a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP/1.1: one request at a time over persistent connections (RFC 9112 §9.3).
    Http1,
    /// HTTP/2: concurrent requests, responses interleaved in frames (RFC 9113 §4.1).
    Http2,
}

/// A request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// Bytes from the client.
    pub request_bytes: u64,
    /// Bytes from the server, sent after the whole request has arrived.
    pub response_bytes: u64,
}

/// An object of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// Name in `transfers`.
    pub name: String,
    /// Group in `transfers`; empty: the session's.
    #[serde(default)]
    pub group: String,
    /// Index of its origin.
    pub origin: u32,
    /// Indices of the objects that must arrive before the request, all below its own.
    pub after: Vec<u32>,
    /// Time from their arrival (from the session's start if there are none) to the request, such as a
    /// parser's or a user's.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
    /// Request and response, headers included.
    pub exchange: Exchange,
    /// Service time of the server before the response.
    #[serde(rename = "service_ns")]
    pub service: Span,
}
