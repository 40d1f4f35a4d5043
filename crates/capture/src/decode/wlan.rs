//! IEEE 802.11 data frames, and the radiotap header before them.

use super::link::Next;
use super::{be16, Layer, Skipped};

/// Maximum number of presence words in a radiotap header.
const PRESENT_MAX: usize = 32;
/// Values of radiotap's flags field.
const PADDED: u8 = 0x20;
const BAD_CHECKSUM: u8 = 0x40;

/// Decodes a radiotap header, which contains its length and the padding flag.
pub(super) fn radiotap(bytes: &[u8]) -> Next {
    let length = usize::from(be16(bytes, 2).ok_or(Skipped::CUT)?.swap_bytes());
    let header = bytes.get(..length).ok_or(Skipped::CUT)?;
    let flags = flags(header).unwrap_or(0);
    if flags & BAD_CHECKSUM != 0 {
        return Err(Skipped::Named("802.11 damaged (checksum)"));
    }
    Ok((Layer::Wlan { padded: flags & PADDED != 0 }, length.max(8)))
}

fn flags(header: &[u8]) -> Option<u8> {
    let words = header.get(4..)?.chunks_exact(4).take(PRESENT_MAX);
    let more = words.clone().take_while(|word| word[3] & 0x80 != 0).count();
    let [stamped, flagged] = [1, 2].map(|bit| header[4] & bit != 0);
    let mut at = 4 + 4 * (more + 1);
    if stamped {
        at = at.next_multiple_of(8) + 8;
    }
    header.get(at).copied().filter(|_| flagged)
}

/// Decodes the header of an 802.11 frame.
pub(super) fn header(bytes: &[u8], padded: bool) -> Next {
    let &[kind, flags] = bytes.first_chunk().ok_or(Skipped::CUT)?;
    let (quality, order) = (kind & 0x80 != 0, flags & 0x80 != 0);
    let named = |name| Err(Skipped::Named(name));
    match kind & 0x0f {
        0x00 => return named("802.11 management"),
        0x04 => return named("802.11 control"),
        0x08 if kind & 0x40 != 0 => return named("802.11 null data"),
        0x08 if flags & 0x40 != 0 => return named("802.11 encrypted data"),
        0x08 => {}
        _ => return named("802.11 of another kind"),
    }
    let number = bytes.get(22).ok_or(Skipped::CUT)? & 15;
    if number > 0 {
        return named("802.11 fragments after the first");
    }
    let mut length = if flags & 3 == 3 { 30 } else { 24 };
    let amsdu = quality && bytes.get(length).ok_or(Skipped::CUT)? & 0x80 != 0;
    if quality {
        length += if order { 6 } else { 2 };
    }
    if padded {
        length = length.next_multiple_of(4);
    }
    Ok((if amsdu { Layer::Amsdu } else { Layer::Llc }, length))
}

/// Decodes the first packet of an A-MSDU: addresses, length. Sets `more` if others follow.
pub(super) fn first_of_amsdu(bytes: &[u8], more: &mut bool) -> Next {
    let length = usize::from(be16(bytes, 12).ok_or(Skipped::CUT)?);
    // The last packet may be followed by a checksum.
    *more |= bytes.len() > (14 + length).next_multiple_of(4) + 14;
    Ok((Layer::Llc, 14))
}
