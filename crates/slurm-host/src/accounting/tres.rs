//! The TRES of IPUs, their places in Slurm's arrays of TRES, and the functions of slurmctld that accounting needs.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

use slurm_release::{Field, NO_LOCK, Ptr, READ_LOCK};
use vipu_types::{GresType, Words};

use super::records::{array_is_as_expected, turn_off, why_off};
use crate::job::JobRef;
use crate::slurmctld::{Variable, host_functions};
use crate::symbols::{RawJob, wanted};

/// `assoc_mgr_lock_t`: the locks of Slurm's association manager, of associations, files, QOS, resources, TRES, users and
/// wckeys. They come after slurmctld's locks.
type AssocMgrLocks = [u32; 7];

/// Read access to the names of the TRES.
static READ_TRES: AssocMgrLocks = [NO_LOCK, NO_LOCK, NO_LOCK, NO_LOCK, READ_LOCK, NO_LOCK, NO_LOCK];

host_functions! {
    /// The functions that accounting calls.
    Calls {
        lock_assoc_mgr = c"assoc_mgr_lock": fn(*const AssocMgrLocks);
        unlock_assoc_mgr = c"assoc_mgr_unlock": fn(*const AssocMgrLocks);
        size_in_bytes = c"slurm_xsize": fn(*mut c_void) -> usize;
        write_requested_tres = c"set_job_tres_req_str": fn(RawJob, bool);
        count_allocation = c"job_set_alloc_tres": fn(RawJob, bool);
        is_within_limits = c"acct_policy_job_runnable_post_select": fn(RawJob, *mut u64, bool) -> bool;
    }
}

/// The functions and variables that accounting needs.
pub(super) struct Functions {
    pub(super) call: Calls,
    /// The name of each TRES, for example `gres/vipu`. Guarded by the TRES lock.
    pub(super) tres_names: Variable<*const *const c_char>,
    /// The number of TRES. Guarded by the TRES lock.
    pub(super) tres_count: Variable<u32>,
    /// NULL if the site stores no accounting. It is set once, at the start of slurmctld.
    pub(super) connection: Variable<*mut c_void>,
}

impl Functions {
    pub(super) fn resolve_all() -> Result<Self, Words> {
        // SAFETY: `char **assoc_mgr_tres_name_array`, `uint32_t g_tres_count` and `void *acct_db_conn` in
        // every release (SAFETY.md, "Accounting").
        unsafe {
            Ok(Self {
                call: Calls::resolve()?,
                tres_names: Variable::resolve(c"assoc_mgr_tres_name_array")?,
                tres_count: Variable::resolve(c"g_tres_count")?,
                connection: Variable::resolve(c"acct_db_conn")?,
            })
        }
    }
}

/// The functions for accounting; `None` if IPUs are not counted.
pub(super) fn functions() -> Option<&'static Functions> {
    static FOUND: OnceLock<Option<Functions>> = OnceLock::new();
    let found = FOUND.get_or_init(|| Functions::resolve_all().map_err(|why| turn_off(&why)).ok());
    found.as_ref().filter(|_| why_off().is_none())
}

/// The TRES of all IPUs. That of a type is `gres/vipu:<type>`.
const ALL_IPUS: &[u8] = b"gres/vipu";

/// Whether the site stores accounting at all.
pub fn is_in_use() -> bool {
    // SAFETY: set once, before the plugins are loaded.
    functions().is_some_and(|functions| !unsafe { functions.connection.get() }.is_null())
}

impl JobRef<'_> {
    /// Whether Slurm counts IPUs at all.
    pub fn ipus_are_counted(self) -> bool {
        functions().is_some_and(|functions| TresNames::lock(functions).of_ipus().next().is_some())
    }
}

/// The TRES of IPUs that Slurm counts, as AccountingStorageTRES names them.
pub fn names_of_ipus() -> Vec<String> {
    let Some(functions) = functions() else { return Vec::new() };
    let name = |tres: &[u8]| String::from_utf8_lossy(tres).into_owned();
    TresNames::lock(functions).of_ipus().map(|(_, tres)| name(tres)).collect()
}

/// The names of all TRES, under the TRES lock.
pub(super) struct TresNames(&'static Functions);

impl TresNames {
    /// Takes the TRES lock. No other lock of the association manager may be taken meanwhile.
    pub(super) fn lock(functions: &'static Functions) -> Self {
        // SAFETY: the lock of the association manager for TRES comes after slurmctld's locks; this thread
        // holds none of its locks (SAFETY.md, "Accounting").
        unsafe { (functions.call.lock_assoc_mgr)(&raw const READ_TRES) };
        Self(functions)
    }

    pub(super) fn count(&self) -> usize {
        // SAFETY: TRES lock (`lock`).
        unsafe { self.0.tres_count.get() as usize }
    }

    fn all(&self) -> impl Iterator<Item = (usize, &[u8])> {
        // SAFETY: TRES lock (`lock`).
        let names = unsafe { self.0.tres_names.get() };
        let count = if names.is_null() { 0 } else { self.count() };
        (0..count).filter_map(move |place| {
            // SAFETY: TRES lock (`lock`); the array has a name for each TRES.
            let name = unsafe { names.add(place).read() };
            // SAFETY: not NULL; a C string that changes under the TRES write lock alone.
            (!name.is_null()).then(|| (place, unsafe { CStr::from_ptr(name) }.to_bytes()))
        })
    }

    /// The TRES of IPUs, of all types and of each type, with their places.
    pub(super) fn of_ipus(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let is_of_ipus =
            |name: &[u8]| name.strip_prefix(ALL_IPUS).is_some_and(|of| of.is_empty() || of.starts_with(b":"));
        self.all().filter(move |(_, name)| is_of_ipus(name))
    }

    /// The TRES of IPUs, with their places and the number that a job of this type has of each.
    pub(super) fn counted(&self, of: &GresType, ipus: u64) -> impl Iterator<Item = (usize, u64)> {
        let own = of.to_string();
        self.of_ipus().map(move |(place, name)| {
            let of = name[ALL_IPUS.len()..].strip_prefix(b":");
            let is_counted = of.is_none_or(|of| of == own.as_bytes());
            (place, if is_counted { ipus } else { 0 })
        })
    }

    /// The place of `billing`, which Slurm computes from the others.
    pub(super) fn billing(&self) -> Option<usize> {
        self.all().find(|(_, name)| *name == b"billing").map(|(place, _)| place)
    }
}

impl Drop for TresNames {
    fn drop(&mut self) {
        // SAFETY: exactly the lock that `lock` took, by the same thread.
        unsafe { (self.0.call.unlock_assoc_mgr)(&raw const READ_TRES) };
    }
}

/// An array of a job with an element for each TRES.
///
/// Slurm makes the arrays of jobs longer some time after a TRES was added. Until then they have no element for
/// the new TRES.
pub(super) struct Counts<'job, T> {
    first: *mut T,
    length: usize,
    functions: &'static Functions,
    job: std::marker::PhantomData<&'job ()>,
}

impl<'job, T: Copy> Counts<'job, T> {
    /// The array in this member. `None` if the job has none, or the member reads wrong.
    pub(super) fn of(
        functions: &'static Functions,
        job: JobRef<'job>,
        field: Field<Ptr>,
        member: &str,
    ) -> Option<Self> {
        let first = Some(job.record().pointer(field)).filter(|first| !first.is_null())?;
        if !array_is_as_expected(job, field, member) {
            return None;
        }
        // SAFETY: job lock; memory of Slurm's allocator, which knows its size.
        let length = unsafe { (functions.call.size_in_bytes)(first) } / size_of::<T>();
        Some(Self { first: first.cast(), length, functions, job: std::marker::PhantomData })
    }

    pub(super) fn functions(&self) -> &'static Functions {
        self.functions
    }

    pub(super) fn get(&self, place: usize) -> Option<T> {
        // SAFETY: job lock; inside the array.
        (place < self.length).then(|| unsafe { self.first.add(place).read() })
    }

    /// Only under the job write lock.
    pub(super) fn set(&self, place: usize, value: T) {
        if place < self.length {
            // SAFETY: job write lock (caller); inside the array.
            unsafe { self.first.add(place).write(value) };
        }
    }
}

impl Counts<'_, u64> {
    /// Enters a number of IPUs. Returns whether a count has changed. Only under the job write lock.
    pub(super) fn enter(&self, of: &GresType, ipus: u64) -> bool {
        let names = TresNames::lock(self.functions);
        let changes = names
            .counted(of, ipus)
            .filter(|(place, count)| self.get(*place).is_some_and(|now| now != *count));
        changes.map(|(place, count)| self.set(place, count)).count() > 0
    }
}
