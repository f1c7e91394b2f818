//! What is built once on a machine. It is kept outside of the clone, in a folder for each recipe.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use testbed::process::{Lead, Start};
use testbed::{Account, say};

/// The limit of a recipe. On two cores with much other work the longest took 20 minutes.
const LIMIT: Duration = Duration::from_secs(2 * 60 * 60);

/// A shell script that makes the folder `out`.
pub(crate) struct Recipe {
    pub name: &'static str,
    pub script: &'static str,
    /// Files beside the script, with their contents.
    pub files: &'static [(&'static str, &'static str)],
    /// The time that it takes, for people.
    pub time: &'static str,
}

impl Recipe {
    /// The folder that the recipe makes. If it is not there, runs the recipe with these arguments. A second process
    /// waits meanwhile.
    pub fn folder(&self, arguments: &[&str]) -> Result<PathBuf> {
        let cache = cache()?;
        let made = cache.join(format!("{}-{:08x}", self.name, self.hash()));
        if made.is_dir() {
            return Ok(made);
        }
        let file = |suffix: &str| cache.join(format!("{}.{suffix}", self.name));
        let (lock, work, log) = (File::create(file("lock"))?, file("work"), file("log"));
        lock.lock()?;
        if made.is_dir() {
            return Ok(made);
        }
        say(format!("making {} once ({}); the log is {}", made.display(), self.time, log.display()));
        // A run that was killed has left its folder.
        remove(&work)?;
        fs::create_dir(&work)?;
        self.run(&work, &log, arguments)?;
        fs::rename(work.join("out"), &made)?;
        remove(&work)?;
        Ok(made)
    }

    /// The key in the cache: another recipe makes another folder.
    fn hash(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(self.script.as_bytes());
        self.files.iter().for_each(|(_, contents)| hasher.update(contents.as_bytes()));
        hasher.finalize()
    }

    fn run(&self, work: &Path, log: &Path, arguments: &[&str]) -> Result<()> {
        for (name, contents) in self.files.iter().chain(&[("recipe", self.script)]) {
            fs::write(work.join(name), contents)?;
        }
        // The folder's name stands for whole files, even if the machine stops the next moment.
        let script = r#"set -eu; exec 2>&1; . ./recipe; find "$0/out" -type f -exec sync {} +"#;
        let work_path = work.display().to_string();
        let args = ["-c", script, &work_path].into_iter().chain(arguments.iter().copied());
        let args: Vec<_> = args.map(str::to_owned).collect();
        let environment: Vec<_> = env::vars().collect();
        let start = Start {
            program: Path::new("/bin/sh"),
            args: &args,
            account: &Account::root()?,
            hostname: None,
            disk: None,
            environment: &environment,
            directory: work,
        };
        let lead = Lead::new()?;
        let mut recipe = lead.start(&start, log, Path::new("/dev/null"))?;
        let status = recipe.ended_within(LIMIT)?.with_context(|| format!("{} takes too long", self.name))?;
        ensure!(status.success(), "the recipe {} failed ({status}): read {}", self.name, log.display());
        Ok(())
    }
}

fn remove(folder: &Path) -> Result<()> {
    let removed = if folder.exists() { fs::remove_dir_all(folder) } else { Ok(()) };
    removed.with_context(|| format!("cannot remove {}", folder.display()))
}

/// The folder of all that is built once.
pub(crate) fn cache() -> Result<PathBuf> {
    let caches = match env::var_os("XDG_CACHE_HOME") {
        Some(caches) => PathBuf::from(caches),
        None => PathBuf::from(env::var_os("HOME").context("HOME is not set")?).join(".cache"),
    };
    let cache = caches.join("slurm-vipu/kubernetes");
    fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
    Ok(cache)
}
