//! `ipu-operator`: the operator for IPUJobs, and the programs that it puts into their Pods.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ipu_operator::api;

/// Runs IPUJobs of Kubernetes on Graphcore IPUs.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the custom resource definitions as YAML, for kubectl apply -f -
    Crd {
        /// Leave out the rules that Kubernetes before 1.25 does not know
        #[arg(long)]
        without_rules: bool,
    },
}

fn main() -> ExitCode {
    let Arguments { command: Command::Crd { without_rules } } = Arguments::parse();
    match api::crds_as_yaml(!without_rules) {
        Ok(yaml) => {
            print!("{yaml}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("ipu-operator: cannot write the definitions as YAML: {error}");
            ExitCode::FAILURE
        }
    }
}
