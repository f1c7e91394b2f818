//! The symbols by which Slurm recognises a plugin, and the constructor that fills in its version.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::{boundary, log, running_release};

/// Fills in the version of a plugin. The constructor of each plugin calls this before Slurm reads
/// `plugin_version`.
///
/// In a release that is not supported the version stays 0, which Slurm refuses. The reason is logged.
pub fn fill_in(plugin: &str, version: &AtomicU32) {
    boundary::guard(&|| format!("{plugin}: load"), (), || match running_release::loaded() {
        Ok(loaded) => version.store(loaded.release.version.0, Ordering::Relaxed),
        Err(why) => log::error(&format!("{plugin}: {why}")),
    });
}

/// Exports `plugin_name`, `plugin_type` and `plugin_version` of a plugin, and its build.
///
/// Slurm takes the address of the first two as the text itself, so they are arrays. It wants the exact
/// version of the running Slurm, so the constructor fills in the version.
#[macro_export]
macro_rules! plugin_identity {
    (name: $name:literal, type: $type:literal) => {
        const NAME: &str = concat!($name, "\0");
        const TYPE: &str = concat!($type, "\0");

        // SAFETY: a name of Slurm's plugin interface; RTLD_LOCAL keeps it from the names of other objects.
        #[unsafe(no_mangle)]
        pub static plugin_name: [u8; NAME.len()] = $crate::plugin_identity::bytes(NAME);
        // SAFETY: a name of Slurm's plugin interface; RTLD_LOCAL keeps it from the names of other objects.
        #[unsafe(no_mangle)]
        pub static plugin_type: [u8; TYPE.len()] = $crate::plugin_identity::bytes(TYPE);
        // SAFETY: a name of Slurm's plugin interface; RTLD_LOCAL keeps it from the names of other objects.
        #[unsafe(no_mangle)]
        pub static plugin_version: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

        $crate::version_note!($crate::plugin_table::BUILD_TEXT);

        // SAFETY: the loader runs the functions of this section before dlopen returns, that is before Slurm
        // reads plugin_version; `on_load` is such a function and lets no panic out.
        #[used]
        #[unsafe(link_section = ".init_array")]
        static ON_LOAD: extern "C" fn() = {
            extern "C" fn on_load() {
                $crate::plugin_identity::fill_in($type, &plugin_version);
            }
            on_load
        };
    };
}

/// Returns the bytes of a text as an array.
pub const fn bytes<const N: usize>(text: &str) -> [u8; N] {
    let mut array = [0; N];
    let mut i = 0;
    while i < N {
        array[i] = text.as_bytes()[i];
        i += 1;
    }
    array
}
