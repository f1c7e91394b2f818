//! Daemons, nodes, controllers and commands that fail.

mod backup;
mod controller_away;
mod controllers_by_other_hands;
mod ends_around_a_launch;
mod failed_creates;
mod hanging_nodes;
mod killed_behind_a_launch;
mod killed_srun_and_salloc;
mod lost_and_failed_partitions;
mod lost_launches;
mod maintenance_page;
mod marked_script;
mod newer_journal;
mod nodes;
mod plugin_files;
mod plugin_panics;
mod slurm_releases;
mod slurmctld_crashes;
mod slurmctld_restarts;
mod slurmctld_start_line;
mod unclean_ends;
mod valgrind;
