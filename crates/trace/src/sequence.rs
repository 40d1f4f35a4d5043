//! Points of a sequence plot, thinned so that they stay few: when they are too many, every second goes.

/// Points that are kept of a stream.
const POINTS_MAX: usize = 4096;

/// What a point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Sent for the first time.
    Sent,
    /// Sent again.
    Again,
    /// Dropped.
    Dropped,
}

/// A point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// When.
    pub time_ns: i64,
    /// Which.
    pub seq: i64,
}

/// Points of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Points {
    points: Vec<Point>,
    /// One of so many is kept.
    stride: u64,
    met: u64,
}

impl Default for Points {
    fn default() -> Self {
        Self { points: Vec::new(), stride: 1, met: 0 }
    }
}

impl Points {
    pub(crate) fn add(&mut self, point: Point) {
        if self.met % self.stride == 0 {
            if self.points.len() >= POINTS_MAX {
                let mut number = 0;
                self.points.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.stride *= 2;
            }
            if self.met % self.stride == 0 {
                self.points.push(point);
            }
        }
        self.met += 1;
    }

    pub(crate) fn points(&self) -> &[Point] {
        &self.points
    }

    pub(crate) fn stride(&self) -> u64 {
        self.stride
    }
}
