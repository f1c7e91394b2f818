//! Tells whether plugstack.conf loads a plugin.

use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{FromRawFd as _, IntoRawFd as _};
use std::path::{Path, PathBuf};

use slurm_conf::{Plugstack, Reason};

use crate::conf;
use crate::on_disk::OnDisk;
use crate::running_release::conf_folder_at_load;

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
    let unreadable = |name, why: &io::Error| io::Error::new(why.kind(), format!("{name}: {why}"));
    let stack = match Plugstack::read(file, &mut OnDisk) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Some(Missing::File)),
        read => read.map_err(|why| unreadable(file.display().to_string(), &why))?,
    };
    if stack.plugin(plugin).is_some() {
        return Ok(None);
    }
    // An included file that cannot be read may have the line.
    let unread = stack.problems.into_iter().find_map(|problem| match problem.reason {
        Reason::Unreadable { file, why } => Some(unreadable(file, &why)),
        _ => None,
    });
    unread.map_or(Ok(Some(Missing::Line)), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (&[(main, "required x.so\r\n")], Some(Missing::Line)),
            (&[(main, "include d/*.conf\n"), ("d/1.conf", "required y.so"), ("d/2.conf", line)], None),
            (&[(main, "include d/*.conf\n"), ("d/2.txt", line)], Some(Missing::Line)),
            (&[(main, "include d/no-such-file\n")], Some(Missing::Line)),
            (&[(main, "include d\n"), ("d/1.conf", line)], Some(Missing::Line)),
            (&[(main, "include ?\n"), ("d/1.conf", ""), ("e", line)], None),
            (&[(main, "include d/*\n"), ("d/.1.conf.swp", line)], Some(Missing::Line)),
            // A file that includes itself ends Slurm, but not us.
            (&[(main, "include plugstack.conf\n")], Some(Missing::Line)),
            (&[(main, "include d/a\n"), ("d/a", "include b"), ("d/b", line)], None),
        ] {
            assert_eq!(missing_with(files), expected, "{files:?}");
        }
    }
}
