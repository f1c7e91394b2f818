//! `select_vipu.so` directly after slurmctld has loaded it: all calls go to the stock selector.

use std::ffi::c_void;

use crate::host::{Host, notes};
use crate::installation::Installation;
use crate::object::Plugin;

/// The id of our selector in releases in which it must differ from the stock selectors' ids.
const OWN: u32 = 22096;

/// Calls all functions of the plugin except two, and returns the plugin.
pub fn run(host: Host, installation: &Installation) -> Plugin {
    let all = load(host, installation);
    let ids: Vec<_> = all.iter().map(|plugin| plugin.number("plugin_id")).collect();
    let select = *all.last().unwrap();
    match host.release.series {
        ..=2411 => assert_eq!(ids, [109, 102, OWN], "Slurm wants each id once, and at least 100"),
        _ => assert_eq!(ids, [109], "Slurm knows a cluster of cons_tres by this id"),
    }
    assert_eq!(notes().last().unwrap(), "cons_tres: init", "by our plugin, after Slurm's own calls");
    for function in host.select_interface() {
        let name = function.name().to_str().unwrap();
        let address = select.wanted(name);
        if name == "select_p_select_jobinfo_pack" {
            saves_the_stock_id(host, address);
        // The second one looks at its job: see `accounting.rs`.
        } else if !["select_p_reconfigure", "select_p_select_nodeinfo_set"].contains(&name) {
            host.under_locks(|| function.call(address));
            arrived("cons_tres", &notes());
        }
    }
    select
}

/// Slurm has to read the saved jobs without the plugin. Messages keep the only id that slurmd knows.
fn saves_the_stock_id(host: Host, jobinfo_pack: *mut c_void) {
    let saved_jobs = b"\0\0\0\x11PROTOCOL_VERSION\0...";
    for (begin, id, packed) in
        [(&saved_jobs[..], OWN, 109), (saved_jobs, 102, 102), (b"\x26\0message", OWN, OWN), (b"", OWN, OWN)]
    {
        assert_eq!(host.jobinfo_pack(jobinfo_pack, begin, id), packed, "id {id} behind {begin:?}");
        notes();
    }
}

/// Loads the selectors that Slurm loads: all of PluginDir up to 24.11, later only the configured one.
fn load(host: Host, installation: &Installation) -> Vec<Plugin> {
    let own = format!("{}.so", installation.select_type().replace('/', "_"));
    let stock = ["select_cons_tres.so", "select_linear.so"].into_iter();
    let names = stock.filter(|_| host.release.series <= 2411).chain([own.as_str()]);
    let load = |name| {
        let plugin = Plugin::load(&installation.plugins().join(name), host.release);
        plugin.unwrap_or_else(|why| panic!("{name}: {why}: {:?}", notes()))
    };
    names.map(load).collect()
}

/// Checks that a call reached the stock selector unchanged, and that its answer came back.
pub fn arrived(layer: &str, notes: &[String]) {
    let [sent, heard, got] = notes else { panic!("not sent and heard once: {notes:?}") };
    let sent = sent.strip_prefix("sent: ").unwrap();
    assert_eq!(*heard, format!("{layer}: {sent}"));
    assert_eq!(got, "got its result", "of {sent}");
}
