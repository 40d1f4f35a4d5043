//! What a hook may leave behind.

use dumbbell_cc::{Window, INFINITE_SSTHRESH};

/// Largest window, packets: 400 GB in flight.
const MOST_PACKETS: u32 = 1 << 28;

/// Refuses a number of packets that the hook `name` returned. A threshold may be infinite.
///
/// # Errors
/// It is out of bounds.
pub fn packets(name: &str, value: u32) -> Result<(), String> {
    let infinite = name == "ssthresh" && value == INFINITE_SSTHRESH;
    if infinite || (1..=MOST_PACKETS).contains(&value) {
        return Ok(());
    }
    Err(format!("{name} is {value}; allowed are 1 to {MOST_PACKETS} packets"))
}

/// Refuses a window.
///
/// # Errors
/// A field is out of bounds.
pub fn window(window: &Window) -> Result<(), String> {
    packets("cwnd", window.cwnd)?;
    if window.cwnd_clamp == 0 {
        return Err("cwnd_clamp is 0; allowed are 1 packet and more".to_owned());
    }
    if window.pacing_rate == 0 {
        return Err("pacing_rate is 0; allowed are 1 byte per second and more".to_owned());
    }
    if let Some(mtu) = window.mtu.filter(|mtu| !(128..=65_535).contains(mtu)) {
        return Err(format!("mtu is {mtu}; allowed are 128 to 65535 bytes"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_threshold_is_infinite() {
        assert_eq!(packets("ssthresh", INFINITE_SSTHRESH), Ok(()));
        assert!(packets("undo_cwnd", INFINITE_SSTHRESH).is_err());
        assert!(packets("ssthresh", INFINITE_SSTHRESH - 1).is_err());
    }

    #[test]
    fn absurd_windows_are_refused() {
        let good = Window::new(10);
        assert_eq!(window(&good), Ok(()));
        for bad in [
            Window { cwnd: 0, ..good },
            Window { cwnd: u32::MAX, ..good },
            Window { cwnd_clamp: 0, ..good },
            Window { pacing_rate: 0, ..good },
            Window { mtu: Some(20), ..good },
        ] {
            assert!(window(&bad).is_err(), "{bad:?}");
        }
    }
}
