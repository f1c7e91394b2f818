//! The commands of administrators, which slurmctld carries out.

use std::fs;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use vipu_admin::{Answer, LONGEST_LINE, Request, SOCKET};
use vipu_conf::AdminSocket;

use crate::arguments::{Command, Drained, PartitionCommand};
use crate::error::Failure;
use crate::safe;
use crate::surroundings::Surroundings;

/// The longest wait for slurmctld. It answers at once unless its disk is slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// The directory of SlurmctldPidFile if slurm.conf names none.
const RUN: &str = "/var/run";

/// The request of a command, or none if the command only shows something.
pub(crate) fn request(command: &Command, surroundings: &Surroundings) -> Option<Request> {
    match command.clone() {
        Command::Drain { drained: Drained { ipus, reason }, until } => {
            Some(Request::Drain { ipus, reason, until: until.map(|until| until.after(surroundings)) })
        }
        Command::Resume(Drained { ipus, reason }) => Some(Request::Resume { ipus, reason: Some(reason) }),
        Command::Partition { command: Some(PartitionCommand::Free { id, reason, force }), .. } => {
            Some(Request::Free { partition: id, reason, force })
        }
        Command::Reconcile => Some(Request::Reconcile {}),
        _ => None,
    }
}

/// Has slurmctld carry out a request, and returns its words. `option` is that of `--socket`.
pub(crate) fn carry_out(
    request: &Request,
    option: Option<&Path>,
    surroundings: &Surroundings,
) -> Result<String, Failure> {
    let socket = option.map_or_else(|| configured(surroundings), |path| Ok(path.to_owned()))?;
    let failed = |why: io::Error| Failure::Socket(socket.clone(), words(&why));
    match ask(&socket, request).map_err(failed)? {
        Answer::Done(text) => Ok(safe::cut(&text, safe::LINE) + "\n"),
        Answer::Refused(why) => Err(Failure::Refused(why)),
    }
}

fn ask(socket: &Path, request: &Request) -> io::Result<Answer> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // slurmctld may refuse, and close, before it has read the request.
    let written = stream.write_all(&request.to_line()?);
    let mut line = Vec::new();
    BufReader::new(stream.take(LONGEST_LINE as u64 + 1)).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        written?;
        return Err(io::Error::new(
            ErrorKind::UnexpectedEof,
            "slurmctld closed the connection without an answer",
        ));
    }
    Answer::parse(&line).map_err(|why| io::Error::other(format!("this is no answer of slurmctld: {why}")))
}

/// What went wrong, and what to do.
fn words(why: &io::Error) -> String {
    match why.kind() {
        ErrorKind::PermissionDenied => "only root and SlurmUser may do this".to_owned(),
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => format!(
            "{why}: use svipu on the host of the slurmctld in charge, or give --socket PATH with the path of \
             AdminSocket or of {SOCKET} beside SlurmctldPidFile"
        ),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("slurmctld did not answer within {} s: look at its log", PATIENCE.as_secs())
        }
        _ => why.to_string(),
    }
}

/// The socket by the rule of slurmctld, from the files in the folder of slurm.conf.
fn configured(surroundings: &Surroundings) -> Result<PathBuf, Failure> {
    let beside = surroundings.variable("SLURM_CONF").and_then(|conf| Path::new(conf).parent());
    let folder = beside.map_or_else(|| surroundings.etc.join("slurm"), Path::to_owned);
    match vipu_conf::admin_socket_of(&folder) {
        Some(AdminSocket::At(path)) => Ok(path),
        Some(AdminSocket::None) => Err(Failure::NoSocket(folder.join("vipu.conf"))),
        None => {
            let text = fs::read(folder.join("slurm.conf")).unwrap_or_default();
            let pid_file = String::from_utf8_lossy(&text).lines().find_map(pid_file);
            let directory = pid_file.as_deref().and_then(Path::parent).unwrap_or(Path::new(RUN));
            Ok(directory.join(SOCKET))
        }
    }
}

/// The value of `SlurmctldPidFile` in a line of slurm.conf.
fn pid_file(line: &str) -> Option<PathBuf> {
    let (key, value) = line.split('#').next()?.split_once('=')?;
    key.trim().eq_ignore_ascii_case("SlurmctldPidFile").then(|| PathBuf::from(value.trim().trim_matches('"')))
}
