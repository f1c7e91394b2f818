//! The most IPUs that one job may have, and by what.

use std::collections::BTreeMap;
use std::fmt;

use vipu_types::ModelName;

use crate::models::Model;

/// Where a job is in Slurm, as far as limits go by it.
///
/// Of several Slurm partitions or QOS a job gets into one, nobody knows which: it is enough that one lets it. None is
/// known where nobody said one, and Slurm did not choose yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) slurm_partitions: Vec<String>,
    /// In any case: Slurm makes no difference.
    pub(crate) qos: Vec<String>,
}

impl Standing {
    /// From lists as users write them, `debug,short`.
    pub(crate) fn new(slurm_partitions: Option<&str>, qos: Option<&str>) -> Self {
        Self { slurm_partitions: names(slurm_partitions), qos: names(qos) }
    }
}

fn names(list: Option<&str>) -> Vec<String> {
    let names = list.into_iter().flat_map(|list| list.split(',')).map(str::trim);
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The most IPUs of a model that a job may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Most {
    pub(crate) ipus: u32,
    model: ModelName,
    by: By,
}

/// What a limit is of.
#[derive(Clone, Debug, PartialEq, Eq)]
enum By {
    Model,
    SlurmPartition(String),
    Qos(String),
}

impl fmt::Display for Most {
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
    /// The most IPUs that a job may have which stands so. The model is called `name`.
    pub(crate) fn most(&self, name: &ModelName, standing: &Standing) -> Most {
        let of_model = (self.largest, By::Model);
        let settings = self.settings.as_ref();
        let in_partition = settings.and_then(|own| {
            largest(&own.max_ipus_in_slurm_partition, standing.slurm_partitions.iter().cloned())
        });
        let in_qos = settings.and_then(|own| {
            largest(&own.max_ipus_in_qos, standing.qos.iter().map(|name| name.to_ascii_lowercase()))
        });
        let others = [
            in_partition.map(|(ipus, name)| (ipus, By::SlurmPartition(name))),
            in_qos.map(|(ipus, name)| (ipus, By::Qos(name))),
        ];
        let strictest = |least: (u32, By), other: (u32, By)| if other.0 < least.0 { other } else { least };
        let (ipus, by) = others.into_iter().flatten().fold(of_model, strictest);
        Most { ipus, model: name.clone(), by }
    }
}

/// The largest limit of these names, nothing if one of them has none.
fn largest(limits: &BTreeMap<String, u32>, mut names: impl Iterator<Item = String>) -> Option<(u32, String)> {
    let first = names.next()?;
    let limit = |name: String| limits.get(&name).map(|ipus| (*ipus, name));
    names.try_fold(limit(first)?, |most, name| Some(limit(name)?.max(most)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use conf::Settings;

    use super::*;

    fn told(text: &str, slurm_partitions: Option<&str>, qos: Option<&str>) -> String {
        let file = format!("ApiHost=x IpuofDir=/x {text}");
        let settings = Settings::parse(&file, Path::new("vipu.conf")).unwrap();
        let model = Model { largest: 64, settings: Some(settings) };
        model.most(&ModelName::new("pod64").unwrap(), &Standing::new(slurm_partitions, qos)).to_string()
    }

    #[test]
    fn the_strictest_limit_counts_and_of_several_places_the_best() {
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
