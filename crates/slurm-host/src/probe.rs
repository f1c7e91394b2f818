//! Reads at addresses that may be wrong.

use std::ffi::c_void;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// A pipe through which the kernel copies memory that may not be there.
///
/// The kernel answers with an error for a bad address, where a direct read would end the process.
pub(crate) struct Probe {
    reader: OwnedFd,
    writer: OwnedFd,
}

impl Probe {
    pub(crate) fn new() -> Option<Self> {
        let mut ends = [-1; 2];
        // SAFETY: `ends` takes the two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
            return None;
        }
        // SAFETY: two open descriptors that no other code has.
        let [reader, writer] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        Some(Self { reader, writer })
    }

    /// Copies from any address of this process. Returns the number of bytes that could be read.
    // Not inlined: tests/valgrind.supp names this function, because it may be asked for bad addresses.
    #[inline(never)]
    pub(crate) fn copy(&self, from: *const c_void, to: &mut [u8]) -> usize {
        // SAFETY: the kernel checks `from`, and answers with an error if the address is bad.
        let written = unsafe { libc::write(self.writer.as_raw_fd(), from, to.len()) };
        let Ok(written) = usize::try_from(written) else { return 0 };
        // SAFETY: `to` has room for as much as was written, which is at most its length.
        let read = unsafe { libc::read(self.reader.as_raw_fd(), to.as_mut_ptr().cast(), written) };
        usize::try_from(read).unwrap_or(0)
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
