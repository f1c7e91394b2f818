//! The stock selector underneath.

use std::ffi::{CStr, c_int, c_void};
use std::path::Path;
use std::ptr::NonNull;

use vipu_types::{Words, words};

use crate::conf;
use crate::running_release::RunningSlurm;
use crate::shared_object::Object;

/// The loaded and initialised stock selector.
#[derive(Clone, Copy, Debug)]
pub struct Selector(Object);

/// Returns the stock selector to use: `cons_tres` if `SelectTypeParameters` has `other_cons_tres`, else the
/// choice of vipu.conf in slurm.conf's folder, else `cons_tres`.
///
/// Every process that unpacks node records must choose the same selector. A site that wants another layer
/// than the default therefore keeps vipu.conf beside slurm.conf on every host.
pub fn layer<L>(cons_tres: L, of_file: impl FnOnce(&Path) -> Option<L>) -> L {
    if conf::is_other_cons_tres_set() {
        return cons_tres;
    }
    conf::folder().and_then(|folder| of_file(&folder)).unwrap_or(cons_tres)
}

impl Selector {
    /// Loads `select_<layer>.so`, for example with the layer `cons_tres`, and calls its `init`. Slurm calls
    /// `init` only for plugins that it knows of.
    pub fn load(loaded: &RunningSlurm, layer: &str) -> Result<Self, Words> {
        let path = loaded.stock_plugins.join(format!("select_{layer}.so"));
        if !path.exists() {
            return Err(words!(
                "there is no stock selector {}: install Slurm's basic plugins, which have it, or change Layer in vipu.conf",
                path.display()
            ));
        }
        let failed = |why: Words| words!("cannot use the stock selector {}: {why}", path.display());
        let object = Object::open(&path).map_err(failed)?;
        let Some(init) = object.symbol(c"init") else { return Ok(Self(object)) };
        // SAFETY: `int init(void)` of every Slurm plugin. A second call only logs a line twice; Slurm's
        // loader also calls it without a lock of its own.
        let code = unsafe { std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn() -> c_int>(init)() };
        if code == 0 { Ok(Self(object)) } else { Err(failed(words!("its init returned {code}"))) }
    }

    /// Returns one of the selector's functions; `None` if its release has no such hook.
    pub fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        self.0.symbol(name)
    }
}
