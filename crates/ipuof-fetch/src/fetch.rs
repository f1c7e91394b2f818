//! Fetches the files of a partition from the controller and writes them for the order's user.

use std::time::{Duration, Instant};

use ipuof::IpuofDir;
use tokio::runtime::Builder;
use tokio::time::sleep;
use vipu_client::{Client, Endpoint, ErrorClass};
use vipu_types::{Gcd, Grant};

use crate::order::{Order, Refusal};

/// The time for which a controller may be away, for example during its restart, before the step fails.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time between two tries.
const PAUSE: Duration = Duration::from_millis(250);

/// Fetches the configuration of the order's partition and writes its files, each for the order's user only.
pub(crate) fn fetch(order: &Order, endpoint: Endpoint) -> Result<(), Refusal> {
    let directory = IpuofDir::open(&order.directory)?;
    let gcds = gcds(&order.grant, endpoint)?;
    directory.publish(&order.grant.partition, &gcds, order.user)?;
    Ok(())
}

/// Whether another try may succeed a moment later.
fn may_pass(class: ErrorClass) -> bool {
    use ErrorClass::{Aborted, NotSent, Timeout, Unreachable};
    matches!(class, NotSent | Unreachable | Timeout | Aborted)
}

fn gcds(grant: &Grant, endpoint: Endpoint) -> Result<Vec<Gcd>, Refusal> {
    let patience = endpoint.timeout.min(PATIENCE);
    let controller = endpoint.to_string();
    let endpoint = Endpoint { timeout: patience, ..endpoint };
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Refusal::Runtime)?;
    let gcds = runtime.block_on(async {
        let client = Client::new(endpoint)?;
        let began = Instant::now();
        loop {
            match client.partition_config(&grant.partition).await {
                Ok(gcds) => return Ok::<_, Refusal>(gcds),
                Err(error) if may_pass(error.class()) && began.elapsed() < patience => sleep(PAUSE).await,
                Err(error) => return Err(error.into()),
            }
        }
    })?;
    // Tasks look for the number of files that slurmctld has told them.
    let usable = usize::try_from(grant.gcds).is_ok_and(|wanted| wanted == gcds.len())
        && gcds.iter().all(|gcd| !gcd.devices.is_empty());
    if usable {
        return Ok(gcds);
    }
    let (partition, found, wanted) = (grant.partition.clone(), gcds.len(), grant.gcds);
    Err(Refusal::Unusable { controller, partition, found, wanted })
}
