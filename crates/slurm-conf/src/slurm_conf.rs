//! slurm.conf, with the files that it includes, and the lines that name nodes or Slurm partitions, with the values that
//! they inherit.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::lines::{Joined, Pair, first_pair, is_blank, joined};
use crate::problem::{Place, Problem, Reason};
use crate::{DEEPEST, Files, MOST_FILES};

/// The keys with programs that run around jobs.
pub const PROGRAMS_AROUND_JOBS: [&str; 8] = [
    "Prolog",
    "Epilog",
    "PrologSlurmctld",
    "EpilogSlurmctld",
    "TaskProlog",
    "TaskEpilog",
    "SrunProlog",
    "SrunEpilog",
];

/// The keys behind which further pairs may stand.
const WITH_PAIRS: [&str; 6] =
    ["NodeName", "PartitionName", "DownNodes", "NodeSet", "FrontendName", "PowerAction"];

/// The words of PrologFlags with which slurmd waits for slurmctld's order to run Prolog, in all releases that know them.
const WITH_ALLOC: [&str; 6] = ["Alloc", "Contain", "ForceRequeueOnFail", "NoHold", "RunInJob", "X11"];

/// The first release in which `DeferBatch` has this effect, too.
const DEFER_BATCH: (&str, u32) = ("DeferBatch", 0x1a_05_00);

/// One line with a key.
#[derive(Clone, Debug)]
pub struct Line {
    /// The place of its first physical line.
    pub place: Place,
    /// The number of its physical lines.
    pub count: usize,
    /// Its first pair, which says what the line is about.
    pub pair: Pair,
    /// The further pairs, as of a node.
    pub more: Vec<Pair>,
}

/// The lines of slurm.conf, in the order in which Slurm reads them.
#[derive(Debug, Default)]
pub struct SlurmConf {
    /// The lines.
    pub lines: Vec<Line>,
    /// The lines, or parts of them, that Slurm does not take. slurmctld does not start with one.
    pub problems: Vec<Problem>,
    /// The files that were read, slurm.conf first.
    pub files: Vec<Arc<Path>>,
}

impl SlurmConf {
    /// The key for which Slurm ends unless the name in SelectType contains `cons_tres`.
    pub fn needs_cons_tres(&self) -> Option<&'static str> {
        let overrides = |list: &str| list.to_ascii_lowercase().contains("slurmdspecoverride");
        let has_override = self.value("TaskPluginParam").is_some_and(overrides);
        match self.value("MaxNodeCount") {
            Some(_) => Some("MaxNodeCount"),
            None => has_override.then_some("TaskPluginParam=SlurmdSpecOverride"),
        }
    }

    /// Reads slurm.conf and the files that it includes.
    ///
    /// # Errors
    /// When slurm.conf cannot be read. An included file that cannot be read is a [`Problem`].
    pub fn read(path: &Path, files: &mut dyn Files) -> io::Result<Self> {
        let text = files.read(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut reader = Reader { folder, files, conf: Self::default() };
        reader.text(path, &text, 0);
        Ok(reader.conf)
    }

    /// The lines of a key, in their order. Slurm takes several of NodeName or Prolog, for example.
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Line> {
        self.lines.iter().filter(move |line| line.pair.is(key))
    }

    /// The line of a key that has one value. The last one counts.
    pub fn line(&self, key: &str) -> Option<&Line> {
        self.lines.iter().rfind(|line| line.pair.is(key))
    }

    /// The value of a key that has one value.
    pub fn value(&self, key: &str) -> Option<&str> {
        Some(&self.line(key)?.pair.value)
    }

    /// The nodes, each with the values of `NodeName=DEFAULT` lines above it.
    pub fn nodes(&self) -> Vec<Named> {
        with_defaults(self.all("NodeName"))
    }

    /// The Slurm partitions, each with the values of `PartitionName=DEFAULT` lines above it.
    pub fn partitions(&self) -> Vec<Named> {
        with_defaults(self.all("PartitionName"))
    }

    /// Whether there is a Prolog with the variables that srun sends. slurmd runs it for srun's first step on a node if
    /// no word of PrologFlags has it wait for slurmctld. `release` is Slurm's `SLURM_VERSION_NUMBER`.
    pub fn prolog_hears_srun(&self, release: u32) -> bool {
        let has_alloc = |word: &str| {
            WITH_ALLOC.iter().any(|known| word.eq_ignore_ascii_case(known))
                || word.eq_ignore_ascii_case(DEFER_BATCH.0) && release >= DEFER_BATCH.1
        };
        let flags = self.value("PrologFlags").unwrap_or_default();
        self.line("Prolog").is_some() && !flags.split(',').any(has_alloc)
    }
}

/// A value, and where it is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// The key as written.
    pub key: String,
    /// The value.
    pub value: String,
    /// The line that gives it, which may be a DEFAULT line.
    pub place: Place,
}

/// Attributes by their keys in small letters.
type Attributes = BTreeMap<String, Attribute>;

/// A line that names nodes or a Slurm partition.
#[derive(Clone, Debug)]
pub struct Named {
    /// The name, or a host list.
    pub name: String,
    /// The line.
    pub place: Place,
    own: Attributes,
    inherited: Arc<Attributes>,
}

impl Named {
    /// The attribute of this key: the last of the line, or that of the DEFAULT lines.
    pub fn get(&self, key: &str) -> Option<&Attribute> {
        let key = key.to_ascii_lowercase();
        self.own.get(&key).or_else(|| self.inherited.get(&key))
    }
}

/// The lines but the DEFAULT lines, whose values all lines below them inherit.
fn with_defaults<'a>(lines: impl Iterator<Item = &'a Line>) -> Vec<Named> {
    let mut inherited = Arc::<Attributes>::default();
    let mut all = Vec::new();
    for line in lines {
        if line.pair.value.eq_ignore_ascii_case("DEFAULT") {
            Arc::make_mut(&mut inherited).extend(own(line));
        } else {
            let (name, place) = (line.pair.value.clone(), line.place.clone());
            all.push(Named { name, place, own: own(line), inherited: inherited.clone() });
        }
    }
    all
}

/// The attributes of a line itself. The last of a key counts.
fn own(line: &Line) -> Attributes {
    let attribute = |pair: &Pair| {
        let (key, value) = (pair.key.clone(), pair.value.clone());
        (key.to_ascii_lowercase(), Attribute { key, value, place: line.place.clone() })
    };
    line.more.iter().map(attribute).collect()
}

struct Reader<'a> {
    /// The folder of slurm.conf.
    folder: &'a Path,
    files: &'a mut dyn Files,
    conf: SlurmConf,
}

impl Reader<'_> {
    fn text(&mut self, path: &Path, text: &str, depth: usize) {
        let file: Arc<Path> = path.into();
        self.conf.files.push(file.clone());
        for joined in joined(text) {
            let place = Place { file: file.clone(), line: joined.number };
            let taken = match included(&joined.text) {
                Some((name, rest)) => self.include(name, rest, depth),
                None => self.line(&place, &joined),
            };
            self.conf.problems.extend(taken.err().map(|reason| Problem { place, reason }));
        }
    }

    fn line(&mut self, place: &Place, joined: &Joined) -> Result<(), Reason> {
        if joined.text.chars().all(is_blank) {
            return Ok(());
        }
        let (pair, mut end) = first_pair(joined, 0).ok_or_else(|| no_pair(&joined.text))?;
        let takes_more = WITH_PAIRS.iter().any(|key| pair.is(key));
        let mut more = Vec::new();
        while let Some((next, after)) = first_pair(joined, end).filter(|_| takes_more) {
            more.push(next);
            end = after;
        }
        let key = pair.key.clone();
        self.conf.lines.push(Line { place: place.clone(), count: joined.count, pair, more });
        match joined.text[end..].trim_matches(is_blank) {
            "" => Ok(()),
            rest if takes_more => Err(no_pair(rest)),
            rest => Err(Reason::Rest { key, rest: rest.to_owned() }),
        }
    }

    fn include(&mut self, name: &str, rest: &str, depth: usize) -> Result<(), Reason> {
        let name = self.with_cluster(name)?;
        if name.is_empty() {
            return Err(Reason::NoFile);
        }
        if name.contains('*') {
            return Err(Reason::Pattern(name));
        }
        if depth == DEEPEST || self.conf.files.len() == MOST_FILES {
            return Err(Reason::TooManyFiles);
        }
        // A relative path counts from the folder of slurm.conf, also in an included file.
        let path: PathBuf = self.folder.join(&name);
        let text = self.files.read(&path);
        let text = text.map_err(|why| Reason::Unreadable { file: path.display().to_string(), why })?;
        self.text(&path, &text, depth + 1);
        match rest.trim_matches(is_blank) {
            "" => Ok(()),
            rest => Err(Reason::Rest { key: "Include".into(), rest: rest.to_owned() }),
        }
    }

    /// The name with the cluster's name, in small letters, for `%c`.
    fn with_cluster(&self, name: &str) -> Result<String, Reason> {
        if !name.contains("%c") {
            return Ok(name.to_owned());
        }
        let cluster = self.conf.value("ClusterName").ok_or_else(|| Reason::NoClusterName(name.to_owned()))?;
        Ok(name.replace("%c", &cluster.to_ascii_lowercase()))
    }
}

fn no_pair(text: &str) -> Reason {
    Reason::NoPair(text.trim_matches(is_blank).to_owned())
}

/// The file that a line includes, and what follows it. Slurm knows the word only at the beginning of a line.
fn included(line: &str) -> Option<(&str, &str)> {
    let (word, rest) = line.split_at_checked("include".len())?;
    let is_include = word.eq_ignore_ascii_case("include") && rest.starts_with(is_blank);
    let rest = rest.trim_start_matches(is_blank);
    is_include.then(|| rest.split_at(rest.find(is_blank).unwrap_or(rest.len())))
}
