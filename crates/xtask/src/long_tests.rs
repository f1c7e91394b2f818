//! The tests that take longest. They begin first, so that no run ends with one of them alone.

/// Seconds on two busy cores. The table at the end of a run names the longest ones.
const SECONDS: [(&str, u32); 27] = [
    ("simulation", 60),
    ("matrix_docker_page_is_followed", 188),
    ("mode_pool_withholds_the_partition_of_a_lost_node_over_restarts", 186),
    ("pkg_slurm_upgrade_under_ipu_jobs", 149),
    ("matrix_node_cut_off_and_returned", 118),
    ("matrix_job_kinds", 117),
    ("matrix_slurmctld_killed", 115),
    ("pkg_configless_nodes", 112),
    ("matrix_login_without_plugin", 107),
    ("matrix_main_job", 106),
    ("matrix_vipu_server_restarted", 101),
    ("user_training_of_the_page_saves_and_goes_on", 90),
    ("job_backup_controller_takes_over_twice", 86),
    ("acct_limits_of_a_qos_hold_with_slurms_reasons", 83),
    ("acct_usage_has_no_drift_after_a_kill_at_each_step_before_the_launch", 80),
    ("cli_steering_socket_follows_backup_controller", 75),
    ("job_backup_controller_takes_over_at_a_request", 70),
    ("matrix_values_agree_with_scontrol", 63),
    ("what_a_test_leaves_wrong_is_reported", 63),
    ("user_service_of_the_page_heals_grows_and_shrinks", 62),
    ("job_time_limit_does_not_count_while_the_partition_is_made", 61),
    ("job_restart_slurmctld_asks_a_node_that_hung_until_it_had_time_to_begin_the_script", 60),
    ("job_after_job_completes_before_a_controller_by_other_hands", 58),
    ("acct_hours_of_a_qos_run_out", 57),
    ("sched_layering_changes_nothing", 57),
    ("acct_usage_is_the_same_for_a_backup_controller", 56),
    ("sched_layering_changes_nothing_while_others_wait_for_ipus", 52),
];

/// How long a test, or a program of tests, took; 0 if that was not long.
pub fn seconds(test: &str) -> u32 {
    let name = test.rsplit("::").next().unwrap_or(test);
    SECONDS.iter().find(|(long, _)| *long == name).map_or(0, |(_, seconds)| *seconds)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_long_tests_exist() {
        for (name, _) in super::SECONDS.iter().filter(|(name, _)| *name != "simulation") {
            let mut git = crate::run::git(&["grep", "--quiet", &format!("fn {name}("), "--", "*.rs"]);
            assert!(git.status().unwrap().success(), "no test is called {name}");
        }
    }
}
