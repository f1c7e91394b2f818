//! Recognises IPU jobs when the layout of records cannot be trusted.
//!
//! A plugin that has switched itself off must not let an IPU job start without its partition, and cannot read
//! the request at its place. The record still contains a pointer to the request. This module looks through a
//! `Probe` at everything to which the record points. The search takes some hundred system calls for one job,
//! in a state that an administrator is going to end.

use std::ffi::c_void;

use crate::probe::Probe;
use crate::running_release::loaded;
use crate::symbols::RawJob;

/// The bytes to read if nothing is known of the release. No known release has a smaller `job_record_t`.
const LEAST_RECORD_BYTES: usize = 1024;

/// Whether the job's record points to a text that asks for a `vipu` GRES. True also if that cannot be found
/// out.
///
/// # Safety
/// `job` is the `job_record_t *` of a running select callback.
pub unsafe fn wants_ipus(job: RawJob) -> bool {
    let Some(probe) = Probe::new() else { return true };
    let known = loaded().map(|loaded| usize::from(loaded.release.layout.job_record.size));
    let mut record = vec![0; known.unwrap_or(LEAST_RECORD_BYTES)];
    if probe.copy(job, &mut record) == 0 {
        return true;
    }
    let words = record.chunks_exact(size_of::<usize>()).filter_map(|word| word.try_into().ok());
    words.map(usize::from_ne_bytes).any(|word| asks_for_vipu(&probe, word as *const c_void))
}

fn asks_for_vipu(probe: &Probe, address: *const c_void) -> bool {
    let text = probe.beginning(address);
    text.is_some_and(|text| text.starts_with(b"gres") && text.windows(4).any(|word| word == b"vipu"))
}
