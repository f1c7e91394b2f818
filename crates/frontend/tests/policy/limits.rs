//! Limits on the IPUs of all jobs of a Slurm partition (`IpusPerSlurmPartition`), and times for the largest jobs only
//! (`WholeTimes`).

use crate::cluster::{ALL, Cluster};

#[test]
fn sched_ipus_per_slurm_partition() {
    let cluster = Cluster::new("ApiHost=a IpusPerSlurmPartition=main:32,other:1", None);
    let submit = |ipus| cluster.submit(ipus, 0, &ALL);
    let first = submit(":16");
    assert_eq!(cluster.start(&first), Ok(vec![1]));
    let waiting = submit(":32");
    let why = "vipu: jobs of Slurm partition main have 16 of at most 32 IPUs of pod64";
    assert_eq!(cluster.start(&waiting), Err(why.to_owned()));
    let never = submit(":64");
    let why = "vipu: 64 IPUs wanted, jobs of Slurm partition main get at most 32 of pod64";
    assert_eq!(cluster.start(&never), Err(why.to_owned()));
    // A job that may not start delays no other job.
    let other = submit(":8");
    assert!(cluster.start(&other).is_ok());
    cluster.end(&other);
    cluster.end(&first);
    assert!(cluster.start(&waiting).is_ok());
}

#[test]
fn mode_whole_times_are_for_the_largest_jobs() {
    let at = |times: &str| format!("ApiHost=a WholeTimes=\"daily {times}\"");
    // It is 08:00.
    let cluster = Cluster::new(&at("07:00-12:00"), None);
    let waits = |job| {
        let why = cluster.start(job).unwrap_err();
        let expected = "vipu: the job would run into a time in which pod64 is for the largest jobs: daily";
        assert!(why.starts_with(expected), "{why}");
    };
    let small = cluster.submit(":16", 0, &ALL);
    waits(&small);
    let whole = cluster.submit(":64", 0, &ALL);
    assert!(cluster.start(&whole).is_ok());
    cluster.end(&whole);
    waits(&small);
    // The Pod has to be empty when the time begins. Each job runs for a little more than an hour.
    cluster.reconfigure(&at("09:30-10:30"), None);
    assert!(cluster.start(&small).is_ok());
    cluster.reconfigure(&at("09:00-10:00"), None);
    waits(&cluster.submit(":16", 0, &ALL));
}

#[test]
fn user_keep_counts_for_slurms_limits_of_the_next_job() {
    let cluster = Cluster::new("ApiHost=a MaxKeep=600", None);
    let [failed, next, small] = [":16", ":32", ":16"].map(|ipus| cluster.submit(ipus, 0, &ALL));
    assert!(cluster.start(&failed).is_ok());
    cluster.fail(&failed);
    assert_eq!(cluster.held_without_job(), [16]);
    cluster.limit(&next, 32);
    assert!(cluster.start(&next).is_err(), "its user would have 48 IPUs");
    cluster.limit(&small, 32);
    assert!(cluster.start(&small).is_ok());
    assert_eq!(cluster.held_without_job(), [16]);
}

#[test]
fn user_keep_gives_way_to_a_waiting_job_after_min_keep() {
    for (least, waits) in [
        ("300", "vipu: 64 IPUs of pod64 needed, 48 free, largest block 32; 16 kept of failed jobs"),
        (
            "0",
            "vipu: 64 IPUs of pod64 needed, 48 free, largest block 32; 16 kept of failed jobs; on their way out",
        ),
    ] {
        let cluster = Cluster::new(&format!("ApiHost=a MaxKeep=600 MinKeep={least}"), None);
        let [failed, other, whole] = [":16", ":32", ":64"].map(|ipus| cluster.submit(ipus, 0, &ALL));
        assert!(cluster.start(&failed).is_ok());
        cluster.fail(&failed);
        assert!(cluster.start(&other).is_ok());
        assert!(cluster.start(&whole).is_err());
        assert_eq!(cluster.held_without_job(), [16], "the job could not start without it either");
        cluster.end(&other);
        assert_eq!(cluster.start(&whole), Err(waits.to_owned()));
        cluster.settle();
        assert_eq!((least, cluster.start(&whole).is_ok()), (least, least == "0"));
    }
}

#[test]
fn reuse_idle_partitions_count_for_slurms_limits_and_make_room() {
    let cluster = Cluster::new("ApiHost=a KeepIdle=600 KeepIdleFor=any-job", None);
    let [first, same, other] = [":16", ":16", ":8"].map(|ipus| cluster.submit(ipus, 0, &ALL));
    for job in [&first, &same] {
        cluster.limit(job, 16);
        assert!(cluster.start(job).is_ok());
        assert_eq!(cluster.held_without_job(), [0; 0], "it has the idle one");
        cluster.end(job);
        assert_eq!(cluster.held_without_job(), [16]);
    }
    cluster.limit(&other, 16);
    assert!(cluster.start(&other).is_ok());
    assert_eq!(cluster.held_without_job(), [0; 0]);
}
