//! A V-IPU controller to test against, as a program.
#![forbid(unsafe_code)]

use std::io::Write;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use mock_vipu::{Allocation, Allocations, Hardware, MockServer, Options, Placement, Settings, Tls, User};
use vipu_types::IpuCount;

/// A mock V-IPU controller: CreatePartition and the rest of the public user API over gRPC.
#[derive(Parser)]
#[command(name = "mock-vipu-server", version)]
struct Arguments {
    /// A Pod as sold
    #[arg(long, value_enum, conflicts_with = "ipus")]
    preset: Option<Preset>,
    /// A system of this many IPUs, 4 to 65536 in whole machines of 4 [default: a pod64]
    #[arg(long)]
    ipus: Option<u32>,
    /// IPUs of an IPU-Link domain
    #[arg(long, default_value = "64")]
    link_domain: u32,
    /// The agents of an allocation, as in a=1-8; repeat for more [default: one of all agents]
    #[arg(long = "allocation", value_name = "NAME=FIRST-LAST", value_parser = parse_allocation)]
    allocations: Vec<Allocation>,
    /// Where partitions go: the lowest place that fits, or far from the others
    #[arg(long, value_enum, default_value = "lowest")]
    placement: PlacementArgument,
    /// How long making a partition takes, as in 2s or 150ms
    #[arg(long, default_value = "2s", value_parser = parse_time)]
    create_latency: Duration,
    /// How long removing a partition takes
    #[arg(long, default_value = "1s", value_parser = parse_time)]
    remove_latency: Duration,
    /// How long a removed partition is shown as PS_REMOVED, with its name and IPUs in use, before it is gone
    #[arg(long, default_value = "300ms", value_parser = parse_time)]
    removed_latency: Duration,
    /// The version to report
    #[arg(long, default_value = "1.18.0")]
    server_version: String,
    /// Keep partitions and history in this file, and go on from it
    #[arg(long)]
    state_file: Option<PathBuf>,
    /// Where to serve the API; port 0 for any free one
    #[arg(long, default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// Serve the API over TLS, with this certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Serve only clients whose certificate one of these CAs (PEM) has signed
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,
    /// Serve only users with their access key, each within these allocations [default: all]; repeat for more
    #[arg(long = "user", value_name = "NAME:KEY[:ALLOCATION,...]", value_parser = parse_user)]
    users: Vec<User>,
    /// Where to be steered by tests; port 0 for any free one
    #[arg(long)]
    control: Option<SocketAddr>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Preset {
    Pod4,
    Pod16,
    Pod64,
    Pod128,
}

#[derive(Clone, Copy, ValueEnum)]
enum PlacementArgument {
    Lowest,
    Scatter,
}

/// A time such as `2s`, `1.5s` or `150ms`.
fn parse_time(text: &str) -> Result<Duration> {
    let seconds = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => number.parse::<f64>().map(|number| number / 1000.0).ok(),
        (None, Some(number)) => number.parse().ok(),
        (None, None) => None,
    };
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.with_context(|| format!("'{text}' is no time; write for example 2s, 1.5s, 150ms"))
}

fn parse_allocation(text: &str) -> Result<Allocation> {
    let parts = || {
        let (name, agents) = text.split_once('=')?;
        let (first, last) = agents.split_once('-').unwrap_or((agents, agents));
        let agents: RangeInclusive<u32> = first.parse().ok()?..=last.parse().ok()?;
        Some((name, agents))
    };
    let (name, agents) = parts().context("write NAME=FIRST-LAST, as in a=1-8 for ag1 to ag8")?;
    ensure!(*agents.start() > 0 && !name.is_empty(), "agents count from 1, and an allocation has a name");
    Ok(Allocation { name: name.to_owned(), agents: agents.start() - 1..=agents.end() - 1 })
}

fn parse_user(text: &str) -> Result<User> {
    let mut parts = text.splitn(3, ':').map(str::to_owned);
    let (name, key) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    ensure!(!name.is_empty() && !key.is_empty(), "write NAME:KEY or NAME:KEY:ALLOCATION,ALLOCATION");
    let only = |names: String| Allocations::Only(names.split(',').map(str::to_owned).collect());
    Ok(User { name, key, allocations: parts.next().map_or(Allocations::All, only) })
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}

impl Arguments {
    fn hardware(&self) -> Result<Hardware> {
        let preset = match self.preset.unwrap_or(Preset::Pod64) {
            Preset::Pod4 => "pod4",
            Preset::Pod16 => "pod16",
            Preset::Pod64 => "pod64",
            Preset::Pod128 => "pod128",
        };
        let named = || Hardware::preset(preset).context("the preset is not known");
        let mut hardware = self.ipus.map_or_else(named, |ipus| Ok(Hardware::new(ipus)))?;
        hardware.domain_size = IpuCount::try_from(self.link_domain).context("--link-domain")?;
        if !self.allocations.is_empty() {
            hardware.allocations.clone_from(&self.allocations);
        }
        Ok(hardware)
    }

    fn settings(&self) -> Settings {
        Settings {
            placement: match self.placement {
                PlacementArgument::Lowest => Placement::Lowest,
                PlacementArgument::Scatter => Placement::Scatter,
            },
            create: self.create_latency,
            remove: self.remove_latency,
            removed: self.removed_latency,
            version: self.server_version.clone(),
        }
    }

    fn tls(&self) -> Result<Option<Tls>> {
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else { return Ok(None) };
        let client_ca = self.tls_client_ca.as_deref().map(read).transpose()?;
        Ok(Some(Tls { certificate: read(certificate)?, key: read(key)?, client_ca }))
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let arguments = Arguments::parse();
    let server = MockServer::start(Options {
        hardware: arguments.hardware()?,
        settings: arguments.settings(),
        listen: arguments.listen,
        state_file: arguments.state_file.clone(),
        tls: arguments.tls()?,
        users: arguments.users.clone(),
    })
    .await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "listening on {}", server.address())?;
    if let Some(address) = arguments.control {
        writeln!(stdout, "control on {}", server.serve_control(address).await?)?;
    }
    stdout.flush()?;
    std::future::pending().await
}
