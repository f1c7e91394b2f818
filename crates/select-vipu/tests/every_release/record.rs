//! A struct of Slurm, laid out as in one release.
//!
//! Every byte that the test did not set is poison, and the memory behind the struct cannot be read. A wrong
//! place in the plugins' table therefore gives no plausible value.

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::host::text_at;
use crate::releases::Release;

static BACKGROUND: AtomicU8 = AtomicU8::new(0xa5);

/// Leaves bytes that the test does not set 0 from now on, like members that slurmctld has never set. This
/// makes a wrong table hard to notice.
pub fn leave_the_rest_zero() {
    BACKGROUND.store(0, Ordering::Relaxed);
}

/// One struct, which lives as long as the process.
#[derive(Clone, Copy)]
pub struct Record {
    at: *mut u8,
    kind: &'static str,
    release: &'static Release,
}

impl Record {
    /// Makes a struct right before memory that cannot be read.
    pub fn new(release: &'static Release, kind: &'static str) -> Self {
        const PAGE: usize = 4096;
        let size = release.size(kind);
        let pages = size.next_multiple_of(PAGE);
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: the memory is new, and its last page is inaccessible; the end is aligned for any struct.
        let at = unsafe {
            let memory = libc::mmap(std::ptr::null_mut(), pages + PAGE, access, flags, -1, 0);
            assert!(memory != libc::MAP_FAILED);
            assert_eq!(libc::mprotect(memory.byte_add(pages), PAGE, libc::PROT_NONE), 0);
            memory.byte_add(pages - size)
        };
        let record = Self::at(release, kind, at);
        record.poison();
        record
    }

    /// Returns the existing struct at this address.
    pub fn at(release: &'static Release, kind: &'static str, at: *mut c_void) -> Self {
        Self { at: at.cast(), kind, release }
    }

    pub fn poison(self) {
        // SAFETY: only the struct's own bytes are written.
        unsafe { self.at.write_bytes(BACKGROUND.load(Ordering::Relaxed), self.release.size(self.kind)) };
    }

    pub fn address(self) -> *mut c_void {
        self.at.cast()
    }

    pub fn has(self, member: &str) -> bool {
        self.release.member(self.kind, member).is_some()
    }

    /// Returns the address of a member.
    pub fn address_of<T>(self, member: &str) -> *mut T {
        let (kind, name) = (self.kind, &self.release.name);
        let place = self.release.member(kind, member);
        let (offset, size) = place.unwrap_or_else(|| panic!("{kind} of {name} has no {member}"));
        assert_eq!(size, size_of::<T>(), "bytes of {member} in {kind} of {name}");
        // SAFETY: the offset is inside the struct.
        unsafe { self.at.add(offset) }.cast()
    }

    pub fn put<T>(self, member: &str, value: T) {
        // SAFETY: the member has this size and is aligned as in C.
        unsafe { self.address_of::<T>(member).write(value) };
    }

    pub fn get<T: Copy>(self, member: &str) -> T {
        // SAFETY: the member has this size, is aligned as in C, and was set.
        unsafe { self.address_of::<T>(member).read() }
    }

    /// Returns the text of a `char *` member.
    pub fn text(self, member: &str) -> Option<String> {
        text_at(self.get::<*const c_char>(member))
    }
}
