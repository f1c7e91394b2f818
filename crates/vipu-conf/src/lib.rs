//! `vipu.conf` and the model files: parsing, defaults, errors with file, line and caret.
//!
//! The settings of a Pod model are in `<model>.conf` beside `slurm.conf`, or in `vipu.conf` when the model
//! has no file of its own. [`load`] reads them for every model. [`InForce`] remembers the last good settings
//! of a model whose file is broken, and [`SavedConf`] keeps them for the next process. Slurm's commands need
//! only [`layer_of`], and svipu only [`admin_socket_of`].
#![forbid(unsafe_code)]

mod against_nodes;
mod choice;
mod error;
mod files;
mod host_map;
mod in_force;
mod keys;
mod nodes;
mod problem;
mod saved_conf;
mod settings;
mod syntax;
mod value;

pub use against_nodes::{TypesOfNodes, against_nodes};
pub use choice::{
    Accounting, AuditLevel, AuditTo, KeepIdleFor, Layer, Mode, OnPartitionError, Placement, Prepare,
    ReuseReset, SizePolicy,
};
pub use error::{Broken, KeepError, LoadError};
pub use files::{
    Good, Loaded, admin_socket_of, error_beside, layer_of, load, load_file, load_offered, need_pool,
    settings_on_node,
};
pub use in_force::{InForce, Standing};
pub use keys::{KEYS, Key, Preset, Settings};
pub use problem::{Problem, Reason, Spot};
pub use saved_conf::SavedConf;
pub use settings::{Listed, listed};
pub use value::{AdminSocket, HostFile};
