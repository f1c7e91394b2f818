//! Each alert fires and clears.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use testbed::{say, wait_until};
use vipu_status::{Contact, PoolBlock, PoolState, State, Status};

use super::documents::{due, healthy, now, partition};
use super::monitoring;
use super::server::{Exporter, LIMIT, Prometheus};

/// A change of the healthy document that makes an alert fire.
type Fault = fn(&mut Status) -> Result<()>;

const FAULTS: [(&str, Fault); 11] = [
    ("VipuStatusOld", |status| set(&mut status.written, now()? - 100)),
    ("VipuNoJobCanStart", |status| set(&mut status.out_of_order, Some("it panicked".into()))),
    ("VipuConfigurationError", |status| set(&mut status.models[0].conf.error, Some("line 3".into()))),
    ("VipuControllerAway", |status| {
        set(&mut status.models[0].pods[0].contact, Contact::Lost { since: 0, reason: "refused".into() })
    }),
    ("VipuCallsFail", |status| {
        status.models[0].pods[0].counters.failures.insert("unavailable".into(), 100);
        Ok(())
    }),
    ("VipuLeakSuspected", |status| set(&mut status.models[0].pods[0].ipus.suspected, 4)),
    ("VipuPoolPartitionOutOfUse", |status| {
        set(
            &mut status.models[0].pods[0].pool,
            vec![PoolBlock {
                partition: "p16_1".into(),
                size: 16,
                reconfigurable: false,
                state: PoolState::OutOfUse,
                reason: None,
            }],
        )
    }),
    ("VipuKeptTooLong", |status| set(&mut status.partitions, vec![partition(State::Kept, 5000)?])),
    ("VipuPartitionStuck", |status| set(&mut status.partitions, vec![partition(State::Removing, 5000)?])),
    ("VipuLineNotMoving", |status| set(&mut status.line, vec![due()?])),
    ("VipuJournalNotWritten", |status| set(&mut status.counters.journal.lag, 60.0)),
];

fn set<T>(member: &mut T, value: T) -> Result<()> {
    *member = value;
    Ok(())
}

/// The rules without their waiting times, and with short ranges.
pub(crate) fn quick_rules() -> Result<String> {
    let rules = fs::read_to_string(monitoring().join("vipu.rules.yml"))?;
    let quick = |line: &str| match line.trim_start().starts_with("for: ") {
        true => String::new(),
        false => line.replace("[15m]", "[2s]").replace("[30m]", "[2s]") + "\n",
    };
    Ok(rules.lines().map(quick).collect())
}

pub(crate) fn write(document: &Path, text: &[u8]) -> Result<()> {
    let new = document.with_extension("new");
    fs::write(&new, text)?;
    Ok(fs::rename(new, document)?)
}

/// The names of the alerts that fire.
fn firing(prometheus: &Prometheus) -> Result<BTreeSet<String>> {
    let alerts = prometheus.ask("/api/v1/alerts", &[], "/data/alerts")?;
    let alerts = alerts.as_array().context("no list of alerts")?;
    let fires = alerts.iter().filter(|alert| alert["state"] == "firing");
    Ok(fires.filter_map(|alert| Some(alert["labels"]["alertname"].as_str()?.to_owned())).collect())
}

fn await_only(prometheus: &Prometheus, alert: Option<&str>) -> Result<()> {
    let wanted: BTreeSet<String> = alert.into_iter().map(ToOwned::to_owned).collect();
    let what =
        alert.map_or_else(|| "all alerts to clear".to_owned(), |alert| format!("{alert} to fire alone"));
    wait_until(&what, LIMIT, || Ok(firing(prometheus)? == wanted))?;
    say(what);
    Ok(())
}

#[test]
fn cli_prometheus_alerts_fire_and_clear() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let document = folder.path().join("vipu_status.json");
    let recover = || write(&document, &healthy()?.to_json()?);
    recover()?;
    let exporter = Exporter::start(&document, "127.0.0.1:0")?;
    let address = exporter.address.clone();
    let prometheus = Prometheus::start(folder.path(), &quick_rules()?, &address)?;
    wait_until("the first scrape", LIMIT, || {
        let found = prometheus.ask("/api/v1/query", &[("query", "vipu_status_readable")], "/data/result")?;
        Ok(found != Value::Array(vec![]))
    })?;
    await_only(&prometheus, None)?;
    for (alert, fault) in FAULTS {
        let mut status = healthy()?;
        fault(&mut status)?;
        write(&document, &status.to_json()?)?;
        await_only(&prometheus, Some(alert))?;
        recover()?;
        await_only(&prometheus, None)?;
    }
    write(&document, b"{")?;
    await_only(&prometheus, Some("VipuStatusUnreadable"))?;
    recover()?;
    await_only(&prometheus, None)?;
    drop(exporter);
    await_only(&prometheus, Some("VipuExporterDown"))?;
    let _exporter = Exporter::start(&document, &address)?;
    recover()?;
    await_only(&prometheus, None)?;

    let rules = prometheus.ask("/api/v1/rules", &[], "/data/groups/0/rules")?;
    let rules = rules.as_array().context("no list of rules")?;
    let known: BTreeSet<_> = rules.iter().filter_map(|rule| rule["name"].as_str()).collect();
    let tested = FAULTS.iter().map(|(alert, _)| *alert).chain(["VipuStatusUnreadable", "VipuExporterDown"]);
    ensure!(known == tested.collect(), "each alert is tested: {known:?}");
    Ok(())
}
