//! A job with IPUs whose data come into a burst buffer first.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use mock_vipu::{Effect, Fault, Rpc};
use testbed::{Account, Cluster, JobId, JobView, Settings, wait_until};
use vipu_client::Call;

use crate::LIMIT;
use crate::jobs::{brisk, cancel, gone, let_go, made, running_for, update, waits};

/// Data come in when a file `data` is beside the job's script. The step before the run begins by making `begun`, and ends
/// when there is `pass` or `fail`.
const LUA: &str = r#"
local function exists(path)
    local file = io.open(path)
    if file then file:close() end
    return file ~= nil
end
local function await(...)
    while true do
        for _, path in ipairs({...}) do
            if exists(path) then return end
        end
        os.execute("sleep 0.1")
    end
end
function slurm_bb_data_in(id, script) await(script .. ".data") return slurm.SUCCESS, "" end
function slurm_bb_pre_run(id, script)
    io.open(script .. ".begun", "w"):close()
    await(script .. ".pass", script .. ".fail")
    return exists(script .. ".fail") and slurm.ERROR or slurm.SUCCESS, "it fails"
end
local others = {"job_process", "pools", "job_teardown", "setup", "test_data_in", "real_size", "paths", "post_run",
    "data_out", "test_data_out", "get_status"}
for _, name in ipairs(others) do
    _G["slurm_bb_" .. name] = function() return slurm.SUCCESS, "" end
end
function slurm_bb_pools() return slurm.SUCCESS, '{"pools": []}' end
return slurm.SUCCESS
"#;

fn with_burst_buffers() -> Settings {
    // 22.05 and later want other pools.
    let settings = brisk().slurm_conf("BurstBufferType=burst_buffer/lua").expect_log("_bb_get_pools: ");
    settings.conf_file("burst_buffer.conf", "Directive=DW\n").conf_file("burst_buffer.lua", LUA)
}

/// A file of a job's burst buffer.
fn file(cluster: &Cluster, job: JobId, name: &str) -> PathBuf {
    let of_job = format!("hash.{}/job.{job}/script.{name}", job.0 % 10);
    cluster.layout().state().join(of_job)
}

fn make(cluster: &Cluster, job: JobId, name: &str) -> Result<()> {
    Ok(fs::write(file(cluster, job, name), "")?)
}

/// Submits a job for the whole Pod whose data come in first, and which goes before all others.
fn staged(cluster: &Cluster) -> Result<JobId> {
    let sbatch = cluster.sbatch_command("#DW\ntrue", &["--gres=vipu:pod64:64", "--time=60"])?;
    let job = cluster.submit(sbatch.account(&Account::named("nobody")?))?;
    update(cluster, job, &["Priority=4294900000"])?;
    waits(cluster, job, "BurstBufferStageIn")?;
    Ok(job)
}

#[test]
fn job_starts_when_its_burst_buffer_and_its_partition_are_ready() -> Result<()> {
    with_burst_buffers().run(|cluster| {
        let job = staged(cluster)?;
        let other = running_for(cluster, 64, 60, &[])?;
        make(cluster, job, "data")?;
        waits(cluster, job, "vipu: 64 IPUs of pod64 needed, 0 free")?;
        cluster.mock().inject(Fault::new(Effect::HeldReply { rpc: Some(Rpc(Call::CreatePartition)) }))?;
        let_go(cluster, other)?;
        // The burst buffer does not wait for the partition, nor the partition for the burst buffer.
        wait_until("its burst buffer to begin", LIMIT, || Ok(file(cluster, job, "begun").exists()))?;
        cluster.mock().clear()?;
        made(cluster, job, 64)?;
        make(cluster, job, "pass")?;
        // It shows STAGE_OUT first.
        cluster.await_job(job, "to end", LIMIT, |job| job.state == "COMPLETED").map(drop)
    })
}

#[test]
fn job_whose_burst_buffer_fails_leaves_no_partition() -> Result<()> {
    with_burst_buffers().expect_log("slurm_bb_pre_run ").run(|cluster| {
        let job = staged(cluster)?;
        make(cluster, job, "data")?;
        made(cluster, job, 64)?;
        make(cluster, job, "fail")?;
        let is_back = |job: &JobView| job.state == "PENDING" && job.reason.contains("pre_run");
        cluster.await_job(job, "to be back in the queue", LIMIT, is_back)?;
        gone(cluster, job, 0)?;
        running_for(cluster, 64, 60, &[])?;
        cancel(cluster, job)
    })
}
