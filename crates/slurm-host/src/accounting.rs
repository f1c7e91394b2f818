//! The number of a job's IPUs in Slurm's accounting.
//!
//! Slurm counts the GRES of a job by the member `total_gres` of its GRES records. The records of
//! `gres_list_req` count for the requested TRES and for limits, those of `gres_list_alloc` for the allocated
//! TRES, usage and billing. For a `no_consume` GRES, Slurm writes a number that grows with the nodes into the
//! former, and a mark ([`NO_CONSUME`]) into the latter. All of accounting leaves out the mark. This module
//! enters the job's IPUs instead.
//!
//! The mark has to be back before a step is created or a restart reads the records: the batch step would show
//! the mark of its node as a number, and the node would lose the IPUs for good.
//!
//! A job with whole nodes gets all GRES of its nodes. Between the selector's answer and its check of limits,
//! Slurm puts them in place of the request, IPUs as the mark of `no_consume`. Slurm then compares the mark
//! with a limit as if it were a number, and would hold each of these jobs for ever, with or without IPUs. The
//! limits of IPUs are therefore checked before, and waived for Slurm's own check.
//!
//! If a function or member is not as the release has it, IPUs are not counted ([`why_off`]). All else works.

mod records;
mod steps;
mod tres;

use std::ffi::c_void;

use slurm_release::{Field, Ptr};
use vipu_types::{GresType, IpuCount};

use self::records::{IpuRecords, NO_CONSUME};
use self::tres::{Counts, Functions, TresNames, functions};
use crate::job::{JobMut, JobRef};

pub use records::why_off;
pub use tres::{is_in_use, names_of_ipus};

/// `ADMIN_SET_LIMIT`: the limit of this TRES does not apply, because an administrator has decided so.
const WAIVED: u16 = 0xffff;

impl JobRef<'_> {
    /// Whether Slurm has counted these IPUs for the job's allocation.
    pub fn has_counted(self, of: &GresType, size: IpuCount) -> bool {
        self.counts_allocated(|names, count| {
            let counted = names.counted(of, size.get().into());
            counted.filter(|(_, ipus)| *ipus > 0).any(|(place, ipus)| count(place) == Some(ipus))
        })
    }

    /// Whether Slurm has counted the IPUs of the job's allocation as [`NO_CONSUME`]. It makes the counts of all
    /// jobs anew when slurmdbd comes back after slurmctld was started without it.
    pub fn has_lost_count(self) -> bool {
        self.counts_allocated(|names, count| {
            names.of_ipus().any(|(place, _)| count(place) == Some(NO_CONSUME))
        })
    }

    /// Whether the job gets all GRES of its nodes: `whole_node` is `WHOLE_NODE_REQUIRED`.
    pub fn gets_all_gres(self) -> bool {
        let required = u8::try_from(slurm_release::WHOLE_NODE_REQUIRED).unwrap_or(1);
        self.details()
            .is_some_and(|details| details.read(self.layout().job_details.whole_node) & required != 0)
    }

    fn counts_allocated(self, see: impl Fn(&TresNames, &dyn Fn(usize) -> Option<u64>) -> bool) -> bool {
        let Some(functions) = functions() else { return false };
        let field = self.layout().job_record.tres_alloc_cnt;
        let Some(counts) = Counts::<u64>::of(functions, self, field, "tres_alloc_cnt") else { return false };
        see(&TresNames::lock(functions), &|place| counts.get(place))
    }
}

impl JobMut<'_> {
    /// Enters the IPUs that the job asks for, whatever the number of its nodes: for Slurm's limits, and into
    /// `ReqTRES`. Slurm computes both anew at each test of the job, and again if the request changes.
    pub fn enter_requested_ipus(&mut self, of: &GresType, ipus: u64) {
        self.enter_ipus_for_limits(of, ipus);
        let Some(functions) = functions() else { return };
        if self.requested_counts(functions).is_some_and(|counts| counts.enter(of, ipus)) {
            // SAFETY: job write lock; takes the TRES lock itself, which is not held here.
            unsafe { (functions.call.write_requested_tres)(self.record().address(), false) };
        }
    }

    /// Enters a number of IPUs that Slurm compares with the limits next, after the answer to this test.
    pub fn enter_ipus_for_limits(&mut self, of: &GresType, ipus: u64) {
        let list = self.layout().job_record.gres_list_req;
        let records = self.ipu_records(list).into_iter().flat_map(|records| records.for_type(of));
        records.for_each(|(record, is_of_type)| record.set_total(if is_of_type { ipus } else { 0 }));
    }

    /// Enters the IPUs of the allocation, for `AllocTRES`, usage and billing, if Slurm has marked them as not
    /// counted. [`Self::clear_allocated_ipus`] has to follow. Returns whether anything was entered.
    pub fn enter_allocated_ipus(&mut self, of: &GresType, size: IpuCount) -> bool {
        if !self.ipus_are_counted() {
            return false;
        }
        let list = self.layout().job_record.gres_list_alloc;
        let Some(records) = self.ipu_records(list) else { return false };
        let marked = records.for_type(of).into_iter().filter(|(record, _)| record.total() == NO_CONSUME);
        marked
            .map(|(record, is_of_type)| record.set_total(if is_of_type { size.get().into() } else { 0 }))
            .count()
            > 0
    }

    /// Frees the list of an earlier allocation that Slurm has emptied. A job that is restored while it completes for a
    /// requeue keeps the list (`_sync_nodes_to_comp_job` of 22.05), and `select_nodes` empties it. The stock selector
    /// would take the next allocation for one that it has counted.
    pub fn free_emptied_allocation(&mut self) {
        let list = self.layout().job_record.gres_list_alloc;
        let mut records = self.ipu_records(list).into_iter().flat_map(|records| records.all()).peekable();
        if records.peek().is_some() && records.all(|record| record.is_of_no_node()) {
            let member = self.record().member(list).cast::<*mut c_void>();
            // SAFETY: under the job write lock; a list of the record, which has the destructor of its items. Slurm does
            // the same at a requeue.
            unsafe {
                (self.host().slurmctld.call.list_destroy)(member.read());
                member.write(std::ptr::null_mut());
            }
        }
    }

    /// Puts the mark back in place of the IPUs in the allocation.
    pub fn clear_allocated_ipus(&mut self) {
        let list = self.layout().job_record.gres_list_alloc;
        let records = self.ipu_records(list).into_iter().flat_map(|records| records.all());
        records.filter(|record| record.is_marked_on_a_node()).for_each(|record| record.set_total(NO_CONSUME));
    }

    /// Has Slurm count the IPUs of the allocation anew, after it has counted them as [`NO_CONSUME`].
    pub fn count_again(&mut self, of: &GresType, size: IpuCount) {
        let Some(functions) = functions() else { return };
        if self.enter_allocated_ipus(of, size) {
            // SAFETY: job write lock; takes the TRES lock itself, which is not held here.
            unsafe { (functions.call.count_allocation)(self.record().address(), false) };
            self.clear_allocated_ipus();
        }
    }

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
        Counts::of(functions()?, **self, self.layout().job_record.limit_set_tres, "limit_set.tres")
    }

    /// The counts of the TRES that the job asks for.
    fn requested_counts(&self, functions: &'static Functions) -> Option<Counts<'_, u64>> {
        Counts::of(functions, **self, self.layout().job_record.tres_req_cnt, "tres_req_cnt")
    }

    /// The records of `vipu` in a GRES list of the job.
    fn ipu_records(&self, list: Field<Ptr>) -> Option<IpuRecords<'_>> {
        functions()?;
        IpuRecords::of(**self, list)
    }
}
