//! The ways in which the jobs of a model get their IPUs (`Mode`).

mod numeric;
mod pool;
mod shared;
mod whole;
