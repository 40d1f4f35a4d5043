//! Pages that a client loads: objects, their dependencies, and the connections.

use crate::quantity::{positive_size, time};
use crate::read::{below, Fields, Loc, Node, Result};
use crate::stream::{algorithm, Stream};
use crate::typical;
use serde_json::{json, Value};
use std::collections::BTreeMap;

/// Handshakes as exchanges of bytes (request, response): a ClientHello of Chrome's size, a server's flight
/// with two certificates, key exchange and Finished. TLS 1.3 (RFC 8446 §2) takes one RTT: the client sends
/// its Finished with the first request. TLS 1.2 (RFC 5246 §7.3) takes two.
const TLS: [(&str, &[(u64, u64)]); 3] =
    [("none", &[]), ("1.3", &[(517, 4096)]), ("1.2", &[(517, 4096), (126, 51)])];
const PROTOCOLS: [(&str, &str); 2] = [("http/1.1", "http1"), ("http/2", "http2")];
const MAX_OBJECTS: usize = 100_000;
const REQUEST_BYTES: u64 = 400;
/// Connections to a server, as browsers open them for HTTP/1.1.
const CONNECTIONS: u64 = 6;

/// An object of a page, or several that are alike.
#[derive(Clone, Debug)]
struct Object {
    /// Names of all objects that this one stands for.
    names: Vec<String>,
    bytes: u64,
    request_bytes: Option<u64>,
    server: Option<String>,
    after: Vec<String>,
    delay_ns: u64,
    service_ns: u64,
    group: String,
}

/// A page as written.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) name: String,
    pub(crate) client: String,
    server: String,
    start_ns: u64,
    start_jitter_ns: u64,
    protocol: String,
    connections: Option<u64>,
    tls: String,
    lookup_ns: u64,
    pub(crate) stream: Stream,
    request_bytes: u64,
    objects: Vec<Object>,
    pub(crate) at: Loc,
}

impl Object {
    fn read(node: &Node<'_>) -> Result<Self> {
        let fields = node.any_fields()?;
        let name = fields.need("name")?.name()?;
        let count = fields.read("count", |node| node.whole(1, MAX_OBJECTS as i128))?;
        let names = match count {
            None => vec![name],
            Some(count) => (1..=count).map(|i| name.replace("{i}", &i.to_string())).collect(),
        };
        let after = match fields.get("after") {
            Some(node) if node.value.is_array() => node.items()?,
            Some(node) => vec![node],
            None => Vec::new(),
        };
        Ok(Self {
            names,
            bytes: positive_size(&fields.need("size")?)?,
            request_bytes: fields.read("request", positive_size)?,
            server: fields.read("server", Node::name)?,
            after: after.iter().map(Node::name).collect::<Result<_>>()?,
            delay_ns: fields.read("delay", time)?.unwrap_or(0),
            service_ns: fields.read("service", time)?.unwrap_or(0),
            group: fields.read("group", Node::name)?.unwrap_or_default(),
        })
    }
}

fn keys<const N: usize, T>(table: &[(&'static str, T); N]) -> [&'static str; N] {
    std::array::from_fn(|i| table[i].0)
}

impl Page {
    fn read(node: &Node<'_>) -> Result<Self> {
        let fields = node.any_fields()?;
        let chosen = |name, names: &[&str], what, default: &str| {
            let found = fields.read(name, |node| node.choice(names, what))?;
            Ok(found.unwrap_or_else(|| default.to_owned()))
        };
        let objects = if fields.exactly_one(&["objects", "page"])? == "objects" {
            fields.need("objects")?.one_or_more()?.iter().map(Object::read).collect()
        } else {
            let written = typical::objects(&chosen("page", &typical::names(), "typical page", "")?);
            let node = Node { value: &written, at: below(&node.at, "page") };
            node.items()?.iter().map(Object::read).collect::<Result<Vec<_>>>()
        };
        let cubic = Value::from("cubic");
        let plain = Node { value: &cubic, at: node.at.clone() };
        let control = algorithm(&fields.get("congestion_control").unwrap_or(plain))?;
        let mut stream = Stream::bulk(control, fields.read("fq", Node::flag)?);
        stream.notsent_lowat = fields.read("notsent_lowat", positive_size)?;
        let read = Self {
            name: fields.need("name")?.name()?,
            client: fields.need("client")?.name()?,
            server: fields.need("server")?.name()?,
            start_ns: fields.read("start", time)?.unwrap_or(0),
            start_jitter_ns: fields.read("start_jitter", time)?.unwrap_or(0),
            protocol: chosen("protocol", &keys(&PROTOCOLS), "protocol", "http/1.1")?,
            connections: fields
                .read("connections", |node| node.whole(1, 256))?
                .map(|count| count as u64),
            tls: chosen("tls", &keys(&TLS), "TLS version", "none")?,
            lookup_ns: fields.read("lookup", time)?.unwrap_or(0),
            stream,
            request_bytes: fields.read("request", positive_size)?.unwrap_or(REQUEST_BYTES),
            objects: objects?,
            at: node.at.clone(),
        };
        Ok(read)
    }

    fn server_of<'a>(&'a self, object: &'a Object) -> &'a str {
        object.server.as_deref().unwrap_or(&self.server)
    }

    /// Session in the form of the scenario, and its connections: name and server of each.
    pub(crate) fn session(&self) -> (Value, Vec<(String, String)>) {
        // The page's own server comes first if it has objects.
        let used: Vec<&str> = self.objects.iter().map(|one| self.server_of(one)).collect();
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut servers: Vec<&str> = Vec::new();
        let own = used.contains(&self.server.as_str()).then_some(self.server.as_str());
        for server in own.into_iter().chain(used) {
            numbers.entry(server).or_insert_with(|| {
                servers.push(server);
                servers.len() - 1
            });
        }
        let count =
            if self.protocol == "http/2" { 1 } else { self.connections.unwrap_or(CONNECTIONS) };
        let of_server = |server: &str| {
            (1..=count).map(|k| format!("{}-{server}-{k}", self.name)).collect::<Vec<_>>()
        };
        let find = |table: &[(&str, &'static str)], key: &str| {
            table.iter().find(|(name, _)| *name == key).map_or("", |(_, value)| *value)
        };
        let setup = TLS.iter().find(|(name, _)| *name == self.tls).map_or(&[][..], |one| one.1);
        let setup: Vec<Value> = setup
            .iter()
            .map(|(there, back)| json!({"request_bytes": there, "response_bytes": back}))
            .collect();
        let origin = |server: &&str| {
            json!({
                "connections": of_server(server),
                "protocol": find(&PROTOCOLS, &self.protocol),
                "lookup_ns": self.lookup_ns,
                "setup": setup,
            })
        };
        let session = json!({
            "name": self.name,
            "start_ns": self.start_ns,
            "start_jitter_ns": self.start_jitter_ns,
            "origins": servers.iter().map(origin).collect::<Vec<_>>(),
            "objects": self.scenario_objects(&numbers),
        });
        let named = |server: &&str| {
            let server = (*server).to_owned();
            of_server(&server).into_iter().map(move |name| (name, server.clone()))
        };
        (session, servers.iter().flat_map(named).collect())
    }

    fn scenario_objects(&self, origins: &BTreeMap<&str, usize>) -> Vec<Value> {
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut found = Vec::new();
        for object in &self.objects {
            let after: Vec<usize> =
                object.after.iter().filter_map(|name| places.get(name.as_str()).copied()).collect();
            let origin = origins.get(self.server_of(object)).copied().unwrap_or(0);
            for name in &object.names {
                places.insert(name, found.len());
                found.push(json!({
                    "name": name,
                    "group": object.group,
                    "origin": origin,
                    "after": after,
                    "delay_ns": object.delay_ns,
                    "exchange": {
                        "request_bytes": object.request_bytes.unwrap_or(self.request_bytes),
                        "response_bytes": object.bytes,
                    },
                    "service_ns": object.service_ns,
                }));
            }
        }
        found
    }
}

/// Pages of a file.
pub(crate) fn pages(fields: &Fields<'_>) -> Result<Vec<Page>> {
    let Some(node) = fields.get("pages") else { return Ok(Vec::new()) };
    node.items()?.iter().map(Page::read).collect()
}
