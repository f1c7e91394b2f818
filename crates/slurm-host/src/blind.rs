//! Telling IPU jobs apart when the layout of records cannot be trusted.
//!
//! A plugin that has switched itself off must not let an IPU job start without its partition, and cannot
//! read the request at its place. But somewhere in the record there is a pointer to it: this looks at
//! everything the record points to, through the kernel, which answers for bad addresses with an error.
//! Some hundred system calls, for one job, in a state that an administrator is going to end.

use std::ffi::c_void;

use crate::symbols::RawJob;

/// No release has a smaller `job_record_t`.
const RECORD_BYTES: usize = 1024;

/// As much of a text as is looked at.
const TEXT_BYTES: usize = 128;

/// Whether the job's record points to a text that asks for a `vipu` GRES.
///
/// # Safety
/// `job` is the `job_record_t *` of a running select callback.
#[must_use]
pub unsafe fn wants_ipus(job: RawJob) -> bool {
    let mut record = [0_usize; RECORD_BYTES / size_of::<usize>()];
    // SAFETY: `record` takes RECORD_BYTES; the source may be any address (`copy`).
    unsafe { copy(job, record.as_mut_ptr().cast(), RECORD_BYTES) };
    record.iter().any(|&word| asks_for_vipu(word as *mut c_void))
}

fn asks_for_vipu(address: *mut c_void) -> bool {
    let mut bytes = [0_u8; TEXT_BYTES];
    // SAFETY: `bytes` takes TEXT_BYTES; the source may be any address (`copy`).
    let read = unsafe { copy(address, bytes.as_mut_ptr().cast(), TEXT_BYTES) };
    let text = bytes[..read].split(|&byte| byte == 0).next().unwrap_or_default();
    text.starts_with(b"gres") && text.windows(4).any(|word| word == b"vipu")
}

/// Copies from any address of this process; returns how many bytes could be read.
///
/// # Safety
/// `to` has room for `length` bytes.
unsafe fn copy(from: *mut c_void, to: *mut c_void, length: usize) -> usize {
    let (from, to) =
        (libc::iovec { iov_base: from, iov_len: length }, libc::iovec { iov_base: to, iov_len: length });
    // SAFETY: the kernel checks `from`; `to` is the caller's promise; one vector each.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &to, 1, &from, 1, 0) };
    usize::try_from(read).unwrap_or(0)
}
