//! Reads at addresses that may be wrong.

use std::cell::Cell;
use std::ffi::c_void;
use std::io::Error;
use std::sync::Once;

use crate::log;

/// Reads through the kernel, which answers with an error for a bad address, where a direct read would end the process.
/// It needs no file descriptor, because slurmctld may have none left.
#[derive(Default)]
pub(crate) struct Probe {
    /// Whether the kernel refused to look for another reason than a bad address.
    is_blind: Cell<bool>,
}

/// Looks at memory. None: the kernel did not look, so nothing is known. The next call looks again.
pub(crate) fn look<T>(look: impl FnOnce(&Probe) -> T) -> Option<T> {
    let probe = Probe::default();
    let found = look(&probe);
    (!probe.is_blind.get()).then_some(found)
}

impl Probe {
    /// Copies from any address of this process. Returns the number of bytes that could be read.
    pub(crate) fn copy(&self, from: *const c_void, to: &mut [u8]) -> usize {
        static TOLD: Once = Once::new();
        let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
        let remote = libc::iovec { iov_base: from.cast_mut(), iov_len: to.len() };
        // SAFETY: the kernel writes to `to` at most. It checks `from`, and answers with an error if the address is bad.
        let read =
            unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
        usize::try_from(read).unwrap_or_else(|_| {
            let why = Error::last_os_error();
            if why.raw_os_error() != Some(libc::EFAULT) {
                self.is_blind.set(true);
                TOLD.call_once(|| {
                    log::error(&format!(
                        "vipu: process_vm_readv, which checks Slurm's records before they are used, failed: {why}; what \
                         needs them waits until it works"
                    ));
                });
            }
            0
        })
    }

    /// Whether `bytes` bytes can be read at an address.
    pub(crate) fn can_read(&self, from: *const c_void, bytes: usize) -> bool {
        let mut copy = vec![0; bytes];
        self.copy(from, &mut copy) == bytes
    }

    /// Returns the number at an address, if it can be read.
    pub(crate) fn number(&self, from: *const c_void) -> Option<u32> {
        let mut bytes = [0; 4];
        (self.copy(from, &mut bytes) == bytes.len()).then(|| u32::from_ne_bytes(bytes))
    }

    /// Returns the pointer at an address, if it can be read.
    pub(crate) fn pointer(&self, from: *const c_void) -> Option<*const c_void> {
        let mut bytes = [0; size_of::<usize>()];
        let read = self.copy(from, &mut bytes);
        (read == bytes.len()).then(|| usize::from_ne_bytes(bytes) as *const c_void)
    }

    /// The most bytes of a text that are looked at.
    pub(crate) const TEXT_BYTES: usize = 128;

    /// Returns the beginning of a C string, up to [`Self::TEXT_BYTES`]; None if nothing can be read.
    pub(crate) fn beginning(&self, from: *const c_void) -> Option<Vec<u8>> {
        let mut bytes = [0; Self::TEXT_BYTES];
        let mut read = self.copy(from, &mut bytes);
        if read == 0 {
            // The string may lie right before memory that cannot be read.
            while read < bytes.len() && self.copy(from.wrapping_byte_add(read), &mut bytes[read..=read]) == 1
            {
                read += 1;
            }
        }
        let text = bytes[..read].split(|&byte| byte == 0).next();
        text.filter(|_| read > 0).map(<[u8]>::to_vec)
    }

    /// Whether there is a C string that a person could have written.
    pub(crate) fn is_text(&self, from: *const c_void) -> bool {
        let printable = |byte: &u8| *byte >= b' ' || byte.is_ascii_whitespace();
        self.beginning(from).is_some_and(|text| text.iter().all(printable))
    }

    /// Whether there is a list of `count` texts. The user chooses the number, so no number is too large: the
    /// first and the last text show whether it is possible.
    pub(crate) fn is_list(&self, list: *const c_void, count: u32) -> bool {
        let is_text = |at: *const c_void| {
            let text = self.pointer(at);
            text.is_some_and(|text| text.is_null() || self.can_read(text, 1))
        };
        let element = |place: u32| list.wrapping_byte_add(place as usize * size_of::<usize>());
        match count {
            0 => list.is_null() || self.can_read(list, size_of::<usize>()),
            _ => !list.is_null() && [0, count - 1].map(element).into_iter().all(is_text),
        }
    }

    /// Whether there is a `bitstr_t`.
    pub(crate) fn is_bitmap(&self, at: *const c_void) -> bool {
        /// The first word, the same in every release.
        const MAGIC: u32 = 0x4243_4445;
        self.number(at) == Some(MAGIC)
    }

    /// Whether there is NULL or a C string that a person could have written.
    pub(crate) fn is_null_or_text(&self, at: *const c_void) -> bool {
        at.is_null() || self.is_text(at)
    }

    /// Whether the address is NULL, or `bytes` bytes can be read there.
    pub(crate) fn is_null_or_readable(&self, at: *const c_void, bytes: usize) -> bool {
        at.is_null() || self.can_read(at, bytes)
    }
}
