//! Slurm's own reader of node lists such as `ipu-[001-004]`.

use std::ffi::{CStr, c_char, c_void};

use super::host::{MissingSymbol, c_string, function};

type Create = unsafe extern "C" fn(*const c_char) -> *mut c_void;
type Shift = unsafe extern "C" fn(*mut c_void) -> *mut c_char;
type Destroy = unsafe extern "C" fn(*mut c_void);

/// The names in a list.
pub(super) fn names(list: &str) -> Result<Vec<String>, MissingSymbol> {
    // SAFETY: slurm.h declares these functions with these types in every release; up to 23.02 the list is a
    // pointer with another name.
    let (create, shift, destroy) = unsafe {
        (
            function::<Create>(c"slurm_hostlist_create")?,
            function::<Shift>(c"slurm_hostlist_shift")?,
            function::<Destroy>(c"slurm_hostlist_destroy")?,
        )
    };
    let mut names = Vec::new();
    // SAFETY: a C string; the list is destroyed once, after its last use; each name is a C string from
    // malloc.
    unsafe {
        let list = create(c_string(list.as_bytes()).as_ptr());
        if list.is_null() {
            return Ok(names);
        }
        loop {
            let name = shift(list);
            if name.is_null() {
                break;
            }
            names.push(CStr::from_ptr(name).to_string_lossy().into_owned());
            libc::free(name.cast());
        }
        destroy(list);
    }
    Ok(names)
}
