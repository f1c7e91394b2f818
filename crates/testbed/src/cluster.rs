//! A running cluster.

pub(crate) mod accounting;
pub(crate) mod daemon;
pub(crate) mod folder_layout;
mod hosts;
mod injected_faults;
pub(crate) mod logs;
mod one_host;
pub(crate) mod plugin_files;
mod ports;

pub use daemon::Account;
pub use folder_layout::{Layout, permit, write_program};
pub use hosts::{Hosts, RunsCommands};
pub use injected_faults::{Disk, Failpoint};
pub use one_host::OneHost;
pub use plugin_files::Place;
pub use ports::Ports;

use std::{
    collections::BTreeSet,
    fs, mem,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicU32},
    time::Duration,
};

use anyhow::{Context as _, Result};

use crate::{
    JobId, Mock, Settings,
    conf_files::{self, Addresses, node_name},
    mock_controller::MockPorts,
    process::{Lead, Leashed},
    programs, say, wait_until,
};
use accounting::Accounting;
use daemon::Daemon;
use logs::{Logs, Verdict};

const START_LIMIT: Duration = Duration::from_secs(300);

/// A running cluster, of one host by default ([`OneHost`]).
///
/// A cluster of one host ends with [`Cluster::finish`], which checks the invariants. A cluster that is
/// dropped without it fails its test.
#[derive(Debug)]
pub struct Cluster<H = OneHost> {
    pub(crate) hosts: H,
    pub(crate) expected: Mutex<Vec<String>>,
    pub(crate) submitted: Mutex<BTreeSet<JobId>>,
    /// The number of batch scripts written. Jobs are named after them, alike in each cluster.
    pub(crate) scripts: AtomicU32,
}

impl<H: Hosts> Cluster<H> {
    pub(crate) fn new(hosts: H, expected: Vec<String>) -> Self {
        let (expected, submitted) = (Mutex::new(expected), Mutex::default());
        Self { hosts, expected, submitted, scripts: AtomicU32::new(0) }
    }

    /// Waits until all nodes are idle, as they are after a start or a restart with no jobs.
    pub fn await_nodes(&self) -> Result<()> {
        let nodes = self.hosts.nodes().len();
        wait_until(&format!("{nodes} idle nodes"), START_LIMIT, || {
            self.hosts.slurmctld_lives()?;
            let states = self.command("sinfo").args(&["-h", "-N", "-o", "%N %T"]).output()?.stdout;
            // A node has a line in each of its Slurm partitions.
            let idle: BTreeSet<_> = states.lines().filter(|line| line.ends_with(" idle")).collect();
            Ok(idle.len() == nodes)
        })
    }

    /// The mock controller. If there are several, the first.
    pub fn mock(&self) -> &Mock {
        self.controller(0)
    }

    /// The mock controller of this number, counted from 0.
    pub fn controller(&self, number: usize) -> &Mock {
        &self.hosts.mocks()[number]
    }

    /// Accepts lines with `part` in the logs of slurmctld and the nodes from here on.
    pub fn expect_log(&self, part: &str) {
        locked(&self.expected).push(part.into());
    }

    /// The files in IpuofDir, and the folders of steps that fetched files.
    pub fn ipuof_files(&self) -> Result<Vec<String>> {
        let mut files = self.hosts.ipuof_names()?;
        // The mark of the directory and the status document stay.
        files.retain(|name| !name.starts_with(".vipu_") && !name.starts_with("vipu_"));
        Ok(files)
    }
}

impl Cluster {
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
        let slurmdbd = settings.accounting.then(|| ports.take()).transpose()?;
        let (slurmctld, first_slurmd) = (ports.take()?, ports.take()?);
        for _ in 1..settings.nodes {
            ports.take()?;
        }
        let at = Addresses {
            slurmdbd,
            slurmctld,
            first_slurmd,
            vipu: vipu.iter().map(|ports| ports.api).collect(),
        };
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
        let accounting = slurmdbd.map(|port| Accounting::start(&lead, &layout, &slurm, port)).transpose()?;
        let slurmctld = start(&daemon::slurmctld(&slurm, &settings, &[]))?;
        let backup = settings.backup.then(|| start_backup(&lead, &layout, &slurm)).transpose()?;
        let slurmd =
            (0..settings.nodes).map(|index| start(&daemon::slurmd(&root, &settings, index, &[])?).map(Some));
        let expected = settings.expected.clone();
        let hosts = OneHost {
            verdict: Verdict::pending(Logs::new(&layout)),
            slurmctld: Mutex::new(Some(slurmctld)),
            backup: Mutex::new(backup),
            slurmd: Mutex::new(slurmd.collect::<Result<_>>()?),
            mocks,
            munged,
            accounting: Mutex::new(accounting),
            disk,
            at,
            _ports: ports,
            slurm,
            root,
            settings,
            lead,
            layout,
        };
        let cluster = Self::new(hosts, expected);
        let ready = match cluster.hosts.settings.cloud {
            Some(_) => cluster.await_cloud(),
            None => cluster.await_nodes().and_then(|()| cluster.await_backup()),
        };
        if let Err(error) = ready {
            cluster.abandon(&error);
            return Err(error);
        }
        Ok(cluster)
    }

    pub fn layout(&self) -> &Layout {
        &self.hosts.layout
    }

    pub fn slurmctld_log(&self) -> String {
        self.hosts.verdict.logs.read("slurmctld")
    }

    /// The node is counted from 1. Its log has the lines of slurmd and slurmstepd.
    pub fn node_log(&self, number: u16) -> String {
        self.hosts.verdict.logs.read(&node_name(number - 1))
    }

    /// Does [`Cluster::check_all`]. Without slurmd, checks only slurmctld and its log, because jobs on nodes
    /// that do not exist cannot end.
    pub fn check(&self) -> Result<()> {
        if self.hosts.settings.cloud.is_none() { self.check_all() } else { self.check_slurmctld() }
    }

    /// Does [`Cluster::check`], prints the logs if it fails, and ends the cluster.
    pub fn finish(self) -> Result<()> {
        let checked = self.check();
        match &checked {
            Ok(()) => self.hosts.verdict.passed(),
            Err(error) => self.hosts.verdict.failed(error),
        }
        checked
    }

    /// Ends a cluster of stock Slurm, for which the invariants need not hold.
    pub fn finish_unchecked(self) {
        self.hosts.verdict.passed();
    }

    /// Ends the cluster after a failure without checks. Prints the logs, or names their folder.
    pub fn abandon(mut self, why: &anyhow::Error) {
        if self.hosts.settings.logs_stay {
            self.hosts.layout.keep();
            eprintln!("failed: {why:#}\nthe daemons' logs stay in {}", self.hosts.layout.logs().display());
            self.hosts.verdict.passed();
        } else {
            self.hosts.verdict.failed(why);
        }
    }

    /// Leaves the cluster running after this process.
    pub fn keep(self) -> Result<KeptCluster> {
        let OneHost {
            verdict,
            slurmctld,
            backup,
            slurmd,
            mocks,
            munged,
            accounting,
            disk,
            lead,
            mut layout,
            ..
        } = self.hosts;
        verdict.passed();
        let environment = layout.root().join("environment");
        let svipu = programs::find("svipu")?;
        let folder = svipu.parent().context("svipu has no folder")?.display();
        let conf = layout.conf("slurm.conf");
        fs::write(
            &environment,
            format!("export SLURM_CONF={}\nexport PATH=\"{folder}:$PATH\"\n", conf.display()),
        )?;
        let kept = KeptCluster { folder: layout.root().to_owned(), environment, holder: lead.hand_over()? };
        layout.keep();
        let controllers = [slurmctld, backup].into_iter().filter_map(|daemon| locked(&daemon).take());
        let slurmd = mem::take(&mut *locked(&slurmd)).into_iter().flatten();
        let mocks = mocks.into_iter().filter_map(Mock::into_process);
        let accounting = locked(&accounting).take().into_iter();
        let accounting = accounting.flat_map(|Accounting { slurmdbd, database }| [slurmdbd, database]);
        let others = accounting.chain(disk).chain([munged]);
        controllers.chain(slurmd).chain(mocks).chain(others).for_each(Leashed::let_run);
        Ok(kept)
    }
}

#[derive(Debug)]
pub struct KeptCluster {
    pub folder: PathBuf,
    /// A file to source in a shell, so that svipu and Slurm's commands work on the cluster.
    pub environment: PathBuf,
    /// The process that holds the cluster: killing it ends the cluster.
    pub holder: u32,
}

/// Starts the backup after the primary has written the file of the cluster's name. A slurmctld that finds the
/// file empty ends at once.
fn start_backup(lead: &Lead, layout: &Layout, slurm: &Account) -> Result<Leashed> {
    let named = layout.state().join("clustername");
    wait_until("slurmctld to note the cluster's name", START_LIMIT, || {
        Ok(fs::metadata(&named).is_ok_and(|file| file.len() > 0))
    })?;
    daemon::backup(slurm).start(lead, layout)
}

/// Locks the mutex even if it is poisoned: after a panic the test fails anyway.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
