//! What the tasks of a job are told of its partition.

use std::fmt;
use std::str::FromStr;

use crate::{ControllerName, IpuCount, ModelName, PartitionId};

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
}

/// The text is not what slurmctld writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected <partition>,<model>,<IPUs>,<GCDs>,<controller>")]
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
            self.controller.as_ref().map(ControllerName::to_string),
        ];
        Self::NAMES.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?)))
    }

    /// The names of [`Grant::named`].
    pub const NAMES: [&'static str; 4] =
        ["SLURM_VIPU_PARTITION", "SLURM_VIPU_IPUS", "SLURM_VIPU_MODEL", "SLURM_VIPU_CONTROLLER"];
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{},{}", self.partition, self.model, self.size, self.gcds)?;
        self.controller.iter().try_for_each(|controller| write!(f, ",{controller}"))
    }
}

impl FromStr for Grant {
    type Err = BadGrant;

    fn from_str(text: &str) -> Result<Self, BadGrant> {
        let parts: Vec<_> = text.split(',').collect();
        let (&[partition, model, size, gcds], controller) = parts.split_first_chunk().ok_or(BadGrant)?;
        let controller = match controller {
            [] => None,
            [controller] => Some(controller.parse().map_err(|_| BadGrant)?),
            _ => return Err(BadGrant),
        };
        Ok(Self {
            partition: PartitionId::new(partition).map_err(|_| BadGrant)?,
            model: ModelName::new(model).map_err(|_| BadGrant)?,
            size: size.parse().ok().and_then(|size| IpuCount::new(size).ok()).ok_or(BadGrant)?,
            gcds: gcds.parse().ok().filter(|gcds| *gcds > 0).ok_or(BadGrant)?,
            controller,
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
    fn a_grant_from_before_there_were_several_controllers_is_read() {
        let text = "slurm_42r1,pod64,128,2";
        let grant: Grant = text.parse().unwrap();
        assert_eq!((grant.controller.as_ref(), grant.to_string().as_str()), (None, text));
        assert!(grant.named().map(|(name, _)| name).eq(Grant::NAMES[..3].iter().copied()));
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
        ] {
            assert_eq!(bad.parse::<Grant>(), Err(BadGrant), "{bad}");
        }
    }
}
