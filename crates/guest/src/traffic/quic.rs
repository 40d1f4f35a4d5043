//! QUIC on the kernel: not yet.

use crate::application::{Application, Opening, TrafficApplication};
use dumbbell_model::traffic::Quic;
use std::io::{Error, Result};

impl TrafficApplication for Quic {
    fn open(&self, _opening: &Opening<'_>) -> Result<Box<dyn Application>> {
        Err(Error::other("no quic here"))
    }
}
