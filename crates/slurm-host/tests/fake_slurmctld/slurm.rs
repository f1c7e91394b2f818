//! A slurmctld of 22.05.8 as far as slurm-host looks at one. Offsets are written out here on purpose: they
//! are what the daemon itself has, seen in its own replies, not what the table under test says.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::process::Command;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicPtr, Ordering};

/// The job that `find_job_record` finds.
pub const TEST_JOB: u32 = 42;

/// What the fake was asked to do, in order.
#[derive(Debug, PartialEq, Eq)]
pub enum Call {
    Lock([u32; 5]),
    Unlock([u32; 5]),
    LaunchGateOpened,
    CompletionGateOpened(u32),
    Requeued { job: u32, flags: u32 },
    Told(String),
    Scheduled { deferred: bool },
    Saved,
    ResourcesFreed,
    Logged(String),
}

static CALLS: Mutex<Vec<Call>> = Mutex::new(Vec::new());
static FOUND: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

fn note(call: Call) {
    CALLS.lock().unwrap().push(call);
}

/// The calls since this was asked last.
pub fn calls() -> Vec<Call> {
    std::mem::take(&mut *CALLS.lock().unwrap())
}

/// Compiles a stock selector of 22.05.8 to where a Slurm library in this folder would have it.
pub fn install_stock_selector() {
    let folder = std::env::current_exe().unwrap().parent().unwrap().join("slurm");
    std::fs::create_dir_all(&folder).unwrap();
    let source = folder.join(format!("selector-{}.c", std::process::id()));
    std::fs::write(&source, "unsigned plugin_version = 0x160508; int init(void) { return 0; }").unwrap();
    let object = source.with_extension("so");
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&object).arg(&source).status().unwrap();
    assert!(built.success());
    std::fs::rename(&object, folder.join("select_cons_tres.so")).unwrap();
    std::fs::remove_file(source).unwrap();
}

/// A job record with its details.
pub struct FakeJob {
    record: Box<Cell<[u64; 1048 / 8]>>,
    details: Box<Cell<[u64; 504 / 8]>>,
}

impl FakeJob {
    pub fn new(id: u32, tres: &str) -> Self {
        let job = Self { record: Box::new(Cell::new([0; 131])), details: Box::new(Cell::new([0; 63])) };
        job.put(0, 0xf0b7_392c_u32);
        job.put(360, id);
        job.put(408, 1_u32);
        job.put(992, 1000_u32);
        job.put(706, 2_u16);
        job.put(920, CString::new(tres).unwrap().into_raw());
        job.put(208, job.details.as_ptr());
        job.put(400, Box::into_raw(Box::new([0_u64; 160 / 8])));
        job.put_detail(0, 0x0dea_84e7_u32);
        job.put_detail(440, 1_700_000_000_i64);
        if id == TEST_JOB {
            FOUND.store(job.raw(), Ordering::Relaxed);
        }
        job
    }

    pub fn raw(&self) -> *mut c_void {
        self.record.as_ptr().cast()
    }

    fn put<T>(&self, offset: usize, value: T) {
        // SAFETY: inside the record, aligned as in C.
        unsafe { self.raw().cast::<u8>().add(offset).cast::<T>().write(value) };
    }

    fn get<T: Copy>(&self, offset: usize) -> T {
        // SAFETY: inside the record, aligned as in C, written before or zero.
        unsafe { self.raw().cast::<u8>().add(offset).cast::<T>().read() }
    }

    fn detail<T: Copy>(&self, offset: usize) -> T {
        // SAFETY: inside the details, aligned as in C, written before or zero.
        unsafe { self.details.as_ptr().cast::<u8>().add(offset).cast::<T>().read() }
    }

    fn put_detail<T>(&self, offset: usize, value: T) {
        // SAFETY: inside the details, aligned as in C.
        unsafe { self.details.as_ptr().cast::<u8>().add(offset).cast::<T>().write(value) };
    }

    /// A job of another kind than one that runs, whose details are none.
    pub fn spoil_details(&self) {
        self.put(408, 0_u32);
        self.put_detail(0, 1_u32);
    }

    pub fn reason(&self) -> Option<String> {
        text(self.get(824))
    }

    pub fn system_comment(&self) -> Option<String> {
        text(self.get(856))
    }

    pub fn has_resources(&self) -> bool {
        !self.get::<*const c_void>(400).is_null()
    }

    /// srun listens for word of its nodes.
    pub fn listen(&self) {
        self.put(40, 4711_u16);
    }

    pub fn prolog_running(&self) -> u8 {
        self.detail(344)
    }

    pub fn epilogs_running(&self) -> (u32, bool) {
        (self.get(644), self.get(240))
    }

    pub fn environment(&self) -> Vec<String> {
        let entries: *const *const c_char = self.detail(152);
        let count = usize::from(self.detail::<u16>(136));
        // SAFETY: env_sup holds env_cnt strings.
        (0..count).map(|i| text(unsafe { entries.add(i).read() }).unwrap()).collect()
    }
}

fn text(text: *const c_char) -> Option<String> {
    // SAFETY: NULL or a C string of this file or of slurm-host.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned())
}

/// Runs `body` while `job_list` holds these jobs.
pub fn with_job_list(jobs: &[&FakeJob], body: impl FnOnce()) {
    let mut raw: Vec<_> = jobs.iter().map(|job| job.raw()).collect();
    raw.push(null_mut());
    job_list.store(raw.as_mut_ptr().cast(), Ordering::Relaxed);
    body();
    job_list.store(null_mut(), Ordering::Relaxed);
}

pub fn last_update() -> i64 {
    last_job_update.load(Ordering::Relaxed)
}

/// `slurm_conf` of 22.05.8, as far as it is looked at: a pointer in each place of eight bytes.
#[allow(dead_code, reason = "read through its symbol only")]
pub struct SlurmConf([AtomicPtr<c_char>; 1544 / 8]);

impl SlurmConf {
    const fn new() -> Self {
        let mut conf = [const { AtomicPtr::new(null_mut()) }; 1544 / 8];
        conf[776 / 8] = AtomicPtr::new(c"/usr/lib/slurm".as_ptr().cast_mut());
        conf[1088 / 8] = AtomicPtr::new(c"bf_interval=1,defer".as_ptr().cast_mut());
        conf[1120 / 8] = AtomicPtr::new(c"select/vipu".as_ptr().cast_mut());
        conf[1160 / 8] = AtomicPtr::new(c"/etc/slurm/slurm.conf".as_ptr().cast_mut());
        conf[1368 / 8] = AtomicPtr::new(c"/var/lib/slurm".as_ptr().cast_mut());
        Self(conf)
    }
}

/// Exported variables and functions, under the names and with the signatures of Slurm's.
#[rustfmt::skip]
mod exported {
    use super::*;

    // SAFETY: (all of this module) names of Slurm's; this program is the only one that has them.
    #[unsafe(no_mangle)] pub static job_list: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    #[unsafe(no_mangle)] pub static last_job_update: AtomicI64 = AtomicI64::new(0);
    #[unsafe(no_mangle)] static node_record_table_ptr: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    #[unsafe(no_mangle)] static node_record_count: c_int = 0;
    #[unsafe(no_mangle)] static default_part_loc: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    #[unsafe(no_mangle)] static part_list: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    #[unsafe(no_mangle)] static slurm_conf: SlurmConf = SlurmConf::new();

    #[repr(C)] pub struct Locks { five: [u32; 5] }

    #[unsafe(no_mangle)] extern "C" fn slurm_api_version() -> i64 { 38 << 16 }
    #[unsafe(no_mangle)] extern "C" fn lock_slurmctld(locks: Locks) { note(Call::Lock(locks.five)); }
    #[unsafe(no_mangle)] extern "C" fn unlock_slurmctld(locks: Locks) { note(Call::Unlock(locks.five)); }
    #[unsafe(no_mangle)] extern "C" fn find_job_record(id: u32) -> *mut c_void {
        if id == TEST_JOB { FOUND.load(Ordering::Relaxed) } else { null_mut() }
    }
    #[unsafe(no_mangle)] extern "C" fn prolog_running_decr(_job: *mut c_void) { note(Call::LaunchGateOpened); }
    #[unsafe(no_mangle)] extern "C" fn prep_epilog_slurmctld_callback(_rc: c_int, job: u32, _late: bool) {
        note(Call::CompletionGateOpened(job));
    }
    #[unsafe(no_mangle)] extern "C" fn job_requeue(_: u32, job: u32, _: *mut c_void, _: bool, flags: u32) -> c_int {
        note(Call::Requeued { job, flags });
        0
    }
    #[unsafe(no_mangle)] extern "C" fn job_complete(_: u32, _: u32, _: bool, _: bool, _: u32) -> c_int { 0 }
    #[unsafe(no_mangle)] extern "C" fn srun_user_message(_job: *mut c_void, line: *const c_char) -> c_int {
        note(Call::Told(text(line).unwrap()));
        0
    }
    #[unsafe(no_mangle)] extern "C" fn schedule(_full: bool) { note(Call::Scheduled { deferred: false }); }
    #[unsafe(no_mangle)] extern "C" fn queue_job_scheduler() { note(Call::Scheduled { deferred: true }); }
    #[unsafe(no_mangle)] extern "C" fn schedule_job_save() { note(Call::Saved); }
    #[unsafe(no_mangle)] extern "C" fn free_job_resources(resources: *mut *mut c_void) {
        // SAFETY: the member of a record.
        let given = unsafe { std::mem::replace(&mut *resources, null_mut()) };
        if !given.is_null() { note(Call::ResourcesFreed); }
    }
    #[unsafe(no_mangle)] extern "C" fn slurm_bit_ffs(_bits: *mut c_void) -> i64 { -1 }
    #[unsafe(no_mangle)] extern "C" fn slurm_bit_size(_bits: *mut c_void) -> i64 { 0 }
    #[unsafe(no_mangle)] extern "C" fn slurm_bit_test(_bits: *mut c_void, _bit: i64) -> c_int { 0 }
    #[unsafe(no_mangle)] extern "C" fn slurm_bit_clear(_bits: *mut c_void, _bit: i64) {}
    #[unsafe(no_mangle)] extern "C" fn slurm_bit_set_count(_bits: *mut c_void) -> c_int { 1 }
    #[unsafe(no_mangle)] extern "C" fn slurm_bit_clear_all(_bits: *mut c_void) {}
    #[unsafe(no_mangle)] extern "C" fn slurm_list_create(_destroy: *mut c_void) -> *mut c_void { null_mut() }
    #[unsafe(no_mangle)] extern "C" fn slurm_list_append(_list: *mut c_void, item: *mut c_void) -> *mut c_void { item }
    #[unsafe(no_mangle)] extern "C" fn slurm_job_preempt_mode(_job: *mut c_void) -> u16 { 0 }
    #[unsafe(no_mangle)] extern "C" fn slurm_list_for_each(
        list: *mut *mut c_void, each: extern "C" fn(*mut c_void, *mut c_void) -> c_int, argument: *mut c_void,
    ) -> c_int {
        // SAFETY: with_job_list ends its array with NULL.
        for i in 0.. { match unsafe { list.add(i).read() } { job if job.is_null() => return i as c_int, job => each(job, argument) }; }
        0
    }
    #[unsafe(no_mangle)] extern "C" fn slurm_xstrdup(line: *const c_char) -> *mut c_char {
        // SAFETY: a C string.
        unsafe { libc::strdup(line) }
    }
    #[unsafe(no_mangle)] extern "C" fn slurm_xfree(item: *mut *mut c_void) {
        // SAFETY: NULL or memory of strdup or realloc; set to NULL as Slurm does.
        unsafe { libc::free(*item); *item = null_mut(); }
    }
    #[unsafe(no_mangle)] extern "C" fn slurm_xrecalloc(
        item: *mut *mut c_void, count: usize, size: usize, _clear: bool, _try: bool, _: *const c_char, _: c_int, _: *const c_char,
    ) -> *mut c_void {
        // SAFETY: NULL or memory of realloc. Slurm clears what is new: here the one element at the end.
        unsafe {
            *item = libc::realloc(*item, count * size);
            (*item).cast::<u8>().add((count - 1) * size).write_bytes(0, size);
            *item
        }
    }
    // Variadic in Slurm; slurm-host passes exactly a "%s" and its text.
    #[unsafe(no_mangle)] extern "C" fn slurm_log_var(_level: c_int, _format: *const c_char, line: *const c_char) {
        note(Call::Logged(text(line).unwrap()));
    }
    #[unsafe(no_mangle)] extern "C" fn get_log_level() -> c_int { 3 }
}

use exported::{job_list, last_job_update};
