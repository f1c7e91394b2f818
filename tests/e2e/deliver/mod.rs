//! The ways in which a job's tasks learn of their IPUs.

mod attacks;
mod environment;
mod file_api_node;
mod gcds;
mod gres_plugin;
mod prolog_and_epilog;
