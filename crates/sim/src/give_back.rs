//! Memory of long queues. With thousands of flows their sum is most of what a run takes: so a queue
//! grows by a part of its length, and gives back what it used at the end of slow start.

use std::collections::VecDeque;

/// Shorter queues grow to the double, and keep their memory.
const LEAST: usize = 32;

/// Appends an element. A long queue has a quarter of its length to spare at most: growing costs a
/// constant per element.
#[inline(always)]
pub(crate) fn push_back<T>(queue: &mut VecDeque<T>, element: T) {
    if queue.len() == queue.capacity() {
        grow(queue);
    }
    queue.push_back(element);
}

#[cold]
fn grow<T>(queue: &mut VecDeque<T>) {
    if queue.len() >= LEAST {
        queue.reserve_exact(queue.len() / 4);
    }
}

/// Frees memory of a queue of which less than half is in use.
#[inline(always)]
pub(crate) fn give_back<T>(queue: &mut VecDeque<T>) {
    if queue.len() < queue.capacity() / 2 && queue.capacity() > LEAST {
        shrink(queue);
    }
}

#[cold]
fn shrink<T>(queue: &mut VecDeque<T>) {
    queue.shrink_to((queue.len() + queue.len() / 4).max(LEAST));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_queue_takes_little_more_than_it_holds() {
        let mut queue = VecDeque::new();
        let mut moves = 0;
        let mut moved = |before: usize, queue: &VecDeque<u64>| {
            moves += usize::from(queue.capacity() != before);
        };
        for number in 0..10_000 {
            let before = queue.capacity();
            push_back(&mut queue, number);
            moved(before, &queue);
            assert!(queue.capacity() <= (queue.len() + queue.len() / 4).max(2 * LEAST));
        }
        while queue.pop_front().is_some() {
            let before = queue.capacity();
            give_back(&mut queue);
            moved(before, &queue);
            assert!(queue.capacity() <= (2 * queue.len() + 1).max(LEAST));
        }
        // Steps of a factor 5/4 up from 32, and of 5/8 down to 32: 26 and 13; and up to 32: 4.
        assert!((40..46).contains(&moves), "{moves}");
    }
}
