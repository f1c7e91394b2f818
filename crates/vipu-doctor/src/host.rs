//! The host that is examined.

use std::ffi::CString;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use nix::fcntl::OFlag;
use nix::unistd::{Gid, Group, User, getgrouplist};
use vipu_types::Words;

/// The greatest number of bytes that are read of a file. Plugin files are the largest.
const MOST_BYTES: u64 = 64 << 20;

/// As the C library's `glob`: `*` matches no hidden file.
const AS_SLURM: glob::MatchOptions = glob::MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// Returns the numeric id of a user, by name.
pub type UserId<'a> = Box<dyn Fn(&str) -> Option<u32> + 'a>;

/// Returns whether a user is in a group, both by name. None if the host knows no such group.
pub type InGroup = fn(&str, &str) -> Option<bool>;

/// Asks this host, as [`InGroup`] says.
#[must_use]
pub fn in_group(user: &str, group: &str) -> Option<bool> {
    let group = Group::from_name(group).ok()??;
    let Some(user) = User::from_name(user).ok().flatten() else { return Some(false) };
    Some(groups(user.uid.as_raw()).contains(&group.gid.as_raw()))
}

/// The groups of a user on this host, by number.
#[must_use]
pub fn groups(user: u32) -> Vec<u32> {
    let Ok(Some(user)) = User::from_uid(user.into()) else { return Vec::new() };
    let groups = CString::new(user.name).ok().and_then(|name| getgrouplist(&name, user.gid).ok());
    groups.into_iter().flatten().map(Gid::as_raw).collect()
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
    /// The groups of a user, all by number.
    pub groups: fn(u32) -> Vec<u32>,
}

impl Host<'_> {
    /// The name without its domain.
    pub(crate) fn short_name(&self) -> &str {
        self.name.split('.').next().unwrap_or(&self.name)
    }

    /// The place of an absolute path below the root.
    pub(crate) fn at(&self, path: &Path) -> PathBuf {
        below(&self.root, path)
    }

    /// The path without the root, as people name it.
    pub(crate) fn shown(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.root) {
            Ok(inside) => Path::new("/").join(inside),
            Err(_) => path.to_owned(),
        }
    }

    /// The owner and the mode of a file or a directory, or why it cannot be used. None if this is denied.
    pub(crate) fn owner_and_mode(
        &self,
        path: &Path,
        is_right: fn(&Metadata) -> bool,
        otherwise: &str,
        unseen: &mut Unseen,
    ) -> Option<OwnerAndMode> {
        Some(match unless_denied(path, self.at(path).metadata(), unseen)? {
            Ok(facts) if is_right(&facts) => Ok((facts.uid(), facts.mode() & 0o7777)),
            Ok(_) => Err(otherwise.into()),
            Err(why) => Err(Words::of(why)),
        })
    }

    /// The owner and the mode of a directory, as [`Host::owner_and_mode`] tells them.
    pub(crate) fn directory(&self, path: &Path, unseen: &mut Unseen) -> Option<OwnerAndMode> {
        self.owner_and_mode(path, Metadata::is_dir, "it is no directory", unseen)
    }
}

/// The place of an absolute path below a root.
pub(crate) fn below(root: &Path, path: &Path) -> PathBuf {
    let is_below = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    let parts = path.components().filter(is_below);
    root.join(parts.collect::<PathBuf>())
}

/// An owner and a mode, or why there are none.
pub(crate) type OwnerAndMode = Result<(u32, u32), Words>;

/// Whether a user can write in a directory. The user may be in its group.
pub(crate) fn can_write(user: u32, owner: u32, mode: u32) -> bool {
    user == 0 || owner == user && mode & 0o200 != 0 || mode & 0o022 != 0
}

/// What could not be looked at, each with the reason.
pub(crate) type Unseen = Vec<(String, String)>;

/// The outcome of a look at a path. None if it is denied, which is noted.
pub(crate) fn unless_denied<T>(
    path: &Path,
    outcome: io::Result<T>,
    unseen: &mut Unseen,
) -> Option<io::Result<T>> {
    match outcome {
        Err(why) if why.kind() == ErrorKind::PermissionDenied => {
            unseen.push((path.display().to_string(), why.to_string()));
            None
        }
        outcome => Some(outcome),
    }
}

/// The content of a file that need not be there. What keeps it from being read is noted.
pub(crate) fn if_there<T>(path: &Path, outcome: io::Result<T>, unseen: &mut Unseen) -> Option<T> {
    if let Err(why) = outcome.as_ref()
        && why.kind() != ErrorKind::NotFound
    {
        unseen.push((path.display().to_string(), why.to_string()));
    }
    outcome.ok()
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
        let found =
            glob::glob_with(&self.at(pattern).to_string_lossy(), AS_SLURM).into_iter().flatten().flatten();
        found.map(|path| self.shown(&path)).collect()
    }
}
