//! Every key there is, with its default: the one place where both are said.

/// What a key stands for when the file does not give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// The file must give it.
    Required,
    /// This text, as if the file had it.
    Value(&'static str),
    /// No value; the text says what then happens.
    Absent(&'static str),
}

/// A key of `vipu.conf`, as the documentation tells it.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    /// The name; case does not matter in the file.
    pub name: &'static str,
    /// Another name for the same key.
    pub synonym: Option<&'static str>,
    /// What holds when it is not given.
    pub preset: Preset,
    /// The unit or kind of its value.
    pub unit: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
}

impl Key {
    const fn new(name: &'static str, preset: Preset, unit: &'static str, help: &'static str) -> Self {
        Self { name, synonym: None, preset, unit, help }
    }

    /// The key of this name or synonym, whatever its case.
    pub(crate) fn find(name: &str) -> Option<&'static Key> {
        KEYS.iter().copied().find(|key| key.names().any(|known| known.eq_ignore_ascii_case(name)))
    }

    /// The name, then the synonym if there is one.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.synonym)
    }
}

use Preset::{Absent, Required, Value};

pub(crate) static API_HOST: Key = Key::new(
    "ApiHost",
    Required,
    "host name or address",
    "the V-IPU controller; or several, tried in this order: `host,host:port,...`",
);
pub(crate) static API_PORT: Key = Key::new(
    "ApiPort",
    Value("8090"),
    "port",
    "port of the controller's user API, used where ApiHost gives none",
);
pub(crate) static IPUOF_DIR: Key = Key {
    synonym: Some("VipuIpuofDir"),
    ..Key::new(
        "IpuofDir",
        Absent("required with Delivery=file"),
        "absolute path",
        "shared directory for the IPUoF config files: the Slurm user writes it, all nodes read it",
    )
};
pub(crate) static DELIVERY: Key = Key::new(
    "Delivery",
    Value("file"),
    "file, api or node",
    "how tasks find their IPUs: by a file in IpuofDir, by the controller's address, or by a file that each node fetches",
);
pub(crate) static MAX_IPUS_PER_JOB: Key =
    Key::new("MaxIpusPerJob", Value("256"), "IPUs", "largest partition that a job may ask for");
pub(crate) static MAX_IPUS_PER_JOB_IN_SLURM_PARTITION: Key = Key::new(
    "MaxIpusPerJobInSlurmPartition",
    Absent("no limit"),
    "names and IPUs",
    "largest partition for each job in the named Slurm partitions, as in `debug:16,short:32`",
);
pub(crate) static MAX_IPUS_PER_JOB_IN_QOS: Key = Key::new(
    "MaxIpusPerJobInQos",
    Absent("no limit"),
    "names and IPUs",
    "largest partition for each job of the named QOS, as in `low:8,normal:64`",
);
pub(crate) static SIZE_POLICY: Key = Key::new(
    "SizePolicy",
    Value("reject"),
    "reject or round-up",
    "whether a request for a number of IPUs that no partition has is refused, or rounded up to the next size with a notice",
);
pub(crate) static IPUS_PER_SLURM_PARTITION: Key = Key::new(
    "IpusPerSlurmPartition",
    Absent("no limit"),
    "names and IPUs",
    "how many IPUs all jobs of a Slurm partition may have together, as in `debug:16,short:32`",
);
pub(crate) static API_TIMEOUT: Key =
    Key::new("ApiTimeout", Value("50"), "seconds", "how long one call to the controller may take");
pub(crate) static FORCE_DELETE_PARTITION: Key = Key::new(
    "ForceDeletePartition",
    Value("0"),
    "yes or no",
    "make the controller ignore errors when it removes a partition",
);
pub(crate) static USE_RECONFIG_PARTITION: Key = Key::new(
    "UseReconfigPartition",
    Value("0"),
    "yes or no",
    "create reconfigurable partitions unless a job asks otherwise",
);
pub(crate) static LAYER: Key = Key::new(
    "Layer",
    Absent("cons_tres"),
    "cons_tres or linear",
    "stock selector underneath select/vipu; read from vipu.conf only, when slurmctld starts",
);
pub(crate) static PARTITION_PREFIX: Key = Key::new(
    "PartitionPrefix",
    Value("slurm"),
    "name of at most 13 characters",
    "beginning of each partition id; the job id follows",
);
pub(crate) static ALLOCATION: Key = Key::new(
    "Allocation",
    Absent("the controller chooses"),
    "name",
    "V-IPU allocation in which partitions are created",
);
pub(crate) static ALLOCATION_AGENTS: Key = Key::new(
    "AllocationAgents",
    Absent("all of the controller"),
    "names",
    "agents of that allocation, as in `ag1,ag2`; only their IPUs are counted",
);
pub(crate) static PLACEMENT: Key = Key::new(
    "Placement",
    Value("controller"),
    "controller or explicit",
    "who chooses the IPUs of a partition: the controller or slurm-vipu; explicit needs Cluster and excludes Allocation",
);
pub(crate) static CLUSTER: Key = Key::new(
    "Cluster",
    Absent("not needed"),
    "name",
    "V-IPU cluster from which slurm-vipu chooses IPUs with Placement=explicit",
);
pub(crate) static LINK_DOMAIN_SIZE: Key =
    Key::new("LinkDomainSize", Value("64"), "IPUs, a power of two", "number of IPUs in one IPU-Link domain");
pub(crate) static CREATE_TIMEOUT: Key = Key::new(
    "CreateTimeout",
    Value("300"),
    "seconds",
    "how long slurm-vipu tries to create a partition; then a batch job is held, and srun or salloc ends",
);
pub(crate) static MAX_RETRIES: Key = Key::new(
    "MaxRetries",
    Value("10"),
    "tries",
    "how often a failed creation is tried again, with the same end as CreateTimeout; waiting for room does not count",
);
pub(crate) static PREPARE: Key = Key::new(
    "Prepare",
    Value("interactive"),
    "no, interactive or all",
    "which jobs get a partition before they have nodes: none, those of srun and salloc, or batch jobs as well",
);
pub(crate) static PREPARE_WAIT: Key = Key::new(
    "PrepareWait",
    Value("60"),
    "seconds",
    "how long a prepared partition waits for its job's nodes before it is removed",
);
pub(crate) static PREPARE_MAX: Key = Key::new(
    "PrepareMax",
    Value("2"),
    "partitions",
    "how many prepared partitions of the model one user may have at the same time; 0: none",
);
pub(crate) static REMOVE_WAIT: Key = Key::new(
    "RemoveWait",
    Value("60"),
    "seconds",
    "how long a removal waits for the job's nodes to finish, and how long a job may stay COMPLETING for its removal",
);
pub(crate) static RECONCILE_INTERVAL: Key = Key::new(
    "ReconcileInterval",
    Value("30"),
    "seconds",
    "how often the controller's partitions are compared with the jobs and the journal",
);
pub(crate) static REMOVE_UNKNOWN: Key = Key::new(
    "RemoveUnknown",
    Value("0"),
    "yes or no",
    "remove partitions that have this cluster's prefix but are in no job and no journal; never with two clusters on one controller",
);
pub(crate) static ON_PARTITION_ERROR: Key = Key::new(
    "OnPartitionError",
    Value("leave"),
    "leave, requeue or kill",
    "what happens to a job whose partition fails or vanishes while it runs; the job is told in any case",
);
pub(crate) static MAX_KEEP: Key = Key::new(
    "MaxKeep",
    Value("0"),
    "seconds",
    "how long `--ipu-keep` may keep the partition of a failed job; 0 disables the option",
);
pub(crate) static MAX_REQUEUES: Key = Key::new(
    "MaxRequeues",
    Value("3"),
    "times",
    "number of requeues after which `--ipu-requeue-on` no longer requeues a job; 0 disables the option",
);
pub(crate) static MAX_CONCURRENT_CREATES: Key = Key::new(
    "MaxConcurrentCreates",
    Value("64"),
    "partitions",
    "how many partitions one controller creates at the same time",
);

pub(crate) static API_TLS_CA: Key = Key::new(
    "ApiTlsCa",
    Absent("cleartext"),
    "absolute path",
    "certificates (PEM) of the CAs that may sign the controller's certificate; with this key all calls use TLS",
);
pub(crate) static API_TLS_SERVER_NAME: Key = Key::new(
    "ApiTlsServerName",
    Absent("the host in ApiHost"),
    "host name or address",
    "name to which the controller's certificate is issued",
);
pub(crate) static API_TLS_CERT: Key = Key::new(
    "ApiTlsCert",
    Absent("none"),
    "absolute path",
    "client certificate (PEM), for a controller that asks for one",
);
pub(crate) static API_TLS_KEY: Key = Key::new(
    "ApiTlsKey",
    Absent("none"),
    "absolute path",
    "private key (PEM) of the client certificate; only the Slurm user may be able to open the file",
);
pub(crate) static API_ACCESS_FILE: Key = Key::new(
    "ApiAccessFile",
    Absent("none"),
    "absolute path",
    "file with user id and access key, for a controller in secure mode; only the Slurm user may be able to open it",
);
pub(crate) static API_USER_ID_METADATA: Key = Key::new(
    "ApiUserIdMetadata",
    Value("api-user-id"),
    "gRPC metadata key",
    "metadata key under which calls send the user id of ApiAccessFile",
);
pub(crate) static API_ACCESS_KEY_METADATA: Key = Key::new(
    "ApiAccessKeyMetadata",
    Value("api-access-key"),
    "gRPC metadata key",
    "metadata key under which calls send the access key of ApiAccessFile",
);

/// All keys, in the order in which an error lists them; docs/configuration.md groups them.
pub static KEYS: [&Key; 38] = [
    &API_HOST,
    &API_PORT,
    &IPUOF_DIR,
    &DELIVERY,
    &MAX_IPUS_PER_JOB,
    &MAX_IPUS_PER_JOB_IN_SLURM_PARTITION,
    &MAX_IPUS_PER_JOB_IN_QOS,
    &SIZE_POLICY,
    &IPUS_PER_SLURM_PARTITION,
    &API_TIMEOUT,
    &FORCE_DELETE_PARTITION,
    &USE_RECONFIG_PARTITION,
    &LAYER,
    &PARTITION_PREFIX,
    &ALLOCATION,
    &ALLOCATION_AGENTS,
    &PLACEMENT,
    &CLUSTER,
    &LINK_DOMAIN_SIZE,
    &CREATE_TIMEOUT,
    &MAX_RETRIES,
    &PREPARE,
    &PREPARE_WAIT,
    &PREPARE_MAX,
    &REMOVE_WAIT,
    &RECONCILE_INTERVAL,
    &REMOVE_UNKNOWN,
    &ON_PARTITION_ERROR,
    &MAX_KEEP,
    &MAX_REQUEUES,
    &MAX_CONCURRENT_CREATES,
    &API_TLS_CA,
    &API_TLS_SERVER_NAME,
    &API_TLS_CERT,
    &API_TLS_KEY,
    &API_ACCESS_FILE,
    &API_USER_ID_METADATA,
    &API_ACCESS_KEY_METADATA,
];
