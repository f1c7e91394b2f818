//! Creates, one and many at once, with failures and interruptions.

use crate::script::scenarios;

scenarios! {
    each_step_waits_for_the_one_before "
        create 1 -> up 1 at 2..2.12
        log * call status 1 | journal create 1 | started 1 | call create 1 | call status 1 | call config 1 | files of 1 to /ipuof for 1001 | journal created 1 | up 1"

    a_call_that_never_arrived_is_made_again "
        next create = lost*2
        create 1 -> up 1
        log call* status 1 | create 1 | status 1 | create 1 | status 1 | create 1 | status 1 | config 1"

    /// Nothing was made, and the driver looks for nothing. The job gets its partition if an administrator
    /// corrects the access key in time.
    a_refusal_of_our_credentials_is_not_the_jobs_fault "
        next create = stranger*2
        create 1 -> up 1
        log call* status 1 | create 1 | create 1 | create 1 | …"

    /// The second call meets the partition that the first call made after all.
    an_existing_partition_of_ours_is_adopted "
        call time = 1
        next create = late-1.7
        create 1 -> up 1
        count 2 call create 1
        count 0 call remove 1"

    /// Slurm changes the start of a run while nodes are powered up. It saves the start of a bound run before
    /// the journal has it.
    a_partition_of_the_journal_is_found_by_its_id_with_any_start_of_its_run "
        each START: 1700000000, 1600000000, -1600000000
        record 1 /old creating START
        put 1
        create 1 -> up 1
        count 0 call create 1
        count 0 call remove 1"

    /// The driver looks for the partition first, because after an intent in the journal and a lost reply it
    /// would look like ours. A later slurmctld does not take it for ours either.
    a_partition_of_others_is_neither_taken_nor_removed "
        put 1
        pass 3
        create 1 -> failed 1: controller vipu:8090: partition slurm_1: there is one of this id: this cluster's journal does not have it; the administrator removes it, or sets another PartitionPrefix
        count 0 call create 1
        remove 1 -> gone 1
        there 1
        count 0 journal…"

    /// The name stays taken for a while after another cluster has removed its partition.
    a_partition_of_others_on_its_way_out_is_waited_for "
        put 1
        take 1
        create 1 -> up 1 at 3.3..3.45
        count 1 call create 1"

    /// A partition of this name appears only after the driver has looked for one.
    a_create_is_tried_again_when_its_name_is_taken_for_a_moment "
        call time = 1
        create 1
        pass 1.5
        put 1
        take 1
        -> up 1
        count 2 call create 1"

    /// The call cannot take effect: no journal entry stays, and nothing is watched for.
    a_call_that_was_never_sent_leaves_nothing "
        next create = unsent*100
        create 1 -> failed 1: …NotSent
        remove 1 -> gone 1
        log journal* create 1 | gone 1
        count 0 call remove 1"

    /// The refusal leaves nothing to remove, even if another cluster has a partition of that name.
    a_refusal_is_final "
        next create = refused
        create 1 -> failed 1: controller vipu:8090: Refused at 0
        remove 1 -> gone 1
        log * call status 1 | journal create 1 | started 1 | call create 1 | journal gone 1 | failed 1: controller vipu:8090: Refused | gone 1"

    /// After a clean refusal there is nothing to look for.
    no_room_waits_for_room_and_has_the_controller_surveyed "
        -> listing…
        pass 1
        next create = full*3
        create 1 -> listing… at 1
        -> up 1
        count 3 no room 1
        log call* status 1 | create 1 | create 1 | create 1 | create 1 | …"

    a_create_of_fifteen_minutes_is_waited_for "
        make time = 900
        configure timeout=1200
        create 1 -> up 1 at 900..905
        count 1 call create 1"

    a_stuck_create_ends_at_the_timeout_with_the_last_words_and_sooner_for_a_job_that_waits "
        next create = stuck*2
        create 1 -> failed 1: partition slurm_1 not made within 300 s: the controller is still making it at 300
        zero
        create 2 waiting -> failed 2: partition slurm_2 not made within 150 s: the controller is still making it at 150"

    a_timeout_names_earlier_failures_too "
        next create = wrong stuck
        create 1 -> failed 1: …still making it; before: try 1: …it went into error…"

    a_found_partition_does_not_count_for_the_usual_time_of_creates "
        next create = unclear slow-6
        create 1 -> up 1
        create 2 -> up 2
        count 1 told job 2, in squeue: vipu: creating partition slurm_2: 1 IPU on pod64, 10 s
        count 0 told job 2, in squeue: vipu: creating partition slurm_2: 1 IPU on pod64, 10 s, usually…"

    /// Tries are 5 s to 10 s apart at the end, and closer at the beginning.
    a_create_without_room_ends_at_the_timeout_with_the_controllers_words "
        next create = full*1000
        create 1 -> failed 1: partition slurm_1 not made within 300 s: controller vipu:8090: NoRoom at 300
        count 30..70 call create 1"

    /// The status call before the remove is not in the log, because it repeats the last poll.
    a_partition_in_error_is_cleared_away_and_made_again "
        next create = wrong
        create 1 -> up 1
        log call* status 1 | create 1 | status 1 | remove 1 | status 1 | create 1 | status 1 | config 1"

    /// The remove call may still remove the next partition that is made under this id.
    after_a_remove_that_nobody_answered_nothing_more_is_made_under_the_id "
        next create = wrong
        next remove = lost
        create 1 -> put off 1: …may still take effect… at 0..10
        count 1 call create 1"

    /// An earlier slurmctld may have sent a remove call that nobody answered.
    a_partition_under_removal_is_not_used_again "
        each STAGE: removing, unanswered
        record 1 /old STAGE
        put 1
        create 1 -> put off 1: …"

    a_create_that_does_not_get_its_turn_ends_in_time_too "
        next create = stuck
        configure creates=1
        create 2 -> started 2
        create 1 waiting -> put off 1: partition slurm_1 could not be asked for within 150 s: other calls are under way at 150"

    a_configuration_that_does_not_come_is_asked_for_again "
        next config = lost*2
        create 1 -> up 1
        count 3 call config 1
        count 1 call create 1"

    /// The removal must not wait until the model has a controller again.
    a_model_that_is_not_configured_is_named "
        unconfigure
        create 1 -> failed 1: model pod64 is not configured
        remove 1 -> gone 1 at 0"

    a_user_at_a_terminal_is_told_of_the_create_and_again_when_it_is_late "
        next create = slow-1 slow-6
        create 1 -> up 1
        create 2 -> up 2
        log told job 1* : vipu: creating partition slurm_1: 1 IPU on pod64
        log told job 2* : vipu: creating partition slurm_2: 1 IPU on pod64 | : vipu: creating partition slurm_2: 1 IPU on pod64, 5 s, usually 2.1 s | , in squeue: vipu: creating partition slurm_2: 1 IPU on pod64, 10 s, usually 2.1 s"
}

// Many partitions at once.
scenarios! {
    creates_run_at_once_up_to_the_configured_number "
        create 1-32 -> up 1-32 at 2..2.12
        configure creates=8
        zero
        create 33-64 -> up 33-64 at 8..8.48"

    creates_that_wait_together_share_their_looks "
        make time = 20
        create 1-64
        pass 1
        count 64 call create…
        count 128 call status…
        count 40..60 call pending
        -> up 1-64 at 20..22
        count 192 call status…"

    creates_are_sent_in_the_order_of_their_orders "
        journal delay of 1 = 0.5
        journal delay of 2 = 0.25
        create 1-3 -> up 1-3 at 2..3
        log call create* 1 | 2 | 3"

    a_create_that_hangs_delays_no_other "
        journal delay of 1 = 100
        create 1-3
        -> up 2-3 at 2..103
        -> up 1 at 100..103"

    files_that_hang_delay_no_other_partition "
        files of 1 = hang
        configure creates=1
        create 1 -> started 1
        create 2 -> up 2
        remove 2 -> gone 2 at 0..6
        -> failed 1: partition slurm_1 not made within 300 s: its IPUoF files are still being written to /ipuof at 300"

    orders_for_one_partition_run_one_after_the_other "
        create 1
        remove 1
        -> up 1
        -> gone 1
        log journal* create 1 | created 1 | remove 1 | gone 1
        there"
}
