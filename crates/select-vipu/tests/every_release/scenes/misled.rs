//! A slurmctld that is not laid out as the table says: it lives on, IPU jobs wait, all others start.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use super::submit::job_submit;
use crate::cluster::{Cluster, gres};
use crate::host::{Host, notes};
use crate::object::Plugin;
use crate::record::Record;
use crate::room::Room;

pub fn play(host: Host, room: &Room) {
    let cluster = Cluster::new(host);
    let load = |name: &str| Plugin::load(&room.plugins().join(name), host.release).unwrap();
    let (select, submit) = (load("select_vipu.so"), load("job_submit_vipu.so"));
    host.set("fake_agrees", true);
    // SAFETY: it has this type in every release.
    let reconfigure: unsafe extern "C" fn() -> c_int =
        unsafe { std::mem::transmute::<*mut c_void, _>(select.wanted("select_p_reconfigure")) };
    // SAFETY: called as slurmctld does.
    assert_eq!(host.under_locks(|| unsafe { reconfigure() }), 0);

    let message = Record::new(host.release, "job_desc_msg");
    for text in ["tres_per_node", "tres_per_job", "tres_per_task", "tres_per_socket", "partition", "qos"] {
        message.put(text, gres(host, "gpu:1"));
    }
    message.put("spank_job_env", null_mut::<c_void>());
    message.put("spank_job_env_size", 0_u32);
    assert_eq!(job_submit(host, submit.wanted("job_submit"), message).0, 0);

    let job_test = |job| host.job_test(select.wanted("select_p_job_test"), job, 0);
    let busy = host.release.constant("ESLURM_NODES_BUSY").cast_signed();
    assert_eq!(job_test(cluster.waiting.record), busy);
    assert_eq!(job_test(cluster.plain.record), 0);
    let notes = notes();
    let errors: Vec<_> = notes.iter().filter(|note| note.starts_with("log 2: ")).collect();
    let told = errors.iter().filter(|line| line.contains("no IPU job will start")).count();
    assert_eq!(told, 1, "{errors:?}");
}
