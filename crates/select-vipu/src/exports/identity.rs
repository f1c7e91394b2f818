//! Name, type, version and id of the plugin, and its `init`.

use std::ffi::c_int;
use std::sync::atomic::AtomicU32;

use slurm_host::{boundary, log};

use super::selector;

slurm_host::plugin_identity! { name: "V-IPU partitions over a stock selector", type: "select/vipu" }

/// Up to 24.11 every select plugin in PluginDir is loaded and their ids must differ, from 100 on.
// SAFETY: a name of Slurm's plugin interface, as in `plugin_identity`.
#[unsafe(no_mangle)]
pub static plugin_id: AtomicU32 = AtomicU32::new(22096);

// SAFETY: `int init(void)` of the plugin interface.
#[unsafe(no_mangle)]
extern "C" fn init() -> c_int {
    boundary::guard(&|| "init".into(), -1, || match selector::load() {
        Ok(()) => 0,
        Err(why) => {
            log::error(&format!("select/vipu: {why}"));
            -1
        }
    })
}
