//! The options that `spank_ipuof.so` adds to `srun`, `sbatch` and `salloc`.

use std::fmt;
use std::str::FromStr;

use crate::after_failure::{self, AfterFailure, RequeueOn};
use crate::shape::Choice;
use crate::shown::shown;
use crate::{GatewayRouting, GresRequest, GresType, LinkRouting, ModelName, Shape, Sync, Words, words};

/// The help text of an option in Slurm's commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Help {
    /// The name, without dashes.
    pub name: &'static str,
    /// The placeholder for the value.
    pub value: &'static str,
    /// The purpose, with units and default.
    pub text: &'static str,
    /// The meaning of the option without a value. `None` if a value is needed.
    pub bare: Option<&'static str>,
}

/// Makes the enumeration of the options. Each row has the name, the placeholder for the value, the meaning
/// without a value, and the purpose.
macro_rules! job_options {
    ($($option:ident = $name:literal, $value:literal, $bare:expr, $text:literal;)+) => {
        /// An option.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum JobOption {
            $(#[doc = concat!("`--", $name, "`")] $option,)+
        }

        impl JobOption {
            /// All options.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$option),+];

            /// The help text.
            pub const fn help(self) -> Help {
                match self {
                    $(Self::$option => Help { name: $name, value: $value, text: $text, bare: $bare },)+
                }
            }
        }
    };
}

job_options! {
    Ipus = "ipus", "IPUs", None, "size of the job's partition: 1, 2, 4, ... IPUs, as --gres=vipu:<IPUs>";
    Model = "ipu-model", "model", None,
        "Pod model to take the IPUs from (default: where there is one choice)";
    Gcds = "ipu-gcds", "GCDs", None,
        "programs that share the partition, each with its own IPUs (default: one per node, if the IPUs can be \
         shared out so)";
    Replicas = "ipu-replicas", "replicas", None,
        "replicas in all GCDs together (default: one per GCD)";
    Reconfigurable = "ipu-reconfigurable", "yes|no", Some("yes"),
        "programs may use parts of the partition (default: as the site has it; bare: yes)";
    Sync = "ipu-sync", "type", None,
        "c2-compatible, pod-native-default or pod-native-replicated-pipeline (default: the controller's)";
    Routing = "ipu-routing", "type", None,
        "over IPU-Links: dnc, swnc, btnc or ringswnc (default: the controller's)";
    GatewayRouting = "ipu-gateway-routing", "type", None,
        "between IPU-Link domains: ring or swring (default: the controller's)";
    Keep = "ipu-keep", "time", None,
        "keep the partition of a job that failed for so long: minutes, or 90s, 10m, 1h (default: not at all)";
    RequeueOn = "ipu-requeue-on", "codes|any", None,
        "put a batch job that fails with one of these exit codes back into the queue, as in 42,128-255; any: \
         after each end but scancel, also with exit code 0 (default: none)";
}

/// The values of a job's options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// `--ipus`
    pub ipus: Option<u64>,
    /// `--ipu-model`
    pub model: Option<ModelName>,
    /// The shape of the partition: all options but the others here.
    pub shape: Shape,
    /// `--ipu-keep` and `--ipu-requeue-on`
    pub after_failure: AfterFailure,
}

/// A value without a meaning. The text is one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--{option}={value}: {wrong}")]
pub struct BadValue {
    option: &'static str,
    value: String,
    wrong: String,
}

impl JobOption {
    /// The beginning of the variables in which Slurm keeps these options with a job: Slurm's prefix for
    /// options of SPANK plugins, and the plugin's name. The option's name follows, with `_` for each
    /// character that is neither a letter nor a digit.
    pub const PREFIX: &str = "_SLURM_SPANK_OPTION_spank_ipuof_";

    /// The variable that gives the option to a command, without the command's own prefix: `SBATCH_IPUS`,
    /// `SLURM_IPU_GCDS`.
    pub fn input_variable(self, beginning: &str) -> String {
        format!("{beginning}_{}", self.help().name.replace('-', "_").to_ascii_uppercase())
    }

    /// The variable in which Slurm keeps the option with a job.
    pub fn variable(self) -> String {
        format!("{}{}", Self::PREFIX, self.help().name.replace('-', "_"))
    }
}

impl Asked {
    /// Reads the options from the variables that Slurm keeps with a job, each `name=value`. Ignores other
    /// variables.
    ///
    /// # Errors
    /// A value has no meaning.
    pub fn read<'a>(kept: impl IntoIterator<Item = &'a str>) -> Result<Self, BadValue> {
        let mut asked = Self::default();
        for text in kept {
            let Some((name, value)) =
                text.strip_prefix(JobOption::PREFIX).and_then(|rest| rest.split_once('='))
            else {
                continue;
            };
            let is_named = |option: &JobOption| option.help().name.replace('-', "_") == name;
            if let Some(option) = JobOption::ALL.into_iter().find(is_named) {
                asked.set(option, value)?;
            }
        }
        Ok(asked)
    }

    /// Takes the value of an option. If an option is given twice, the last value counts, as with Slurm's
    /// options.
    ///
    /// # Errors
    /// The value has no meaning.
    pub fn set(&mut self, option: JobOption, value: &str) -> Result<(), BadValue> {
        let shape = &mut self.shape;
        // Slurm writes "(null)" where an option has no value.
        let value = match (value, option.help().bare) {
            ("" | "(null)", Some(bare)) => bare,
            _ => value,
        };
        match option {
            JobOption::Ipus => match value.split_once(':') {
                Some((model, ipus)) if ModelName::new(model).is_ok() && ipus.parse::<u64>().is_ok() => {
                    let wanted = format_args!("a number alone, as in --ipus={ipus} --ipu-model={model},");
                    return Err(bad(option, value, wanted));
                }
                _ => self.ipus = Some(count(option, value)?),
            },
            JobOption::Model => {
                let model =
                    ModelName::new(value).map_err(|_| bad(option, value, "the name of a Pod model"))?;
                self.model = Some(model);
            }
            JobOption::Gcds => shape.gcds = count(option, value)?,
            JobOption::Replicas => shape.replicas = Some(count(option, value)?),
            JobOption::Reconfigurable => {
                shape.reconfigurable = Some(match value {
                    "yes" => true,
                    "no" => false,
                    _ => return Err(bad(option, value, "yes or no")),
                });
            }
            JobOption::Sync => shape.sync = Some(choose::<Sync>(option, value)?),
            JobOption::Routing => shape.link_routing = Some(choose::<LinkRouting>(option, value)?),
            JobOption::GatewayRouting => {
                shape.gateway_routing = Some(choose::<GatewayRouting>(option, value)?);
            }
            JobOption::Keep => {
                let wanted = "a time, such as 10 (minutes), 90s, 10m or 1h, of at most a year,";
                let keep = after_failure::time(value).ok_or_else(|| bad(option, value, wanted))?;
                self.after_failure.keep = Some(keep);
            }
            JobOption::RequeueOn => {
                let wanted = "a list of exit codes from 1 to 255, such as 42,128-255, or any,";
                self.after_failure.requeue_on = value.parse().map_err(|_| bad(option, value, wanted))?;
            }
        }
        Ok(())
    }

    /// Combines the options and the GRES request of a job. `None` if neither asks for IPUs.
    ///
    /// # Errors
    /// The options and the request contradict each other.
    pub fn with_gres(&self, gres: Option<GresRequest>) -> Result<Option<GresRequest>, Words> {
        let Some(gres) = gres else {
            return match (self.ipus, self.first_of_shape(), self.first_of_policy()) {
                (Some(count), ..) => Ok(Some(GresRequest { of: self.gres_type(), count: Some(count) })),
                (None, Some(option), _) => Err(words!(
                    "--{} says what a partition is to be like, and the job asks for no IPUs: add --ipus=<IPUs>",
                    option.help().name
                )),
                (None, None, Some(option)) => Err(words!(
                    "--{} is for jobs with IPUs, and this one asks for none: add --ipus=<IPUs>",
                    option.help().name
                )),
                (None, None, None) => Ok(None),
            };
        };
        if let Some(ipus) = self.ipus.filter(|&ipus| gres.ipus().is_some_and(|other| other != ipus)) {
            return Err(words!(
                "--ipus={ipus} and --gres={gres} are two numbers of IPUs: give one (another plugin may have set the --gres)"
            ));
        }
        match (&self.model, &gres.of) {
            (Some(model), Some(other)) if *model != other.model() => {
                Err(words!("--ipu-model={model} and --gres={gres} are two models: give one"))
            }
            _ => Ok(Some(GresRequest {
                of: gres.of.or_else(|| self.gres_type()),
                count: gres.count.or(self.ipus),
            })),
        }
    }

    /// The GRES type that `--ipu-model` stands for.
    pub fn gres_type(&self) -> Option<GresType> {
        self.model.clone().map(GresType::Model)
    }

    /// The first option about the partition that the job has.
    fn first_of_shape(&self) -> Option<JobOption> {
        let Shape { gcds, replicas, reconfigurable, sync, link_routing, gateway_routing } = self.shape;
        let given = [
            (JobOption::Model, self.model.is_some()),
            (JobOption::Gcds, gcds > 0),
            (JobOption::Replicas, replicas.is_some()),
            (JobOption::Reconfigurable, reconfigurable.is_some()),
            (JobOption::Sync, sync.is_some()),
            (JobOption::Routing, link_routing.is_some()),
            (JobOption::GatewayRouting, gateway_routing.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }

    /// The first option about failed jobs that the job has.
    fn first_of_policy(&self) -> Option<JobOption> {
        let AfterFailure { keep, requeue_on } = self.after_failure;
        let keep = keep.map(|_| JobOption::Keep);
        keep.or_else(|| (requeue_on != RequeueOn::NEVER).then_some(JobOption::RequeueOn))
    }
}

fn bad(option: JobOption, value: &str, wanted: impl fmt::Display) -> BadValue {
    BadValue { option: option.help().name, value: shown(value), wrong: format!("{wanted} is needed") }
}

/// The error for a number that is too large.
fn beyond(option: JobOption, value: &str) -> BadValue {
    BadValue { option: option.help().name, value: shown(value), wrong: "is more than any system has".into() }
}

/// Parses a number above zero that has digits only.
fn count<N: FromStr + PartialOrd + From<u8>>(option: JobOption, value: &str) -> Result<N, BadValue> {
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let wanted = || bad(option, value, format_args!("a number of {}, 1 or more,", option.help().value));
    if !is_number {
        return Err(wanted());
    }
    let number = value.parse().map_err(|_| beyond(option, value))?;
    if number > N::from(0) { Ok(number) } else { Err(wanted()) }
}

fn choose<C: Choice>(option: JobOption, value: &str) -> Result<C, BadValue> {
    C::of(value).ok_or_else(|| {
        let words: Vec<_> = C::WORDS.iter().map(|(word, _)| *word).collect();
        bad(option, value, format_args!("one of {}", words.join(", ")))
    })
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
