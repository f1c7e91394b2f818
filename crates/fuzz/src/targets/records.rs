//! Jobs of the fake Slurm, read from any bytes.

use std::str::FromStr;

use vipu_types::{Grant, GresType, RunEnd};

use super::fake_slurm::{FakeJob, View};
use super::fake_test::FakeTest;

/// The lines `name=answer` of a job, its message and the arguments of its test.
pub(super) struct Lines<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Lines<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        Self(text.lines().filter_map(|line| line.split_once('=')).collect())
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|(line, _)| *line == name).map(|(_, answer)| *answer)
    }

    fn fact<T: Fact>(&self, name: &str) -> T {
        T::read(self.get(name))
    }

    /// The words in which a create of the job's partition fails, if it does.
    pub(super) fn create_fails(&self) -> Option<&'a str> {
        self.get("create_fails")
    }

    /// The job with this id.
    pub(super) fn job(&self, id: u32) -> FakeJob {
        macro_rules! read {
            ($($type:ty: $($fact:ident)*;)*) => {
                FakeJob { $($($fact: self.fact(stringify!($fact)),)*)* ..FakeJob::default() }
            };
        }
        let job = frontend::job_facts! { read! };
        let model = GresType::new("pod64").unwrap();
        let grant = self.get("grant").map(|grant| (Grant::variable(id), grant.to_owned()));
        let offers = [("cpu", vec![]), ("debug", vec![model.clone()]), ("ipu", vec![model])];
        let job = FakeJob {
            id,
            nodes: vec![self.fact("node")],
            node_names: vec!["node".to_owned()],
            time_limit: i64::from(self.fact::<u32>("time_limit")) * 60,
            options: self
                .get("options")
                .into_iter()
                .flat_map(|all| all.split(';'))
                .map(str::to_owned)
                .collect(),
            environment: grant.into_iter().collect(),
            most_ipus: Some(31),
            default_slurm_partition: self.fact("default_slurm_partition"),
            site_licenses: self.fact("site_licenses"),
            names_reservation: self.fact("names_reservation"),
            other_tres: ["per job", "per task", "per socket"].map(|per| self.fact(per)),
            asked_nodes: self.get("max_nodes").map(|_| 1..=self.fact("max_nodes")),
            offers: Some(offers.map(|(name, types)| (name.to_owned(), types)).into()),
            ..job
        };
        match self.get("tres_per_node") {
            Some(tres) => job.with_tres(tres),
            None => FakeJob { mentions_vipu: false, ..job },
        }
    }

    /// The arguments of a test of this job.
    pub(super) fn test<'job>(&self, job: View<'job>) -> FakeTest<View<'job>> {
        let fewest = self.fact("fewest");
        FakeTest {
            candidates: self.get("may_preempt").map(|_| vec![job]),
            has_victims: self.fact("has_victims"),
            not_before: self.fact("not_before"),
            ..FakeTest::new(vec![fewest], fewest)
        }
    }
}

/// A fact that a line gives. Without a line, or after one without sense, it is that of an empty record.
trait Fact {
    fn read(text: Option<&str>) -> Self;
}

fn parsed<T: FromStr>(text: Option<&str>) -> Option<T> {
    text?.parse().ok()
}

macro_rules! facts {
    ($($type:ty = |$text:ident| $read:expr;)*) => { $(
        impl Fact for $type {
            fn read($text: Option<&str>) -> Self {
                $read
            }
        }
    )* };
}

facts! {
    u16 = |text| parsed(text).unwrap_or_default();
    u32 = |text| parsed(text).unwrap_or_default();
    usize = |text| parsed(text).unwrap_or_default();
    i64 = |text| parsed(text).unwrap_or_default();
    bool = |text| text.is_some();
    Option<i64> = |text| parsed(text);
    Option<String> = |text| parsed(text);
    Option<(u32, u32)> = |text| text?.split_once('_').and_then(|(array, task)| Some((array.parse().ok()?, task.parse().ok()?)));
    Option<RunEnd> = |text| text.map(|end| match end {
        "0" => RunEnd::Completed,
        "TIMEOUT" => RunEnd::Otherwise("TIMEOUT"),
        code => code.parse().map_or(RunEnd::Cancelled, RunEnd::Failed),
    });
    Vec<u32> = |text| parsed(text).into_iter().collect();
    Vec<String> = |text| parsed(text).into_iter().collect();
}
