//! One order to fetch files, and the check that the job may have them.
//!
//! The grant comes from the step's environment, which the user can change. The program therefore accepts only
//! grants that slurmctld could have written for this job. It asks for no partition of another job, and sends
//! an access key only to controllers that the administrator has named.

use std::ffi::OsString;
use std::path::PathBuf;

use vipu_client::{BadEndpoint, Endpoint};
use vipu_conf::Settings;
use vipu_types::{ControllerName, Grant, ModelName, PartitionId, Words};

/// An order: the partition, the user and the directory.
#[derive(Debug)]
pub(crate) struct Order {
    /// The folder of vipu.conf on this node.
    pub(crate) conf_dir: PathBuf,
    /// The job, from Slurm's credential.
    pub(crate) job: u32,
    /// The job's user, from Slurm's credential.
    pub(crate) user: u32,
    /// The grant, from the step's environment.
    pub(crate) grant: Grant,
    /// The directory for the files.
    pub(crate) directory: PathBuf,
}

/// The reason why no file was fetched, in one line for the job's user.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(
        "ipuof-fetch and spank_ipuof.so are not of the same build; the administrator should install both anew"
    )]
    Usage,
    #[error(
        "the settings of model {model} in {} on the node cannot be used: slurmd's log there says why; \
         the administrator should put the vipu.conf of slurmctld's host there",
        .conf_dir.display()
    )]
    Settings {
        model: ModelName,
        conf_dir: PathBuf,
        /// Not for users: they choose the file that is read here, and errors quote its text.
        detail: Words,
    },
    #[error(
        "partition {partition} is not of job {job}; unless the job itself changed SLURM_VIPU_JOB_{job}, the administrator \
         should see that PartitionPrefix on the node is that of slurmctld's host"
    )]
    NotOfTheJob { partition: PartitionId, job: u32 },
    #[error(
        "controller {} is not in ApiHost of the node's vipu.conf; the administrator should add it there",
        .0.as_ref().map_or("(none)".to_owned(), ControllerName::to_string)
    )]
    Unlisted(Option<ControllerName>),
    #[error(transparent)]
    Endpoint(#[from] BadEndpoint),
    #[error("{0}; the administrator should check that this controller answers the node")]
    Controller(#[from] vipu_client::Error),
    #[error(
        "controller {controller} gave {found} IPUoF configurations of partition {partition}, not {wanted} with devices"
    )]
    Unusable { controller: String, partition: PartitionId, found: usize, wanted: u32 },
    #[error(transparent)]
    File(#[from] ipuof::Error),
    #[error("ipuof-fetch cannot start: {0}")]
    Runtime(std::io::Error),
}

impl Refusal {
    /// More text, for administrators only.
    pub(crate) fn detail(&self) -> Option<&str> {
        match self {
            Refusal::Settings { detail, .. } => Some(detail),
            _ => None,
        }
    }
}

impl Order {
    /// Reads an order from the program's arguments.
    pub(crate) fn from_args(words: impl Iterator<Item = OsString>) -> Result<Self, Refusal> {
        let words: Vec<_> = words.collect();
        let [conf_dir, job, user, grant, directory] = &words[..] else { return Err(Refusal::Usage) };
        let text = |word: &OsString| word.to_str().map(str::to_owned).ok_or(Refusal::Usage);
        Ok(Self {
            conf_dir: conf_dir.into(),
            job: text(job)?.parse().map_err(|_| Refusal::Usage)?,
            user: text(user)?.parse().map_err(|_| Refusal::Usage)?,
            grant: text(grant)?.parse().map_err(|_| Refusal::Usage)?,
            directory: directory.into(),
        })
    }

    /// The endpoint of the controller, if this node's settings allow the job its request.
    pub(crate) fn endpoint(&self) -> Result<Endpoint, Refusal> {
        let settings = self.settings()?;
        let Grant { partition, controller, .. } = &self.grant;
        if partition.job(&settings.partition_prefix) != Some(self.job) {
            return Err(Refusal::NotOfTheJob { partition: partition.clone(), job: self.job });
        }
        let listed = controller.as_ref().filter(|name| settings.controllers.contains(name));
        let name = listed.ok_or_else(|| Refusal::Unlisted(controller.clone()))?;
        let plain = Endpoint::plain(name.host(), name.port(), settings.api_timeout);
        Ok(Endpoint { tls: settings.tls(), access: settings.access(), ..plain })
    }

    fn settings(&self) -> Result<Settings, Refusal> {
        let model = &self.grant.model;
        vipu_conf::settings_on_node(&self.conf_dir, model).map_err(|why| Refusal::Settings {
            model: model.clone(),
            conf_dir: self.conf_dir.clone(),
            detail: why.one_line(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The order of job 42 for this grant, on a node with this vipu.conf.
    fn endpoint(vipu_conf: &str, grant: &str) -> Result<Endpoint, Refusal> {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("vipu.conf"), vipu_conf).unwrap();
        fs::write(dir.path().join("slurmdbd.conf"), "StoragePass=hidden\n").unwrap();
        let words = [dir.path().to_str().unwrap(), "42", "1001", grant, "/run/x"];
        Order::from_args(words.iter().map(OsString::from)).and_then(|order| order.endpoint())
    }

    const CONF: &str = "ApiHost=vipu,other:1 Delivery=node ApiTimeout=7 ApiAccessFile=/etc/slurm/vipu.key";

    #[test]
    fn a_job_gets_the_partition_of_its_grant() {
        for partition in ["slurm_42", "slurm_42r3", "slurm_42p1", "slurm_42r3p2"] {
            let found = endpoint(CONF, &format!("{partition},pod64,4,1,other:1,node")).unwrap();
            assert_eq!((found.host.as_str(), found.port, found.timeout.as_secs()), ("other", 1, 7));
            assert!(found.access.is_some());
        }
    }

    #[test]
    fn another_jobs_partition_is_refused() {
        for partition in
            ["slurm_41", "slurm_421", "slurm_4", "other_42", "slurm_42x", "slurm_41p42", "slurm_42p1x"]
        {
            let refused = endpoint(CONF, &format!("{partition},pod64,4,1,vipu:8090,node")).unwrap_err();
            assert!(matches!(refused, Refusal::NotOfTheJob { .. }), "{partition}: {refused}");
        }
    }

    #[test]
    fn a_strangers_controller_is_told_nothing() {
        for controller in [",evil:8090", ",vipu:8091", ""] {
            let refused = endpoint(CONF, &format!("slurm_42,pod64,4,1{controller}")).unwrap_err();
            assert!(matches!(refused, Refusal::Unlisted(_)), "{controller}: {refused}");
            assert!(!refused.to_string().contains('\n'));
        }
    }

    #[test]
    fn the_text_of_a_file_is_for_administrators_only() {
        for model in ["slurmdbd", "pod64"] {
            let broken = format!("{CONF} StoragePass=hidden");
            let refused = endpoint(&broken, &format!("slurm_42,{model},4,1,vipu:8090,node")).unwrap_err();
            let told = refused.to_string();
            assert!(
                told.contains("slurmd's log") && told.contains(model) && !told.contains("Storage"),
                "{told}"
            );
            assert!(refused.detail().unwrap().contains("unknown key 'StoragePass'"));
        }
    }

    #[test]
    fn other_words_are_of_another_build() {
        let words = ["/etc/slurm", "42", "1001", "slurm_42,pod64,4,1,vipu:8090,post", "/run/x"];
        for count in [0, 4, 5] {
            let refused = Order::from_args(words[..count].iter().map(OsString::from)).unwrap_err();
            assert!(matches!(refused, Refusal::Usage), "{refused}");
        }
    }
}
