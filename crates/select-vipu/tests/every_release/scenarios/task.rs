//! `spank_ipuof.so` in a task of a job with a partition.

use std::ffi::{CString, c_char, c_int, c_void};
use std::fs;
use std::ptr::null_mut;

use crate::cluster::gres as gres_words;
use crate::host::{Host, notes, text_at};
use crate::installation::Installation;
use crate::object::Plugin;

type Callback = unsafe extern "C" fn(*mut c_void, c_int, *const *mut c_char) -> c_int;

pub fn run(host: Host, installation: &Installation) {
    let plugin = Plugin::load(&installation.plugins().join("spank_ipuof.so"), host.release).unwrap();
    assert_eq!(plugin.number("spank_plugin_version"), 1);
    let file = installation.ipuof().join("slurm_42.conf");
    fs::write(&file, "{}").unwrap();
    host.set(
        "fake_environment",
        texts(&["SLURM_PROCID=0", "SLURM_VIPU_JOB_42=slurm_42,pod64,16,1", "SLURM_JOB_NODELIST=n1"]),
    );
    let words = texts(&[&format!("ipuof_dir={}", installation.ipuof().display())]);
    notes();
    for name in ["slurm_spank_init", "slurm_spank_task_init"] {
        // SAFETY: callbacks have this type in every release.
        let callback = unsafe { std::mem::transmute::<*mut c_void, Callback>(plugin.wanted(name)) };
        // SAFETY: the fake does not read the handle; the words are those of plugstack.conf.
        assert_eq!(unsafe { callback(null_mut(), 1, words) }, 0, "{:?}", notes());
    }
    let notes = notes();
    let path = format!("IPUOF_CONFIG_PATH={}", file.display());
    for variable in [&path, "SLURM_VIPU_IPUS=16", "SLURM_VIPU_HOSTS=n1"] {
        assert!(notes.contains(&format!("spank_setenv {variable} 1")), "{variable}: {notes:?}");
    }
    tells_of_a_step_without_ipus(host, plugin);
}

/// Checks the variable that srun puts into its own environment and thereby into its tasks'.
fn tells_of_a_step_without_ipus(host: Host, plugin: Plugin) {
    const VARIABLE: &str = "SLURM_VIPU_STEP_WITHOUT";
    // SAFETY: the callback of SPANK has this type.
    let callback =
        unsafe { std::mem::transmute::<*mut c_void, Callback>(plugin.wanted("slurm_spank_init_post_opt")) };
    let (in_srun, in_sbatch) = (1_i32, 3_i32);
    for (context, gres, told) in [
        (in_sbatch, host.text("none"), None),
        (in_srun, host.text("none"), Some("42")),
        (in_srun, gres_words(host, "gpu:1"), Some("42")),
        // The next component of one step, which shares its environment.
        (in_srun, null_mut(), None),
        (in_srun, host.text("none"), None),
    ] {
        host.set("fake_context", context);
        host.set("fake_gres", gres);
        // SAFETY: the callback uses none of its arguments.
        assert_eq!(unsafe { callback(null_mut(), 0, std::ptr::null()) }, 0);
        assert_eq!(std::env::var(VARIABLE).ok().as_deref(), told, "{context} {:?}", text_at(gres));
    }
}

/// Makes a list of C strings that ends with NULL and lives as long as the process.
fn texts(texts: &[&str]) -> *const *mut c_char {
    let texts = texts.iter().map(|text| CString::new(*text).unwrap().into_raw());
    texts.chain([null_mut()]).collect::<Vec<_>>().leak().as_ptr()
}
