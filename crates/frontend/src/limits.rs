//! The most IPUs that one job may have, and the limit that says so.

use std::collections::BTreeMap;
use std::fmt;

use vipu_types::ModelName;

use crate::models::Model;

/// The Slurm partitions and the QOS of a job, on which its limits depend. Both are lists of names as users
/// write them, `debug,short`.
///
/// With several names, one that allows the request is enough, because the job may run in any of them.
/// `None` if the user named none and Slurm has not chosen yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) slurm_partitions: Option<String>,
    /// Names in upper or lower case: Slurm does not tell them apart.
    pub(crate) qos: Option<String>,
}

/// The most IPUs of a model that a job may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Most<'conf> {
    pub(crate) ipus: u32,
    model: &'conf ModelName,
    by: By<'conf>,
}

/// The origin of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By<'conf> {
    Model,
    SlurmPartition(&'conf str),
    Qos(&'conf str),
}

impl fmt::Display for Most<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ipus, model, by } = self;
        let word = if *ipus == 1 { "IPU" } else { "IPUs" };
        match by {
            By::Model => write!(f, "a job on {model} gets at most {ipus} {word}"),
            By::SlurmPartition(name) => {
                write!(f, "a job in Slurm partition {name} gets at most {ipus} {word} of {model}")
            }
            By::Qos(name) => write!(f, "a job of QOS {name} gets at most {ipus} {word} of {model}"),
        }
    }
}

impl Model {
    /// The most IPUs of this model, called `name`, that a job with this standing may have.
    pub(crate) fn most<'conf>(&'conf self, name: &'conf ModelName, standing: &Standing) -> Most<'conf> {
        let of_model = Most { ipus: self.largest, model: name, by: By::Model };
        let Some(own) = &self.settings else { return of_model };
        let in_partition = largest(&own.max_ipus_in_slurm_partition, standing.slurm_partitions.as_deref());
        let in_qos =
            largest(&own.max_ipus_in_qos, standing.qos.as_deref().map(str::to_ascii_lowercase).as_deref());
        let others = [
            in_partition.map(|(ipus, name)| (ipus, By::SlurmPartition(name))),
            in_qos.map(|(ipus, name)| (ipus, By::Qos(name))),
        ];
        others.into_iter().flatten().fold(of_model, |least, (ipus, by)| match ipus < least.ipus {
            true => Most { ipus, by, ..least },
            false => least,
        })
    }
}

/// The largest limit of these names. None if one of the names has no limit.
fn largest<'conf>(limits: &'conf BTreeMap<String, u32>, names: Option<&str>) -> Option<(u32, &'conf str)> {
    let mut names = names?.split(',').map(str::trim).filter(|name| !name.is_empty());
    let limit = |name: &str| limits.get_key_value(name).map(|(name, ipus)| (*ipus, name.as_str()));
    let first = limit(names.next()?)?;
    names.try_fold(first, |most, name| Some(limit(name)?.max(most)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use vipu_conf::Settings;

    use super::*;

    fn told(text: &str, slurm_partitions: Option<&str>, qos: Option<&str>) -> String {
        let file = format!("ApiHost=x IpuofDir=/x {text}");
        let settings = Settings::parse(&file, Path::new("vipu.conf")).unwrap();
        let model = Model { largest: 64, sizes: None, settings: Some(settings), cabling: None };
        let standing =
            Standing { slurm_partitions: slurm_partitions.map(str::to_owned), qos: qos.map(str::to_owned) };
        model.most(&ModelName::new("pod64").unwrap(), &standing).to_string()
    }

    #[test]
    fn the_strictest_limit_counts_and_the_best_of_several_names() {
        let limits =
            "MaxIpusPerJobInSlurmPartition=debug:16,short:32,tiny:1,all:100 MaxIpusPerJobInQos=Low:8";
        for (slurm_partitions, qos, line) in [
            (None, None, "a job on pod64 gets at most 64 IPUs"),
            (Some("other"), Some("high"), "a job on pod64 gets at most 64 IPUs"),
            (Some("all"), None, "a job on pod64 gets at most 64 IPUs"),
            (Some("debug"), None, "a job in Slurm partition debug gets at most 16 IPUs of pod64"),
            (Some("DEBUG"), None, "a job on pod64 gets at most 64 IPUs"),
            (Some("tiny"), None, "a job in Slurm partition tiny gets at most 1 IPU of pod64"),
            (Some("debug,short"), None, "a job in Slurm partition short gets at most 32 IPUs of pod64"),
            (Some("debug,other"), None, "a job on pod64 gets at most 64 IPUs"),
            (Some("debug"), Some("LOW"), "a job of QOS low gets at most 8 IPUs of pod64"),
            (Some("tiny"), Some("low"), "a job in Slurm partition tiny gets at most 1 IPU of pod64"),
            (Some(""), Some(""), "a job on pod64 gets at most 64 IPUs"),
        ] {
            assert_eq!(told(limits, slurm_partitions, qos), line, "{slurm_partitions:?} {qos:?}");
        }
    }
}
