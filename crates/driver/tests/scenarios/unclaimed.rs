//! Partitions without a job: late ones of this cluster, and unknown ones.

use crate::script::scenarios;

scenarios! {
    /// The partition counts as this cluster's until it is removed, and no longer.
    a_partition_that_a_create_makes_late_is_removed "
        next create = late-300
        create 1 -> started 1
        cancel 1 -> cancelled 1
        remove 1 -> gone 1
        count 0 journal gone 1
        pass 310
        there 1
        next remove = lost wrong*30
        unclaimed 1
        pass 1800
        there
        count 1 journal gone 1
        put 1
        unclaimed 1
        pass 1800
        there 1"

    /// One try is made for each demand.
    what_an_administrator_frees_is_removed "
        put 1
        next remove = wrong
        foreign 1
        pass 100
        there 1
        foreign 1
        pass 10
        there"

    /// The name was given to a job since.
    what_a_job_has_is_not_freed "
        create 1 -> up 1
        foreign 1
        pass 10
        there 1"

    /// Each of many reconfigures reports the partition again.
    repeated_reports_start_only_one_removal "
        next remove = wrong*1000
        configure unknown=1
        put 1
        unclaimed 1
        unclaimed 1
        unclaimed 1
        pass 1000
        count 10..100 call remove 1"

    /// The controller did not have the partition when it was to be removed.
    what_a_create_may_still_make_is_withheld_for_ten_minutes_after_its_removal "
        next create = lost
        create 1 -> started 1
        cancel 1 -> cancelled 1
        forget
        remove 1 -> gone 1
        log * journal remove 1 | call status 1 | gone 1 | journal withheld 1 until 600
        pass 590
        count 0 journal gone 1
        pass 20
        count 1 journal gone 1"

    /// The ten minutes of an earlier slurmctld go on. Nobody is asked about the partition.
    what_an_earlier_slurmctld_has_removed_is_not_removed_again "
        record 1 /old withheld
        forget
        pass 590
        log *
        create 1 -> put off 1: …
        pass 20
        count 1 journal gone 1
        count 0 call remove…"

    /// INTERNAL is an answer, too. The answer of the last create is in the journal.
    a_create_that_was_answered_with_an_error_leaves_nothing "
        configure retries=3
        next create = error*4
        create 1 -> failed 1: partition slurm_1 failed 4 times: …
        forget
        remove 1 -> gone 1
        log * journal remove 1 | call status 1 | journal gone 1 | gone 1"

    /// It is known by its launch, by a listing, or when it is removed. No create of it can come late.
    a_partition_that_an_earlier_slurmctld_made_leaves_nothing "
        each STAGE: creating, launched, created
        record 1 /old STAGE
        put 1
        pass 5
        remove 1 -> gone 1
        there
        count 1 journal gone 1"

    /// Its run was launched, and an earlier slurmctld removed it without an entry.
    a_partition_that_was_made_and_is_gone_leaves_nothing "
        record 1 /old launched
        remove 1 -> gone 1
        count 1 journal gone 1"

    /// Its files are written anew, because they may not be durable.
    a_running_jobs_partition_is_on_record_when_its_files_are_written_anew "
        record 1 /old creating
        put 1
        refresh 1
        pass 5
        count 1 journal created 1"

    /// A partition that a create made after a crash of its slurmctld is this cluster's too.
    a_late_partition_of_an_earlier_slurmctld_is_removed "
        each STAGE: creating, unanswered
        record 1 /old STAGE
        remove 1 -> gone 1
        pass 100
        put 1
        unclaimed 1
        pass 10
        there"

    /// The answer of the create was lost, but the partition was seen. The call has no further effect.
    a_call_whose_effect_was_seen_is_not_waited_for "
        next create = unclear
        create 1 -> up 1
        count 1 call create 1
        remove 1 -> gone 1
        count 1 journal gone 1"

    /// The first of two calls can make its partition long after the partition of the second is gone. A
    /// slurmctld that opens the journal by then has to know of it.
    an_unanswered_call_stays_on_record_after_another_was_answered "
        next create = late-300
        create 1 -> up 1
        count 0 journal created 1"

    a_partition_of_that_name_on_another_controller_is_foreign "
        configure hosts=vipu,b
        next create = late-300
        create 1 -> started 1
        cancel 1 -> cancelled 1
        remove 1 -> gone 1
        put 1 on b
        unclaimed 1 on b
        pass 10
        there on b 1"

    /// An earlier version gave one partition id to both jobs when a killed slurmctld gave out a job id twice.
    a_partition_of_an_earlier_job_is_removed_where_it_is_and_not_taken "
        record 1 /old created
        configure hosts=vipu,b
        put 1
        create 1 later 60 on b -> put off 1: …
        remove 1 later 60 on b -> gone 1
        there
        there on b
        count 1 files of 1 off /old"

    nothing_is_made_under_an_id_whose_create_may_come_late "
        next create = late-10
        create 1 -> started 1
        cancel 1 -> cancelled 1
        remove 1 -> gone 1
        create 1 -> put off 1: …
        count 1 call create 1"

    /// The end of a job with its name does not remove the partition either, because the journal does not have
    /// it.
    an_unknown_partition_is_left_alone_unless_configured_otherwise "
        put 1
        unclaimed 1
        remove 1 -> gone 1
        pass 600
        there 1
        count 0 call remove 1
        configure unknown=1
        unclaimed 1
        pass 10
        there"

    an_unclaimed_partition_is_not_removed_under_a_job_that_has_just_got_its_id "
        configure unknown=1
        create 1
        unclaimed 1
        -> up 1
        pass 10
        there 1
        count 0 call remove 1"
}
