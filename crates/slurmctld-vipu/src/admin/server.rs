//! The server of the admin socket: one request and one answer for each connection.
//!
//! A peer costs slurmctld little, whatever it does: connections, bytes and time are limited.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use vipu_admin::{Answer, LONGEST_LINE, Request};

/// The time after which connections are accepted again, if the process has no file left for them.
const AFTER_A_FAILURE: Duration = Duration::from_secs(1);

/// The most that peers may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Connections at one time. Further ones are closed at once.
    pub(super) connections: usize,
    /// The time for a peer to write its line, and to take the answer.
    pub(super) patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 16, patience: Duration::from_secs(10) }
    }
}

/// The server. `carry_out` answers the request of a user.
pub(super) struct Server<F> {
    /// The user who may make requests besides root.
    pub(super) slurm_user: u32,
    pub(super) limits: Limits,
    pub(super) carry_out: F,
}

impl<F, A> Server<F>
where
    F: Fn(u32, Request) -> A + Send + Sync + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    /// Answers requests until the future is dropped. Connections that were accepted by then go on.
    pub(super) async fn run(self, listener: UnixListener) {
        let free = Arc::new(Semaphore::new(self.limits.connections));
        let server = Arc::new(self);
        loop {
            let Ok((peer, _)) = listener.accept().await else {
                sleep(AFTER_A_FAILURE).await;
                continue;
            };
            let Ok(place) = Arc::clone(&free).try_acquire_owned() else {
                say_busy(&peer);
                continue;
            };
            let server = Arc::clone(&server);
            tokio::spawn(async move {
                server.talk(peer).await;
                drop(place);
            });
        }
    }

    /// Answers one request. A peer that is gone needs no answer.
    async fn talk(&self, mut peer: UnixStream) {
        let answer = self.answer(&mut peer).await;
        if let Ok(line) = answer.to_line() {
            let _ = timeout(self.limits.patience, peer.write_all(&line)).await;
        }
    }

    async fn answer(&self, peer: &mut UnixStream) -> Answer {
        let user = match peer.peer_cred() {
            Ok(credentials) => credentials.uid(),
            Err(why) => return Answer::Refused(format!("cannot see who you are: {why}")),
        };
        if user != 0 && user != self.slurm_user {
            return Answer::Refused(format!("only root and SlurmUser may do this, and you are user {user}"));
        }
        let request = match timeout(self.limits.patience, line_of(peer)).await {
            Ok(Ok(line)) => Request::parse(&line).map_err(|why| format!("this is no request: {why}")),
            Ok(Err(why)) => Err(format!("cannot read the request: {why}")),
            Err(_) => Err(format!("no whole line came within {} s", self.limits.patience.as_secs())),
        };
        match request {
            Ok(request) => (self.carry_out)(user, request).await,
            Err(why) => Answer::Refused(why),
        }
    }
}

/// The first line, or what there is of it when it is too long or the peer ends it.
async fn line_of(peer: &mut UnixStream) -> std::io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let longest = LONGEST_LINE as u64 + 1;
    BufReader::new(peer.take(longest)).read_until(b'\n', &mut line).await?;
    Ok(line)
}

/// Answers a peer beyond the limit, without a wait for it.
fn say_busy(peer: &UnixStream) {
    let busy = Answer::Refused("slurmctld is busy with other requests: try again in some seconds".into());
    if let Ok(line) = busy.to_line() {
        let _ = peer.try_write(&line);
    }
}

#[cfg(test)]
mod tests;
