//! The settings of one Pod model, typed.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use vipu_types::{Access, ControllerName, Delivery, IpuCount, Tls};

use crate::error::{Broken, Problem, Reason, Spot};
use crate::keys::{self, Key, Preset};
use crate::nearest::nearest_key;
use crate::syntax::{Piece, parse};
use crate::value::{self, Value};

/// The stock selector that lies under ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// `select/cons_tres`.
    ConsTres,
    /// `select/linear`.
    Linear,
}

impl Layer {
    /// Its name in the file and in `SelectType`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Layer::ConsTres => "cons_tres",
            Layer::Linear => "linear",
        }
    }
}

/// Who chooses the IPUs of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The controller.
    Controller,
    /// The plugin.
    Explicit,
}

impl Placement {
    /// Its name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Placement::Controller => "controller",
            Placement::Explicit => "explicit",
        }
    }
}

/// What becomes of a job whose partition fails or vanishes while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnPartitionError {
    /// It runs on: its program may see to it.
    Leave,
    /// A batch job goes back into the queue, any other ends.
    Requeue,
    /// It ends.
    Kill,
}

impl OnPartitionError {
    /// Its name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            OnPartitionError::Leave => "leave",
            OnPartitionError::Requeue => "requeue",
            OnPartitionError::Kill => "kill",
        }
    }
}

/// What becomes of a request for a number of IPUs that no partition has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizePolicy {
    /// It is refused.
    Reject,
    /// It gets the next larger partition.
    RoundUp,
}

impl SizePolicy {
    /// Its name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            SizePolicy::Reject => "reject",
            SizePolicy::RoundUp => "round-up",
        }
    }
}

/// Whose partitions are made before they have nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prepare {
    /// Nobody's.
    No,
    /// Those of jobs without a batch script: of srun and salloc.
    Interactive,
    /// Those of all.
    All,
}

impl Prepare {
    /// Its name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Prepare::No => "no",
            Prepare::Interactive => "interactive",
            Prepare::All => "all",
        }
    }

    /// Whether it is for a job that has a batch script, or has none.
    #[must_use]
    pub const fn is_for(self, is_batch: bool) -> bool {
        match self {
            Prepare::No => false,
            Prepare::Interactive => !is_batch,
            Prepare::All => true,
        }
    }
}

/// What a model's file says, defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The controllers, in the order in which they are tried; at least one, none twice.
    pub controllers: Vec<ControllerName>,
    /// How tasks learn of their IPUs.
    pub delivery: Delivery,
    /// Where the IPUoF config files go; absolute, and given with [`Delivery::File`] only.
    pub ipuof_dir: Option<PathBuf>,
    /// The largest partition a job may have, in IPUs; at least 1.
    pub max_ipus_per_job: u32,
    /// The largest partition that a job in a Slurm partition may have, in IPUs, each at least 1.
    pub max_ipus_in_slurm_partition: BTreeMap<String, u32>,
    /// The largest partition that a job of a QOS may have, in IPUs, each at least 1; names in small letters.
    pub max_ipus_in_qos: BTreeMap<String, u32>,
    /// What becomes of a request for a number of IPUs that no partition has.
    pub size_policy: SizePolicy,
    /// How many IPUs the jobs of a Slurm partition may have together, each at least 1.
    pub ipus_per_slurm_partition: BTreeMap<String, u32>,
    /// How long one call may take.
    pub api_timeout: Duration,
    /// Whether a removal ignores errors.
    pub force_delete_partition: bool,
    /// Whether partitions are reconfigurable.
    pub use_reconfig_partition: bool,
    /// The selector underneath; `None` when `slurm.conf` decides.
    pub layer: Option<Layer>,
    /// What partition ids start with: every job and requeue gives a valid id.
    pub partition_prefix: String,
    /// The allocation to use; `None` when the controller chooses.
    pub allocation: Option<String>,
    /// The agents of the allocation, none twice; empty when the file does not say.
    pub allocation_agents: Vec<String>,
    /// Who chooses the IPUs of a partition.
    pub placement: Placement,
    /// The V-IPU cluster of chosen IPUs; given when the plugin chooses.
    pub cluster: Option<String>,
    /// IPUs in one IPU-Link domain.
    pub link_domain_size: IpuCount,
    /// How long a create is tried.
    pub create_timeout: Duration,
    /// How often a create that fails is tried again; may be zero.
    pub max_retries: u32,
    /// Whose partitions are made before they have nodes.
    pub prepare: Prepare,
    /// How long such a partition waits for its job's nodes; may be zero.
    pub prepare_wait: Duration,
    /// How many such partitions a user has at most; may be zero.
    pub prepare_max: u32,
    /// How long a removal waits for the job's nodes, and the job for its removal; may be zero.
    pub remove_wait: Duration,
    /// How often the controller's partitions are looked at.
    pub reconcile_interval: Duration,
    /// Whether partitions named like ours are removed that no job and no journal has.
    pub remove_unknown: bool,
    /// What becomes of a job whose partition fails.
    pub on_partition_error: OnPartitionError,
    /// How long the partition of a failed job may stay at most; zero: not at all.
    pub max_keep: Duration,
    /// How often a job may have been requeued that goes back into the queue for its exit code; zero: none does.
    pub max_requeues: u32,
    /// How many partitions are created at once; at least 1.
    pub max_concurrent_creates: u32,
    /// TLS to the controllers; `None`: cleartext.
    pub tls: Option<Tls>,
    /// The user to be on controllers in secure mode.
    pub access: Option<Access>,
}

impl Settings {
    /// Reads the text of a file; `path` is only told in errors.
    ///
    /// # Errors
    /// All that is wrong with the text, not only the first of it.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Broken> {
        let mut given = Given::read(text);
        match given.settings() {
            Some(settings) if given.problems.is_empty() => Ok(settings),
            _ => Err(Broken { path: path.into(), problems: given.into_problems() }),
        }
    }
}

/// The values a text gives, and what is wrong with it.
pub(crate) struct Given<'a> {
    text: &'a str,
    values: HashMap<&'static str, Piece>,
    problems: Vec<Problem>,
}

impl<'a> Given<'a> {
    /// Sorts the assignments by key.
    fn read(text: &'a str) -> Self {
        let mut given = Self { text, values: HashMap::new(), problems: Vec::new() };
        for item in parse(text) {
            let (key, value) = match item {
                Ok(assignment) => (assignment.key, assignment.value),
                Err((reason, span)) => {
                    given.problem(reason, &span);
                    continue;
                }
            };
            let Some(known) = Key::find(&key.text) else {
                let nearest = nearest_key(&key.text);
                given.problem(Reason::UnknownKey { key: key.text, nearest }, &key.span);
                continue;
            };
            match given.values.get(known.name) {
                Some(first) => {
                    let first_line = Spot::of(text, &first.span).line;
                    given.problem(Reason::Duplicate { key: known.name, first_line }, &key.span);
                }
                None => {
                    given.values.insert(known.name, value);
                }
            }
        }
        given
    }

    fn problem(&mut self, reason: Reason, span: &std::ops::Range<usize>) {
        self.problems.push(Problem { reason, spot: Some(Spot::of(self.text, span)) });
    }

    /// The settings, if every value is good. Every key is read first, so that all problems are found.
    fn settings(&mut self) -> Option<Settings> {
        // With a bad port the hosts are looked at all the same.
        let api_port = self.take(&keys::API_PORT, value::port);
        let api_host = self.take(&keys::API_HOST, |text| value::controllers(text, api_port.unwrap_or(1)));
        let delivery = self.take(&keys::DELIVERY, value::delivery);
        let ipuof_dir = self.ipuof_dir(delivery);
        let max_ipus_per_job = self.take(&keys::MAX_IPUS_PER_JOB, value::amount);
        let by_partition = |text: &str| value::ipus_by_name(text, "a Slurm partition");
        let max_in_partition = self.take(&keys::MAX_IPUS_PER_JOB_IN_SLURM_PARTITION, by_partition);
        let max_in_qos = self.take(&keys::MAX_IPUS_PER_JOB_IN_QOS, value::ipus_by_qos);
        let size_policy = self.take(&keys::SIZE_POLICY, value::size_policy);
        let per_slurm_partition = self.take(&keys::IPUS_PER_SLURM_PARTITION, by_partition);
        let api_timeout = self.take(&keys::API_TIMEOUT, value::seconds);
        let force_delete_partition = self.take(&keys::FORCE_DELETE_PARTITION, value::boolean);
        let use_reconfig_partition = self.take(&keys::USE_RECONFIG_PARTITION, value::boolean);
        let layer = self.take(&keys::LAYER, value::layer);
        let partition_prefix = self.take(&keys::PARTITION_PREFIX, value::prefix);
        let allocation = self.take(&keys::ALLOCATION, value::name);
        let cluster = self.take(&keys::CLUSTER, value::name);
        let placement = |text: &str| value::placement(text, cluster.is_some(), allocation.is_some());
        let placement = self.take(&keys::PLACEMENT, placement);
        let agents = |text: &str| value::agents(text, allocation.is_some());
        let allocation_agents = self.take(&keys::ALLOCATION_AGENTS, agents);
        let link_domain_size = self.take(&keys::LINK_DOMAIN_SIZE, value::size);
        let create_timeout = self.take(&keys::CREATE_TIMEOUT, value::seconds);
        let max_retries = self.take(&keys::MAX_RETRIES, value::amount_or_none);
        let prepare = self.take(&keys::PREPARE, value::prepare);
        let prepare_wait = self.take(&keys::PREPARE_WAIT, value::seconds_or_none);
        let prepare_max = self.take(&keys::PREPARE_MAX, value::amount_or_none);
        let remove_wait = self.take(&keys::REMOVE_WAIT, value::seconds_or_none);
        let reconcile_interval = self.take(&keys::RECONCILE_INTERVAL, value::seconds);
        let remove_unknown = self.take(&keys::REMOVE_UNKNOWN, value::boolean);
        let on_partition_error = self.take(&keys::ON_PARTITION_ERROR, value::on_partition_error);
        let max_keep = self.take(&keys::MAX_KEEP, value::seconds_or_none);
        let max_requeues = self.take(&keys::MAX_REQUEUES, value::amount_or_none);
        let max_concurrent_creates = self.take(&keys::MAX_CONCURRENT_CREATES, value::amount);
        let (tls, access) = (self.tls(), self.access());
        Some(Settings {
            controllers: api_port.and(api_host)?,
            delivery: delivery?,
            ipuof_dir,
            max_ipus_per_job: max_ipus_per_job?,
            max_ipus_in_slurm_partition: max_in_partition.unwrap_or_default(),
            max_ipus_in_qos: max_in_qos.unwrap_or_default(),
            size_policy: size_policy?,
            ipus_per_slurm_partition: per_slurm_partition.unwrap_or_default(),
            api_timeout: api_timeout?,
            force_delete_partition: force_delete_partition?,
            use_reconfig_partition: use_reconfig_partition?,
            layer,
            partition_prefix: partition_prefix?,
            allocation,
            allocation_agents: allocation_agents.unwrap_or_default(),
            placement: placement?,
            cluster,
            link_domain_size: link_domain_size?,
            create_timeout: create_timeout?,
            max_retries: max_retries?,
            prepare: prepare?,
            prepare_wait: prepare_wait?,
            prepare_max: prepare_max?,
            remove_wait: remove_wait?,
            reconcile_interval: reconcile_interval?,
            remove_unknown: remove_unknown?,
            on_partition_error: on_partition_error?,
            max_keep: max_keep?,
            max_requeues: max_requeues?,
            max_concurrent_creates: max_concurrent_creates?,
            tls,
            access,
        })
    }

    /// The directory that files are delivered to; what the text says of it beside another delivery is checked only.
    fn ipuof_dir(&mut self, delivery: Option<Delivery>) -> Option<PathBuf> {
        let (given, wanted) = (self.has(&keys::IPUOF_DIR), delivery == Some(Delivery::File));
        if wanted && !given {
            self.missing(&keys::IPUOF_DIR);
        }
        self.take(&keys::IPUOF_DIR, value::path).filter(|_| wanted)
    }

    /// Whether the text has a value for `key` that was not taken yet.
    pub(crate) fn has(&self, key: &Key) -> bool {
        self.values.contains_key(key.name)
    }

    /// The value of `key`, or its default; nothing when it has none or a problem was noted.
    pub(crate) fn take<T>(&mut self, key: &Key, read: impl Fn(&str) -> Value<T>) -> Option<T> {
        let value = match (self.values.remove(key.name), key.preset) {
            (Some(value), _) => value,
            (None, Preset::Value(text)) => Piece { text: text.to_owned(), span: 0..0 },
            (None, Preset::Absent(_)) => return None,
            (None, Preset::Required) => {
                self.missing(key);
                return None;
            }
        };
        let control = value.text.chars().any(char::is_control);
        let result = if control { Err("has a control character".to_owned()) } else { read(&value.text) };
        result
            .map_err(|valid| {
                self.problem(Reason::BadValue { key: key.name, value: value.text, valid }, &value.span);
            })
            .ok()
    }

    fn missing(&mut self, key: &Key) {
        let reason = Reason::Missing { key: key.name, unit: key.unit, help: key.help };
        self.problems.push(Problem { reason, spot: None });
    }

    /// The problems in the order of the file, what is missing at the end.
    fn into_problems(mut self) -> Vec<Problem> {
        let place = |problem: &Problem| match &problem.spot {
            Some(spot) => (spot.line, spot.column),
            None => (usize::MAX, 0),
        };
        self.problems.sort_by_key(place);
        self.problems
    }
}
