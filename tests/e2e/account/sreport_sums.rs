//! The sums of sreport, the jobs of sacct, and the lives of the partitions.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use mock_vipu::PartitionRecord;
use testbed::{Account, Cluster, JobId, main_job, next_second, wait_until};

use super::{add_root, enforcing, ipus_in, sacctmgr, uses};
use crate::LIMIT;
use crate::jobs::{begin_again, cancel, runs, waits_again};

/// Users of every Debian. Root has the account root, the others have the account lab. 26.05 does not let nobody in.
const USERS: [&str; 3] = ["root", "bin", "daemon"];

/// A run of a job: a requeued job has several.
#[derive(Debug)]
struct Run {
    user: String,
    partition: String,
    /// The partition of the job's next run, if there is one.
    next_partition: String,
    /// What the job asked for. Its name says it, so that no count of Slurm's is trusted.
    ipus: u64,
    /// Slurm's count.
    counted: Option<String>,
    start: u64,
    end: u64,
}

fn add_users(cluster: &Cluster) -> Result<()> {
    add_root(cluster, &["normal"])?;
    sacctmgr(cluster, &["add", "account", "lab"])?;
    sacctmgr(cluster, &["add", "user", &USERS[1..].join(","), "account=lab"])?;
    wait_until("the users in slurmctld", LIMIT, || {
        let shown = cluster.scontrol(&["show", "assoc_mgr", "flags=assoc", "accounts=lab"])?;
        Ok(USERS[1..].iter().all(|user| shown.contains(&format!("UserName={user}("))))
    })
}

/// The options of a request for IPUs, of which the name of the job tells the number.
fn wanting(ipus: u32) -> [String; 2] {
    [format!("--gres=vipu:pod64:{ipus}"), format!("--job-name=ipus-{ipus}")]
}

fn submit(cluster: &Cluster, user: &str, script: &str, ipus: u32, more: &[&str]) -> Result<JobId> {
    let wanted = wanting(ipus);
    let args = [&["-o/dev/null"], wanted.each_ref().map(String::as_str).as_slice(), more].concat();
    cluster.submit(cluster.sbatch_command(script, &args)?.account(&Account::named(user)?))
}

/// Jobs that start when there is room and end on their own.
fn submit_short(cluster: &Cluster) -> Result<()> {
    // Some are shorter than a second.
    const SHORT: &str = "sleep $((SLURM_JOB_ID % 3))";
    for user in USERS {
        for (ipus, nodes) in [(1, "-N1"), (2, "-N2"), (4, "-N1"), (4, "-N2"), (8, "-N1"), (8, "-N2")] {
            submit(cluster, user, SHORT, ipus, &[nodes])?;
        }
        submit(cluster, user, "exit 3", 2, &["-N2"])?;
        submit(cluster, user, SHORT, 2, &["--array=0-2"])?;
        submit(cluster, user, SHORT, 4, &["--array=0-2%1", "-N2"])?;
        // A second request begins behind the colon.
        let second = wanting(2);
        submit(cluster, user, SHORT, 4, &[":", &second[0], &second[1]])?;
    }
    cluster.sbatch(SHORT, &["-N2", "--exclusive", "--job-name=ipus-0"]).map(drop)
}

/// Jobs by srun, which end on their own.
fn run_interactive(cluster: &Cluster) -> Result<()> {
    let start = |(user, nodes): (&&str, &str)| {
        let wanted = wanting(2);
        let args = [&wanted[0], &wanted[1], nodes, "sleep", "1"];
        cluster.command("srun").account(&Account::named(user)?).args(&args).start()
    };
    let started = USERS.iter().zip(["-N1", "-N2", "-N1"]).map(start).collect::<Result<Vec<_>>>()?;
    started.into_iter().try_for_each(|srun| srun.success(2 * LIMIT).map(drop))
}

/// Jobs that are cancelled while they wait, have their partition made, and run; and one that is requeued.
fn end_early(cluster: &Cluster, user: &str) -> Result<()> {
    let staying = |more: &[&str]| submit(cluster, user, "sleep 1000", 2, more);
    cancel(cluster, staying(&["--hold"])?)?;
    let made = staying(&[])?;
    cluster.mock().await_created(&main_job::partition_name(made, 0), LIMIT)?;
    cancel(cluster, made)?;
    let [running, requeued] = [staying(&["-N2"])?, staying(&["--requeue"])?];
    [running, requeued].into_iter().try_for_each(|job| runs(cluster, job))?;
    // slurmdbd knows a run by its job and the second of its submit.
    next_second()?;
    await_recorded(cluster, requeued)?;
    cluster.scontrol(&["requeue", &requeued.to_string()])?;
    waits_again(cluster, requeued, 1)?;
    begin_again(cluster, requeued)?;
    runs(cluster, requeued)?;
    [running, requeued].into_iter().try_for_each(|job| cancel(cluster, job))
}

/// Waits until slurmdbd has the run of a job. A run that is requeued before has no start in the database (seen on 22.05.8).
fn await_recorded(cluster: &Cluster, job: JobId) -> Result<()> {
    wait_until(&format!("job {job} in the database"), LIMIT, || {
        let sacct = cluster.command("sacct").args(&["-aXnP", "-j", &job.to_string(), "-o", "State"]);
        Ok(sacct.success()?.stdout.contains("RUNNING"))
    })
}

/// The runs of all jobs with IPUs in the database. `None` until the last one has ended there.
fn runs_in_database(cluster: &Cluster) -> Result<Option<Vec<Run>>> {
    let fields = "JobIDRaw,JobName,User,NodeList,Start,End,AllocTRES";
    let sacct = cluster.command("sacct").args(&["-aDXnP", "-Snow-2hours", "-o", fields]);
    let shown = sacct.env("SLURM_TIME_FORMAT", "%s").success()?.stdout;
    let mut lines: Vec<Vec<_>> = shown.lines().map(|line| line.split('|').collect()).collect();
    // Runs of a job follow each other in time.
    lines.sort_by_key(|line| (line[0].to_owned(), line[4].to_owned()));
    let mut restarts = BTreeMap::new();
    let mut runs = Vec::new();
    for line in lines {
        let [job, name, user, nodes, start, end, tres] = line[..] else { anyhow::bail!("{line:?}") };
        let ipus = name.strip_prefix("ipus-").with_context(|| format!("{line:?}"))?.parse()?;
        if nodes == "None assigned" || ipus == 0 {
            continue;
        }
        let (Ok(start), Ok(end)) = (start.parse(), end.parse()) else { return Ok(None) };
        let restarts = restarts.entry(job.to_owned()).and_modify(|count| *count += 1).or_insert(0);
        let job = job.parse()?;
        let partition = main_job::partition_name(job, *restarts);
        let next_partition = main_job::partition_name(job, *restarts + 1);
        let counted = ipus_in(tres)[0].map(str::to_owned);
        runs.push(Run { user: user.to_owned(), partition, next_partition, ipus, counted, start, end });
    }
    Ok(Some(runs))
}

/// Waits until the database has a run for each partition that there ever was. On a busy machine a run can be sent
/// back to wait for room: it has no partition, but the next run of its job has one.
fn recorded_runs(cluster: &Cluster, lives: &BTreeMap<String, PartitionRecord>) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    let recorded = wait_until("a run in the database for each partition", LIMIT, || {
        runs = runs_in_database(cluster)?.unwrap_or_default();
        let partitions: BTreeSet<_> = runs.iter().map(|run| &run.partition).collect();
        let has_life =
            |run: &Run| lives.contains_key(&run.partition) || lives.contains_key(&run.next_partition);
        Ok(lives.keys().all(|id| partitions.contains(id)) && runs.iter().all(has_life))
    });
    recorded.with_context(|| format!("{runs:?} {:?}", lives.keys()))?;
    Ok(runs)
}

/// The IPU seconds of each user in sreport. The last hour is left out: all records lie before it, but if an hour has
/// begun during the test, slurmdbd has added up the jobs of the hour before, where they no longer are.
fn reported(cluster: &Cluster) -> Result<BTreeMap<String, u64>> {
    let report =
        ["cluster", "AccountUtilizationByUser", "start=now-5hours", "end=now-1hours", "--tres=gres/vipu"];
    let args = [&["-nP", "-tseconds"], &report[..], &["format=Login,Used"]].concat();
    let shown = cluster.command("sreport").args(&args).success()?.stdout;
    // A line without a user is the sum of an account.
    let users = shown.lines().filter_map(|line| line.split_once('|')).filter(|(user, _)| !user.is_empty());
    users.map(|(user, used)| Ok((user.to_owned(), used.parse().with_context(|| shown.clone())?))).collect()
}

/// A partition is made after Slurm's start of its run, and its removal begins after Slurm's end. The user pays
/// for the first and not for the second.
fn check_life(run: &Run, life: &PartitionRecord) -> Result<()> {
    const SECOND: u64 = 1_000_000_000;
    let whole = |at: mock_vipu::Nanos| at.0 / SECOND;
    let context = || format!("{run:?} {life:?}");
    let (made, removal) = (whole(life.create_request), whole(life.remove_request.with_context(context)?));
    ensure!(run.start <= made && made <= run.end && run.end <= removal, context());
    ensure!(u64::try_from(life.ipus().len())? == run.ipus, context());
    ensure!(run.counted.as_deref() == Some(&run.ipus.to_string()), context());
    Ok(())
}

#[test]
fn acct_sums_of_sreport_equal_the_jobs() -> Result<()> {
    let create_time = Duration::from_secs(1);
    let settings = enforcing().nodes(2).cpus(64).create_time(create_time);
    settings.slurm_conf("SchedulerParameters=bf_interval=1").run(|cluster| {
        add_users(cluster)?;
        submit_short(cluster)?;
        run_interactive(cluster)?;
        USERS.iter().try_for_each(|user| end_early(cluster, user))?;
        let is_over = || Ok(cluster.jobs()?.iter().all(testbed::JobView::is_over));
        wait_until("the last job to end", 3 * LIMIT, is_over)?;
        wait_until("the last partition to go", LIMIT, || Ok(cluster.mock().partitions()?.is_empty()))?;
        uses(cluster, "normal", 0)?;
        let lives: BTreeMap<_, _> =
            cluster.mock().report()?.partitions.into_iter().map(|life| (life.id.clone(), life)).collect();
        let runs = recorded_runs(cluster, &lives)?;
        ensure!(lives.len() >= 50, "{} partitions", lives.len());
        let with_life = runs.iter().filter_map(|run| Some((run, lives.get(&run.partition)?)));
        with_life.into_iter().try_for_each(|(run, life)| check_life(run, life))?;

        let mut sums = BTreeMap::new();
        for run in &runs {
            *sums.entry(run.user.clone()).or_insert(0) += run.ipus * (run.end - run.start);
        }
        // The middle of the jobs comes to the turn of an hour, so that sreport adds up parts of runs, too.
        let mut starts: Vec<_> = runs.iter().map(|run| run.start).collect();
        starts.sort_unstable();
        let after_the_hour = starts[starts.len() / 2] % 3_600;
        cluster.put_records_back(Duration::from_secs(after_the_hour + 2 * 3_600))?;
        sacctmgr(cluster, &["rollup", "now-5hours"])?;
        let reported = reported(cluster)?;
        ensure!(reported == sums && sums.len() == USERS.len(), "sreport has {reported:?}, the jobs {sums:?}");
        Ok(())
    })
}
