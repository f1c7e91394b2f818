//! Telling IPU jobs apart when the layout of records cannot be trusted.
//!
//! A plugin that has switched itself off must not let an IPU job start without its partition, and cannot
//! read the request at its place. But somewhere in the record there is a pointer to it: this looks at
//! everything the record points to, by having the kernel copy it into a pipe, which answers for bad
//! addresses with an error. Some hundred system calls, for one job, in a state that an administrator is
//! going to end.

use std::ffi::c_void;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use crate::symbols::RawJob;

/// No release has a smaller `job_record_t`.
const RECORD_BYTES: usize = 1024;

/// As much of a text as is looked at.
const TEXT_BYTES: usize = 128;

/// Whether the job's record points to a text that asks for a `vipu` GRES; yes also when that cannot be found out.
///
/// # Safety
/// `job` is the `job_record_t *` of a running select callback.
#[must_use]
pub unsafe fn wants_ipus(job: RawJob) -> bool {
    let Some(probe) = Probe::new() else { return true };
    let mut record = [0; RECORD_BYTES];
    if probe.copy(job, &mut record) == 0 {
        return true;
    }
    let words = record.chunks_exact(size_of::<usize>()).filter_map(|word| word.try_into().ok());
    words.map(usize::from_ne_bytes).any(|word| asks_for_vipu(&probe, word as *const c_void))
}

fn asks_for_vipu(probe: &Probe, address: *const c_void) -> bool {
    let mut bytes = [0; TEXT_BYTES];
    let read = probe.copy(address, &mut bytes);
    let text = bytes[..read].split(|&byte| byte == 0).next().unwrap_or_default();
    text.starts_with(b"gres") && text.windows(4).any(|word| word == b"vipu")
}

/// A pipe, through which the kernel copies what may not be there.
struct Probe {
    reader: OwnedFd,
    writer: OwnedFd,
}

impl Probe {
    fn new() -> Option<Self> {
        let mut ends = [-1; 2];
        // SAFETY: `ends` takes the two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
            return None;
        }
        // SAFETY: two open descriptors that nobody else has.
        let [reader, writer] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        Some(Self { reader, writer })
    }

    /// Copies from any address of this process; returns how many bytes could be read.
    fn copy(&self, from: *const c_void, to: &mut [u8]) -> usize {
        // SAFETY: the kernel checks `from`, and answers with an error where nothing is.
        let written = unsafe { libc::write(self.writer.as_raw_fd(), from, to.len()) };
        let Ok(written) = usize::try_from(written) else { return 0 };
        // SAFETY: `to` has room for as much as was written, which is at most its length.
        let read = unsafe { libc::read(self.reader.as_raw_fd(), to.as_mut_ptr().cast(), written) };
        usize::try_from(read).unwrap_or(0)
    }
}
