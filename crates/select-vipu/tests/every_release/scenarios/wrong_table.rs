//! A slurmctld whose records differ from the table: it lives on, IPU jobs wait, and all other jobs start.

use slurm_release::STRUCTS;

use super::submit::{ask, job_submit};
use crate::cluster::Cluster;
use crate::host::{Host, errors};
use crate::installation::Installation;
use crate::object::Plugin;
use crate::record::{Record, leave_the_rest_zero};

/// Checks tables that lack eight bytes of Slurm's struct before a member. Each runs in a process of its own,
/// because the plugins judge the layout once per process.
pub fn run_each_shift(host: Host, installation: &Installation) {
    leave_the_rest_zero();
    let of_jobs = STRUCTS.iter().filter(|found| ["job_record", "job_details"].contains(&found.name));
    let members = of_jobs.flat_map(|found| found.members.iter().map(|(member, _)| (found.name, *member)));
    // Left out: only a forecast reads it, and the plugins read no later member that slurmctld alone writes.
    let last = ("job_details", "whole_node");
    let unnoticed: Vec<_> = members
        .filter(|place| *place != last)
        .filter(|place| !is_noticed(host, installation, *place))
        .collect();
    assert!(unnoticed.is_empty(), "Slurm {}: a shift from there on: {unnoticed:?}", host.release.name);
}

fn is_noticed(host: Host, installation: &Installation, (kind, first): (&str, &str)) -> bool {
    let place = |member: &str| host.release.member(kind, member).unwrap().0;
    if place(first) < 8 {
        return true;
    }
    let mut measured = host.release.measured();
    for (key, value) in &mut measured {
        let member = key.strip_prefix(kind).and_then(|key| key.strip_prefix('.'));
        let Some(member) = member.filter(|member| place(member) >= place(first)) else { continue };
        let c_type = value.split_once(' ').unwrap().1;
        *value = format!("{} {c_type}", place(member) - 8);
    }
    crate::write_table(installation, host.release, &measured).unwrap();
    // SAFETY: the child has only this thread, which holds no lock, and ends without returning.
    match unsafe { libc::fork() } {
        0 => {
            let outcome = std::panic::catch_unwind(|| run(host, installation));
            // SAFETY: ends this process.
            unsafe { libc::_exit(outcome.is_err().into()) }
        }
        child => {
            let mut status = -1;
            // SAFETY: the arguments are our child and a variable for its status.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            status == 0
        }
    }
}

pub fn run(host: Host, installation: &Installation) {
    let cluster = Cluster::new(host);
    let load = |name: &str| Plugin::load(&installation.plugins().join(name), host.release).unwrap();
    let (select, submit) = (load("select_vipu.so"), load("job_submit_vipu.so"));
    host.set("fake_agrees", true);
    host.read_conf(select);

    let message = Record::new(host.release, "job_desc_msg");
    ask(host, message, "tres_per_node", "gpu:1");
    assert_eq!(job_submit(host, submit.wanted("job_submit"), message).0, 0);

    let job_test = |job| host.job_test(select.wanted("select_p_job_test"), job, 0);
    let busy = host.release.constant("ESLURM_NODES_BUSY").cast_signed();
    assert_eq!(job_test(cluster.waiting.record), busy);
    assert_eq!(job_test(cluster.plain.record), 0);
    let errors = errors();
    let told = errors.iter().filter(|line| line.contains("no IPU job will start")).count();
    assert_eq!(told, 1, "{errors:?}");
}
