//! Values of hooks as bytes, in the layout of `dumbbell_cc.h`. Numbers are little-endian, and padding is not
//! written.

use dumbbell_cc::{AckEvent, AckSample, CaState, Conn, LostSkb, RateSample, Window};
use dumbbell_plugin::table::RawWindow;
use std::mem::offset_of;

/// A field.
trait Field {
    /// Writes it to the front of bytes.
    fn put(self, to: &mut [u8]);
}

macro_rules! number {
    ($($kind:ty),+) => {
        $(impl Field for $kind {
            #[inline]
            fn put(self, to: &mut [u8]) {
                to[..size_of::<$kind>()].copy_from_slice(&self.to_le_bytes());
            }
        })+
    };
}
number!(u32, u64, i64);

impl Field for bool {
    #[inline]
    fn put(self, to: &mut [u8]) {
        to[0] = u8::from(self);
    }
}

impl Field for CaState {
    #[inline]
    fn put(self, to: &mut [u8]) {
        (self as u32).put(to);
    }
}

/// A value with a layout in C.
pub(crate) trait View {
    /// Writes the value.
    fn put(&self, to: &mut [u8]);
}

macro_rules! view {
    ($kind:ty { $($field:ident)+ }) => {
        impl View for $kind {
            #[inline]
            fn put(&self, to: &mut [u8]) {
                let to = &mut to[..size_of::<Self>()];
                $(self.$field.put(&mut to[offset_of!($kind, $field)..]);)+
            }
        }
    };
}

view!(Conn {
    now_us now_ms srtt_us8 min_rtt_us snd_una snd_nxt mss header_bytes in_flight sacked_out delivered
    delivered_us delivered_ce ecn lost app_limited cwnd_limited cwnd_limited_flight tlp_app_limited state
    last_send_ms prior_cwnd wstamp_ns now_ns tsval_ms tsecr_ms random
});
view!(RawWindow { pacing_rate app_limited cwnd cwnd_cnt ssthresh cwnd_clamp mtu flags });
view!(RateSample {
    prior_delivered delivered interval_us rtt_us losses acked_sacked prior_in_flight app_limited
    retransmitted ack_delayed tx_in_flight lost marked acks_tlp_retransmission
});
view!(AckSample { pkts_acked rtt_us in_flight });
view!(AckEvent { slow_path ece });
view!(LostSkb { packets tx_in_flight lost_since_sent app_limited used });

/// Reads a number of 32 bits.
pub(crate) fn word(from: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(from[at..at + 4].try_into().expect("four bytes"))
}

/// Reads a window.
pub(crate) fn window(from: &[u8]) -> Window {
    let long = |at: usize| u64::from_le_bytes(from[at..at + 8].try_into().expect("eight bytes"));
    Window::from(&RawWindow {
        pacing_rate: long(offset_of!(RawWindow, pacing_rate)),
        app_limited: long(offset_of!(RawWindow, app_limited)),
        cwnd: word(from, offset_of!(RawWindow, cwnd)),
        cwnd_cnt: word(from, offset_of!(RawWindow, cwnd_cnt)),
        ssthresh: word(from, offset_of!(RawWindow, ssthresh)),
        cwnd_clamp: word(from, offset_of!(RawWindow, cwnd_clamp)),
        mtu: word(from, offset_of!(RawWindow, mtu)),
        flags: word(from, offset_of!(RawWindow, flags)),
    })
}
