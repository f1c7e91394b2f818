//! Times, and their form that Slurm's users know.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the time in seconds since the Unix epoch.
pub fn now() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX)
}

/// The parts of a local time. None if it has none.
fn parts(seconds: i64) -> Option<libc::tm> {
    let mut parts = MaybeUninit::<libc::tm>::uninit();
    // SAFETY: no lock needed; localtime_r reads `seconds` and fills in `parts`.
    let is_known = !unsafe { libc::localtime_r(&raw const seconds, parts.as_mut_ptr()) }.is_null();
    // SAFETY: localtime_r filled in the parts.
    is_known.then(|| unsafe { parts.assume_init() })
}

/// The local time less UTC at a time in seconds since the Unix epoch, in seconds.
pub fn utc_offset(seconds: i64) -> i64 {
    parts(seconds).map_or(0, |parts| parts.tm_gmtoff)
}

/// Returns a time in seconds since the Unix epoch as Slurm's commands show it: local, `2026-11-21T12:34:56`.
pub fn text(seconds: i64) -> String {
    let Some(parts) = parts(seconds) else { return format!("@{seconds}") };
    let mut text = [0_u8; 64];
    let form = c"%Y-%m-%dT%H:%M:%S";
    // SAFETY: strftime reads `parts` and writes at most as many bytes as `text` has.
    let length = unsafe {
        libc::strftime(text.as_mut_ptr().cast::<c_char>(), text.len(), form.as_ptr(), &raw const parts)
    };
    String::from_utf8_lossy(&text[..length]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_time_is_written_as_slurm_does() {
        let text = text(1_800_000_000);
        let zeros: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(zeros, "0000-00-00T00:00:00", "{text}");
        assert!(text.starts_with("2027-01-1"), "{text}");
    }
}
