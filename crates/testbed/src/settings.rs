//! The settings of a test cluster.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;
use vipu_types::Delivery;

use crate::{Cluster, Disk, Place, example_site::Site, programs::Build};

/// The settings of a cluster. By default it has four nodes, one Pod64 and our plugins.
#[derive(Clone, Debug)]
#[must_use]
pub struct Settings {
    pub(crate) nodes: u16,
    pub(crate) cpus: u32,
    pub(crate) memory: Option<u32>,
    pub(crate) plugin: bool,
    pub(crate) gres_plugin: bool,
    /// The build of the plugins. Hosts with a plugin folder of their own have an entry in `apart`.
    pub(crate) build: Build,
    pub(crate) apart: BTreeMap<Place, Build>,
    pub(crate) selector: &'static str,
    pub(crate) backup: bool,
    pub(crate) accounting: bool,
    pub(crate) slurm_conf: Vec<String>,
    /// The lines of vipu.conf after the working keys. `None` leaves out the file.
    pub(crate) vipu_conf: Option<Vec<String>>,
    pub(crate) delivery: Delivery,
    pub(crate) spank: Vec<String>,
    pub(crate) spank_line: bool,
    pub(crate) create_time: Duration,
    pub(crate) remove_time: Duration,
    pub(crate) removed_time: Duration,
    pub(crate) mock: Vec<String>,
    pub(crate) keeps_state: bool,
    /// The arguments of each controller after the first.
    pub(crate) more_mocks: Vec<Vec<String>>,
    pub(crate) listed: Vec<usize>,
    pub(crate) models: Vec<OwnConf>,
    pub(crate) gres: Vec<String>,
    pub(crate) node_gres: BTreeMap<u16, String>,
    /// Nodes and Slurm partitions of a cluster without slurmd.
    pub(crate) cloud: Option<String>,
    pub(crate) files: Vec<(&'static str, String)>,
    pub(crate) site: Option<Site>,
    pub(crate) expected: Vec<String>,
    pub(crate) failpoints: bool,
    pub(crate) small_disk: Option<Disk>,
    pub(crate) logs_stay: bool,
    /// The Debian suite of a cluster of containers, in place of that of the environment.
    pub(crate) suite: Option<&'static str>,
    pub(crate) configless: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct OwnConf {
    pub(crate) model: String,
    pub(crate) listed: Vec<usize>,
    pub(crate) lines: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            nodes: 4,
            cpus: 16,
            memory: None,
            plugin: true,
            gres_plugin: true,
            build: Build::Own,
            apart: BTreeMap::new(),
            selector: "vipu",
            backup: false,
            accounting: false,
            slurm_conf: Vec::new(),
            vipu_conf: Some(Vec::new()),
            delivery: Delivery::File,
            spank: Vec::new(),
            spank_line: true,
            create_time: Duration::from_secs(2),
            remove_time: Duration::from_millis(300),
            removed_time: Duration::from_millis(300),
            mock: Vec::new(),
            keeps_state: true,
            more_mocks: Vec::new(),
            listed: vec![0],
            models: Vec::new(),
            gres: Vec::new(),
            node_gres: BTreeMap::new(),
            cloud: None,
            files: Vec::new(),
            site: None,
            expected: Vec::new(),
            failpoints: false,
            small_disk: None,
            logs_stay: false,
            suite: None,
            configless: false,
        }
    }
}

impl Settings {
    /// Sets the number of nodes. They are named `ipu-pod64-001` and so on.
    pub fn nodes(self, nodes: u16) -> Self {
        Self { nodes, ..self }
    }

    /// Sets the number of CPUs of each node, without regard to the machine.
    pub fn cpus(self, cpus: u32) -> Self {
        Self { cpus, ..self }
    }

    /// Sets the memory of each node in megabytes, without regard to the machine. Without it, no job may ask for
    /// memory.
    pub fn memory(self, megabytes: u32) -> Self {
        Self { memory: Some(megabytes), ..self }
    }

    /// Runs stock Slurm without our plugins, for comparison.
    pub fn without_plugin(self) -> Self {
        Self { plugin: false, ..self }
    }

    /// Leaves out `gres_vipu.so`, which is optional.
    pub fn without_gres_plugin(self) -> Self {
        Self { gres_plugin: false, ..self }
    }

    /// Installs the plugins of this build.
    pub fn build(self, build: &Build) -> Self {
        Self { build: build.clone(), ..self }
    }

    /// Gives these hosts a plugin folder of their own, with the plugins of this build.
    pub fn apart(mut self, place: Place, build: &Build) -> Self {
        self.apart.insert(place, build.clone());
        // The daemons of these hosts have a slurm.conf of their own.
        self.expect_log("different slurm.conf")
    }

    /// Names our selector `vipu_cons_tres`, which passes Slurm's tests for "cons_tres" in SelectType.
    pub fn alias(self) -> Self {
        Self { selector: "vipu_cons_tres", ..self }
    }

    pub fn backup(mut self) -> Self {
        self.backup = true;
        // Slurm logs these while a backup is in standby, does not answer, or takes over.
        let usual = [
            "in standby mode",
            "_shutdown_bu_thread",
            "taking over",
            "agent_init: thread already",
            // 24.11 and later need half a minute to hand control back.
            "not completely done relinquishing control",
            "get_last_heartbeat",
            "_trigger_slurmctld_event",
            "con_close_on_poll_error",
            "different slurm.conf",
        ];
        usual.into_iter().fold(self, Self::expect_log)
    }

    /// Starts slurmdbd and MariaDB, and has Slurm account for IPUs.
    pub fn accounting(self) -> Self {
        // Slurm logs these if slurmdbd is slow, and sends again.
        let usual = ["slurm_persist_conn_open: No response to persist_init", "DBD_SEND_MULT_JOB_START"];
        usual.into_iter().fold(Self { accounting: true, ..self }, Self::expect_log)
    }

    /// Adds a `Key=Value` line to slurm.conf, in place of the testbed's line of that key.
    pub fn slurm_conf(mut self, line: &str) -> Self {
        self.slurm_conf.push(line.into());
        self
    }

    pub fn vipu_conf(mut self, line: &str) -> Self {
        self.vipu_conf.get_or_insert_default().push(line.into());
        self
    }

    /// Sets the delivery. Only `Delivery=file` has an IpuofDir.
    pub fn delivery(self, delivery: Delivery) -> Self {
        Self { delivery, ..self }
    }

    /// Adds a word to the line of `spank_ipuof.so` in plugstack.conf.
    pub fn spank(mut self, word: &str) -> Self {
        self.spank.push(word.into());
        self
    }

    pub fn without_spank_line(self) -> Self {
        Self { spank_line: false, ..self }
    }

    /// Leaves out vipu.conf, so that pod64.conf is a dangling link.
    pub fn without_vipu_conf(self) -> Self {
        Self { vipu_conf: None, ..self }
    }

    /// Sets the time that the controller needs to make a partition.
    pub fn create_time(self, time: Duration) -> Self {
        Self { create_time: time, ..self }
    }

    /// Sets the time that the controller needs to remove a partition.
    pub fn remove_time(self, time: Duration) -> Self {
        Self { remove_time: time, ..self }
    }

    /// Sets the time for which the controller shows a removed partition as removed before it is gone.
    pub fn removed_time(self, time: Duration) -> Self {
        Self { removed_time: time, ..self }
    }

    /// Keeps no controller state for a restart. At each change the mock writes its whole history, which is
    /// too much for thousands of partitions.
    pub fn forgetful(self) -> Self {
        Self { keeps_state: false, ..self }
    }

    /// Adds a controller, a mock-vipu-server with these arguments. Controllers are counted from 0, the first.
    pub fn controller(mut self, args: &[&str]) -> Self {
        self.more_mocks.push(args.iter().map(|&arg| arg.into()).collect());
        self
    }

    /// Lists the controllers of these numbers in vipu.conf, in this order.
    pub fn controllers(self, numbers: &[usize]) -> Self {
        Self { listed: numbers.into(), ..self }
    }

    /// Adds a model with its own conf file, which has these controllers and these lines.
    /// [`Settings::extra_gres`] or [`Settings::node_gres`] sets its nodes.
    pub fn model(mut self, model: &str, numbers: &[usize], lines: &[&str]) -> Self {
        let lines = lines.iter().map(|&line| line.into()).collect();
        self.models.push(OwnConf { model: model.into(), listed: numbers.into(), lines });
        self
    }

    /// Sets the `Gres` of the node of this number, counted from 1, in place of that of the other nodes.
    pub fn node_gres(mut self, number: u16, gres: &str) -> Self {
        self.node_gres.insert(number, gres.into());
        self
    }

    /// Adds arguments for the mock-vipu-server of the first controller.
    pub fn mock(mut self, args: &[&str]) -> Self {
        self.mock.extend(args.iter().map(|&arg| arg.into()));
        self
    }

    /// Adds a GRES to every node, as `name:count`.
    pub fn extra_gres(mut self, gres: &str) -> Self {
        self.gres.push(gres.into());
        self
    }

    /// Adds a file beside slurm.conf.
    pub fn conf_file(mut self, name: &'static str, text: &str) -> Self {
        self.files.push((name, text.into()));
        self
    }

    /// Accepts lines with `part` in the logs of slurmctld and the nodes.
    pub fn expect_log(mut self, part: &str) -> Self {
        self.expected.push(part.into());
        self
    }

    /// Uses the test build of the plugin, which can be stopped at failpoints: [`Cluster::arm`].
    pub fn failpoints(self) -> Self {
        Self { failpoints: true, ..self }
    }

    /// Mounts a small disk at this folder, which can be filled: [`Cluster::fill_disk`].
    pub fn small_disk(self, disk: Disk) -> Self {
        Self { small_disk: Some(disk), ..self }
    }

    /// Keeps the logs on disk after a failure, and prints only their folder instead of their ends.
    pub fn logs_stay(self) -> Self {
        Self { logs_stay: true, ..self }
    }

    /// Starts a cluster of containers on the Slurm of this Debian suite, whatever the environment names.
    pub fn suite(self, suite: &'static str) -> Self {
        Self { suite: Some(suite), ..self }
    }

    /// Starts the nodes of a cluster of containers without configuration files: slurmctld sends them.
    pub fn configless(self) -> Self {
        Self { configless: true, ..self }
    }

    /// Starts the cluster and waits until all its nodes are idle. Prints the logs if they do not become idle.
    pub fn start(self) -> Result<Cluster> {
        Cluster::start(self)
    }

    /// Starts the cluster, runs `body` on it, and checks the invariants. Prints the logs on a failure.
    pub fn run<T>(self, body: impl FnOnce(&Cluster) -> Result<T>) -> Result<T> {
        let cluster = self.start()?;
        match body(&cluster) {
            Ok(value) => cluster.finish().map(|()| value),
            Err(error) => {
                cluster.abandon(&error);
                Err(error)
            }
        }
    }
}
