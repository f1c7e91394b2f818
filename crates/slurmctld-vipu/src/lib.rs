//! `vipu_slurmctld.so`: what only the primary slurmctld needs.
//!
//! `select_vipu.so` loads it at the first reconfigure of a primary slurmctld and asks it from then on;
//! `job_submit_vipu.so` does too. It holds one [`site::Site`]: the ledger behind a mutex, the way to the
//! `vipu-io` thread (the driver) and the way to the `vipu-host` thread.
//!
//! Lock order: slurmctld's locks, then the ledger's mutex. Nothing is called while the mutex is held but
//! the two queues, which never wait.

mod adopt;
mod callbacks;
mod exports;
mod host_thread;
mod io_thread;
mod models;
mod request;
mod site;
