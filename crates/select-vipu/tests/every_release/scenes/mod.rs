//! What a process plays as a Slurm of one release.

mod controller;
mod door;
mod forwarding;
mod gres;
mod half_way;
mod limits;
mod misled;
mod submit;
mod task;

use crate::cluster::Cluster;
use crate::host::{CR_OTHER_CONS_TRES, Host, notes};
use crate::object::{Plugin, Refused};
use crate::releases::Release;
use crate::room::{Room, Scene};
use half_way::Stop;

/// The last word of a scene that was played to its end.
pub const END: &str = "the scene was played";

/// Plays the scene; a panic is its failure.
pub fn play(room: &Room, release: &str, scene: Scene) {
    let host = Host::start(room, Box::leak(Box::new(Release::named(release))));
    offers_what_the_release_has(host);
    match scene {
        Scene::Whole => whole(host, room),
        Scene::Misled => misled::play(host, room),
        Scene::Shifted => misled::play_each_shift(host, room),
        Scene::HalfWayPanic => half_way::play(host, room, Stop::Panic),
        Scene::HalfWayThreads => half_way::play(host, room, Stop::Threads),
        Scene::Load => load(host, room),
        Scene::LoadInStepd => {
            for untold in ["slurm_conf", "state_save_location", "sched_params", "plugstack"] {
                host.slurm_conf().put(untold, std::ptr::null_mut::<std::ffi::c_char>());
            }
            load(host, room);
        }
        Scene::LoadOtherConsTres => {
            let bits: u16 = host.slurm_conf().get("select_type_param");
            host.slurm_conf().put("select_type_param", bits | CR_OTHER_CONS_TRES);
            load(host, room);
        }
    }
    println!("\n{END}");
}

/// The fake is true to the release, or the rest proves nothing.
fn offers_what_the_release_has(host: Host) {
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

fn whole(host: Host, room: &Room) {
    let cluster = Cluster::new(host);
    door::play(host, &cluster);
    let select = forwarding::play(host, room);
    let job_submit = Plugin::load(&room.plugins().join("job_submit_vipu.so"), host.release).unwrap();
    controller::play(host, select, &cluster);
    submit::play(host, job_submit, cluster.waiting.record);
    task::play(host, room);
    gres::play(host, room);
    limits::play(host, room, [select, job_submit], &cluster);
}

/// Says what comes of loading each plugin, and what was done meanwhile, for the test that wants it so.
fn load(host: Host, room: &Room) {
    for name in ["select_vipu.so", "job_submit_vipu.so", "gres_vipu.so", "spank_ipuof.so"] {
        match Plugin::load(&room.plugins().join(name), host.release) {
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
