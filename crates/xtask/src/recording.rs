//! A Prometheus that records a cluster.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, Result};
use serde_json::Value;
use testbed::{Cluster, Running, wait_for};

const LIMIT: Duration = Duration::from_secs(60);

/// `svipu exporter` and a Prometheus that scrapes it each second.
pub struct Recording<'a> {
    cluster: &'a Cluster,
    programs: &'a Path,
    address: String,
    start: u64,
    /// They end with the recording.
    _processes: [Running; 2],
}

impl<'a> Recording<'a> {
    /// Starts both, in the cluster's folder. `programs` has prometheus and promtool.
    pub fn start(cluster: &'a Cluster, programs: &'a Path) -> Result<Self> {
        let exporter = cluster.command("svipu").args(&["exporter", "--listen", "127.0.0.1:0"]).start()?;
        let target = wait_for("the exporter", LIMIT, || {
            let said = exporter.stderr()?;
            Ok(said
                .split_once("http://")
                .and_then(|(_, rest)| Some(rest.split_once("/metrics")?.0.to_owned())))
        })?;
        let config = cluster.layout().root().join("prometheus.yml");
        fs::write(
            &config,
            format!(
                "global: {{ scrape_interval: 1s, scrape_timeout: 1s }}\n\
                 scrape_configs: [{{ job_name: vipu, static_configs: [{{ targets: ['{target}'] }}] }}]\n"
            ),
        )?;
        let data = cluster.layout().root().join("prometheus");
        let args = [
            format!("--config.file={}", config.display()),
            format!("--storage.tsdb.path={}", data.display()),
            "--web.listen-address=127.0.0.1:0".to_owned(),
        ];
        let prometheus = programs.join("prometheus").display().to_string();
        let prometheus = cluster.command(&prometheus).args(&args.each_ref().map(String::as_str)).start()?;
        let address = wait_for("Prometheus to be ready", LIMIT, || {
            let log = prometheus.stderr()?;
            let line = log.lines().find(|line| line.contains("msg=\"Listening on\""));
            let address = line.and_then(|line| line.split_once("address=")).map(|(_, rest)| rest.trim());
            Ok(address.filter(|_| log.contains("Server is ready")).map(ToOwned::to_owned))
        })?;
        Ok(Self { cluster, programs, address, start: now()?, _processes: [exporter, prometheus] })
    }

    /// The values of an expression since the start.
    pub fn ask(&self, expression: &str) -> Result<Value> {
        let (start, end) = (format!("--start={}", self.start), format!("--end={}", now()?));
        let server = format!("http://{}", self.address);
        let words = ["query", "range", "--format=json", "--step=1s", &start, &end, &server, expression];
        let promtool = self.programs.join("promtool").display().to_string();
        let answer = self.cluster.command(&promtool).args(&words).success()?.stdout;
        serde_json::from_str(&answer).with_context(|| format!("{expression}: {answer}"))
    }
}

fn now() -> Result<u64> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs())
}
