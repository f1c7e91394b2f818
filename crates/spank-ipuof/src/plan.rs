//! What a task's environment has to become: a decision from values, without any effect.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ipuof::environment::{CONFIG_PATH, FAMILIES};
use ipuof::file_name;
use vipu_types::PartitionId;

use crate::arguments::{Arguments, BadArguments};

/// The variable by which slurmctld names a job's partition.
pub(crate) const PARTITION: &str = "SLURM_VIPU_PARTITION";

/// All that slurmctld tells a job of its partition.
const TOLD: [&str; 3] = [PARTITION, "SLURM_VIPU_IPUS", "SLURM_VIPU_MODEL"];

/// What to do to a task's environment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Variables to take away.
    pub(crate) unset: Vec<&'static str>,
    /// The partition the task works on, when its job has one.
    pub(crate) partition: Option<Target>,
}

/// A job's partition and how its tasks find it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its id.
    pub(crate) id: PartitionId,
    /// Its config file, which [`CONFIG_PATH`] has to name.
    pub(crate) file: Result<PathBuf, BadArguments>,
}

impl Plan {
    /// Decides for a task of job `job` with the environment `env`.
    ///
    /// A job has IPUs if [`PARTITION`] is one of its own partition's names. slurmctld sets it in every job
    /// with IPUs, so what is there in another job was inherited: it and the file it came with are taken
    /// away, while a job that never had any of it keeps its environment as the user made it.
    pub(crate) fn of_task(arguments: &Arguments, job: u32, env: impl Fn(&str) -> Option<OsString>) -> Self {
        if let Some(id) = env(PARTITION).and_then(|name| own_partition(&arguments.prefix, job, &name)) {
            let file = arguments.directory.as_ref().map(|directory| directory.join(file_name(&id, 0, 1)));
            let file = file.map_err(BadArguments::clone);
            return Self { unset: FAMILIES.into(), partition: Some(Target { id, file }) };
        }
        let mut unset: Vec<_> = TOLD.into_iter().filter(|name| env(name).is_some()).collect();
        if let (false, Ok(directory)) = (unset.is_empty(), &arguments.directory) {
            unset.extend(
                env(CONFIG_PATH).filter(|path| Path::new(path).starts_with(directory)).map(|_| CONFIG_PATH),
            );
        }
        Self { unset, partition: None }
    }
}

/// The partition called `name`, if it is one of job `job`.
///
/// Any requeue count will do. The one in the environment may have come from the job that submitted this
/// one, whereas a partition's name with this job's id can only have come from slurmctld.
fn own_partition(prefix: &str, job: u32, name: &OsStr) -> Option<PartitionId> {
    let name = name.to_str()?;
    let restart = name.rsplit_once('r').and_then(|(_, count)| count.parse().ok()).unwrap_or(0);
    PartitionId::of_run(prefix, job, restart).ok().filter(|own| own.as_str() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "/shared/ipuof/slurm_42.conf";
    const OTHER: &str = "/shared/ipuof/slurm_41.conf";

    /// The plan for job 42 in this environment.
    fn plan(words: &[&str], env: &[(&str, &str)]) -> Plan {
        let arguments = Arguments::parse(words);
        Plan::of_task(&arguments, 42, |name| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    fn found(plan: Plan) -> Option<(String, Result<PathBuf, BadArguments>)> {
        plan.partition.map(|target| (target.id.to_string(), target.file))
    }

    #[test]
    fn a_job_with_ipus_gets_its_file_in_place_of_whatever_it_had() {
        let env = [(PARTITION, "slurm_42"), (CONFIG_PATH, OTHER), ("IPUOF_VIPU_API_HOST", "x")];
        let plan = plan(&["ipuof_dir=/shared/ipuof"], &env);
        assert_eq!(plan.unset, FAMILIES);
        assert_eq!(found(plan), Some(("slurm_42".into(), Ok(OWN.into()))));
    }

    #[test]
    fn a_partition_is_recognised_by_prefix_job_and_any_requeue() {
        for (prefix, name, file) in [
            ("slurm", "slurm_42", Some("slurm_42.conf")),
            ("slurm", "slurm_42r3", Some("slurm_42r3.conf")),
            ("c2-r5", "c2-r5_42", Some("c2-r5_42.conf")),
            ("r", "r_42r65535", Some("r_42r65535.conf")),
            ("slurm", "slurm_42r0", None),
            ("slurm", "slurm_42r03", None),
            ("slurm", "slurm_42r65536", None),
            ("slurm", "slurm_42r", None),
            ("slurm", "slurm_042", None),
            ("slurm", "slurm_421", None),
            ("slurm", "slurm_4", None),
            ("slurm", "c2_42", None),
            ("slurm", "../slurm_42", None),
            ("slurm", "", None),
        ] {
            let prefix = format!("prefix={prefix}");
            let plan = plan(&["ipuof_dir=/d", &prefix], &[(PARTITION, name)]);
            let found = found(plan).map(|(_, path)| path.unwrap());
            assert_eq!(found, file.map(|file| Path::new("/d").join(file)), "{prefix} {name}");
        }
    }

    #[test]
    fn a_job_without_ipus_keeps_its_environment() {
        for env in [&[][..], &[("HOME", "/root")], &[(CONFIG_PATH, OTHER), ("IPUOF_VIPU_API_HOST", "x")]] {
            assert_eq!(plan(&["ipuof_dir=/shared/ipuof"], env), Plan::default(), "{env:?}");
            assert_eq!(plan(&[], env), Plan::default(), "{env:?}");
        }
    }

    #[test]
    fn what_another_job_left_is_taken_away_and_nothing_else() {
        let ours = &["ipuof_dir=/shared/ipuof"][..];
        for (words, env, unset) in [
            (ours, &[(PARTITION, "slurm_41")][..], &[PARTITION][..]),
            (ours, &[("SLURM_VIPU_MODEL", "pod64")], &["SLURM_VIPU_MODEL"]),
            (ours, &[(PARTITION, "slurm_41"), (CONFIG_PATH, OTHER)], &[PARTITION, CONFIG_PATH]),
            (ours, &[(PARTITION, "slurm_41"), (CONFIG_PATH, "/shared/ipuof2/x")], &[PARTITION]),
            (ours, &[(PARTITION, "slurm_41"), ("IPUOF_VIPU_API_HOST", "x")], &[PARTITION]),
            (&[], &[(PARTITION, "slurm_41"), (CONFIG_PATH, OTHER)], &[PARTITION]),
        ] {
            assert_eq!(plan(words, env), Plan { unset: unset.into(), partition: None }, "{env:?}");
        }
    }

    #[test]
    fn bad_arguments_stop_jobs_with_ipus() {
        let (_, file) = found(plan(&["ipuof_dir=x"], &[(PARTITION, "slurm_42")])).unwrap();
        assert_eq!(file, Err(BadArguments::RelativeDirectory("x".into())));
    }

    #[test]
    fn an_environment_need_not_be_text() {
        use std::os::unix::ffi::OsStringExt;
        let arguments = Arguments::parse(&["ipuof_dir=/d"]);
        let plan = Plan::of_task(&arguments, 42, |name| {
            (name == PARTITION).then(|| OsString::from_vec(vec![b's', 0xff]))
        });
        assert_eq!(plan, Plan { unset: vec![PARTITION], partition: None });
    }
}
