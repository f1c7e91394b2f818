//! Models with a pool: partitions that exist before the jobs, and stay after them.

use std::collections::BTreeMap;
use std::time::Duration;

use ledger::{Drain, DrainScope, DrainedPart, Event, ModelFacts, PoolBlock, PoolPartition, SeenPartition};
use vipu_types::IpuCount;

use crate::script::{Scripted, asks, claim, drain, earliest, id, jobs, pod, seen, wish};

/// A partition of a pool: its id, its first IPU on the controller, its size, and whether a job may use a part.
type Part = (&'static str, u32, u64, bool);

const P16: [Part; 1] = [("p16", 0, 16, false)];
const P16_AND_Q16: [Part; 2] = [("p16", 0, 16, false), ("q16", 16, 16, false)];

fn member((name, first, ipus, is_reconfigurable): Part) -> PoolPartition {
    let seen = seen(name, first..first + u32::try_from(ipus).unwrap());
    let block = PoolBlock { size: IpuCount::new(ipus).unwrap(), is_reconfigurable };
    PoolPartition { seen, block, gcds: 1, is_ready: true }
}

fn lists(scripted: &mut Scripted, parts: &[Part], others: &[SeenPartition]) -> String {
    lists_members(scripted, parts.iter().map(|part| member(*part)).collect(), others)
}

fn lists_members(
    scripted: &mut Scripted,
    partitions: Vec<PoolPartition>,
    others: &[SeenPartition],
) -> String {
    let listed = partitions.iter().map(|it| it.seen.clone()).chain(others.iter().cloned()).collect();
    let pool = Event::Pool { pod: id("pod64", "vipu"), partitions, missing: BTreeMap::new() };
    assert_eq!(scripted.tell(pool), "");
    scripted.lists(listed)
}

/// A ledger with a pool. The controller lists one more partition, which is of no pool.
fn pool(parts: &[Part]) -> Scripted {
    let mut scripted = Scripted::new();
    scripted.tell(Event::Models(vec![ModelFacts { is_pool: true, ..pod("pod64") }]));
    lists(&mut scripted, parts, &[seen("of-others", 60..64)]);
    scripted
}

/// Lets a job begin on the partition that is chosen for it. Returns the partition, or none if none is free.
fn begins(scripted: &mut Scripted, job: u32, ipus: u64) -> Option<String> {
    let (wish, line) = (wish(job, ipus, 60), jobs(0, &[(1, 50), (2, 40)]));
    let given = ledger::Claim { user: 0, ..claim(&job.to_string()) };
    let choice = scripted.ledger.choose_in_pool(&wish, &given.controller, given.user, &line)?;
    let partition = choice.partition.to_string();
    let claim = ledger::Claim { partition: choice.partition, size: choice.size, ..given };
    assert_eq!(scripted.tell(Event::begin(claim)), format!("reset {partition} for {job}"));
    Some(partition)
}

const SMALL_AND_LARGE: [Part; 3] = [("p4_1", 0, 4, false), ("p16", 16, 16, false), ("p4_2", 8, 4, false)];

#[test]
fn mode_pool_gives_partitions_of_the_exact_size() {
    let mut scripted = pool(&SMALL_AND_LARGE);
    assert_eq!(asks(&scripted, "pod64", 8), "vipu: 8 IPUs of pod64 needed, the pool has partitions of 4, 16");
    let given: Vec<_> = (1..4).map(|job| begins(&mut scripted, job, 4)).collect();
    assert_eq!(given, [Some("p4_1".into()), Some("p4_2".into()), None]);
    let full = "vipu: 4 IPUs of pod64 needed, no such partition of the pool is free";
    assert_eq!((asks(&scripted, "pod64", 4), asks(&scripted, "pod64", 16)), (full.into(), "fits".into()));
    assert_eq!(earliest(&mut scripted, 4, &[(1, 50), (2, 40)]), Some(41));
}

#[test]
fn mode_pool_gives_a_part_of_a_reconfigurable_partition() {
    let mut scripted = pool(&[("p4", 0, 4, false), ("r8", 8, 8, true), ("r16", 16, 16, true)]);
    let given: Vec<_> =
        [2, 4, 4].into_iter().zip(1..).map(|(ipus, job)| begins(&mut scripted, job, ipus)).collect();
    assert_eq!(given, [Some("r8".into()), Some("p4".into()), Some("r16".into())]);
}

#[test]
fn mode_pool_keeps_a_partition_for_the_first_job_in_line() {
    let mut scripted = pool(&SMALL_AND_LARGE);
    begins(&mut scripted, 1, 16);
    let line = jobs(0, &[(1, 100)]);
    scripted.ledger.may_start(&wish(2, 16, 60), &line).unwrap_err();
    // Jobs of another size use other partitions, however long they run.
    assert!(scripted.ledger.may_start(&wish(3, 4, 1000), &line).is_ok());
}

#[test]
fn mode_pool_gives_a_partition_to_one_job_after_the_other() {
    let mut scripted = pool(&P16);
    begins(&mut scripted, 7, 16);
    scripted.play(
        "up p16           -> launch p16, survey pod64
         launched p16     ->
         fini 7 held      -> await-nodes p16
         nodes-done p16   -> idle-reset p16
         idle p16         -> complete p16, kick",
    );
    // It is as new, and stays however old it is.
    scripted.now.0 += 1_000_000_000;
    lists(&mut scripted, &P16, &[]);
    assert_eq!(asks(&scripted, "pod64", 16), "fits");
    scripted.play(
        "begin 8 on p16   -> reuse p16 for 8
         up p16           -> launch p16, survey pod64
         launched p16     ->
         fini 8 held      -> await-nodes p16
         nodes-done p16   -> idle-reset p16
         not-idle p16     -> withhold p16 for 600, remove p16
         gone p16         -> complete p16, kick, survey pod64",
    );
    let full = "vipu: 16 IPUs of pod64 needed, no such partition of the pool is free";
    assert_eq!(asks(&scripted, "pod64", 16), full);
    scripted.now.0 += 600_000;
    lists(&mut scripted, &P16, &[]);
    assert_eq!(asks(&scripted, "pod64", 16), "fits");
}

/// A job that has p16 does not get it, because the partition is in error.
fn is_put_off(scripted: &mut Scripted, job: u32) {
    scripted.play(&format!(
        "put-off p16      -> withhold p16 for 600, back p16 (it is in error), survey pod64
         fini {job}       -> drop p16, await-nodes p16
         nodes-done p16   -> remove p16
         gone p16         -> kick, survey pod64"
    ));
}

#[test]
fn mode_pool_puts_a_partition_aside_that_could_not_be_given() {
    let mut scripted = pool(&P16_AND_Q16);
    assert_eq!(begins(&mut scripted, 7, 16), Some("p16".into()));
    is_put_off(&mut scripted, 7);
    assert_eq!(begins(&mut scripted, 8, 16), Some("q16".into()));
    assert_eq!(begins(&mut scripted, 9, 16), None);
    scripted.now.0 += 600_000;
    lists(&mut scripted, &P16_AND_Q16, &[]);
    assert_eq!(begins(&mut scripted, 9, 16), Some("p16".into()));
}

/// A job of an earlier slurmctld whose run Slurm forgot: processes of the run may be left.
fn forgotten(scripted: &mut Scripted, run: &str) {
    scripted.play(&format!(
        "adopt-kept {run} on p16 as 0   -> keep p16 until 100, end-keep p16
         recorded p16                   ->"
    ));
}

#[test]
fn mode_pool_gives_a_forgotten_job_its_partition_again() {
    let mut scripted = pool(&[("p16", 0, 16, false), ("p4", 16, 4, false)]);
    forgotten(&mut scripted, "7");
    assert_eq!(begins(&mut scripted, 8, 16), None);
    scripted.ledger.may_start(&wish(8, 16, 60), &jobs(0, &[])).unwrap_err();
    assert!(scripted.ledger.may_start(&wish(7, 16, 60), &jobs(0, &[])).is_ok());
    assert_eq!(begins(&mut scripted, 7, 16), Some("p16".into()));
}

/// The job may ask for another size by now. Its partition still waits for the end of its time.
#[test]
fn mode_pool_keeps_the_partition_of_a_forgotten_job_that_gets_another() {
    let mut scripted = pool(&[("p16", 0, 16, false), ("p4", 16, 4, false)]);
    forgotten(&mut scripted, "7");
    assert_eq!(begins(&mut scripted, 7, 4), Some("p4".into()));
    assert_eq!(begins(&mut scripted, 8, 16), None);
    scripted.now.0 += 600_000;
    scripted.play(
        "keep-over p16      -> await-nodes p16
         nodes-unknown p16  -> remove p16
         gone p16           -> kick, survey pod64",
    );
    assert_eq!(begins(&mut scripted, 8, 16), Some("p16".into()));
}

#[test]
fn mode_pool_partition_is_freed_by_an_administrator() {
    let mut scripted = pool(&P16);
    forgotten(&mut scripted, "7");
    scripted.play("freed p16 -> remove p16 \n gone p16 -> kick, survey pod64");
    assert_eq!(begins(&mut scripted, 8, 16), Some("p16".into()));
    is_put_off(&mut scripted, 8);
    assert!(scripted.ledger.is_withheld(&claim("p16").partition));
    assert_eq!(begins(&mut scripted, 9, 16), None);
    scripted.play("freed p16 -> end-withheld p16, kick");
    assert_eq!(begins(&mut scripted, 9, 16), Some("p16".into()));
}

/// The claim of a run that begins then on p16.
fn on_p16(run: &str, start: i64) -> ledger::Claim {
    let own = claim(run);
    let run = vipu_types::JobRun { start, ..own.run };
    ledger::Claim { partition: claim("p16").partition, user: 0, run, ..own }
}

/// Slurm's saved state is older than the journal, and says that an earlier job still has the partition.
#[test]
fn mode_pool_withholds_a_partition_that_slurm_believes_to_be_an_earlier_jobs() {
    use ledger::AdoptedAs::{Ending, Kept, Running, Starting};
    let left = Duration::from_secs(600);
    for (found, settled) in [
        (Running, ""),
        (Ending, "complete p16, "),
        (Starting, "cancel p16, back p16 (partition p16 is another job's by now), "),
    ] {
        let settled = |more: &str| format!("{settled}{more}").trim_end_matches(", ").to_owned();
        for is_forgotten in [false, true] {
            let mut scripted = pool(&P16);
            scripted.tell(Event::Adopt(on_p16("7", 5), found));
            let later = on_p16("8", 6);
            match is_forgotten {
                false => {
                    assert_eq!(scripted.tell(Event::Withheld { claim: later, left }), settled(""));
                }
                true => {
                    let kept = scripted.tell(Event::Adopt(later, Kept(ledger::Seconds(100))));
                    assert_eq!(kept, settled("keep p16 until 100, end-keep p16"));
                }
            }
            scripted.tell(Event::Fini { job: 7, ending: ledger::Ending::Unheld });
            assert_eq!(begins(&mut scripted, 9, 16), None, "{found:?}");
            lists(&mut scripted, &P16, &[]);
            assert_eq!(begins(&mut scripted, 9, 16), None, "{found:?}");
        }
    }
}

#[test]
fn mode_pool_withholds_a_partition_whatever_is_listed_and_configured() {
    let mut scripted = pool(&P16);
    assert_eq!(begins(&mut scripted, 7, 16), Some("p16".into()));
    // The node is cut off: processes of the job may be left.
    scripted.play(
        "up p16             -> launch p16, survey pod64
         launched p16       ->
         fini 7             -> await-nodes p16
         nodes-unknown p16  -> withhold p16 for 600, remove p16
         gone p16           -> kick, survey pod64",
    );
    lists(&mut scripted, &[], &[]);
    lists(&mut scripted, &P16, &[]);
    assert_eq!(begins(&mut scripted, 8, 16), None);
    for models in [vec![pod("pod64")], vec![], vec![ModelFacts { is_pool: true, ..pod("pod64") }]] {
        scripted.tell(Event::Models(models));
    }
    lists(&mut scripted, &P16, &[]);
    assert_eq!(begins(&mut scripted, 8, 16), None);
    scripted.now.0 += 599_000;
    lists(&mut scripted, &P16, &[]);
    assert_eq!(begins(&mut scripted, 8, 16), None);
    scripted.now.0 += 1_000;
    lists(&mut scripted, &P16, &[]);
    assert_eq!(begins(&mut scripted, 8, 16), Some("p16".into()));
}

/// The controller need not have listed it yet.
#[test]
fn mode_pool_withholds_a_partition_that_is_not_listed() {
    let mut scripted = pool(&P16);
    assert_eq!(begins(&mut scripted, 7, 16), Some("p16".into()));
    lists(&mut scripted, &[], &[]);
    scripted.play(
        "fini 7             -> drop p16, cancel p16
         cancelled p16      -> await-nodes p16
         nodes-unknown p16  -> withhold p16 for 600, remove p16
         gone p16           -> kick, survey pod64",
    );
    lists(&mut scripted, &P16, &[]);
    assert_eq!(begins(&mut scripted, 8, 16), None);
}

#[test]
fn mode_pool_goes_on_withholding_a_partition_of_an_earlier_slurmctld() {
    for is_listed in [false, true] {
        let mut scripted = if is_listed { pool(&P16) } else { Scripted::new() };
        let left = Duration::from_secs(200);
        assert_eq!(scripted.tell(Event::Withheld { claim: on_p16("7", 5), left }), "");
        if !is_listed {
            scripted.tell(Event::Models(vec![ModelFacts { is_pool: true, ..pod("pod64") }]));
            lists(&mut scripted, &P16, &[]);
        }
        assert_eq!(begins(&mut scripted, 8, 16), None);
        scripted.now.0 += 200_000;
        lists(&mut scripted, &P16, &[]);
        assert_eq!(begins(&mut scripted, 8, 16), Some("p16".into()));
    }
}

/// The job waits in line meanwhile, and gets another one if the reset fails.
#[test]
fn mode_pool_resets_a_partition_before_its_job_has_nodes() {
    let mut scripted = pool(&P16_AND_Q16);
    scripted.play(
        "prepare 7 on p16   -> reset p16 for 7
         put-off p16        -> withhold p16 for 600, await-nodes p16, survey pod64
         nodes-unknown p16  -> remove p16
         gone p16           -> kick, survey pod64",
    );
    assert!(scripted.ledger.is_withheld(&claim("p16").partition));
    // No process has seen a partition whose job does not come.
    scripted.play(
        "prepare 7 on q16   -> reset q16 for 7
         up q16             -> kick, survey pod64
         forgo 7            -> await-nodes q16
         nodes-unknown q16  -> idle-reset q16
         idle q16           -> kick",
    );
    let (wish, next) = (wish(8, 16, 60), claim("8"));
    let choice = scripted.ledger.choose_in_pool(&wish, &next.controller, next.user, &jobs(0, &[])).unwrap();
    assert_eq!((choice.partition, choice.needs_reset), (claim("q16").partition, false));
}

#[test]
fn mode_pool_has_no_use_for_a_partition_in_error() {
    let mut scripted = pool(&P16);
    let p16 = member(P16[0]);
    let broken = SeenPartition { fault: Some("it is in error".into()), ..p16.seen.clone() };
    lists_members(&mut scripted, vec![PoolPartition { seen: broken, ..p16 }], &[]);
    assert_eq!(begins(&mut scripted, 1, 16), None);
}

/// Its size exists meanwhile.
#[test]
fn mode_pool_gives_no_partition_while_it_is_reset() {
    let mut scripted = pool(&P16);
    lists_members(&mut scripted, vec![PoolPartition { is_ready: false, ..member(P16[0]) }], &[]);
    assert!(scripted.ledger.pool_serves(&pod("pod64").model, IpuCount::new(16).unwrap()));
    assert_eq!(begins(&mut scripted, 1, 16), None);
}

/// Claims and the driver know a partition by its id alone.
#[test]
fn mode_pool_gives_no_partition_whose_name_another_pool_has() {
    let mut scripted = pool(&P16);
    let other = ModelFacts { is_pool: true, controllers: vec![id("pod16", "b").controller], ..pod("pod16") };
    scripted.tell(Event::Models(vec![ModelFacts { is_pool: true, ..pod("pod64") }, other]));
    lists(&mut scripted, &P16, &[]);
    let (pod, asked, p16) = (id("pod16", "b"), scripted.now, member(P16[0]));
    let partitions = vec![p16.seen.clone()];
    scripted.tell(Event::Pool { pod: pod.clone(), partitions: vec![p16], missing: BTreeMap::new() });
    scripted.tell(Event::Inventory { pod, asked, ipus: 16, faulty: 0, partitions });
    assert!(asks(&scripted, "pod16", 16).contains("no such partition of the pool is free"));
    lists(&mut scripted, &P16, &[]);
    assert_eq!(begins(&mut scripted, 1, 16), None);
}

#[test]
fn mode_pool_respects_drains() {
    let mut scripted = pool(&SMALL_AND_LARGE);
    scripted.tell(drain("pod64", None));
    assert_eq!(asks(&scripted, "pod64", 4), "vipu: pod64 is drained: new switch");
}

#[test]
fn mode_pool_gives_no_drained_partition() {
    let parts = [("p16_1", 0, 16, false), ("p16_2", 16, 16, false), ("p4_1", 32, 4, false)];
    let mut scripted = pool(&parts);
    scripted.tell(drained_partition("p16_1"));
    assert_eq!(begins(&mut scripted, 1, 16), Some("p16_2".into()));
    assert_eq!(begins(&mut scripted, 2, 16), None);
    // The numbers of the IPUs change with the pool.
    let more = [&parts[..], &[("p16_0", 40, 16, false)]].concat();
    lists(&mut scripted, &more, &[]);
    assert_eq!(begins(&mut scripted, 2, 16), Some("p16_0".into()));
    assert_eq!(begins(&mut scripted, 3, 16), None);
    // A partition that is made again under its name is drained, too.
    lists(&mut scripted, &more[1..], &[]);
    lists(&mut scripted, &more, &[]);
    assert_eq!(begins(&mut scripted, 3, 16), None);
    let Event::Drain(Drain { scope, .. }) = drained_partition("p16_1") else { unreachable!() };
    assert_eq!(scripted.tell(Event::Resume(scope)), "kick");
    assert_eq!(begins(&mut scripted, 3, 16), Some("p16_1".into()));
}

fn drained_partition(name: &str) -> Event {
    let Event::Drain(drain) = drain("pod64", None) else { unreachable!() };
    let part = DrainedPart::Partition(claim(name).partition);
    Event::Drain(Drain { scope: DrainScope { part, ..drain.scope }, ..drain })
}

/// In a pool, the place of a drained IPU belongs to another IPU, or to none.
#[test]
fn mode_pool_ignores_a_drained_ipu_of_an_earlier_mode() {
    let mut scripted = pool(&[("p16_1", 0, 16, false)]);
    scripted.tell(drain("pod64", Some(5)));
    assert_eq!(begins(&mut scripted, 1, 16), Some("p16_1".into()));
}

/// The jobs of the old mode run out beside those of the new one.
#[test]
fn mode_pool_begins_while_jobs_of_another_mode_run() {
    let mut scripted = crate::script::row_of(&[(1, 16), (2, 16)]);
    scripted.tell(Event::Models(vec![ModelFacts { is_pool: true, ..pod("pod64") }]));
    let running = [seen("slurm_1", 0..16), seen("slurm_2", 16..32)];
    lists(&mut scripted, &[("p16", 32, 16, false)], &running);
    assert_eq!(begins(&mut scripted, 3, 16), Some("p16".into()));
    scripted.play(
        "up 1           -> launch 1, survey pod64
         launched 1     ->
         fini 1 held    -> await-nodes 1
         nodes-done 1   -> remove 1
         gone 1         -> complete 1, kick, survey pod64",
    );
    // And back again: the partition of the pool stays until its job ends.
    scripted.tell(Event::Models(vec![pod("pod64")]));
    scripted.lists(vec![seen("slurm_2", 16..32), seen("p16", 32..48)]);
    assert_eq!(asks(&scripted, "pod64", 32), "vipu: 32 IPUs of pod64 needed, 32 free, largest block 16");
}
