//! What a task's environment has to become: a decision from values, without any effect.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ipuof::environment::{CONFIG_PATH, FAMILIES};
use ipuof::file_name;
use vipu_types::Grant;

use crate::arguments::{Arguments, BadArguments};

/// What to do to a task's environment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Variables to take away.
    pub(crate) unset: Vec<&'static str>,
    /// The partition the task works on, when its job has one.
    pub(crate) target: Option<Target>,
}

/// A job's partition and how the task finds it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The partition.
    pub(crate) grant: Grant,
    /// The config file of the task's GCD, which [`CONFIG_PATH`] has to name.
    pub(crate) file: Result<PathBuf, BadArguments>,
}

impl Plan {
    /// Decides for the task of this rank of job `job` with the environment `env`.
    ///
    /// A job has IPUs if slurmctld left it a [`Grant`] under its own id. What is there of another job was
    /// inherited: its names and the file it came with are taken away, while a job that never had any of it
    /// keeps its environment as the user made it.
    pub(crate) fn of_task(
        arguments: &Arguments,
        job: u32,
        rank: u32,
        env: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        if let Some(grant) = env(&Grant::variable(job)).and_then(|text| text.to_str()?.parse().ok()) {
            return Self { unset: FAMILIES.into(), target: Some(Target::of(arguments, rank, grant)) };
        }
        let mut unset: Vec<_> = Grant::NAMES.into_iter().filter(|name| env(name).is_some()).collect();
        if let (false, Ok(directory)) = (unset.is_empty(), &arguments.directory) {
            unset.extend(
                env(CONFIG_PATH).filter(|path| Path::new(path).starts_with(directory)).map(|_| CONFIG_PATH),
            );
        }
        Self { unset, target: None }
    }
}

impl Target {
    /// GCDs go to tasks by rank; with more tasks than GCDs it starts again at the first.
    fn of(arguments: &Arguments, rank: u32, grant: Grant) -> Self {
        let name = file_name(&grant.partition, rank % grant.gcds, grant.gcds);
        let file = arguments.directory.as_ref().map(|directory| directory.join(name));
        Self { file: file.map_err(BadArguments::clone), grant }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "/shared/ipuof/slurm_42.conf";
    const OTHER: &str = "/shared/ipuof/slurm_41.conf";
    const GRANT: (&str, &str) = ("SLURM_VIPU_JOB_42", "slurm_42,pod64,4,1");
    const PARTITION: &str = Grant::NAMES[0];

    /// The plan for the first task of job 42 in this environment.
    fn plan(words: &[&str], env: &[(&str, &str)]) -> Plan {
        plan_of(0, words, env)
    }

    fn plan_of(rank: u32, words: &[&str], env: &[(&str, &str)]) -> Plan {
        let arguments = Arguments::parse(words);
        Plan::of_task(&arguments, 42, rank, |name| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn a_job_with_ipus_gets_its_file_in_place_of_whatever_it_had() {
        let env = [GRANT, (PARTITION, "slurm_41"), (CONFIG_PATH, OTHER), ("IPUOF_VIPU_API_HOST", "x")];
        let plan = plan(&["ipuof_dir=/shared/ipuof"], &env);
        assert_eq!(plan.unset, FAMILIES);
        let target = plan.target.unwrap();
        assert_eq!((target.grant.to_string().as_str(), target.file), (GRANT.1, Ok(OWN.into())));
    }

    #[test]
    fn each_rank_gets_the_file_of_its_gcd() {
        let env = [("SLURM_VIPU_JOB_42", "slurm_42,pod128,128,2")];
        for (rank, file) in
            [(0, "/d/slurm_42_gcd0.conf"), (1, "/d/slurm_42_gcd1.conf"), (2, "/d/slurm_42_gcd0.conf")]
        {
            let target = plan_of(rank, &["ipuof_dir=/d"], &env).target.unwrap();
            assert_eq!(target.file, Ok(file.into()), "rank {rank}");
        }
    }

    #[test]
    fn only_a_grant_under_the_jobs_own_id_counts() {
        for (name, value) in [
            ("SLURM_VIPU_JOB_41", "slurm_41,pod64,4,1"),
            ("SLURM_VIPU_JOB_421", "slurm_42,pod64,4,1"),
            ("SLURM_VIPU_JOB_42", "../slurm_42,pod64,4,1"),
            ("SLURM_VIPU_JOB_42", ""),
        ] {
            assert_eq!(plan(&["ipuof_dir=/d"], &[(name, value)]), Plan::default(), "{name}={value}");
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
            assert_eq!(plan(words, env), Plan { unset: unset.into(), target: None }, "{env:?}");
        }
    }

    #[test]
    fn bad_arguments_stop_jobs_with_ipus() {
        let target = plan(&["ipuof_dir=x"], &[GRANT]).target.unwrap();
        assert_eq!(target.file, Err(BadArguments::RelativeDirectory("x".into())));
    }

    #[test]
    fn an_environment_need_not_be_text() {
        use std::os::unix::ffi::OsStringExt;
        let arguments = Arguments::parse(&["ipuof_dir=/d"]);
        let plan = Plan::of_task(&arguments, 42, 0, |name| {
            (name == GRANT.0).then(|| OsString::from_vec(vec![b's', 0xff]))
        });
        assert_eq!(plan, Plan::default());
    }
}
