//! The files of this host, for the readers of slurm.conf and plugstack.conf.

use std::ffi::{CStr, CString, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use slurm_conf::Files;

/// The files of this host.
pub struct OnDisk;

impl Files for OnDisk {
    fn read(&mut self, path: &Path) -> io::Result<String> {
        failpoints::io!("a file of Slurm's configuration");
        Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
    }

    /// As Slurm, by the C library.
    fn matching(&mut self, pattern: &Path) -> Vec<PathBuf> {
        let Ok(pattern) = CString::new(pattern.as_os_str().as_bytes()) else { return Vec::new() };
        // SAFETY: no lock needed; all members of the struct may be zero.
        let mut found: libc::glob_t = unsafe { std::mem::zeroed() };
        // SAFETY: a C string, no callback, and a struct that lives through the call.
        let outcome = unsafe { libc::glob(pattern.as_ptr(), 0, None, &raw mut found) };
        let count = if outcome == 0 { found.gl_pathc } else { 0 };
        // SAFETY: a successful glob leaves `gl_pathc` C strings.
        let name = |place| unsafe { CStr::from_ptr(found.gl_pathv.add(place).read()) }.to_bytes().to_vec();
        let names = (0..count).map(name).map(|name| OsString::from_vec(name).into()).collect();
        // SAFETY: the struct of a glob, whose names were copied; freed once.
        unsafe { libc::globfree(&raw mut found) };
        names
    }
}
