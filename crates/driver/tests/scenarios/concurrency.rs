//! Many partitions at once.

use crate::script::scenarios;

scenarios! {
    creates_take_the_time_of_one_unless_fewer_are_configured_at_once "
        create 1-32 -> up 1-32 at 2..2.12
        configure creates=8
        zero
        create 33-64 -> up 33-64 at 8..8.48"

    who_began_first_is_asked_for_first "
        journal delay of 1 = 0.5
        journal delay of 2 = 0.25
        create 1-3 -> up 1-3 at 2..3
        log call create* 1 | 2 | 3"

    who_hangs_is_not_waited_for "
        journal delay of 1 = 100
        create 1-3
        -> up 2-3 at 2..103
        -> up 1 at 100..103"

    files_that_hang_hold_up_nobody_else "
        files of 1 = hang
        configure creates=1
        create 1 -> started 1
        create 2 -> up 2
        remove 2 -> gone 2 at 0..6
        -> failed 1: partition slurm_1 not made within 300 s: its IPUoF files are still being written to /ipuof at 300"

    orders_for_one_partition_wait_for_each_other "
        create 1
        remove 1
        -> up 1
        -> gone 1
        log journal* create 1 | created 1 | remove 1 | gone 1
        there"
}
