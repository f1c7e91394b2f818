//! Slurm's lists.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

/// `int list_for_each(List, ListForF, void *)` of every release (SAFETY.md, "Signatures").
pub(crate) type ForEach = unsafe extern "C" fn(
    *mut c_void,
    unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
    *mut c_void,
) -> c_int;

/// Returns the items of a list; `None` if there is no list, or if it cannot be walked.
///
/// # Safety
/// `list` is NULL or a list of Slurm that no other thread changes meanwhile.
pub(crate) unsafe fn items(for_each: ForEach, list: *mut c_void) -> Option<Vec<NonNull<c_void>>> {
    unsafe extern "C" fn note(item: *mut c_void, items: *mut c_void) -> c_int {
        // SAFETY: `items` is the vector below, which only this call uses.
        unsafe { &mut *items.cast::<Vec<NonNull<c_void>>>() }.extend(NonNull::new(item));
        0
    }
    let mut items = Vec::new();
    // SAFETY: a list that does not change (caller); `items` outlives the call.
    let walked = |items| unsafe { for_each(list, note, items) } >= 0;
    (!list.is_null() && walked((&raw mut items).cast())).then_some(items)
}
