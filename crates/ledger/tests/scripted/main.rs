//! Scripted ledgers: events go in one by one, and the tests compare the actions.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod any_order;
mod blocks_of_hosts;
mod controllers;
mod cost;
mod drains;
mod forecast;
mod het_jobs;
mod idle;
mod keeps;
mod lifecycle;
mod line;
mod pods;
mod pool;
mod preparations;
mod reconcile;
mod refusals;
mod script;
mod shared_trouble;
mod view;
mod whole_times;
