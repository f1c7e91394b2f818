//! The ways in which the jobs of a model get their IPUs (`Mode`).

mod host;
mod numeric;
mod pool;
mod shared;
mod whole;
