//! The cost of a scheduler's questions. Slurm asks them for each job while it holds its locks.

use std::time::{Duration, Instant};

use crate::script::{Scripted, claim, id, jobs, seen, wish};
use ledger::{AdoptedAs, Claim, Event, KnownJobs, Place, Seconds, SeenPartition};
use vipu_types::IpuCount;

/// Returns a Pod on which all IPUs except each 43rd have a job of their own, with a line of jobs.
pub fn busy(ipus: u32, line: u32) -> (Scripted, KnownJobs) {
    let mut scripted = Scripted::new();
    let running = || (1..=ipus).filter(|job| job % 43 != 0);
    let slurm = jobs(0, &running().map(|job| (job, 61 + i64::from(job) * 1009 % 3600)).collect::<Vec<_>>());
    let claim = |job: u32| Claim { size: IpuCount::ONE, ..claim(&job.to_string()) };
    let place = |job: u32| Place { domain: (job - 1) / 64, index: (job - 1) % 64 };
    let seen = |job| SeenPartition { places: vec![place(job)], ..seen(&format!("slurm_{job}"), []) };
    let (pod, asked, partitions) = (id("pod64", "vipu"), scripted.now, running().map(seen).collect());
    let adopted = running().map(|job| Event::Adopt(claim(job), AdoptedAs::Running));
    for event in adopted.chain([Event::Inventory { pod, asked, ipus, faulty: 0, partitions }]) {
        scripted.ledger.apply(asked, event);
    }
    for n in 0..line {
        let size = if n == 0 { 64 } else { 32 >> (n % 4) };
        scripted.ledger.plan(&wish(ipus + 1 + n, size, 7200), Seconds(0), &slurm);
    }
    (scripted, slurm)
}

type Question = fn(&mut Scripted, &KnownJobs, u32);

/// Returns the median cost of a question about a job behind all others, on a Pod of this size.
fn cost(ipus: u32, ask: Question) -> Duration {
    let (mut scripted, slurm) = busy(ipus, 1000);
    let mut costs: Vec<_> = (0..2001)
        .map(|_| {
            let began = Instant::now();
            ask(&mut scripted, &slurm, ipus + 1001);
            began.elapsed()
        })
        .collect();
    costs.sort_unstable();
    costs[costs.len() / 2]
}

#[test]
fn no_question_costs_more_with_thousands_of_claims() {
    let questions: [(&str, Question); 3] = [
        ("fits_now_behind_a_line", |scripted, slurm, job| {
            assert!(scripted.ledger.may_start(&wish(job, 1, 60), slurm).is_ok());
        }),
        ("no_room", |scripted, slurm, job| {
            assert!(scripted.ledger.may_start(&wish(job, 64, 3600), slurm).is_err());
        }),
        ("refusal", |scripted, _, job| {
            let others = scripted.ledger.ipus_of_others(&id("pod64", "vipu").model, "ipu", job, 0);
            assert!(others > 0 && scripted.ledger.preparation(job).is_none());
            assert!(!scripted.ledger.is_any_prepared());
        }),
    ];
    for (question, ask) in questions {
        // The machine may be busy with something else in one of the measurements.
        let grows = (0..5).map(|_| cost(16_384, ask).as_secs_f64() / cost(64, ask).as_secs_f64());
        let tries = grows
            .take_while(|growth| *growth > 4.0)
            .map(|growth| println!("{question}: {growth:.1}"))
            .count();
        assert!(tries < 5, "{question} costs more than 4 times as much with 16,003 claims as with 63");
    }
}
