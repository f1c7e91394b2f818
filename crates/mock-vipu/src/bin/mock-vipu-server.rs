//! The V-IPU controller for tests, as a program.
#![forbid(unsafe_code)]

use std::io::Write;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{CommandFactory as _, Parser, Subcommand};
use mock_vipu::{Allocation, Hardware, MockServer, Options, Placement, Settings, Tls, User};

/// A mock V-IPU controller with the public user API over gRPC.
#[derive(Parser)]
// The last one of a repeated option counts.
#[command(name = "mock-vipu-server", version, args_override_self = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// A Pod as sold: pod4, pod16, pod64 or pod128
    #[arg(long, value_parser = parse_preset, default_value = "pod64")]
    preset: Hardware,
    /// The number of IPUs instead of a preset, 4 to 65536, in machines of 4
    #[arg(long)]
    ipus: Option<u32>,
    /// An allocation and its agents, for example a=1-8; may be repeated [default: one with all agents]
    #[arg(long = "allocation", value_name = "NAME=FIRST-LAST", value_parser = parse_allocation)]
    allocations: Vec<Allocation>,
    /// The place of a new partition: the lowest that fits, or far from the others
    #[arg(long, value_enum, default_value = "lowest")]
    placement: Placement,
    /// The time that a create takes, for example 2s or 150ms
    #[arg(long, default_value = "2s", value_parser = parse_time)]
    create_latency: Duration,
    /// The time that a reset takes [default: that of a create]
    #[arg(long, value_parser = parse_time)]
    reset_latency: Option<Duration>,
    /// The time that a removal takes
    #[arg(long, default_value = "1s", value_parser = parse_time)]
    remove_latency: Duration,
    /// The time for which a removed partition is shown as PS_REMOVED and keeps its name and IPUs
    #[arg(long, default_value = "300ms", value_parser = parse_time)]
    removed_latency: Duration,
    /// The file from which partitions and history are restored after a restart
    #[arg(long)]
    state_file: Option<PathBuf>,
    /// The address of the API; port 0 chooses a free port
    #[arg(long, default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// The certificate chain (PEM) with which the API is served over TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Serve only clients whose certificate one of these CAs (PEM) has signed
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,
    /// A user with an access key; only these users are served; may be repeated
    #[arg(long = "user", value_name = "NAME:KEY", value_parser = parse_user)]
    users: Vec<User>,
    /// The address at which tests inject faults; port 0 chooses a free port
    #[arg(long)]
    control: Option<SocketAddr>,
}

#[derive(Subcommand)]
enum Command {
    /// Write the man page to a directory
    #[command(hide = true)]
    Man { directory: PathBuf },
}

fn parse_preset(name: &str) -> Result<Hardware> {
    Hardware::preset(name).context("pod4, pod16, pod64 and pod128 are known")
}

/// Reads a time, for example `2s`, `1.5s` or `150ms`.
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
    let user = text.split_once(':').filter(|(name, key)| !name.is_empty() && !key.is_empty());
    let (name, key) = user.context("write NAME:KEY")?;
    Ok(User { name: name.to_owned(), key: key.to_owned() })
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}

impl Arguments {
    fn hardware(&self) -> Hardware {
        let mut hardware = self.ipus.map_or_else(|| self.preset.clone(), Hardware::new);
        if !self.allocations.is_empty() {
            hardware.allocations.clone_from(&self.allocations);
        }
        hardware
    }

    fn settings(&self) -> Settings {
        Settings {
            placement: self.placement,
            create: self.create_latency,
            reset: self.reset_latency,
            remove: self.remove_latency,
            removed: self.removed_latency,
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
    if let Some(Command::Man { directory }) = arguments.command {
        return Ok(clap_mangen::generate_to(Arguments::command(), directory)?);
    }
    let server = MockServer::start(Options {
        hardware: arguments.hardware(),
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
