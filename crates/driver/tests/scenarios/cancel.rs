//! Creates that are cancelled at each of their stages: one answer, and nothing that a remove could miss.

use crate::script::scenarios;

scenarios! {
    while_waiting_for_a_slot "
        next create = stuck
        configure creates=1
        create 2 -> started 2
        create 1
        pass 1
        cancel 1 -> cancelled 1 at 1
        count 0 journal create 1"

    before_it_began "
        create 1
        cancel 1 -> cancelled 1 at 0
        count 0 call create 1"

    /// The answer waits for the status call and the create call, because the remove must find the partition.
    while_the_call_is_out "
        call time = 10
        create 1
        pass 11
        cancel 1 -> cancelled 1 at 20
        remove 1 -> gone 1
        pass 3600
        there"

    while_polling_and_between_two_tries "
        each WHAT: stuck, full
        next create = WHAT*100
        create 1
        pass 60
        cancel 1 -> cancelled 1 at 60
        remove 1 -> gone 1
        pass 3600
        there"

    /// The answer and the IPUs do not wait for the write. The deletion does: no file appears after it.
    while_files_are_written "
        write time = 30
        create 1
        pass 10
        cancel 1 -> cancelled 1 at 10
        remove 1 -> gone 1
        pass 3600
        there
        files
        count 1 files of 1 off /ipuof
        count 1 gone 1"

    when_it_is_done_already "
        create 1 -> up 1
        cancel 1
        remove 1 -> gone 1"
}
