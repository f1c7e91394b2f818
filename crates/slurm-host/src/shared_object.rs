//! Opens shared objects, and tells where an object lies.

use std::ffi::{CStr, CString, OsStr, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::OnceLock;

use vipu_types::Words;

use crate::record::text_of_c;

/// A shared object that stays loaded for the life of the process.
#[derive(Clone, Copy, Debug)]
pub struct Object(NonNull<c_void>);

// SAFETY: a dlopen handle may be used from any thread, and it is never closed.
unsafe impl Send for Object {}
// SAFETY: dlsym, the one use of a shared handle, takes the loader's own lock.
unsafe impl Sync for Object {}

impl Object {
    /// Opens an object as Slurm's own loader does: lazily, with names that no other object sees.
    ///
    /// # Errors
    /// The loader's own words.
    pub fn open(path: &Path) -> Result<Self, Words> {
        Self::open_with(path, libc::RTLD_LAZY | libc::RTLD_LOCAL)
    }

    /// Returns the object, if this process has opened it already.
    pub fn opened(path: &Path) -> Option<Self> {
        Self::open_with(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD).ok()
    }

    fn open_with(path: &Path, mode: libc::c_int) -> Result<Self, Words> {
        let name = CString::new(path.as_os_str().as_bytes()).map_err(Words::of)?;
        // SAFETY: no lock needed; the name is NUL-terminated. The objects opened are Slurm's own selector
        // and ours, whose initialisers are those Slurm would run.
        let handle = unsafe { libc::dlopen(name.as_ptr(), mode) };
        NonNull::new(handle).map(Self).ok_or_else(last_error)
    }

    /// Returns the address of a symbol of this object.
    pub fn symbol(self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is valid for ever, the name NUL-terminated.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }
}

fn last_error() -> Words {
    // SAFETY: dlerror returns NULL or a string that lasts until the next dl call of this thread.
    unsafe { text_of_c(libc::dlerror()) }.map_or("unknown loader error".into(), Words::from)
}

/// Returns the folder of the object that holds this address.
pub fn folder_of(address: NonNull<c_void>) -> Option<PathBuf> {
    // SAFETY: dladdr fills the zeroed struct; all its members may be zero.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr takes any address; `info` lives through the call.
    let found = unsafe { libc::dladdr(address.as_ptr(), &mut info) } != 0;
    if !found || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: not NULL; the loader keeps the name as long as the object, which is for ever.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    Some(path.canonicalize().ok()?.parent()?.to_owned())
}

/// Returns the folder of the object into which this code is linked.
pub fn own_folder() -> Option<PathBuf> {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    if let Some(folder) = FOUND.get() {
        return Some(folder.clone());
    }
    let folder = folder_of(NonNull::new(own_folder as *mut c_void)?)?;
    Some(FOUND.get_or_init(|| folder).clone())
}
