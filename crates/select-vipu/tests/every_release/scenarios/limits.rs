//! Limits by Slurm partition and QOS, and options at a change of a job, with a vipu.conf. Each is read from
//! its place in this release.

use std::fs;

use super::submit::{ask, job_submit};
use crate::cluster::{Cluster, gres};
use crate::host::Host;
use crate::installation::Installation;
use crate::object::Plugin;
use crate::record::Record;

/// A vipu.conf whose controller does not answer.
const CONF: &str = "ApiHost=127.0.0.1:1 IpuofDir=/x SizePolicy=round-up\n\
                    MaxIpusPerJobInSlurmPartition=ipu:32 MaxIpusPerJobInQos=low:8,high:16\n";

pub fn run(host: Host, installation: &Installation, [select, submit]: [Plugin; 2], cluster: &Cluster) {
    fs::write(installation.conf().join("vipu.conf"), CONF).unwrap();
    is_not_in_force_yet(host, [select, submit]);
    host.read_conf(select);

    at_submit(host, submit, cluster.partition);
    let job = cluster.waiting.record;
    at_a_change(host, submit, job);
    // As the scheduler finds the job.
    job.put("tres_per_node", gres(host, "vipu:pod64:16"));
    let busy = host.release.constant("ESLURM_NODES_BUSY").cast_signed();
    job.put("state_reason", 0_u32);
    assert_eq!(host.job_test(select.wanted("select_p_job_test"), job, 0), busy);
    host.reason(job, "vipu: its request cannot be met any more");
}

/// Checks that reconfigure alone does not read vipu.conf. Slurm also calls reconfigure when a Slurm partition
/// is updated or debug flags are set, and an administrator may be editing the file then.
fn is_not_in_force_yet(host: Host, [select, submit]: [Plugin; 2]) {
    assert_eq!(host.call(select, "select_p_reconfigure", None), 0);
    let message = Record::new(host.release, "job_desc_msg");
    ask(host, message, "tres_per_node", "vipu:pod64:3");
    let (_, told) = job_submit(host, submit.wanted("job_submit"), message);
    assert!(told.as_deref().unwrap().contains("not a power of two"), "{told:?}");
}

fn at_submit(host: Host, plugin: Plugin, partition: Record) {
    let message = Record::new(host.release, "job_desc_msg");
    let refused = host.release.constant("ESLURM_INVALID_GRES").cast_signed();
    host.set("default_part_loc", partition.address());
    let submit = |gres: &str, slurm_partition: Option<&str>, qos: Option<&str>| {
        ask(host, message, "tres_per_node", gres);
        for (member, name) in [("partition", slurm_partition), ("qos", qos)] {
            if let Some(name) = name {
                message.put(member, host.text(name));
            }
        }
        let (code, told) = job_submit(host, plugin.wanted("job_submit"), message);
        assert_eq!(code, if message.text("tres_per_node").unwrap().ends_with(gres) { refused } else { 0 });
        told.unwrap()
    };
    for (slurm_partition, qos, line) in [
        (None, None, "vipu: a job in Slurm partition ipu gets at most 32 IPUs of pod64; "),
        (Some("other"), Some("HIGH"), "vipu: a job of QOS high gets at most 16 IPUs of pod64; "),
        (Some("cpu"), None, "vipu: no node of Slurm partition cpu has IPUs; try ipu"),
        (Some("other,ipu"), Some("low,high"), "vipu: a job of QOS high gets at most 16 IPUs of pod64; "),
    ] {
        let told = submit("vipu:pod64:64", slurm_partition, qos);
        assert!(told.starts_with(line), "{told}");
    }
    let told = submit("vipu:pod64:3", None, None);
    assert_eq!(told, "vipu: 3 IPUs are rounded up to 4, as partitions have 1, 2, 4 ... IPUs");
}

fn at_a_change(host: Host, plugin: Plugin, job: Record) {
    let message = Record::new(host.release, "job_desc_msg");
    let mut option = [host.text("_SLURM_SPANK_OPTION_spank_ipuof_ipu_gcds=4")];
    job.put("spank_job_env", option.as_mut_ptr());
    job.put("spank_job_env_size", 1_u32);
    let refused = host.release.constant("ESLURM_INVALID_GRES").cast_signed();
    for (member, words, code, line) in [
        ("tres_per_node", "vipu:pod64:2", refused, "vipu: --ipu-gcds=4: 2 IPUs cannot be divided into"),
        ("tres_per_node", "vipu:pod64:16", refused, "vipu: a job of QOS low gets at most 8 IPUs of pod64"),
        ("tres_per_node", "vipu:pod64:7", 0, "vipu: 7 IPUs are rounded up to 8"),
        ("qos", "other", 0, ""),
    ] {
        ask(host, message, member, words);
        let (answer, told) = host.job_modify(plugin.wanted("job_modify"), message, job);
        assert_eq!(answer, code, "{words}: {told:?}");
        // 22.05 has no place for an answer.
        if host.release.series > 2205 {
            let told = told.unwrap_or_default();
            assert!(told.starts_with(line) && told.is_empty() == line.is_empty(), "{words}: {told}");
        }
    }
    job.put("spank_job_env", std::ptr::null_mut::<std::ffi::c_void>());
    job.put("spank_job_env_size", 0_u32);
}
