//! Control of a mock from another process: one JSON value per line over TCP, each answered by one line.
//!
//! A line is a [`Command`], for example `{"inject": FAULT}` or `"clear"`. The answer to `"report"` is
//! `{"report": REPORT}` ([`Report`]), to the others `"done"`.
//!
//! The answer to an unknown or impossible command is `{"error": TEXT}`.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use crate::pod::{Fault, Incident};
use crate::server::{Mock, Report};

/// The longest wait of the client for an answer. The mock itself answers at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// The commands of the control channel.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// Injects a fault, which is in force from now on.
    Inject(Fault),
    /// Brings an incident about.
    Cause(Incident),
    /// Clears all faults, sends held replies, and accepts connections again.
    Clear,
    /// Cuts all connections of clients and refuses new ones.
    Refuse,
    /// Sends noise in place of all replies.
    Garble,
    /// Asks for the history of the mock: [`Control::report`].
    Report,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Done,
    Report(Report),
    Error(String),
}

/// A blocking client of the control channel.
#[derive(Debug)]
pub struct Control {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

impl Control {
    /// Connects to the address that `mock-vipu-server` printed after `control on`.
    pub fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { address, stream: BufReader::new(stream) })
    }

    /// Sends a command. A refusal of the mock is an error.
    pub fn tell(&mut self, command: &Command) -> Result<()> {
        self.command(command).map(drop)
    }

    /// Returns the history of the mock.
    pub fn report(&mut self) -> Result<Report> {
        match self.command(&Command::Report)? {
            Answer::Report(report) => Ok(report),
            other => bail!("the mock at {} answers {other:?}", self.address),
        }
    }

    fn command(&mut self, command: &Command) -> Result<Answer> {
        let address = self.address;
        match self.exchange(command).with_context(|| format!("control of the mock at {address}"))? {
            Answer::Error(text) => bail!("the mock at {address} says: {text}"),
            answer => Ok(answer),
        }
    }

    fn exchange(&mut self, command: &Command) -> io::Result<Answer> {
        let mut line = serde_json::to_string(command)?;
        line.push('\n');
        self.stream.get_mut().write_all(line.as_bytes())?;
        line.clear();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_str(&line)?)
    }
}

/// Serves the mock's side of the control channel until `stop`.
pub(crate) async fn serve(
    address: SocketAddr,
    mock: Arc<Mock>,
    stop: CancellationToken,
) -> io::Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    tokio::spawn(stop.clone().run_until_cancelled_owned(async move {
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => return tracing::error!(%error, "the mock cannot be steered any more"),
            };
            let serving = serve_one(stream, Arc::clone(&mock));
            tokio::spawn(stop.clone().run_until_cancelled_owned(async move {
                if let Err(error) = serving.await {
                    tracing::debug!(%error, "a control connection broke");
                }
            }));
        }
    }));
    Ok(address)
}

async fn serve_one(stream: tokio::net::TcpStream, mock: Arc<Mock>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (reader, mut writer) = stream.into_split();
    let mut lines = tokio::io::BufReader::new(reader).lines();
    while let Some(line) = lines.next_line().await? {
        let answer = match serde_json::from_str(&line) {
            Ok(command) => carry_out(command, &mock).await,
            Err(error) => Answer::Error(error.to_string()),
        };
        let mut line = serde_json::to_vec(&answer)?;
        line.push(b'\n');
        writer.write_all(&line).await?;
    }
    Ok(())
}

async fn carry_out(command: Command, mock: &Mock) -> Answer {
    match command {
        Command::Inject(fault) => mock.inject(fault),
        Command::Cause(incident) => {
            if let Err(refusal) = mock.cause(&incident) {
                return Answer::Error(refusal.to_string());
            }
        }
        Command::Clear => mock.clear().await,
        Command::Refuse => mock.refuse().await,
        Command::Garble => mock.garble(),
        Command::Report => return Answer::Report(mock.report()),
    }
    Answer::Done
}
