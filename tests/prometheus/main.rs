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
use testbed::{programs, say};

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

#[test]
fn cli_exporter_unit_is_valid_and_confined() -> Result<()> {
    let Ok(analyze) = programs::find("systemd-analyze") else {
        say("no systemd here: the unit is not checked");
        return Ok(());
    };
    let folder = tempfile::tempdir()?;
    let unit = folder.path().join("vipu-exporter.service");
    let text = fs::read_to_string(monitoring().join("vipu-exporter.service"))?;
    // systemd wants the program to be there.
    let svipu = programs::find("svipu")?.display().to_string();
    ensure!(text.contains("ExecStart=/usr/bin/svipu exporter "), "{text}");
    fs::write(&unit, text.replace("/usr/bin/svipu", &svipu))?;
    for words in [&["verify"][..], &["security", "--offline=true", "--threshold=15"]] {
        let output = Command::new(&analyze).args(words).arg(&unit).output()?;
        let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "systemd-analyze {}: {told}", words.join(" "));
    }
    Ok(())
}
