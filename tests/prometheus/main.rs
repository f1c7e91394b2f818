//! `svipu exporter` with a real Prometheus. `cargo xtask prometheus` provides it and runs these tests.

mod alerts;
mod documents;
mod expressions;
mod server;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use testbed::programs;

use server::Exporter;

/// The folder with the rules and the dashboard.
fn monitoring() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../monitoring")
}

/// Runs promtool in the folder.
fn promtool(words: &[&str], input: &str) -> Result<()> {
    let mut command = Command::new(programs::find("promtool")?);
    command.args(words).current_dir(monitoring());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().context("promtool has no input")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    let told = [output.stdout, output.stderr].concat();
    ensure!(output.status.success(), "promtool {}: {}", words.join(" "), String::from_utf8_lossy(&told));
    Ok(())
}

#[test]
fn cli_prometheus_tools_accept_metrics_rules_and_their_tests() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let document = folder.path().join("vipu_status.json");
    fs::write(&document, documents::healthy()?.to_json()?)?;
    let exporter = Exporter::start(&document, "127.0.0.1:0")?;
    let metrics = server::get(&exporter.address, "/metrics", &[])?;
    ensure!(metrics.contains("\nvipu_status_readable 1\n"), "{metrics}");
    promtool(&["check", "metrics"], &metrics)?;
    promtool(&["check", "rules", "vipu.rules.yml"], "")?;
    promtool(&["test", "rules", "vipu.rules.test.yml"], "")?;
    promtool(&["check", "config", "--syntax-only", "prometheus.yml"], "")
}
