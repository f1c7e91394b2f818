//! Partitions that stay idle after their jobs, and are given to others.

use crate::script::scenarios;

scenarios! {
    a_partition_that_stays_loses_its_files_and_is_reset "
        create 1 -> up 1
        forget
        zero
        idle-reset 1 -> idle 1 at 2..2.12
        log * files of 1 off /ipuof | call reset 1 | call status 1 | stays 1 | idle 1
        there 1
        files"

    a_partition_is_given_to_another_job_with_new_files "
        create 1 -> up 1
        idle 1 -> idle 1
        forget
        zero
        reuse 2 id 1 -> up 1 at 0..0.1
        log * journal create 1 | started 1 | call status 1 | call config 1 | files of 1 to /ipuof for 1002 | reused 1 after 1 | journal created 1 | up 1
        count 0 call create…
        remove 2 id 1 -> gone 1"

    /// The journal has the new claim only after the reset.
    a_partition_is_reset_before_another_user_gets_it "
        create 1 -> up 1
        idle 1 -> idle 1
        forget
        zero
        reuse-reset 2 id 1 -> up 1 at 2..2.12
        log * call reset 1 | call status 1 | journal create 1 | started 1 | call status 1 | call config 1 | files of 1 to /ipuof for 1002 | reused 1 after 1 | journal created 1 | up 1"

    a_partition_whose_reset_fails_does_not_stay "
        create 1 -> up 1
        next reset = wrong
        idle-reset 1 -> not idle 1
        create 2 -> up 2
        next reset = lost
        idle-reset 2 -> not idle 2"

    a_partition_that_cannot_be_reset_is_made_anew "
        create 1 -> up 1
        idle 1 -> idle 1
        forget
        next reset = wrong
        reuse-reset 2 id 1 -> up 1
        log call * reset 1 | status 1 | remove 1 | status 1 | create 1 | status 1 | config 1
        count 0 reused…
        there 1"

    /// The call might hit a new partition of this id.
    a_partition_whose_reset_was_never_answered_is_not_made_anew "
        create 1 -> up 1
        idle 1 -> idle 1
        next reset = lost
        reuse-reset 2 id 1 -> put off 1…
        remove 2 id 1 -> gone 1
        count 0 journal gone 1"

    /// It is still under way, and might hit a new partition of this id.
    a_partition_whose_reset_takes_too_long_is_not_made_anew "
        reset time = 3600
        configure timeout=20
        create 1 -> up 1
        idle 1 -> idle 1
        zero
        reuse-reset 2 id 1 -> put off 1… at 10..11"

    /// The controller has answered the call, and may have put it into a queue.
    a_partition_whose_reset_was_not_seen_is_not_made_anew "
        reset time = 0
        create 1 -> up 1
        idle 1 -> idle 1
        reuse-reset 2 id 1 -> put off 1…
        remove 2 id 1 -> gone 1
        count 0 journal gone 1"

    a_partition_that_somebody_removed_is_made_anew "
        create 1 -> up 1
        idle 1 -> idle 1
        take 1
        pass 5
        reuse 2 id 1 -> up 1
        count 0 reused…
        there 1"

    a_partition_that_an_earlier_slurmctld_made_does_not_stay "
        record 1 /ipuof created
        put 1
        idle 1 -> not idle 1"

    a_partition_whose_create_was_never_answered_does_not_stay "
        next create = lost
        create 1 -> up 1
        idle 1 -> not idle 1"

    /// Each partition needs all IPUs.
    a_partition_is_asked_for_when_those_in_its_way_are_gone "
        create 1 of 64 -> up 1
        idle 1 of 64 -> idle 1
        zero
        remove 1 of 64
        create 2 of 64 after 1 -> gone 1 at 1.3..1.4
        log told job 2*, in squeue: vipu: creating partition slurm_2: 64 IPUs on pod64, waiting: idle partitions are being removed for it…
        pass 0 -> up 2 at 3.3..3.4
        count 0 no room…"

    /// The time limit of a create counts from its order. A removal that does not end delays no job for ever.
    a_partition_in_the_way_that_stays_puts_the_job_off "
        configure timeout=20
        create 1 of 64 -> up 1
        idle 1 of 64 -> idle 1
        next remove = wrong*1000
        zero
        remove 1 of 64
        create 2 of 64 after 1 -> put off 2… at 20..20.1"
}
