//! End of a connection at the receiver: the FIN of its peer, and its own (RFC 9293 §3.6; `tcp_fin`,
//! `tcp_send_fin`).

use super::receiver::Receiver;
use super::rtt::RTO_MAX_US;
use dumbbell_packet::tcp::Flags;

/// Maximum number of FIN transmissions without an application (`tcp_orphan_retries`).
const ORPHAN_RETRIES: u32 = 8;

impl Receiver {
    /// Closes this side after all data has arrived. The FIN needs no ACK of its own and ends quick
    /// ACKs: this side's FIN carries the ACK (`tcp_fin`, `inet_csk_enter_pingpong_mode`).
    pub(super) fn finish(&mut self) {
        // `tcp_sack_reset`: no duplicate is reported with the ACK of the FIN.
        self.dsack = None;
        self.sack_count = 0;
        self.ack.scheduled = true;
        self.ack.interactive = true;
        if self.snd_nxt.is_some() {
            self.finished = true; // The sender closes when the application does.
            return;
        }
        if !self.finished {
            self.finished = true;
            self.close_at = self.now;
        }
    }

    /// Schedules an immediate ACK for the last FIN (`tcp_fin` in FIN_WAIT1 and FIN_WAIT2).
    pub(super) fn closes(&mut self, we_have_closed: bool) {
        self.ack.now |= self.finished && we_have_closed;
    }

    /// Sends this side's FIN with the scheduled ACK and sets its timer: a tail loss probe, then
    /// doubling time-outs (`tcp_send_fin`, `tcp_schedule_loss_probe`, `tcp_retransmit_timer`).
    pub(super) fn send_fin(&mut self) {
        self.fins += 1;
        let probes = self.options.tcp_sack && matches!(self.options.tcp_early_retrans, 3 | 4);
        let timeout = match self.fins {
            1 if probes && self.srtt_us8 > 0 => {
                let probe_us = (self.srtt_us8 >> 2) + self.options.rto_min.as_us();
                self.tick.us(probe_us).min(self.rto)
            }
            1 if probes => self.tick.ms(1000).min(self.rto),
            fins => self.rto << (fins - 1 - u32::from(probes)),
        };
        if self.fins <= ORPHAN_RETRIES {
            let due = self.jiffy.number + timeout.min(self.tick.us(RTO_MAX_US));
            self.fin_timer.set(self.tick, self.jiffy.number, due);
        }
        let fin = Flags { fin: true, ..Flags::default() };
        self.heard_at = self.now;
        self.send(fin);
    }
}
