//! The table of keys: one row says all there is to say about a key.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use vipu_types::{ControllerName, Delivery, IpuCount, PartitionId, Pool, RequeuePause, WeeklyTimes};

use crate::choice::{
    Accounting, AuditLevel, AuditTo, KeepIdleFor, Layer, Mode, OnPartitionError, Placement, Prepare,
    ReuseReset, SizePolicy,
};
use crate::problem::Problem;
use crate::settings::Given;
use crate::value::{
    AdminSocket, HostFile, admin_socket, agents, amount, amount_or_none, boolean, controllers, delivery,
    ipus_by_partition, ipus_by_qos, keep_idle, metadata, name, path, placement, port, prefix, requeue_pause,
    seconds, seconds_or_none, size,
};

/// The meaning of a key that the file does not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// The file must give it.
    Required,
    /// This text, as if the file had it.
    Value(&'static str),
    /// No value. The text says what then happens.
    Absent(&'static str),
}

/// A key of `vipu.conf`, as the documentation describes it.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    /// The name. Its case does not matter in the file.
    pub name: &'static str,
    /// Other names for the same key.
    pub synonyms: &'static [&'static str],
    /// Its meaning when the file does not give it.
    pub preset: Preset,
    /// The unit or kind of its value.
    pub unit: &'static str,
    /// Its effect, in one line.
    pub help: &'static str,
}

impl Key {
    /// The key of this name or synonym, whatever its case.
    pub(crate) fn find(name: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.names().any(|known| known.eq_ignore_ascii_case(name)))
    }

    /// The name of the key that `text` probably misspells.
    pub(crate) fn nearest(text: &str) -> Option<&'static str> {
        // Comparing more than twice the longest name would only cost time.
        let text: String = text.to_ascii_lowercase().chars().take(40).collect();
        let distance = |name: &str| strsim::levenshtein(&text, &name.to_ascii_lowercase());
        let names = KEYS.iter().flat_map(Key::names);
        let (distance, name) = names.map(|name| (distance(name), name)).min()?;
        (distance <= 1 + name.len() / 4).then_some(name)
    }

    /// The name, then the synonyms.
    fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.synonyms.iter().copied())
    }
}

/// Makes each row a [`Key`], an element of [`KEYS`], a field of [`Settings`] and the reading of that field.
///
/// A row is `Key | Synonym, field: type = preset, unit, reader, help;`. A reader may look at other keys,
/// through the variable that is named before the rows. A key that may be absent has a field of an optional
/// type or a collection.
macro_rules! keys {
    ($given:ident; $(
        $(#[$doc:meta])*
        $key:ident $(| $synonym:ident)*, $field:ident: $type:ty = $preset:ident $(($default:literal))?,
        $unit:expr, $read:expr, $help:literal;
    )+) => {
        /// All keys, in the order in which an error lists them; docs/configuration.md groups them.
        pub static KEYS: &[Key] = &[$(Key::$key),+];

        #[allow(non_upper_case_globals, reason = "spelled as in the file")]
        impl Key {
            $(pub(crate) const $key: Self = Self {
                name: stringify!($key),
                synonyms: &[$(stringify!($synonym))*],
                preset: Preset::$preset $(($default))?,
                unit: $unit,
                help: $help,
            };)+
        }

        /// The settings in a model's file, with defaults filled in.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Settings {
            $(
                #[doc = concat!("`", stringify!($key), "`: ", $help, ".")]
                $(#[$doc])*
                pub $field: $type,
            )+
        }

        impl Settings {
            /// The settings, if every value is good. Every key is read, so that all problems are found.
            pub(crate) fn read($given: &Given, problems: &mut Vec<Problem>) -> Option<Self> {
                $(let $field = $given.get(&Key::$key, $read).unwrap_or_else(|problem| {
                    problems.push(problem);
                    None
                });)+
                Some(Self { $($field: keys!(@$preset $field as $type),)+ })
            }
        }
    };
    (@Absent $read:ident as $type:ty) => { $read.map(<$type>::from).unwrap_or_default() };
    (@$given:ident $read:ident as $type:ty) => { $read? };
}

keys! { given;
    /// At least one, without duplicates, in the order in which they are tried.
    ApiHost, controllers: Vec<ControllerName> = Required, "host name or address",
        |text| controllers(text, given.api_port()),
        "the V-IPU controller; or several, tried in this order: `host,host:port,...`";
    ApiPort, api_port: u16 = Value("8090"), "port", port,
        "port of the controller's user API, used where ApiHost gives none";
    /// A host list for each controller. Empty: jobs on any node get IPUs of any controller.
    Nodes, nodes: BTreeMap<ControllerName, String> = Absent("all nodes, for all controllers"),
        "controllers and nodes", |text| given.read_nodes(text),
        "nodes of each controller: `\"vipu1=a[01-04] vipu2=b[01-04]\"`; a job gets nodes and IPUs of one controller";
    /// `None` with another [`Delivery`] than `file`.
    IpuofDir | VipuIpuofDir, ipuof_dir: Option<PathBuf> = Absent("required with Delivery=file"), "absolute path",
        |text| path(text).map(|dir| (given.delivery() == Some(Delivery::File)).then_some(dir)),
        "shared directory for the IPUoF config files: SlurmUser writes it, all nodes read it";
    /// `None`: `ipuof_dir`.
    StatusDir, status_dir: Option<PathBuf> = Absent("IpuofDir"), "absolute path", path,
        "directory of the status document for all users: SlurmUser writes it, users of svipu read it";
    /// `None`: the group of slurmctld.
    StatusGroup, status_group: Option<String> = Absent("the group of SlurmUser"), "name of a group", name,
        "group that may read the whole status document in StateSaveLocation; SlurmUser must be in it";
    Delivery, delivery: Delivery = Value("file"), "file, api or node", delivery,
        "how tasks find their IPUs: by a file in IpuofDir, by the controller's address, or by a file that each node fetches";
    MaxIpusPerJob, max_ipus_per_job: u32 = Value("256"), "IPUs", amount,
        "largest partition that a job may ask for";
    MaxIpusPerJobInSlurmPartition, max_ipus_in_slurm_partition: BTreeMap<String, u32> = Absent("no limit"),
        "names and IPUs", ipus_by_partition,
        "largest partition for each job in the named Slurm partitions, as in `debug:16,short:32`";
    /// Names in small letters.
    MaxIpusPerJobInQos, max_ipus_in_qos: BTreeMap<String, u32> = Absent("no limit"),
        "names and IPUs", ipus_by_qos,
        "largest partition for each job of the named QOS, as in `low:8,normal:64`";
    SizePolicy, size_policy: SizePolicy = Value("reject"), SizePolicy::UNIT, SizePolicy::read,
        "what happens to a request for a number of IPUs that no partition can have: it is refused, or rounded up to the next size with a notice";
    IpusPerSlurmPartition, ipus_per_slurm_partition: BTreeMap<String, u32> = Absent("no limit"),
        "names and IPUs", ipus_by_partition,
        "how many IPUs all jobs of a Slurm partition may have together, as in `debug:16,short:32`";
    ApiTimeout, api_timeout: Duration = Value("50"), "seconds", seconds,
        "how long one call to the controller may take";
    ForceDeletePartition, force_delete_partition: bool = Value("0"), "yes or no", boolean,
        "make the controller ignore errors when it removes a partition";
    UseReconfigPartition, use_reconfig_partition: bool = Value("0"), "yes or no", boolean,
        "create reconfigurable partitions unless a job asks otherwise";
    /// `None`: `slurm.conf` decides.
    Layer, layer: Option<Layer> = Absent("cons_tres"), Layer::UNIT, Layer::read,
        "stock selector underneath select/vipu; daemons read it when they start, from vipu.conf and never from a model's file";
    /// `None`: beside SlurmctldPidFile.
    AdminSocket, admin_socket: Option<AdminSocket> = Absent("vipu_admin.socket beside SlurmctldPidFile"),
        "absolute path, or none", admin_socket,
        "Unix socket for the requests of administrators; slurmctld reads it from vipu.conf and never from a model's file";
    /// Every job and every requeue gets a valid id with this prefix.
    PartitionPrefix, partition_prefix: String = Value("slurm"), "name of at most 13 characters", prefix,
        "beginning of each partition id; the job id follows";
    Mode, mode: Mode = Value("partition"), Mode::UNIT, |text| given.read_mode(text),
        "how jobs get their IPUs: a partition made for each job, one of a pool of partitions that stay, the whole Pod, one partition that all jobs share, or the IPUs of their nodes";
    /// `None` in another mode.
    Pool, pool: Option<Pool> = Absent("required with Mode=pool"), "sizes and names",
        |text| given.read_pool(text),
        "partitions of the pool: `16x4` are 4 of 16 IPUs that slurm-vipu makes; a name, or its beginning as in `p16_*`, is that of partitions that the administrator made";
    /// `None` in another mode.
    SharedPartition, shared_partition: Option<PartitionId> = Absent("required with Mode=shared"), "name",
        |text| given.read_shared_partition(text),
        "the partition that all jobs share, made by the administrator";
    /// `None` in another mode. The file is read with that of the model.
    HostMap, host_map: Option<HostFile> = Absent("required with Mode=host"), "file",
        |text| given.read_host_map(text),
        "file with the IPUs of each host, beside this file or with an absolute path";
    WholeTimes, whole_times: WeeklyTimes = Absent("none"), "days and times",
        |text| given.read_whole_times(text),
        "times in which only the largest jobs run, those with the IPUs of a whole Pod or as many as MaxIpusPerJob allows, in the local time of slurmctld: `\"sat-sun 08:00-20:00, wed 22:00-06:00\"`";
    Allocation, allocation: Option<String> = Absent("the controller chooses"), "name", name,
        "V-IPU allocation in which partitions are created";
    /// Without duplicates.
    AllocationAgents, allocation_agents: Vec<String> = Absent("all of the controller"), "names",
        |text| agents(text, given.names(&Key::Allocation)),
        "agents of that allocation, as in `ag1,ag2`; only their IPUs are counted";
    Placement, placement: Placement = Value("controller"), Placement::UNIT,
        |text| placement(text, given.names(&Key::Cluster), given.names(&Key::Allocation)),
        "who chooses the IPUs of a partition: the controller or slurm-vipu; explicit needs Cluster and excludes Allocation";
    Cluster, cluster: Option<String> = Absent("not needed"), "name", name,
        "V-IPU cluster from which slurm-vipu chooses IPUs; required with Placement=explicit and Mode=host";
    LinkDomainSize, link_domain_size: IpuCount = Value("64"), "IPUs, a power of two", size,
        "number of IPUs in one IPU-Link domain";
    CreateTimeout, create_timeout: Duration = Value("300"), "seconds", seconds,
        "how long slurm-vipu tries to create a partition; then a batch job is held, and srun or salloc ends";
    MaxRetries, max_retries: u32 = Value("10"), "tries", amount_or_none,
        "how many times a failed creation is tried again; after that, as after CreateTimeout, a batch job is held, and srun or salloc ends; waiting for room is not a failure";
    Prepare, prepare: Prepare = Value("interactive"), Prepare::UNIT, Prepare::read,
        "which jobs get a partition before they have nodes: none, those of srun and salloc, or batch jobs as well";
    PrepareWait, prepare_wait: Duration = Value("60"), "seconds", seconds_or_none,
        "how long a prepared partition waits for its job's nodes before it is removed";
    PrepareMax, prepare_max: u32 = Value("2"), "partitions", amount_or_none,
        "how many prepared partitions of the model one user may have at the same time; 0: none";
    RemoveWait, remove_wait: Duration = Value("60"), "seconds", seconds_or_none,
        "how long a removal waits for the job's nodes to finish, and how long the job may stay COMPLETING because its partition still exists; make it longer than KillWait of slurm.conf and Epilog together";
    ReconcileInterval, reconcile_interval: Duration = Value("30"), "seconds", seconds,
        "how often the controller's partitions are compared with the jobs and the journal";
    RemoveUnknown, remove_unknown: bool = Value("0"), "yes or no", boolean,
        "remove partitions that are named as those of this cluster (slurm_42, slurm_42r1, slurm_42p1) and are in no job and no journal; do not set it if another cluster uses the same controller";
    OnPartitionError, on_partition_error: OnPartitionError = Value("leave"), OnPartitionError::UNIT, OnPartitionError::read,
        "what happens to a job whose partition fails or vanishes while it runs; the job is told in any case";
    MaxKeep, max_keep: Duration = Value("0"), "seconds", seconds_or_none,
        "how long `--ipu-keep` may keep the partition of a failed job; 0 disables the option";
    MinKeep, min_keep: Duration = Value("300"), "seconds", seconds_or_none,
        "how long `--ipu-keep` keeps a partition although a job waits for its IPUs; after that, the partition goes as soon as the job could start with them";
    KeepIdle, keep_idle: Duration = Value("0"), "seconds",
        |text| keep_idle(text, given.delivery() == Some(Delivery::Node)),
        "how long a partition stays after its job, for the next job of this size and shape; 0: it is removed; not with Delivery=node";
    KeepIdleFor, keep_idle_for: KeepIdleFor = Value("waiting-jobs"), KeepIdleFor::UNIT, KeepIdleFor::read,
        "for which jobs partitions stay: only if the first job in line wants this size, or also while no job waits; then a job of another size may have to wait for the removal";
    /// `None`: all.
    KeepIdleMax, keep_idle_max: Option<u32> = Absent("no limit"), "IPUs", amount_or_none,
        "how many IPUs of one controller idle partitions may have";
    ReuseReset, reuse_reset: ReuseReset = Value("always"), ReuseReset::UNIT, ReuseReset::read,
        "when the controller resets an idle partition: between all jobs, or only before a job of another user";
    MaxRequeues, max_requeues: u32 = Value("3"), "times", amount_or_none,
        "number of requeues after which `--ipu-requeue-on` no longer requeues a job; 0 disables the option";
    RequeuePause, requeue_pause: RequeuePause = Value("10-600"), "seconds", requeue_pause,
        "pause before the next run of a job that `--ipu-requeue-on` requeues: the first one, doubled for each run up to the longest one; after a run longer than the longest pause, the first pause comes again";
    Accounting, accounting: Accounting = Value("gres"), Accounting::UNIT, Accounting::read,
        "as what Slurm counts a job's IPUs: as the GRES, as a licence of Licenses in slurm.conf, as both, or not at all";
    AccountingSteps, accounting_steps: bool = Value("0"), "yes or no", boolean,
        "give each job a line in sacct for its partition: a step with the partition's name, start, end and outcome";
    AuditLevel, audit_level: AuditLevel = Value("all"), AuditLevel::UNIT, AuditLevel::read,
        "which actions are in the audit log: none, those of administrators, or each creation and removal as well";
    AuditTo, audit_to: AuditTo = Value("file"), AuditTo::UNIT, AuditTo::read,
        "where the audit log goes: vipu_audit.jsonl in StateSaveLocation, or the syslog daemon of the host; one model with `syslog` suffices";
    MaxConcurrentCreates, max_concurrent_creates: u32 = Value("64"), "partitions", amount,
        "how many partitions one controller creates at the same time";

    ApiTlsCa, api_tls_ca: Option<PathBuf> = Absent("cleartext"), "absolute path", path,
        "certificates (PEM) of the CAs that may sign the controller's certificate; with this key all calls use TLS";
    ApiTlsServerName, api_tls_server_name: Option<String> = Absent("the host in ApiHost"), "host name or address",
        |text| given.needs(&[Key::ApiTlsCa]).and_then(|()| name(text)),
        "name to which the controller's certificate is issued";
    ApiTlsCert, api_tls_cert: Option<PathBuf> = Absent("none"), "absolute path",
        |text| given.needs(&[Key::ApiTlsCa, Key::ApiTlsKey]).and_then(|()| path(text)),
        "client certificate (PEM), for a controller that asks for one";
    ApiTlsKey, api_tls_key: Option<PathBuf> = Absent("none"), "absolute path",
        |text| given.needs(&[Key::ApiTlsCa, Key::ApiTlsCert]).and_then(|()| path(text)),
        "private key (PEM) of the client certificate; only SlurmUser must be able to open the file";
    ApiAccessFile, api_access_file: Option<PathBuf> = Absent("none"), "absolute path", path,
        "file with user id and access key, for a controller in secure mode; only SlurmUser must be able to open it";
    ApiUserIdMetadata, api_user_id_metadata: String = Value("api-user-id"), "gRPC metadata key", metadata,
        "metadata key under which calls send the user id of ApiAccessFile";
    ApiAccessKeyMetadata, api_access_key_metadata: String = Value("api-access-key"), "gRPC metadata key", metadata,
        "metadata key under which calls send the access key of ApiAccessFile";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelling_finds_its_key_and_other_words_none() {
        assert_eq!(Key::nearest("apiprt"), Some("ApiPort"));
        assert_eq!(Key::nearest("IpuOfDirectory"), None);
        assert_eq!(Key::nearest("MaxIPUperJob"), Some("MaxIpusPerJob"));
        assert_eq!(Key::nearest("SelectType"), None);
    }
}
