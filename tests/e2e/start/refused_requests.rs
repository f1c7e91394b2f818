//! Requests that are refused, and requests that leave something out.

use anyhow::{Result, ensure};
use testbed::main_job::{self, BAD_REQUESTS, RESOLVED_REQUESTS};

use crate::quick;

#[test]
fn job_bad_requests() -> Result<()> {
    quick().run(|cluster| {
        for request in BAD_REQUESTS {
            println!("{}: {}", request.gres, main_job::refuse(cluster, request)?);
        }
        for (gres, ipus) in RESOLVED_REQUESTS {
            main_job::resolve(cluster, gres, *ipus)?;
        }
        ensure!(cluster.mock().report()?.partitions.is_empty());
        Ok(())
    })
}
