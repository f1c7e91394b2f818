//! ipuof-fetch: asks the controller for the IPUoF files of one step, and writes them on the step's node.
//!
//! With Delivery=node, spank_ipuof.so runs it as root in slurmstepd: `ipuof-fetch <folder of vipu.conf> <job>
//! <user id> <grant> <directory>`. After a failure, stdout has one line for the user. stderr has details for
//! administrators, which go into slurmd's log.
#![forbid(unsafe_code)]

mod fetch;
mod order;

use std::process::ExitCode;

use order::{Order, Refusal};

vipu_types::version_note!(concat!("slurm-vipu ", env!("CARGO_PKG_VERSION"), "\0"));

fn main() -> ExitCode {
    if std::env::args_os().skip(1).eq(["--version"]) {
        println!("ipuof-fetch {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    match Order::from_args(std::env::args_os().skip(1)).and_then(carry_out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            println!("{refusal}");
            if let Some(detail) = refusal.detail() {
                eprintln!("{detail}");
            }
            ExitCode::FAILURE
        }
    }
}

fn carry_out(order: Order) -> Result<(), Refusal> {
    let endpoint = order.endpoint()?;
    fetch::fetch(&order, endpoint)
}
