//! Partitions of a pool, which are given to runs, and never made for one or removed.

use crate::script::scenarios;

scenarios! {
    mode_pool_partition_is_given_to_a_run_and_comes_back "
        configure pool=slurm*
        put 1
        pass 5
        forget
        reuse-reset 2 id 1 -> up 1
        log * call reset 1 | call status 1 | journal create 1 | started 1 | call status 1 | call config 1 | files of 1 to /ipuof for 1002 | reused 1 after 1 | journal created 1 | up 1
        forget
        idle-reset 2 id 1 -> idle 1
        count 1 journal gone 1
        forget
        remove 2 id 1 -> gone 1
        log * journal gone 1 | gone 1
        there 1
        files"

    mode_pool_partition_that_cannot_be_reset_stays_as_it_is "
        configure pool=slurm*
        put 1
        pass 5
        next reset = wrong
        reuse-reset 2 id 1 -> put off 1…
        remove 2 id 1 -> gone 1
        there 1"

    /// The late call would hit a job.
    mode_pool_partition_is_given_to_no_run_while_a_reset_may_come_late "
        configure pool=slurm*
        put 1
        pass 5
        next reset = lost
        reuse-reset 2 id 1 -> put off 1…
        remove 2 id 1 -> gone 1
        reuse-reset 3 id 1 -> put off 1…
        remove 3 id 1 -> gone 1
        pass 700
        reuse-reset 4 id 1 -> up 1"

    mode_pool_partition_that_somebody_removed_is_not_made_for_a_run "
        configure pool=slurm*
        put 1
        pass 5
        take 1
        reuse 2 id 1 -> put off 1…
        count 0 call create…
        count 0 call remove…"

    mode_pool_partition_of_an_earlier_slurmctld_is_not_removed "
        each SETTING: none, slurm*
        record 1 /ipuof created-in-pool
        configure pool=SETTING
        put 1
        pass 5
        remove 1 -> gone 1
        there 1
        files"

    /// A job from before the pool has a partition of its own, which goes.
    mode_pool_partition_stays_when_the_pool_begins_and_ends_while_jobs_run "
        create 3 -> up 3
        configure pool=slurm_1
        put 1
        pass 5
        reuse-reset 2 id 1 -> up 1
        remove 3 -> gone 3
        there 1
        configure pool=none
        create 4 -> up 4
        idle-reset 2 id 1 -> idle 1
        remove 2 id 1 -> gone 1
        there 1 4
        count 0 call remove 1"

    mode_pool_partition_of_an_earlier_slurmctld_is_given_again "
        record 1 /ipuof created-in-pool
        configure pool=slurm*
        put 1
        pass 5
        remove 1 -> gone 1
        reuse-reset 2 id 1 -> up 1"

    /// Its script may run.
    mode_pool_partition_is_not_reset_for_the_run_that_has_it_in_the_journal "
        record 1 /ipuof created-in-pool
        configure pool=slurm*
        put 1
        pass 5
        reuse-reset 1 -> up 1
        count 0 call reset 1"

    mode_pool_partition_whose_job_an_earlier_slurmctld_began_is_reset_at_its_end "
        record 1 /ipuof created-in-pool
        configure pool=slurm*
        put 1
        pass 5
        idle-reset 1 -> idle 1
        files"

    /// Processes of its job may be left. The entry is written before the one of the removal.
    mode_pool_partition_is_withheld_for_the_time_in_the_journal "
        configure pool=slurm*
        put 1
        pass 5
        reuse 2 id 1 -> up 1
        forget
        withhold 2 id 1 until 500
        remove 2 id 1 -> gone 1
        log * journal withheld in pool 1 until 505 | files of 1 off /ipuof | gone 1
        pass 490
        count 0 journal gone 1
        pass 20
        count 1 journal gone 1
        reuse 3 id 1 -> up 1"

    mode_pool_partition_that_an_earlier_slurmctld_withholds_keeps_its_time "
        record 1 /old withheld-in-pool
        configure pool=slurm*
        put 1
        pass 5
        count 1 files of 1 off /old
        pass 590
        count 0 journal gone 1
        pass 10
        count 1 journal gone 1
        there 1"

    /// The next slurmctld gives it to jobs, too.
    mode_pool_partition_that_an_administrator_frees_is_withheld_no_longer "
        record 1 /old withheld-in-pool
        configure pool=slurm*
        put 1
        pass 5
        end-withheld 1
        pass 1
        count 1 journal gone 1
        reuse 3 id 1 -> up 1
        pass 600
        count 1 journal gone 1"

    /// Its new time counts, not the one that was ended.
    mode_pool_partition_is_withheld_again_after_it_was_freed "
        configure pool=slurm*
        put 1
        pass 5
        reuse 2 id 1 -> up 1
        withhold 2 id 1 until 500
        remove 2 id 1 -> gone 1
        end-withheld 2 id 1
        pass 95
        reuse 3 id 1 -> up 1
        withhold 3 id 1 until 500
        remove 3 id 1 -> gone 1
        forget
        pass 490
        count 0 journal gone 1
        pass 20
        count 1 journal gone 1"

    mode_pool_partition_is_not_freed_as_a_foreign_one "
        configure pool=slurm*
        put 1
        pass 5
        foreign 1
        pass 5
        there 1"

    mode_pool_partitions_are_made_if_they_are_missing "
        next create = lost
        configure pool=4x2,1x1
        pass 60
        there own_pod64_1_1 own_pod64_4_1 own_pod64_4_2
        count 4 call create…"

    /// After a create that succeeds, the next survey comes at once.
    mode_pool_partition_that_is_refused_keeps_no_other_from_being_made "
        next create = refused
        configure pool=4x2
        pass 5
        there own_pod64_4_1 own_pod64_4_2"
}
