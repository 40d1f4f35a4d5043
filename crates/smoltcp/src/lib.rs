//! smoltcp's TCP as a stack of Dumbbell: the end that opens the connection and sends, in virtual time, with its random
//! numbers from the seed. Its datagrams are IPv4 packets, and the other end is not here.

mod sender;
mod wire;

use dumbbell_stack::{Maker, Spec, Stack};
pub use sender::Sender;

/// Makes senders.
#[derive(Clone, Copy, Debug)]
pub struct Smoltcp;

impl Maker for Smoltcp {
    fn make(&self, spec: &Spec) -> Result<Box<dyn Stack>, String> {
        Ok(Box::new(Sender::new(spec)?))
    }
}
