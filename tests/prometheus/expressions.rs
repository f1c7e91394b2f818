//! Each expression of the dashboard has a value.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use testbed::wait_until;

use super::alerts::{quick_rules, write};
use super::documents::healthy;
use super::monitoring;
use super::server::{Exporter, LIMIT, Prometheus};

/// The expressions of the dashboard, with values for its variables.
fn expressions() -> Result<Vec<String>> {
    let dashboard: Value = serde_json::from_slice(&fs::read(monitoring().join("dashboard.json"))?)?;
    let panels = dashboard["panels"].as_array().context("no panels")?;
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let expressions = targets.filter_map(|target| target["expr"].as_str());
    Ok(expressions.map(|it| it.replace("$model", ".*").replace("$__rate_interval", "2s")).collect())
}

#[test]
fn cli_prometheus_evaluates_dashboard_and_rules() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let document = folder.path().join("vipu_status.json");
    write(&document, &healthy()?.to_json()?)?;
    let exporter = Exporter::start(&document, "127.0.0.1:0")?;
    let prometheus = Prometheus::start(folder.path(), &quick_rules()?, &exporter.address)?;
    let expressions = expressions()?;
    ensure!(expressions.len() > 20, "the dashboard has {} expressions", expressions.len());
    for expression in &expressions {
        wait_until(&format!("a value of {expression}"), LIMIT, || {
            let found = prometheus.ask("/api/v1/query", &[("query", expression)], "/data/result")?;
            Ok(found.as_array().is_some_and(|series| !series.is_empty()))
        })?;
    }
    wait_until("each rule to be evaluated", LIMIT, || {
        let rules = prometheus.ask("/api/v1/rules", &[], "/data/groups/0/rules")?;
        let rules = rules.as_array().context("no list of rules")?;
        let faults: Vec<_> = rules.iter().filter(|rule| rule["health"] == "err").collect();
        ensure!(faults.is_empty(), "{faults:?}");
        Ok(rules.iter().all(|rule| rule["health"] == "ok"))
    })
}
