//! The files of a partition after its job was launched.

use crate::script::scenarios;

scenarios! {
    /// A disk may take long to make them durable. The entry in the journal comes after that.
    no_job_waits_until_its_files_are_durable "
        flush time = 30
        create 1 -> up 1 at 2..2.12
        count 0 journal created 1
        pass 31
        count 1 journal created 1"

    /// The next flush may succeed after a failed one, although the content is lost.
    files_that_a_disk_has_lost_are_written_anew "
        next flush = lost*2
        create 1 -> up 1
        pass 5
        files 1
        count 3 files of 1 to /ipuof for 1001
        count 1 journal created 1"

    /// Otherwise files would appear that nobody deletes.
    a_removal_ends_that "
        next flush = lost*50
        create 1 -> up 1
        pass 60
        remove 1 -> gone 1
        pass 3600
        files
        count 0 journal created 1"

    /// An earlier slurmctld ended before they were durable.
    files_that_may_be_lost_are_written_anew_when_the_controller_answers "
        record 1 /ipuof creating 1700000000
        put 1
        next config = unsent*3
        refresh 1
        pass 5
        count 1 files of 1 to /ipuof for 1001
        files 1"

    a_run_that_ends_meanwhile_leaves_no_files "
        record 1 /ipuof creating 1700000000
        put 1
        next config = unsent*50
        refresh 1
        pass 5
        remove 1 -> gone 1
        pass 3600
        files
        count 0 files of 1 to /ipuof for 1001"
}
