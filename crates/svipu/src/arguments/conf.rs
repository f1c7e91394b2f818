//! The command line of `svipu conf`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum Conf {
    /// Check files before slurmctld reads them. Exit status 1: there is an error.
    Check {
        /// Files such as vipu.conf or pod64.conf. Without any: the files of all models in slurm.conf.
        files: Vec<PathBuf>,
    },
    /// Show each key of each model with its value, and whether slurmctld has read it.
    Show,
    /// Write the files of a new site, from what its controllers answer. --model names the model.
    Generate(Generate),
}

/// What the controllers do not tell.
#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// A V-IPU controller. Give the option once for each controller of the model.
    #[arg(long = "host", value_name = "HOST[:PORT]", required = true)]
    pub(crate) hosts: Vec<String>,
    /// The nodes that reach the Pods, as in NodeName.
    #[arg(long, value_name = "NODES", default_value = "ipu-[001-004]")]
    pub(crate) nodes: String,
    /// The shared directory for the IPUoF files (IpuofDir).
    #[arg(long, value_name = "DIR", default_value = "/shared/ipuof")]
    pub(crate) ipuof_dir: String,
    /// The certificates of the CAs that sign the controllers' certificates (ApiTlsCa).
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_ca: Option<String>,
    /// The file with user id and access key (ApiAccessFile). Its content is used, not printed.
    #[arg(long, value_name = "FILE")]
    pub(crate) access_file: Option<String>,
    /// Write the files into this directory instead. No file is replaced.
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}
