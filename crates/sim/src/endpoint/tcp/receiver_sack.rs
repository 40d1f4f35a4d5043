//! SACK and DSACK blocks of the receiver (RFC 2018, RFC 2883).

use super::receiver::Receiver;
use dumbbell_packet::tcp::{SACK_BLOCKS_MAX, SACK_BLOCKS_WITH_TIMESTAMPS};
use dumbbell_packet::{SackBlock, Segment};

impl Receiver {
    /// Adds a SACK block; the most recent block comes first (RFC 2018 §4, `tcp_sack_new_ofo_skb`).
    pub(super) fn new_sack(&mut self, block: SackBlock) {
        let touching = self.sacks[..self.sack_count]
            .iter()
            .position(|held| block.start <= held.end && held.start <= block.end);
        match touching {
            Some(index) => {
                if index >= 2 {
                    self.send_compressed();
                }
                let held = &mut self.sacks[index];
                held.start = held.start.min(block.start);
                held.end = held.end.max(block.end);
                self.sacks[..=index].rotate_right(1);
                self.coalesce_sacks();
            }
            None => {
                if self.sack_count >= 2 {
                    self.send_compressed();
                }
                self.sack_count = (self.sack_count + 1).min(SACK_BLOCKS_MAX);
                self.sacks[..self.sack_count].rotate_right(1);
                self.sacks[0] = block;
            }
        }
    }

    /// Merges the first block with others that it now touches.
    pub(super) fn coalesce_sacks(&mut self) {
        let mut index = 1;
        while index < self.sack_count {
            let other = self.sacks[index];
            let first = &mut self.sacks[0];
            if first.start <= other.end && other.start <= first.end {
                first.start = first.start.min(other.start);
                first.end = first.end.max(other.end);
                self.sacks[index..self.sack_count].rotate_left(1);
                self.sack_count -= 1;
            } else {
                index += 1;
            }
        }
    }

    /// Removes blocks below `rcv_nxt`, which are acknowledged (`tcp_sack_remove`).
    pub(super) fn remove_sacks(&mut self) {
        if self.reassembly.is_empty() {
            self.sack_count = 0;
            return;
        }
        let mut kept = 0;
        for index in 0..self.sack_count {
            if self.sacks[index].start > self.rcv_nxt {
                self.sacks[kept] = self.sacks[index];
                kept += 1;
            }
        }
        self.sack_count = kept;
    }

    pub(super) fn set_dsack(&mut self, block: SackBlock) {
        if self.options.tcp_dsack {
            self.dsack = Some(match self.dsack {
                Some(held) if block.start <= held.end && held.start <= block.end => {
                    SackBlock { start: held.start.min(block.start), end: held.end.max(block.end) }
                }
                Some(held) => held, // `tcp_dsack_extend` keeps the first.
                None => block,
            });
        }
    }

    /// Writes the DSACK and then the most recent blocks, as many as fit (RFC 2883 §4).
    pub(super) fn fill_sack(&self, segment: &mut Segment) {
        if !self.options.tcp_sack {
            return;
        }
        // A data ACK takes the space of one or two blocks.
        let most = match (self.options.tcp_timestamps, self.in_use().is_some()) {
            (true, false) => SACK_BLOCKS_WITH_TIMESTAMPS,
            (true, true) => 1,
            (false, false) => SACK_BLOCKS_MAX,
            (false, true) => SACK_BLOCKS_MAX - 1,
        };
        let held = self.sacks[..self.sack_count].iter().copied();
        let blocks = self.dsack.into_iter().chain(held).take(most);
        for block in blocks {
            segment.push_sack(block);
        }
    }
}
