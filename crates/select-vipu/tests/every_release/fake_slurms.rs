//! Builds and installs fake Slurms. Each runs in a process of its own.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;
use testbed::programs::{self, PLUGINS};
use testbed::wait_for;

use crate::installation::{Installation, Scenario};
use crate::releases::Release;
use crate::scenarios;

/// A limit that no scenario exceeds on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The stock selectors, each with its id in Slurm.
const SELECTORS: [(&str, u32); 2] = [("cons_tres", 109), ("linear", 102)];

/// A folder with our plugins, and with a fake Slurm for each requested series.
pub struct FakeSlurms {
    folder: TempDir,
    installations: AtomicUsize,
}

impl FakeSlurms {
    /// Builds the fake Slurms of these releases.
    pub fn new<'a>(releases: impl IntoIterator<Item = &'a Release>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for plugin in PLUGINS {
            fs::copy(programs::own_plugin(plugin)?, folder.path().join(plugin)).context(plugin)?;
        }
        let series: BTreeSet<_> = releases.into_iter().map(|release| release.series).collect();
        in_parallel(series, |series| build(&folder.path().join(series.to_string()), series))?;
        Ok(Self { folder, installations: AtomicUsize::new(0) })
    }

    /// Makes an installation with a fake Slurm of this release and our plugins, installed and configured as
    /// the README says.
    pub fn install(&self, release: &Release) -> Result<Installation> {
        let number = self.installations.fetch_add(1, Ordering::Relaxed);
        let installation =
            Installation(self.folder.path().join(format!("installation-{number}-{}", release.name)));
        for folder in
            [installation.plugins(), installation.conf(), installation.state(), installation.ipuof()]
        {
            fs::create_dir_all(folder)?;
        }
        // No symbolic links, because the plugins look for Slurm's plugins in their own directory.
        for plugin in PLUGINS {
            fs::hard_link(self.folder.path().join(plugin), installation.plugins().join(plugin))?;
        }
        for part in fs::read_dir(self.folder.path().join(release.series.to_string()))? {
            let part = part?;
            fs::hard_link(part.path(), installation.plugins().join(part.file_name()))?;
        }
        fs::write(installation.slurm_conf(), "")?;
        Ok(installation)
    }
}

/// Compiles the libraries and stock selectors of a series.
fn build(folder: &Path, series: u32) -> Result<()> {
    fs::create_dir_all(folder)?;
    compile(&folder.join("libslurmfull.so"), series, &["slurm.c", "callers.c"], &[])?;
    SELECTORS.iter().try_for_each(|(name, _)| compile_selector(folder, series, name, &[]))
}

/// Compiles a stock selector of a series, with additional arguments for the compiler.
pub fn compile_selector(folder: &Path, series: u32, name: &str, words: &[&str]) -> Result<()> {
    let (_, id) = SELECTORS.iter().find(|(known, _)| *known == name).context("a stock selector")?;
    let (name_word, id_word) = (format!("-DNAME=\"{name}\""), format!("-DID={id}"));
    let words = [&[name_word.as_str(), &id_word], words].concat();
    let object = folder.join(format!("select_{name}.so"));
    // An existing object may be a hard link to a file that other installations use.
    let _ = fs::remove_file(&object);
    compile(&object, series, &["selector.c"], &words)
}

fn compile(object: &Path, series: u32, sources: &[&str], words: &[&str]) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/every_release/slurm");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-o"]).arg(object);
    cc.arg(format!("-DSERIES={series}")).args(words).args(sources.iter().map(|source| folder.join(source)));
    let output = cc.output().context("cannot run cc")?;
    ensure!(output.status.success(), "{cc:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Plays a scenario in a process of its own, because the plugins find and judge everything once per process.
/// Returns its output.
pub fn run(installation: &Installation, release: &Release, scenario: Scenario) -> Result<String> {
    let file = installation.0.join("output");
    let output = fs::File::create(&file)?;
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--exact", crate::ENTRY, "--nocapture", "--test-threads=1"])
        .envs(installation.variables(&release.name, scenario))
        .env("RUST_BACKTRACE", "0")
        .env("VIPU_FAILPOINTS", installation.failpoints())
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()?;
    let ended = wait_for("a scenario to end", LIMIT, || Ok(child.try_wait()?));
    if ended.is_err() {
        child.kill()?;
        child.wait()?;
    }
    let said = String::from_utf8_lossy(&fs::read(file)?).into_owned();
    match ended {
        // The harness also succeeds if it finds no test of this name.
        Ok(status) if status.success() && said.contains(scenarios::END) => Ok(said),
        Ok(status) => bail!("Slurm {} ({scenario:?}): {status}: {said}", release.name),
        Err(late) => Err(late.context(format!("Slurm {} ({scenario:?}): {said}", release.name))),
    }
}

/// Does `work` for each item, a few at a time. The error has all failures.
pub fn in_parallel<T: Send>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    let queue = Mutex::new(items.into_iter().collect::<Vec<_>>().into_iter());
    let failures = Mutex::new(Vec::new());
    // A scenario mostly waits.
    let threads = 4 * thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let item = queue.lock().unwrap().next();
                    let Some(item) = item else { return };
                    if let Err(why) = work(item) {
                        failures.lock().unwrap().push(format!("{why:#}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    ensure!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
    Ok(())
}
