//! The stock selector underneath.

use std::ffi::{CStr, c_int, c_void};
use std::path::Path;
use std::ptr::NonNull;

use crate::conf;
use crate::differences::other_cons_tres;
use crate::object::Object;
use crate::running_release::RunningSlurm;

/// The loaded and initialised stock selector.
#[derive(Clone, Copy, Debug)]
pub struct Selector(Object);

/// Which stock selector to use: `cons_tres` if `SelectTypeParameters` has `other_cons_tres`, else what
/// vipu.conf in slurm.conf's folder says, else `cons_tres`.
///
/// Every process that unpacks node records must choose the same, so a site that wants another layer than
/// the default keeps vipu.conf beside slurm.conf on every host.
pub fn layer<L>(cons_tres: L, of_file: impl FnOnce(&Path) -> Option<L>) -> L {
    if other_cons_tres::is_set() {
        return cons_tres;
    }
    conf::folder().and_then(|folder| of_file(&folder)).unwrap_or(cons_tres)
}

impl Selector {
    /// Loads `select_<layer>.so`, where `layer` is such as `cons_tres`, and calls its `init`, which Slurm
    /// does only for plugins it knows of.
    ///
    /// # Errors
    /// One line that says which file could not be used and why.
    pub fn load(loaded: &RunningSlurm, layer: &str) -> Result<Self, String> {
        let path = loaded.stock_plugins.join(format!("select_{layer}.so"));
        if !path.exists() {
            return Err(format!(
                "there is no stock selector {}: install Slurm's basic plugins, which have it, or change Layer in vipu.conf",
                path.display()
            ));
        }
        let failed = |why: String| format!("cannot use the stock selector {}: {why}", path.display());
        let object = Object::open(&path).map_err(failed)?;
        let Some(init) = object.symbol(c"init") else { return Ok(Self(object)) };
        // SAFETY: `int init(void)` of every Slurm plugin. Called twice it only logs a line twice; Slurm's
        // loader calls it without a lock of its own too.
        let code = unsafe { std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn() -> c_int>(init)() };
        if code == 0 { Ok(Self(object)) } else { Err(failed(format!("its init returned {code}"))) }
    }

    /// One of the selector's functions; `None` when its release has no such hook.
    #[must_use]
    pub fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        self.0.symbol(name)
    }
}
