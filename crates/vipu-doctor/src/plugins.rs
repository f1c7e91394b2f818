//! The plugin files of this host, and the release of Slurm.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use slurm_release::{Series, Version, known_releases, table_file};
use vipu_types::{Delivery, version_note};

use crate::finding::{Finding, Level};
use crate::host::{Host, Unseen, below, read};
use crate::models::{ModelFile, settings};
use crate::slurm_conf::Slurm;

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
    has_fetch: bool,
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
    pub(crate) fn read(host: &Host<'_>, slurm: &Slurm, unseen: &mut Unseen) -> Self {
        let folders = folders(&host.root, slurm.value("PluginDir"));
        let files = folders.iter().flat_map(|folder| NAMES.map(|name| (folder, name)));
        let files = files.filter_map(|(folder, name)| plugin(host, folder, name, unseen)).collect();
        let release = release(&host.root, &folders);
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

/// The release of the Slurm whose PluginDir is given, or in a usual folder, below the root of a host.
#[must_use]
pub fn slurm_release(root: &Path, plugin_dir: Option<&str>) -> Option<Version> {
    release(root, &folders(root, plugin_dir))
}

/// The folders of PluginDir, or a usual one.
fn folders(root: &Path, plugin_dir: Option<&str>) -> Vec<PathBuf> {
    let given = plugin_dir.map(|value| value.split(':').map(PathBuf::from).collect());
    given.unwrap_or_else(|| {
        let usual = USUAL.iter().map(PathBuf::from);
        usual.filter(|folder| below(root, folder).join(STOCK).exists()).take(1).collect()
    })
}

fn release(root: &Path, folders: &[PathBuf]) -> Option<Version> {
    folders.iter().find_map(|folder| release_of(&below(root, folder).join(STOCK)))
}

/// The release that a plugin of Slurm was built for.
fn release_of(path: &Path) -> Option<Version> {
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

/// The page with the table of files and hosts.
const PAGE: &str = "docs/releases.md#where-the-files-go";

/// Slurm's release is known, or a table file describes it.
pub(crate) fn release_is_known(plugins: &Plugins) -> Option<Finding> {
    let Some(release) = plugins.release else {
        let folders: Vec<_> = plugins.folders.iter().map(|folder| folder.display().to_string()).collect();
        let what = match folders.is_empty() {
            true => "no usual folder has Slurm's plugins".to_owned(),
            false => format!("no select_cons_tres.so in {} tells the release of Slurm", folders.join(":")),
        };
        return Some(Finding::warning("PluginDir", what, "write PluginDir= of this Slurm into slurm.conf"));
    };
    match &plugins.table {
        Err(why) => {
            let (file, why) = why.split_once(": ").unwrap_or(("slurm-layout.conf", why));
            let fix = "make it again with cargo xtask layout, or remove it";
            Some(Finding::error(file, why.split(';').next().unwrap_or(why), fix))
        }
        Ok(table) if *table == Some(release) || release.known().is_some() => None,
        Ok(_) => Some(Finding::error(
            format!("Slurm {release}"),
            format!("this release is not known (known are {})", known_releases()),
            "measure it with cargo xtask layout --source DIR, or install a newer slurm-vipu",
        )),
    }
}

/// The files that this host needs are in PluginDir, those of slurmctld in one folder.
pub(crate) fn files_are_there(slurm: &Slurm, plugins: &Plugins, models: &[ModelFile]) -> Vec<Finding> {
    let folders: Vec<_> = plugins.folders.iter().map(|folder| folder.display().to_string()).collect();
    let folders = if folders.is_empty() { "a usual folder".to_owned() } else { folders.join(":") };
    let mut findings = Vec::new();
    let mut need = |name: &str, level: Level, who: &str| {
        if plugins.file(name).is_none() {
            let what = format!("it is not in {folders}, and {who}");
            let fix = format!("install it there ({PAGE})");
            findings.push(Finding { level, ..Finding::error(name, what, fix) });
        }
    };
    let selector = selector(slurm);
    if slurm.is_controller_host {
        for name in [selector, "vipu_slurmctld.so", "job_submit_vipu.so"] {
            need(name, Level::Error, "slurmctld needs it");
        }
    } else if let Some((level, who)) = need_of_selector(slurm, plugins) {
        need(selector, level, who);
    }
    let fetches = settings(models).any(|(_, own)| own.delivery == Delivery::Node);
    if slurm.has_ipus && fetches && !plugins.has_fetch {
        let what = "it is not beside spank_ipuof.so, and Delivery=node needs it";
        findings.push(Finding::error(
            "ipuof-fetch",
            what,
            "build it with cargo build --release -p ipuof-fetch, and copy it there",
        ));
    }
    let folder = |name| plugins.file(name).map(|file| &file.folder);
    if let (Some(front), Some(back)) = (folder(selector), folder("vipu_slurmctld.so"))
        && front != back
    {
        let what = format!("it is in {}, and {selector} in {}", back.display(), front.display());
        findings.push(Finding::error("vipu_slurmctld.so", what, "install both in one folder"));
    }
    findings
}

/// The file of the selector that SelectType names.
fn selector(slurm: &Slurm) -> &'static str {
    match slurm.value("SelectType") {
        Some("select/vipu_cons_tres") => "select_vipu_cons_tres.so",
        _ => "select_vipu.so",
    }
}

/// The need of the selector on a host other than that of slurmctld (docs/releases.md).
fn need_of_selector(slurm: &Slurm, plugins: &Plugins) -> Option<(Level, &'static str)> {
    let series = plugins.release?.series();
    let (has_no_need, of_all) = (Series::new(25, 5), Series::new(23, 2));
    let is_of_slurmd = series < has_no_need && series != Series::new(23, 11);
    match slurm.is_node {
        true if is_of_slurmd => Some((Level::Error, "slurmd needs it")),
        _ if series <= of_all => Some((Level::Error, "most commands of Slurm need it")),
        _ if series < has_no_need => Some((Level::Warning, "sinfo and scontrol show node need it")),
        _ => None,
    }
}

/// All files are of one version, and those of one process of one build.
pub(crate) fn files_are_of_one_build(files: &[PluginFile]) -> Option<Finding> {
    let versions: BTreeSet<_> = files.iter().map(|file| &file.version).collect();
    let builds: BTreeSet<_> = files.iter().filter_map(|file| file.build.as_ref()).collect();
    if versions.len() <= 1 && builds.len() <= 1 {
        return None;
    }
    let mut of_build: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    // A file without a build goes with every build of its version.
    let is_odd = |file: &&PluginFile| versions.len() > 1 || file.build.is_some();
    for file in files.iter().filter(is_odd) {
        of_build.entry(in_words(file)).or_default().push(file.name);
    }
    let mut of_build: Vec<_> = of_build.into_iter().collect();
    of_build.sort_by_key(|(_, names)| names.len());
    let part = |(build, names): &(String, Vec<&str>)| format!("{} of {build}", names.join(", "));
    let parts: Vec<_> = of_build.iter().map(part).collect();
    let what = format!("the files differ in their builds: {}", parts.join("; "));
    Some(Finding::error("PluginDir", what, "install all files of one build, with install and not with cp"))
}

/// The build of a file in words.
fn in_words(file: &PluginFile) -> String {
    match (&file.version, &file.build) {
        (Some(version), Some(build)) => format!("{version} ({build})"),
        (Some(version), None) => version.clone(),
        (None, _) => "an unknown version".to_owned(),
    }
}

/// The selector is installed under one name. Up to 24.11 Slurm loads both.
pub(crate) fn one_name_of_the_selector(slurm: &Slurm, plugins: &Plugins) -> Option<Finding> {
    let names = ["select_vipu.so", "select_vipu_cons_tres.so"];
    let loads_both = plugins.release.is_none_or(|release| release.series() < Series::new(25, 5));
    if !loads_both || names.iter().any(|name| plugins.file(name).is_none()) {
        return None;
    }
    let unused = names.into_iter().find(|name| *name != selector(slurm))?;
    let what = "the selector is installed under both its names, so that Slurm ends with Duplicate plugin_id";
    Some(Finding::error(unused, what, format!("remove {unused}")))
}
