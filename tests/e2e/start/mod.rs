//! Jobs that ask for IPUs and get them, or are refused.

mod arrays;
mod basic_jobs;
mod burst_buffer;
mod dependencies;
mod example_sites;
mod het_jobs;
mod options;
mod page_examples;
mod sizes;
mod tls;
