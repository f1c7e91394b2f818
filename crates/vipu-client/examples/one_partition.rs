//! One partition: listed, made, waited for, described and removed.
//!
//! ```console
//! $ cargo run -p vipu-client --example one_partition                              # with a mock controller
//! $ cargo run -p vipu-client --example one_partition -- vipu.example.org 8090 4   # with yours: 4 IPUs
//! ```

use std::env;
use std::error::Error;
use std::time::Duration;

use mock_vipu::{Hardware, MockServer, Options, Settings};
use tokio::time::{Instant, interval};
use vipu_client::{Client, Endpoint, ErrorClass, ReadyState, Requirements};
use vipu_types::{IpuCount, PartitionId};

/// The longest time of one call.
const CALL: Duration = Duration::from_secs(10);

/// The longest time that a create or a removal may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// The time between two questions for the state of the partition.
const POLL: Duration = Duration::from_millis(50);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.as_slice() {
        [host, port, ipus] => {
            one_partition(&Client::new(Endpoint::plain(host, port.parse()?, CALL))?, ipus.parse()?).await
        }
        [] => with_mock().await,
        _ => Err("give host, port and a number of IPUs, or nothing".into()),
    }
}

/// Makes a partition on a mock controller of 16 IPUs, which runs in this process.
async fn with_mock() -> Result<(), Box<dyn Error>> {
    let quick = Settings { create: 4 * POLL, remove: 2 * POLL, ..Settings::default() };
    let mock = MockServer::start(Options { settings: quick, ..Options::new(Hardware::new(16)) }).await?;
    let (host, port) = (mock.address().ip().to_string(), mock.address().port());
    one_partition(&Client::new(Endpoint::plain(host, port, CALL))?, 4).await?;
    let report = mock.mock().report();
    assert_eq!((report.partitions.len(), report.present().count()), (1, 0), "made one, removed it");
    Ok(())
}

async fn one_partition(client: &Client, ipus: u64) -> Result<(), Box<dyn Error>> {
    let ipus = IpuCount::new(ipus)?;
    println!("{}: V-IPU {}", client.endpoint(), client.version().await?);
    println!("{} IPUs", client.list_ipus(&[]).await?.len());
    for partition in client.list_partitions(None).await? {
        println!("partition {}: {} IPUs, {:?}", partition.id, partition.places.len(), partition.ready);
    }

    let id = PartitionId::new("example")?;
    client.create_partition(&Requirements::new(id.clone(), ipus)).await?;
    let used = use_it(client, &id).await;
    // Whatever happened, the partition does not stay.
    client.remove_partition(&id, false).await?;
    wait_until_gone(client, &id).await?;
    println!("{id}: gone");
    used
}

async fn use_it(client: &Client, id: &PartitionId) -> Result<(), Box<dyn Error>> {
    wait_until_ready(client, id).await?;
    for gcd in client.partition_config(id).await? {
        println!("{id}: ready, one of its GCDs has {} IPUs", gcd.devices.len());
        for device in &gcd.devices {
            println!("    IPU {} of {}, port {}", device.ipu_id, device.ip, device.server_port);
        }
    }
    Ok(())
}

async fn wait_until_ready(client: &Client, id: &PartitionId) -> Result<(), Box<dyn Error>> {
    let (until, mut poll) = (Instant::now() + PATIENCE, interval(POLL));
    while Instant::now() < until {
        poll.tick().await;
        let status = client.partition_status(id).await?;
        match status.ready {
            ReadyState::Active => return Ok(()),
            ReadyState::Error | ReadyState::Removed => return Err(status.errors.join("; ").into()),
            _ => {}
        }
    }
    Err(format!("{id} is not ready after {} s", PATIENCE.as_secs()).into())
}

async fn wait_until_gone(client: &Client, id: &PartitionId) -> Result<(), Box<dyn Error>> {
    let (until, mut poll) = (Instant::now() + PATIENCE, interval(POLL));
    while Instant::now() < until {
        poll.tick().await;
        match client.partition_status(id).await {
            Err(error) if error.class() == ErrorClass::NotFound => return Ok(()),
            other => drop(other?),
        }
    }
    Err(format!("{id} is still there after {} s", PATIENCE.as_secs()).into())
}

#[tokio::test]
async fn cli_example_one_partition_is_made_and_removed() -> Result<(), Box<dyn Error>> {
    with_mock().await
}
