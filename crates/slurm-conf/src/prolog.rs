//! The origin of the variables that Prolog has.

use crate::SlurmConf;

/// The words of PrologFlags with which slurmd waits for slurmctld's order to run Prolog, in all releases that know them.
const WITH_ALLOC: [&str; 6] = ["Alloc", "Contain", "ForceRequeueOnFail", "NoHold", "RunInJob", "X11"];

/// The first release in which `DeferBatch` has this effect, too.
const DEFER_BATCH: (&str, u32) = ("DeferBatch", 0x1a_05_00);

impl SlurmConf {
    /// Whether there is a Prolog with the variables that srun sends. slurmd runs it for srun's first step on a node if
    /// no word of PrologFlags has it wait for slurmctld. `release` is Slurm's `SLURM_VERSION_NUMBER`.
    pub fn prolog_hears_srun(&self, release: u32) -> bool {
        let has_alloc = |word: &str| {
            WITH_ALLOC.iter().any(|known| word.eq_ignore_ascii_case(known))
                || word.eq_ignore_ascii_case(DEFER_BATCH.0) && release >= DEFER_BATCH.1
        };
        let flags = self.value("PrologFlags").unwrap_or_default();
        self.line("Prolog").is_some() && !flags.split(',').any(has_alloc)
    }
}
