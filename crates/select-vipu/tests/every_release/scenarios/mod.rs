//! The tests that a process runs as a Slurm of one release.

mod accounting;
mod failed_adoption;
mod forwarding;
mod gres;
mod limits;
mod reservations;
mod scheduling;
mod slurm_records;
mod submit;
mod task;
mod wrong_table;

use crate::cluster::Cluster;
use crate::host::{CR_OTHER_CONS_TRES, Host, notes};
use crate::installation::{Installation, Scenario};
use crate::object::{Plugin, Refused};
use crate::releases::Release;
use failed_adoption::Stop;

/// The last output of a scenario that reached its end.
pub const END: &str = "the scenario is over";

/// Runs the scenario. It panics if the scenario fails.
pub fn run(installation: &Installation, release: &str, scenario: Scenario) {
    let host = Host::start(installation, Box::leak(Box::new(Release::named(release))));
    has_the_interface_of_the_release(host);
    match scenario {
        Scenario::Whole => whole(host, installation),
        Scenario::WrongTable => wrong_table::run(host, installation),
        Scenario::ShiftedTable => wrong_table::run_each_shift(host, installation),
        Scenario::Reservations => reservations::run(host),
        Scenario::UnknownReservations => {
            reservations::run_unknown();
            whole(host, installation);
        }
        Scenario::AdoptionPanics => failed_adoption::run(host, installation, Stop::Panic),
        Scenario::AdoptionWithoutThreads => failed_adoption::run(host, installation, Stop::Threads),
        Scenario::Load => load(host, installation),
        Scenario::LoadInStepd => {
            for untold in
                ["slurm_conf", "state_save_location", "sched_params", "plugstack", "slurmctld_pidfile"]
            {
                host.slurm_conf().put(untold, std::ptr::null_mut::<std::ffi::c_char>());
            }
            load(host, installation);
        }
        Scenario::LoadOtherConsTres => {
            let bits: u16 = host.slurm_conf().get("select_type_param");
            host.slurm_conf().put("select_type_param", bits | CR_OTHER_CONS_TRES);
            load(host, installation);
        }
    }
    println!("\n{END}");
}

/// Checks that the fake is true to the release; otherwise the other checks prove nothing.
fn has_the_interface_of_the_release(host: Host) {
    let series = host.release.series;
    assert_eq!(host.has("job_requeue"), series <= 2505);
    assert_eq!(host.has("job_requeue_internal"), series >= 2511);
    assert_eq!(host.get::<usize>("fake_lock_bytes"), host.release.size("slurmctld_lock"));
    let functions = match series {
        2205 => 36,
        2302 => 32,
        2311 | 2405 | 2411 => 31,
        2505 | 2511 => 12,
        _ => 13,
    };
    assert_eq!(host.select_interface().len(), functions);
}

fn whole(host: Host, installation: &Installation) {
    let cluster = Cluster::new(host);
    slurm_records::run(host, &cluster);
    let select = forwarding::run(host, installation);
    let job_submit = Plugin::load(&installation.plugins().join("job_submit_vipu.so"), host.release).unwrap();
    scheduling::run(host, select, &cluster);
    submit::run(host, job_submit, cluster.waiting.record);
    task::run(host, installation);
    gres::run(host, installation);
    limits::run(host, installation, [select, job_submit], &cluster);
    accounting::run(host, select, cluster.waiting);
}

/// Prints the result of loading each plugin, and the notes on it, for the test that started this process.
fn load(host: Host, installation: &Installation) {
    for name in ["select_vipu.so", "job_submit_vipu.so", "gres_vipu.so", "spank_ipuof.so"] {
        match Plugin::load(&installation.plugins().join(name), host.release) {
            Ok(plugin) if name.starts_with("select") => {
                println!("\n{name}: loaded with id {}", plugin.number("plugin_id"));
            }
            Ok(_) => println!("\n{name}: loaded"),
            Err(why @ Refused::NotOpened(_)) => panic!("{name}: {why}"),
            Err(why) => println!("\n{name}: {why}"),
        }
        notes().iter().for_each(|note| println!("{name}: {note}"));
    }
}
