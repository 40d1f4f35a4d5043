//! Connection IDs and tokens of the endpoints. All come from the seed of the run.

use crate::random::Random;
use s2n_quic_core::connection::id::{ConnectionInfo, Generator, Validator};
use s2n_quic_core::connection::{InitialId, LocalId};
use s2n_quic_core::stateless_reset::token;
use s2n_quic_core::token::{Context, Format};

/// Length of connection IDs, as s2n-quic's own.
const CONNECTION_ID_BYTES: usize = 16;

/// Draws connection IDs.
#[derive(Debug)]
pub(crate) struct Ids(pub(crate) Random);

impl Generator for Ids {
    fn generate(&mut self, _info: &ConnectionInfo<'_>) -> LocalId {
        let mut id = [0; CONNECTION_ID_BYTES];
        self.0.fill(&mut id);
        LocalId::try_from_bytes(&id).unwrap_or_default()
    }
}

impl Validator for Ids {
    fn validate(&self, _info: &ConnectionInfo<'_>, buffer: &[u8]) -> Option<usize> {
        (buffer.len() >= CONNECTION_ID_BYTES).then_some(CONNECTION_ID_BYTES)
    }
}

/// Draws stateless-reset tokens. As by s2n-quic's default, no stateless reset is sent.
#[derive(Debug)]
pub(crate) struct ResetTokens(pub(crate) Random);

impl token::Generator for ResetTokens {
    const ENABLED: bool = false;

    fn generate(&mut self, _local_connection_id: &[u8]) -> s2n_quic_core::stateless_reset::Token {
        let mut bytes = [0; token::LEN];
        self.0.fill(&mut bytes);
        bytes.into()
    }
}

/// Address tokens: none are sent, none are accepted.
#[derive(Debug)]
pub(crate) struct NoTokens;

impl Format for NoTokens {
    const TOKEN_LEN: usize = 0;

    fn generate_new_token(
        &mut self,
        _context: &mut Context<'_>,
        _source_connection_id: &LocalId,
        _output_buffer: &mut [u8],
    ) -> Option<()> {
        None
    }

    fn generate_retry_token(
        &mut self,
        _context: &mut Context<'_>,
        _original_destination_connection_id: &InitialId,
        _output_buffer: &mut [u8],
    ) -> Option<()> {
        None
    }

    fn validate_token(&mut self, _context: &mut Context<'_>, _token: &[u8]) -> Option<InitialId> {
        None
    }
}
