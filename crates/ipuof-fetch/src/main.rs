//! ipuof-fetch: writes the IPUoF files of one step, as the controller tells them, on the step's own node.
//!
//! spank_ipuof.so runs it as root in slurmstepd, where Delivery=node:
//! `ipuof-fetch <folder of vipu.conf> <job> <user id> <grant> <directory>`. What the step may know of a
//! failure is one line on stdout; what only the administrator may know follows on stderr, for slurmd's log.
#![forbid(unsafe_code)]

mod order;
mod partition_files;

use std::process::ExitCode;

use order::{Order, Refusal};

fn main() -> ExitCode {
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
    partition_files::fetch(&order, endpoint)
}
