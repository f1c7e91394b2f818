//! What is read of a job only after the self-check has looked at it.

use std::ptr::NonNull;

use super::JobRef;
use crate::record::Record;
use crate::selfcheck;
use crate::slurmctld::host;
use crate::symbols::RawJob;

impl JobRef<'_> {
    /// The job a select callback was given.
    ///
    /// `None` for NULL, outside slurmctld, and when the record does not look as the release says
    /// ([`selfcheck`]): then nothing may be read.
    ///
    /// # Safety
    /// `job` is the `job_record_t *` of a running select callback, and `'lock` ends with that callback:
    /// slurmctld holds at least the job read lock around each.
    #[must_use]
    pub unsafe fn from_callback(job: RawJob) -> Option<Self> {
        let host = host().ok()?;
        // SAFETY: a live job_record_t under the job lock by the caller's promise.
        let job = Self { record: unsafe { Record::new(NonNull::new(job)?) }, host };
        selfcheck::job_is_as_expected(job).then_some(job)
    }

    /// The job in an element of `job_list`; `None` as in [`Self::from_callback`].
    ///
    /// # Safety
    /// As [`Self::from_callback`].
    pub(crate) unsafe fn from_list(job: RawJob) -> Option<Self> {
        let host = host().ok()?;
        // SAFETY: a live job_record_t under the job lock by the caller's promise.
        let job = Self { record: unsafe { Record::new(NonNull::new(job)?) }, host };
        selfcheck::listed_job_is_as_expected(job).then_some(job)
    }

    /// The name of its QOS; `None` without accounting, and when it does not look as the release says.
    #[must_use]
    pub fn qos(self) -> Option<String> {
        // SAFETY: whoever removes a QOS takes it from the jobs before, under the job write lock (SAFETY.md,
        // "QOS"); what lies there is looked at when it is read first.
        let qos = unsafe { self.record().follow(self.layout().job_record.qos_ptr) }?;
        selfcheck::qos_is_as_expected(qos, self.layout()).then(|| qos.text(self.layout().qos_rec.name))?
    }
}
