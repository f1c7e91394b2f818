//! The client against a sound or a failing controller on the loopback network.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod calls;
mod failures;
mod secure;

use std::net::SocketAddr;
use std::time::Duration;

use mock_vipu::{Hardware, MockServer, Options, Settings};
use vipu_client::{Client, Endpoint, Requirements};
use vipu_types::{IpuCount, PartitionId};

/// A timeout far longer than a call takes.
const PATIENT: Duration = Duration::from_secs(30);

/// Starts a controller of a Pod64 on which a create takes this long.
async fn pod64(create: Duration) -> MockServer {
    let settings = Settings { create, remove: Duration::ZERO, ..Settings::default() };
    let options = Options { settings, ..Options::new(Hardware::preset("pod64").unwrap()) };
    MockServer::start(options).await.unwrap()
}

fn client_at(address: SocketAddr, timeout: Duration) -> Client {
    Client::new(Endpoint::plain(address.ip().to_string(), address.port(), timeout)).unwrap()
}

/// Starts a controller that makes a partition at once, and a client of it.
async fn pod64_and_client() -> (MockServer, Client) {
    let server = pod64(Duration::ZERO).await;
    let client = client_at(server.address(), PATIENT);
    (server, client)
}

fn id(text: &str) -> PartitionId {
    PartitionId::new(text).unwrap()
}

fn wanted(name: &str, size: u64) -> Requirements {
    Requirements::new(id(name), IpuCount::new(size).unwrap())
}
