//! Settings of s2n-quic: its defaults, but for what would read the system's random numbers.

use crate::endpoint::Port;
use crate::ids::{Ids, NoTokens, ResetTokens};
use crate::io::LARGEST_DATAGRAM_BYTES;
use crate::null_tls::NullTls;
use crate::random::Random;
use crate::watch::Watch;
use dumbbell_stack::{task, Spec};
use s2n_quic_core::connection::{close, Limits};
use s2n_quic_core::endpoint::limits::{ConnectionAttempt, Limiter, Outcome};
use s2n_quic_core::endpoint::Endpoint as _;
use s2n_quic_core::path::{migration, mtu, RemoteAddress};
use s2n_quic_core::recovery::congestion_controller;
use s2n_quic_core::recovery::{bbr, cubic};
use s2n_quic_core::{datagram, dc, endpoint::Type, packet::interceptor};
use s2n_quic_transport::endpoint::handle::{Acceptor, Connector};
use s2n_quic_transport::endpoint::{Config, Context, Endpoint};
use s2n_quic_transport::{connection, stream};
use std::fmt;

/// Headers of UDP and IPv4, which s2n-quic counts in its MTU.
const HEADER_BYTES: u16 = 28;

/// Random streams of the adapter, for each side.
enum Purpose {
    Endpoint,
    Ids,
    ResetTokens,
}

/// Every attempt to connect is allowed: there is one.
#[derive(Debug)]
struct Open;

impl Limiter for Open {
    fn on_connection_attempt(&mut self, _info: &ConnectionAttempt<'_>) -> Outcome {
        Outcome::allow()
    }
}

/// Settings of an endpoint.
struct Settings<C, const SERVER: bool> {
    control: C,
    ids: Ids,
    reset_tokens: ResetTokens,
    random: Random,
    tls: NullTls,
    attempts: Open,
    tokens: NoTokens,
    limits: Limits,
    mtu: mtu::Manager<mtu::Inherit>,
    close: close::Development,
    watch: Watch,
    migration: migration::disabled::Validator,
    interceptor: interceptor::Disabled,
    datagram: datagram::Disabled,
    dc: dc::Disabled,
}

impl<C, const SERVER: bool> fmt::Debug for Settings<C, SERVER> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Settings").finish_non_exhaustive()
    }
}

impl<C: congestion_controller::Endpoint, const SERVER: bool> Settings<C, SERVER> {
    fn new(spec: &Spec, control: C) -> Self {
        let random =
            |purpose: Purpose| Random::new(&spec.seed, purpose as u8 * 2 + u8::from(SERVER));
        Self {
            control,
            ids: Ids(random(Purpose::Ids)),
            reset_tokens: ResetTokens(random(Purpose::ResetTokens)),
            random: random(Purpose::Endpoint),
            tls: NullTls,
            attempts: Open,
            tokens: NoTokens,
            limits: Limits::default(),
            mtu: mtu::Manager::new(mtu::Inherit::default()),
            close: close::Development,
            watch: Watch::default(),
            migration: migration::disabled::Validator,
            interceptor: interceptor::Disabled::default(),
            datagram: datagram::Disabled::default(),
            dc: dc::Disabled::default(),
        }
    }
}

impl<C: congestion_controller::Endpoint, const SERVER: bool> Config for Settings<C, SERVER> {
    type TLSEndpoint = NullTls;
    type CongestionControllerEndpoint = C;
    type Connection = connection::Implementation<Self>;
    type ConnectionLock = std::sync::Mutex<Self::Connection>;
    type ConnectionIdFormat = Ids;
    type StatelessResetTokenGenerator = ResetTokens;
    type RandomGenerator = Random;
    type TokenFormat = NoTokens;
    type EndpointLimits = Open;
    type ConnectionLimits = Limits;
    type Mtu = mtu::Inherit;
    type StreamManager = stream::DefaultStreamManager;
    type ConnectionCloseFormatter = close::Development;
    type EventSubscriber = Watch;
    type PathHandle = RemoteAddress;
    type PathMigrationValidator = migration::disabled::Validator;
    type PacketInterceptor = interceptor::Disabled;
    type DatagramEndpoint = datagram::Disabled;
    type DcEndpoint = dc::Disabled;

    const ENDPOINT_TYPE: Type = if SERVER { Type::Server } else { Type::Client };

    fn context(&mut self) -> Context<'_, Self> {
        Context {
            congestion_controller: &mut self.control,
            connection_id_format: &mut self.ids,
            stateless_reset_token_generator: &mut self.reset_tokens,
            random_generator: &mut self.random,
            tls: &mut self.tls,
            endpoint_limits: &mut self.attempts,
            token: &mut self.tokens,
            connection_limits: &mut self.limits,
            mtu: &mut self.mtu,
            connection_close_formatter: &mut self.close,
            event_subscriber: &mut self.watch,
            path_migration: &mut self.migration,
            packet_interceptor: &mut self.interceptor,
            datagram: &mut self.datagram,
            dc: &mut self.dc,
        }
    }
}

/// Both endpoints and their handles for the applications.
pub(crate) struct Endpoints {
    pub(crate) ports: [Box<dyn Port>; 2],
    pub(crate) connector: Connector,
    pub(crate) acceptor: Acceptor,
}

impl Endpoints {
    /// # Errors
    /// What s2n-quic cannot do.
    pub(crate) fn new(spec: &Spec) -> Result<Self, String> {
        task::check_quic(spec)?;
        if spec.encrypts {
            return Err("s2n runs without encryption alone".to_owned());
        }
        match spec.congestion_control.as_str() {
            "cubic" => Self::with(spec, cubic::Endpoint::default),
            "bbr" => Self::with(spec, bbr::Endpoint::default),
            other => Err(format!("s2n has no {other}; allowed: cubic, bbr")),
        }
    }

    fn with<C: congestion_controller::Endpoint>(
        spec: &Spec,
        control: fn() -> C,
    ) -> Result<Self, String> {
        let largest = spec.datagram_bytes.min(LARGEST_DATAGRAM_BYTES as u16) + HEADER_BYTES;
        let mtu = mtu::Config::builder().with_max_mtu(largest).and_then(mtu::Builder::build);
        let mtu = mtu.map_err(|error| error.to_string())?;
        let (mut client, connector) =
            Endpoint::new_client(Settings::<C, false>::new(spec, control()));
        let (mut server, acceptor) =
            Endpoint::new_server(Settings::<C, true>::new(spec, control()));
        client.set_mtu_config(mtu);
        server.set_mtu_config(mtu);
        Ok(Self { ports: [Box::new(client), Box::new(server)], connector, acceptor })
    }
}
