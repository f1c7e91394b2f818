//! ipuof-oci: gives an OCI container the IPUs of the job step that starts it.
//!
//! `ipuof-oci <runtime> <arguments>` changes config.json of the bundle that the arguments name, and becomes the
//! runtime. For Slurm's `--container` it stands in oci.conf. spank_ipuof.so tells it about the IPUs by its environment.
//! Without IPUs in its environment, it changes nothing.
#![forbid(unsafe_code)]

mod bundle;
mod config;
mod ipus;

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use crate::ipus::Ipus;

vipu_types::version_note!(concat!("slurm-vipu ", env!("CARGO_PKG_VERSION"), "\0"));

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let Some((runtime, rest)) = arguments.split_first() else {
        eprintln!(
            "usage: ipuof-oci <OCI runtime> <its arguments>, as in oci.conf: RunTimeRun=\"ipuof-oci crun run ...\""
        );
        return ExitCode::FAILURE;
    };
    if runtime == "--version" && rest.is_empty() {
        println!("ipuof-oci {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    if let Some(ipus) = Ipus::of_environment(std::env::vars_os())
        && let Err(why) = bundle::give(&bundle::of_arguments(rest), &ipus)
    {
        eprintln!("ipuof-oci: no IPUs: {why}");
        return ExitCode::FAILURE;
    }
    let why = Command::new(runtime).args(rest).exec();
    eprintln!("ipuof-oci: cannot run {}: {why}", runtime.display());
    ExitCode::FAILURE
}
