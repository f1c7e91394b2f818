//! Jobs that wait: for IPUs, for their partition, in line with other jobs.

mod deadlines;
mod forecast;
mod jobs_without_ipus;
mod line;
mod preemption;
mod prepare;
mod reasons;
mod reservations;
mod scheduling_cost;
mod shown_progress;
mod slurm_reasons;
mod terminal_messages;
