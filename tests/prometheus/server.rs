//! The processes of the tests, and how they are asked.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use testbed::{programs, wait_for};

/// The time for a process to listen, and for Prometheus to notice a change.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// A process that ends with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `svipu exporter`.
pub(crate) struct Exporter {
    pub(crate) address: String,
    _process: Process,
}

impl Exporter {
    /// Starts it, and waits until it listens.
    pub(crate) fn start(document: &Path, listen: &str) -> Result<Self> {
        let mut command = Command::new(programs::find("svipu")?);
        command.args(["exporter", "--listen", listen, "--status"]).arg(document);
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().context("the exporter has no stderr")?;
        let process = Process(child);
        let mut line = String::new();
        BufReader::new(stderr).read_line(&mut line)?;
        let address = line.trim().rsplit_once("http://").and_then(|(_, rest)| rest.strip_suffix("/metrics"));
        let address = address.with_context(|| format!("the exporter says: {line}"))?.to_owned();
        Ok(Self { address, _process: process })
    }
}

/// Prometheus, with all its files in a folder.
pub(crate) struct Prometheus {
    address: String,
    _process: Process,
}

impl Prometheus {
    /// Starts it, and waits until it answers. It scrapes and evaluates rules ten times a second.
    pub(crate) fn start(folder: &Path, rules: &str, target: &str) -> Result<Self> {
        let config = format!(
            "global: {{ scrape_interval: 100ms, scrape_timeout: 100ms, evaluation_interval: 100ms }}\n\
             rule_files: [rules.yml]\n\
             scrape_configs: [{{ job_name: vipu, static_configs: [{{ targets: ['{target}'] }}] }}]\n"
        );
        fs::write(folder.join("prometheus.yml"), config)?;
        fs::write(folder.join("rules.yml"), rules)?;
        let log = folder.join("log");
        let mut command = Command::new(programs::find("prometheus")?);
        command.args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"]);
        command.arg("--web.listen-address=127.0.0.1:0").current_dir(folder).stderr(File::create(&log)?);
        let mut process = Process(command.spawn()?);
        let address = wait_for("Prometheus to be ready", LIMIT, || {
            let text = fs::read_to_string(&log)?;
            ensure!(process.0.try_wait()?.is_none(), "Prometheus ended: {text}");
            if !text.contains("Server is ready") {
                return Ok(None);
            }
            let line = text.lines().find(|line| line.contains("msg=\"Listening on\""));
            Ok(line.and_then(|line| Some(line.split_once("address=")?.1.trim().to_owned())))
        })?;
        Ok(Self { address, _process: process })
    }

    /// The value at a pointer of an answer of the API.
    pub(crate) fn ask(&self, path: &str, query: &[(&str, &str)], pointer: &str) -> Result<serde_json::Value> {
        let text = get(&self.address, path, query)?;
        let answer: serde_json::Value = serde_json::from_str(&text).with_context(|| text.clone())?;
        ensure!(answer["status"] == "success", "{path} {query:?}: {text}");
        answer.pointer(pointer).cloned().with_context(|| format!("{path} has no {pointer}: {text}"))
    }
}

/// The body of an answer.
pub(crate) fn get(address: &str, path: &str, query: &[(&str, &str)]) -> Result<String> {
    let url = reqwest::Url::parse_with_params(&format!("http://{address}{path}"), query)?;
    let client = reqwest::Client::builder().no_proxy().timeout(LIMIT).build()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(async { client.get(url).send().await?.text().await })?)
}
