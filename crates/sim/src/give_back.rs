//! Memory of queues that were long once, as all are at the end of slow start. With thousands of flows
//! the sum of the longest is several times what is ever in use together.

use std::collections::VecDeque;

/// Shorter queues keep their memory.
const LEAST: usize = 64;
/// A queue gives memory back when this part of it is in use.
const IN_USE: usize = 8;

/// Frees memory of a queue that has become much shorter than it was. Growing again costs a constant
/// per element.
#[inline]
pub(crate) fn give_back<T>(queue: &mut VecDeque<T>) {
    if queue.capacity() > LEAST && queue.len() < queue.capacity() / IN_USE {
        shrink(queue);
    }
}

#[cold]
fn shrink<T>(queue: &mut VecDeque<T>) {
    queue.shrink_to((2 * queue.len()).max(LEAST / 2));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_keeps_a_bounded_multiple_of_what_it_holds() {
        let mut queue: VecDeque<u64> = (0..10_000).collect();
        let mut moves = 0;
        while queue.pop_front().is_some() {
            let before = queue.capacity();
            give_back(&mut queue);
            moves += usize::from(queue.capacity() < before);
            assert!(queue.capacity() <= LEAST || queue.len() >= queue.capacity() / IN_USE);
        }
        // Each time at least a factor of four.
        assert!(moves <= 6, "{moves}");
    }
}
