//! Slurm's configuration files on this host, and the models that slurm.conf names.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use slurm_conf::{Files, HostList, Named, SlurmConf};
use vipu_conf::TypesOfNodes;
use vipu_types::{
    OfferedModels, bad_element, consumable, consumable_element, gres_types, ipu_elements, words,
};

use crate::error::Failure;
use crate::surroundings::Surroundings;

/// The greatest size of a file. The slurm.conf of a thousand nodes is a hundredth of it.
const MOST_BYTES: u64 = 16 << 20;

/// As the C library's `glob`: `*` matches no hidden file.
const AS_SLURM: glob::MatchOptions = glob::MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// The files of this host.
pub(crate) struct SlurmFiles;

impl Files for SlurmFiles {
    fn read(&mut self, path: &Path) -> io::Result<String> {
        // The open of a FIFO would wait for a writer.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        let mut text = Vec::new();
        File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut text)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(io::Error::other("it is larger than 16 MiB, so that it is no configuration file"));
        }
        Ok(decoded(&text))
    }

    fn matching(&mut self, pattern: &Path) -> Vec<PathBuf> {
        let paths = pattern.to_str().and_then(|pattern| glob::glob_with(pattern, AS_SLURM).ok());
        paths.into_iter().flatten().flatten().collect()
    }
}

/// The character of private use that stands for the byte 0. Those of other bytes follow.
const BYTE: u32 = 0x10_ff00;

/// The text of a file. A byte that is no UTF-8 becomes a character of private use, so that [`encoded`] has it back.
fn decoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    let byte = |byte: &u8| char::from_u32(BYTE + u32::from(*byte)).unwrap_or_default();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match u32::from(character) >= BYTE {
                true => text.extend(character.encode_utf8(&mut [0; 4]).as_bytes().iter().map(byte)),
                false => text.push(character),
            }
        }
        text.extend(chunk.invalid().iter().map(byte));
    }
    text
}

/// The bytes of a text of files.
pub(crate) fn encoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for character in text.chars() {
        match u32::from(character).checked_sub(BYTE).map(u8::try_from) {
            Some(Ok(byte)) => bytes.push(byte),
            _ => bytes.extend(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// The slurm.conf of this host, as Slurm's commands find it.
pub(crate) fn slurm_conf_path(surroundings: &Surroundings) -> PathBuf {
    let named = surroundings.variable("SLURM_CONF").map(PathBuf::from);
    named.unwrap_or_else(|| surroundings.etc.join("slurm/slurm.conf"))
}

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
    let unreadable = |why| Failure::Unreadable(path.to_owned(), words!("cannot read it: {why}"));
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
