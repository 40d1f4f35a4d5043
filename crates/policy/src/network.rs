//! A chain of layers.

/// Most values between two layers.
pub const MOST_WIDTH: usize = 4096;

/// A layer whose outputs are weighted sums of its inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// Number of inputs.
    pub inputs: usize,
    /// Weights, the inputs of one output after those of another.
    pub weights: Vec<f64>,
    /// An addend per output.
    pub bias: Vec<f64>,
}

/// A layer.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// Weighted sums.
    Dense(Dense),
    /// Negative values become 0.
    Relu,
    /// Hyperbolic tangent.
    Tanh,
}

/// A network.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Number of inputs.
    pub inputs: usize,
    /// Number of outputs.
    pub outputs: usize,
    /// Layers, first one first.
    pub layers: Vec<Layer>,
}

impl Dense {
    /// Adds the products in the order of the inputs to the bias, each rounded.
    fn sums(&self, values: &[f64]) -> Vec<f64> {
        let rows = self.weights.chunks_exact(self.inputs);
        let sum = |(row, bias): (&[f64], &f64)| {
            row.iter().zip(values).fold(*bias, |sum, (weight, value)| sum + weight * value)
        };
        rows.zip(&self.bias).map(sum).collect()
    }
}

impl Network {
    /// Outputs for these inputs; a number per input.
    pub fn evaluate(&self, inputs: &[f64]) -> Vec<f64> {
        let mut values = inputs.to_vec();
        for layer in &self.layers {
            match layer {
                Layer::Dense(dense) => values = dense.sums(&values),
                Layer::Relu => values.iter_mut().for_each(|value| *value = value.max(0.0)),
                Layer::Tanh => values.iter_mut().for_each(|value| *value = libm::tanh(*value)),
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2-2-1 by hand: hidden values tanh(1 − 2 + 0.5) and tanh(3 + 8 − 11), output 2 tanh(−0.5) + 1.
    #[test]
    fn a_small_network_by_hand() {
        let dense = |inputs, weights: &[f64], bias: &[f64]| {
            Layer::Dense(Dense { inputs, weights: weights.to_vec(), bias: bias.to_vec() })
        };
        let layers = vec![
            dense(2, &[1.0, -1.0, 3.0, 4.0], &[0.5, -11.0]),
            Layer::Tanh,
            dense(2, &[2.0, 7.0], &[1.0]),
            Layer::Relu,
        ];
        let network = Network { inputs: 2, outputs: 1, layers };
        // tanh(0.5) = 0.462117157260009758502…
        let found = network.evaluate(&[1.0, 2.0]);
        assert!((found[0] - (1.0 - 2.0 * 0.462_117_157_260_009_76)).abs() < 1e-15, "{found:?}");
        assert_eq!(network.evaluate(&[-9.0, 2.0]).len(), 1);
    }

    /// 0.1 + 1e17 − 1e17 is 0 from left to right, and 0.1 in another order.
    #[test]
    fn products_are_added_in_the_order_of_the_inputs() {
        let dense = Dense { inputs: 2, weights: vec![1.0, -1.0], bias: vec![0.1] };
        assert_eq!(dense.sums(&[1e17, 1e17]), [0.0]);
    }
}
