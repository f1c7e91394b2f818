//! The vipu-conf thread: saves the models' good texts for a later slurmctld.
//!
//! Slurm from 23.11 on replaces the process of slurmctld at every reconfigure, and any release does at a
//! restart. A backup may also take over. Each successor finds the texts in StateSaveLocation.
//!
//! No thread waits for this one. If slurmctld is replaced moments after it read a new good file, the text
//! before that file may remain. That matters only to a successor that already finds the file broken.

use std::sync::mpsc::Receiver;

use slurm_host::{boundary, threads};
use tracing::error;
use vipu_conf::SavedConf;
use vipu_types::{ModelName, Words};

/// The models whose file has no error, with its text.
pub(crate) type GoodTexts = Vec<(ModelName, GoodText)>;

/// The texts of a good file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GoodText {
    pub(crate) conf: String,
    /// The text of its HostMap.
    pub(crate) host_map: Option<String>,
}

/// A task for the thread: save these texts there.
pub(crate) struct Save {
    pub(crate) kept: SavedConf,
    pub(crate) good: GoodTexts,
}

/// Starts the thread.
pub(crate) fn start(orders: Receiver<Save>) -> Result<(), Words> {
    threads::spawn("vipu-conf", move || {
        for order in orders {
            boundary::guard(&|| "vipu-conf".into(), (), || keep(&order));
        }
    })
}

fn keep(Save { kept, good }: &Save) {
    failpoints::io!("the kept texts of vipu.conf");
    for (model, text) in good {
        if let Err(why) = kept.keep(model, &text.conf, text.host_map.as_deref()) {
            error!(
                "model {model}: its settings will not outlive this slurmctld: {why}; mend that and reconfigure"
            );
        }
    }
}
