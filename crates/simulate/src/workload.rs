//! A synthetic workload: many small jobs, few large ones, and time limits well above the durations.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const MINUTE: i64 = 60;
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// The longest duration and time limit of a job, in seconds.
pub const LONGEST: i64 = DAY;

/// The shares of jobs with 1, 2, 4 ... 256 IPUs, up to the size of the Pod. For a Pod of 64 IPUs they add up
/// to 100.
const SIZES: [u32; 9] = [30, 20, 15, 14, 11, 7, 3, 2, 1];

/// The seconds around each job in which its IPUs are not free for others.
const AROUND: i64 = 25;

/// The number of users.
const USERS: u32 = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its id. An older job has a lower id.
    pub id: u32,
    /// The time of its submission, in seconds.
    pub submitted: i64,
    pub user: u32,
    pub size: u32,
    /// Its duration in seconds.
    pub duration: i64,
    /// Its time limit in seconds. A scheduler does not know the duration.
    pub limit: i64,
}

#[derive(Clone, Copy, Debug)]
pub struct Workload {
    pub ipus: u32,
    pub days: u32,
    /// The part of the Pod's IPUs that all jobs together need.
    pub load: f64,
    pub seed: u64,
}

impl Workload {
    /// Seconds in which jobs are submitted.
    pub fn span(&self) -> i64 {
        i64::from(self.days) * DAY
    }

    /// The jobs, the oldest first. Their number follows from the load. They are submitted in a Poisson
    /// process.
    pub fn jobs(&self) -> Vec<Job> {
        let mut random = StdRng::seed_from_u64(self.seed);
        let mut work = f64::from(self.ipus) * self.load * self.span() as f64;
        let mut jobs = Vec::new();
        while work > 0.0 {
            let (size, (duration, limit)) = (self.size(&mut random), times(&mut random, 20 * MINUTE, MINUTE));
            work -= f64::from(size) * duration as f64;
            let submitted = random.random_range(0..self.span());
            jobs.push(Job { id: 0, submitted, user: 0, size, duration, limit });
        }
        // Other random numbers, so that the jobs stay those of the published table.
        let mut random = StdRng::seed_from_u64(!self.seed);
        jobs.iter_mut().for_each(|job| job.user = random.random_range(0..USERS));
        in_order(jobs)
    }

    /// Jobs in batches; the load includes the time around a job. A user submits up to 40 at once, of one size, all short or all long. Half of the short
    /// ones take less than a minute, half of the long ones less than an hour.
    pub fn batches(&self) -> Vec<Job> {
        let mut random = StdRng::seed_from_u64(self.seed);
        let mut work = f64::from(self.ipus) * self.load * self.span() as f64;
        let mut jobs = Vec::new();
        while work > 0.0 {
            let (user, size) = (random.random_range(0..USERS), self.size(&mut random));
            let submitted = random.random_range(0..self.span());
            let is_short = random.random_bool(0.8);
            let (median, most) = if is_short { (MINUTE, 40) } else { (HOUR, 4) };
            for _ in 0..random.random_range(1..=most) {
                let (duration, limit) = times(&mut random, median, 5);
                work -= f64::from(size) * (duration + AROUND) as f64;
                jobs.push(Job { id: 0, submitted, user, size, duration, limit });
            }
        }
        in_order(jobs)
    }

    fn size(&self, random: &mut StdRng) -> u32 {
        let there_are = &SIZES[..=self.ipus.ilog2() as usize];
        let mut pick = random.random_range(0..there_are.iter().sum());
        let is_it = |share: &u32| {
            let found = pick < *share;
            pick = pick.saturating_sub(*share);
            found
        };
        1 << there_are.iter().position(is_it).unwrap_or(0)
    }
}

/// The oldest first, with their ids.
fn in_order(mut jobs: Vec<Job>) -> Vec<Job> {
    jobs.sort_by_key(|job| job.submitted);
    (1..).zip(&mut jobs).for_each(|(id, job)| job.id = id);
    jobs
}

/// Duration and limit. Durations are lognormal. Users ask for up to four times the duration, in quarters of an
/// hour.
fn times(random: &mut StdRng, median: i64, shortest: i64) -> (i64, i64) {
    let normal = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
    let duration = (median as f64 * (1.2 * normal).exp()) as i64;
    let duration = duration.clamp(shortest, LONGEST);
    let wanted = duration as f64 * random.random_range(1.0..4.0);
    let quarters = (wanted as i64 / (15 * MINUTE)) + 1;
    (duration, (quarters * 15 * MINUTE).min(LONGEST))
}
