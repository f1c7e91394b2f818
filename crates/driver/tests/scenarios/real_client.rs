//! The driver with the real client, journal and files, against a controller that speaks real gRPC.

use std::path::PathBuf;
use std::time::Duration;

use driver::{
    Driver, Environment, FileJournal, Handle, IpuofFiles, ModelSettings, Orders, PodSetup, Stage, channel,
};
use ledger::{Action, Claim, DriverAction, Event, Millis, Seconds};
use mock_vipu::{Effect, Fault, Hardware, Incident, Mock, MockServer, Options, Rpc, Settings, StatusCode};
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use tonic::Code;
use vipu_client::{Call, Client, Endpoint};
use vipu_types::{Gcd, IpuCount, JobRun};

use crate::claim::{claim, id, pod};
use crate::script::{NoHost, seen};
use crate::settings::settings;

/// The limit of each test, more than ten times the time that a test takes.
const LIMIT: Duration = Duration::from_secs(60);

/// The end of the time for which the id of a partition is withheld whose create was not answered. The clock stands at 0.
const WATCHED: Seconds = Seconds(600);

/// The time that the client waits for an answer.
const API_TIMEOUT: Duration = Duration::from_millis(300);

struct Outside {
    journal: FileJournal,
    files: IpuofFiles,
    events: UnboundedSender<Event>,
}

impl Environment for Outside {
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
        Millis(0)
    }

    fn unix_time(&self) -> Seconds {
        Seconds(0)
    }

    fn report(&self, event: Event) {
        // The receiver is gone once the test is over.
        let _ = self.events.send(event);
    }
}

struct Site {
    server: MockServer,
    dir: TempDir,
    handle: Handle<Client>,
    events: UnboundedReceiver<Event>,
    /// Whether the journal may keep a given-up partition, because a create call that hangs may still make
    /// one.
    is_watched: bool,
}

/// Sets up a driver with its orders, and a site with a Pod of `ipus` IPUs.
async fn set_up(ipus: u32) -> (Driver<Outside>, Orders<Client>, Site) {
    let quick = Settings {
        create: Duration::from_millis(50),
        remove: Duration::from_millis(20),
        ..Settings::default()
    };
    let options = Options { settings: quick, ..Options::new(Hardware::new(ipus)) };
    let server = MockServer::start(options).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (journal, _) = FileJournal::open(dir.path().join("journal"), |_| None).unwrap();
    let ((handle, orders), (sender, events)) = (channel(), unbounded_channel());
    let address = server.address();
    let controller =
        Client::new(Endpoint::plain(address.ip().to_string(), address.port(), API_TIMEOUT)).unwrap();
    // Only the case `Unclaimed` needs `remove_unknown`.
    let settings = ModelSettings { ipuof_dir: Some(dir.path().into()), remove_unknown: true, ..settings() };
    handle.configure(vec![PodSetup { pod: pod(), settings, controller }]);
    let driver =
        Driver::new(Outside { journal, files: IpuofFiles::new("a", None, []), events: sender }, Vec::new());
    (driver, orders, Site { server, dir, handle, events, is_watched: false })
}

/// Plays `scene` with a Pod of `ipus` IPUs, then checks that nothing is left of it.
async fn play(ipus: u32, scene: impl AsyncFnOnce(&mut Site)) {
    let (driver, orders, mut site) = set_up(ipus).await;
    tokio::select! {
        played = timeout(LIMIT, scene(&mut site)) => played.unwrap(),
        ended = driver.run(orders) => panic!("the driver ended by itself: {ended:?}"),
    }
    site.expect_nothing_left();
}

fn sized(size: u64) -> Claim {
    Claim { size: IpuCount::new(size).unwrap(), ..claim(1) }
}

impl Site {
    fn mock(&self) -> &Mock {
        self.server.mock()
    }

    fn inject(&self, effect: Effect) {
        self.mock().inject(Fault::new(effect).times(1));
    }

    async fn event(&mut self) -> Event {
        loop {
            let event = self.events.recv().await.unwrap();
            if !matches!(event, Event::Inventory { .. } | Event::Unreachable { .. } | Event::Trouble { .. }) {
                return event;
            }
        }
    }

    fn act(&self, action: DriverAction) {
        self.handle.route([Action::Driver(action)], &NoHost);
    }

    async fn up(&mut self, size: u64) {
        self.act(DriverAction::Create(sized(size)));
        assert_eq!(self.event().await, Event::CreateStarted(id(1)));
        assert_eq!(self.event().await, Event::Up(id(1)));
    }

    async fn gone(&mut self, size: u64) {
        self.act(DriverAction::Remove(sized(size)));
        assert_eq!(self.event().await, Event::Gone(id(1)));
    }

    async fn up_and_gone(&mut self) {
        self.up(16).await;
        self.gone(16).await;
    }

    /// Waits for the next answered survey. Returns its IPUs, its faulty IPUs and the places of its
    /// partitions.
    async fn inventory(&mut self) -> (u32, u32, usize) {
        loop {
            if let Event::Inventory { ipus, faulty, partitions, .. } = self.events.recv().await.unwrap() {
                let places = partitions.iter().map(|partition| partition.places.len()).sum();
                return (ipus, faulty, places);
            }
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = self.dir.path().read_dir().unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> =
            entries.filter(|path| path.extension().is_some_and(|ext| ext == "conf")).collect();
        files.sort();
        files
    }

    fn expect_nothing_left(&self) {
        let report = self.mock().report();
        assert_eq!(report.present().count(), 0);
        assert_eq!(report.ever_double_owned, []);
        assert_eq!(self.files(), [""; 0].map(PathBuf::from));
        let (_, mut live) = FileJournal::open(self.dir.path().join("journal"), |_| None).unwrap();
        live.retain(|record| !(self.is_watched && record.stage == Stage::Withheld(WATCHED)));
        assert_eq!(live, []);
    }
}

#[tokio::test]
async fn a_superseded_slurmctld_leaves_partitions_to_the_successor() {
    // This claim is for the id of the existing partition.
    let newer = Claim { run: JobRun { start: 60, ..sized(16).run }, ..sized(16) };
    for order in [
        DriverAction::Remove(sized(16)),
        DriverAction::Create(claim(2)),
        DriverAction::Create(newer),
        // The ledger of the superseded slurmctld takes the successor's partition for unclaimed.
        DriverAction::Unclaimed { pod: pod(), seen: seen(&claim(3)) },
    ] {
        let (driver, orders, mut site) = set_up(64).await;
        let scene = async {
            site.up(16).await;
            // A successor on another host has just made a partition.
            let made = Incident::Foreign { id: id(3).to_string(), size: 16, first: None };
            site.mock().cause(&made).unwrap();
            std::fs::write(site.dir.path().join("journal.owner"), "7 other:pid:[1] 42 1\n").unwrap();
            site.act(order);
            panic!("it answers with {:?}", site.event().await);
        };
        let ended = tokio::select! {
            () = scene => unreachable!("it waits for an answer"),
            ended = timeout(LIMIT, driver.run(orders)) => ended.unwrap(),
        };
        assert!(ended.unwrap_err().is_final());
        let report = site.mock().report();
        let present: Vec<_> = report.present().map(|record| record.id.as_str()).collect();
        assert_eq!(present, ["slurm_1", "slurm_3"]);
    }
}

#[tokio::test]
async fn a_partition_lives_and_dies() {
    play(64, async |site| {
        assert_eq!(site.inventory().await, (64, 0, 0));
        site.up(16).await;
        site.act(DriverAction::Survey(pod()));
        assert_eq!(site.inventory().await, (64, 0, 16));
        let files = site.files();
        assert_eq!(files, [site.dir.path().join("slurm_1.conf")]);
        let gcd: Gcd = serde_json::from_slice(&std::fs::read(&files[0]).unwrap()).unwrap();
        assert_eq!(gcd.devices.len(), 16);
        // An IPU and a machine of four, of no partition.
        site.mock().cause(&Incident::IpuFault { agent: "ag9".into(), ipu: 2 }).unwrap();
        site.mock().cause(&Incident::AgentDown { agent: "ag13".into() }).unwrap();
        site.act(DriverAction::Survey(pod()));
        assert_eq!(site.inventory().await, (64, 5, 16));
        site.gone(16).await;
    })
    .await;
}

#[tokio::test]
async fn a_partition_of_several_link_domains_has_a_file_for_each() {
    play(256, async |site| {
        site.up(256).await;
        assert_eq!(site.files().len(), 4);
        site.gone(256).await;
    })
    .await;
}

/// The three run at once, because each remove waits until no unanswered create can take effect any more.
#[tokio::test]
async fn calls_that_go_astray_do_no_harm() {
    tokio::join!(
        a_lost_reply_makes_no_second_partition(),
        a_call_that_hangs_is_made_again(),
        a_controller_that_is_away_is_waited_for(),
    );
}

async fn a_lost_reply_makes_no_second_partition() {
    play(64, async |site| {
        site.inject(Effect::LostReply { rpc: Some(Rpc(Call::CreatePartition)) });
        site.up_and_gone().await;
        assert_eq!(site.mock().report().partitions.len(), 1);
    })
    .await;
}

async fn a_call_that_hangs_is_made_again() {
    play(64, async |site| {
        site.is_watched = true;
        site.inject(Effect::Hang { rpc: Some(Rpc(Call::CreatePartition)) });
        site.up_and_gone().await;
        assert_eq!(site.mock().report().calls(Call::CreatePartition), 2);
    })
    .await;
}

async fn a_controller_that_is_away_is_waited_for() {
    play(64, async |site| {
        site.mock().refuse().await;
        site.act(DriverAction::Create(sized(16)));
        site.act(DriverAction::Survey(pod()));
        while !matches!(site.events.recv().await, Some(Event::Unreachable { .. })) {}
        site.mock().accept().await;
        assert_eq!(site.event().await, Event::CreateStarted(id(1)));
        assert_eq!(site.event().await, Event::Up(id(1)));
        site.gone(16).await;
    })
    .await;
}

#[tokio::test]
async fn failed_creates_and_removes_are_tried_again() {
    play(64, async |site| {
        site.inject(Effect::CreateError { text: "link training failed".into() });
        site.inject(Effect::ConfigEmpty);
        site.up(16).await;
        site.inject(Effect::RemoveFail { text: "agent ipum3 is down".into() });
        site.gone(16).await;
    })
    .await;
}

#[tokio::test]
async fn a_create_without_room_is_tried_again() {
    play(64, async |site| {
        let (rpc, code) = (Some(Rpc(Call::CreatePartition)), StatusCode(Code::ResourceExhausted));
        site.inject(Effect::Reject { rpc, code, text: "no room".into() });
        site.act(DriverAction::Create(sized(16)));
        for event in [Event::CreateStarted(id(1)), Event::NoRoom(id(1)), Event::Up(id(1))] {
            assert_eq!(site.event().await, event);
        }
        site.gone(16).await;
    })
    .await;
}
