//! A cluster that stays up after the command that started it: one process holds it.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::PathBuf,
};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::stdio::{dup2_stderr, dup2_stdout};

use crate::{Settings, once};

/// The socket at which the holder waits for the word to end.
fn socket() -> Result<PathBuf> {
    Ok(once::cache()?.join("up"))
}

/// Starts a cluster, prints how to use it, lets go of standard output and error, and holds the cluster until [`down`].
pub fn hold(settings: &Settings) -> Result<()> {
    let socket = socket()?;
    ensure!(
        UnixStream::connect(&socket).is_err(),
        "a cluster is up: end it with `cargo xtask kubernetes down`"
    );
    let _ = fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket)?;
    let cluster = settings.up()?;
    println!("the cluster is up; to use it:");
    println!("    export KUBECONFIG={}", cluster.kubeconfig().display());
    println!("    {} get all --all-namespaces", cluster.kubectl_program().display());
    println!("to end it:\n    cargo xtask kubernetes down");
    let null = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    let mut caller = loop {
        let (mut caller, _) = listener.accept()?;
        // Without a word, another holder has looked whether this one is there.
        if caller.read(&mut [0])? > 0 {
            break caller;
        }
    };
    let ended = cluster.down();
    fs::remove_file(socket)?;
    ended.or_else(|error| Ok(write!(caller, "{error:#}")?))
}

/// Ends the cluster that [`hold`] holds.
pub fn down() -> Result<()> {
    let mut holder = UnixStream::connect(socket()?).context("no cluster is up")?;
    holder.write_all(b"!")?;
    let mut told = String::new();
    holder.read_to_string(&mut told)?;
    if told.is_empty() { Ok(()) } else { bail!(told) }
}
