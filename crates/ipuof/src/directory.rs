//! The directory in which slurmctld writes config files for all nodes.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat, renameat};
use nix::sys::stat::{Mode, fstat};
use nix::unistd::{UnlinkatFlags, close, fsync, geteuid, unlinkat};
use vipu_types::{Gcd, PartitionId};

use crate::access::{Access, grant};
use crate::error::Error;
use crate::json::to_json;
use crate::names::file_names;

/// The longest config file that is read, in bytes. A file of 256 IPUs is smaller.
const LARGEST_FILE: usize = 1 << 16;

/// The longest mark that is read, in bytes.
const LONGEST_MARK: u64 = 100;

/// The users who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// All users.
    Everyone,
    /// This user, by numeric id.
    Only(u32),
}

/// The open directory of config files.
///
/// All paths are relative to the open directory, and no symlink in it is followed. Nothing in the directory
/// can therefore lead a write elsewhere. A file appears under its name complete and with its final permissions,
/// in place of an older file, or not at all. All files but those of partitions are durable when they appear.
#[derive(Debug)]
pub struct IpuofDir {
    fd: OwnedFd,
    path: PathBuf,
    ways: &'static [Access],
}

impl IpuofDir {
    /// Opens the directory.
    ///
    /// # Errors
    /// The path does not exist, is no directory, or cannot be read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        match open(path, flags, Mode::empty()) {
            Ok(fd) => Ok(Self { fd, path: path.into(), ways: &Access::ALL }),
            Err(errno) => {
                Err(Error::Refused { doing: "open directory", path: path.into(), source: errno.into() })
            }
        }
    }

    /// Checks that files can be written. Returns the way in which a user would be allowed to read them.
    ///
    /// # Errors
    /// The reason why files cannot be written, each time in equal words.
    pub fn probe(&self) -> Result<Access, Error> {
        static PROBES: AtomicU32 = AtomicU32::new(0);
        // Any user id but our own shows the way that works.
        let somebody_else = geteuid().as_raw() ^ 1;
        let name = format!(".probe-{}-{}", process::id(), PROBES.fetch_add(1, Ordering::Relaxed));
        let written =
            self.prepare(&name, |to| to.write_all(&[b' '; LARGEST_FILE]), somebody_else, self.ways, flushed);
        let removed = self.unlink(&name);
        let access = written.and_then(|access| removed.map(|()| access));
        let access = access.and_then(|access| self.can_be_entered().map(|()| access));
        access.map_err(|error| match error {
            Error::Refused { source, .. } => {
                Error::Refused { doing: "write to", path: self.path.clone(), source }
            }
            other => other,
        })
    }

    /// Checks that somebody besides the owner can enter the directory. An ACL shows in the bits of the group.
    fn can_be_entered(&self) -> Result<(), Error> {
        let refused =
            |errno: Errno| Error::Refused { doing: "look at", path: self.path.clone(), source: errno.into() };
        let mode = fstat(&self.fd).map_err(refused)?.st_mode & 0o7777;
        if mode & 0o011 == 0 { Err(Error::Closed { path: self.path.clone(), mode }) } else { Ok(()) }
    }

    /// Returns the text of the mark, a small file with this name that identifies the directory. `None` if
    /// there is no mark.
    ///
    /// # Errors
    /// The mark cannot be read.
    pub fn mark(&self, name: &str) -> Result<Option<String>, Error> {
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let file = match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            // slurm-vipu makes no symlink or socket under this name.
            Err(Errno::ENOENT | Errno::ELOOP | Errno::ENXIO) => return Ok(None),
            Err(errno) => return Err(self.refused("open", name, errno.into())),
        };
        let read = |file: File| -> io::Result<Option<String>> {
            if !file.metadata()?.is_file() {
                return Ok(None);
            }
            let mut text = Vec::new();
            file.take(LONGEST_MARK).read_to_end(&mut text)?;
            Ok(Some(String::from_utf8_lossy(&text).trim().to_owned()))
        };
        read(file).map_err(|error| self.refused("read", name, error))
    }

    /// Writes the mark.
    ///
    /// # Errors
    /// The mark cannot be written.
    pub fn set_mark(&self, name: &str, mark: &str) -> Result<(), Error> {
        self.put(name, |to| writeln!(to, "{mark}"), geteuid().as_raw(), self.ways)?;
        self.sync()
    }

    /// Writes the files of a partition, one for each GCD, readable by the user `reader`. [`IpuofDir::flush`]
    /// makes them durable.
    ///
    /// # Errors
    /// A file could not be written. Others may be there already, and [`IpuofDir::remove`] removes them.
    pub fn publish(&self, partition: &PartitionId, gcds: &[Gcd], reader: u32) -> Result<Access, Error> {
        self.can_be_entered()?;
        let count = u32::try_from(gcds.len()).unwrap_or(u32::MAX);
        let mut worst = None;
        for (name, gcd) in file_names(partition, count).zip(gcds) {
            let json = to_json(gcd).map_err(|error| self.refused("render", &name, error))?;
            let fill = |name: &str| self.prepare(name, |to| to.write_all(&json), reader, self.ways, closed);
            worst = worst.max(Some(self.place(&name, fill)?));
        }
        worst.ok_or_else(|| Error::NoGcd(partition.clone()))
    }

    /// Makes the files of a partition with `gcds` GCDs durable.
    ///
    /// # Errors
    /// A file cannot be made durable. It may be lost, or empty, after a crash of this host.
    pub fn flush(&self, partition: &PartitionId, gcds: u32) -> Result<(), Error> {
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        for name in file_names(partition, gcds) {
            let flushed = openat(&self.fd, name.as_str(), flags, Mode::empty()).and_then(|file| fsync(&file));
            flushed.map_err(|errno| self.refused("flush", &name, errno.into()))?;
        }
        self.sync()
    }

    /// Removes the files of a partition with `gcds` GCDs, and unfinished files of an interrupted
    /// [`IpuofDir::publish`]. A missing file is no error.
    ///
    /// # Errors
    /// A file could not be removed. All others were tried nevertheless.
    pub fn remove(&self, partition: &PartitionId, gcds: u32) -> Result<(), Error> {
        let names = file_names(partition, gcds).flat_map(|name| [temporary(&name), name]);
        let results: Vec<_> = names.map(|name| self.unlink(&name)).collect();
        results.into_iter().collect::<Result<(), _>>()?;
        self.sync()
    }

    /// Writes a file that belongs to no partition, in place of an older one. `content` writes the content.
    ///
    /// # Errors
    /// The file could not be written, or the file system cannot keep other users from reading it.
    pub fn write(
        &self,
        name: &str,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
        readers: Readers,
    ) -> Result<(), Error> {
        let (reader, ways): (_, &[Access]) = match readers {
            Readers::Everyone => (geteuid().as_raw(), &[Access::WorldReadable]),
            Readers::Only(user) => (user, &[Access::Owner, Access::Acl]),
        };
        self.put(name, content, reader, ways).map(drop)
    }

    /// Removes a file that belongs to no partition. A missing file is no error.
    ///
    /// # Errors
    /// The file could not be removed.
    pub fn remove_file(&self, name: &str) -> Result<(), Error> {
        self.unlink(name)
    }

    /// Writes a durable file under its final name.
    fn put(&self, name: &str, content: impl Content, reader: u32, ways: &[Access]) -> Result<Access, Error> {
        self.place(name, |temporary| self.prepare(temporary, content, reader, ways, flushed))
    }

    /// Writes a file with `fill` under another name, and gives it its final name.
    fn place(&self, name: &str, fill: impl FnOnce(&str) -> Result<Access, Error>) -> Result<Access, Error> {
        let temporary = temporary(name);
        let placed = fill(&temporary).and_then(|access| {
            renameat(&self.fd, temporary.as_str(), &self.fd, name)
                .map(|()| access)
                .map_err(|errno| self.refused("write", name, errno.into()))
        });
        if placed.is_err() {
            // The first error matters. An unfinished file is removed together with the partition.
            let _ = self.unlink(&temporary);
        }
        placed
    }

    /// Makes a file with its final permissions, and ends the write with `finish`.
    fn prepare(
        &self,
        name: &str,
        content: impl Content,
        reader: u32,
        ways: &[Access],
        finish: fn(File) -> io::Result<()>,
    ) -> Result<Access, Error> {
        let file = self.create(name).map_err(|errno| self.refused("create", name, errno.into()))?;
        let fill = |file: File| -> io::Result<Access> {
            let mut buffered = BufWriter::new(&file);
            content(&mut buffered)?;
            buffered.flush()?;
            drop(buffered);
            let access = grant(&file, reader, ways)?;
            finish(file)?;
            Ok(access)
        };
        fill(file).map_err(|error| self.refused("write", name, error))
    }

    /// Creates a new file, in place of an unfinished one of an interrupted write.
    fn create(&self, name: &str) -> nix::Result<File> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let create = || openat(&self.fd, name, flags, Mode::S_IRUSR | Mode::S_IWUSR).map(File::from);
        match create() {
            Err(Errno::EEXIST) => {
                unlinkat(&self.fd, name, UnlinkatFlags::NoRemoveDir)?;
                create()
            }
            result => result,
        }
    }

    fn unlink(&self, name: &str) -> Result<(), Error> {
        match unlinkat(&self.fd, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(errno) => Err(self.refused("remove", name, errno.into())),
        }
    }

    /// Makes the names in the directory durable, if the file system can.
    fn sync(&self) -> Result<(), Error> {
        match fsync(&self.fd) {
            Ok(()) | Err(Errno::EINVAL) => Ok(()),
            Err(errno) => Err(self.refused("sync", ".", errno.into())),
        }
    }

    fn refused(&self, doing: &'static str, name: &str, source: io::Error) -> Error {
        Error::Refused { doing, path: self.path.join(name), source }
    }
}

/// Writes the content of a file.
trait Content: FnOnce(&mut dyn Write) -> io::Result<()> {}

impl<T: FnOnce(&mut dyn Write) -> io::Result<()>> Content for T {}

/// Closes a file that is durable by then.
fn flushed(file: File) -> io::Result<()> {
    file.sync_all()
}

/// Closes a file. A network file system sends the content to its server by then, and may refuse it.
fn closed(file: File) -> io::Result<()> {
    Ok(close(file)?)
}

/// The name of a file until it is complete.
fn temporary(name: &str) -> String {
    format!(".{name}.new")
}

#[cfg(test)]
#[path = "directory_tests.rs"]
mod tests;
