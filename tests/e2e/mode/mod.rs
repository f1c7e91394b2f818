//! The ways in which the jobs of a model get their IPUs (`Mode`).

mod host;
mod numeric;
mod pool;
mod pool_of_forgotten_job;
mod shared;
mod whole;
