//! The models that slurm.conf names.

use std::path::Path;

use slurm_conf::{HostList, Named, SlurmConf};
use vipu_conf::TypesOfNodes;
use vipu_types::{OfferedModels, bad_element, consumable, consumable_element, gres_types, ipu_elements};

use crate::error::Failure;
use crate::slurm_files::SlurmFiles;

/// The models of the nodes, and the lines about what is wrong in slurm.conf.
#[derive(Debug, Default)]
pub(crate) struct Models {
    pub(crate) offered: OfferedModels,
    /// The GRES types of each node.
    pub(crate) nodes: TypesOfNodes,
    pub(crate) errors: Vec<String>,
}

/// Reads slurm.conf.
pub(crate) fn read_slurm_conf(path: &Path) -> Result<SlurmConf, Failure> {
    let unreadable = |why| Failure::Unreadable(path.to_owned(), format!("cannot read it: {why}"));
    SlurmConf::read(path, &mut SlurmFiles).map_err(unreadable)
}

/// The folder of slurm.conf, in which the files of the models are.
pub(super) fn folder(slurm_conf: &Path) -> &Path {
    slurm_conf.parent().unwrap_or(Path::new("."))
}

impl Models {
    /// Those of a slurm.conf. The errors are those of slurmctld's log, with their lines.
    pub(crate) fn of(conf: &SlurmConf) -> Self {
        let mut models = Self::default();
        models.errors.extend(conf.problems.iter().map(ToString::to_string));
        conf.nodes().iter().for_each(|node| models.add(node));
        models
    }

    fn add(&mut self, node: &Named) {
        let Some(gres) = node.get("Gres").filter(|gres| ipu_elements(&gres.value).next().is_some()) else {
            return;
        };
        let (first, others) = match HostList::parse(&node.name) {
            Ok(list) => {
                let types = gres_types(&gres.value);
                self.nodes.extend(list.names().map(|name| (name, types.clone())));
                (list.names().next().unwrap_or_default(), list.count().saturating_sub(1))
            }
            Err(why) => {
                self.errors.push(format!("{}: NodeName={}: {why}", node.place, node.name));
                return;
            }
        };
        for element in ipu_elements(&gres.value) {
            if let Err(why) = self.offered.add(element) {
                self.errors.push(format!("{}: {}", gres.place, bad_element(&first, element, &why)));
            }
        }
        let consumable = consumable_element(&gres.value).map(|element| consumable(&first, others, element));
        self.errors.extend(consumable.map(|line| format!("{}: {line}", gres.place)));
    }
}
