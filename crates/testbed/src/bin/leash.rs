//! `testbed-leash [--hostname NAME | --disk FOLDER] UID GID PROGRAM [ARG...]`: runs a program that ends with
//! its holder. With NAME, the program sees that host name. With FOLDER, a small disk is mounted there, which
//! belongs to UID and GID and goes with the program.
//!
//! Standard input is the leash. When no process holds its other end any more, the program and all its
//! descendants are killed. A descendant cannot escape by daemonising, because the leash is its subreaper.
//! When the program ends, the processes that it left behind are killed too. The exit status of the leash is
//! that of the program.
#![forbid(unsafe_code)]

use std::{
    env,
    io::{self, Read},
    os::unix::process::CommandExt,
    process::{Command, ExitCode, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use nix::{
    mount::{MntFlags, MsFlags, mount, umount2},
    sched::{CloneFlags, unshare},
    unistd::sethostname,
};
use rustix::process::{Signal, WaitOptions, WaitStatus, getpid, set_child_subreaper, setsid, wait};
use testbed::process::descendants;

/// The size of a disk in bytes: enough for the state of a small cluster.
const DISK_SIZE: &str = "8m";

fn main() -> Result<ExitCode> {
    let args: Vec<_> = env::args().skip(1).collect();
    let (option, args) = match args.as_slice() {
        [option, value, args @ ..] if option.starts_with("--") => (Some((option.as_str(), value)), args),
        args => (None, args),
    };
    let [uid, gid, program, args @ ..] = args else {
        bail!("usage: testbed-leash [--hostname NAME | --disk FOLDER] UID GID PROGRAM [ARG...]");
    };
    match option {
        Some(("--hostname", name)) => {
            unshare(CloneFlags::CLONE_NEWUTS).context("a host name of its own takes root")?;
            sethostname(name)?;
        }
        Some(("--disk", folder)) => mount_disk(folder, uid, gid)?,
        Some((other, _)) => bail!("there is no option {other}"),
        None => {}
    }
    let ended = hold(program, args, uid, gid);
    if let Some(("--disk", folder)) = option {
        umount2(folder.as_str(), MntFlags::MNT_DETACH)?;
    }
    ended
}

fn mount_disk(folder: &str, uid: &str, gid: &str) -> Result<()> {
    let data = format!("size={DISK_SIZE},mode=0755,uid={uid},gid={gid}");
    let mounted = mount(Some("testbed"), folder, Some("tmpfs"), MsFlags::empty(), Some(data.as_str()));
    mounted.with_context(|| format!("a disk of its own at {folder} takes root"))
}

/// Runs the program until it has ended, or the other end of standard input is closed.
fn hold(program: &str, args: &[String], uid: &str, gid: &str) -> Result<ExitCode> {
    // In its own session the leash gets no signal from a terminal between the holder's death and the
    // clean-up.
    setsid().context("the leash must not lead a process group already")?;
    set_child_subreaper(Some(getpid()))?;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    if rustix::process::geteuid().is_root() {
        command.uid(uid.parse()?).gid(gid.parse()?);
    }
    let child = command.spawn().with_context(|| format!("cannot run {program}"))?;

    let (end, ended) = mpsc::channel();
    let let_go = end.clone();
    thread::spawn(move || kill_from(&ended));
    thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        let _ = let_go.send(());
    });
    let mut code = 1;
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get().cast_unsigned() == child.id() => {
                code = exit_code(status);
                let _ = end.send(());
            }
            Err(rustix::io::Errno::CHILD) => return Ok(code.into()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Kills descendants after a message from `told`, until the main thread finds no child left and ends the
/// process.
fn kill_from(told: &Receiver<()>) {
    let _ = told.recv();
    loop {
        for process in descendants(std::process::id()) {
            let _ = process.signal(Signal::KILL);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the exit code as shells do: 128 plus the number of a signal.
fn exit_code(status: WaitStatus) -> u8 {
    let code = status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
