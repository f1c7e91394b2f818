//! Steering a mock from another process: one JSON value per line over TCP, each answered by one line.
//!
//! | line | does |
//! |---|---|
//! | `{"inject": FAULT}` | lets something go wrong from now on ([`Fault`]) |
//! | `{"cause": INCIDENT}` | makes something happen ([`Incident`]) |
//! | `"clear"` | lets nothing go wrong any more, sends held replies, accepts connections |
//! | `"refuse"` | cuts all connections and refuses new ones; those to the control excepted |
//! | `"accept"` | accepts connections again |
//! | `"garble"` | sends noise in place of all replies |
//! | `"report"` | answers `{"report": REPORT}` ([`Report`]), the others `"done"` |
//!
//! What is not understood or cannot be done is answered with `{"error": TEXT}`.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use crate::pod::{Fault, Incident};
use crate::server::{Mock, Report};

/// How long the client waits for an answer: the mock itself answers at once.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Command {
    Inject(Fault),
    Cause(Incident),
    Clear,
    Refuse,
    Accept,
    Garble,
    Report,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Done,
    Report(Report),
    Error(String),
}

/// Why a mock could not be steered.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// It cannot be reached, or does not answer.
    #[error("control of the mock at {address}: {source}")]
    Io {
        /// Where it should be.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// It did not do it.
    #[error("the mock at {address} says: {text}")]
    Refused {
        /// Where it is.
        address: SocketAddr,
        /// Its own words.
        text: String,
    },
}

/// A blocking client.
#[derive(Debug)]
pub struct Control {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

impl Control {
    /// Connects to the address that `mock-vipu-server` printed after `control on`.
    ///
    /// # Errors
    /// When nobody is there.
    pub fn connect(address: SocketAddr) -> Result<Self, ControlError> {
        let connect = || {
            let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(Self { address, stream: BufReader::new(stream) })
        };
        connect().map_err(|source| ControlError::Io { address, source })
    }

    /// Lets something go wrong from now on.
    ///
    /// # Errors
    /// When the mock cannot be reached.
    pub fn inject(&mut self, fault: Fault) -> Result<(), ControlError> {
        self.command(&Command::Inject(fault)).map(drop)
    }

    /// Makes something happen.
    ///
    /// # Errors
    /// When the mock cannot be reached, or it is about something that is not there.
    pub fn cause(&mut self, incident: Incident) -> Result<(), ControlError> {
        self.command(&Command::Cause(incident)).map(drop)
    }

    /// Lets nothing go wrong any more, and accepts connections again.
    ///
    /// # Errors
    /// When the mock cannot be reached.
    pub fn clear(&mut self) -> Result<(), ControlError> {
        self.command(&Command::Clear).map(drop)
    }

    /// Cuts all connections of clients and refuses new ones.
    ///
    /// # Errors
    /// When the mock cannot be reached.
    pub fn refuse(&mut self) -> Result<(), ControlError> {
        self.command(&Command::Refuse).map(drop)
    }

    /// Accepts connections of clients again.
    ///
    /// # Errors
    /// When the mock cannot be reached.
    pub fn accept(&mut self) -> Result<(), ControlError> {
        self.command(&Command::Accept).map(drop)
    }

    /// Sends noise in place of all replies.
    ///
    /// # Errors
    /// When the mock cannot be reached.
    pub fn garble(&mut self) -> Result<(), ControlError> {
        self.command(&Command::Garble).map(drop)
    }

    /// What the mock did.
    ///
    /// # Errors
    /// When the mock cannot be reached.
    pub fn report(&mut self) -> Result<Report, ControlError> {
        match self.command(&Command::Report)? {
            Answer::Report(report) => Ok(report),
            _ => Err(self.failed(io::Error::other("the answer is no report"))),
        }
    }

    fn command(&mut self, command: &Command) -> Result<Answer, ControlError> {
        match self.exchange(command) {
            Ok(Answer::Error(text)) => Err(ControlError::Refused { address: self.address, text }),
            Ok(answer) => Ok(answer),
            Err(source) => Err(self.failed(source)),
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

    fn failed(&self, source: io::Error) -> ControlError {
        ControlError::Io { address: self.address, source }
    }
}

/// Serves the other side until `stop`.
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
        Command::Accept => mock.accept().await,
        Command::Garble => mock.garble(),
        Command::Report => return Answer::Report(mock.report()),
    }
    Answer::Done
}
