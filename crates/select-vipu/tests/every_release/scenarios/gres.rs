//! `gres_vipu.so` when Slurm examines a node's offer.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

use crate::cluster::list;
use crate::host::{Host, errors, notes};
use crate::installation::Installation;
use crate::object::Plugin;
use crate::record::Record;

/// `gres_build_id("vipu")` and `gres_build_id("gpu")`
const VIPU: u32 = 0x7570_6976;
const GPU: u32 = 0x75_7067;

const IN_ALL: [&str; 9] = [
    "node_config_load",
    "job_set_env",
    "step_set_env",
    "task_set_env",
    "send_stepd",
    "recv_stepd",
    "get_devices",
    "step_hardware_init",
    "step_hardware_fini",
];

pub fn run(host: Host, installation: &Installation) {
    let plugin = Plugin::load(&installation.plugins().join("gres_vipu.so"), host.release).unwrap();
    let series = host.release.series;
    let infos = ["get_job_info", "get_step_info"].into_iter().filter(|_| series <= 2405);
    let scripts = match series {
        2205 => ["epilog_build_env", "epilog_set_env"],
        _ => ["prep_build_env", "prep_set_env"],
    };
    for name in IN_ALL.into_iter().chain(infos).chain(scripts) {
        plugin.wanted(&format!("gres_p_{name}"));
    }
    notes();
    for function in ["gres_p_get_devices", &format!("gres_p_{}", scripts[0])] {
        // SAFETY: the function of the interface returns a pointer and reads no argument.
        let answer = unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> *mut c_void>(
                plugin.wanted(function),
            )(null_mut())
        };
        assert!(answer.is_null(), "{function}");
    }

    assert_eq!(said(host, plugin, &[offer(host, "pod64", 64), gpu(host)]), Vec::<String>::new());
    let told = said(host, plugin, &[gpu(host), offer(host, "pod64", 48), offer(host, "pod16", 16)]);
    assert!(matches!(&told[..], [line] if line.contains("gres/vipu: Gres=vipu:pod64:48 ")), "{told:?}");

    let damaged = offer(host, "pod64", 64);
    damaged.put("type_name", std::ptr::without_provenance_mut::<c_char>(8));
    let told = said(host, plugin, &[damaged]);
    assert!(
        matches!(&told[..], [line] if line.contains("type_name of a gres_slurmd_conf_t reads wrong")),
        "{told:?}"
    );
}

/// Returns the errors in the log when a node with these records starts.
fn said(host: Host, plugin: Plugin, records: &[Record]) -> Vec<String> {
    type Load = unsafe extern "C" fn(*mut *mut c_void, *mut c_void) -> c_int;
    // SAFETY: the function has this type in every release.
    let load = unsafe { std::mem::transmute::<*mut c_void, Load>(plugin.wanted("gres_p_node_config_load")) };
    let records: Vec<_> = records.iter().map(|record| record.address()).collect();
    notes();
    let unread = std::ptr::without_provenance_mut(1);
    // SAFETY: the list has the fake's form; the other argument differs between the releases and must not be
    // read.
    let code = unsafe { load(list(&records), unread) };
    assert_eq!(code, 0, "Slurm {}", host.release.name);
    errors()
}

fn offer(host: Host, model: &str, count: u64) -> Record {
    record(host, VIPU, "vipu", host.text(model), count)
}

fn gpu(host: Host) -> Record {
    record(host, GPU, "gpu", null_mut(), 3)
}

fn record(host: Host, id: u32, name: &str, kind: *mut c_char, count: u64) -> Record {
    let record = Record::new(host.release, "gres_slurmd_conf");
    record.put("plugin_id", id);
    record.put("name", host.text(name));
    record.put("type_name", kind);
    record.put("count", count);
    record.put("file", null_mut::<c_char>());
    record
}
