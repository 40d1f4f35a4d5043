//! Weights in the file (`TensorProto`).

use crate::network::MOST_WIDTH;
use crate::wire::{shown, Fields, Value};

/// `TensorProto.DataType.FLOAT`.
const FLOAT: u64 = 1;

/// Weights with their name.
#[derive(Clone, Debug)]
pub(crate) struct Tensor<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f64>,
}

impl<'a> Tensor<'a> {
    /// Reads a tensor of 32-bit floats with at most two dimensions.
    pub(crate) fn read(message: &'a [u8]) -> Result<Self, String> {
        let (mut name, mut dims, mut kind) = (&message[..0], Vec::new(), 0);
        let (mut raw, mut packed, mut single) = (None, None, Vec::new());
        let mut fields = Fields(message);
        while let Some(field) = fields.next()? {
            match field {
                (1, Value::Number(dim)) => dims.push(dim),
                (1, Value::Bytes(bytes)) => {
                    let mut list = Fields(bytes);
                    while !list.0.is_empty() && dims.len() < 3 {
                        dims.push(list.number()?);
                    }
                }
                (2, Value::Number(number)) => kind = number,
                (4, Value::Bytes(bytes)) => packed = Some(bytes),
                (4, Value::Word(word)) => single.push(f32::from_bits(word)),
                (8, Value::Bytes(bytes)) => name = bytes,
                (9, Value::Bytes(bytes)) => raw = Some(bytes),
                (14, Value::Number(1..)) => {
                    return Err(format!("weights {} are in another file", shown(name)));
                }
                _ => {}
            }
            if dims.len() > 2 {
                return Err(format!("weights {} have more than 2 dimensions", shown(name)));
            }
        }
        if kind != FLOAT {
            return Err(format!(
                "weights {} have data type {kind}; allowed: 1 (float)",
                shown(name)
            ));
        }
        let values: Vec<f64> = match raw.or(packed) {
            Some(bytes) if bytes.len() % 4 != 0 => {
                return Err(format!("weights {} have {} bytes", shown(name), bytes.len()));
            }
            Some(bytes) => bytes
                .chunks_exact(4)
                .map(|four| f64::from(f32::from_le_bytes([four[0], four[1], four[2], four[3]])))
                .collect(),
            None => single.into_iter().map(f64::from).collect(),
        };
        Self { name, shape: shape(name, &dims, values.len())?, values }.finite()
    }

    fn finite(self) -> Result<Self, String> {
        match self.values.iter().position(|value| !value.is_finite()) {
            Some(at) => Err(format!("weight {at} of {} is {}", shown(self.name), self.values[at])),
            None => Ok(self),
        }
    }
}

/// The dimensions, which agree with the number of values.
fn shape(name: &[u8], dims: &[u64], values: usize) -> Result<Vec<usize>, String> {
    let most = MOST_WIDTH as u64;
    if let Some(dim) = dims.iter().find(|dim| !(1..=most).contains(*dim)) {
        let name = shown(name);
        return Err(format!("weights {name} have a dimension of {dim}; allowed: 1 to {most}"));
    }
    let asked: u64 = dims.iter().product();
    if asked != values as u64 {
        let (name, by) = (shown(name), dims.iter().map(u64::to_string).collect::<Vec<_>>());
        return Err(format!("weights {name} have {values} values for a shape of {}", by.join("×")));
    }
    Ok(dims.iter().map(|dim| *dim as usize).collect())
}
