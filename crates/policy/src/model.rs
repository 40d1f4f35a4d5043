//! A file of ONNX (`ModelProto`): a network, and what its author noted beside it.

use crate::network::Network;
use crate::onnx::network;
use crate::wire::{Fields, Value, BROKEN};
use std::collections::BTreeMap;

/// Largest file, bytes.
pub const MOST_BYTES: usize = 16 << 20;
/// Most notes, and most bytes of each.
const MOST_NOTES: usize = 64;
const MOST_NOTE_BYTES: usize = 4096;

/// Notes by name (`metadata_props`).
pub type Metadata = BTreeMap<String, String>;

/// A file.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The network.
    pub network: Network,
    /// Notes.
    pub metadata: Metadata,
}

impl Model {
    /// Reads a file.
    ///
    /// # Errors
    /// It is none, or has parts that are not known here.
    pub fn read(file: &[u8]) -> Result<Self, String> {
        if file.len() > MOST_BYTES {
            return Err(format!("it has {} bytes; allowed are {MOST_BYTES}", file.len()));
        }
        let (mut graph, mut metadata) = (None, Metadata::new());
        let mut fields = Fields(file);
        while let Some(field) = fields.next()? {
            match field {
                (7, Value::Bytes(bytes)) => graph = Some(bytes),
                (14, Value::Bytes(bytes)) => {
                    let (name, value) = note(bytes)?;
                    metadata.insert(name, value);
                    if metadata.len() > MOST_NOTES {
                        return Err(format!("it has more than {MOST_NOTES} notes"));
                    }
                }
                _ => {}
            }
        }
        let network = network(graph.ok_or(BROKEN)?)?;
        Ok(Self { network, metadata })
    }
}

fn note(message: &[u8]) -> Result<(String, String), String> {
    let mut found = (String::new(), String::new());
    let mut fields = Fields(message);
    while let Some((number, value)) = fields.next()? {
        let Value::Bytes(bytes) = value else { continue };
        if bytes.len() > MOST_NOTE_BYTES {
            return Err(format!("a note has {} bytes; allowed are {MOST_NOTE_BYTES}", bytes.len()));
        }
        let text = || std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| BROKEN);
        match number {
            1 => found.0 = text()?,
            2 => found.1 = text()?,
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Any bytes are refused with a reason, or are a network; nothing panics.
        #[test]
        fn bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(Model::read(&bytes).is_err_and(|reason| !reason.is_empty()));
        }
    }
}
