//! Lists of queues to serve: each queue is in one list at most, and moves in constant time.

/// A list of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    New,
    Old,
    Decaying,
}

/// Neighbours in a list.
#[derive(Clone, Copy, Debug)]
struct Links {
    before: u16,
    after: u16,
}

/// All lists over queues of numbers below `queues`. A list is a ring through its head.
#[derive(Debug)]
pub(super) struct Lists {
    links: Vec<Links>,
    queues: u16,
}

impl Lists {
    pub(super) fn new(queues: u16) -> Self {
        let links = (0..queues + 3).map(|own| Links { before: own, after: own }).collect();
        Self { links, queues }
    }

    fn head(&self, list: List) -> u16 {
        self.queues + list as u16
    }

    /// First queue of a list.
    pub(super) fn first(&self, list: List) -> Option<usize> {
        let after = self.links[usize::from(self.head(list))].after;
        (after < self.queues).then_some(usize::from(after))
    }

    /// Queue behind another one in its list.
    pub(super) fn next(&self, queue: usize) -> Option<usize> {
        let after = self.links[queue].after;
        (after < self.queues).then_some(usize::from(after))
    }

    /// Takes a queue out of its list, if it is in one.
    pub(super) fn remove(&mut self, queue: usize) {
        let Links { before, after } = self.links[queue];
        self.links[usize::from(before)].after = after;
        self.links[usize::from(after)].before = before;
        let own = queue as u16;
        self.links[queue] = Links { before: own, after: own };
    }

    /// Moves a queue to the end of a list.
    pub(super) fn append(&mut self, list: List, queue: usize) {
        self.remove(queue);
        let head = self.head(list);
        let last = self.links[usize::from(head)].before;
        let own = queue as u16;
        self.links[queue] = Links { before: last, after: head };
        self.links[usize::from(last)].after = own;
        self.links[usize::from(head)].before = own;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_in_one_list_and_moves_to_its_end() {
        let mut lists = Lists::new(4);
        let all = |lists: &Lists, list| {
            std::iter::successors(lists.first(list), |&one| lists.next(one)).collect::<Vec<_>>()
        };
        for queue in [2, 0, 3] {
            lists.append(List::New, queue);
        }
        lists.append(List::Old, 0);
        lists.append(List::New, 2);
        assert_eq!((all(&lists, List::New), all(&lists, List::Old)), (vec![3, 2], vec![0]));
        lists.remove(3);
        lists.remove(3);
        assert_eq!(all(&lists, List::New), [2]);
        assert!(all(&lists, List::Decaying).is_empty());
    }
}
