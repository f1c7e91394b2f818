//! A model with several controllers.

use crate::script::scenarios;

scenarios! {
    /// A later slurmctld may find a partition that is being made on a controller that has left the list. The
    /// model's settings hold on that controller too.
    a_claim_goes_to_its_controller_and_stays_with_one_that_left_the_list "
        configure hosts=a,b
        create 1 on b -> up 1
        there on a
        there on b 1
        configure hosts=a
        remove 1 on b -> gone 1
        there on b
        create 1 on b -> up 1
        configure hosts=a force=1
        remove 1 on b -> gone 1 at 0..10
        there on b
        count 1 call remove 1 by force"

    jobs_of_a_controller_that_refuses_all_go_back_when_another_works "
        next create = refused*40
        configure hosts=a,b
        create 1-3 on b
        -> failed 1: …
        -> failed 2: …
        -> put off 3: controller b:8090: Refused at 60..70"

    refusals_of_a_controller_that_left_the_list_still_count "
        next create = refused*40
        configure hosts=b
        create 1-5 on b
        -> failed 1: …
        -> failed 2: …
        pass 300
        configure hosts=a
        -> put off …
        -> put off …
        -> put off …"

    a_survey_of_a_controller_that_left_the_list_asks_all_controllers "
        configure hosts=a,b
        -> listing of a…
        -> listing of b…
        pass 1
        survey c
        -> listing of a… at 1
        -> listing of b… at 1"
}
