//! Reads the audit log, which is beside the whole status document.

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use slurm_conf::SlurmConf;
use vipu_status::{AUDIT_LOG, AuditLine, OLD_AUDIT_LOGS, file_names};

use crate::read_document::{self, Source};
use crate::slurm_files::{SlurmFiles, slurm_conf_path};
use crate::surroundings::Surroundings;

/// The greatest length of a line in bytes. A longer one is none of slurmctld's.
const MOST_LINE: u64 = 64 << 10;

/// The greatest part of one file that is read, in bytes. slurmctld begins a new file at 16 MiB.
const MOST_FILE: u64 = 32 << 20;

/// The reason why there is no audit log. Each text is a part of a sentence.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoAuditLog {
    /// The document is not the whole one, beside which the log is, and the log is not found by slurm.conf.
    Elsewhere,
    /// The user may not read the log.
    Forbidden,
    /// No file of the log exists.
    Missing,
    /// The log cannot be read, for this reason.
    Broken(String),
}

/// The log beside the whole document. Another document may be that of the cluster of this host's slurm.conf, whose
/// StateSaveLocation has the log, if this user may read it.
pub(crate) fn file(
    source: &Source,
    cluster: &str,
    surroundings: &Surroundings,
) -> Result<PathBuf, NoAuditLog> {
    if let Source::File(document) = source
        && document.file_name().is_some_and(|name| name == file_names::WHOLE)
    {
        return Ok(document.with_file_name(AUDIT_LOG));
    }
    let conf = SlurmConf::read(&slurm_conf_path(surroundings), &mut SlurmFiles).ok();
    // Slurm writes the name in small letters.
    let conf =
        conf.filter(|conf| conf.value("ClusterName").is_some_and(|own| own.eq_ignore_ascii_case(cluster)));
    let log = conf.and_then(|conf| Some(Path::new(conf.value("StateSaveLocation")?).join(AUDIT_LOG)));
    log.filter(|log| access(log, AccessFlags::R_OK).is_ok()).ok_or(NoAuditLog::Elsewhere)
}

/// Calls `each` with the lines of the audit log that `wanted` chooses by their text, the oldest first. Lines that
/// are too long, wrong or not complete are skipped. Rotation meanwhile loses no line.
///
/// # Errors
/// The reason why there is no log.
pub(crate) fn read(
    log: &Path,
    wanted: impl Fn(&str) -> bool,
    mut each: impl FnMut(AuditLine),
) -> Result<(), NoAuditLog> {
    let files = open_all(log)?;
    for file in files.into_iter().rev() {
        let mut parsed = |line: &[u8]| {
            if let Ok(line) = str::from_utf8(line)
                && wanted(line)
                && let Ok(line) = serde_json::from_str(line)
            {
                each(line);
            }
        };
        lines(BufReader::with_capacity(256 << 10, file.take(MOST_FILE)), &mut parsed).map_err(broken)?;
    }
    Ok(())
}

/// Opens the log and the older ones, the newest first, so that a file that gets an older name meanwhile is not
/// missed. Such a file is found twice.
fn open_all(log: &Path) -> Result<Vec<File>, NoAuditLog> {
    let older = (1..=OLD_AUDIT_LOGS).map(|number| PathBuf::from(format!("{}.{number}", log.display())));
    let mut files: Vec<(File, Metadata)> = Vec::new();
    for path in std::iter::once(log.to_owned()).chain(older) {
        match read_document::open(&path) {
            Ok((file, facts)) => {
                if !files.iter().any(|(_, known)| (known.dev(), known.ino()) == (facts.dev(), facts.ino())) {
                    files.push((file, facts));
                }
            }
            Err(why) if why.kind() == ErrorKind::NotFound => {}
            Err(why) => return Err(broken(why)),
        }
    }
    match files.is_empty() {
        true => Err(NoAuditLog::Missing),
        false => Ok(files.into_iter().map(|(file, _)| file).collect()),
    }
}

fn broken(why: io::Error) -> NoAuditLog {
    match why.kind() {
        ErrorKind::PermissionDenied => NoAuditLog::Forbidden,
        _ => NoAuditLog::Broken(why.to_string()),
    }
}

/// Calls `each` with the complete lines of usual length.
fn lines(mut text: impl BufRead, each: &mut impl FnMut(&[u8])) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if text.by_ref().take(MOST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        match line.last() {
            Some(b'\n') => each(&line),
            _ => drop(text.skip_until(b'\n')?),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn read(dir: &Path) -> Result<Vec<i64>, NoAuditLog> {
        let mut found = Vec::new();
        super::read(&dir.join(AUDIT_LOG), |_| true, |line| found.push(line.at)).map(|()| found)
    }

    fn line(at: i64) -> String {
        serde_json::to_string(&AuditLine { at, ..AuditLine::default() }).unwrap() + "\n"
    }

    #[test]
    fn cli_audit_log_is_read_from_the_oldest_line_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(format!("{AUDIT_LOG}{name}"));
        assert_eq!(read(dir.path()), Err(NoAuditLog::Missing));
        fs::write(path(""), line(5) + &line(6)).unwrap();
        fs::write(path(".1"), line(3) + &line(4)).unwrap();
        fs::write(path(".4"), line(1) + &line(2)).unwrap();
        // A rotation at the time of the reading shows a file under two names.
        fs::hard_link(path(".1"), path(".2")).unwrap();
        assert_eq!(read(dir.path()), Ok(vec![1, 2, 3, 4, 5, 6]));
    }

    #[test]
    fn cli_audit_log_with_hostile_lines() {
        let dir = tempfile::tempdir().unwrap();
        let long = format!("{{\"at\":2,\"what\":\"{}\"}}\n", "x".repeat(1 << 20));
        let wrong = "\n\0\u{1b}[2J\n{\"at\":\"x\"}\n[[[[\n";
        let half = &line(9)[..20];
        fs::write(dir.path().join(AUDIT_LOG), [&line(1), &long, wrong, &line(3), half].concat()).unwrap();
        assert_eq!(read(dir.path()), Ok(vec![1, 3]));
        // A FIFO has no writer, and a device no end.
        for (number, target) in [(1, "/dev/zero"), (2, ".")] {
            let path = dir.path().join(format!("{AUDIT_LOG}.{number}"));
            symlink(target, &path).unwrap();
            assert!(matches!(read(dir.path()), Err(NoAuditLog::Broken(_))), "{target}");
            fs::remove_file(path).unwrap();
        }
    }
}
