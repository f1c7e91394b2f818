//! Nodes and IPUs that belong together: those of a controller (`Nodes`), and those of each host (`Mode=host`).

use std::ops::Range;

use frontend::Cabling;

use crate::cluster::{ALL, Cluster, Job, REMOVAL};
use crate::{HOSTS, hosts};

/// Nodes 1 and 2 are of controller a, nodes 3 and 4 of controller b.
fn two_and_two() -> Cluster {
    Cluster::new("ApiHost=a,b", of(&[(1, "a"), (2, "a"), (3, "b"), (4, "b")]))
}

fn of(nodes: &[(u32, &str)]) -> Option<Cabling> {
    let owner = |(node, of): &(u32, &str)| (*node, format!("{of}:8090").parse().unwrap());
    Some(Cabling::Controllers(nodes.iter().map(owner).collect()))
}

/// Checks that a job starts on these nodes, and has its IPUs of this controller.
fn starts_on(cluster: &Cluster, ipus: &str, nodes: u32, among: &[u32], on: &[u32], of: &str) -> Job {
    let job = cluster.submit(ipus, nodes, among);
    assert_eq!(cluster.start(&job), Ok(on.to_vec()));
    assert_eq!(cluster.has(&job).0, format!("{of}:8090"));
    job
}

#[test]
fn sched_nodes_follow_the_controller_with_room() {
    let cluster = two_and_two();
    // The nodes of two controllers serve no job together.
    assert!(!cluster.may_ever_run(&cluster.submit(":1", 3, &ALL)));
    assert!(!cluster.may_ever_run(&cluster.submit(":1", 2, &[2, 3])));
    let first = starts_on(&cluster, ":64", 2, &ALL, &[1, 2], "a");
    let second = starts_on(&cluster, ":32", 1, &ALL, &[3], "b");
    let third = cluster.submit(":64", 1, &ALL);
    let why = cluster.start(&third).unwrap_err();
    assert!(why.starts_with("vipu: 64 IPUs of pod64 needed"), "{why}");
    // The first job ends before the second one.
    assert_eq!(cluster.expected(&third), first.limit + REMOVAL);
    cluster.end(&second);
    assert_eq!(cluster.start(&third), Ok(vec![3]));
    assert_eq!(cluster.has(&third).0, "b:8090");
    cluster.end(&first);
    starts_on(&cluster, ":16", 2, &ALL, &[1, 2], "a");
    // Nodes that a job names bind it to their controller.
    let bound = cluster.submit(":32", 1, &[4]);
    let why = "vipu: 32 IPUs of pod64 needed, 0 free, largest block 0, on b:8090";
    assert_eq!(cluster.start(&bound), Err(why.to_owned()));
}

#[test]
fn sched_nodes_that_are_busy_send_the_job_to_the_other_controller() {
    let cluster = two_and_two();
    let plain = cluster.occupy(&[1, 2]);
    starts_on(&cluster, ":16", 1, &ALL, &[3], "b");
    // One more has IPUs free on the first, whose nodes are busy, and none on the second.
    let waiting = cluster.submit(":64", 1, &ALL);
    let why = "vipu: 64 IPUs of pod64 needed, 48 free, largest block 32, on b:8090";
    assert_eq!(cluster.start(&waiting), Err(why.to_owned()));
    assert_eq!(cluster.expected(&waiting), plain.limit);
    cluster.end(&plain);
    assert_eq!(cluster.start(&waiting), Ok(vec![1]));
    assert_eq!(cluster.has(&waiting).0, "a:8090");
}

#[test]
fn sched_nodes_that_change_their_controller_keep_their_jobs() {
    let cluster = two_and_two();
    let first = starts_on(&cluster, ":64", 1, &[1], &[1], "a");
    cluster.reconfigure("ApiHost=a,b", of(&[(3, "a"), (1, "b")]));
    assert_eq!(cluster.has(&first).0, "a:8090");
    starts_on(&cluster, ":64", 1, &ALL, &[1], "b");
    let third = cluster.submit(":64", 1, &ALL);
    assert!(cluster.start(&third).is_err());
    cluster.end(&first);
    assert_eq!(cluster.start(&third), Ok(vec![3]));
    assert_eq!(cluster.has(&third).0, "a:8090");
}

/// Checks that a job has exactly these IPUs.
fn has(cluster: &Cluster, job: &Job, ipus: Range<u32>) {
    assert_eq!(cluster.has(job).1, ipus.collect::<Vec<_>>());
}

#[test]
fn mode_host_comes_while_other_jobs_run() {
    let cluster = Cluster::new("ApiHost=a Placement=explicit Cluster=pod64", None);
    // Its IPUs are those of node 1, wherever it runs.
    let before = cluster.submit(":4", 1, &[4]);
    assert_eq!(cluster.start(&before), Ok(vec![4]));
    let small = cluster.submit(":4", 1, &ALL);
    cluster.reconfigure(HOSTS, hosts());
    let first = cluster.submit(":16", 0, &[3]);
    assert_eq!(cluster.start(&first), Ok(vec![3]));
    has(&cluster, &first, 16..32);
    let second = cluster.submit(":16", 0, &[1]);
    let why = "vipu: the 16 IPUs of its nodes are not free";
    assert_eq!(cluster.start(&second), Err(why.to_owned()));
    cluster.end(&before);
    assert_eq!(cluster.start(&second), Ok(vec![1]));
    has(&cluster, &second, 0..16);
    let why = "vipu: jobs on pod64 get all IPUs of their nodes, 16, 32 or 64 IPUs: cancel and submit again";
    assert_eq!(cluster.start(&small), Err(why.to_owned()));
    // The IPUs of these nodes are no block.
    assert!(!cluster.may_ever_run(&cluster.submit(":32", 0, &[1, 2])));
}
