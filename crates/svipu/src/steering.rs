//! The commands of administrators, which slurmctld carries out.

use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::{AccessFlags, access};
use slurm_conf::SlurmConf;
use vipu_admin::{Answer, LONGEST_LINE, Request, SOCKET};
use vipu_conf::AdminSocket;

use crate::arguments::options::{Drained, Steering};
use crate::error::Failure;
use crate::safe;
use crate::slurm_files::{SlurmFiles, slurm_conf_path};
use crate::surroundings::Surroundings;

/// The longest wait for slurmctld. It answers at once unless its disk is slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// The request of a command.
pub(crate) fn request(command: &Steering, surroundings: &Surroundings) -> Request {
    match command {
        Steering::Drain { drained: Drained { ipus, reason }, until } => Request::Drain {
            ipus: ipus.clone(),
            reason: reason.clone(),
            until: until.map(|until| until.after(surroundings)),
        },
        Steering::Resume(Drained { ipus, reason }) => {
            Request::Resume { ipus: ipus.clone(), reason: Some(reason.clone()) }
        }
        Steering::Reconcile => Request::Reconcile {},
    }
}

/// Whether the user is to use the admin socket: root does, those who can write it, and those who name one.
pub(crate) fn is_administrator(option: Option<&Path>, surroundings: &Surroundings) -> bool {
    let may_write = |socket: PathBuf| access(&socket, AccessFlags::W_OK).is_ok();
    option.is_some() || surroundings.user == 0 || configured(surroundings).is_ok_and(may_write)
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
    let slurm_conf = slurm_conf_path(surroundings);
    let folder = slurm_conf.parent().unwrap_or(Path::new("."));
    match vipu_conf::admin_socket_of(folder) {
        Some(AdminSocket::At(path)) => Ok(path),
        Some(AdminSocket::None) => Err(Failure::NoSocket(folder.join("vipu.conf"))),
        None => {
            let conf = SlurmConf::read(&slurm_conf, &mut SlurmFiles).ok();
            Ok(vipu_admin::socket_beside(conf.as_ref().and_then(|conf| conf.value("SlurmctldPidFile"))))
        }
    }
}
