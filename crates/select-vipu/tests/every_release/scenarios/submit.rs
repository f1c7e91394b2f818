//! `job_submit_vipu.so` after slurmctld has loaded `vipu_slurmctld.so`.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

use crate::cluster::gres;
use crate::host::{Host, text_at};
use crate::object::Plugin;
use crate::record::Record;

pub fn run(host: Host, plugin: Plugin, job: Record) {
    let (submit, modify) = (plugin.wanted("job_submit"), plugin.wanted("job_modify"));
    let message = Record::new(host.release, "job_desc_msg");
    message.put("het_job_offset", host.release.constant("NO_VAL"));
    let ask = |member: &str, words: &str| ask(host, message, member, words);
    let refused = host.release.constant("ESLURM_INVALID_GRES").cast_signed();

    ask("tres_per_node", "vipu:pod64");
    assert_eq!(job_submit(host, submit, message), (0, None));
    assert!(message.text("tres_per_node").unwrap().ends_with("vipu:pod64:1"));

    ask("tres_per_node", "vipu:pod64:3");
    let (code, told) = job_submit(host, submit, message);
    assert!(code == refused && told.as_deref().unwrap().contains("not a power of two"), "{code} {told:?}");
    let (code, told_at_modify) = host.job_modify(modify, message, job);
    assert_eq!(code, refused);
    if host.release.series > 2205 {
        assert_eq!(told_at_modify, told);
    }

    ask("tres_per_node", "gpu:1");
    for (option, told_or_kept) in [("ipus=32", "vipu:pod64:32"), ("ipus=two", "--ipus=two: a number of IPUs")]
    {
        // A user may send any number of other entries.
        let mut kept: Vec<_> = (0..20_000).map(|number| host.text(&format!("OTHER{number}=1"))).collect();
        kept.push(host.text(&format!("_SLURM_SPANK_OPTION_spank_ipuof_{option}")));
        message.put("spank_job_env_size", u32::try_from(kept.len()).unwrap());
        message.put("spank_job_env", kept.leak().as_mut_ptr());
        let (code, told) = job_submit(host, submit, message);
        let said = told.or_else(|| message.text("tres_per_node")).unwrap();
        assert!(said.contains(told_or_kept) && (code == refused) == said.contains("--ipus"), "{code} {said}");
    }

    drops_forged_entries(host, submit, message);

    for (member, what) in
        [("tres_per_job", "per job"), ("tres_per_task", "per task"), ("tres_per_socket", "per socket")]
    {
        ask(member, "vipu:1");
        let (code, told) = job_submit(host, submit, message);
        assert!(code == refused && told.as_deref().unwrap().contains(what), "{code} {told:?}");
    }
}

/// Checks that forged variables of Prolog and Epilog are removed, with IPUs and without: both forms, and entries of
/// which Slurm makes no variable of its own.
fn drops_forged_entries(host: Host, submit: *mut c_void, message: Record) {
    for gres in ["gpu:1", "vipu:pod64:4"] {
        ask(host, message, "tres_per_node", gres);
        let forged =
            ["SPANK_SLURM_VIPU_PARTITION=slurm_41", "SLURM_VIPU_PARTITION=slurm_41", "SLURM_VIPU_X="];
        let others = ["OWN=1", "SPANK_OWN=2", "no variable", "OTHER=3"];
        let sent: Vec<_> = forged.iter().chain(&others).map(|entry| host.text(entry)).collect();
        let sent = [sent, vec![null_mut()]].concat().leak();
        message.put("spank_job_env", sent.as_mut_ptr());
        message.put("spank_job_env_size", u32::try_from(sent.len()).unwrap());
        assert_eq!(job_submit(host, submit, message), (0, None));
        let left: Vec<_> = sent.iter().map(|entry| text_at(*entry)).collect();
        let own = ["SPANK_OWN=2", "OTHER=3"].map(|entry| Some(entry.to_owned()));
        assert_eq!((&left[..2], &left[2..]), (&own[..], &[const { None }; 6][..]));
        assert_eq!(message.get::<u32>("spank_job_env_size"), 2);
    }
}

/// Makes the message a request for these words alone.
pub fn ask(host: Host, message: Record, member: &str, words: &str) {
    let tres = ["tres_per_node", "tres_per_job", "tres_per_task", "tres_per_socket"];
    for none in tres.into_iter().chain(["partition", "qos", "reservation", "licenses"]) {
        message.put(none, null_mut::<c_char>());
    }
    message.put("script", host.text("#!/bin/sh"));
    message.put("spank_job_env", null_mut::<c_void>());
    message.put("spank_job_env_size", 0_u32);
    message.put(member, gres(host, words));
}

pub fn job_submit(host: Host, function: *mut c_void, message: Record) -> (c_int, Option<String>) {
    // SAFETY: job_submit has this type in every release.
    let function: unsafe extern "C" fn(*mut c_void, u32, *mut *mut c_char) -> c_int =
        unsafe { std::mem::transmute(function) };
    let mut told = null_mut();
    // SAFETY: the arguments are a message and a variable for the answer, under slurmctld's locks.
    let code = host.under_locks(|| unsafe { function(message.address(), 1000, &raw mut told) });
    (code, text_at(told))
}
