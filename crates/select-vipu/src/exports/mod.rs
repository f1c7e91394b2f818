//! The symbols that Slurm looks up in the object: name, type, version and id of the plugin, its `init`, and the
//! select interface. There are no others.

mod hooks;
mod selector;

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

use slurm_host::{boundary, differences, log, running_release};
use vipu_types::Words;

slurm_host::plugin_identity! { name: "V-IPU partitions over a stock selector", type: "select/vipu" }

/// The plugin's id. It is 0 until `init`, which Slurm calls before it reads the id.
// SAFETY: a name of Slurm's plugin interface; RTLD_LOCAL keeps it from the names of other objects.
#[unsafe(no_mangle)]
pub static plugin_id: AtomicU32 = AtomicU32::new(0);

// SAFETY: `int init(void)` of the plugin interface.
#[unsafe(no_mangle)]
extern "C" fn init() -> c_int {
    boundary::guard(&|| "init".into(), -1, || match prepare() {
        Ok(()) => 0,
        Err(why) => {
            log::error(&format!("select/vipu: {why}"));
            -1
        }
    })
}

fn prepare() -> Result<(), Words> {
    let inner = selector::load()?;
    plugin_id.store(differences::plugin_id::choose(running_release::loaded()?, &inner)?, Ordering::Relaxed);
    Ok(())
}
