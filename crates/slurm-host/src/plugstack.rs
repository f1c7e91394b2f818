//! Reads plugstack.conf as Slurm does (`_spank_stack_load`, the same from 22.05 to 26.05), and tells whether
//! it loads a plugin.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{FromRawFd as _, IntoRawFd as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::conf;
use crate::running_release::conf_folder_at_load;

/// The greatest number of files that are read. A file can include itself under ever new names.
const MOST_FILES: usize = 1000;

/// The file name of our SPANK plugin.
pub const SPANK_IPUOF: &str = "spank_ipuof.so";

/// The line of plugstack.conf that loads our SPANK plugin.
pub const LINE: &str = "required spank_ipuof.so ipuof_dir=<IpuofDir of vipu.conf>";

/// The reason why a plugin is not loaded.
#[derive(Debug, PartialEq, Eq)]
pub enum Missing {
    /// The file does not exist. Slurm takes it for an empty one.
    File,
    /// Neither the file nor one that it includes has a line for the plugin.
    Line,
}

impl Missing {
    /// The text for the administrator.
    pub fn in_words(&self, file: &Path, plugin: &str) -> String {
        match self {
            Self::File => format!("there is no {}", file.display()),
            Self::Line => format!("{} does not load {plugin}", file.display()),
        }
    }
}

/// The instruction of a line.
#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    /// Load this object.
    Plugin(&'a str),
    /// Read the files that match this pattern.
    Include(&'a str),
}

/// The plugstack.conf of this process: `PlugStackConfig`, or the file beside slurm.conf. A slurmd without a
/// configuration of its own (configless) keeps the file that slurmctld sends beside its copy of slurm.conf,
/// and `SLURM_CONF` names that copy.
pub fn path() -> Option<PathBuf> {
    conf::plugstack().or_else(|| Some(conf_folder_at_load()?.join("plugstack.conf")))
}

/// Makes this slurmstepd load the SPANK plugins of another plugstack.conf, whose text this is.
///
/// # Errors
/// Without memory for the text, or if the place of `PlugStackConfig` is unknown.
///
/// # Safety
/// The process has not loaded its SPANK plugins, and no other thread reads `PlugStackConfig`.
pub unsafe fn replace(text: &str) -> io::Result<()> {
    // SAFETY: no lock needed; a C string.
    let number = unsafe { libc::memfd_create(c"plugstack.conf".as_ptr(), libc::MFD_CLOEXEC) };
    if number == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the file was opened above, and has no other owner.
    let mut file = unsafe { fs::File::from_raw_fd(number) };
    file.write_all(text.as_bytes())?;
    // The file stays open as long as the process.
    let path = format!("/proc/self/fd/{}", file.into_raw_fd());
    // SAFETY: passed on to the caller.
    unsafe { conf::set_plugstack(&path) }.ok_or_else(|| io::Error::other("PlugStackConfig is not known"))
}

/// Returns why `file` does not load the plugin with this file name, or `None` if it does.
///
/// # Errors
/// When `file`, or one that it includes, cannot be read.
pub fn missing(file: &Path, plugin: &str) -> io::Result<Option<Missing>> {
    failpoints::io!("plugstack.conf");
    let (mut ahead, mut seen) = (vec![file.to_owned()], BTreeSet::new());
    while let Some(next) = ahead.pop() {
        if seen.len() == MOST_FILES || !seen.insert(next.clone()) {
            continue;
        }
        let text = match fs::read(&next) {
            Ok(text) => text,
            Err(why) if why.kind() == io::ErrorKind::NotFound && next == file => {
                return Ok(Some(Missing::File));
            }
            // Slurm reads no line from a directory.
            Err(why) if [io::ErrorKind::NotFound, io::ErrorKind::IsADirectory].contains(&why.kind()) => {
                continue;
            }
            Err(why) => return Err(io::Error::new(why.kind(), format!("{}: {why}", next.display()))),
        };
        for line in lines(&String::from_utf8_lossy(&text)) {
            match line {
                Line::Plugin(path) if Path::new(path).file_name() == Some(OsStr::new(plugin)) => {
                    return Ok(None);
                }
                Line::Plugin(_) => {}
                Line::Include(pattern) => ahead.extend(matching(&beside(&next, pattern))),
            }
        }
    }
    Ok(Some(Missing::Line))
}

/// Returns the lines that Slurm takes. Slurm passes over all others.
fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().filter_map(|line| {
        let line = line.split('#').next()?;
        let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
        match (words.next()?, words.next()?) {
            ("required" | "optional", path) => Some(Line::Plugin(path)),
            ("include", pattern) => Some(Line::Include(pattern)),
            _ => None,
        }
    })
}

/// Returns the path of a pattern that stands in `file`. A relative pattern counts from the folder of `file`.
fn beside(file: &Path, pattern: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new(".")).join(pattern)
}

/// Returns the files that match a pattern, as the C library finds them.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let Ok(pattern) = CString::new(pattern.as_os_str().as_bytes()) else { return Vec::new() };
    // SAFETY: no lock needed; all members of the struct may be zero.
    let mut found: libc::glob_t = unsafe { std::mem::zeroed() };
    // SAFETY: a C string, no callback, and a struct that lives through the call.
    let outcome = unsafe { libc::glob(pattern.as_ptr(), 0, None, &raw mut found) };
    let count = if outcome == 0 { found.gl_pathc } else { 0 };
    // SAFETY: a successful glob leaves `gl_pathc` C strings.
    let name = |place| unsafe { CStr::from_ptr(found.gl_pathv.add(place).read()) }.to_bytes().to_vec();
    let names = (0..count).map(name).map(|name| std::ffi::OsString::from_vec(name).into()).collect();
    // SAFETY: the struct of a glob, whose names were copied; freed once.
    unsafe { libc::globfree(&raw mut found) };
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_slurm_reads_them() {
        let text = "# required a.so\n\
                    required /usr/lib/b.so  x=1\ty\n\
                    \toptional c.so # required d.so\n\
                    include conf.d/*\n\
                    required\n\
                    Required e.so\n\
                    needed f.so\n\
                    \n\
                    optional g.so";
        let found: Vec<_> = lines(text).collect();
        let plugin = Line::Plugin;
        assert_eq!(
            found,
            [plugin("/usr/lib/b.so"), plugin("c.so"), Line::Include("conf.d/*"), plugin("g.so")]
        );
    }

    #[test]
    fn patterns_count_from_the_file_that_has_them() {
        let file = Path::new("/etc/slurm/plugstack.conf");
        assert_eq!(beside(file, "plugstack.d/*"), Path::new("/etc/slurm/plugstack.d/*"));
        assert_eq!(beside(file, "/opt/*.conf"), Path::new("/opt/*.conf"));
    }

    /// Returns the result for `x.so` if the files have these texts. The first file is plugstack.conf.
    fn missing_with(files: &[(&str, &str)]) -> Option<Missing> {
        let folder = std::env::temp_dir().join(format!("plugstack-{:?}", std::thread::current().id()));
        fs::create_dir_all(folder.join("d")).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
        let found = missing(&folder.join("plugstack.conf"), "x.so");
        fs::remove_dir_all(&folder).unwrap();
        found.unwrap()
    }

    #[test]
    fn a_plugin_is_found_wherever_slurm_finds_it() {
        let (main, line) = ("plugstack.conf", "required /lib/x.so a=b\n");
        for (files, expected) in [
            (&[][..], Some(Missing::File)),
            (&[(main, "")], Some(Missing::Line)),
            (&[(main, "required y.so\nrequired not-x.so\n")], Some(Missing::Line)),
            (&[(main, "#required x.so\n")], Some(Missing::Line)),
            (&[(main, line)], None),
            (&[(main, "optional x.so")], None),
            (&[(main, "include d/*.conf\n"), ("d/1.conf", "required y.so"), ("d/2.conf", line)], None),
            (&[(main, "include d/*.conf\n"), ("d/2.txt", line)], Some(Missing::Line)),
            (&[(main, "include d/no-such-file\n")], Some(Missing::Line)),
            (&[(main, "include d\n"), ("d/1.conf", line)], Some(Missing::Line)),
            // A file that includes itself ends Slurm, but not us.
            (&[(main, "include plugstack.conf\n")], Some(Missing::Line)),
            (&[(main, "include d/a\n"), ("d/a", "include b"), ("d/b", line)], None),
        ] {
            assert_eq!(missing_with(files), expected, "{files:?}");
        }
    }
}
