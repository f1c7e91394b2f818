//! Changes the environment of a task that is about to start, as the user.

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ipuof::variables::CONFIG_PATH;
use vipu_types::{BadSpankArguments, IpuCount, PartitionId, SpankArguments, Words};

use crate::environment_change::{EnvironmentChange, GcdAccess, Target, UnknownGrant};

/// The task, as far as the plugin deals with it.
pub(crate) trait Task {
    /// The id of its job.
    fn job(&self) -> Result<u32, Refused>;
    /// Whether the user started its step. Slurm itself starts a batch script and salloc's shell.
    fn is_step_of_user(&self) -> Result<bool, Refused>;
    /// The names in a list of nodes as Slurm writes it.
    fn hosts(&self, list: &str) -> Vec<String>;
    /// A variable of its environment.
    fn get(&self, name: &str) -> Option<OsString>;
    /// Sets a variable.
    fn set(&mut self, name: &str, value: &OsStr) -> Result<(), Refused>;
    /// Removes a variable, which need not exist.
    fn unset(&mut self, name: &str) -> Result<(), Refused>;
    /// The directory of the config files that were fetched for its step, or the reason why there are none.
    fn fetched(&self) -> Result<PathBuf, Words>;
}

/// A function of Slurm failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Slurm's {function} failed with code {code}")]
pub(crate) struct Refused {
    /// The name of the function.
    pub(crate) function: &'static str,
    /// The code that it returned.
    pub(crate) code: i32,
}

/// The reason why a task cannot start. The text is for the user's terminal.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(
        "no IPUs: partition {partition} on node {node}: cannot read {}: {source}; the administrator should \
         check that IpuofDir of vipu.conf is mounted there, open to users, and ipuof_dir in plugstack.conf",
        .file.display()
    )]
    NoFile { partition: PartitionId, node: String, file: PathBuf, source: io::Error },
    #[error("no IPUs: partition {partition} on node {node}: {why}")]
    NotFetched { partition: PartitionId, node: String, why: Words },
    #[error(
        "no IPUs: partition {partition} on node {node}: the administrator should check spank_ipuof.so \
         in plugstack.conf: {source}"
    )]
    BadArguments { partition: PartitionId, node: String, source: BadSpankArguments },
    #[error(
        "no IPUs: node {node} does not understand what slurmctld told it of the IPUs of job {job} \
         (SLURM_VIPU_JOB_{job}={}); the administrator should install the spank_ipuof.so of slurmctld's slurm-vipu there",
        .grant.display()
    )]
    UnknownGrant { job: u32, node: String, grant: OsString },
    #[error(
        "no IPUs: job {job} has none, though --ipus={asked} was given; a job gets them when it is submitted, and only if \
         JobSubmitPlugins in slurm.conf has vipu: ask the administrator to check that"
    )]
    NoPartition { job: u32, asked: u64 },
    #[error(
        "not enough IPUs: --ipus={asked}, and job {job} has {has}; a step shares the partition of its job: leave the \
         option out, or submit the job with --ipus={asked}"
    )]
    TooFew { job: u32, asked: u64, has: IpuCount },
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// Gives a task its environment. `asked` is the `--ipus` with which its step was started.
pub(crate) fn prepare(
    task: &mut impl Task,
    arguments: &SpankArguments,
    asked: Option<u64>,
) -> Result<(), Failure> {
    // Slurm sets the rank in every task; a batch script is rank 0.
    let rank = task.get("SLURM_PROCID").and_then(|rank| rank.to_str()?.parse().ok()).unwrap_or(0);
    let job = task.job()?;
    let node = || task.get("SLURMD_NODENAME").unwrap_or_default().to_string_lossy().into_owned();
    let unknown = |UnknownGrant(grant)| Failure::UnknownGrant { job, node: node(), grant };
    let EnvironmentChange { unset, target } =
        EnvironmentChange::of_task(arguments, job, rank, |name| task.get(name)).map_err(unknown)?;
    check(task, job, asked, target.as_ref())?;
    for name in unset {
        task.unset(name)?;
    }
    let Some(Target { grant, gcd, access }) = target else { return Ok(()) };
    let partition = grant.partition.clone();
    let node = || task.get("SLURMD_NODENAME").unwrap_or_default().to_string_lossy().into_owned();
    match access {
        Err(source) => return Err(Failure::BadArguments { partition, node: node(), source }),
        Ok(GcdAccess::Api(variables)) => {
            variables.iter().try_for_each(|(name, value)| task.set(name, OsStr::new(value)))?;
        }
        Ok(GcdAccess::File(file)) => match open(&file) {
            Err(source) => return Err(Failure::NoFile { partition, node: node(), file, source }),
            Ok(()) => task.set(CONFIG_PATH, file.as_os_str())?,
        },
        Ok(GcdAccess::Fetched(name)) => match task.fetched() {
            Err(why) => return Err(Failure::NotFetched { partition, node: node(), why }),
            Ok(directory) => task.set(CONFIG_PATH, directory.join(name).as_os_str())?,
        },
    }
    let nodes = task.get("SLURM_JOB_NODELIST").unwrap_or_default();
    let hosts = task.hosts(&nodes.to_string_lossy());
    for (name, value) in grant.named().chain(grant.in_task(gcd, &hosts)) {
        task.set(name, OsStr::new(&value))?;
    }
    Ok(())
}

/// Checks that the job has the IPUs for which its step asks. In a batch script and salloc's shell it may have
/// fewer, because the request of the job may have been changed.
fn check(task: &impl Task, job: u32, asked: Option<u64>, target: Option<&Target>) -> Result<(), Failure> {
    match (asked, target) {
        (Some(asked), None) => Err(Failure::NoPartition { job, asked }),
        (Some(asked), Some(Target { grant, .. }))
            if asked > grant.size.get().into() && task.is_step_of_user()? =>
        {
            Err(Failure::TooFew { job, asked, has: grant.size })
        }
        _ => Ok(()),
    }
}

/// Checks that the task can read the file. Refuses all but regular files: a FIFO would make the task wait,
/// and a symbolic link could lead it elsewhere.
fn open(file: &Path) -> io::Result<()> {
    let options = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let found = OpenOptions::new().read(true).custom_flags(options).open(file)?.metadata()?;
    if found.is_file() { Ok(()) } else { Err(io::Error::other("it is no regular file")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const GRANT: (&str, &str) = ("SLURM_VIPU_JOB_42", "slurm_42,pod64,4,1");

    struct Fake(BTreeMap<String, OsString>);

    fn prepare(task: &mut Fake, arguments: &SpankArguments) -> Result<(), Failure> {
        super::prepare(task, arguments, None)
    }

    impl Fake {
        fn new(env: &[(&str, &str)]) -> Self {
            Self(env.iter().map(|(name, value)| (name.to_string(), value.into())).collect())
        }
    }

    impl Task for Fake {
        fn job(&self) -> Result<u32, Refused> {
            Ok(42)
        }
        fn is_step_of_user(&self) -> Result<bool, Refused> {
            Ok(self.get("SLURM_STEP_ID").is_some())
        }
        fn hosts(&self, list: &str) -> Vec<String> {
            list.split_whitespace().map(str::to_owned).collect()
        }
        fn get(&self, name: &str) -> Option<OsString> {
            self.0.get(name).cloned()
        }
        fn set(&mut self, name: &str, value: &OsStr) -> Result<(), Refused> {
            self.0.insert(name.into(), value.into());
            Ok(())
        }
        fn unset(&mut self, name: &str) -> Result<(), Refused> {
            self.0.remove(name);
            Ok(())
        }
        fn fetched(&self) -> Result<PathBuf, Words> {
            self.0.get("FETCHED").map(PathBuf::from).ok_or_else(|| "controller v:1: away".into())
        }
    }

    fn arguments(directory: &Path) -> SpankArguments {
        SpankArguments::parse(&[format!("ipuof_dir={}", directory.display())])
    }

    #[test]
    fn a_task_finds_its_file_and_only_that() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("slurm_42.conf");
        std::fs::write(&file, "{}").unwrap();
        let mut task = Fake::new(&[GRANT, ("SLURM_VIPU_PARTITION", "slurm_41")]);
        task.set("SLURM_JOB_NODELIST", OsStr::new("a b")).unwrap();
        for name in ipuof::variables::FAMILIES {
            task.set(name, OsStr::new("inherited")).unwrap();
        }
        prepare(&mut task, &arguments(directory.path())).unwrap();
        let named = [
            ("SLURM_VIPU_PARTITION", "slurm_42"),
            ("SLURM_VIPU_IPUS", "4"),
            ("SLURM_VIPU_MODEL", "pod64"),
            ("SLURM_VIPU_GCDS", "1"),
            ("SLURM_VIPU_GCD", "0"),
            ("SLURM_VIPU_HOSTS", "a,b"),
            ("SLURM_VIPU_POPRUN", "--host=a,b --vipu-partition=slurm_42 --num-instances=1"),
            ("SLURM_JOB_NODELIST", "a b"),
        ];
        let mut expected = Fake::new(&named).0;
        expected.insert(GRANT.0.into(), GRANT.1.into());
        expected.insert(CONFIG_PATH.into(), file.into());
        assert_eq!(task.0, expected);
    }

    #[test]
    fn a_task_gets_its_fetched_file_or_the_reason_why_there_is_none() {
        let grant = (GRANT.0, "slurm_42,pod64,4,1,v:1,node");
        let mut task = Fake::new(&[grant, ("FETCHED", "/run/42-7"), (CONFIG_PATH, "/other")]);
        prepare(&mut task, &SpankArguments::parse::<&str>(&[])).unwrap();
        assert_eq!(task.get(CONFIG_PATH), Some("/run/42-7/slurm_42.conf".into()));
        let mut without = Fake::new(&[grant, ("SLURMD_NODENAME", "n1"), (CONFIG_PATH, "/other")]);
        let error = prepare(&mut without, &SpankArguments::parse::<&str>(&[])).unwrap_err().to_string();
        assert_eq!(error, "no IPUs: partition slurm_42 on node n1: controller v:1: away");
        assert_eq!(without.get(CONFIG_PATH), None);
    }

    #[test]
    fn a_task_that_asks_the_controller_has_no_file() {
        let mut task = Fake::new(&[(GRANT.0, "slurm_42,pod64,4,1,v:1,api"), (CONFIG_PATH, "/other")]);
        prepare(&mut task, &SpankArguments::parse::<&str>(&[])).unwrap();
        assert_eq!(task.get("IPUOF_VIPU_API_HOST"), Some("v".into()));
        assert_eq!(task.get(CONFIG_PATH), None);
    }

    #[test]
    fn a_fifo_or_symbolic_link_stops_the_task_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("slurm_42.conf");
        let refused = || prepare(&mut Fake::new(&[GRANT]), &arguments(directory.path())).unwrap_err();
        // A process that opens a FIFO waits until another process opens it.
        assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
        assert!(refused().to_string().contains("no regular file"));
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/dev/null", &file).unwrap();
        assert!(refused().to_string().contains("symbolic links"));
    }

    #[test]
    fn a_missing_file_stops_the_task_and_leaves_it_no_other_ipus() {
        let directory = tempfile::tempdir().unwrap();
        let node = ("SLURMD_NODENAME", "ipu-pod64-001");
        let mut task = Fake::new(&[GRANT, (CONFIG_PATH, "/other"), node]);
        let error = prepare(&mut task, &arguments(directory.path())).unwrap_err().to_string();
        let file = directory.path().join("slurm_42.conf").display().to_string();
        for part in ["partition slurm_42", "node ipu-pod64-001", &file, "No such file", "mounted there"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert!(!error.contains('\n') && task.get(CONFIG_PATH).is_none());
    }

    #[test]
    fn a_step_that_wants_more_than_its_job_has_is_stopped() {
        let arguments = SpankArguments::parse(&["ipuof_dir=/nowhere"]);
        let stopped = |env: &[(&str, &str)], asked| {
            super::prepare(&mut Fake::new(env), &arguments, Some(asked)).unwrap_err().to_string()
        };
        assert!(stopped(&[], 4).starts_with("no IPUs: job 42 has none, though --ipus=4 was given"));
        let step = ("SLURM_STEP_ID", "0");
        assert!(stopped(&[GRANT, step], 8).starts_with("not enough IPUs: --ipus=8, and job 42 has 4;"));
        // These pass, and fail at the missing file.
        for (env, asked) in [(&[GRANT, step][..], 4), (&[GRANT], 8)] {
            assert!(stopped(env, asked).contains("slurm_42.conf"), "{env:?} {asked}");
        }
    }

    #[test]
    fn bad_arguments_stop_tasks_with_ipus_only() {
        let arguments = SpankArguments::parse::<&str>(&[]);
        let mut without = Fake::new(&[(CONFIG_PATH, "/mine")]);
        prepare(&mut without, &arguments).unwrap();
        assert_eq!(without.get(CONFIG_PATH), Some("/mine".into()));
        let mut with = Fake::new(&[GRANT]);
        let error = prepare(&mut with, &arguments).unwrap_err().to_string();
        assert!(error.contains("ipuof_dir= is missing"), "{error}");
    }
}
