//! A front end that is not Slurm: four jobs in a list, and a Pod of 16 IPUs.
//!
//! The ledger decides, and the driver makes and removes partitions on a mock controller. The front end is
//! between them and the jobs (`front_end.rs`). An operator for Kubernetes would have objects in place of the
//! list.
//!
//! ```console
//! $ cargo run -p driver --example front_end
//! ```

mod clocks;
mod front_end;

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use driver::{Driver, Environment, FileJournal, IpuofFiles, ModelSettings, PodSetup, channel};
use ledger::{Event, IdleRules, KnownJobs, Ledger, Millis, ModelFacts, Placement, Seconds, WholeTimes};
use mock_vipu::{Hardware, MockServer, Options, Settings};
use tokio::sync::mpsc::unbounded_channel;
use vipu_client::{Client, Endpoint};
use vipu_types::{ControllerName, IpuCount, JobRun, ModelName};

use clocks::{since, unix_time};
use front_end::{FrontEnd, Inbox, Job, LIMIT, Message};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let quick = Settings { create: Duration::from_millis(300), ..Settings::default() };
    let mock = MockServer::start(Options { settings: quick, ..Options::new(Hardware::new(16)) }).await?;
    let directory = tempfile::tempdir()?;
    run_jobs(&mock, directory.path(), &[8, 16, 4, 4]).await?;
    let report = mock.mock().report();
    println!("partitions made: {}, left: {}", report.partitions.len(), report.present().count());
    Ok(())
}

/// The driver's surroundings: its journal, the IPUoF files, and the queue to the front end.
struct Site {
    journal: FileJournal,
    files: IpuofFiles,
    inbox: Inbox,
    clock: Instant,
}

impl Environment for Site {
    type Controller = Client;
    type Journal = FileJournal;
    type Files = IpuofFiles;

    fn journal(&self) -> &FileJournal {
        &self.journal
    }

    fn files(&self) -> &IpuofFiles {
        &self.files
    }

    fn now(&self) -> Millis {
        since(self.clock)
    }

    fn unix_time(&self) -> Seconds {
        unix_time()
    }

    fn tell(&self, run: JobRun, line: String) {
        println!("{run}: {line}");
    }

    fn report(&self, event: Event) {
        self.inbox.put(Message::Tell(event));
    }
}

/// Runs jobs with these numbers of IPUs. Journal and IPUoF files are in `directory`.
async fn run_jobs(mock: &MockServer, directory: &Path, ipus: &[u64]) -> Result<()> {
    let (host, port) = (mock.address().ip().to_string(), mock.address().port());
    let (model, controller) = (ModelName::new("pod16")?, ControllerName::new(&host, port)?);
    let facts = facts(&model, controller)?;
    let directory: Arc<Path> = directory.into();
    let ((driver, orders), (sender, messages)) = (channel(), unbounded_channel());
    let client = Client::new(Endpoint::plain(host, port, Duration::from_secs(10)))?;
    let setup = |pod| PodSetup { pod, settings: settings(&facts, &directory), controller: client.clone() };
    driver.configure(facts.pods().map(setup).collect());

    let (inbox, clock) = (Inbox(sender), Instant::now());
    let (journal, left) = FileJournal::open(directory.join("journal"), |_| None)?;
    let files = IpuofFiles::new("example", None, []);
    let site = Site { journal, files, inbox: inbox.clone(), clock };
    let sizes = (1..).zip(ipus);
    let waiting = sizes.map(|(id, size)| Ok(Job { id, restart: 0, ipus: IpuCount::new(*size)? }));
    let front_end = FrontEnd {
        waiting: waiting.collect::<Result<_>>()?,
        running: KnownJobs {
            now: unix_time(),
            ends: HashMap::new(),
            expected: HashMap::new(),
            patience: LIMIT,
            whole_times: WholeTimes::default(),
        },
        model,
        directory,
        ledger: Ledger::new(),
        driver,
        inbox,
        clock,
    };
    tokio::select! {
        ended = Driver::new(site, left.clone()).run(orders) => Ok(ended?),
        ended = front_end.run(facts, left, messages) => ended,
    }
}

fn facts(model: &ModelName, controller: ControllerName) -> Result<ModelFacts> {
    Ok(ModelFacts {
        model: model.clone(),
        controllers: vec![controller],
        domain_size: IpuCount::new(64)?,
        prefix: "example".into(),
        placement: Placement::Controller,
        reconcile_interval: Duration::from_secs(30),
        largest: 16,
        is_pool: false,
        idle: IdleRules::default(),
        trouble: None,
    })
}

fn settings(facts: &ModelFacts, directory: &Arc<Path>) -> ModelSettings {
    ModelSettings {
        create_timeout: Duration::from_secs(60),
        max_retries: 3,
        reconcile_interval: facts.reconcile_interval,
        remove_unknown: false,
        domain_size: facts.domain_size,
        pool: None,
        hosts: None,
        shared: None,
        force_remove: false,
        reconfigurable: false,
        allocation: None,
        cluster: None,
        allocation_agents: vec![],
        max_concurrent_creates: 8,
        ipuof_dir: Some(Arc::clone(directory)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mock_vipu::{Effect, Fault};

    use super::*;

    /// Jobs 1 and 2 do not fit beside each other. The first create fails.
    #[tokio::test]
    async fn cli_example_front_end_runs_all_jobs_and_leaves_no_partition() -> Result<()> {
        let quick = Settings {
            create: Duration::from_millis(50),
            remove: Duration::from_millis(20),
            ..Settings::default()
        };
        let mock = MockServer::start(Options { settings: quick, ..Options::new(Hardware::new(16)) }).await?;
        mock.mock().inject(Fault::new(Effect::CreateError { text: "link training failed".into() }).times(1));
        let directory = tempfile::tempdir()?;
        tokio::time::timeout(LIMIT, run_jobs(&mock, directory.path(), &[8, 16, 4, 4])).await??;
        let report = mock.mock().report();
        assert_eq!((report.present().count(), report.ever_double_owned), (0, vec![]));
        let made: BTreeSet<_> = report.partitions.iter().map(|record| record.id.as_str()).collect();
        assert_eq!(made, BTreeSet::from(["example_1", "example_2", "example_3", "example_4"]));
        Ok(())
    }
}
