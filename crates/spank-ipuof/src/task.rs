//! Carrying a plan out in a task that is about to start, as the user.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::PathBuf;

use ipuof::environment::CONFIG_PATH;
use vipu_types::PartitionId;

use crate::arguments::{Arguments, BadArguments};
use crate::plan::{Plan, Target};

/// The task, as far as the plugin deals with it.
pub(crate) trait Task {
    /// The id of its job.
    fn job(&self) -> Result<u32, Refused>;
    /// A variable of its environment.
    fn get(&self, name: &str) -> Option<OsString>;
    /// Sets a variable.
    fn set(&mut self, name: &str, value: &OsStr) -> Result<(), Refused>;
    /// Takes a variable away; it need not be there.
    fn unset(&mut self, name: &str) -> Result<(), Refused>;
}

/// Slurm did not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Slurm's {function} failed with code {code}")]
pub(crate) struct Refused {
    /// What was called.
    pub(crate) function: &'static str,
    /// What it returned.
    pub(crate) code: i32,
}

/// Why a task cannot start; the text is for the user's terminal.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(
        "no IPUs: partition {partition} on node {node}: cannot read {}: {source}; the administrator should \
         check that IpuofDir of vipu.conf is mounted there, open to users, and ipuof_dir in plugstack.conf",
        .file.display()
    )]
    NoFile { partition: PartitionId, node: String, file: PathBuf, source: io::Error },
    #[error(
        "no IPUs: partition {partition} on node {node}: the administrator should check spank_ipuof.so \
         in plugstack.conf: {source}"
    )]
    BadArguments { partition: PartitionId, node: String, source: BadArguments },
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// Gives a task its environment.
pub(crate) fn prepare(task: &mut impl Task, arguments: &Arguments) -> Result<(), Failure> {
    // Slurm sets the rank in every task; a batch script is rank 0.
    let rank = task.get("SLURM_PROCID").and_then(|rank| rank.to_str()?.parse().ok()).unwrap_or(0);
    let Plan { unset, target } = Plan::of_task(arguments, task.job()?, rank, |name| task.get(name));
    for name in unset {
        task.unset(name)?;
    }
    let Some(Target { grant, file }) = target else { return Ok(()) };
    let node = || task.get("SLURMD_NODENAME").unwrap_or_default().to_string_lossy().into_owned();
    let file = match file {
        Ok(file) => file,
        Err(source) => {
            return Err(Failure::BadArguments { partition: grant.partition, node: node(), source });
        }
    };
    if let Err(source) = File::open(&file) {
        return Err(Failure::NoFile { partition: grant.partition, node: node(), file, source });
    }
    task.set(CONFIG_PATH, file.as_os_str())?;
    for (name, value) in grant.named() {
        task.set(name, OsStr::new(&value))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;

    const GRANT: (&str, &str) = ("SLURM_VIPU_JOB_42", "slurm_42,pod64,4,1");

    struct Fake(BTreeMap<String, OsString>);

    impl Fake {
        fn new(env: &[(&str, &str)]) -> Self {
            Self(env.iter().map(|(name, value)| (name.to_string(), value.into())).collect())
        }
    }

    impl Task for Fake {
        fn job(&self) -> Result<u32, Refused> {
            Ok(42)
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
    }

    fn arguments(directory: &Path) -> Arguments {
        Arguments::parse(&[format!("ipuof_dir={}", directory.display())])
    }

    #[test]
    fn a_task_finds_its_file_and_only_that() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("slurm_42.conf");
        std::fs::write(&file, "{}").unwrap();
        let mut task = Fake::new(&[GRANT, ("SLURM_VIPU_PARTITION", "slurm_41")]);
        for name in ipuof::environment::FAMILIES {
            task.set(name, OsStr::new("inherited")).unwrap();
        }
        prepare(&mut task, &arguments(directory.path())).unwrap();
        let named =
            [("SLURM_VIPU_PARTITION", "slurm_42"), ("SLURM_VIPU_IPUS", "4"), ("SLURM_VIPU_MODEL", "pod64")];
        let mut expected = Fake::new(&named).0;
        expected.insert(GRANT.0.into(), GRANT.1.into());
        expected.insert(CONFIG_PATH.into(), file.into());
        assert_eq!(task.0, expected);
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
    fn bad_arguments_stop_tasks_with_ipus_only() {
        let arguments = Arguments::parse::<&str>(&[]);
        let mut without = Fake::new(&[(CONFIG_PATH, "/mine")]);
        prepare(&mut without, &arguments).unwrap();
        assert_eq!(without.get(CONFIG_PATH), Some("/mine".into()));
        let mut with = Fake::new(&[GRANT]);
        let error = prepare(&mut with, &arguments).unwrap_err().to_string();
        assert!(error.contains("ipuof_dir= is missing"), "{error}");
    }
}
