//! Views of a job and its QOS, which are given out only after the self-check has looked at them.

use std::ptr::NonNull;

use super::JobRef;
use crate::record::Record;
use crate::selfcheck;
use crate::slurmctld::host;
use crate::symbols::RawJob;

impl JobRef<'_> {
    /// Returns the job that Slurm gave to a select callback.
    ///
    /// `None` for NULL, outside slurmctld, and when the record does not look as the release says
    /// ([`selfcheck`]). Nothing may be read then.
    ///
    /// # Safety
    /// `job` is the `job_record_t *` of a running select callback, and `'lock` ends with that callback.
    /// slurmctld holds at least the job read lock around each callback.
    pub unsafe fn from_callback(job: RawJob) -> Option<Self> {
        let host = host().ok()?;
        // SAFETY: a live job_record_t under the job lock by the caller's promise.
        let job = Self { record: unsafe { Record::new(NonNull::new(job)?) }, host };
        selfcheck::job_is_as_expected(job).then_some(job)
    }

    /// Returns the job in an element of `job_list`; `None` as in [`Self::from_callback`].
    ///
    /// # Safety
    /// As [`Self::from_callback`].
    pub(crate) unsafe fn from_list(job: RawJob) -> Option<Self> {
        let host = host().ok()?;
        // SAFETY: a live job_record_t under the job lock by the caller's promise.
        let job = Self { record: unsafe { Record::new(NonNull::new(job)?) }, host };
        selfcheck::listed_job_is_as_expected(job).then_some(job)
    }

    /// The name of the job's QOS; `None` without accounting, and when its record does not look as the release
    /// says.
    pub fn qos(self) -> Option<String> {
        // SAFETY: slurmctld takes a QOS from the jobs before it removes the QOS, under the job write lock
        // (SAFETY.md, "QOS"); the self-check looks at the record before the first read.
        let qos = unsafe { self.record().follow(self.layout().job_record.qos_ptr) }?;
        selfcheck::qos_is_as_expected(qos, self.layout()).then(|| qos.text(self.layout().qos_rec.name))?
    }
}
