//! C strings, in both directions.

use std::ffi::{CStr, CString, c_char};

/// Converts Rust text to a C string. A NUL byte inside ends the string early instead of failing.
pub fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// Returns the text of a C string, or `None` for NULL. Bytes that are not UTF-8 are replaced.
///
/// # Safety
/// `text` is NULL or points to a NUL-terminated string that does not change during the call.
pub unsafe fn from_c(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not NULL; NUL-terminated and unchanged by the caller's promise.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
