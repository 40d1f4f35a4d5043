//! The network: links, and what nodes decide between them.

pub(crate) mod ip_fragment;
pub(crate) mod link;
pub(crate) mod lookahead;
pub(crate) mod neighbour;
pub(crate) mod path;
pub(crate) mod route;

/// Puts a value at a place, behind fillers if there is a gap.
pub(crate) fn put<T>(values: &mut Vec<T>, place: u32, value: T, filler: impl Fn() -> T) {
    let place = place as usize;
    while values.len() < place {
        values.push(filler());
    }
    if place == values.len() {
        values.push(value);
    } else {
        values[place] = value;
    }
}
