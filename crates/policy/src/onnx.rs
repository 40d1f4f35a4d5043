//! A graph of ONNX as a chain of layers (`GraphProto`, `NodeProto`; ONNX operators Gemm, `MatMul`, Add,
//! Relu, Tanh).

use crate::network::{Dense, Layer, Network};
use crate::tensor::Tensor;
use crate::wire::{shown, Fields, Value};

/// Most nodes, weights and inputs of a graph, and most inputs of a node.
const MOST: usize = 256;
/// Most weights of a network: a tensor may be used by several nodes.
const MOST_WEIGHTS: usize = 4 << 20;
const ALLOWED: &str = "allowed: Gemm, MatMul with Add, Relu, Tanh";

struct Node<'a> {
    operator: &'a [u8],
    inputs: Vec<&'a [u8]>,
    output: &'a [u8],
    /// Attributes: name, float, integer.
    attributes: Vec<(&'a [u8], f32, u64)>,
}

fn push<T>(list: &mut Vec<T>, one: T, what: &str) -> Result<(), String> {
    if list.len() == MOST {
        return Err(format!("it has more than {MOST} {what}"));
    }
    list.push(one);
    Ok(())
}

impl<'a> Node<'a> {
    fn read(message: &'a [u8]) -> Result<Self, String> {
        let nothing = &message[..0];
        let mut node =
            Node { operator: nothing, inputs: Vec::new(), output: nothing, attributes: Vec::new() };
        let mut fields = Fields(message);
        while let Some((number, value)) = fields.next()? {
            let Value::Bytes(bytes) = value else { continue };
            match number {
                1 => push(&mut node.inputs, bytes, "inputs of a node")?,
                2 => node.output = bytes,
                4 => node.operator = bytes,
                5 => push(&mut node.attributes, attribute(bytes)?, "attributes of a node")?,
                7 if !bytes.is_empty() && bytes != b"ai.onnx" => {
                    return Err(format!("operator of domain {}; {ALLOWED}", shown(bytes)));
                }
                _ => {}
            }
        }
        Ok(node)
    }

    /// Refuses attributes that change what the operator computes. Returns `transB`.
    fn transposed(&self) -> Result<bool, String> {
        let mut transposed = false;
        for (name, float, integer) in &self.attributes {
            let good = match *name {
                b"alpha" | b"beta" => *float == 1.0,
                b"transA" => *integer == 0,
                b"transB" => {
                    transposed = *integer == 1;
                    *integer <= 1
                }
                _ => false,
            };
            if !good {
                let operator = shown(self.operator);
                return Err(format!("{operator} with attribute {} cannot be run", shown(name)));
            }
        }
        Ok(transposed)
    }
}

fn attribute(message: &[u8]) -> Result<(&[u8], f32, u64), String> {
    let mut found = (&message[..0], 0.0, 0);
    let mut fields = Fields(message);
    while let Some(field) = fields.next()? {
        match field {
            (1, Value::Bytes(name)) => found.0 = name,
            (2, Value::Word(word)) => found.1 = f32::from_bits(word),
            (3, Value::Number(number)) => found.2 = number,
            _ => {}
        }
    }
    Ok(found)
}

/// A graph while it is read.
#[derive(Default)]
struct Graph<'a> {
    nodes: Vec<Node<'a>>,
    tensors: Vec<Tensor<'a>>,
    inputs: Vec<&'a [u8]>,
    outputs: Vec<&'a [u8]>,
}

/// Name of a `ValueInfoProto`.
fn name(message: &[u8]) -> Result<&[u8], String> {
    let mut fields = Fields(message);
    while let Some(field) = fields.next()? {
        if let (1, Value::Bytes(name)) = field {
            return Ok(name);
        }
    }
    Ok(&message[..0])
}

impl<'a> Graph<'a> {
    fn read(message: &'a [u8]) -> Result<Self, String> {
        let mut graph = Self::default();
        let mut fields = Fields(message);
        while let Some((number, value)) = fields.next()? {
            let Value::Bytes(bytes) = value else { continue };
            match number {
                1 => push(&mut graph.nodes, Node::read(bytes)?, "nodes")?,
                5 => push(&mut graph.tensors, Tensor::read(bytes)?, "tensors of weights")?,
                11 => push(&mut graph.inputs, name(bytes)?, "inputs")?,
                12 => push(&mut graph.outputs, name(bytes)?, "outputs")?,
                _ => {}
            }
        }
        Ok(graph)
    }

    fn tensor(&self, name: &[u8]) -> Option<&Tensor<'a>> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }
}

/// A chain while it is built: values between the layers that are known so far.
struct Chain {
    layers: Vec<Layer>,
    inputs: Option<usize>,
    width: Option<usize>,
    weights: usize,
}

impl Chain {
    /// Adds a dense layer. `across`: the weights are outputs × inputs.
    fn dense(&mut self, weights: &Tensor<'_>, across: bool) -> Result<(), String> {
        let [rows, columns] = weights.shape[..] else {
            return Err(format!("weights {} have no 2 dimensions", shown(weights.name)));
        };
        let (inputs, outputs) = if across { (columns, rows) } else { (rows, columns) };
        if let Some(width) = self.width.filter(|width| *width != inputs) {
            let name = shown(weights.name);
            return Err(format!(
                "weights {name} are for {inputs} values; the layer before has {width}"
            ));
        }
        self.weights += inputs * outputs;
        if self.weights > MOST_WEIGHTS {
            return Err(format!("it has more than {MOST_WEIGHTS} weights"));
        }
        let place = |output: usize, input: usize| {
            if across {
                output * inputs + input
            } else {
                input * outputs + output
            }
        };
        let ordered = (0..outputs)
            .flat_map(|output| (0..inputs).map(move |input| (output, input)))
            .map(|(output, input)| weights.values[place(output, input)])
            .collect();
        self.inputs = self.inputs.or(Some(inputs));
        self.width = Some(outputs);
        let bias = vec![0.0; outputs];
        self.layers.push(Layer::Dense(Dense { inputs, weights: ordered, bias }));
        Ok(())
    }

    /// Adds a bias to the dense layer at the end.
    fn bias(&mut self, bias: &Tensor<'_>) -> Result<(), String> {
        let Some(Layer::Dense(dense)) = self.layers.last_mut() else {
            return Err("an Add that follows no MatMul or Gemm cannot be run".to_owned());
        };
        let (found, asked) = (bias.values.len(), dense.bias.len());
        let row = bias.shape.len() < 2 || bias.shape[0] == 1;
        if found != asked || !row {
            let name = shown(bias.name);
            return Err(format!("bias {name} has {found} values; the layer has {asked}"));
        }
        dense.bias.iter_mut().zip(&bias.values).for_each(|(sum, one)| *sum += one);
        Ok(())
    }
}

/// Reads a graph as a chain of layers.
pub(crate) fn network(message: &[u8]) -> Result<Network, String> {
    let graph = Graph::read(message)?;
    let mut given = graph.inputs.iter().filter(|name| graph.tensor(name).is_none());
    let (Some(input), None, [output]) = (given.next(), given.next(), &graph.outputs[..]) else {
        return Err("its graph needs one input and one output".to_owned());
    };
    let mut at: &[u8] = input;
    let mut chain = Chain { layers: Vec::new(), inputs: None, width: None, weights: 0 };
    for (number, node) in graph.nodes.iter().enumerate() {
        step(&graph, node, at, &mut chain)
            .map_err(|what| format!("node {}: {what}", number + 1))?;
        at = node.output;
    }
    if at != *output {
        return Err(format!("its last node gives {}; the output is {}", shown(at), shown(output)));
    }
    match (chain.inputs, chain.width) {
        (Some(inputs), Some(outputs)) => Ok(Network { inputs, outputs, layers: chain.layers }),
        _ => Err("it has no weights".to_owned()),
    }
}

/// Adds a node that reads the value `at`.
fn step(graph: &Graph<'_>, node: &Node<'_>, at: &[u8], chain: &mut Chain) -> Result<(), String> {
    let mut inputs = node.inputs.clone();
    if node.operator == b"Add" && inputs.last() == Some(&at) {
        inputs.reverse();
    }
    let weights = |place: usize| {
        let name = inputs.get(place).copied().unwrap_or_default();
        graph.tensor(name).ok_or_else(|| format!("there are no weights {}", shown(name)))
    };
    let most = match node.operator {
        b"Gemm" => 3,
        b"MatMul" | b"Add" => 2,
        b"Relu" | b"Tanh" => 1,
        other => return Err(format!("operator {}; {ALLOWED}", shown(other))),
    };
    if inputs.first() != Some(&at) || inputs.len() > most {
        return Err(format!("the network is no chain of layers at {}", shown(node.operator)));
    }
    let across = node.transposed()?;
    match node.operator {
        b"Gemm" => {
            chain.dense(weights(1)?, across)?;
            if inputs.len() == 3 {
                chain.bias(weights(2)?)?;
            }
        }
        b"MatMul" => chain.dense(weights(1)?, false)?,
        b"Add" => chain.bias(weights(1)?)?,
        b"Relu" => chain.layers.push(Layer::Relu),
        _ => chain.layers.push(Layer::Tanh),
    }
    Ok(())
}
