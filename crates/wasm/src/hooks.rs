//! The table of a module, and the functions that it names.

use dumbbell_plugins::{properties, Described};
use wasmtime::{Ref, Store, Table, TypedFunc};

/// Words in front of the functions: abi, size, name, flags, state_size, state_align, reserved.
pub(crate) const FRONT: usize = 7;

macro_rules! hooks {
    ($($(#[$about:meta])* $name:ident: $inputs:ty => $output:ty,)+) => {
        /// Functions of a table, in its order.
        pub(crate) struct Hooks {
            $($(#[$about])* pub(crate) $name: Option<TypedFunc<$inputs, $output>>,)+
        }

        const NAMES: &[&str] = &[$(stringify!($name)),+];

        impl Hooks {
            /// Finds the functions that a table names by their numbers.
            ///
            /// # Errors
            /// A number is that of no function, or of another kind of function.
            pub(crate) fn find<T>(
                store: &mut Store<T>,
                functions: &Table,
                numbers: &[u32; NAMES.len()],
            ) -> Result<Self, String> {
                let mut numbers = numbers.iter();
                Ok(Self {
                    $($name: match numbers.next() {
                        None | Some(0) => None,
                        Some(number) => {
                            let name = stringify!($name);
                            let Some(Ref::Func(Some(found))) =
                                functions.get(&mut *store, u64::from(*number))
                            else {
                                return Err(format!("its {name} is no function"));
                            };
                            let typed = found.typed(&*store);
                            Some(typed.map_err(|_| {
                                format!("its {name} has other arguments than in dumbbell_cc.h")
                            })?)
                        }
                    },)+
                })
            }
        }
    };
}

hooks! {
    create: (u32, u32) => u32,
    #[expect(dead_code, reason = "the memory of an instance goes as a whole")]
    release: u32 => (),
    error: (u32, u32, u32) => (),
    properties: u32 => u32,
    init: (u32, u32, u32) => u32,
    syn_acked: (u32, u32) => u32,
    ssthresh: (u32, u32, u32, u32) => u32,
    cong_avoid: (u32, u32, u32, u32) => u32,
    cong_control: (u32, u32, u32, u32) => u32,
    set_state: (u32, u32, u32, u32) => u32,
    cwnd_event: (u32, u32, u32, u32) => u32,
    in_ack_event: (u32, u32, u32, u32) => u32,
    pkts_acked: (u32, u32, u32, u32) => u32,
    marked_lost: (u32, u32, u32, u32) => u32,
    undo_cwnd: (u32, u32, u32, u32) => u32,
    growth_limit: (u32, u32, u32) => u32,
    tso_segs: (u32, u32, u32) => u32,
    min_tso_segs: (u32, u32) => u32,
    pacing_ratio: u32 => u32,
    sndbuf_expand: u32 => u32,
    min_cwnd: (u32, u32) => u32,
    phase: u32 => u32,
}

/// Bytes of a table: words of 32 bits.
pub(crate) const TABLE_BYTES: usize = (FRONT + NAMES.len()) * 4;

/// A table as it lies in memory.
pub(crate) struct RawTable([u32; FRONT + NAMES.len()]);

impl RawTable {
    /// Reads the bytes of a table.
    pub(crate) fn read(bytes: &[u8; TABLE_BYTES]) -> Self {
        let mut words = [0; FRONT + NAMES.len()];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        Self(words)
    }

    /// Address of the name.
    pub(crate) fn name(&self) -> u32 {
        self.0[2]
    }

    /// Numbers of the functions.
    pub(crate) fn numbers(&self) -> &[u32; NAMES.len()] {
        self.0.last_chunk().expect("a table has them behind its front")
    }

    /// The constant part.
    pub(crate) fn described(&self, name: Option<Vec<u8>>) -> Described {
        let has = |name| {
            let at = NAMES.iter().position(|one| *one == name);
            at.is_some_and(|at| self.0[FRONT + at] != 0)
        };
        Described {
            name,
            flags: self.0[3],
            state_size: self.0[4],
            state_align: self.0[5],
            creates: has("create"),
            reduces: has("ssthresh"),
            grows: has("cong_avoid") || has("cong_control"),
        }
    }
}

impl Hooks {
    /// Bits that follow from the hooks.
    pub(crate) fn flags(&self) -> u32 {
        properties(
            self.in_ack_event.is_some(),
            self.cong_control.is_some(),
            self.marked_lost.is_some(),
        )
    }
}
