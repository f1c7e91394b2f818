//! `svipu partition free`. Administrators use the admin socket. Users cannot reach it: they make a request beside
//! the status document, which slurmctld takes.

use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};
use std::{fs, process};

use vipu_admin::{Request, UserRequest};
use vipu_status::{Partition, State, Status, file_names};
use vipu_types::{Words, words};

use crate::arguments::options::PartitionCommand;
use crate::error::Failure;
use crate::read_document::Source;
use crate::surroundings::Surroundings;
use crate::{find_document, names, safe, steering};

/// The longest wait for a document that shows the end. slurmctld takes a request and writes the document in two
/// seconds, but other hosts may see both some seconds later.
const PATIENCE: Duration = Duration::from_secs(20);

/// The time between two looks at the document.
const LOOK: Duration = Duration::from_millis(500);

/// Has slurmctld remove a partition, and returns what happened. `source` finds the document.
pub(crate) fn run(
    command: &PartitionCommand,
    socket: Option<&Path>,
    source: impl FnOnce() -> Result<Source, Failure>,
    surroundings: &Surroundings,
) -> Result<String, Failure> {
    let PartitionCommand::Free { id, reason, force } = command;
    if !*force && !steering::is_administrator(socket, surroundings) {
        let request = UserRequest::Free { partition: id.clone(), reason: reason.clone() };
        return of_user(id, &request, &source()?, surroundings, PATIENCE);
    }
    let reason = reason.clone().ok_or(Failure::NoReason)?;
    steering::carry_out(&Request::Free { partition: id.clone(), reason, force: *force }, socket, surroundings)
}

fn of_user(
    id: &str,
    request: &UserRequest,
    source: &Source,
    surroundings: &Surroundings,
    patience: Duration,
) -> Result<String, Failure> {
    let Source::File(path) = source else {
        return Err(words!("{source} takes no requests: name the document in StatusDir with --status").into());
    };
    let read = || find_document::read(source, surroundings.user);
    let status = read()?;
    let partition = own_kept(&status, id, surroundings)?;
    let done = format!(
        "{} was kept for job {} and is being removed\n",
        safe::cut(id, safe::LINE),
        names::job(partition.job.as_deref())
    );
    let target = request.to_target().map_err(|why| words!("the request: {why}"))?;
    let link = make(&path.with_file_name(file_names::requests(&status.writer.cluster)), &target)?;
    let began = Instant::now();
    while began.elapsed() < patience {
        // A document that is being replaced, or cannot be read for a moment, is read the next time.
        if read().is_ok_and(|status| is_over(&status, partition)) {
            return Ok(done);
        }
        sleep(LOOK);
    }
    let hint = find_document::warning(&status, surroundings.now);
    Err(withdraw(&link, id, hint.as_deref().unwrap_or("see slurmctld's log")).into())
}

/// The partition with this id, if it is kept for a job of the user. The error tells why it is not.
fn own_kept<'a>(status: &'a Status, id: &str, surroundings: &Surroundings) -> Result<&'a Partition, Words> {
    let shown = safe::cut(id, 40);
    let found = status.partitions.iter().find(|it| it.id.as_deref() == Some(id));
    if found.is_some_and(|it| it.state == State::Idle) {
        return Err(words!(
            "{shown} is idle and no user's: root or SlurmUser can free it on the host of slurmctld"
        ));
    }
    let Some((partition, job)) = found.and_then(|it| Some((it, it.job.as_deref()?))) else {
        return Err(words!(
            "partition {shown} is unknown, or of another user: `svipu --me partitions` lists yours"
        ));
    };
    if job.user != surroundings.user {
        let owner = surroundings.users.name(job.user).unwrap_or_else(|| job.user.to_string());
        return Err(words!(
            "{shown} is of user {owner}: only this user can free it, and root or SlurmUser on the host of slurmctld"
        ));
    }
    let name = names::job(Some(job));
    match partition.state {
        State::Kept => Ok(partition),
        State::Resetting => Err(words!("{shown} is not kept: job {name} has ended, and it is being reset")),
        State::Ending | State::Removing => Err(words!("{shown} is being removed already")),
        _ => Err(words!(
            "{shown} is not kept: job {name} has it, and `scancel {name}` ends the job and removes the partition"
        )),
    }
}

/// Whether a partition is not kept any more.
fn is_over(status: &Status, partition: &Partition) -> bool {
    // The id may be hidden in a document that was written a moment ago.
    !status.partitions.iter().any(|it| it.key == partition.key && it.state == State::Kept)
}

/// Makes a request under a name of its own.
fn make(dir: &Path, target: &str) -> Result<PathBuf, Words> {
    let nanos = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let link = dir.join(format!("{}.{nanos}", process::id()));
    let failed = |why: io::Error| {
        let hint = match why.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                "slurmctld makes this directory beside each document in StatusDir: name such a document with \
                 --status; slurmctld's log says if it cannot make it"
            }
            _ => "an administrator can free the partition on the host of slurmctld",
        };
        words!("cannot make a request in {}: {why}; {hint}", dir.display())
    };
    symlink(target, &link).map(|()| link).map_err(failed)
}

/// Takes back a request without an answer, and tells what is known.
fn withdraw(link: &Path, id: &str, hint: &str) -> Words {
    match fs::remove_file(link) {
        Ok(()) => words!(
            "slurmctld has not taken the request, and svipu has withdrawn it, so that {id} stays: {hint}"
        ),
        Err(why) if why.kind() == ErrorKind::NotFound => words!(
            "slurmctld has taken the request, but the document shows no end yet: see `svipu partition {id}`"
        ),
        Err(why) => {
            words!("slurmctld has not taken the request, and svipu cannot withdraw {}: {why}", link.display())
        }
    }
}

#[cfg(test)]
mod tests;
