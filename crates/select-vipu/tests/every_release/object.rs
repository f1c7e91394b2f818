//! Shared objects, and plugins loaded as Slurm loads them.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::path::Path;

use crate::releases::Release;

/// A shared object that stays loaded.
#[derive(Clone, Copy)]
pub struct Object(*mut c_void);

// SAFETY: a handle of dlopen may be used from any thread, and it is never closed.
unsafe impl Send for Object {}

impl Object {
    /// Opens a shared object. The error is the dynamic loader's text.
    pub fn open(path: &Path, mode: c_int) -> Result<Self, String> {
        let name = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the name is a C string; our objects' initialisers need nothing but the libraries.
        let handle = unsafe { libc::dlopen(name.as_ptr(), mode) };
        if handle.is_null() {
            // SAFETY: after a failure dlerror has a text for this thread.
            return Err(unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy().into_owned());
        }
        Ok(Self(handle))
    }

    /// Returns the address of the symbol with this name.
    pub fn symbol(self, name: &str) -> Option<*mut c_void> {
        let name = CString::new(name).unwrap();
        // SAFETY: a handle of dlopen, never closed, and a C string.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}

/// A plugin that was loaded as by Slurm.
#[derive(Clone, Copy)]
pub struct Plugin(Object);

/// The reason why Slurm would refuse a plugin.
#[derive(Debug)]
pub enum Refused {
    /// The dynamic loader's words.
    NotOpened(String),
    /// The plugin is for another release, with this `SLURM_VERSION_NUMBER`.
    Version(u32),
    /// The plugin's `init` failed with this code.
    Init(c_int),
}

impl Plugin {
    /// Loads a plugin as Slurm does.
    pub fn load(path: &Path, release: &Release) -> Result<Self, Refused> {
        let object = Object::open(path, libc::RTLD_LAZY).map_err(Refused::NotOpened)?;
        let text = |name: &str| crate::host::text_at(object.symbol(name).unwrap().cast::<c_char>()).unwrap();
        let (name, kind) = (text("plugin_name"), text("plugin_type"));
        assert!(!name.is_empty(), "{path:?} has no name");
        // SAFETY: `plugin_version` is a uint32_t in every plugin.
        let version = unsafe { object.symbol("plugin_version").unwrap().cast::<u32>().read() };
        let mask = if kind == "spank" { 0xff_ff00 } else { 0xff_ffff };
        if version & mask != release.version & mask {
            return Err(Refused::Version(version));
        }
        if let Some(init) = object.symbol("init") {
            // SAFETY: `init` is `int init(void)` in every plugin.
            let code = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(init)() };
            if code != 0 {
                return Err(Refused::Init(code));
            }
        }
        assert!(path.file_name().unwrap().to_str().unwrap().starts_with(&kind.replace('/', "_")), "{kind}");
        Ok(Self(object))
    }

    /// Returns a symbol that Slurm's table for this kind of plugin has. Slurm ends if it is missing.
    pub fn wanted(self, name: &str) -> *mut c_void {
        self.0.symbol(name).unwrap_or_else(|| panic!("the plugin has no {name}: Slurm would end"))
    }

    /// Returns a number that the plugin exports.
    pub fn number(self, name: &str) -> u32 {
        // SAFETY: the callers name a uint32_t of the interface.
        unsafe { self.wanted(name).cast::<u32>().read() }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpened(why) => write!(f, "not opened: {why}"),
            Self::Version(version) => write!(f, "refused for its version {version:#x}"),
            Self::Init(code) => write!(f, "its init returned {code}"),
        }
    }
}
