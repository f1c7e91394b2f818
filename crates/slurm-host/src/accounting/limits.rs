//! Slurm's limits on IPUs.
//!
//! A job with whole nodes gets all GRES of its nodes. Between the selector's answer and its check of limits,
//! Slurm puts them in place of the request, IPUs as the mark of `no_consume`. Slurm then compares the mark
//! with a limit as if it were a number, and would hold each of these jobs for ever, with or without IPUs. The
//! limits of IPUs are therefore checked before, and waived for Slurm's own check.

use vipu_types::GresType;

use super::tres::{Counts, TresNames};
use super::{check, functions};
use crate::job::{JobMut, JobRef};

/// `ADMIN_SET_LIMIT`: the limit of this TRES does not apply, because an administrator has decided so.
const WAIVED: u16 = 0xffff;

impl JobRef<'_> {
    /// Whether the job gets all GRES of its nodes: `whole_node` is `WHOLE_NODE_REQUIRED`.
    pub fn gets_all_gres(self) -> bool {
        let required = u8::try_from(slurm_release::WHOLE_NODE_REQUIRED).unwrap_or(1);
        self.details()
            .is_some_and(|details| details.read(self.layout().job_details.whole_node) & required != 0)
    }
}

impl JobMut<'_> {
    /// Whether Slurm's own limits let the job start with these IPUs. If not, Slurm's reason is in the record.
    ///
    /// The other TRES count as the job asks for them at least. Slurm checks them again when it knows the
    /// nodes, and with them the billing.
    pub fn is_within_limits(&mut self, of: &GresType, ipus: u64) -> bool {
        let Some(functions) = functions() else { return true };
        let Some(counts) = self.requested_counts(functions) else { return true };
        let names = TresNames::lock(counts.functions());
        let mut asked: Vec<u64> = (0..names.count()).map(|place| counts.get(place).unwrap_or(0)).collect();
        let set = names.counted(of, ipus).chain(names.billing().map(|place| (place, 0)));
        set.for_each(|(place, count)| asked[place] = count);
        drop(names);
        // SAFETY: job write lock; a count for each TRES; takes the locks of the association manager itself,
        // of which none is held here.
        unsafe { (functions.call.is_within_limits)(self.record().address(), asked.as_mut_ptr(), false) }
    }

    /// Waives the limits of IPUs for this job, until [`Self::end_waiver`]. Returns the marks that were
    /// replaced, with their places. A limit that an administrator has waived is not among them.
    pub fn waive_ipu_limits(&mut self) -> Vec<(usize, u16)> {
        let Some(marks) = self.limit_marks() else { return Vec::new() };
        let places: Vec<_> = TresNames::lock(marks.functions()).of_ipus().map(|(place, _)| place).collect();
        let replaced = places.into_iter().filter_map(|place| Some((place, marks.get(place)?)));
        let replaced: Vec<_> = replaced.filter(|(_, mark)| *mark != WAIVED).collect();
        replaced.iter().for_each(|(place, _)| marks.set(*place, WAIVED));
        replaced
    }

    /// Takes back a waiver, also in a record that Slurm has copied from the one that got it.
    pub fn end_waiver(&mut self, replaced: &[(usize, u16)]) {
        let Some(marks) = self.limit_marks() else { return };
        replaced.iter().for_each(|(place, mark)| marks.set(*place, *mark));
    }

    /// The marks of limits that do not apply to the job.
    fn limit_marks(&self) -> Option<Counts<'_, u16>> {
        let (functions, field) = (functions()?, self.layout().job_record.limit_set_tres);
        check::array_is_as_expected(**self, field, "limit_set.tres")
            .then(|| Counts::new(functions, **self, field))?
    }
}
