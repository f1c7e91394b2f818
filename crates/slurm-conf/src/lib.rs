//! slurm.conf and plugstack.conf: their texts as Slurm reads them, without Slurm.
//!
//! [`SlurmConf`] has the lines of slurm.conf and of the files that it includes, and [`Plugstack`] those of
//! plugstack.conf. Each line knows its file and number. [`HostList`] expands names such as `n[01-36,40]`. The
//! crate opens no file: the caller gives [`Files`]. Broken lines become a [`Problem`] each, never a panic.
//! The rules are those of Slurm 22.05 to 26.05.
#![forbid(unsafe_code)]

mod files;
mod host_list;
mod named;
mod pair;
mod physical_lines;
mod plugstack;
mod problem;
mod prolog;
mod slurm_conf;

pub use files::Files;
pub use host_list::{BadHostList, HostList, MOST_HOSTS};
pub use named::{Attribute, Named};
pub use pair::Pair;
pub use plugstack::{Plugin, Plugstack};
pub use problem::{Place, Problem, Reason};
pub use slurm_conf::{Line, SlurmConf};
