//! A struct of Slurm's, laid out as a release has it.
//!
//! Every byte that the test did not put there is poison, and nothing can be read behind its end: a wrong
//! place in the plugins' table gives no plausible value.

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::host::text_at;
use crate::releases::Release;

static BACKGROUND: AtomicU8 = AtomicU8::new(0xa5);

/// From now on what the test did not put there is 0, as what slurmctld has never set: a hard test for who
/// looks for a wrong table.
pub fn leave_the_rest_zero() {
    BACKGROUND.store(0, Ordering::Relaxed);
}

/// One struct. It stays for the life of the process.
#[derive(Clone, Copy)]
pub struct Record {
    at: *mut u8,
    kind: &'static str,
    release: &'static Release,
}

impl Record {
    /// A new one, right before memory that cannot be read.
    pub fn new(release: &'static Release, kind: &'static str) -> Self {
        const PAGE: usize = 4096;
        let size = release.size(kind);
        let pages = size.next_multiple_of(PAGE);
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory, whose last page is locked away; its end is aligned for any struct.
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

    /// One that lies there already.
    pub fn at(release: &'static Release, kind: &'static str, at: *mut c_void) -> Self {
        Self { at: at.cast(), kind, release }
    }

    pub fn poison(self) {
        // SAFETY: the struct's own bytes.
        unsafe { self.at.write_bytes(BACKGROUND.load(Ordering::Relaxed), self.release.size(self.kind)) };
    }

    pub fn address(self) -> *mut c_void {
        self.at.cast()
    }

    pub fn has(self, member: &str) -> bool {
        self.release.member(self.kind, member).is_some()
    }

    fn member<T>(self, member: &str) -> *mut T {
        let (kind, name) = (self.kind, &self.release.name);
        let place = self.release.member(kind, member);
        let (offset, size) = place.unwrap_or_else(|| panic!("{kind} of {name} has no {member}"));
        assert_eq!(size, size_of::<T>(), "bytes of {member} in {kind} of {name}");
        // SAFETY: inside the struct.
        unsafe { self.at.add(offset) }.cast()
    }

    /// Where a member is.
    pub fn address_of<T>(self, member: &str) -> *mut T {
        self.member(member)
    }

    pub fn put<T>(self, member: &str, value: T) {
        // SAFETY: a member of this size, aligned as in C.
        unsafe { self.member::<T>(member).write(value) };
    }

    pub fn get<T: Copy>(self, member: &str) -> T {
        // SAFETY: a member of this size that was put there, aligned as in C.
        unsafe { self.member::<T>(member).read() }
    }

    /// What a `char *` member says.
    pub fn text(self, member: &str) -> Option<String> {
        text_at(self.get::<*const c_char>(member))
    }
}
