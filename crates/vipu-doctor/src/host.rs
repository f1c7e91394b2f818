//! The host that is examined.

use std::ffi::CString;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, path};

use nix::fcntl::OFlag;
use nix::unistd::{Group, User, getgrouplist};

/// The greatest number of bytes that are read of a file. Plugin files are the largest.
const MOST_BYTES: u64 = 64 << 20;

/// Returns the numeric id of a user, by name.
pub type UserId<'a> = Box<dyn Fn(&str) -> Option<u32> + 'a>;

/// Returns whether a user is in a group, both by name. None if the host knows no such group.
pub type InGroup = fn(&str, &str) -> Option<bool>;

/// Asks this host, as [`InGroup`] says.
#[must_use]
pub fn in_group(user: &str, group: &str) -> Option<bool> {
    let group = Group::from_name(group).ok()??;
    let Some(user) = User::from_name(user).ok().flatten() else { return Some(false) };
    let name = CString::new(user.name).ok()?;
    Some(getgrouplist(&name, user.gid).is_ok_and(|groups| groups.contains(&group.gid)))
}

/// The host that is examined: where its files are, and what the process knows about it.
pub struct Host<'a> {
    /// The root of its file system, `/` but in tests.
    pub root: PathBuf,
    /// Its name.
    pub name: String,
    /// The Unix time in seconds.
    pub now: i64,
    /// The slurm.conf that the environment or the administrator names.
    pub slurm_conf: Option<PathBuf>,
    /// The status document, if svipu found one.
    pub status: Option<PathBuf>,
    /// The program sacctmgr.
    pub sacctmgr: PathBuf,
    /// The users that it knows.
    pub user_id: UserId<'a>,
    /// The groups that it knows.
    pub in_group: InGroup,
}

impl Host<'_> {
    /// The name without its domain.
    pub(crate) fn short_name(&self) -> &str {
        self.name.split('.').next().unwrap_or(&self.name)
    }

    /// The place of an absolute path below the root.
    pub(crate) fn at(&self, path: &Path) -> PathBuf {
        let parts = path.components().filter(|part| matches!(part, path::Component::Normal(_)));
        self.root.join(parts.collect::<PathBuf>())
    }

    /// The path without the root, as people name it.
    pub(crate) fn shown(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.root) {
            Ok(inside) => Path::new("/").join(inside),
            Err(_) => path.to_owned(),
        }
    }
}

/// Reads a regular file. The open of a FIFO would wait for a writer.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = fs::OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err(io::Error::other("it is larger than 64 MiB")),
        false => Ok(bytes),
    }
}

/// Reads a text. Bytes that are no UTF-8 are replaced.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&read(path)?).into_owned())
}

/// The files of the host, for slurm.conf and plugstack.conf.
impl slurm_conf::Files for &Host<'_> {
    fn read(&mut self, path: &Path) -> io::Result<String> {
        read_text(&self.at(path))
    }

    fn matching(&mut self, pattern: &Path) -> Vec<PathBuf> {
        let found = glob::glob(&self.at(pattern).to_string_lossy()).into_iter().flatten().flatten();
        found.map(|path| self.shown(&path)).collect()
    }
}
