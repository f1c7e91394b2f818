//! A job's own view of its IPUs.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// Shell commands that print their start time, the IPU environment without the grant, and the IPUoF file.
pub const SHOW: &str = r#"echo "started $(date +%s%N)"
env | grep -E '^(IPUOF_|SLURM_VIPU_)' | grep -v '^SLURM_VIPU_JOB_' | sed 's/^/env /'
echo "file $(tr -d '\n' < "$IPUOF_CONFIG_PATH")""#;

/// The parsed output of [`SHOW`].
#[derive(Clone, Debug)]
pub struct Shown {
    /// The time of the job's first command, in nanoseconds since the Unix epoch.
    pub started: u64,
    pub environment: BTreeMap<String, String>,
    pub file: IpuofFile,
}

/// The IPUoF file as any reader of the format sees it.
#[derive(Clone, Debug, Deserialize)]
pub struct IpuofFile {
    pub devices: Vec<serde_json::Value>,
    pub attributes: BTreeMap<String, String>,
}

impl Shown {
    pub fn parse(output: &str) -> Result<Self> {
        let part = |name: &str| output.lines().find_map(|line| line.strip_prefix(name));
        let started = part("started ").with_context(|| format!("the job's output is: {output}"))?;
        let file = part("file ").context("the job printed no file")?;
        let variables = output.lines().filter_map(|line| line.strip_prefix("env ")?.split_once('='));
        Ok(Self {
            started: started.parse()?,
            environment: variables.map(|(name, value)| (name.into(), value.into())).collect(),
            file: serde_json::from_str(file).with_context(|| format!("the IPUoF file is: {file}"))?,
        })
    }

    pub fn partition(&self) -> Result<&str> {
        self.environment.get("SLURM_VIPU_PARTITION").map(String::as_str).context("the job has no partition")
    }

    /// Checks that the job sees `ipus` IPUs of `partition`, and no other IPU variables.
    pub fn check(&self, partition: &str, ipus: u32) -> Result<()> {
        let Self { environment, file, .. } = self;
        let names: Vec<_> = environment.keys().map(String::as_str).collect();
        let ours = ["CONTROLLER", "GCD", "GCDS", "HOSTS", "IPUS", "MODEL", "PARTITION", "POPRUN"]
            .map(|what| format!("SLURM_VIPU_{what}"));
        let expected: Vec<_> =
            ["IPUOF_CONFIG_PATH"].into_iter().chain(ours.iter().map(String::as_str)).collect();
        ensure!(names == expected, "the job's IPU variables are {names:?}");
        ensure!(environment["SLURM_VIPU_PARTITION"] == partition, "{environment:?}");
        ensure!(environment["SLURM_VIPU_IPUS"] == ipus.to_string(), "{environment:?}");
        ensure!(environment["SLURM_VIPU_MODEL"] == "pod64", "{environment:?}");
        ensure!(environment["SLURM_VIPU_CONTROLLER"].contains(':'), "{environment:?}");
        ensure!(environment["IPUOF_CONFIG_PATH"].ends_with(&format!("/{partition}.conf")), "{environment:?}");
        ensure!(file.devices.len() == usize::try_from(ipus)?, "the file has {} devices", file.devices.len());
        ensure!(file.attributes.get("GCD Id").is_some_and(|gcd| gcd == "0"), "{:?}", file.attributes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "started 17000000000\nenv IPUOF_CONFIG_PATH=/x/slurm_4.conf\nenv SLURM_VIPU_IPUS=1\n\
        env SLURM_VIPU_CONTROLLER=vipu:8090\nenv SLURM_VIPU_GCD=0\nenv SLURM_VIPU_GCDS=1\n\
        env SLURM_VIPU_HOSTS=a\nenv SLURM_VIPU_POPRUN=--host=a\n\
        env SLURM_VIPU_MODEL=pod64\nenv SLURM_VIPU_PARTITION=slurm_4\n\
        file {\"devices\": [{}], \"attributes\": {\"GCD Id\": \"0\"}}\n";

    #[test]
    fn output_of_a_job_is_read_and_checked() {
        let shown = Shown::parse(OUTPUT).unwrap();
        assert_eq!(shown.started, 17_000_000_000);
        shown.check("slurm_4", 1).unwrap();
        assert!(shown.check("slurm_4", 2).is_err());
        assert!(shown.check("slurm_5", 1).is_err());
    }

    #[test]
    fn an_extra_variable_is_noticed() {
        let inherited = format!("env IPUOF_VIPU_API_HOST=there\n{OUTPUT}");
        assert!(Shown::parse(&inherited).unwrap().check("slurm_4", 1).is_err());
        assert!(Shown::parse("").is_err());
    }
}
