//! What a table says before there is a connection, in either width of pointers.

use dumbbell_model::catalogue::plugin::{Facts, LONGEST_NAME};
use dumbbell_plugin::table::{self, ABI};

/// Largest state of a connection, bytes.
const MOST_STATE_BYTES: u32 = 1 << 20;
/// Largest alignment of a state, bytes.
const MOST_ALIGN: u32 = 4096;

/// Constant part of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Name of the algorithm; `None`: the table has none.
    pub name: Option<Vec<u8>>,
    /// Bits of [`table`].
    pub flags: u32,
    /// Bytes of a connection's state.
    pub state_size: u32,
    /// Alignment of a state, bytes; 0: of a pointer.
    pub state_align: u32,
    /// True if the table has `create`.
    pub creates: bool,
    /// True if the table has `ssthresh`.
    pub reduces: bool,
    /// True if the table has `cong_avoid` or `cong_control`.
    pub grows: bool,
}

impl Described {
    /// Checks version and size, the first two numbers of every table. `own`: bytes of a table here.
    ///
    /// # Errors
    /// They are of another version.
    pub fn begins(abi: u32, size: u32, own: usize) -> Result<(), String> {
        if abi != ABI {
            return Err(format!("its table has version {abi}; this Dumbbell has {ABI}"));
        }
        if size as usize != own {
            return Err(format!("its table has {size} bytes; version {ABI} has {own}"));
        }
        Ok(())
    }

    /// Checks a table; returns the algorithm's name.
    ///
    /// # Errors
    /// A field is out of bounds, or a hook is missing.
    pub fn checked(&self) -> Result<String, String> {
        let name = self.name.clone().ok_or("its table has no name")?;
        let name = String::from_utf8(name).map_err(|_| "its name is no text".to_owned())?;
        if name.is_empty() || name.len() > LONGEST_NAME {
            let length = name.len();
            return Err(format!("its name has {length} bytes; allowed are 1 to {LONGEST_NAME}"));
        }
        if self.state_size > MOST_STATE_BYTES {
            let size = self.state_size;
            return Err(format!("its state has {size} bytes; allowed are {MOST_STATE_BYTES}"));
        }
        let align = self.state_align;
        if align > MOST_ALIGN || (align != 0 && !align.is_power_of_two()) {
            return Err(format!(
                "its state is aligned to {align}; allowed are powers of two to {MOST_ALIGN}"
            ));
        }
        let needed = [
            ("create", self.creates),
            ("ssthresh", self.reduces),
            ("cong_avoid or cong_control", self.grows),
        ];
        match needed.iter().find(|(_, given)| !given) {
            Some((name, _)) => Err(format!("its table has no {name}")),
            None => Ok(name),
        }
    }

    /// Facts for a scenario, without parameters.
    pub fn facts(&self, name: &str, sha256: &str) -> Facts {
        let flag = |bit| self.flags & bit != 0;
        Facts {
            name: name.to_owned(),
            sha256: sha256.to_owned(),
            parameters: Vec::new(),
            needs_ecn: flag(table::NEEDS_ECN),
            l4s: flag(table::L4S),
            paced_by_fq: flag(table::PACED_BY_FQ),
        }
    }
}

/// Bits that follow from the hooks of a table without `properties`.
pub fn properties(in_ack_event: bool, cong_control: bool, marked_lost: bool) -> u32 {
    let flag = |bit, set| if set { bit } else { 0 };
    flag(table::WANTS_ACKS, in_ack_event)
        | flag(table::CONTROLS_RATE, cong_control)
        | flag(table::WANTS_LOSSES, marked_lost)
}
