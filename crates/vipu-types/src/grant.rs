//! The description of its partition that a job gets.

use std::fmt;
use std::str::FromStr;

use crate::{ControllerName, Delivery, IpuCount, ModelName, PartitionId};

/// The partition of a job. slurmctld writes it into the job's environment, and tasks read it there.
///
/// The variable's name contains the job id. Variables inherited from the shell of another job, or from
/// another component of a heterogeneous job, are therefore not mistaken for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The partition's id. With `shared`, it is known in slurmctld only.
    pub partition: PartitionId,
    /// The model of its Pod.
    pub model: ModelName,
    /// Its size.
    pub size: IpuCount,
    /// The number of GCDs, which is the number of IPUoF files.
    pub gcds: u32,
    /// Its controller. `None` in a grant of an early version, in which a model had one controller.
    pub controller: Option<ControllerName>,
    /// The way in which tasks get the description of their IPUs. All ways but a file need the controller.
    pub delivery: Delivery,
    /// The partition on the controller, if all jobs share one.
    pub shared: Option<PartitionId>,
}

/// A text that slurmctld has not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected <partition>,<model>,<IPUs>,<GCDs>,<controller>,<delivery>,<shared partition>")]
pub struct BadGrant;

impl Grant {
    /// The name of the variable that contains the grant of this job.
    pub fn variable(job: u32) -> String {
        format!("{}{job}", Self::BEGINNING_OF_GRANT)
    }

    /// The partition on the controller.
    pub fn on_controller(&self) -> &PartitionId {
        self.shared.as_ref().unwrap_or(&self.partition)
    }

    /// The parts of the grant as variables for people and scripts, by name.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, String)> {
        let values = [
            Some(self.on_controller().to_string()),
            Some(self.size.to_string()),
            Some(self.model.to_string()),
            Some(self.gcds.to_string()),
            self.controller.as_ref().map(ControllerName::to_string),
        ];
        Self::NAMES.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?)))
    }

    /// The beginning of the names of all variables of slurm-vipu.
    pub const BEGINNING: &'static str = "SLURM_VIPU_";

    /// The beginning of the names of variables that contain a grant.
    pub const BEGINNING_OF_GRANT: &'static str = "SLURM_VIPU_JOB_";

    /// The names of [`Grant::named`].
    pub const NAMES: [&'static str; 5] = [
        "SLURM_VIPU_PARTITION",
        "SLURM_VIPU_IPUS",
        "SLURM_VIPU_MODEL",
        "SLURM_VIPU_GCDS",
        "SLURM_VIPU_CONTROLLER",
    ];

    /// More variables, by name, for the task that uses this GCD and may start others on these hosts.
    pub fn in_task(&self, gcd: u32, hosts: &[String]) -> impl Iterator<Item = (&'static str, String)> {
        let hosts = hosts.join(",");
        let poprun = self.poprun(&hosts);
        Self::NAMES_IN_TASK.into_iter().zip([gcd.to_string(), hosts, poprun])
    }

    /// The names of [`Grant::in_task`].
    pub const NAMES_IN_TASK: [&'static str; 3] = ["SLURM_VIPU_GCD", "SLURM_VIPU_HOSTS", "SLURM_VIPU_POPRUN"];

    /// Arguments for `poprun`: one instance per GCD, on the hosts and the partition of the job.
    fn poprun(&self, hosts: &str) -> String {
        let mut words = vec![format!("--host={hosts}"), format!("--vipu-partition={}", self.on_controller())];
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
        // The plugin of an older version on a node knows files only.
        if self.delivery != Delivery::File {
            write!(f, ",{}", self.delivery)?;
        }
        self.shared.iter().try_for_each(|shared| write!(f, ",{shared}"))
    }
}

impl FromStr for Grant {
    type Err = BadGrant;

    fn from_str(text: &str) -> Result<Self, BadGrant> {
        let parts: Vec<_> = text.split(',').collect();
        let (&[partition, model, size, gcds], others) = parts.split_first_chunk().ok_or(BadGrant)?;
        let controller = |text: &str| text.parse().map(Some).map_err(|_| BadGrant);
        let delivery = |text: &str| text.parse().map_err(|_| BadGrant);
        let (controller, delivery, shared) = match others {
            [] => (None, Delivery::File, None),
            [name] => (controller(name)?, Delivery::File, None),
            [name, way] => (controller(name)?, delivery(way)?, None),
            [name, way, shared] => {
                let shared = PartitionId::new(*shared).map_err(|_| BadGrant)?;
                (controller(name)?, delivery(way)?, Some(shared))
            }
            _ => return Err(BadGrant),
        };
        Ok(Self {
            partition: PartitionId::new(partition).map_err(|_| BadGrant)?,
            model: ModelName::new(model).map_err(|_| BadGrant)?,
            size: size.parse().ok().and_then(|size| IpuCount::new(size).ok()).ok_or(BadGrant)?,
            gcds: gcds.parse().ok().filter(|gcds| *gcds > 0).ok_or(BadGrant)?,
            controller,
            delivery,
            shared,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_programs_see_the_shared_partition() {
        let text = "slurm_42,pod64,16,1,v:8090,api,all";
        let grant: Grant = text.parse().unwrap();
        assert_eq!((grant.partition.as_str(), grant.to_string().as_str()), ("slurm_42", text));
        assert_eq!(grant.named().next(), Some(("SLURM_VIPU_PARTITION", "all".to_owned())));
        assert!(grant.in_task(0, &[]).any(|(_, value)| value.contains("--vipu-partition=all")));
    }

    #[test]
    fn a_written_grant_is_read() {
        let text = "slurm_42r1,pod64,128,2,[::1]:8090";
        let grant: Grant = text.parse().unwrap();
        assert_eq!((grant.partition.as_str(), grant.size.get(), grant.gcds), ("slurm_42r1", 128, 2));
        assert_eq!(grant.to_string(), text);
        assert!(grant.named().map(|(name, _)| name).eq(Grant::NAMES));
    }

    #[test]
    fn a_task_has_its_gcd_and_arguments_for_poprun() {
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
