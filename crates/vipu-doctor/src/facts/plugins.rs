//! The plugin files of this host.

use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use slurm_release::{Version, table_file};
use vipu_types::version_note;

use super::{Slurm, Unseen};
use crate::host::{Host, read};

/// The files of slurm-vipu that have a build id.
const NAMES: [&str; 6] = [
    "select_vipu.so",
    "select_vipu_cons_tres.so",
    "job_submit_vipu.so",
    "vipu_slurmctld.so",
    "gres_vipu.so",
    "spank_ipuof.so",
];

/// The folders in which packages put Slurm's plugins, for a slurm.conf without PluginDir.
const USUAL: [&str; 4] =
    ["/usr/lib/x86_64-linux-gnu/slurm-wlm", "/usr/lib64/slurm", "/usr/lib/slurm", "/usr/local/lib/slurm"];

/// Slurm's own plugin that tells its release. Each Slurm has it.
const STOCK: &str = "select_cons_tres.so";

/// The plugin files.
pub(crate) struct Plugins {
    /// The folders of PluginDir.
    pub(crate) folders: Vec<PathBuf>,
    /// The files of slurm-vipu in them.
    pub(crate) files: Vec<PluginFile>,
    /// Whether `ipuof-fetch` is there.
    pub(crate) has_fetch: bool,
    /// The release of Slurm.
    pub(crate) release: Option<Version>,
    /// The outcome of the table file: the release that it describes, or what is wrong with it.
    pub(crate) table: Result<Option<Version>, String>,
}

/// A plugin file of slurm-vipu.
pub(crate) struct PluginFile {
    /// Its file name.
    pub(crate) name: &'static str,
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// The version of slurm-vipu, if the file tells it.
    pub(crate) version: Option<String>,
    /// The number of the build. The SPANK plugin has none, because it works with other builds.
    pub(crate) build: Option<String>,
}

impl Plugins {
    pub(super) fn read(host: &Host<'_>, slurm: &Slurm, unseen: &mut Unseen) -> Self {
        let given = slurm.value("PluginDir").map(|value| value.split(':').map(PathBuf::from).collect());
        let folders: Vec<PathBuf> = given.unwrap_or_else(|| {
            let usual = USUAL.iter().map(PathBuf::from);
            usual.filter(|folder| host.at(folder).join(STOCK).exists()).take(1).collect()
        });
        let files = folders.iter().flat_map(|folder| NAMES.map(|name| (folder, name)));
        let files = files.filter_map(|(folder, name)| plugin(host, folder, name, unseen)).collect();
        let release = folders.iter().find_map(|folder| release(&host.at(folder).join(STOCK)));
        let places = [slurm.folder()].into_iter().chain(folders.iter().map(PathBuf::as_path));
        let table = table_file::find(places.map(|folder| host.at(folder)));
        let has_fetch = folders.iter().any(|folder| host.at(folder).join("ipuof-fetch").exists());
        let table = table.map(|found| found.map(|(_, table)| table.release.version));
        Self { folders, files, has_fetch, release, table }
    }

    /// A plugin file by its name.
    pub(crate) fn file(&self, name: &str) -> Option<&PluginFile> {
        self.files.iter().find(|file| file.name == name)
    }
}

fn plugin(host: &Host<'_>, folder: &Path, name: &'static str, unseen: &mut Unseen) -> Option<PluginFile> {
    let path = folder.join(name);
    let bytes = match read(&host.at(&path)) {
        Ok(bytes) => bytes,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return None,
        Err(why) => {
            unseen.push((path.display().to_string(), why.to_string()));
            Vec::new()
        }
    };
    let told = noted(&bytes).unwrap_or_default();
    let (version, build) = match told.split_once(" build ") {
        Some((version, build)) => (Some(version.to_owned()), Some(build.to_owned())),
        None => (Some(told).filter(|told| !told.is_empty()), None),
    };
    Some(PluginFile { name, folder: folder.to_owned(), version, build })
}

/// The release that a plugin of Slurm was built for.
fn release(path: &Path) -> Option<Version> {
    let bytes = read(path).ok()?;
    let number = symbol(&bytes, "plugin_version")?.first_chunk::<4>().copied()?;
    Some(Version(u32::from_le_bytes(number)))
}

/// The version and the build in the note of a plugin file.
fn noted(bytes: &[u8]) -> Option<String> {
    let file = object::File::parse(bytes).ok()?;
    let note = file.section_by_name(version_note::SECTION)?.data().ok()?;
    let text = note.split(|byte| *byte == 0).find_map(|text| text.strip_prefix(b"slurm-vipu "))?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// The bytes from a symbol of an ELF file to the end of its section.
fn symbol<'a>(bytes: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let file = object::File::parse(bytes).ok()?;
    let mut symbols = file.dynamic_symbols().chain(file.symbols());
    let symbol = symbols.find(|symbol| symbol.name() == Ok(name))?;
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    let offset = symbol.address().checked_sub(section.address())?;
    section.data().ok()?.get(usize::try_from(offset).ok()?..)
}
