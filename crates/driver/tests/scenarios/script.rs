//! A driver driven by a script under virtual time. Partition 7 is that of job 7; times are in seconds.
//!
//! | line | meaning |
//! |---|---|
//! | `fact = value` | sets a fact of [`crate::harness`], or ends it if there is no value; before all other lines it holds from the beginning |
//! | `record 1 /old creating` | the journal of an earlier slurmctld has partition 1, in this directory and stage |
//! | `create 1-3 on b of 64` | an action of the ledger, here for each of these jobs |
//! | `-> up 1 at 2..2.06` | the next event, and its time; also behind a command; `…` stands for any text |
//! | `log call* create 1 \| …` | all lines of the log that begin with the words before `*`, without surveys, probes and messages to users; `*` alone: all lines |
//! | `count 3 call create 1` | the number of lines of the log with these words |
//! | `there on b 1 2` | the partitions of a controller |
//! | `each STAGE: a, b` | the script is played once with each of these words |

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use driver::{Driver, Handle, Host, LiveRecord, ModelSettings, Stage, channel};
use ledger::{Action, Claim, DriverAction, Event, HostAction, Seconds, SeenPartition, Stale};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep};
use vipu_types::{IpuCount, JobRun, ModelPool, PartitionId};

use crate::claim::{claim, id};
use crate::controller::Line;
use crate::harness::{Outside, Scene, in_words, is_aside, pod_at, short};
use crate::settings::settings;

/// Defines tests that each play a script.
macro_rules! scenarios {
    ($($(#[$doc:meta])* $name:ident $script:literal)*) => {
        $($(#[$doc])* #[test] fn $name() { crate::script::play($script); })*
    };
}
pub(crate) use scenarios;

/// A host that must not get an action.
pub struct NoHost;

impl Host for NoHost {
    fn send(&self, action: HostAction) {
        panic!("not the driver's to hand on: {action:?}");
    }
}

/// Plays a script.
pub fn play(script: &str) {
    let Some((each, script)) = script.trim().strip_prefix("each ").and_then(|it| it.split_once('\n')) else {
        return play_once(script);
    };
    let (word, values) = each.split_once(": ").unwrap();
    for value in values.split(", ") {
        println!("{word}: {value}");
        play_once(&script.replace(word, value));
    }
}

fn play_once(script: &str) {
    let lines: Vec<&str> = script.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let ((handle, orders), (sender, events)) = (channel(), unbounded_channel());
        let scene = Scene::new(sender);
        let is_first = |line: &&&str| line.starts_with("record ") || line.contains(" = ");
        let (first, rest) = lines.split_at(lines.iter().take_while(is_first).count());
        let mut live = Vec::new();
        let mut script = Script { scene: Rc::clone(&scene), settings: settings(), handle, events };
        for line in first {
            match line.strip_prefix("record ") {
                Some(recorded) => live.push(record(recorded)),
                None => script.set(line),
            }
        }
        script.configure(&[]);
        let driver = Driver::new(Outside(scene), live);
        let work = async {
            for line in rest {
                println!("{line}");
                script.line(line).await;
            }
        };
        tokio::select! {
            biased;
            () = work => {}
            ended = driver.run(orders) => panic!("the driver ended by itself: {ended:?}"),
        }
    });
}

fn record(text: &str) -> LiveRecord {
    let words: Vec<_> = text.split(' ').collect();
    let mut claim = claim(words[0].parse().unwrap());
    if let Some(start) = words.get(3) {
        claim.run.start = start.parse().unwrap();
    }
    let (stage, stays) = words[2].strip_suffix("-in-pool").map_or((words[2], false), |stage| (stage, true));
    let stage = match stage {
        "creating" => Stage::Creating,
        "created" => Stage::Created,
        "removing" | "unanswered" => Stage::Removing,
        "launched" => Stage::Creating,
        "withheld" => Stage::Withheld(Seconds(600)),
        other => panic!("no stage '{other}'"),
    };
    let launched = words[2].starts_with("launched").then_some(Seconds(0));
    let unanswered = words[2].starts_with("unanswered").into();
    let ipuof_dir = Some(words[1].into());
    LiveRecord { claim, ipuof_dir, stays, stage, kept_until: None, launched, unanswered }
}

struct Script {
    scene: Rc<Scene>,
    settings: ModelSettings,
    handle: Handle<Line<Rc<Scene>>>,
    events: UnboundedReceiver<(Instant, Event)>,
}

impl Script {
    async fn line(&mut self, line: &str) {
        let (command, expected) = line.split_once("-> ").unwrap_or((line, ""));
        let words: Vec<_> = command.split_whitespace().collect();
        match &words[..] {
            [] => {}
            [.., "="] | [.., "=", _] => self.set(line),
            _ if command.contains(" = ") => self.set(line),
            ["pass", time] => sleep(seconds(time)).await,
            ["configure", changes @ ..] => self.configure(changes),
            ["unconfigure"] => self.handle.configure(Vec::new()),
            ["zero"] => self.scene.zero.set(Instant::now()),
            ["forget"] => self.scene.log.borrow_mut().clear(),
            ["put", job] => self.scene.put("vipu", number(job)),
            ["put", job, "on", host] => self.scene.put(host, number(job)),
            ["take", job] => assert!(self.scene.at("vipu").remove(id(number(job)).as_str(), false)),
            ["there", "on", host, ids @ ..] => self.there(host, ids),
            ["there", ids @ ..] => self.there("vipu", ids),
            ["files", ids @ ..] => {
                assert_eq!(self.scene.files.borrow().iter().collect::<Vec<_>>(), ids.to_vec());
            }
            ["count", times, ..] => {
                let start = command.splitn(3, ' ').nth(2).unwrap();
                let log = self.scene.log.borrow();
                let count = log.iter().filter(|line| matches(line, start.trim_end())).count();
                assert!(is_in(count as f64, times), "{count} times {start}");
            }
            ["log", ..] => self.log(&command[4..]),
            ["survey"] => self.act(DriverAction::Survey(pod_at("vipu"))),
            ["survey", host] => self.act(DriverAction::Survey(pod_at(host))),
            [what, jobs, of @ ..] => numbers(jobs).for_each(|job| self.order(what, job, of)),
            other => panic!("no command {other:?}"),
        }
        if !expected.is_empty() {
            self.expect(expected).await;
        }
    }

    fn set(&self, line: &str) {
        let (name, value) = line.split_once(" =").unwrap();
        let mut facts = self.scene.facts.borrow_mut();
        match value.trim() {
            "" => facts.remove(name),
            value => facts.insert(name.to_owned(), value.to_owned()),
        };
    }

    fn act(&self, action: DriverAction) {
        self.handle.route([Action::Driver(action)], &NoHost);
    }

    fn order(&self, what: &str, job: u32, of: &[&str]) {
        let mut claim = claim(job);
        let (mut until, mut before, mut last) = (Seconds(0), vec![], claim.run);
        for option in of.chunks(2) {
            match option {
                ["waiting", ..] => claim.run = JobRun::waiting(job, 0, 1_700_000_000),
                ["on", host] => claim.controller = pod_at(host).controller,
                ["of", ipus] => claim.size = IpuCount::new(u64::from(number(ipus))).unwrap(),
                ["later", by] => claim.run.start += i64::from(number(by)),
                ["id", other] => {
                    last = crate::claim::claim(number(other)).run;
                    claim.partition = id(number(other));
                }
                ["after", other] => before.push(id(number(other))),
                ["until", time] => until = Seconds(number(time).into()),
                other => panic!("no option {other:?}"),
            }
        }
        self.act(match what {
            "create" if before.is_empty() => DriverAction::Create(claim),
            "create" => DriverAction::CreateAfter(claim, before),
            "reuse" => DriverAction::Reuse { claim, before: Some(last), reset: false },
            "reuse-reset" => DriverAction::Reuse { claim, before: Some(last), reset: true },
            "idle" => DriverAction::MakeIdle { claim, reset: false },
            "idle-reset" => DriverAction::MakeIdle { claim, reset: true },
            "remove" => DriverAction::Remove(claim),
            "refresh" => DriverAction::Refresh(claim, Stale::MayBeLost),
            "cancel" => DriverAction::CancelCreate(claim.partition),
            "keep" => DriverAction::Keep(claim, until),
            "withhold" => DriverAction::Withhold(claim, Duration::from_secs(until.0.try_into().unwrap())),
            "end-withheld" => DriverAction::EndWithheld(claim.partition),
            "foreign" => DriverAction::RemoveForeign { pod: claim.pod(), partition: claim.partition },
            "unclaimed" => DriverAction::Unclaimed { pod: claim.pod(), seen: seen(&claim) },
            other => panic!("no action '{other}'"),
        });
    }

    /// Adds these changes to the settings so far, and configures the driver with them.
    fn configure(&mut self, changes: &[&str]) {
        let mut hosts = "vipu";
        for change in changes {
            match change.split_once('=').unwrap() {
                ("hosts", these) => hosts = these,
                ("creates", count) => self.settings.max_concurrent_creates = number(count) as usize,
                ("retries", count) => self.settings.max_retries = number(count),
                ("timeout", time) => self.settings.create_timeout = seconds(time),
                ("force", is) => self.settings.force_remove = is == "1",
                ("unknown", is) => self.settings.remove_unknown = is == "1",
                // The prefix is another one, so that the partitions of scripts can be those of a pool.
                ("pool", "none") => self.settings.pool = None,
                ("pool", parts) => {
                    let pool = ModelPool::new(parts.parse().unwrap(), "own", &pod_at("vipu").model);
                    self.settings.pool = Some(pool.unwrap());
                }
                ("shared", "none") => self.settings.shared = None,
                ("shared", id) => self.settings.shared = Some(PartitionId::new(id).unwrap()),
                ("dir", dir) => self.settings.ipuof_dir = (dir != "none").then(|| Path::new(dir).into()),
                other => panic!("no setting {other:?}"),
            }
        }
        let setup = |host: &str| self.scene.setup(host, &self.settings);
        self.handle.configure(hosts.split(',').map(setup).collect());
    }

    fn there(&self, host: &str, ids: &[&str]) {
        let there = self.scene.at(host).partitions();
        assert_eq!(there.iter().map(|(id, _)| short(id)).collect::<Vec<_>>(), ids);
    }

    fn log(&self, command: &str) {
        let (start, expected) = command.split_once('*').unwrap();
        let log = self.scene.log.borrow();
        let is_meant =
            |line: &&String| line.starts_with(start) && (!is_aside(line) || start.starts_with("told"));
        let lines: Vec<_> = log.iter().filter(is_meant).map(|line| line[start.len()..].trim()).collect();
        let lines = lines.join(" | ");
        assert!(matches(&lines, expected.trim()), "{lines}");
    }

    /// Waits for the expected event. Events for several jobs may come in any order.
    async fn expect(&mut self, expected: &str) {
        let (what, time) = match expected.rsplit_once(" at ") {
            Some((what, time)) if time.starts_with(|first: char| first.is_ascii_digit()) => {
                (what.trim(), time)
            }
            _ => (expected, ""),
        };
        let (word, jobs) = what.split_once([' ', '…']).unwrap_or((what, ""));
        let is_range = jobs.split('-').all(|job| job.parse::<u32>().is_ok());
        let mut left: BTreeSet<String> = if is_range {
            numbers(jobs).map(|job| format!("{word} {job}")).collect()
        } else {
            [what.to_owned()].into()
        };
        let mut when = Instant::now();
        while !left.is_empty() {
            let (at, event) = self.events.recv().await.unwrap();
            let event = in_words(&event);
            if kind_of(event.split(' ').next().unwrap()) == kind_of(word) {
                let found = left.iter().find(|what| matches(&event, what)).cloned();
                assert!(
                    found.is_some_and(|found| left.remove(&found)),
                    "{event}\nwhere {left:?} should come"
                );
                when = at;
            }
        }
        let after = when.duration_since(self.scene.zero.get()).as_secs_f64();
        assert!(time.is_empty() || is_in(after, time), "{what} after {after} s");
    }
}

pub fn seen(claim: &Claim) -> SeenPartition {
    SeenPartition { partition: claim.partition.clone(), places: Vec::new(), fault: None, leaving: false }
}

/// The kind of an event with this first word. Events of other kinds may come before an expected event.
fn kind_of(word: &str) -> &str {
    match word {
        "listing" | "pool" | "away" => "survey",
        "started" | "no" | "trouble:" | "refuses:" => word,
        "trouble" => "",
        _ => "answer",
    }
}

/// Whether a text matches the expected text, in which `…` stands for any text.
fn matches(text: &str, expected: &str) -> bool {
    let mut parts = expected.split('…');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut is_open = false;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        (rest, is_open) = (&rest[at + part.len()..], part.is_empty());
    }
    rest.is_empty() || is_open
}

/// Whether a value is the number in `range`, or lies in the half-open range.
fn is_in(value: f64, range: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().unwrap();
    match range.split_once("..") {
        Some((from, "")) => value >= number(from),
        Some((from, to)) => (number(from)..number(to)).contains(&value),
        None => (value - number(range)).abs() < 0.0005,
    }
}

fn number(text: &str) -> u32 {
    text.parse().unwrap_or_else(|_| panic!("'{text}' is no number"))
}

fn seconds(text: &str) -> Duration {
    Duration::from_secs_f64(text.parse().unwrap())
}

/// Returns the numbers of a range: `3` is 3 alone, `3-5` is 3 to 5.
fn numbers(text: &str) -> RangeInclusive<u32> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    number(first)..=number(last)
}
