//! Points of a sequence plot. When there are too many, every second point is removed.

/// Maximum number of points per stream.
const POINTS_MAX: usize = 4096;

/// PacketKind of point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// First transmission.
    Sent,
    /// Retransmission.
    Retransmitted,
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
    count: u64,
}

impl Default for Points {
    fn default() -> Self {
        Self { points: Vec::new(), stride: 1, count: 0 }
    }
}

impl Points {
    pub(crate) fn add(&mut self, point: Point) {
        if self.count % self.stride == 0 {
            if self.points.len() >= POINTS_MAX {
                let mut number = 0;
                self.points.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.stride *= 2;
            }
            if self.count % self.stride == 0 {
                self.points.push(point);
            }
        }
        self.count += 1;
    }

    pub(crate) fn points(&self) -> &[Point] {
        &self.points
    }

    pub(crate) fn stride(&self) -> u64 {
        self.stride
    }
}
