//! Jobs and settings that change.

mod cancels;
mod conf_files;
mod requeues;
mod resizes;
mod suspends;
mod time_limits;
mod updated_requests;
