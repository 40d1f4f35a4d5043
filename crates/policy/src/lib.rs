//! Learnt policies: networks of dense layers, read from ONNX and evaluated in a fixed order, so that no
//! bit depends on the processor.

mod model;
mod network;
mod onnx;
mod tensor;
mod wire;

pub use model::{Metadata, Model, MOST_BYTES};
pub use network::{Dense, Layer, Network, MOST_WIDTH};
