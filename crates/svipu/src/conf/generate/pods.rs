//! The Pods as their controllers describe them.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use tokio::runtime::Builder;
use vipu_client::{Client, Endpoint};
use vipu_conf::Settings;
use vipu_types::ControllerName;

use crate::error::Failure;

/// The longest time of one call. Somebody waits for the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The Pods of the model.
pub(super) struct Pods {
    /// A line about each.
    pub(super) lines: Vec<String>,
    /// The IPUs of the largest one.
    pub(super) largest: usize,
}

/// Asks the controllers of a file with these lines.
pub(super) fn ask(keys: &str) -> Result<Pods, Failure> {
    let settings = Settings::parse(keys, Path::new("")).map_err(|why| {
        let reasons: Vec<_> = why.problems.iter().map(|problem| problem.reason.to_string()).collect();
        Failure::Conf(reasons.join("; "))
    })?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|why| Failure::Conf(format!("cannot call a controller: {why}")))?;
    let mut pods = Pods { lines: Vec::new(), largest: 0 };
    for controller in &settings.controllers {
        let (ipus, line) = runtime.block_on(pod(controller, &settings)).map_err(Failure::Conf)?;
        if ipus == 0 {
            return Err(Failure::Conf(format!("controller {controller} has no IPUs")));
        }
        pods.lines.push(line);
        pods.largest = pods.largest.max(ipus);
    }
    Ok(pods)
}

/// The number of IPUs of a controller, and the line about it.
async fn pod(controller: &ControllerName, settings: &Settings) -> Result<(usize, String), String> {
    let plain = Endpoint::plain(controller.host(), controller.port(), PATIENCE);
    let client = Client::new(Endpoint { tls: settings.tls(), access: settings.access(), ..plain });
    let client = client.map_err(|why| why.to_string())?;
    let ipus = client.list_ipus(&[]).await.map_err(|why| why.to_string())?;
    let partitions = client.list_partitions(None).await.map_err(|why| why.to_string())?;
    let agents: BTreeSet<_> = ipus.iter().map(|ipu| &ipu.agent).collect();
    let faulty = match ipus.iter().filter(|ipu| ipu.fault().is_some()).count() {
        0 => String::new(),
        faulty => format!(" ({faulty} faulty)"),
    };
    let (ipus, agents, held) = (ipus.len(), agents.len(), partitions.len());
    Ok((ipus, format!("{controller}: IPUs: {ipus}{faulty}, agents: {agents}, partitions now: {held}")))
}
