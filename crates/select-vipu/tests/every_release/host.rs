//! The process as a Slurm daemon: the fake libraries, and their notes on the plugins' calls.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::path::Path;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use slurm_host::locks::LockPermit;
use testbed::wait_until;

use crate::installation::Installation;
use crate::object::{Object, Plugin};
use crate::record::Record;
use crate::releases::Release;

/// Bits of `SelectTypeParameters`, equal in every release.
const CR_CORE_MEMORY: u16 = 0x0014;
/// A bit of `SelectTypeParameters` that has no meaning from 24.05 on.
pub const CR_OTHER_CONS_TRES: u16 = 0x0800;

static NOTES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Returns the notes since the last call of this function, in order. The host thread looks at jobs at any time,
/// so that locks for that are left out.
pub fn notes() -> Vec<String> {
    let mut notes = std::mem::take(&mut *NOTES.lock().unwrap());
    let looks = ["lock 0 1 0 1 0", "unlock 0 1 0 1 0", "lock 0 1 1 1 0", "unlock 0 1 1 1 0"];
    notes.retain(|note| !looks.iter().any(|look| note.starts_with(look)));
    notes
}

/// Returns the errors in the log since the last call of [`notes`] or of this function.
pub fn errors() -> Vec<String> {
    notes().into_iter().filter(|note| note.starts_with("log 2: ")).collect()
}

/// Calls `work` on a thread that may take slurmctld's locks.
pub fn on_host_thread<T: Send + 'static>(work: impl FnOnce(&mut LockPermit) -> T + Send + 'static) -> T {
    let (told, answer) = mpsc::channel();
    LockPermit::spawn("vipu-host", move |mut slurm| told.send(work(&mut slurm)).unwrap()).unwrap();
    answer.recv().expect("the thread's work to be done")
}

unsafe extern "C" fn listen(line: *const c_char) {
    // SAFETY: `fake_tell` passes its own buffer.
    NOTES.lock().unwrap().push(unsafe { CStr::from_ptr(line) }.to_string_lossy().into_owned());
}

/// A fake slurmctld and slurmstepd in one, of one release.
#[derive(Clone, Copy)]
pub struct Host {
    library: Object,
    pub release: &'static Release,
}

/// A function of the select interface, with slurmctld's call of it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Function {
    name: *const c_char,
    call: Option<unsafe extern "C" fn(*mut c_void)>,
}

impl Function {
    pub fn name(self) -> &'static CStr {
        // SAFETY: the name is a literal of the library.
        unsafe { CStr::from_ptr(self.name) }
    }

    /// Calls a plugin's function of this name with arguments that show whether they arrive unchanged.
    pub fn call(self, function: *mut c_void) {
        // SAFETY: the function of this name, called with the types that this release gives it.
        unsafe { self.call.unwrap()(function) };
    }
}

impl Host {
    /// Loads the libraries with which a daemon is linked, and fills in slurm.conf.
    pub fn start(installation: &Installation, release: &'static Release) -> Self {
        let library =
            Object::open(&installation.plugins().join("libslurmfull.so"), libc::RTLD_NOW | libc::RTLD_GLOBAL);
        let host = Self { library: library.unwrap(), release };
        host.set("fake_version", release.version);
        host.set("fake_soname", c_long::try_from(release.soname).unwrap());
        host.set("fake_job_id_at", release.member("job_record", "job_id").unwrap().0);
        host.set::<unsafe extern "C" fn(*const c_char)>("fake_listener", listen);
        let conf = host.slurm_conf();
        conf.poison();
        let text = |path: &Path| host.text(path.to_str().unwrap());
        conf.put("plugindir", text(&installation.plugins()));
        conf.put("slurm_conf", text(&installation.slurm_conf()));
        conf.put("state_save_location", text(&installation.state()));
        conf.put("select_type", host.text(installation.select_type()));
        conf.put("select_type_param", CR_CORE_MEMORY);
        conf.put("cluster_name", host.text("fake"));
        conf.put("sched_params", host.text("bf_interval=1,defer"));
        conf.put("plugstack", host.text("/no/plugstack.conf"));
        conf.put("slurmctld_params", std::ptr::null_mut::<c_char>());
        // The admin socket is made beside it.
        conf.put("slurmctld_pidfile", text(&installation.state().join("slurmctld.pid")));
        conf.put("licenses", host.text("vipu:64"));
        conf.put("slurm_user_id", 64030_u32);
        conf.put("private_data", 0_u16);
        host
    }

    /// Returns Slurm's variable `slurm_conf`.
    pub fn slurm_conf(self) -> Record {
        Record::at(self.release, "slurm_conf", self.library.symbol("slurm_conf").unwrap())
    }

    /// Sets a variable of the libraries.
    pub fn set<T>(self, name: &str, value: T) {
        // SAFETY: the caller names a variable of this type, and no other thread looks at it meanwhile.
        unsafe { self.library.symbol(name).unwrap().cast::<T>().write(value) };
    }

    /// Returns the value of a variable of the libraries.
    pub fn get<T: Copy>(self, name: &str) -> T {
        // SAFETY: the caller names a variable of this type, and no other thread writes it meanwhile.
        unsafe { self.library.symbol(name).unwrap().cast::<T>().read() }
    }

    /// Returns whether the daemon has a function of this name.
    pub fn has(self, name: &str) -> bool {
        self.library.symbol(name).is_some()
    }

    /// Copies a text into memory of Slurm's allocator.
    pub fn text(self, text: &str) -> *mut c_char {
        self.bytes(text.as_bytes())
    }

    /// Copies bytes other than 0 into a C string of Slurm's allocator.
    pub fn bytes(self, bytes: &[u8]) -> *mut c_char {
        let xstrdup: unsafe extern "C" fn(*const c_char) -> *mut c_char = self.function("slurm_xstrdup");
        let text = CString::new(bytes).unwrap();
        // SAFETY: the argument is a C string, which the function copies.
        unsafe { xstrdup(text.as_ptr()) }
    }

    /// Makes an array of zeros in memory of Slurm's allocator.
    pub fn zeros<T>(self, count: usize) -> *mut T {
        type Call = unsafe extern "C" fn(
            *mut *mut c_void,
            usize,
            usize,
            bool,
            bool,
            *const c_char,
            c_int,
            *const c_char,
        ) -> *mut c_void;
        let xrecalloc: Call = self.function("slurm_xrecalloc");
        let (mut item, nothing) = (std::ptr::null_mut(), c"".as_ptr());
        // SAFETY: makes new memory for `item`.
        unsafe { xrecalloc(&raw mut item, count, size_of::<T>(), true, false, nothing, 0, nothing) }.cast()
    }

    /// Runs `body` under slurmctld's locks, as slurmctld runs a plugin's function.
    pub fn under_locks<R>(self, body: impl FnOnce() -> R) -> R {
        let [hold, release]: [unsafe extern "C" fn(); 2] =
            ["fake_hold", "fake_release"].map(|name| self.function(name));
        // SAFETY: `hold` locks a mutex.
        unsafe { hold() };
        let result = body();
        // SAFETY: `release` unlocks the mutex that `hold` locked on this thread.
        unsafe { release() };
        result
    }

    /// Calls the selector as slurmctld does when it reads slurm.conf.
    pub fn read_conf(self, selector: Plugin) {
        for name in ["select_p_node_init", "select_p_reconfigure"] {
            assert_eq!(self.call(selector, name, None), 0, "{name}");
        }
    }

    /// Calls a plugin's function as slurmctld does. The function takes a job or nothing, and returns an int.
    pub fn call(self, plugin: Plugin, name: &str, job: Option<Record>) -> c_int {
        // SAFETY: the function takes a job or nothing, and returns an int, in every release.
        let function: unsafe extern "C" fn(*mut c_void) -> c_int =
            unsafe { std::mem::transmute::<*mut c_void, _>(plugin.wanted(name)) };
        let job = job.map_or(std::ptr::null_mut(), Record::address);
        // SAFETY: called as slurmctld does.
        self.under_locks(|| unsafe { function(job) })
    }

    /// Returns the select interface, without `plugin_id`.
    pub fn select_interface(self) -> Vec<Function> {
        let table = self.library.symbol("fake_select_table").unwrap().cast::<Function>();
        // SAFETY: the table ends with an entry without a name, and nothing behind that entry is read.
        let entries = (0..).map(|i| unsafe { table.add(i).read() });
        entries.take_while(|entry| !entry.name.is_null()).collect()
    }

    /// Calls a plugin's job_test for a job.
    pub fn job_test(self, function: *mut c_void, job: Record, mode: u32) -> c_int {
        type Call = unsafe extern "C" fn(*mut c_void, *mut c_void, u16) -> c_int;
        let call: Call = self.function("fake_call_job_test");
        // SAFETY: a plugin's select_p_job_test and a job record.
        self.under_locks(|| unsafe { call(function, job.address(), u16::try_from(mode).unwrap()) })
    }

    /// Packs the id of a selector behind `begin`, and calls a plugin's `select_p_select_jobinfo_pack`. Returns the
    /// packed id.
    pub fn jobinfo_pack(self, function: *mut c_void, begin: &[u8], id: u32) -> u32 {
        type Call = unsafe extern "C" fn(*mut c_void, *const u8, u32, u32) -> u32;
        let call: Call = self.function("fake_call_jobinfo_pack");
        // SAFETY: a plugin's function of this type, and bytes that fit into the buffer.
        unsafe { call(function, begin.as_ptr(), u32::try_from(begin.len()).unwrap(), id) }
    }

    /// Calls a plugin's job_modify. Returns its answer and its message to the user.
    pub fn job_modify(self, function: *mut c_void, message: Record, job: Record) -> (c_int, Option<String>) {
        type Call =
            unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, u32, *mut *mut c_char) -> c_int;
        let call: Call = self.function("fake_call_job_modify");
        let mut told = std::ptr::null_mut();
        // SAFETY: a plugin's job_modify, a message, a job record, and a variable for its answer.
        let code = self
            .under_locks(|| unsafe { call(function, message.address(), job.address(), 1000, &raw mut told) });
        (code, text_at(told))
    }

    /// Waits until the job has this reason.
    pub fn reason(self, job: Record, wanted: &str) {
        let read = || self.under_locks(|| job.text("state_desc"));
        let is_told = || Ok(read().is_some_and(|reason| reason == wanted));
        let told = wait_until("the reason to be written", Duration::from_secs(30), is_told);
        told.unwrap_or_else(|late| panic!("{late:#}: {:?} in place of '{wanted}'", read()));
    }

    fn function<F: Copy>(self, name: &str) -> F {
        let address = self.library.symbol(name).unwrap();
        // SAFETY: the callers above name a function of this type.
        unsafe { std::mem::transmute_copy(&address) }
    }
}

/// Returns the text of a C string; `None` for NULL.
pub fn text_at(text: *const c_char) -> Option<String> {
    // SAFETY: NULL or a C string that the plugins or this test wrote.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned())
}
