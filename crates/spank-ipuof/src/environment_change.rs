//! The decision how a task's environment has to change, from values and without any effect.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ipuof::file_name;
use ipuof::variables::{API_GCD_ID, API_HOST, API_PARTITION_ID, API_PORT, CONFIG_PATH, FAMILIES, of_api};
use vipu_types::{BadSpankArguments, Delivery, Grant, GresRequest, SpankArguments};

/// The change of a task's environment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct EnvironmentChange {
    /// The variables to remove.
    pub(crate) unset: Vec<&'static str>,
    /// The partition on which the task works, if its job has one.
    pub(crate) target: Option<Target>,
}

/// A job's partition, and the way in which the task finds it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The partition.
    pub(crate) grant: Grant,
    /// The task's GCD.
    pub(crate) gcd: u32,
    /// The way to the GCD, or the error in the arguments.
    pub(crate) access: Result<GcdAccess, BadSpankArguments>,
}

/// The way in which a task finds its GCD.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum GcdAccess {
    /// A config file, which [`CONFIG_PATH`] has to name.
    File(PathBuf),
    /// These variables.
    Api(Vec<(&'static str, String)>),
    /// A config file of this name, in the step's own directory.
    Fetched(String),
}

/// A grant in a form that this build does not know, as that of a newer slurmctld may be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownGrant(pub(crate) OsString);

/// The grant of the job with this id, if slurmctld gave it IPUs and this step has them.
///
/// # Errors
/// If the grant has an unknown form. The job has IPUs, and only slurmctld knows which.
pub(crate) fn grant(job: u32, env: impl Fn(&str) -> Option<OsString>) -> Result<Option<Grant>, UnknownGrant> {
    if is_told(job, &env) {
        return Ok(None);
    }
    let Some(text) = env(&Grant::variable(job)) else { return Ok(None) };
    match text.to_str().and_then(|text| text.parse().ok()) {
        Some(grant) => Ok(Some(grant)),
        None => Err(UnknownGrant(text)),
    }
}

impl EnvironmentChange {
    /// Decides the change for the task with this rank in job `job` and with the environment `env`.
    ///
    /// A job has IPUs if slurmctld left it a [`Grant`] under its own id. Its steps have them too, except
    /// steps that srun marked ([`STEP_WITHOUT`]): these lose the variables of both families and of this plugin,
    /// even those that the user set.
    ///
    /// A job without IPUs loses the variables that it inherited from another job: that job's names, and the
    /// config file or the controller's address that came with them. Without inherited names it keeps its
    /// environment as the user made it.
    ///
    /// # Errors
    /// If the job's grant has an unknown form.
    pub(crate) fn of_task(
        arguments: &SpankArguments,
        job: u32,
        rank: u32,
        env: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, UnknownGrant> {
        if is_told(job, &env) {
            return Ok(Self {
                unset: [&FAMILIES[..], &Grant::NAMES, &Grant::NAMES_IN_TASK, &[STEP_WITHOUT]].concat(),
                target: None,
            });
        }
        if let Some(grant) = grant(job, &env)? {
            return Ok(Self { unset: FAMILIES.into(), target: Some(Target::of(arguments, rank, grant)) });
        }
        let names = Grant::NAMES.into_iter().chain(Grant::NAMES_IN_TASK);
        let mut unset: Vec<_> = names.filter(|name| env(name).is_some()).collect();
        if !unset.is_empty() {
            let is_of_jobs = |path: &OsString| {
                let mut directories = arguments.directory.iter().chain([&arguments.run_dir]);
                directories.any(|directory| Path::new(path).starts_with(directory))
            };
            unset.extend(env(CONFIG_PATH).filter(is_of_jobs).map(|_| CONFIG_PATH));
            let [partition, ..] = Grant::NAMES;
            if env(API_PARTITION_ID).is_some_and(|id| env(partition) == Some(id)) {
                unset.extend([API_HOST, API_PORT, API_PARTITION_ID, API_GCD_ID]);
            }
        }
        Ok(Self { unset, target: None })
    }
}

impl Target {
    /// Gives GCDs to tasks by rank. With more tasks than GCDs it starts again at the first GCD.
    fn of(arguments: &SpankArguments, rank: u32, grant: Grant) -> Self {
        let gcd = rank % grant.gcds;
        let name = file_name(&grant.partition, gcd, grant.gcds);
        let access = match (grant.delivery, arguments.wrong()) {
            (Delivery::File, _) => {
                arguments.directory.clone().map(|directory| GcdAccess::File(directory.join(name)))
            }
            (_, Some(wrong)) => Err(wrong.clone()),
            (Delivery::Api, None) => Ok(GcdAccess::Api(of_api(&grant, gcd))),
            (Delivery::Node, None) => Ok(GcdAccess::Fetched(name)),
        };
        Self { gcd, access, grant }
    }
}

/// The variable that says that the step has no IPUs. Its value is the job's id, so that it means nothing in a
/// later job that inherits it.
pub(crate) const STEP_WITHOUT: &str = "SLURM_VIPU_STEP_WITHOUT";

/// Whether a step for which srun was given this `--gres` has its job's IPUs. Slurm reports errors in it.
pub(crate) fn has_ipus(gres: Option<&str>) -> bool {
    gres.is_none_or(|gres| !matches!(GresRequest::find(gres), Ok(None)))
}

/// Whether srun said, in the environment of its tasks, that this step of `job` has no IPUs.
fn is_told(job: u32, env: impl Fn(&str) -> Option<OsString>) -> bool {
    env(STEP_WITHOUT).is_some_and(|of_job| of_job.to_str() == Some(&job.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    const OWN: &str = "/shared/ipuof/slurm_42.conf";
    const OTHER: &str = "/shared/ipuof/slurm_41.conf";
    const GRANT: (&str, &str) = ("SLURM_VIPU_JOB_42", "slurm_42,pod64,4,1");
    const PARTITION: &str = Grant::NAMES[0];

    /// The change for the first task of job 42 in this environment.
    fn change(words: &[&str], env: &[(&str, &str)]) -> EnvironmentChange {
        change_of(0, words, env)
    }

    fn change_of(rank: u32, words: &[&str], env: &[(&str, &str)]) -> EnvironmentChange {
        known_change_of(rank, words, env).unwrap()
    }

    fn known_change_of(
        rank: u32,
        words: &[&str],
        env: &[(&str, &str)],
    ) -> Result<EnvironmentChange, UnknownGrant> {
        let arguments = SpankArguments::parse(words);
        EnvironmentChange::of_task(&arguments, 42, rank, |name| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn a_job_with_ipus_gets_its_file_in_place_of_an_inherited_one() {
        let env = [GRANT, (PARTITION, "slurm_41"), (CONFIG_PATH, OTHER), ("IPUOF_VIPU_API_HOST", "x")];
        let change = change(&["ipuof_dir=/shared/ipuof"], &env);
        assert_eq!(change.unset, FAMILIES);
        let target = change.target.unwrap();
        assert_eq!(
            (target.grant.to_string().as_str(), target.access),
            (GRANT.1, Ok(GcdAccess::File(OWN.into())))
        );
    }

    #[test]
    fn each_rank_gets_the_file_of_its_gcd() {
        let env = [("SLURM_VIPU_JOB_42", "slurm_42,pod128,128,2")];
        let fetched = [("SLURM_VIPU_JOB_42", "slurm_42,pod128,128,2,v:1,node")];
        for (rank, file) in
            [(0, "/d/slurm_42_gcd0.conf"), (1, "/d/slurm_42_gcd1.conf"), (2, "/d/slurm_42_gcd0.conf")]
        {
            let target = change_of(rank, &["ipuof_dir=/d"], &env).target.unwrap();
            assert_eq!(target.access, Ok(GcdAccess::File(file.into())), "rank {rank}");
            // A file that the node fetches needs no shared directory.
            let target = change_of(rank, &[], &fetched).target.unwrap();
            assert_eq!(target.access, Ok(GcdAccess::Fetched(file["/d/".len()..].into())), "rank {rank}");
        }
    }

    #[test]
    fn a_program_that_asks_the_controller_gets_address_partition_and_gcd() {
        let told = |grant: &str, rank: u32| {
            let env = [("SLURM_VIPU_JOB_42", grant), (CONFIG_PATH, OTHER)];
            let EnvironmentChange { unset, target } = change_of(rank, &[], &env);
            assert_eq!(unset, FAMILIES);
            target.unwrap().access.unwrap()
        };
        let api = |variables: &[(&'static str, &str)]| {
            GcdAccess::Api(variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect())
        };
        let one = [(API_HOST, "::1"), (API_PORT, "8091"), (API_PARTITION_ID, "slurm_42")];
        assert_eq!(told("slurm_42,pod64,4,1,[::1]:8091,api", 1), api(&one));
        let second = [(API_HOST, "v"), (API_PORT, "1"), (API_PARTITION_ID, "slurm_42"), (API_GCD_ID, "1")];
        assert_eq!(told("slurm_42,pod128,128,2,v:1,api", 3), api(&second));
    }

    #[test]
    fn only_a_grant_under_the_jobs_own_id_counts() {
        for (name, value) in
            [("SLURM_VIPU_JOB_41", "slurm_41,pod64,4,1"), ("SLURM_VIPU_JOB_421", "slurm_42,pod64,4,1")]
        {
            assert_eq!(
                change(&["ipuof_dir=/d"], &[(name, value)]),
                EnvironmentChange::default(),
                "{name}={value}"
            );
        }
    }

    #[test]
    fn a_grant_of_an_unknown_form_is_not_taken_for_none() {
        for text in
            ["slurm_42,pod64,4,1,v:1,api,all,new", "slurm_42,pod64,4,1,v:1,new", "../slurm_42,pod64,4,1", ""]
        {
            let found = known_change_of(0, &["ipuof_dir=/d"], &[(GRANT.0, text)]);
            assert_eq!(found, Err(UnknownGrant(text.into())));
        }
        let without_ipus = [(GRANT.0, "new"), (STEP_WITHOUT, "42")];
        assert!(change(&["ipuof_dir=/d"], &without_ipus).target.is_none());
    }

    #[test]
    fn a_step_without_ipus_has_no_variables_of_its_job() {
        let env = [GRANT, (CONFIG_PATH, OWN), (STEP_WITHOUT, "42")];
        let change = change(&["ipuof_dir=/shared/ipuof"], &env);
        assert_eq!(change.target, None);
        for name in FAMILIES.into_iter().chain(Grant::NAMES).chain([STEP_WITHOUT]) {
            assert!(change.unset.contains(&name), "{name}");
        }
    }

    #[test]
    fn a_mark_of_another_jobs_step_means_nothing() {
        let env = [GRANT, (STEP_WITHOUT, "41")];
        assert!(change(&["ipuof_dir=/d"], &env).target.is_some());
    }

    #[test]
    fn a_job_without_ipus_keeps_its_environment() {
        for env in [&[][..], &[("HOME", "/root")], &[(CONFIG_PATH, OTHER), ("IPUOF_VIPU_API_HOST", "x")]] {
            assert_eq!(change(&["ipuof_dir=/shared/ipuof"], env), EnvironmentChange::default(), "{env:?}");
            assert_eq!(change(&[], env), EnvironmentChange::default(), "{env:?}");
        }
    }

    #[test]
    fn only_variables_of_another_job_are_removed() {
        let ours = &["ipuof_dir=/shared/ipuof"][..];
        for (words, env, unset) in [
            (ours, &[(PARTITION, "slurm_41")][..], &[PARTITION][..]),
            (ours, &[("SLURM_VIPU_MODEL", "pod64")], &["SLURM_VIPU_MODEL"]),
            (ours, &[(PARTITION, "slurm_41"), (CONFIG_PATH, OTHER)], &[PARTITION, CONFIG_PATH]),
            (ours, &[(PARTITION, "slurm_41"), (CONFIG_PATH, "/shared/ipuof2/x")], &[PARTITION]),
            (ours, &[(PARTITION, "slurm_41"), ("IPUOF_VIPU_API_HOST", "x")], &[PARTITION]),
            (&[], &[(PARTITION, "slurm_41"), (CONFIG_PATH, OTHER)], &[PARTITION]),
            (
                &[],
                &[(PARTITION, "slurm_41"), (CONFIG_PATH, "/run/slurm-vipu/41-7/x")],
                &[PARTITION, CONFIG_PATH],
            ),
            (
                &[],
                &[(PARTITION, "slurm_41"), (API_PARTITION_ID, "slurm_41")],
                &[PARTITION, API_HOST, API_PORT, API_PARTITION_ID, API_GCD_ID],
            ),
        ] {
            assert_eq!(
                change(words, env),
                EnvironmentChange { unset: unset.into(), target: None },
                "{env:?}"
            );
        }
    }

    #[test]
    fn bad_arguments_stop_jobs_with_ipus() {
        for delivery in ["", ",v:1", ",v:1,api", ",v:1,node"] {
            let grant = format!("slurm_42,pod64,4,1{delivery}");
            let target = change(&["ipuof_dir=x"], &[(GRANT.0, &grant)]).target.unwrap();
            assert_eq!(target.access, Err(BadSpankArguments::Relative("ipuof_dir=x".into())), "{grant}");
        }
    }

    /// One part of a grant: as slurmctld writes it, or any text.
    fn part(written: &'static [&'static str]) -> impl Strategy<Value = String> {
        prop_oneof![3 => select(written).prop_map(str::to_owned), 1 => "\\PC{0,12}"]
    }

    proptest! {
        #[test]
        fn any_text_in_place_of_a_grant_leads_to_files_of_the_directory_only(
            rank: u32,
            parts in (
                part(&["slurm_42", "slurm_42r1", "../slurm_42", "a/b"]),
                part(&["pod64", "x"]),
                part(&["1", "4", "3", "0"]),
                part(&["1", "2", "0", "4294967295"]),
                part(&["v:1", "[::1]:8090", "v:0"]),
                part(&["file", "api", "node"]),
            ),
            count in 0..7_usize,
        ) {
            let parts = [parts.0, parts.1, parts.2, parts.3, parts.4, parts.5];
            let text = parts[..count.min(parts.len())].join(",");
            let env = [(GRANT.0, text.as_str()), (PARTITION, &parts[0]), (API_PARTITION_ID, &parts[0])];
            let found = known_change_of(rank, &["ipuof_dir=/d"], &env);
            prop_assert_eq!(found.is_ok(), text.parse::<Grant>().is_ok());
            let Some(Target { grant, gcd, access }) = found.ok().and_then(|change| change.target) else {
                return Ok(());
            };
            prop_assert!(gcd < grant.gcds);
            match access.unwrap() {
                GcdAccess::File(path) => prop_assert_eq!(path.parent(), Some(Path::new("/d"))),
                GcdAccess::Fetched(name) => prop_assert!(!name.contains('/')),
                GcdAccess::Api(pairs) => prop_assert!(!pairs.iter().any(|(_, text)| text.contains(char::is_control))),
            }
        }
    }

    #[test]
    fn an_environment_need_not_be_text() {
        use std::os::unix::ffi::OsStringExt;
        let arguments = SpankArguments::parse(&["ipuof_dir=/d"]);
        let change = EnvironmentChange::of_task(&arguments, 42, 0, |name| {
            (name == PARTITION).then(|| OsString::from_vec(vec![b's', 0xff]))
        });
        assert_eq!(change.unwrap().unset, [PARTITION]);
    }

    #[test]
    fn a_step_has_the_gres_it_asks_for_or_the_ipus_of_its_job() {
        assert!(has_ipus(None));
        for gres in ["gres:vipu:pod64:16", "gres/gpu:1,gres/vipu:4", "gres/vipu:x"] {
            assert!(has_ipus(Some(gres)), "{gres}");
        }
        for gres in ["none", "NONE", "gres:gpu:1", "gres/gpu:tesla:2,gres/nic:1"] {
            assert!(!has_ipus(Some(gres)), "{gres}");
        }
    }
}
