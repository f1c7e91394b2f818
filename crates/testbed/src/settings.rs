//! What a test asks of its cluster.

use std::time::Duration;

use anyhow::Result;

use crate::Cluster;

/// A cluster to be: four nodes, one Pod64 behind them, our plugins, unless told otherwise.
#[derive(Clone, Debug)]
pub struct Settings {
    pub(crate) nodes: u16,
    pub(crate) cpus: u32,
    pub(crate) plugin: bool,
    pub(crate) selector: &'static str,
    pub(crate) backup: bool,
    pub(crate) slurm_conf: Vec<String>,
    pub(crate) vipu_conf: VipuConf,
    pub(crate) create_time: Duration,
    pub(crate) remove_time: Duration,
    pub(crate) mock: Vec<String>,
    pub(crate) gres: Vec<String>,
    pub(crate) expected: Vec<String>,
}

/// The text of `vipu.conf`.
#[derive(Clone, Debug)]
pub(crate) enum VipuConf {
    /// The working keys, and these lines after them.
    With(Vec<String>),
    /// Nothing but this.
    Only(String),
    /// No such file.
    Absent,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            nodes: 4,
            cpus: 16,
            plugin: true,
            selector: "vipu",
            backup: false,
            slurm_conf: Vec::new(),
            vipu_conf: VipuConf::With(Vec::new()),
            create_time: Duration::from_secs(2),
            remove_time: Duration::from_millis(300),
            mock: Vec::new(),
            gres: Vec::new(),
            expected: Vec::new(),
        }
    }
}

impl Settings {
    /// So many nodes, named `ipu-pod64-001` and on.
    #[must_use]
    pub fn nodes(mut self, nodes: u16) -> Self {
        self.nodes = nodes;
        self
    }

    /// So many CPUs on each node, whatever the machine has.
    #[must_use]
    pub fn cpus(mut self, cpus: u32) -> Self {
        self.cpus = cpus;
        self
    }

    /// Stock Slurm, for comparison.
    #[must_use]
    pub fn without_plugin(mut self) -> Self {
        self.plugin = false;
        self
    }

    /// Our selector under its other name, which passes Slurm's tests for "cons_tres" in SelectType.
    #[must_use]
    pub fn alias(mut self) -> Self {
        self.selector = "vipu_cons_tres";
        self
    }

    /// With a backup controller.
    #[must_use]
    pub fn backup(mut self) -> Self {
        self.backup = true;
        // What Slurm itself says while one is in standby, does not answer, or takes over.
        let usual = [
            "in standby mode",
            "_shutdown_bu_thread",
            "taking over",
            "agent_init: thread already",
            "Unexpected missing socket",
            "get_last_heartbeat",
            "_trigger_slurmctld_event",
            "con_close_on_poll_error",
            "different slurm.conf",
        ];
        usual.into_iter().fold(self, Self::expect_log)
    }

    /// A `Key=Value` line for slurm.conf, in place of the testbed's own line of that key.
    #[must_use]
    pub fn slurm_conf(mut self, line: &str) -> Self {
        self.slurm_conf.push(line.into());
        self
    }

    /// One more line for vipu.conf.
    #[must_use]
    pub fn vipu_conf(mut self, line: &str) -> Self {
        match &mut self.vipu_conf {
            VipuConf::With(lines) => lines.push(line.into()),
            other => *other = VipuConf::With(vec![line.into()]),
        }
        self
    }

    /// This text as the whole vipu.conf.
    #[must_use]
    pub fn broken_vipu_conf(mut self, text: &str) -> Self {
        self.vipu_conf = VipuConf::Only(text.into());
        self
    }

    /// No vipu.conf, so that pod64.conf points nowhere.
    #[must_use]
    pub fn without_vipu_conf(mut self) -> Self {
        self.vipu_conf = VipuConf::Absent;
        self
    }

    /// How long the controller needs to make a partition.
    #[must_use]
    pub fn create_time(mut self, time: Duration) -> Self {
        self.create_time = time;
        self
    }

    /// How long the controller needs to remove a partition.
    #[must_use]
    pub fn remove_time(mut self, time: Duration) -> Self {
        self.remove_time = time;
        self
    }

    /// More arguments for mock-vipu-server.
    #[must_use]
    pub fn mock(mut self, args: &[&str]) -> Self {
        self.mock.extend(args.iter().map(|&arg| arg.into()));
        self
    }

    /// One more GRES on every node, as `name:count`.
    #[must_use]
    pub fn extra_gres(mut self, gres: &str) -> Self {
        self.gres.push(gres.into());
        self
    }

    /// Lines of slurmctld's and the nodes' logs that hold `part` are no fault in this test.
    #[must_use]
    pub fn expect_log(mut self, part: &str) -> Self {
        self.expected.push(part.into());
        self
    }

    /// Starts the cluster and waits until all its nodes are idle.
    ///
    /// # Errors
    /// When something does not start; the logs are in the message.
    pub fn start(self) -> Result<Cluster> {
        Cluster::start(self)
    }

    /// Starts the cluster, runs `body` on it, and checks what must hold after every test.
    ///
    /// # Errors
    /// When the start, the body or the checks fail; the logs are printed then.
    pub fn run<T>(self, body: impl FnOnce(&Cluster) -> Result<T>) -> Result<T> {
        let cluster = self.start()?;
        match body(&cluster) {
            Ok(value) => cluster.finish().map(|()| value),
            Err(error) => {
                cluster.abandon();
                Err(error)
            }
        }
    }
}
