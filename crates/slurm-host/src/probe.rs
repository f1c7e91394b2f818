//! Reads at addresses that may be wrong.

use std::cell::Cell;
use std::ffi::c_void;
use std::io::Error;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::Once;

use crate::log;

/// Reads through the kernel, which answers with an error for a bad address, where a direct read would end the process.
#[derive(Default)]
pub(crate) struct Probe {
    /// Whether the kernel refused to look for another reason than a bad address.
    is_blind: Cell<bool>,
}

/// The number of bytes that the kernel copied. None if the address is bad.
fn copied(bytes: isize) -> Result<Option<usize>, Error> {
    usize::try_from(bytes).map(Some).or_else(|_| {
        let why = Error::last_os_error();
        if why.raw_os_error() == Some(libc::EFAULT) { Ok(None) } else { Err(why) }
    })
}

/// Copies without a file descriptor, because slurmctld may have none left.
fn by_address(from: *const c_void, to: &mut [u8]) -> Result<Option<usize>, Error> {
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    let remote = libc::iovec { iov_base: from.cast_mut(), iov_len: to.len() };
    // SAFETY: the kernel writes to `to` at most. It checks `from`, and answers with an error if the address is bad.
    copied(unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) })
}

/// Copies through a pipe, where a container or a unit forbids the other call.
fn by_pipe(from: *const c_void, to: &mut [u8]) -> Result<Option<usize>, Error> {
    let mut ends = [-1; 2];
    // SAFETY: `ends` takes the two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: two open descriptors that no other code has.
    let [reader, writer] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    // SAFETY: the kernel checks `from`, and answers with an error if the address is bad.
    let Some(written) = copied(unsafe { libc::write(writer.as_raw_fd(), from, to.len()) })? else {
        return Ok(None);
    };
    // SAFETY: `to` has room for as much as was written, which is at most its length.
    copied(unsafe { libc::read(reader.as_raw_fd(), to.as_mut_ptr().cast(), written) })
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
        let copied = by_address(from, to).or_else(|_| by_pipe(from, to));
        copied.map(Option::unwrap_or_default).unwrap_or_else(|why| {
            self.is_blind.set(true);
            TOLD.call_once(|| {
                log::error(&format!(
                    "vipu: Slurm's records cannot be checked before they are used: {why}; what needs them waits until a \
                     later check works"
                ));
            });
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
