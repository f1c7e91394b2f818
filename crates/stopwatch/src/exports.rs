//! The job_submit interface.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr::{NonNull, null_mut};
use std::time::{Duration, Instant};

use slurm_host::object::{self, Object};
use slurm_host::release::ESLURM_INVALID_GRES;
use slurm_host::submit::{self, JobDescription};
use slurm_host::{boundary, running_release, symbols, text};

slurm_host::plugin_identity! { name: "Times other job_submit plugins", type: "job_submit/stopwatch" }

/// How often each is called.
const CALLS: usize = 5_000;

type JobSubmit = unsafe extern "C" fn(*mut c_void, u32, *mut *mut c_char) -> c_int;

// SAFETY: `int init(void)` of the plugin interface.
#[unsafe(no_mangle)]
extern "C" fn init() -> c_int {
    0
}

/// Times the others on this job, and refuses it.
///
/// # Safety
/// Called by Slurm with its message and its variable for the answer.
// SAFETY: (attribute) a name of the job_submit interface.
#[unsafe(no_mangle)]
unsafe extern "C" fn job_submit(description: *mut c_void, user: u32, err_msg: *mut *mut c_char) -> c_int {
    let refused = ESLURM_INVALID_GRES.cast_signed();
    boundary::guard(&|| "stopwatch".into(), refused, || {
        let lines = others().and_then(|others| {
            let call = Call { description, user };
            // SAFETY: Slurm's own message of the running callback, under the locks Slurm took for it.
            unsafe { call.time(others) }
        });
        let lines = lines.unwrap_or_else(|why| format!("stopwatch: {why}"));
        // SAFETY: Slurm's own variable of the running callback.
        unsafe { submit::tell(err_msg, &lines) };
        refused
    })
}

/// Lets every change pass.
// SAFETY: (attribute) a name of the job_submit interface.
#[unsafe(no_mangle)]
extern "C" fn job_modify(_: *mut c_void, _: *mut c_void, _: u32, _: *mut *mut c_char) -> c_int {
    0
}

/// Those that are timed, as Slurm has loaded them.
fn others() -> Result<[Other; 2], String> {
    let own = object::own_folder().ok_or("cannot tell where the plugin was loaded from")?;
    Ok([Other::find("lua", running_release::loaded()?.stock_plugins.clone())?, Other::find("vipu", own)?])
}

/// Another plugin, and what its calls came to.
struct Other {
    name: &'static str,
    job_submit: JobSubmit,
    times: Vec<Duration>,
    code: c_int,
    gres: Option<String>,
}

impl Other {
    fn find(name: &'static str, folder: PathBuf) -> Result<Self, String> {
        let path = folder.join(format!("job_submit_{name}.so"));
        let symbol = Object::opened(&path).and_then(|object| object.symbol(c"job_submit"));
        let symbol = symbol.ok_or_else(|| format!("{} is not loaded", path.display()))?;
        // SAFETY: job_submit has this type in every release.
        let job_submit = unsafe { std::mem::transmute::<NonNull<c_void>, JobSubmit>(symbol) };
        Ok(Self { name, job_submit, times: Vec::with_capacity(CALLS), code: 0, gres: None })
    }

    /// `stopwatch: vipu 1234 ns, code 0, gres:vipu:pod64:4`
    fn line(mut self) -> String {
        self.times.sort_unstable();
        let median = self.times.get(self.times.len() / 2).copied().unwrap_or_default().as_nanos();
        let Self { name, code, gres, .. } = self;
        format!("stopwatch: {name} {median} ns, code {code}, {}", gres.unwrap_or_default())
    }
}

/// What the running callback was called with.
#[derive(Clone, Copy)]
struct Call {
    description: *mut c_void,
    user: u32,
}

impl Call {
    /// Calls each on the same request, taking turns, and says what that took.
    ///
    /// # Safety
    /// The arguments are those of the running callback.
    unsafe fn time(self, mut others: [Other; 2]) -> Result<String, String> {
        // SAFETY: passed on to the caller, here and below.
        let asked = unsafe { self.message() }?.tres_per_node();
        for _ in 0..CALLS {
            for other in &mut others {
                if let Some(asked) = &asked {
                    // SAFETY: as above.
                    unsafe { self.message() }?.set_tres_per_node(asked);
                }
                // SAFETY: as above; slurmctld would call it so next.
                unsafe { self.once(other) }?;
            }
        }
        Ok(others.map(Other::line).join("\n"))
    }

    /// # Safety
    /// As [`Self::time`].
    unsafe fn once(self, other: &mut Other) -> Result<(), String> {
        const XFREE: &CStr = c"slurm_xfree";
        let mut told = null_mut();
        let start = Instant::now();
        // SAFETY: the arguments of the running callback but for a variable of our own, as slurmctld has one for each job.
        other.code = unsafe { (other.job_submit)(self.description, self.user, &raw mut told) };
        other.times.push(start.elapsed());
        // SAFETY: as in `time`.
        other.gres = unsafe { self.message() }?.tres_per_node();
        if other.code != 0 {
            // SAFETY: NULL or a C string of the plugin.
            other.gres = unsafe { text::from_c(told) };
        }
        // SAFETY: `void slurm_xfree(void **)` in every release.
        let xfree = unsafe { symbols::function::<unsafe extern "C" fn(*mut *mut c_char)>(XFREE) };
        // SAFETY: NULL or of Slurm's allocator, and nobody else's.
        unsafe { xfree.ok_or("this Slurm has no slurm_xfree")?(&raw mut told) };
        Ok(())
    }

    /// # Safety
    /// As [`Self::time`]; no two at a time.
    unsafe fn message(self) -> Result<JobDescription<'static>, String> {
        // SAFETY: passed on to the caller.
        unsafe { JobDescription::from_callback(self.description) }.ok_or_else(|| "no message".to_owned())
    }
}
