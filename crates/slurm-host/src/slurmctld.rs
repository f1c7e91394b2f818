//! slurmctld as a whole: its functions, variables and layouts, found once.

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;

use slurm_release::{Layout, Series};
use vipu_types::{Words, words};

use crate::differences::{EndJob, Locks, Requeue};
use crate::record::c_string;
use crate::running_release;
use crate::symbols::{self, RawJob, wanted};

/// The functions, variables and offsets of this slurmctld. Every safe view needs them.
pub(crate) struct Host {
    pub(crate) slurmctld: Slurmctld,
    pub(crate) layout: &'static Layout,
}

impl Host {
    /// Replaces the text in a member or in an entry of a list.
    ///
    /// # Safety
    /// `member` holds NULL or a string of Slurm's allocator, and no other thread reads it meanwhile.
    pub(crate) unsafe fn replace_text(&self, member: *mut *mut c_void, text: &str) {
        let (call, text) = (&self.slurmctld.call, c_string(text));
        // SAFETY: xfree takes a string of Slurm's allocator (caller), and xstrdup uses the same allocator.
        unsafe {
            (call.xfree)(member);
            member.write((call.xstrdup)(text.as_ptr()).cast());
        }
    }
}

/// Returns the functions, variables and offsets of this slurmctld. They are found once per process.
///
/// # Errors
/// Outside slurmctld, in an unsupported release, or if a function or variable that we use is missing.
pub(crate) fn host() -> Result<&'static Host, Words> {
    static HOST: OnceLock<Result<Host, Words>> = OnceLock::new();
    HOST.get_or_init(|| {
        let release = running_release::loaded()?.release;
        Ok(Host { slurmctld: Slurmctld::resolve(release.version.series())?, layout: release.layout })
    })
    .as_ref()
    .map_err(Clone::clone)
}

/// Checks that slurmctld has every function and variable that the plugins use.
pub fn check() -> Result<(), Words> {
    host().map(drop)
}

/// Whether slurmctld has begun to end: to stop, to hand control to another slurmctld, or to start anew for a
/// reconfigure. Slurm sends no queued message any more from then on, so that a launch would be lost (`agent`
/// in agent.c, 22.05 to 26.05).
///
/// False if the place of the mark is unknown, because an older slurm-vipu measured the release.
#[must_use]
pub fn is_ending() -> bool {
    let Ok(host) = host() else { return false };
    let Some(layout) = &host.layout.slurmctld_config else { return false };
    let config = host.slurmctld.var.slurmctld_config.address();
    // SAFETY: no lock guards this aligned word of a variable that lives as long as slurmctld; Slurm's own
    // threads read it without one (SAFETY.md, "The end of slurmctld").
    unsafe { config.byte_add(layout.shutdown_time.offset()).cast::<i64>().read_volatile() != 0 }
}

/// Declares a table of host functions, each looked up by its own name.
macro_rules! host_functions {
    (
        $(#[$doc:meta])* $table:ident {
            $( $field:ident = $name:literal : fn($($arg:ty),* $(,)?) $(-> $ret:ty)?; )*
        }
    ) => {
        $(#[$doc])*
        pub(crate) struct $table { $( pub(crate) $field: unsafe extern "C" fn($($arg),*) $(-> $ret)?, )* }

        impl $table {
            /// Looks up every function. The error names the first that is missing.
            pub(crate) fn resolve() -> Result<Self, vipu_types::Words> {
                Ok(Self { $(
                    // SAFETY: the signature is that of the function in Slurm's headers (SAFETY.md,
                    // "Signatures").
                    $field: unsafe { wanted($name) }?,
                )* })
            }
        }
    };
}

pub(crate) use host_functions;

host_functions! {
    /// The functions that the plugins call in slurmctld only.
    Daemon {
        lock = c"lock_slurmctld": fn(Locks);
        unlock = c"unlock_slurmctld": fn(Locks);
        find_job_record = c"find_job_record": fn(u32) -> RawJob;
        get_next_job_id = c"get_next_job_id": fn(bool) -> u32;
        find_job_array_rec = c"find_job_array_rec": fn(u32, u32) -> RawJob;
        job_array_post_sched = c"job_array_post_sched": fn(RawJob, bool) -> RawJob;
        prolog_running_decr = c"prolog_running_decr": fn(RawJob);
        prep_epilog_slurmctld_callback = c"prep_epilog_slurmctld_callback": fn(libc::c_int, u32, bool);
        srun_user_message = c"srun_user_message": fn(RawJob, *const libc::c_char) -> libc::c_int;
        schedule = c"schedule": fn(bool);
        queue_job_scheduler = c"queue_job_scheduler": fn();
        schedule_job_save = c"schedule_job_save": fn();
        pick_batch_host = c"pick_batch_host": fn(RawJob) -> libc::c_int;
        kill_job_on_node = c"kill_job_on_node": fn(RawJob, *mut c_void);
        build_batch_step = c"build_batch_step": fn(RawJob) -> *mut c_void;
        delete_step_record = c"delete_step_record": fn(RawJob, *mut c_void);
        free_job_resources = c"free_job_resources": fn(*mut *mut c_void);
        list_for_each = c"slurm_list_for_each": fn(
            *mut c_void, unsafe extern "C" fn(*mut c_void, *mut c_void) -> libc::c_int, *mut c_void,
        ) -> libc::c_int;
        list_create = c"slurm_list_create": fn(Option<unsafe extern "C" fn(*mut c_void)>) -> *mut c_void;
        list_append = c"slurm_list_append": fn(*mut c_void, *mut c_void);
        list_destroy = c"slurm_list_destroy": fn(*mut c_void);
        slurm_job_preempt_mode = c"slurm_job_preempt_mode": fn(RawJob) -> u16;
        bit_set_count = c"slurm_bit_set_count": fn(*mut c_void) -> i32;
        bit_clear_all = c"slurm_bit_clear_all": fn(*mut c_void);
        bit_ffs = c"slurm_bit_ffs": fn(*mut c_void) -> i64;
        bit_size = c"slurm_bit_size": fn(*mut c_void) -> i64;
        bit_test = c"slurm_bit_test": fn(*mut c_void, i64) -> libc::c_int;
        bit_clear = c"slurm_bit_clear": fn(*mut c_void, i64);
        bit_set = c"slurm_bit_set": fn(*mut c_void, i64);
        xstrdup = c"slurm_xstrdup": fn(*const libc::c_char) -> *mut libc::c_char;
        xfree = c"slurm_xfree": fn(*mut *mut c_void);
        xrecalloc = c"slurm_xrecalloc": fn(
            *mut *mut c_void, usize, usize, bool, bool, *const libc::c_char, libc::c_int, *const libc::c_char,
        ) -> *mut c_void;
    }
}

impl Daemon {
    /// The numbers of the set bits of a bitmap, in order; none for NULL.
    ///
    /// # Safety
    /// `bitmap` is NULL or a `bitstr_t` that no other thread changes meanwhile.
    pub(crate) unsafe fn bits(&self, bitmap: *mut c_void) -> Vec<u32> {
        if bitmap.is_null() {
            return Vec::new();
        }
        // SAFETY: a bitmap that does not change (caller), and numbers below its size.
        let (size, is_set) =
            unsafe { ((self.bit_size)(bitmap), |bit: &i64| (self.bit_test)(bitmap, *bit) != 0) };
        (0..size).filter(is_set).filter_map(|bit| u32::try_from(bit).ok()).collect()
    }
}

/// A variable of the host. Its address stays the same for the life of the process.
pub(crate) struct Variable<T>(NonNull<T>);

// SAFETY: the value is only an address; `get` and `set` name the lock that an access needs.
unsafe impl<T> Send for Variable<T> {}
// SAFETY: a shared reference gives only the address; `get` and `set` are unsafe and name the lock.
unsafe impl<T> Sync for Variable<T> {}

impl<T: Copy> Variable<T> {
    /// # Safety
    /// `T` is the C type of the variable with this name in every supported release.
    pub(crate) unsafe fn resolve(name: &CStr) -> Result<Self, Words> {
        let missing = || words!("this Slurm has no variable {}", name.to_string_lossy());
        symbols::find(name).map(|address| Self(address.cast())).ok_or_else(missing)
    }

    /// The address of the variable.
    pub(crate) fn address(&self) -> *mut T {
        self.0.as_ptr()
    }

    /// # Safety
    /// The lock that guards the variable is held at least for reading.
    pub(crate) unsafe fn get(&self) -> T {
        // SAFETY: the address of a live variable of type T (`resolve`), guarded by the caller's lock.
        unsafe { self.0.read() }
    }

    /// # Safety
    /// The lock that guards the variable is held for writing.
    pub(crate) unsafe fn set(&self, value: T) {
        // SAFETY: the address of a live variable of type T (`resolve`), guarded by the caller's write lock.
        unsafe { self.0.write(value) };
    }
}

/// Variables of slurmctld.
pub(crate) struct Variables {
    /// Guarded by the job lock.
    pub(crate) job_list: Variable<*mut c_void>,
    /// Guarded by the job lock.
    pub(crate) last_job_update: Variable<i64>,
    /// Guarded by the node lock.
    pub(crate) node_record_table_ptr: Variable<*mut *mut c_void>,
    /// Guarded by the node lock.
    pub(crate) node_record_count: Variable<libc::c_int>,
    /// The nodes that are neither down, drained nor silent. Guarded by the node lock.
    pub(crate) avail_node_bitmap: Variable<*mut c_void>,
    /// Guarded by the partition lock.
    pub(crate) default_part_loc: Variable<*mut c_void>,
    /// Guarded by the partition lock.
    pub(crate) part_list: Variable<*mut c_void>,
    /// A `slurmctld_config_t`, of which only the time of the end is read, without a lock.
    pub(crate) slurmctld_config: Variable<u8>,
}

impl Variables {
    fn resolve() -> Result<Self, Words> {
        // SAFETY: `List job_list`, `time_t last_job_update`, `node_record_t **node_record_table_ptr`,
        // `int node_record_count`, `bitstr_t *avail_node_bitmap`, `part_record_t *default_part_loc`, `List part_list` and
        // `slurmctld_config_t slurmctld_config` in every release (SAFETY.md, "Signatures").
        unsafe {
            Ok(Self {
                job_list: Variable::resolve(c"job_list")?,
                last_job_update: Variable::resolve(c"last_job_update")?,
                node_record_table_ptr: Variable::resolve(c"node_record_table_ptr")?,
                node_record_count: Variable::resolve(c"node_record_count")?,
                avail_node_bitmap: Variable::resolve(c"avail_node_bitmap")?,
                default_part_loc: Variable::resolve(c"default_part_loc")?,
                part_list: Variable::resolve(c"part_list")?,
                slurmctld_config: Variable::resolve(c"slurmctld_config")?,
            })
        }
    }
}

/// The functions and variables of slurmctld that the plugins use.
pub(crate) struct Slurmctld {
    pub(crate) call: Daemon,
    pub(crate) requeue: Requeue,
    pub(crate) end_job: EndJob,
    pub(crate) var: Variables,
}

impl Slurmctld {
    pub(crate) fn resolve(series: Series) -> Result<Self, Words> {
        Ok(Self {
            call: Daemon::resolve()?,
            requeue: Requeue::resolve(series)?,
            end_job: EndJob::resolve(series)?,
            var: Variables::resolve()?,
        })
    }
}
