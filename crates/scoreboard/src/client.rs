//! Calls per second of `vipu-client`, beside bare calls of tonic.

use std::time::{Duration, Instant};

use anyhow::Result;
use mock_vipu::{Hardware, MockServer, Options, Settings};
use tokio::runtime::Builder;
use tonic::{Request, transport::Channel};
use vipu_client::{Call, Client, Endpoint, Requirements, wire};
use vipu_types::{IpuCount, PartitionId};

use crate::{
    Extent, Row, Target,
    sides::{Side, alternate},
};

const PARTITION: &str = "measured";

pub(crate) fn measure(extent: Extent) -> Result<Vec<Row>> {
    let calls = extent.of(5000, 50);
    // The server has threads of its own, as on a host of its own.
    let server_runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let settings = Settings { create: Duration::ZERO, ..Settings::default() };
    let options = Options { settings, ..Options::new(Hardware::new(64)) };
    let server = server_runtime.block_on(MockServer::start(options))?;
    let address = server.address();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let endpoint = Endpoint::plain(address.ip().to_string(), address.port(), Duration::from_secs(30));
    let ours = Client::new(endpoint)?;
    let id = PartitionId::new(PARTITION)?;
    let channel = runtime.block_on(async {
        ours.create_partition(&Requirements::new(id.clone(), IpuCount::new(16)?)).await?;
        anyhow::Ok(Channel::from_shared(format!("http://{address}"))?.connect().await?)
    })?;
    let per_second = |side| {
        let from = Instant::now();
        runtime.block_on(async {
            for _ in 0..calls {
                match side {
                    Side::Ours => drop(ours.partition_status(&id).await?),
                    Side::Stock => {
                        let request = wire::GetPartitionStatusRequest { partition_id: PARTITION.into() };
                        let (channel, request) = (channel.clone(), Request::new(request));
                        let reply = wire::unary(channel, Call::GetPartitionStatus, request).await?;
                        drop::<wire::GetPartitionStatusReply>(reply.into_inner());
                    }
                }
            }
            anyhow::Ok(())
        })?;
        Ok(f64::from(calls) / from.elapsed().as_secs_f64())
    };
    per_second(Side::Stock)?;
    per_second(Side::Ours)?;
    let measured = alternate(extent.pairs(30), per_second)?;
    let row = ("client", "status calls of vipu-client per second, beside the bare stub", "1/s");
    Ok(vec![Row::ratio(row, Target::AtLeast(0.95), &measured, |calls| *calls)])
}
