//! TLS 1.3 (RFC 8446, RFC 9001) by rustls, with all randomness from the seed of the run: X25519 with a drawn
//! private key, AES-128-GCM, and a fixed Ed25519 certificate, whose signatures draw nothing (RFC 8032).

use dumbbell_stack::random::Random;
use dumbbell_stack::Log;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::{cipher_suite, default_provider};
use rustls::crypto::{
    verify_tls13_signature, ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom,
    SharedSecret, SupportedKxGroup,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, KeyLog, NamedGroup,
    PeerMisbehaved, ServerConfig, SignatureScheme,
};
use std::cell::RefCell;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Name in the certificate.
pub(crate) const SERVER_NAME: &str = "server";
/// Certificate of the server, 335 bytes, signed by itself.
static CERTIFICATE: &[u8] = include_bytes!("certificate.der");
/// Its private key (PKCS #8). It protects nothing.
static PRIVATE_KEY: [u8; 48] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
    0xda, 0x40, 0x42, 0xd7, 0xb1, 0x5a, 0xc3, 0x9c, 0x27, 0x38, 0xca, 0xd4, 0xb4, 0x86, 0x1d, 0xb7,
    0x42, 0xb4, 0xee, 0x94, 0x4a, 0x23, 0x8a, 0x67, 0x22, 0x34, 0x65, 0xa5, 0xd8, 0x6e, 0x14, 0x1e,
];
/// Length of an X25519 key (RFC 7748 §5).
const X25519_BYTES: usize = 32;
/// Generator of X25519 (RFC 7748 §4.1).
const BASE_POINT: [u8; X25519_BYTES] = {
    let mut point = [0; X25519_BYTES];
    point[0] = 9;
    point
};

/// Random numbers of a connection's TLS.
#[derive(Clone)]
pub(crate) struct Drawing(Arc<Mutex<Random>>);

thread_local! {
    /// The connection that is called at present. rustls takes random numbers from a static alone.
    static PRESENT: RefCell<Option<Drawing>> = const { RefCell::new(None) };
}

/// While this lives, TLS on this thread draws from one connection's stream.
pub(crate) struct Present;

impl Drawing {
    pub(crate) fn new(random: Random) -> Self {
        Self(Arc::new(Mutex::new(random)))
    }

    pub(crate) fn begin(&self) -> Present {
        PRESENT.set(Some(self.clone()));
        Present
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        PRESENT.set(None);
    }
}

/// Fails outside of a call to a connection.
fn draw(bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
    PRESENT.with_borrow(|present| {
        let Drawing(random) = present.as_ref().ok_or(GetRandomFailed)?;
        random.lock().unwrap_or_else(PoisonError::into_inner).fill(bytes);
        Ok(())
    })
}

#[derive(Debug)]
struct Seeded;

impl SecureRandom for Seeded {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        draw(bytes)
    }
}

/// X25519. ring's own draws from the system.
#[derive(Debug)]
struct X25519;

struct Exchange {
    private: [u8; X25519_BYTES],
    public: [u8; X25519_BYTES],
}

impl SupportedKxGroup for X25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut private = [0; X25519_BYTES];
        draw(&mut private)?;
        let public = x25519_dalek::x25519(private, BASE_POINT);
        Ok(Box::new(Exchange { private, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer = <[u8; X25519_BYTES]>::try_from(peer)
            .map_err(|_| Error::from(PeerMisbehaved::InvalidKeyShare))?;
        Ok(x25519_dalek::x25519(self.private, peer).to_vec().into())
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: vec![cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: vec![&X25519],
        secure_random: &Seeded,
        ..default_provider()
    })
}

/// Time of day: always the same. The certificate is valid then.
#[derive(Debug)]
struct FixedTime;

impl TimeProvider for FixedTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(1_800_000_000)))
    }
}

/// Trusts [`CERTIFICATE`] alone.
#[derive(Debug)]
struct Known(Arc<CryptoProvider>);

impl ServerCertVerifier for Known {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if end_entity.as_ref() == CERTIFICATE {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::UnknownIssuer.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC has TLS 1.3 alone (RFC 9001 §4.2)".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

/// Writes the secrets of a connection as lines of SSLKEYLOGFILE (RFC 9850 §2), which Wireshark reads.
#[derive(Debug)]
struct Secrets(Log);

impl KeyLog for Secrets {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        // A log in memory takes all.
        let _ = writeln!(self.0.clone(), "{label} {} {}", hex(client_random), hex(secret));
    }
}

/// Configuration of the client. Its secrets are written to `secrets`.
pub(crate) fn client(secrets: &Log) -> Result<QuicClientConfig, String> {
    let provider = provider();
    let verifier = Arc::new(Known(Arc::clone(&provider)));
    let mut config = ClientConfig::builder_with_details(provider, Arc::new(FixedTime))
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    // As quinn's own configuration has it (`QuicClientConfig::inner`).
    config.enable_early_data = true;
    config.key_log = Arc::new(Secrets(secrets.clone()));
    QuicClientConfig::try_from(config).map_err(|error| error.to_string())
}

/// Configuration of the server.
pub(crate) fn server() -> Result<QuicServerConfig, String> {
    let certificate = vec![CertificateDer::from_slice(CERTIFICATE)];
    let key = PrivatePkcs8KeyDer::from(&PRIVATE_KEY[..]).into();
    let mut config = ServerConfig::builder_with_details(provider(), Arc::new(FixedTime))
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(certificate, key)
        .map_err(|error| error.to_string())?;
    // As quinn's own configuration has it (`QuicServerConfig::inner`).
    config.max_early_data_size = u32::MAX;
    QuicServerConfig::try_from(config).map_err(|error| error.to_string())
}
