//! What the tasks of a job are told of its partition.

use std::fmt;
use std::str::FromStr;

use crate::{ControllerName, Delivery, IpuCount, ModelName, PartitionId};

/// The partition that a job was given, as slurmctld writes it into the job's environment and tasks read it.
///
/// The variable's name holds the job id, so what a shell inherited from another job means nothing here, and
/// one that a parallel component of the same job brings along is not taken for one's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The partition's id.
    pub partition: PartitionId,
    /// The model it is of.
    pub model: ModelName,
    /// Its size.
    pub size: IpuCount,
    /// How many GCDs, and so IPUoF files, it has.
    pub gcds: u32,
    /// The controller it is on; `None` in a grant from before a model could have several.
    pub controller: Option<ControllerName>,
    /// How tasks come to know it; any but a file needs the controller.
    pub delivery: Delivery,
}

/// The text is not what slurmctld writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected <partition>,<model>,<IPUs>,<GCDs>,<controller>,<delivery>")]
pub struct BadGrant;

impl Grant {
    /// The variable that holds the grant of a job.
    #[must_use]
    pub fn variable(job: u32) -> String {
        format!("SLURM_VIPU_JOB_{job}")
    }

    /// The same for people and scripts: variables by name.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, String)> {
        let values = [
            Some(self.partition.to_string()),
            Some(self.size.to_string()),
            Some(self.model.to_string()),
            Some(self.gcds.to_string()),
            self.controller.as_ref().map(ControllerName::to_string),
        ];
        Self::NAMES.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?)))
    }

    /// What all names of variables of ours begin with.
    pub const BEGINNING: &'static str = "SLURM_VIPU_";

    /// The names of [`Grant::named`].
    pub const NAMES: [&'static str; 5] = [
        "SLURM_VIPU_PARTITION",
        "SLURM_VIPU_IPUS",
        "SLURM_VIPU_MODEL",
        "SLURM_VIPU_GCDS",
        "SLURM_VIPU_CONTROLLER",
    ];

    /// What the task has besides that is to use this GCD, and can start others on these hosts: variables by
    /// name.
    pub fn in_task(&self, gcd: u32, hosts: &[String]) -> impl Iterator<Item = (&'static str, String)> {
        let hosts = hosts.join(",");
        let poprun = self.poprun(&hosts);
        Self::NAMES_IN_TASK.into_iter().zip([gcd.to_string(), hosts, poprun])
    }

    /// The names of [`Grant::in_task`].
    pub const NAMES_IN_TASK: [&'static str; 3] = ["SLURM_VIPU_GCD", "SLURM_VIPU_HOSTS", "SLURM_VIPU_POPRUN"];

    /// Arguments for `poprun`: an instance for each GCD, on the job's hosts and partition.
    fn poprun(&self, hosts: &str) -> String {
        let mut words = vec![format!("--host={hosts}"), format!("--vipu-partition={}", self.partition)];
        if let Some(controller) = &self.controller {
            words.push(format!("--vipu-server-host={}", controller.host()));
            words.push(format!("--vipu-server-port={}", controller.port()));
        }
        words.push(format!("--num-instances={}", self.gcds));
        words.join(" ")
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{},{}", self.partition, self.model, self.size, self.gcds)?;
        self.controller.iter().try_for_each(|controller| write!(f, ",{controller}"))?;
        // What reads grants on a node that was not upgraded yet knows files only.
        if self.delivery == Delivery::File { Ok(()) } else { write!(f, ",{}", self.delivery) }
    }
}

impl FromStr for Grant {
    type Err = BadGrant;

    fn from_str(text: &str) -> Result<Self, BadGrant> {
        let parts: Vec<_> = text.split(',').collect();
        let (&[partition, model, size, gcds], others) = parts.split_first_chunk().ok_or(BadGrant)?;
        let controller = |text: &str| text.parse().map(Some).map_err(|_| BadGrant);
        let (controller, delivery) = match others {
            [] => (None, Delivery::File),
            [name] => (controller(name)?, Delivery::File),
            [name, delivery] => (controller(name)?, delivery.parse().map_err(|_| BadGrant)?),
            _ => return Err(BadGrant),
        };
        Ok(Self {
            partition: PartitionId::new(partition).map_err(|_| BadGrant)?,
            model: ModelName::new(model).map_err(|_| BadGrant)?,
            size: size.parse().ok().and_then(|size| IpuCount::new(size).ok()).ok_or(BadGrant)?,
            gcds: gcds.parse().ok().filter(|gcds| *gcds > 0).ok_or(BadGrant)?,
            controller,
            delivery,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let text = "slurm_42r1,pod64,128,2,[::1]:8090";
        let grant: Grant = text.parse().unwrap();
        assert_eq!((grant.partition.as_str(), grant.size.get(), grant.gcds), ("slurm_42r1", 128, 2));
        assert_eq!(grant.to_string(), text);
        assert!(grant.named().map(|(name, _)| name).eq(Grant::NAMES));
    }

    #[test]
    fn a_task_has_its_gcd_and_what_poprun_wants() {
        let grant: Grant = "slurm_42,pod64,16,2,vipu:8090".parse().unwrap();
        let told: Vec<_> = grant.in_task(1, &["a".into(), "b".into()]).map(|(_, value)| value).collect();
        let poprun = "--host=a,b --vipu-partition=slurm_42 --vipu-server-host=vipu --vipu-server-port=8090 \
                      --num-instances=2";
        assert_eq!(told, ["1", "a,b", poprun]);
    }

    #[test]
    fn another_delivery_than_a_file_is_told() {
        for (delivery, text) in
            [(Delivery::Api, "s,p,1,1,vipu:8090,api"), (Delivery::Node, "s,p,1,1,vipu:8090,node")]
        {
            let grant: Grant = text.parse().unwrap();
            assert_eq!((grant.delivery, grant.to_string().as_str()), (delivery, text));
        }
    }

    #[test]
    fn a_grant_from_before_there_were_several_controllers_is_read() {
        let text = "slurm_42r1,pod64,128,2";
        let grant: Grant = text.parse().unwrap();
        assert_eq!((grant.controller.as_ref(), grant.to_string().as_str()), (None, text));
        assert!(grant.named().map(|(name, _)| name).eq(Grant::NAMES[..4].iter().copied()));
    }

    #[test]
    fn anything_else_is_nothing() {
        for bad in [
            "",
            "slurm_42",
            "slurm_42,pod64,16",
            "../x,pod64,16,1",
            "s,pod64,3,1",
            "s,pod64,16,0",
            "s,p,1,1,vipu",
            "s,p,1,1,vipu:8090,",
            "s,p,1,1,vipu:8090,post",
            "s,p,1,1,vipu:8090,api,",
        ] {
            assert_eq!(bad.parse::<Grant>(), Err(BadGrant), "{bad}");
        }
    }
}
