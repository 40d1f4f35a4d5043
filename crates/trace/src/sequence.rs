//! Points of a sequence plot. When there are too many, every second point is removed.

/// Maximum number of points per stream.
const POINTS_MAX: usize = 4096;

/// Kind of point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// First transmission.
    Sent,
    /// Retransmission.
    Again,
    /// Drop.
    Dropped,
}

/// A point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Time, ns.
    pub time_ns: i64,
    /// Sequence number.
    pub seq: i64,
}

/// Points of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Points {
    points: Vec<Point>,
    /// Number of events per point.
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
