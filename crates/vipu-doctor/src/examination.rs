//! The examination of a host: gathers the facts, and runs all checks.

use std::path::PathBuf;

use vipu_conf::LoadError;
use vipu_status::Status;
use vipu_types::Words;

use crate::accounting::{self, Qos};
use crate::controllers::{self, Controller};
use crate::credentials::{self, Certificate, SecretFile};
use crate::finding::{Examination, Finding};
use crate::host::{Host, Unseen};
use crate::ipuof_directories::{self, Directory};
use crate::models::{self, ModelFile};
use crate::plugins::{self, Plugins};
use crate::plugstack::{self, Plugstack};
use crate::slurm_conf::{self, Slurm};
use crate::state_save_location::{self, State};
use crate::{
    access, admin_socket, gres_conf, limit_names, node_gres, private_directories, selector, slurm_conf_keys,
    slurmd_unit, status_dir, status_document, vendor_leftovers,
};

/// The facts about a host. A file that one check alone needs is not among them.
pub(crate) struct Facts {
    /// slurm.conf.
    pub(crate) slurm: Slurm,
    /// plugstack.conf.
    pub(crate) plugstack: Plugstack,
    /// The plugin files.
    pub(crate) plugins: Plugins,
    /// The models that nodes have, each with its file.
    pub(crate) models: Vec<ModelFile>,
    /// What is wrong in a vipu.conf that no model reads.
    pub(crate) error_beside: Option<LoadError>,
    /// The files with keys.
    pub(crate) secrets: Vec<SecretFile>,
    /// The certificates of this side.
    pub(crate) certificates: Vec<Certificate>,
    /// The directories of IPUoF files.
    pub(crate) directories: Vec<Directory>,
    /// The directories that each job has for itself.
    pub(crate) private: Vec<PathBuf>,
    /// The status document, if there is one. The error says why it is none.
    pub(crate) document: Result<Option<Status>, Words>,
    /// The controllers that were asked.
    pub(crate) controllers: Vec<Controller>,
    /// All QOS, if sacctmgr was asked and answered.
    pub(crate) qos: Option<Vec<Qos>>,
    /// StateSaveLocation, on a slurmctld host.
    pub(crate) state: Option<State>,
    /// The findings in gres.conf.
    pub(crate) gres_conf: Vec<Finding>,
    /// The finding about the admin socket.
    pub(crate) admin_socket: Option<Finding>,
    /// The findings about the directories of StatusDir.
    pub(crate) status_dirs: Vec<Finding>,
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
        let (models, error_beside) = models::read(host, &slurm, plugstack.argument("conf_dir"));
        let secrets = credentials::secrets(host, &models, &mut unseen);
        let certificates = credentials::certificates(host, &models, &mut unseen);
        let directories = ipuof_directories::read(host, &models, &plugstack, &mut unseen);
        let document = status_document::document(host, &slurm, &mut unseen);
        let (controllers, qos) =
            controllers::ask(host, &slurm, &models, &secrets, &certificates, &mut unseen);
        Ok(Self {
            gres_conf: gres_conf::lines(host, &slurm, &mut unseen),
            admin_socket: admin_socket::place(host, &slurm, &mut unseen),
            status_dirs: status_dir::directories(host, &slurm, &models, &mut unseen),
            state: state_save_location::read(host, &slurm, &mut unseen),
            private: private_directories::read(host, &slurm, &mut unseen),
            slurm,
            plugstack,
            plugins,
            models,
            error_beside,
            secrets,
            certificates,
            directories,
            document,
            controllers,
            qos,
            unseen,
        })
    }

    /// The findings of all checks, in the order in which those of one level are shown.
    fn findings(&self, host: &Host<'_>) -> Vec<Finding> {
        let Self { slurm, plugstack, plugins, models, controllers, .. } = self;
        let (release, state, qos) = (plugins.release, self.state.as_ref(), self.qos.as_deref());
        let status = self.document.as_ref().ok().and_then(Option::as_ref);
        // An old document tells of faults that may be mended.
        let fresh = status.filter(|status| !status_document::is_old(status, host.now));
        let is_status_expected = slurm.is_controller_host && self.unseen.is_empty();
        let mut found = Vec::new();
        found.extend(plugins::release_is_known(plugins));
        found.extend(plugins::files_are_there(slurm, plugins, models));
        found.extend(plugins::files_are_of_one_build(&plugins.files));
        found.extend(plugins::one_name_of_the_selector(slurm, plugins));
        found.extend(slurm_conf::lines(slurm));
        found.extend(slurm_conf::nodes(slurm));
        found.extend(selector::select_type(slurm));
        found.extend(selector::parameters(host, slurm, release));
        found.extend(selector::words(slurm));
        found.extend(selector::layer(host, slurm, release));
        found.extend(slurm_conf_keys::gres_types(slurm));
        found.extend(slurm_conf_keys::submit_plugin(slurm));
        found.extend(slurm_conf_keys::locked_memory(slurm));
        found.extend(slurm_conf_keys::ignored_limits(slurm));
        found.extend(slurm_conf_keys::time_to_save(slurm, models));
        found.extend(slurm_conf_keys::prolog_variables(slurm, release));
        found.extend(slurmd_unit::locked_memory(host, slurm));
        found.extend(node_gres::offers(slurm));
        found.extend(node_gres::fit(slurm, models));
        found.extend(node_gres::within_pod(slurm, models, controllers));
        found.extend(self.gres_conf.clone());
        found.extend(models::files(slurm, models, self.error_beside.as_ref()));
        found.extend(models::strays(host, slurm, models));
        found.extend(limit_names::slurm_partitions(slurm, models));
        found.extend(limit_names::qos(qos, models));
        found.extend(plugstack::line(slurm, plugstack, plugins, models));
        found.extend(plugstack::once(plugstack));
        found.extend(plugstack::arguments(plugstack, models));
        found.extend(plugstack::plugin_is_there(host, plugstack, plugins));
        found.extend(plugstack::ends_of_lines(host, plugstack));
        found.extend(plugstack::order(plugstack));
        found.extend(access::files(host, slurm, plugstack, models, &self.directories));
        found.extend(credentials::permissions(slurm, &self.secrets));
        found.extend(credentials::are_valid(&self.certificates, host.now));
        found.extend(ipuof_directories::permissions(slurm, &self.directories));
        found.extend(ipuof_directories::access_lists(&self.directories));
        found.extend(ipuof_directories::share_no_prefix(slurm, models, &self.directories));
        found.extend(private_directories::hide_no_file(
            &self.private,
            slurm,
            plugstack,
            models,
            &self.directories,
        ));
        found.extend(controllers::answers(controllers));
        found.extend(state.and_then(state_save_location::disk));
        found.extend(state_save_location::journal_is_whole(state, fresh));
        found.extend(self.admin_socket.clone());
        found.extend(self.status_dirs.clone());
        found.extend(status_dir::group(host, slurm, models));
        found.extend(status_dir::earlier_requests(host, slurm, models));
        found.extend(status.and_then(|status| status_document::clocks(status, host.now)));
        found.extend(status_document::age(&self.document, is_status_expected, host.now));
        found.extend(
            fresh.into_iter().flat_map(|status| status_document::models_are_in_order(status, models)),
        );
        found.extend(fresh.into_iter().flat_map(|status| status_document::controllers(status, controllers)));
        found.extend(fresh.into_iter().flat_map(|status| status_document::partitions(status, models)));
        found.extend(accounting::tres(slurm));
        found.extend(accounting::deny_on_limit(qos));
        found.extend(vendor_leftovers::all(host, slurm));
        found.extend(self.unseen.iter().map(not_examined));
        found
    }

    /// Runs all checks.
    pub(crate) fn check(&self, host: &Host<'_>) -> Examination {
        let mut findings = self.findings(host);
        findings.sort_by_key(|finding| finding.level);
        Examination {
            host: host.name.clone(),
            roles: self.slurm.roles(),
            slurm_conf: Some(self.slurm.path.display().to_string()),
            slurm: self.plugins.release.map(|release| release.to_string()),
            findings,
        }
    }
}

/// Tells what was not looked at.
fn not_examined((subject, why): &(String, String)) -> Finding {
    let fix = match why.contains("denied") {
        true => "run svipu doctor as root or SlurmUser",
        false => "mend this, and run svipu doctor again",
    };
    Finding::hint(subject, format!("not examined: {why}"), fix)
}
