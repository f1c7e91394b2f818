//! One partition that all jobs share, which is there before them and stays after them.

use crate::script::scenarios;

scenarios! {
    /// Until the administrator has made it, and while somebody removes it, no job can have it.
    mode_shared_partition_that_is_missing_is_the_reason "
        configure shared=slurm_9
        -> away vipu: controller vipu:8090: partition slurm_9, which all jobs share: there is none of this name
        put 9
        survey -> listing…
        take 9
        survey -> away vipu: controller vipu:8090: partition slurm_9, which all jobs share: somebody is removing it"

    mode_shared_partition_is_given_to_jobs_and_stays "
        configure shared=slurm_9
        put 9
        pass 5
        forget
        create 1-2 -> up 1-2
        count 2 files of…
        count 0 call create…
        remove 1-2 -> gone 1-2
        count 0 call remove…
        count 0 call reset…
        there 9
        files"

    mode_shared_partition_stays_after_a_job_of_an_earlier_slurmctld "
        record 1 /ipuof created-in-pool
        configure shared=slurm_9
        put 9
        pass 5
        create 1 -> up 1
        remove 1 -> gone 1
        count 0 call create…
        count 0 call remove…
        there 9"

    /// The jobs of each mode run out beside those of the other.
    mode_shared_partition_stays_when_the_mode_ends_while_a_job_runs "
        create 1 -> up 1
        configure shared=slurm_9
        put 9
        pass 5
        create 2 -> up 2
        there 1 9
        remove 1 -> gone 1
        there 9
        configure shared=none
        create 3 -> up 3
        remove 2 -> gone 2
        count 0 call remove 9
        count 0 call remove 2
        there 3 9"
}
