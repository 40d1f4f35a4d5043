//! The network: links, and what nodes decide between them.

pub(crate) mod fetch_ahead;
pub(crate) mod ip_fragment;
pub(crate) mod link;
pub(crate) mod lookahead;
pub(crate) mod neighbour;
pub(crate) mod path;
pub(crate) mod resolve;
pub(crate) mod route;
