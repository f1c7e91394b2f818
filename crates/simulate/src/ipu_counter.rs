//! A plugin that only counts: a job may start if it asks for no more IPUs than are free.

use ledger::KnownJobs;

use crate::controller::Controller;
use crate::{Job, Scheduler, Verdict};

/// A scheduler that counts IPUs. If the controller nevertheless finds no block, the job goes back into the
/// line, and the next pass tries it again.
#[derive(Debug)]
pub struct IpuCounter {
    free: u32,
    controller: Controller,
}

impl IpuCounter {
    pub fn new(ipus: u32, controller: Controller) -> Self {
        Self { free: ipus, controller }
    }
}

impl Scheduler for IpuCounter {
    fn start(&mut self, job: &Job, _moment: &KnownJobs) -> Verdict {
        if job.size > self.free {
            return Verdict::Waits;
        }
        if !self.controller.create(job.id, job.size, &[]) {
            return Verdict::Refused;
        }
        self.free -= job.size;
        Verdict::Starts
    }

    fn end(&mut self, job: &Job) {
        self.controller.remove(job.id);
        self.free += job.size;
    }
}
