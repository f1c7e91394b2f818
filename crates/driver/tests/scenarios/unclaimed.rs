//! Partitions that no job has: late ones of ours, and those of which nobody knows.

use crate::script::scenarios;

scenarios! {
    /// Ours stays ours until it is removed, and no longer.
    what_a_create_makes_late_is_removed "
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

    /// As at each of many reconfigures.
    what_cannot_be_removed_is_tried_by_one "
        next remove = wrong*1000
        configure unknown=1
        put 1
        unclaimed 1
        unclaimed 1
        unclaimed 1
        pass 1000
        count 10..100 call remove 1"

    /// What a create cut off by a crash makes is ours as well.
    so_is_what_an_earlier_slurmctld_asked_for "
        each STAGE: creating, given-up
        record 1 /old STAGE
        remove 1 -> gone 1
        pass 100
        put 1
        unclaimed 1
        pass 10
        there"

    /// The call was lost, the partition was seen: nothing more can come of it.
    an_effect_that_was_seen_is_not_waited_for "
        next create = unclear
        create 1 -> up 1
        count 1 call create 1
        remove 1 -> gone 1
        count 1 journal gone 1"

    /// Two calls, and what the first one makes comes when the partition of the second is long gone: whoever
    /// opens the journal by then has to know of it.
    a_call_that_was_never_answered_is_on_record_though_another_was "
        next create = late-300
        create 1 -> up 1
        count 0 journal created 1"

    one_of_that_name_on_another_controller_is_somebody_elses "
        configure hosts=vipu,b
        next create = late-300
        create 1 -> started 1
        cancel 1 -> cancelled 1
        remove 1 -> gone 1
        put 1 on b
        unclaimed 1 on b
        pass 10
        there on b 1"

    /// An earlier version gave one id to both jobs when a killed slurmctld handed out a job id twice.
    what_an_earlier_job_has_is_removed_where_it_is_and_not_taken "
        record 1 /old created
        configure hosts=vipu,b
        put 1
        create 1 later 60 on b -> put off 1: …
        remove 1 later 60 on b -> gone 1
        there
        there on b
        count 1 files of 1 off /old"

    under_an_id_that_may_come_late_nothing_is_made "
        next create = late-10
        create 1 -> started 1
        cancel 1 -> cancelled 1
        remove 1 -> gone 1
        create 1 -> put off 1: …
        count 1 call create 1"

    /// Nor does the end of a job that has it by name, but not by the journal, remove it.
    what_nobody_knows_is_left_alone_unless_the_site_says_otherwise "
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

    it_is_not_removed_under_a_job_that_has_just_got_the_id "
        configure unknown=1
        create 1
        unclaimed 1
        -> up 1
        pass 10
        there 1
        count 0 call remove 1"
}
