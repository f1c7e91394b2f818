//! Many partitions at once.

use crate::script::scenarios;

scenarios! {
    creates_run_at_once_up_to_the_configured_number "
        create 1-32 -> up 1-32 at 2..2.12
        configure creates=8
        zero
        create 33-64 -> up 33-64 at 8..8.48"

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
