//! The answers of controllers and sacctmgr.

use std::path::PathBuf;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::JoinSet;
use vipu_client::{Client, Endpoint, ErrorClass};
use vipu_conf::Settings;
use vipu_types::{Access, ModelName, Tls, TlsIdentity};

use crate::accounting::{self, Qos};
use crate::credentials::{Certificate, SecretFile};
use crate::finding::Finding;
use crate::host::{Host, Unseen};
use crate::models::{ModelFile, settings};
use crate::slurm_conf::Slurm;

/// How long a controller may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// A controller that was asked.
pub(crate) struct Controller {
    /// Its model.
    pub(crate) model: ModelName,
    /// Host and port.
    pub(crate) name: String,
    /// The error, if it does not answer as it should.
    pub(crate) fault: Option<(ErrorClass, String)>,
    /// The number of its IPUs, if it tells.
    pub(crate) ipus: Option<usize>,
}

/// Asks all controllers, and sacctmgr, at the same time.
pub(crate) fn ask(
    host: &Host<'_>,
    slurm: &Slurm,
    models: &[ModelFile],
    secrets: &[SecretFile],
    certificates: &[Certificate],
    unseen: &mut Unseen,
) -> (Vec<Controller>, Option<Vec<Qos>>) {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(why) => {
            unseen.push(("controllers".to_owned(), why.to_string()));
            return (Vec::new(), None);
        }
    };
    let mut endpoints = Vec::new();
    for (model, own) in settings(models) {
        let own_files = [&own.api_tls_key, &own.api_access_file, &own.api_tls_ca, &own.api_tls_cert];
        let is_own = |path: &PathBuf| own_files.iter().any(|own| own.as_ref() == Some(path));
        // A file that cannot be used has a finding of its own.
        if secrets.iter().any(|file| is_own(&file.path) && !file.is_usable())
            || certificates.iter().any(|file| is_own(&file.path) && file.valid.is_err())
        {
            continue;
        }
        if let Some(file) = secrets.iter().find(|file| is_own(&file.path) && !file.is_readable) {
            let why = format!("permission to read {} is denied", file.path.display());
            unseen.push((format!("controllers of {}", model.name), why));
            continue;
        }
        endpoints.extend(self::endpoints(host, own).map(|endpoint| (model.name.clone(), endpoint)));
    }
    runtime.block_on(async {
        let mut asked = JoinSet::new();
        for (index, (model, endpoint)) in endpoints.into_iter().enumerate() {
            asked.spawn(async move { (index, controller(model, endpoint).await) });
        }
        let (mut answers, qos) = tokio::join!(asked.join_all(), accounting::ask(host, slurm, models));
        answers.sort_by_key(|(index, _)| *index);
        (answers.into_iter().map(|(_, controller)| controller).collect(), qos)
    })
}

/// The controllers of a model, with files below the root of the host.
fn endpoints(host: &Host<'_>, own: &Settings) -> impl Iterator<Item = Endpoint> {
    let tls = own.tls().map(|tls| Tls {
        ca: host.at(&tls.ca),
        identity: tls.identity.map(|identity| TlsIdentity {
            certificate: host.at(&identity.certificate),
            key: host.at(&identity.key),
        }),
        ..tls
    });
    let access = own.access().map(|access| Access { file: host.at(&access.file), ..access });
    let timeout = own.api_timeout.min(PATIENCE);
    own.controllers.iter().map(move |name| Endpoint {
        tls: tls.clone(),
        access: access.clone(),
        ..Endpoint::plain(name.host(), name.port(), timeout)
    })
}

async fn controller(model: ModelName, endpoint: Endpoint) -> Controller {
    let name = endpoint.to_string();
    let (fault, ipus) = match number_of_ipus(endpoint).await {
        Ok(ipus) => (None, ipus),
        Err(fault) => (Some(fault), None),
    };
    Controller { model, name, fault, ipus }
}

/// The number of IPUs of a controller that answers as it should, if it tells.
async fn number_of_ipus(endpoint: Endpoint) -> Result<Option<usize>, (ErrorClass, String)> {
    let client = Client::new(endpoint).map_err(|why| (ErrorClass::NotSent, why.to_string()))?;
    client.list_partitions(None).await.map_err(|why| (why.class(), why.words().to_owned()))?;
    Ok(client.list_ipus(&[]).await.ok().map(|ipus| ipus.len()))
}

/// Each controller answers, and accepts this side.
pub(crate) fn answers(controllers: &[Controller]) -> Vec<Finding> {
    let away = controllers.iter().filter_map(|controller| Some((controller, controller.fault.as_ref()?)));
    let finding = |(controller, (class, words)): (&Controller, &(ErrorClass, String))| {
        let subject = format!("controller {} of {}", controller.name, controller.model);
        Finding::error(subject, words, fix(*class, words))
    };
    away.map(finding).collect()
}

fn fix(class: ErrorClass, words: &str) -> &'static str {
    let is_about_keys = ["certificate", "TLS", "(Api"].iter().any(|word| words.contains(word));
    match class {
        _ if is_about_keys => "see docs/controllers.md#tls-and-access-keys",
        ErrorClass::NotSent | ErrorClass::Unreachable | ErrorClass::Timeout => {
            "mend ApiHost or ApiPort, start vipu-server there, or open its port to this host"
        }
        ErrorClass::Denied | ErrorClass::Stranger => "see docs/controllers.md#tls-and-access-keys",
        _ => "see the log of vipu-server",
    }
}
