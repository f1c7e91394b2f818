//! `spank_ipuof.so` in a task of a job that was given a partition.

use std::ffi::{CString, c_char, c_int, c_void};
use std::fs;
use std::ptr::null_mut;

use crate::host::{Host, notes};
use crate::object::Plugin;
use crate::room::Room;

type Callback = unsafe extern "C" fn(*mut c_void, c_int, *const *mut c_char) -> c_int;

pub fn play(host: Host, room: &Room) {
    let plugin = Plugin::load(&room.plugins().join("spank_ipuof.so"), host.release).unwrap();
    assert_eq!(plugin.number("spank_plugin_version"), 1);
    let file = room.ipuof().join("slurm_42.conf");
    fs::write(&file, "{}").unwrap();
    host.set("fake_environment", texts(&["SLURM_PROCID=0", "SLURM_VIPU_JOB_42=slurm_42,pod64,16,1"]));
    let words = texts(&[&format!("ipuof_dir={}", room.ipuof().display())]);
    notes();
    for name in ["slurm_spank_init", "slurm_spank_task_init"] {
        // SAFETY: callbacks have this type in every release.
        let callback = unsafe { std::mem::transmute::<*mut c_void, Callback>(plugin.wanted(name)) };
        // SAFETY: a handle that the fake does not look at, and the words of plugstack.conf.
        assert_eq!(unsafe { callback(null_mut(), 1, words) }, 0, "{:?}", notes());
    }
    let notes = notes();
    let wanted = format!("spank_setenv IPUOF_CONFIG_PATH={} 1", file.display());
    assert!(
        notes.contains(&wanted) && notes.contains(&"spank_setenv SLURM_VIPU_IPUS=16 1".into()),
        "{notes:?}"
    );
}

/// A list of C strings that ends with NULL, for the life of the process.
fn texts(texts: &[&str]) -> *const *mut c_char {
    let texts = texts.iter().map(|text| CString::new(*text).unwrap().into_raw());
    texts.chain([null_mut()]).collect::<Vec<_>>().leak().as_ptr()
}
