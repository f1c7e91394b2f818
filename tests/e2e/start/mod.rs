//! Jobs that ask for IPUs and get them, or are refused.

mod arrays;
mod basic_jobs;
mod dependencies;
mod example_sites;
mod het_jobs;
mod options;
mod refused_requests;
mod sizes;
mod slurm_partitions_without_ipus;
mod srun_and_salloc;
mod tls;
mod users_page_examples;
