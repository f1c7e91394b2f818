//! The variables by which users give options, like those that srun, sbatch and salloc have for their own
//! options.

use std::ffi::OsString;

use vipu_types::JobOption;

/// The first part of the names of a command's variables.
fn beginning(program: &str) -> Option<&'static str> {
    match program {
        "srun" => Some("SLURM"),
        "sbatch" => Some("SBATCH"),
        "salloc" => Some("SALLOC"),
        _ => None,
    }
}

/// An option that a variable gives.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) option: JobOption,
    /// The variable's name.
    pub(crate) variable: String,
    pub(crate) value: OsString,
}

/// The options that a command's variables give. An empty variable gives none.
///
/// An srun inside a job gets none, because a step uses the partition of its job. The variables in a job's
/// environment belong to an earlier request, for example to that for the job.
pub(crate) fn given(program: &str, env: impl Fn(&str) -> Option<OsString>) -> Vec<Given> {
    let Some(beginning) = beginning(program).filter(|_| !is_step(program, &env)) else { return Vec::new() };
    let by_variable = |option: JobOption| {
        let variable = option.input_variable(beginning);
        let value = env(&variable).filter(|value| !value.is_empty())?;
        Some(Given { option, variable, value })
    };
    JobOption::ALL.into_iter().filter_map(by_variable).collect()
}

/// Whether the command is an srun inside a job.
fn is_step(program: &str, env: impl Fn(&str) -> Option<OsString>) -> bool {
    program == "srun" && ["SLURM_JOB_ID", "SLURM_JOBID"].iter().any(|name| env(name).is_some())
}

/// The warning about an option that does nothing for a step, because the step uses the partition of its job. `--ipus` is
/// checked where the step runs, if it asks for more than the job has.
pub(crate) fn warning(
    program: &str,
    option: JobOption,
    value: &str,
    env: impl Fn(&str) -> Option<OsString>,
) -> Option<String> {
    let name = option.help().name;
    if !is_step(program, &env) {
        return None;
    }
    if option != JobOption::Ipus {
        return Some(format!(
            "warning: --{name} has no effect on a step, which uses the partition of its job"
        ));
    }
    // In a heterogeneous job, the variable is that of the first component.
    let has = env("SLURM_VIPU_IPUS").filter(|_| env("SLURM_HET_SIZE").is_none())?;
    let has: u64 = has.to_str()?.parse().ok()?;
    let is_part = value.parse::<u64>().is_ok_and(|asked| asked < has);
    is_part.then(|| format!("warning: --{name}={value} has no effect: a step has all {has} IPUs of its job"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given_to(program: &str, env: &[(&str, &str)]) -> Vec<String> {
        let env = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into());
        let shown =
            |it: Given| format!("--{}={} by {}", it.option.help().name, it.value.display(), it.variable);
        given(program, env).into_iter().map(shown).collect()
    }

    #[test]
    fn each_command_has_variables_of_its_own() {
        let env = [
            ("SLURM_IPUS", "1"),
            ("SBATCH_IPUS", "2"),
            ("SALLOC_IPUS", "4"),
            ("SBATCH_IPU_GCDS", "2"),
            ("SBATCH_IPU_REQUEUE_ON", ""),
            ("SLURM_VIPU_IPUS", "64"),
            ("SPANK_IPUS", "64"),
        ];
        assert_eq!(given_to("srun", &env), ["--ipus=1 by SLURM_IPUS"]);
        assert_eq!(given_to("sbatch", &env), ["--ipus=2 by SBATCH_IPUS", "--ipu-gcds=2 by SBATCH_IPU_GCDS"]);
        assert_eq!(given_to("salloc", &env), ["--ipus=4 by SALLOC_IPUS"]);
        assert_eq!(given_to("squeue", &env), [""; 0]);
    }

    #[test]
    fn a_step_is_told_which_options_have_no_effect() {
        let told = |program, option, value, env: &[(&str, &str)]| {
            let env =
                |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into());
            warning(program, option, value, env).unwrap_or_default()
        };
        let in_job = [("SLURM_JOB_ID", "7"), ("SLURM_VIPU_IPUS", "16")];
        let in_component = [in_job[0], in_job[1], ("SLURM_HET_SIZE", "2")];
        assert_eq!(
            told("srun", JobOption::Model, "pod16", &in_job),
            "warning: --ipu-model has no effect on a step, which uses the partition of its job"
        );
        assert_eq!(
            told("srun", JobOption::Ipus, "3", &in_job),
            "warning: --ipus=3 has no effect: a step has all 16 IPUs of its job"
        );
        for (program, option, value, env) in [
            ("srun", JobOption::Ipus, "16", &in_job[..]),
            ("srun", JobOption::Ipus, "32", &in_job),
            ("srun", JobOption::Ipus, "3", &in_job[..1]),
            ("srun", JobOption::Ipus, "3", &in_component),
            ("srun", JobOption::Model, "pod16", &in_job[1..]),
            ("sbatch", JobOption::Model, "pod16", &in_job),
        ] {
            assert_eq!(told(program, option, value, env), "", "{program} {value}");
        }
    }

    #[test]
    fn a_step_has_no_variables() {
        for job in ["SLURM_JOB_ID", "SLURM_JOBID"] {
            assert_eq!(given_to("srun", &[("SLURM_IPUS", "1"), (job, "7")]), [""; 0]);
            assert_eq!(given_to("sbatch", &[("SBATCH_IPUS", "1"), (job, "7")]).len(), 1);
        }
    }
}
