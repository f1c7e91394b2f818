//! Surveys: when asked, now and then, and never two at once.

use crate::script::scenarios;

scenarios! {
    one_comes_at_once_and_then_every_half_minute "
        -> listing of vipu asked 0:  at 0
        -> listing of vipu asked 30:  at 30
        -> listing of vipu asked 60:  at 60"

    /// Jobs may wait for the IPUs of somebody else's partition.
    what_is_shown_as_removed_is_looked_at_again_soon "
        remove time = 0
        removed time = 2
        put 1
        take 1
        -> listing… at 0
        -> listing… at 5
        -> listing… at 35"

    /// The listing of the second is asked for after the asking, and the third is the periodic one.
    what_is_asked_for_during_one_makes_one_more "
        survey time = 4
        pass 1
        survey
        survey
        survey
        -> listing of vipu asked 0:  at 4
        -> listing of vipu asked 5:  at 9
        -> listing of vipu asked 39:  at 43"

    /// As at each reading of configuration.
    what_is_asked_for_before_the_first_is_answered_by_it "
        survey -> listing… at 0
        -> listing… at 30"

    /// As when job after job comes and goes. Who asks after a while is answered at once, and so is a new
    /// configuration.
    one_a_second_is_enough "
        survey -> listing… at 0
        survey
        pass 0.5
        survey -> listing… at 1
        survey -> listing… at 2
        pass 2
        survey -> listing… at 4
        configure -> listing… at 4"

    a_controller_that_does_not_answer_is_asked_more_often "
        next survey = lost*2
        -> away vipu: controller vipu:8090: Unclear at 0
        -> away vipu: controller vipu:8090: Unclear at 5
        -> listing… at 10
        -> listing… at 40"

    /// The answer of the old one never comes.
    a_new_configuration_does_not_wait_for_the_old_controller "
        survey time = 3600
        pass 1
        survey time =
        configure -> listing… at 1
        unconfigure
        pass 7200
        forget
        survey
        pass 1
        count 1 away vipu: model pod64 is not configured"

    one_that_falls_silent_is_not_asked_of_each_partition "
        -> listing…
        create 1-3 -> up 1-3
        survey -> listing…
        zero
        pass 1
        silent = 50
        survey -> listing…: 1 2 3 at 51"
}
