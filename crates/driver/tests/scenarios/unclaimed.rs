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

    /// A partition that a create made after a crash of its slurmctld is this cluster's too.
    a_late_partition_of_an_earlier_slurmctld_is_removed "
        each STAGE: creating, given-up
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
