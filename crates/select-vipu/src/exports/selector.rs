//! The select interface. Each function is forwarded to the stock selector, with hooks before or after.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;

use slurm_host::job_test::RawTest;
use slurm_host::release::Series;
use slurm_host::stock_selector::{self, Selector};
use slurm_host::symbols::RawJob;
use slurm_host::{boundary, log, running_release};
use vipu_conf::Layer;
use vipu_types::Words;

use super::hooks;

type Ptr = *mut c_void;
const ERROR: c_int = -1;
const NOTHING: () = ();

const V22_05: Series = Series::new(22, 5);
const V23_02: Series = Series::new(23, 2);
const V24_11: Series = Series::new(24, 11);
const V26_05: Series = Series::new(26, 5);

static INNER: OnceLock<Functions> = OnceLock::new();

/// Loads the stock selector. `init` calls this, and Slurm calls `init` before all other functions.
pub(super) fn load() -> Result<Selector, Words> {
    let loaded = running_release::loaded()?;
    let layer = stock_selector::layer(Layer::ConsTres, vipu_conf::layer_of);
    let selector = Selector::load(loaded, layer.name())?;
    let version = loaded.release.version;
    let functions = Functions::of(&selector, version.series()).map_err(|why| {
        format!("{why}, which that of Slurm {version} has: install Slurm's basic plugins anew")
    })?;
    INNER.get_or_init(|| functions);
    Ok(selector)
}

/// One line per function: its signature in Slurm, its releases if not all have it, and its return value if it
/// cannot be forwarded. A hook `before` may answer in the selector's place, and a hook `after` may change its
/// answer. A hook `through` asks the selector itself, as often as it needs to.
macro_rules! selector {
    ( $(
        fn $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)?,
        $( until $until:expr, )? $( since $since:expr, )? otherwise $otherwise:expr
        $(, before $before:expr)? $(, after $after:expr)? $(, through $through:expr)?;
    )* ) => {
        /// The stock selector's functions in the running release.
        #[allow(non_snake_case, reason = "the names are those of Slurm's interface")]
        struct Functions { $( $name: Option<unsafe extern "C" fn($($type),*) $(-> $ret)?>, )* }

        impl Functions {
            /// Looks up every function of the release's interface. The error names the first missing one.
            fn of(selector: &Selector, series: Series) -> Result<Self, Words> {
                Ok(Self { $(
                    $name: {
                        let exists = true $( && series <= $until )? $( && series >= $since )?;
                        let name = const { as_c_str(concat!(stringify!($name), "\0")) };
                        let missing = || concat!("the stock selector has no ", stringify!($name));
                        let found = exists.then(|| selector.symbol(name).ok_or_else(missing)).transpose()?;
                        // SAFETY: the stock selector's function of this name has this signature.
                        found.map(|found| unsafe { std::mem::transmute::<NonNull<c_void>, _>(found) })
                    },
                )* })
            }
        }

        $(
            // SAFETY: (attribute) a name of the select interface, see `plugin_identity!`.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $type),*) $(-> $ret)? {
                boundary::guard(&|| stringify!($name).into(), $otherwise, || {
                    $( if let Some(answer) = $before { return answer; } )?
                    let Some(inner) = INNER.get().and_then(|inner| inner.$name) else {
                        log::error(concat!("select/vipu: this Slurm has no ", stringify!($name)));
                        return $otherwise;
                    };
                    // SAFETY: Slurm's own arguments, handed on unchanged under the locks Slurm took.
                    let ask = || unsafe { inner($($arg),*) };
                    $( return $through(&ask); )?
                    #[allow(unreachable_code)]
                    let answer = ask();
                    $( let answer = $after(answer); )?
                    answer
                })
            }
        )*
    };
}

const fn as_c_str(text: &'static str) -> &'static std::ffi::CStr {
    match std::ffi::CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("the macro ends each name with NUL"),
    }
}

selector! {
    fn select_p_state_save(dir: *mut c_char) -> c_int, until V24_11, otherwise ERROR;
    fn select_p_state_restore(dir: *mut c_char) -> c_int, until V24_11, otherwise ERROR;
    fn select_p_job_init(jobs: Ptr) -> c_int, until V24_11, otherwise ERROR;
    fn select_p_node_init() -> c_int, otherwise ERROR, after hooks::node_init;
    // `will_run` came with 24.11. Earlier releases pass nine arguments. The tenth is then any value from the
    // stack, and goes to a function that does not read it.
    fn select_p_job_test(
        job: RawJob, nodes: Ptr, min_nodes: u32, max_nodes: u32, req_nodes: u32, mode: u16,
        candidates: Ptr, preemptees: *mut Ptr, excluded_cores: Ptr, will_run: Ptr
    ) -> c_int, otherwise ERROR,
        through |ask| {
            hooks::job_test(job, mode, &RawTest { nodes, min_nodes, candidates, preemptees, will_run }, ask)
        };
    fn select_p_job_begin(job: RawJob) -> c_int, otherwise ERROR, after |code| hooks::job_begin(job, code);
    fn select_p_job_ready(job: RawJob) -> c_int, otherwise 0, before hooks::job_ready(job);
    fn select_p_job_expand(from: RawJob, to: RawJob) -> c_int, otherwise ERROR,
        after |code| hooks::resized(to, hooks::resized(from, code));
    fn select_p_job_resized(job: RawJob, node: Ptr) -> c_int, otherwise ERROR, after |code| hooks::resized(job, code);
    fn select_p_job_mem_reduce(job: RawJob), since V26_05, otherwise NOTHING, after |done| hooks::resized(job, done);
    fn select_p_job_signal(job: RawJob, signal: c_int) -> c_int, until V22_05, otherwise ERROR;
    fn select_p_job_fini(job: RawJob) -> c_int, otherwise ERROR, before hooks::job_fini(job);
    fn select_p_job_suspend(job: RawJob, indefinitely: bool) -> c_int, otherwise ERROR;
    fn select_p_job_resume(job: RawJob, indefinitely: bool) -> c_int, otherwise ERROR;
    fn select_p_step_pick_nodes(job: RawJob, info: Ptr, count: u32, nodes: Ptr) -> Ptr, until V24_11, otherwise null_mut();
    fn select_p_step_start(step: Ptr) -> c_int, until V24_11, otherwise ERROR;
    fn select_p_step_finish(step: Ptr, killing: bool) -> c_int, until V24_11, otherwise ERROR;
    fn select_p_select_nodeinfo_pack(info: Ptr, buffer: Ptr, protocol: u16) -> c_int, until V24_11, otherwise ERROR;
    fn select_p_select_nodeinfo_unpack(info: Ptr, buffer: Ptr, protocol: u16) -> c_int, until V24_11, otherwise ERROR;
    fn select_p_select_nodeinfo_alloc() -> Ptr, until V24_11, otherwise null_mut();
    fn select_p_select_nodeinfo_free(info: Ptr) -> c_int, until V24_11, otherwise ERROR;
    fn select_p_select_nodeinfo_set_all() -> c_int, otherwise ERROR;
    fn select_p_select_nodeinfo_set(job: RawJob) -> c_int, otherwise ERROR,
        before hooks::allocating(job), after |code| hooks::allocated(job, code);
    fn select_p_select_nodeinfo_get(info: Ptr, kind: c_int, state: c_int, data: Ptr) -> c_int, until V24_11, otherwise ERROR;
    fn select_p_select_jobinfo_alloc() -> Ptr, until V24_11, otherwise null_mut();
    fn select_p_select_jobinfo_free(info: Ptr) -> c_int, until V24_11, otherwise ERROR;
    fn select_p_select_jobinfo_set(info: Ptr, kind: c_int, data: Ptr) -> c_int, until V24_11, otherwise ERROR;
    fn select_p_select_jobinfo_get(info: Ptr, kind: c_int, data: Ptr) -> c_int, until V24_11, otherwise ERROR;
    fn select_p_select_jobinfo_copy(info: Ptr) -> Ptr, until V24_11, otherwise null_mut();
    fn select_p_select_jobinfo_pack(info: Ptr, buffer: Ptr, protocol: u16) -> c_int, until V24_11, otherwise ERROR,
        before hooks::packing_job(buffer);
    fn select_p_select_jobinfo_unpack(info: Ptr, buffer: Ptr, protocol: u16) -> c_int, until V24_11, otherwise ERROR;
    fn select_p_select_jobinfo_sprint(info: Ptr, text: *mut c_char, size: usize, mode: c_int) -> *mut c_char, until V22_05, otherwise null_mut();
    fn select_p_select_jobinfo_xstrdup(info: Ptr, mode: c_int) -> *mut c_char, until V22_05, otherwise null_mut();
    fn select_p_get_info_from_plugin(kind: c_int, job: RawJob, data: Ptr) -> c_int, until V24_11, otherwise ERROR;
    fn select_p_update_node_config(index: c_int) -> c_int, until V22_05, otherwise ERROR;
    fn select_p_reconfigure() -> c_int, otherwise ERROR, before hooks::reconfiguring(), after hooks::reconfigure;
    fn select_p_resv_test(reservation: Ptr, nodes: u32, available: Ptr, cores: Ptr) -> Ptr, until V23_02, otherwise null_mut();
}
