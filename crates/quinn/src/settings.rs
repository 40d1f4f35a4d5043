//! Settings of quinn: its defaults, but for what would read a clock or the system's random numbers.

use crate::connection::Instant;
use crate::keys::{connection_id, Ids, Key};
use crate::null_tls::NullTls;
use crate::tls::{self, Drawing};
use dumbbell_stack::random::Random;
use dumbbell_stack::{task, Side, Spec};
use quinn_proto::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn_proto::{
    ClientConfig, EndpointConfig, MtuDiscoveryConfig, QlogConfig, ServerConfig, TimeSource,
    TransportConfig, ValidationTokenConfig,
};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Largest datagram that quinn looks for: IPv6 over Ethernet.
const LARGEST_DATAGRAM_BYTES: u16 = 1452;

/// Random streams of the adapter.
enum Purpose {
    ClientEndpoint,
    ServerEndpoint,
    ClientIds,
    ServerIds,
    FirstId,
    Keys,
    Tls,
}

/// Settings of both ends.
pub(crate) struct Settings {
    pub(crate) client_endpoint: Arc<EndpointConfig>,
    pub(crate) server_endpoint: Arc<EndpointConfig>,
    pub(crate) client: ClientConfig,
    pub(crate) server: Arc<ServerConfig>,
    /// Random numbers of TLS, if there is encryption.
    pub(crate) drawing: Option<Drawing>,
}

/// Tokens are neither sent nor accepted: no time of day is needed.
struct NoTime;

impl TimeSource for NoTime {
    #[allow(clippy::disallowed_types)]
    fn now(&self) -> std::time::SystemTime {
        std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
    }
}

impl Settings {
    /// # Errors
    /// What quinn cannot do.
    pub(crate) fn new(spec: &Spec, base: Instant) -> Result<Self, String> {
        let random = |purpose: Purpose| Random::new(&spec.seed, purpose as u8);
        let endpoint = |purpose: Purpose, ids: Purpose| {
            let mut keys = random(Purpose::Keys);
            let mut config = EndpointConfig::new(Arc::new(Key(keys.next())));
            config.rng_seed(Some(random(purpose).seed()));
            let ids = random(ids);
            config.cid_generator(move || Box::new(Ids(ids.clone())));
            Arc::new(config)
        };
        let [of_client, of_server] = Side::BOTH.map(|side| transport(spec, side, base));
        let drawing = spec.encrypts.then(|| Drawing::new(random(Purpose::Tls)));
        let null_tls = Arc::new(NullTls);
        let mut client = if spec.encrypts {
            ClientConfig::new(Arc::new(tls::client(&spec.secrets)?))
        } else {
            ClientConfig::new(Arc::clone(&null_tls) as _)
        };
        let first = Mutex::new(random(Purpose::FirstId));
        client.initial_dst_cid_provider(Arc::new(move || {
            connection_id(&mut first.lock().unwrap_or_else(PoisonError::into_inner))
        }));
        client.transport_config(Arc::new(of_client?));
        let mut keys = random(Purpose::Keys);
        keys.next();
        let token_key = Arc::new(Key(keys.next()));
        let mut server = if spec.encrypts {
            ServerConfig::new(Arc::new(tls::server()?), token_key)
        } else {
            ServerConfig::new(null_tls, token_key)
        };
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        server
            .transport_config(Arc::new(of_server?))
            .validation_token_config(tokens)
            .time_source(Arc::new(NoTime));
        Ok(Self {
            client_endpoint: endpoint(Purpose::ClientEndpoint, Purpose::ClientIds),
            server_endpoint: endpoint(Purpose::ServerEndpoint, Purpose::ServerIds),
            client,
            server: Arc::new(server),
            drawing,
        })
    }
}

fn transport(spec: &Spec, side: Side, base: Instant) -> Result<TransportConfig, String> {
    task::check_quic(spec)?;
    let mut transport = TransportConfig::default();
    if let Some(logs) = &spec.logs {
        let mut log = QlogConfig::default();
        log.writer(Box::new(logs[side as usize].clone())).start_time(base);
        transport.qlog_stream(log.into_stream());
    }
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(spec.datagram_bytes.min(LARGEST_DATAGRAM_BYTES));
    transport.mtu_discovery_config(Some(discovery));
    match spec.congestion_control.as_str() {
        "new_reno" => {
            transport.congestion_controller_factory(Arc::new(NewRenoConfig::default()));
        }
        "cubic" => {
            transport.congestion_controller_factory(Arc::new(CubicConfig::default()));
        }
        "bbr" => {
            transport.congestion_controller_factory(Arc::new(BbrConfig::default()));
        }
        other => {
            return Err(format!("quinn has no {other}; allowed: new_reno, cubic, bbr"));
        }
    }
    Ok(transport)
}
