//! What users ask of a running slurmctld, which they cannot reach: to free a partition that is kept for a failed
//! job of theirs.
//!
//! A request is a symbolic link in a directory in which each user can make files and nobody else can list,
//! replace or remove them. A link appears with its whole target, never changes, and is never opened. The file
//! server vouches for its owner. The target says what the owner wants, so that another link or file of the owner
//! that somebody moved there is no request.

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat, readlinkat};
use nix::sys::stat::{Mode, SFlag, fchmod, fstat};
use nix::unistd::{UnlinkatFlags, geteuid, mkdir, unlinkat};
use tracing::{info, warn};
use vipu_admin::{LONGEST_USER_REQUEST, UserRequest};
use vipu_status::{AuditLine, file_names};

use crate::admin::audit;
use crate::plugin::Plugin;

/// The longest look, but for one file. The next one goes on with what is left.
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// The mode of the directory: all users make files there, and remove only their own. Nobody lists it.
const MODE: Mode = Mode::from_bits_truncate(0o1733);

/// The bits of the mode that count. Others may come from the directory above.
const COMPARED: Mode = Mode::from_bits_truncate(0o1777);

/// The directory of requests in one StatusDir.
pub(crate) struct UserRequests {
    path: PathBuf,
    is_failing: bool,
    /// Whether the log has its one line about files that are no requests.
    has_told: bool,
}

impl UserRequests {
    pub(crate) fn in_dir(dir: &Path, cluster: &str) -> Self {
        Self { path: dir.join(file_names::requests(cluster)), is_failing: false, has_told: false }
    }

    /// Carries out what users ask for, and removes all files. Makes the directory if there is none.
    pub(crate) fn look(&mut self, plugin: &Weak<Plugin>) {
        failpoints::io!("the requests of users");
        // A file server that hangs must not keep the plugin.
        let is_able = |plugin: &Arc<Plugin>| !plugin.is_over() && plugin.frontend.out_of_order().is_none();
        let in_charge = || plugin.upgrade().filter(is_able);
        if in_charge().is_none() {
            return;
        }
        let path = self.path.display();
        let looked = look(&self.path, |user, request| {
            in_charge().is_some_and(|plugin| carry_out(&plugin, user, request))
        });
        if let Ok(Some(owner)) = looked
            && !self.has_told
        {
            warn!(
                "{path}: removed a file of user {owner}, which is no request about a partition that is kept for this \
                 user; further ones are removed without a line"
            );
            self.has_told = true;
        }
        match looked {
            Ok(_) if self.is_failing => info!("{path}: users can free kept partitions again"),
            Err(why) if !self.is_failing => {
                warn!("{path}: {why}; mend that: users cannot free what --ipu-keep keeps until then")
            }
            _ => {}
        }
        self.is_failing = looked.is_err();
    }
}

/// Carries out a request of this user, and puts it into the audit log. False if nothing is changed.
fn carry_out(plugin: &Plugin, user: u32, UserRequest::Free { partition, reason }: UserRequest) -> bool {
    let began = Instant::now();
    let is_done = plugin.frontend.free_own(user, &partition, reason.as_deref());
    let seconds = began.elapsed().as_secs_f64();
    if is_done {
        let line = AuditLine {
            what: "free".to_owned(),
            target: Some(partition.to_string()),
            // A server of names may hang.
            by: Some(user.to_string()),
            why: reason,
            user: Some(user),
            seconds,
            outcome: "ok".to_owned(),
            ..AuditLine::default()
        };
        audit(plugin, line);
    }
    is_done
}

/// Removes each file, and hands each request and its user to `carry_out`. `carry_out` tells whether the request changes
/// anything. Returns the owner of a removed file that changes nothing.
fn look(path: &Path, mut carry_out: impl FnMut(u32, UserRequest) -> bool) -> Result<Option<u32>, Errno> {
    let (began, dir) = (Instant::now(), open_dir(path)?);
    let mut other = None;
    for entry in Dir::openat(&dir, c".", OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())? {
        let entry = entry?;
        // A directory with files stays. It costs no more than its name.
        if entry.file_type() == Some(Type::Directory) {
            let _ = unlinkat(&dir, entry.file_name(), UnlinkatFlags::RemoveDir);
            continue;
        }
        if began.elapsed() > LONGEST_LOOK {
            break;
        }
        let Some((owner, request)) = read(&dir, entry.file_name()) else { continue };
        // Its user may have withdrawn it meanwhile.
        let is_removed = unlinkat(&dir, entry.file_name(), UnlinkatFlags::NoRemoveDir).is_ok();
        if is_removed && !request.is_some_and(|request| carry_out(owner, request)) {
            other = Some(owner);
        }
    }
    Ok(other)
}

/// Opens the directory. Makes it if there is none.
fn open_dir(path: &Path) -> nix::Result<OwnedFd> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let open = || open(path, flags, Mode::empty());
    let dir = match open() {
        Err(Errno::ENOENT) => {
            mkdir(path, Mode::S_IRWXU)?;
            open()?
        }
        opened => opened?,
    };
    let facts = fstat(&dir)?;
    // The owner of the directory may remove and list all requests.
    if facts.st_uid != geteuid().as_raw() {
        return Err(Errno::EPERM);
    }
    if Mode::from_bits_truncate(facts.st_mode) & COMPARED != MODE {
        fchmod(&dir, MODE)?;
    }
    Ok(dir)
}

/// The owner of a file, and the request if it is one. Opens no target of a link and no FIFO.
fn read(dir: &OwnedFd, name: &CStr) -> Option<(u32, Option<UserRequest>)> {
    // The owner and the target are of one file, even if another one takes its name meanwhile.
    let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let file = openat(dir, name, flags, Mode::empty()).ok()?;
    let facts = fstat(&file).ok()?;
    let is_link = SFlag::from_bits_truncate(facts.st_mode) & SFlag::S_IFMT == SFlag::S_IFLNK;
    let is_short = usize::try_from(facts.st_size).is_ok_and(|size| size <= LONGEST_USER_REQUEST);
    let request = || UserRequest::parse(readlinkat(&file, c"").ok()?.as_bytes()).ok();
    let request = (is_link && is_short && facts.st_nlink == 1).then(request).flatten();
    Some((facts.st_uid, request))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::os::unix::net::UnixListener;

    use nix::unistd::{getuid, mkfifo};

    use super::*;

    fn request(partition: &str) -> UserRequest {
        UserRequest::Free { partition: partition.into(), reason: None }
    }

    /// The requests that a look finds, and whether the log would have a line.
    fn found(path: &Path) -> (Vec<(u32, UserRequest)>, bool) {
        let mut found = Vec::new();
        let other = look(path, |user, request| {
            found.push((user, request));
            true
        });
        (found, other.unwrap().is_some())
    }

    #[test]
    fn user_request_is_taken_once_and_only_from_the_directory_for_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("requests");
        assert_eq!(found(&path), (vec![], false));
        for mode in [0o1733, 0o700, 0o1777] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(found(&path), (vec![], false));
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o1733, "{mode:o}");
        }
        symlink(request("slurm_1").to_target().unwrap(), path.join("a")).unwrap();
        assert_eq!(found(&path), (vec![(getuid().as_raw(), request("slurm_1"))], false));
        assert_eq!(found(&path), (vec![], false));
        symlink(request("slurm_1").to_target().unwrap(), path.join("a")).unwrap();
        let refused = look(&path, |_, _| false);
        assert_eq!((refused, found(&path)), (Ok(Some(getuid().as_raw())), (vec![], false)));
        symlink(&path, dir.path().join("link")).unwrap();
        File::create(dir.path().join("file")).unwrap();
        for (name, why) in
            [("link", Errno::ENOTDIR), ("file", Errno::ENOTDIR), ("absent/requests", Errno::ENOENT)]
        {
            assert_eq!(look(&dir.path().join(name), |_, _| true), Err(why), "{name}");
        }
    }

    #[test]
    fn fault_files_that_are_no_requests_are_removed_and_never_opened() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("requests");
        found(&path);
        let target = request("slurm_1").to_target().unwrap();
        let (victim, link) = (dir.path().join("victim"), dir.path().join("link"));
        fs::write(&victim, &target).unwrap();
        symlink(&target, &link).unwrap();
        let at = |name: &str| path.join(name);
        type Make<'a> = &'a dyn Fn(PathBuf);
        let hostile: [(&str, Make<'_>); 12] = [
            ("hard link to a file", &|at| fs::hard_link(&victim, at).unwrap()),
            ("hard link to a request elsewhere", &|at| fs::hard_link(&link, at).unwrap()),
            ("file with a request", &|at| fs::write(at, &target).unwrap()),
            ("large file", &|at| File::create(at).unwrap().set_len(1 << 40).unwrap()),
            ("file that nobody may read", &|at| {
                File::create(at).unwrap().set_permissions(Permissions::from_mode(0o000)).unwrap();
            }),
            ("FIFO", &|at| mkfifo(&at, Mode::S_IRUSR | Mode::S_IWUSR).unwrap()),
            ("socket", &|at| drop(UnixListener::bind(at).unwrap())),
            ("link to a file", &|at| symlink(&victim, at).unwrap()),
            ("link to itself", &|at| symlink(&at, &at).unwrap()),
            ("link to a device", &|at| symlink("/dev/zero", at).unwrap()),
            ("link with a long target", &|at| {
                symlink(format!("{target}{}", " ".repeat(LONGEST_USER_REQUEST)), at).unwrap();
            }),
            ("\u{1b}[2J\n\u{7}", &|at| symlink("{\"free\":{\"partition\":7}}", at).unwrap()),
        ];
        for (name, make) in hostile {
            make(at(name));
            assert_eq!(found(&path), (vec![], true), "{name}");
            assert_eq!(fs::read_dir(&path).unwrap().count(), 0, "{name} is left");
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), target);
        assert!(link.is_symlink());
    }

    /// A directory with a file in it cannot be removed, so that it must not be in the way.
    #[test]
    fn fault_request_is_found_among_many_files_and_directories() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("requests");
        found(&path);
        for number in 0..100 {
            fs::create_dir_all(path.join(format!("d{number}/in it"))).unwrap();
            symlink("x", path.join(format!("l{number}"))).unwrap();
        }
        symlink(request("slurm_1").to_target().unwrap(), path.join("a")).unwrap();
        let (all, is_told) = found(&path);
        assert_eq!((all, is_told), (vec![(getuid().as_raw(), request("slurm_1"))], true));
        assert_eq!(found(&path), (vec![], false), "directories only");
    }
}
