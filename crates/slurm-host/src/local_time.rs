//! Times in the form that Slurm's users know.

use std::ffi::c_char;
use std::mem::MaybeUninit;

/// Returns a time in seconds since the Unix epoch as Slurm's commands show it: local, `2026-11-21T12:34:56`.
pub fn text(seconds: i64) -> String {
    let mut parts = MaybeUninit::<libc::tm>::uninit();
    // SAFETY: no lock needed; localtime_r reads `seconds` and fills in `parts`, which is used only after
    // success.
    if unsafe { libc::localtime_r(&raw const seconds, parts.as_mut_ptr()) }.is_null() {
        return format!("@{seconds}");
    }
    let mut text = [0_u8; 64];
    let form = c"%Y-%m-%dT%H:%M:%S";
    // SAFETY: localtime_r filled in the parts; strftime writes at most as many bytes as `text` has.
    let length = unsafe {
        libc::strftime(text.as_mut_ptr().cast::<c_char>(), text.len(), form.as_ptr(), parts.as_ptr())
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
