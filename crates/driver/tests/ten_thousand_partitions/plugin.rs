//! The ledger, driver and client as they work together in slurmctld.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use driver::{
    Driver, Environment, Handle, Host, IpuofFiles, LiveRecord, ModelSettings, NoJournal, PodSetup, Stage,
    channel,
};
use ledger::{
    Action, AdoptedAs, DriverAction, Event, HostAction, Ledger, Millis, ModelFacts, Placement, Seconds,
};
use mock_vipu::MockServer;
use tokio::sync::Notify;
use tokio::time::{Duration, timeout};
use vipu_client::{Client, Endpoint};
use vipu_types::{IpuCount, PartitionId};

use crate::claim::pod;
use crate::settings::settings;
use crate::{LIMIT, LOST, ORPHANS, healthy, lost, orphans};

struct Plugin {
    ledger: RefCell<Ledger>,
    driver: Handle<Client>,
    began: Instant,
    /// The milliseconds by which the test is ahead of the clock.
    later: Cell<u64>,
    /// The partitions whose nodes are done.
    done: RefCell<Vec<PartitionId>>,
    broken: Cell<u32>,
    gone: Cell<u32>,
    news: Notify,
}

impl Host for Plugin {
    fn send(&self, action: HostAction) {
        match action {
            HostAction::AwaitNodes(claim) => self.done.borrow_mut().push(claim.partition),
            HostAction::Broken(..) => self.broken.set(self.broken.get() + 1),
            _ => {}
        }
        self.news.notify_one();
    }
}

impl Plugin {
    fn now(&self) -> Millis {
        let elapsed: u64 = self.began.elapsed().as_millis().try_into().unwrap();
        Millis(elapsed + self.later.get())
    }

    /// Lets a minute pass and asks for another survey, which shows the lost partitions.
    fn look_again(&self) {
        self.later.set(60_000);
        self.driver.route([Action::Driver(DriverAction::Survey(pod()))], self);
    }

    fn tell(&self, event: Event) {
        if matches!(event, Event::Gone(_)) {
            self.gone.set(self.gone.get() + 1);
        }
        let actions = self.ledger.borrow_mut().apply(self.now(), event);
        self.driver.route(actions, self);
        self.news.notify_one();
    }
}

struct Outside(Rc<Plugin>, IpuofFiles);

impl Environment for Outside {
    type Controller = Client;
    type Journal = NoJournal;
    type Files = IpuofFiles;

    fn journal(&self) -> &NoJournal {
        &NoJournal
    }

    fn files(&self) -> &IpuofFiles {
        &self.1
    }

    fn now(&self) -> Millis {
        self.0.now()
    }

    fn unix_time(&self) -> Seconds {
        Seconds(0)
    }

    fn report(&self, event: Event) {
        self.0.tell(event);
    }
}

/// Runs until all orphans are removed and all lost partitions are known.
pub async fn converge(server: &MockServer) {
    let directory = tempfile::tempdir().unwrap();
    let (driver, orders) = channel();
    let plugin = Rc::new(Plugin {
        ledger: RefCell::default(),
        driver,
        began: Instant::now(),
        later: Cell::default(),
        done: RefCell::default(),
        broken: Cell::default(),
        gone: Cell::default(),
        news: Notify::new(),
    });
    let (address, one_call) = (server.address(), Duration::from_secs(50));
    let controller =
        Client::new(Endpoint::plain(address.ip().to_string(), address.port(), one_call)).unwrap();
    let ipuof_dir = Some(directory.path().into());
    let settings =
        ModelSettings { create_timeout: LIMIT, reconcile_interval: LIMIT, ipuof_dir, ..settings() };
    plugin.driver.configure(vec![PodSetup { pod: pod(), settings, controller }]);
    adopt_jobs_of_an_earlier_slurmctld(&plugin);
    let record = |claim| LiveRecord {
        claim,
        ipuof_dir: Some(directory.path().into()),
        stays: false,
        stage: Stage::Created,
        kept_until: None,
        launched: None,
        unanswered: 0,
    };
    let files = IpuofFiles::new("a", None, [directory.path().to_owned()]);
    let live = healthy().chain(lost()).chain(orphans()).map(record).collect();
    let work = async {
        while (plugin.broken.get(), plugin.gone.get()) != (LOST, ORPHANS) {
            for partition in plugin.done.take() {
                plugin.tell(Event::NodesDone(partition));
            }
            if plugin.gone.get() == ORPHANS && plugin.later.get() == 0 {
                plugin.look_again();
            }
            plugin.news.notified().await;
        }
    };
    tokio::select! {
        in_time = timeout(LIMIT, work) => in_time.unwrap(),
        ended = Driver::new(Outside(Rc::clone(&plugin), files), live).run(orders) => panic!("it ended by itself: {ended:?}"),
    }
}

fn adopt_jobs_of_an_earlier_slurmctld(plugin: &Plugin) {
    plugin.tell(Event::Models(vec![ModelFacts {
        model: pod().model,
        controllers: vec![pod().controller],
        domain_size: IpuCount::new(64).unwrap(),
        prefix: "slurm".into(),
        placement: Placement::Controller,
        reconcile_interval: Duration::ZERO,
        largest: 64,
        is_pool: false,
        idle: ledger::IdleRules::default(),
        trouble: None,
    }]));
    healthy().chain(lost()).for_each(|claim| plugin.tell(Event::Adopt(claim, AdoptedAs::Running)));
    orphans().for_each(|claim| plugin.tell(Event::Orphan(claim)));
}
