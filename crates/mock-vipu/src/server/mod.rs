//! A Pod on the network.

mod access;
mod listener;
mod service;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufReader, BufWriter, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::transport::Server;
use vipu_client::Call;

use crate::control;
use crate::pod::{
    CallFate, DoubleOwner, Fault, Hardware, Incident, Nanos, PartitionRecord, Pod, Refusal, Rpc, Saved,
    Settings, double_owners,
};
pub use access::{Authority, Signed, Tls, User};

#[derive(Clone, Debug)]
pub struct Options {
    pub hardware: Hardware,
    pub settings: Settings,
    /// The address at which the server listens; port 0 for any free port.
    pub listen: SocketAddr,
    /// The file that keeps the state. The server reads it at the start if it exists.
    pub state_file: Option<PathBuf>,
    /// TLS for the API; `None`: cleartext.
    pub tls: Option<Tls>,
    /// The users that may call; empty: no check of users.
    pub users: Vec<User>,
}

impl Options {
    /// Serves `hardware` with the default behaviour, on a free port of the loopback address.
    pub fn new(hardware: Hardware) -> Self {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let settings = Settings::default();
        Self { hardware, settings, listen, state_file: None, tls: None, users: Vec::new() }
    }
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct MockServer {
    mock: Arc<Mock>,
    address: SocketAddr,
    stop: CancellationToken,
    _stop_on_drop: DropGuard,
}

impl MockServer {
    /// Starts to serve, in tasks of the current tokio runtime.
    pub async fn start(options: Options) -> Result<Self> {
        let mut api = Server::builder();
        if let Some(tls) = &options.tls {
            api = api.tls_config(tls.into()).context("a certificate or key for TLS is of no use")?;
        }
        let mut pod = Pod::new(options.hardware, options.settings)?;
        if let Some(file) = &options.state_file {
            recall(&mut pod, file).with_context(|| format!("state file {}", file.display()))?;
        }
        let stop = CancellationToken::new();
        let opened = listener::open(options.listen, stop.clone());
        let (address, listener, connections) =
            opened.with_context(|| format!("cannot listen at {}", options.listen))?;
        let shared = Shared { pod, rpcs: BTreeMap::new() };
        let (shared, clock, cleared) = (Mutex::new(shared), Clock::start(), Arc::default());
        let (state_file, users) = (options.state_file, options.users);
        let mock = Arc::new(Mock { shared, clock, listener, state_file, users, cleared });
        let routes = service::routes(Arc::clone(&mock));
        let serving = api.add_routes(routes).serve_with_incoming(ReceiverStream::new(connections));
        tokio::spawn(async move {
            if let Err(error) = serving.await {
                tracing::error!(%error, "cannot serve any more");
            }
        });
        Ok(Self { mock, address, _stop_on_drop: stop.clone().drop_guard(), stop })
    }

    /// Lets [`control::Control`] steer this server from another process; port 0 for any free port.
    pub async fn serve_control(&self, address: SocketAddr) -> Result<SocketAddr> {
        let serving = control::serve(address, Arc::clone(&self.mock), self.stop.clone()).await;
        serving.with_context(|| format!("cannot listen at {address}"))
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn mock(&self) -> &Mock {
        &self.mock
    }
}

/// Reads the state that an earlier server left, and checks that the file can be written. The real server keeps its state in a file, too.
fn recall(pod: &mut Pod, file: &Path) -> Result<()> {
    match fs::File::open(file) {
        Ok(file) => pod.restore(serde_json::from_reader(BufReader::new(file))?)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    Ok(write_state(file, &pod.save())?)
}

/// Replaces the state file as a whole, so that a server killed at any moment leaves a complete file.
fn write_state(path: &Path, saved: &Saved) -> io::Result<()> {
    let beside = path.with_added_extension("new");
    let mut file = BufWriter::new(fs::File::create(&beside)?);
    serde_json::to_writer(&mut file, saved)?;
    file.flush()?;
    fs::rename(&beside, path)
}

/// Wall-clock time at the start, then tokio's clock. It is never set back, and stands still while a test
/// pauses tokio's clock.
#[derive(Debug)]
struct Clock {
    started_at: Nanos,
    started: tokio::time::Instant,
}

impl Clock {
    fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started_at: Nanos(0) + since_epoch, started: tokio::time::Instant::now() }
    }

    fn now(&self) -> Nanos {
        self.started_at + self.started.elapsed()
    }
}

/// The means to steer a server and to look inside.
#[derive(Debug)]
pub struct Mock {
    shared: Mutex<Shared>,
    clock: Clock,
    listener: listener::Listener,
    state_file: Option<PathBuf>,
    users: Vec<User>,
    /// Notified whenever the faults are cleared.
    cleared: Arc<Notify>,
}

#[derive(Debug)]
struct Shared {
    pod: Pod,
    rpcs: BTreeMap<Rpc, u64>,
}

/// The history of a server since its state began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Every partition that ever existed, oldest first. IPUs are numbered through the Pod.
    pub partitions: Vec<PartitionRecord>,
    /// The number of calls of each method since the server started.
    pub rpcs: BTreeMap<Rpc, u64>,
    /// Every case in which an IPU had two owners. A case is a bug of the mock.
    pub ever_double_owned: Vec<DoubleOwner>,
}

impl Report {
    pub fn present(&self) -> impl Iterator<Item = &PartitionRecord> {
        self.partitions.iter().filter(|record| record.removed.is_none())
    }

    /// Returns the latest partition of this name.
    pub fn partition(&self, id: &str) -> Option<&PartitionRecord> {
        self.partitions.iter().rev().find(|record| record.id == id)
    }

    pub fn calls(&self, call: Call) -> u64 {
        self.rpcs.get(&Rpc(call)).copied().unwrap_or_default()
    }
}

impl Mock {
    pub fn inject(&self, fault: Fault) {
        self.look(|pod, _| pod.inject(fault));
    }

    /// Sends noise in place of all replies from now on.
    pub fn garble(&self) {
        self.listener.garble(true);
    }

    /// Clears all faults, sends held replies, and accepts connections again.
    pub async fn clear(&self) {
        self.look(|pod, _| pod.clear_faults());
        self.listener.garble(false);
        self.accept().await;
        self.cleared.notify_waiters();
    }

    pub fn cause(&self, incident: &Incident) -> Result<(), Refusal> {
        self.change(|pod, now| pod.cause(incident, now))
    }

    /// Cuts all connections and refuses new ones.
    pub async fn refuse(&self) {
        self.listener.set_open(false).await;
    }

    /// Accepts connections again.
    pub async fn accept(&self) {
        self.listener.set_open(true).await;
    }

    pub fn report(&self) -> Report {
        let mut shared = self.shared();
        shared.pod.advance(self.clock.now());
        let partitions = shared.pod.records().to_vec();
        Report { ever_double_owned: double_owners(&partitions), partitions, rpcs: shared.rpcs.clone() }
    }

    fn arrived(&self, call: Call, partition: &str) -> CallFate {
        let mut shared = self.shared();
        *shared.rpcs.entry(Rpc(call)).or_default() += 1;
        shared.pod.faults.on_call(call, partition)
    }

    fn look<T>(&self, look: impl FnOnce(&mut Pod, Nanos) -> T) -> T {
        look(&mut self.shared().pod, self.clock.now())
    }

    /// Changes the Pod and writes the state file before the caller gets the answer.
    fn change<T>(&self, change: impl FnOnce(&mut Pod, Nanos) -> T) -> T {
        let mut shared = self.shared();
        let answer = change(&mut shared.pod, self.clock.now());
        if let Some(file) = &self.state_file
            && let Err(error) = write_state(file, &shared.pod.save())
        {
            tracing::error!(%error, "the state file cannot be written");
        }
        answer
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
