//! Memory of packets (`skb->truesize`), which CAKE limits, as Linux 6.12's senders allocate them.

use crate::arena::{Arena, Handle};
use dumbbell_model::queue::Cake;
use dumbbell_packet::frame::ETHERNET_HEADER_BYTES;
use dumbbell_packet::Body;

/// `struct sk_buff`.
const SKB_BYTES: u32 = 256;
/// A head from `skb_small_head_cache` (since 6.3), with `skb_shared_info`. TCP's headers have one; its data lies in pages
/// (`tcp_stream_alloc_skb`).
const SMALL_HEAD_BYTES: u32 = 704;
/// A pure ACK (`skb_set_tcp_pure_ack`).
const PURE_ACK_BYTES: u32 = 2;
/// Headroom of the link and slack (`__ip_append_data`), and `skb_shared_info`.
const ROOM_BYTES: u32 = 16 + 15;
const SHARED_BYTES: u32 = 320;
const CACHE_LINE_BYTES: u32 = 64;
/// Frames that may wait (`sch->limit`).
const LIMIT_FRAMES: u64 = 10_240;
/// Least limit at a rate.
const LEAST_BYTES: u64 = 4 << 20;

/// Memory of a packet.
pub(super) fn of(packet: Handle, arena: &Arena) -> u32 {
    match arena.find(packet).map(|packet| &packet.body) {
        Some(Body::Tcp(segment)) => {
            let pure = segment.payload_bytes == 0 && !segment.flags.is_syn() && !segment.flags.fin;
            if pure {
                PURE_ACK_BYTES
            } else {
                SKB_BYTES + SMALL_HEAD_BYTES + segment.payload_bytes
            }
        }
        _ => {
            let data = packet.frame_bytes.saturating_sub(ETHERNET_HEADER_BYTES) + ROOM_BYTES;
            let buffer = data.next_multiple_of(CACHE_LINE_BYTES) + SHARED_BYTES;
            let small = buffer <= SMALL_HEAD_BYTES;
            SKB_BYTES + if small { SMALL_HEAD_BYTES } else { buffer.next_power_of_two() }
        }
    }
}

/// Memory that packets may take (`cake_reconfigure`).
pub(super) fn limit(spec: &Cake, bytes_per_s: u64, frame_bytes: u32) -> u64 {
    let frames = LIMIT_FRAMES * u64::from(frame_bytes);
    match (u64::from(spec.memlimit_bytes), bytes_per_s) {
        (0, 0) => frames,
        (0, rate) => {
            let four_bdp = (rate.wrapping_mul(spec.rtt.as_us()) / 250_000) as u32;
            u64::from(four_bdp).max(LEAST_BYTES).min(frames)
        }
        (given, _) => given,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::test_packets::queued;
    use super::*;
    use dumbbell_model::{Rate, Time};
    use dumbbell_packet::Segment;

    /// `memory used` of `tc -s qdisc` over the packets in the queue (6.1.192), and the packets that fit into 100 KiB
    /// (6.12.117: 106 of up to 353 bytes, 80 of up to 542, 44 of up to 1442).
    #[test]
    fn packets_take_what_the_kernel_counts() {
        let frames = [(142, 960), (353, 960), (372, 1280), (542, 1280), (1042, 2304), (1442, 2304)];
        for (frame, bytes) in frames {
            assert_eq!(of(queued(0, 0, frame, Time::ZERO).packet, &Arena::EMPTY), bytes, "{frame}");
        }
        let mut arena = Arena::default();
        let mut tcp = |payload_bytes| {
            let segment = Segment { payload_bytes, timestamps: true, ..Segment::default() };
            let packet = arena.insert_segment(0, true, 0, &segment);
            of(packet, &arena)
        };
        assert_eq!((tcp(1448), tcp(0)), (2408, 2));
    }

    #[test]
    fn the_limit_is_four_bdp_within_bounds() {
        let limited = |bps, memlimit_bytes| {
            let bandwidth = Rate::from_bps(bps);
            let spec = Cake { bandwidth, memlimit_bytes, ..super::super::tests::spec() };
            limit(&spec, bps / 8, 1514)
        };
        assert_eq!(limited(10_000_000, 0), 4 << 20);
        assert_eq!(limited(200_000_000, 0), 10_000_000);
        assert_eq!(limited(1_000_000_000, 0), 10_240 * 1514);
        assert_eq!(limited(0, 0), 10_240 * 1514);
        assert_eq!(limited(10_000_000, 30_000_000), 30_000_000);
    }
}
