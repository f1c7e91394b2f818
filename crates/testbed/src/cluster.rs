//! A running cluster.

mod account;
mod checks;
pub(crate) mod daemon;
pub(crate) mod folder_layout;
mod injected_faults;
pub(crate) mod logs;
mod ports;

pub use account::Account;
pub use folder_layout::Layout;
pub use injected_faults::{Disk, Failpoint};

use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicU32},
    time::Duration,
};

use anyhow::Result;

use crate::{
    JobId, Mock, Settings,
    conf_files::{self, Addresses},
    mock_controller::MockPorts,
    process::{Lead, Leashed},
    say, wait_until,
};
use daemon::Daemon;
use logs::{Logs, Verdict};
use ports::Ports;

/// How long a daemon may take until it answers.
const START_LIMIT: Duration = Duration::from_secs(300);

/// munge, slurmctld, slurmd and a mock controller in a folder of their own.
///
/// Ends with [`Cluster::finish`], which checks what must hold after every test; a cluster
/// dropped without it fails its test. Whatever happens to the test, no process is left.
#[derive(Debug)]
pub struct Cluster {
    // Dropped in this order: the logs are looked at first, the daemons go next, the folder last.
    pub(crate) verdict: Verdict,
    pub(crate) slurmctld: Mutex<Option<Leashed>>,
    pub(crate) backup: Mutex<Option<Leashed>>,
    /// By the node's index; none while it is stopped.
    pub(crate) slurmd: Mutex<Vec<Option<Leashed>>>,
    pub(crate) mocks: Vec<Mock>,
    pub(crate) munged: Leashed,
    disk: Option<Leashed>,
    pub(crate) lead: Lead,
    pub(crate) at: Addresses,
    _ports: Ports,
    pub(crate) slurm: Account,
    pub(crate) root: Account,
    pub(crate) settings: Settings,
    pub(crate) expected: Mutex<Vec<String>>,
    pub(crate) submitted: Mutex<BTreeSet<JobId>>,
    pub(crate) commands: AtomicU32,
    pub(crate) layout: Layout,
}

impl Cluster {
    /// What a test asks for, to begin with.
    #[must_use]
    pub fn settings() -> Settings {
        Settings::default()
    }

    pub(crate) fn start(settings: Settings) -> Result<Self> {
        let (slurm, root) = (Account::named("slurm")?, Account::root()?);
        let layout = Layout::make(&slurm)?;
        if settings.failpoints {
            layout.make_failpoints(&slurm)?;
        }
        let mut ports = Ports::reserve()?;
        let mut port = || ports.take();
        let vipu: Vec<_> = (0..=settings.more_mocks.len())
            .map(|_| anyhow::Ok(MockPorts { api: port()?, control: port()? }))
            .collect::<Result<_>>()?;
        let (slurmctld, first_slurmd) = (ports.take()?, ports.take()?);
        for _ in 1..settings.nodes {
            ports.take()?;
        }
        let at = Addresses { slurmctld, first_slurmd, vipu: vipu.iter().map(|ports| ports.api).collect() };
        conf_files::write(&layout, &settings, &at)?;
        let lead = Lead::new()?;
        let start = |daemon: &Daemon| daemon.start(&lead, &layout);

        let disk = settings.small_disk.map(|disk| disk.mount(&lead, &layout, &slurm)).transpose()?;
        say(format!("starting munged, mock-vipu-server, slurmctld and {} slurmd", settings.nodes));
        daemon::write_munge_key(&layout)?;
        let munged = start(&daemon::munged(&layout, &root))?;
        let mocks = vipu.into_iter().enumerate();
        let mocks: Vec<_> =
            mocks.map(|mock| Mock::start(&lead, &layout, &root, mock, &settings)).collect::<Result<_>>()?;
        wait_until("munged's socket", START_LIMIT, || Ok(layout.munge_socket().exists()))?;
        mocks.iter().try_for_each(|mock| mock.connect(START_LIMIT))?;
        let slurmctld = start(&daemon::slurmctld(&slurm, &settings, &[]))?;
        let backup = settings.backup.then(|| start_backup(&lead, &layout, &slurm)).transpose()?;
        let slurmd = (0..settings.nodes).map(|index| start(&daemon::slurmd(&root, index)).map(Some));
        let cluster = Self {
            verdict: Verdict::pending(Logs::new(&layout)),
            slurmctld: Mutex::new(Some(slurmctld)),
            backup: Mutex::new(backup),
            slurmd: Mutex::new(slurmd.collect::<Result<_>>()?),
            mocks,
            munged,
            disk,
            at,
            _ports: ports,
            slurm,
            root,
            expected: Mutex::new(settings.expected.clone()),
            settings,
            submitted: Mutex::default(),
            commands: AtomicU32::new(0),
            lead,
            layout,
        };
        if let Err(error) = cluster.await_nodes().and_then(|()| cluster.await_backup()) {
            cluster.abandon(&error);
            return Err(error);
        }
        Ok(cluster)
    }

    /// Waits until all nodes are idle, as they are after a start or a restart with no jobs.
    ///
    /// # Errors
    /// When they are not in time.
    pub fn await_nodes(&self) -> Result<()> {
        if self.settings.cloud.is_some() {
            return self.await_cloud();
        }
        let what = format!("{} idle nodes", self.settings.nodes);
        wait_until(&what, START_LIMIT, || {
            self.slurmctld()?;
            let states = self.command("sinfo").args(&["-h", "-N", "-o", "%N %T"]).output()?.stdout;
            // A node has a line in each of its Slurm partitions.
            let idle: BTreeSet<_> = states.lines().filter(|line| line.ends_with(" idle")).collect();
            Ok(idle.len() == usize::from(self.settings.nodes))
        })
    }

    /// The folder.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The mock controller; with several, the first.
    #[must_use]
    pub fn mock(&self) -> &Mock {
        &self.mocks[0]
    }

    /// The mock controller of this number, from 0.
    #[must_use]
    pub fn controller(&self, number: usize) -> &Mock {
        &self.mocks[number]
    }

    /// Lines of slurmctld's and the nodes' logs that hold `part` are no fault from here on.
    pub fn expect_log(&self, part: &str) {
        locked(&self.expected).push(part.into());
    }

    /// Gives the cluster up after a failure: prints the logs, or says where they stay; checks nothing.
    pub fn abandon(mut self, why: &anyhow::Error) {
        if self.settings.logs_stay {
            self.layout.keep();
            eprintln!("failed: {why:#}\nthe daemons' logs stay in {}", self.layout.logs().display());
            self.verdict.passed();
        } else {
            self.verdict.failed(why);
        }
    }

    /// Leaves the cluster running after this process.
    ///
    /// # Errors
    /// When it cannot be handed over.
    pub fn keep(self) -> Result<KeptCluster> {
        let Self { verdict, slurmctld, backup, slurmd, mocks, munged, disk, lead, mut layout, .. } = self;
        verdict.passed();
        let environment = layout.root().join("environment");
        fs::write(&environment, format!("export SLURM_CONF={}\n", layout.conf("slurm.conf").display()))?;
        let kept = KeptCluster { folder: layout.root().to_owned(), environment, holder: lead.hand_over()? };
        layout.keep();
        let controllers =
            [slurmctld, backup].map(|daemon| daemon.into_inner().unwrap_or_else(PoisonError::into_inner));
        let slurmd = slurmd.into_inner().unwrap_or_else(PoisonError::into_inner);
        let others = slurmd
            .into_iter()
            .flatten()
            .chain(disk)
            .chain(mocks.into_iter().map(Mock::into_process))
            .chain([munged]);
        for daemon in controllers.into_iter().flatten().chain(others) {
            daemon.let_run();
        }
        Ok(kept)
    }
}

/// A cluster that nobody waits for any more.
#[derive(Debug)]
pub struct KeptCluster {
    /// Its folder.
    pub folder: PathBuf,
    /// A file to source in a shell: Slurm's commands work on the cluster after it.
    pub environment: PathBuf,
    /// The process that holds it: killing it ends the cluster.
    pub holder: u32,
}

/// A slurmctld that finds the file of the cluster's name created but not yet written by the other ends at once.
fn start_backup(lead: &Lead, layout: &Layout, slurm: &Account) -> Result<Leashed> {
    let named = layout.state().join("clustername");
    wait_until("slurmctld to note the cluster's name", START_LIMIT, || {
        Ok(fs::metadata(&named).is_ok_and(|file| file.len() > 0))
    })?;
    daemon::backup(slurm, layout).start(lead, layout)
}

/// Locks, also after another thread's panic: the test fails anyway.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
