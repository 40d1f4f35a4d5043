//! Keys and identifiers of the endpoints. All come from the seed of the run.

use dumbbell_stack::random::Random;
use quinn_proto::crypto::{AeadKey, CryptoError, HandshakeTokenKey, HmacKey};
use quinn_proto::{ConnectionId, ConnectionIdGenerator};
use std::time::Duration;

/// Length of connection ids, as quinn's own.
const CONNECTION_ID_BYTES: usize = 8;

/// A connection id.
pub(crate) fn connection_id(random: &mut Random) -> ConnectionId {
    ConnectionId::new(&random.next().to_be_bytes())
}

/// Draws connection ids.
pub(crate) struct Ids(pub(crate) Random);

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        connection_id(&mut self.0)
    }

    fn cid_len(&self) -> usize {
        CONNECTION_ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// Key of stateless resets and of tokens: a checksum, nobody attacks here.
pub(crate) struct Key(pub(crate) u64);

/// Length of a signature.
const SIGNATURE_BYTES: usize = 32;

impl Key {
    fn checksum(&self, data: &[&[u8]]) -> [u8; SIGNATURE_BYTES] {
        let bytes = data.iter().flat_map(|part| part.iter());
        let folded = bytes.fold(self.0, |state, &byte| {
            (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3).rotate_left(5)
        });
        let mut out = [0; SIGNATURE_BYTES];
        Random::of(folded).fill(&mut out);
        out
    }
}

impl HmacKey for Key {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        signature_out.copy_from_slice(&self.checksum(&[data])[..signature_out.len()]);
    }

    fn signature_len(&self) -> usize {
        SIGNATURE_BYTES
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        if signature == self.checksum(&[data]) {
            Ok(())
        } else {
            Err(CryptoError)
        }
    }
}

impl HandshakeTokenKey for Key {
    fn aead_from_hkdf(&self, random_bytes: &[u8]) -> Box<dyn AeadKey> {
        let seed = random_bytes
            .iter()
            .fold(self.0, |state, &byte| (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        Box::new(Self(seed))
    }
}

/// Length of an authentication tag (AES-GCM).
const TAG_BYTES: usize = 16;

impl AeadKey for Key {
    fn seal(&self, data: &mut Vec<u8>, additional_data: &[u8]) -> Result<(), CryptoError> {
        let tag = self.checksum(&[data, additional_data]);
        data.extend(&tag[..TAG_BYTES]);
        Ok(())
    }

    fn open<'a>(
        &self,
        data: &'a mut [u8],
        additional_data: &[u8],
    ) -> Result<&'a mut [u8], CryptoError> {
        let length = data.len().checked_sub(TAG_BYTES).ok_or(CryptoError)?;
        let (text, tag) = data.split_at_mut(length);
        if tag == &self.checksum(&[text, additional_data])[..TAG_BYTES] {
            Ok(text)
        } else {
            Err(CryptoError)
        }
    }
}
