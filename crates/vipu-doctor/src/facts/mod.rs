//! The facts about a host, from its files and its controllers.

mod admin_socket;
mod certificates;
mod controllers;
mod directories;
mod files;
mod gres_conf;
mod leftovers;
mod models;
mod plugins;
mod plugstack;
mod qos;
mod slurm;
mod slurmd_unit;
mod state;
mod status_files;
mod unseen;

pub(crate) use admin_socket::Socket;
pub(crate) use certificates::Certificate;
pub(crate) use controllers::Controller;
pub(crate) use directories::Directory;
pub(crate) use files::SecretFile;
pub(crate) use gres_conf::GresLine;
pub(crate) use leftovers::Leftover;
pub(crate) use models::ModelFile;
pub(crate) use plugins::{PluginFile, Plugins};
pub(crate) use plugstack::Plugstack;
pub(crate) use qos::Qos;
pub(crate) use slurm::{Offer, Offering, Slurm, short};
pub(crate) use slurmd_unit::SlurmdUnit;
pub(crate) use state::State;
pub(crate) use status_files::{StatusDir, StatusGroup};
pub(crate) use unseen::Unseen;

use vipu_conf::{Layer, LoadError};
use vipu_status::Status;

use crate::finding::Finding;
use crate::host::Host;

/// The facts about a host. The checks read nothing else.
pub(crate) struct Facts {
    /// The Unix time in seconds.
    pub(crate) now: i64,
    /// The name of the host.
    pub(crate) host: String,
    /// slurm.conf.
    pub(crate) slurm: Slurm,
    /// The lines about IPUs in gres.conf.
    pub(crate) gres_lines: Vec<GresLine>,
    /// The unit of slurmd, if there is one.
    pub(crate) slurmd_unit: Option<SlurmdUnit>,
    /// plugstack.conf.
    pub(crate) plugstack: Plugstack,
    /// The plugin files.
    pub(crate) plugins: Plugins,
    /// `Layer` of vipu.conf.
    pub(crate) layer: Option<Layer>,
    /// The models that nodes have, each with its file.
    pub(crate) models: Vec<ModelFile>,
    /// What is wrong in a vipu.conf that no model reads.
    pub(crate) error_beside: Option<LoadError>,
    /// The files of models that no node has.
    pub(crate) stray_models: Vec<String>,
    /// The files with keys.
    pub(crate) secrets: Vec<SecretFile>,
    /// The certificates of this side.
    pub(crate) certificates: Vec<Certificate>,
    /// The directories of IPUoF files.
    pub(crate) directories: Vec<Directory>,
    /// StateSaveLocation, on a slurmctld host.
    pub(crate) state: Option<State>,
    /// The place of the admin socket, on a slurmctld host.
    pub(crate) admin_socket: Option<Socket>,
    /// The directories of StatusDir, on a slurmctld host.
    pub(crate) status_dirs: Vec<StatusDir>,
    /// StatusGroup, on a slurmctld host.
    pub(crate) status_group: Option<StatusGroup>,
    /// The status document, if there is one.
    pub(crate) status: Option<Status>,
    /// Why the status document is none.
    pub(crate) status_fault: Option<String>,
    /// The controllers that were asked.
    pub(crate) controllers: Vec<Controller>,
    /// All QOS, if sacctmgr was asked and answered.
    pub(crate) qos: Option<Vec<Qos>>,
    /// What the ways of the vendor left behind.
    pub(crate) leftovers: Vec<Leftover>,
    /// What could not be looked at, each with the reason.
    pub(crate) unseen: Unseen,
}

impl Facts {
    /// Gathers the facts. The error says that there is no slurm.conf to begin with.
    pub(crate) fn gather(host: &Host<'_>) -> Result<Self, Finding> {
        let slurm = Slurm::read(host)?;
        let mut unseen = Unseen::new();
        let plugstack = Plugstack::read(host, &slurm, &mut unseen);
        let plugins = Plugins::read(host, &slurm, &mut unseen);
        let (models, error_beside) = models::read(host, &slurm, &plugstack);
        let secrets = files::secrets(host, &models, &mut unseen);
        let certificates = certificates::read(host, &models, &mut unseen);
        let directories = directories::read(host, &models, &plugstack, &mut unseen);
        let (status, status_fault) = match state::document(host, &slurm, &mut unseen) {
            Ok(status) => (status, None),
            Err(why) => (None, Some(why)),
        };
        let (controllers, qos) =
            controllers::ask(host, &slurm, &models, &secrets, &certificates, &mut unseen);
        Ok(Self {
            now: host.now,
            host: host.name.clone(),
            gres_lines: gres_conf::read(host, &slurm, &mut unseen),
            slurmd_unit: slurmd_unit::read(host),
            admin_socket: admin_socket::read(host, &slurm, &mut unseen),
            status_dirs: status_files::directories(host, &slurm, &models, &mut unseen),
            status_group: status_files::group(host, &slurm, &models),
            state: state::read(host, &slurm, &mut unseen),
            layer: vipu_conf::layer_of(&host.at(slurm.folder())),
            leftovers: leftovers::find(host, &slurm),
            stray_models: models::strays(host, &slurm, &models),
            slurm,
            plugstack,
            plugins,
            models,
            error_beside,
            secrets,
            certificates,
            directories,
            status,
            status_fault,
            controllers,
            qos,
            unseen,
        })
    }

    /// The settings of the models whose files are good, each with the name of its file.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (&ModelFile, &vipu_conf::Settings)> {
        self.models.iter().filter_map(|model| Some((model, model.settings.as_ref().ok()?)))
    }
}
