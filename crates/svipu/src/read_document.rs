//! The place of a status document: a file, or an exporter on another host.
//!
//! The size of what is read is bounded, and so is the time of a read over the network. Each error is one line in words.

use std::error::Error;
use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::OFlag;
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use serde::Deserialize;
use vipu_status::{OwnJobs, Status, file_names};
use vipu_types::{Words, words};

/// The greatest size of a document. The document of 10,000 partitions is a tenth of it.
const MOST_BYTES: usize = 64 << 20;

/// The place of a status document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file.
    File(PathBuf),
    /// The address of an exporter, for example `http://slurm.example.org:9877/`.
    Exporter(String),
}

impl Source {
    /// Reads the document.
    ///
    /// # Errors
    /// The reason why there is no document, without the name of the source.
    pub(crate) fn read(&self) -> Result<Status, Words> {
        let text = match self {
            Self::File(path) => read_file(path),
            Self::Exporter(address) => ask_exporter(address),
        }?;
        Status::parse(&text).map_err(Words::of)
    }

    /// Reads the document as [`Source::read`] does. If it is a file that hides owners, the jobs of this user are
    /// filled in from the file beside it.
    ///
    /// # Errors
    /// The reason why there is no document, without the name of the source.
    pub(crate) fn read_as(&self, user: u32) -> Result<Status, Words> {
        let mut status = self.read()?;
        if let Some(own) = self.own_jobs(&status.writer.cluster, user) {
            status.fill_in(own);
        }
        Ok(status)
    }

    /// The jobs of a user, if there is a file with them. A file that is being replaced is read the next time.
    fn own_jobs(&self, cluster: &str, user: u32) -> Option<OwnJobs> {
        let Self::File(document) = self else { return None };
        let file = document.with_file_name(file_names::own_jobs(cluster, user));
        serde_json::from_slice(&read_file(&file).ok()?).ok()
    }

    /// Whether the words of a user name an exporter instead of a file.
    fn is_address(words: &str) -> bool {
        words.starts_with("http://") || words.starts_with("https://")
    }
}

impl From<PathBuf> for Source {
    /// The source that the words of a user name.
    fn from(words: PathBuf) -> Self {
        match words.to_str().filter(|words| Self::is_address(words)) {
            Some(address) => Self::Exporter(address.to_owned()),
            None => Self::File(words),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(to),
            Self::Exporter(address) => to.write_str(address),
        }
    }
}

/// The error about a document that is too large.
fn too_large() -> Words {
    "it is larger than 64 MiB, so that it is no status document".into()
}

fn read_file(path: &Path) -> Result<Vec<u8>, Words> {
    let (file, _) = open(path).map_err(words)?;
    let mut text = Vec::new();
    // The file may grow meanwhile, so that its size alone is no limit.
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut text).map_err(words)?;
    if text.len() > MOST_BYTES {
        return Err(too_large());
    }
    Ok(text)
}

/// Opens a regular file.
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    // The open of a FIFO would wait for a writer.
    let flags = OFlag::O_NONBLOCK.bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let facts = file.metadata()?;
    match facts.is_file() {
        true => Ok((file, facts)),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file")),
    }
}

fn words(why: io::Error) -> Words {
    match why.kind() {
        ErrorKind::PermissionDenied => {
            words!("cannot read it: {why}; in StateSaveLocation only SlurmUser, its group and root may")
        }
        ErrorKind::InvalidInput => words!("{why}, so that it is no status document"),
        _ => words!("cannot read it: {why}"),
    }
}

/// The time for the connection.
const CONNECT: Duration = Duration::from_secs(3);

/// The time for all of the answer.
const ANSWER: Duration = Duration::from_secs(10);

/// The answer of an exporter that has no document.
#[derive(Deserialize)]
struct Refusal {
    error: String,
}

fn ask_exporter(address: &str) -> Result<Vec<u8>, Words> {
    let url = document(address)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|why| words!("cannot start a runtime: {why}"))?;
    let text = runtime.block_on(ask(url));
    // A name server that does not answer holds up a thread of the runtime. Nobody waits for it.
    runtime.shutdown_background();
    text
}

/// The URL of the document on an exporter.
fn document(address: &str) -> Result<Url, Words> {
    let mut url = Url::parse(address).map_err(|why| words!("{why}: write http://HOST:PORT/"))?;
    if url.scheme() != "http" {
        return Err("svipu has no TLS: write http://HOST:PORT/, or forward a port by ssh -L".into());
    }
    if url.path() == "/" {
        url.set_path("/status");
    }
    Ok(url)
}

async fn ask(url: Url) -> Result<Vec<u8>, Words> {
    // The exporter is in the cluster, and a proxy is not.
    let client = Client::builder().no_proxy().redirect(Policy::none());
    let client = client.connect_timeout(CONNECT).timeout(ANSWER).build().map_err(failure)?;
    let response = client.get(url).send().await.map_err(failure)?;
    match response.status() {
        StatusCode::OK => body(response).await,
        StatusCode::SERVICE_UNAVAILABLE => {
            let refusal = serde_json::from_slice(&body(response).await?);
            Err(refusal.map_or("the server answers 503".into(), |it: Refusal| it.error.into()))
        }
        other => Err(words!("the server answers {other}: is it an exporter of slurm-vipu?")),
    }
}

async fn body(mut response: Response) -> Result<Vec<u8>, Words> {
    let mut text = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(failure)? {
        if text.len() + piece.len() > MOST_BYTES {
            return Err(too_large());
        }
        text.extend_from_slice(&piece);
    }
    Ok(text)
}

/// The failure in words. Its last cause says most, as in "Connection refused".
fn failure(why: reqwest::Error) -> Words {
    if why.is_timeout() {
        return "it does not answer in time".into();
    }
    let mut cause: &dyn Error = &why;
    while let Some(next) = cause.source() {
        cause = next;
    }
    words!("cannot read it: {cause}")
}
