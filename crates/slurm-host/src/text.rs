//! C strings, in both directions.

use std::ffi::{CStr, CString, c_char};

/// Rust text as a C string; a NUL byte inside ends it early rather than failing.
#[must_use]
pub fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// What a C string pointer says, or `None` for NULL. Bytes that are no UTF-8 are replaced.
///
/// # Safety
/// `text` is NULL or points to a NUL-terminated string that nobody changes during the call.
pub unsafe fn from_c(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not NULL; NUL-terminated and unchanged by the caller's promise.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
