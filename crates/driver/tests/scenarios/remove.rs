//! Removes are never given up. Partitions of failed runs stay for a while.

use crate::script::scenarios;

scenarios! {
    each_step_waits_for_the_one_before "
        create 1 -> up 1
        forget
        zero
        remove 1 -> gone 1 at 1.3..1.34
        log * journal remove 1 | call remove 1 | call status 1 | files of 1 off /ipuof | journal gone 1 | gone 1"

    /// The name and IPUs of a partition are not free while the controller shows it, but it may show it for
    /// ever. After a minute the IPUs no longer count as used.
    a_partition_shown_as_removed_is_gone_within_a_minute "
        removed time = 3600
        create 1 -> up 1
        zero
        remove 1 -> gone 1 at 61..63
        count 1 call remove 1
        pass 30
        forget
        survey
        pass 1
        count 1 listing of vipu asked…:"

    /// Each partition needs all IPUs, and is asked for when the one before it is gone. A create takes 2 s and
    /// a remove 1 s. Each partition is shown as removed for 0.3 s.
    the_next_create_finds_room "
        create 1 of 64 -> up 1
        remove 1 of 64 -> gone 1
        create 2 of 64 -> up 2
        remove 2 of 64 -> gone 2
        create 3 of 64 -> up 3
        remove 3 of 64 -> gone 3 at 9.9..10.2
        count 0 no room…"

    /// Tries are at most 30 s apart, and at the end at least 15 s.
    a_remove_is_tried_until_it_succeeds "
        next remove = lost*50
        create 1 -> up 1
        remove 1 -> gone 1 at 600..1500
        count 51 call remove 1
        there"

    /// A later slurmctld must not give the id again while the remove call may still take effect.
    after_a_remove_that_nobody_answered_the_id_stays_on_record_for_a_while "
        next remove = lost
        create 1 -> up 1
        remove 1 -> gone 1
        pass 590
        count 0 journal gone 1
        pass 20
        count 1 journal gone 1"

    force_is_used_when_configured_and_from_then_on "
        next remove = wrong*1000
        create 1 -> up 1
        remove 1
        pass 300
        there 1
        configure force=1 -> gone 1
        count 1 call remove 1 by force"

    a_model_without_configuration_is_waited_for "
        create 1 -> up 1
        unconfigure
        remove 1
        pass 300
        configure -> gone 1 at 302..340"

    files_are_deleted_where_they_were_written_after_a_change_of_directory "
        each NOW: /elsewhere, none
        create 1 -> up 1
        configure dir=NOW
        remove 1 -> gone 1
        count 1 files of 1 off /ipuof"

    a_partition_without_files_is_made_and_removed_as_others_are "
        configure dir=none
        create 1 -> up 1
        count 1 journal created 1
        remove 1 -> gone 1
        there
        count 0 files…"

    a_partition_of_an_earlier_slurmctld_is_removed_with_its_files "
        record 1 /old created
        put 1
        remove 1 -> gone 1
        there
        count 1 files of 1 off /old"

    files_move_with_their_directory "
        record 1 /old creating
        create 1 -> up 1
        count 1 files of 1 off /old
        remove 1 -> gone 1
        count 1 files of 1 off /ipuof"

    files_of_an_earlier_slurmctld_are_deleted_even_if_none_can_be_written_now "
        record 1 /ipuof creating
        files = cannot open directory /ipuof
        create 1
        pass 1
        cancel 1 -> cancelled 1
        remove 1 -> gone 1
        files =
        pass 60
        count 1 files of 1 off /ipuof"

    a_missing_partition_is_gone_at_once "
        remove 1 -> gone 1 at 0"

    /// The owner of the foreign partition removes it. The driver then forgets what it knew of the name.
    the_same_name_can_be_used_again "
        put 1
        create 1 -> failed 1: …
        remove 1 -> gone 1
        take 1
        pass 2
        create 1 -> up 1
        remove 1 -> gone 1
        there"

    user_keep_is_on_record_before_it_is_reported "
        create 1 -> up 1
        forget
        keep 1 until 100 -> kept 1
        remove 1 -> gone 1
        log * journal kept 1 until 100 | kept 1 | journal remove 1 | …"

    user_keep_of_an_unknown_partition_is_only_answered "
        keep 1 until 100 -> kept 1
        count 0 journal…"

    /// A pause between two tries would take up to half a minute.
    a_removal_goes_on_as_soon_as_its_controller_answers_again "
        create 1 -> up 1
        next survey = lost*20
        next remove = unsent*11
        zero
        survey
        remove 1
        -> gone 1 at 100..103"
}
