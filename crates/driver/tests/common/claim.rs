//! Test data: a claim of one IPU for the first run of a job.

use ledger::Claim;
use vipu_types::{IpuCount, JobRun, ModelName, PartitionId, PodId, Shape};

pub fn claim(job: u32) -> Claim {
    let PodId { model, controller } = pod();
    Claim {
        partition: id(job),
        run: JobRun { job, restart: 0, start: 1_700_000_000 },
        task: None,
        user: 1000 + job,
        model,
        controller,
        size: IpuCount::ONE,
        shape: Shape::default(),
        slurm_partition: None,
        ipus: vec![],
        nodes: vec![],
    }
}

pub fn id(job: u32) -> PartitionId {
    PartitionId::of_run("slurm", job, 0).unwrap()
}

pub fn pod() -> PodId {
    PodId { model: ModelName::new("pod64").unwrap(), controller: "vipu:8090".parse().unwrap() }
}
