//! Surveys: on request, periodically, and never two at once.

use crate::script::scenarios;

scenarios! {
    a_survey_comes_at_once_and_then_every_half_minute "
        -> listing of vipu asked 0:  at 0
        -> listing of vipu asked 30:  at 30
        -> listing of vipu asked 60:  at 60"

    /// Jobs may wait for the IPUs of another cluster's partition.
    a_partition_shown_as_removed_is_surveyed_again_soon "
        remove time = 0
        removed time = 2
        put 1
        take 1
        -> listing… at 0
        -> listing… at 5
        -> listing… at 35"

    /// The call of the second survey is sent after the requests. The third survey is the periodic one.
    requests_during_a_survey_make_one_more "
        survey time = 4
        pass 1
        survey
        survey
        survey
        -> listing of vipu asked 0:  at 4
        -> listing of vipu asked 5:  at 9
        -> listing of vipu asked 39:  at 43"

    /// Each reading of the configuration asks for a survey.
    the_first_survey_answers_earlier_requests "
        survey -> listing… at 0
        -> listing… at 30"

    /// Many jobs in a row each ask for a survey. A request after a pause is answered at once, and a new
    /// configuration too.
    requests_in_a_row_make_one_survey_a_second "
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

    /// The answer of the old controller never comes.
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

    a_silent_controller_is_not_asked_about_each_partition "
        -> listing…
        create 1-3 -> up 1-3
        survey -> listing…
        zero
        pass 1
        silent = 50
        survey -> listing…: 1 2 3 at 51"
}
