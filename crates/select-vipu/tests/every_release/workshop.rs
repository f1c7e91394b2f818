//! Builds fake Slurms, a room for each process that plays one, and runs these processes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;
use testbed::programs::{self, PLUGINS};
use testbed::wait_for;

use crate::releases::Release;
use crate::room::{Room, Scene};
use crate::scenes;

/// Longer than any scene takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Stock selectors with the id that Slurm gives each.
const SELECTORS: [(&str, u32); 2] = [("cons_tres", 109), ("linear", 102)];

/// A folder with our plugins, and with a fake Slurm for each series that was asked for.
pub struct Workshop {
    folder: TempDir,
    rooms: Mutex<usize>,
}

impl Workshop {
    /// Builds what these releases need.
    pub fn new<'a>(releases: impl IntoIterator<Item = &'a Release>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for plugin in PLUGINS {
            fs::copy(programs::own_plugin(plugin)?, folder.path().join(plugin)).context(plugin)?;
        }
        let series: BTreeSet<_> = releases.into_iter().map(|release| release.series).collect();
        in_parallel(series, |series| build(&folder.path().join(series.to_string()), series))?;
        Ok(Self { folder, rooms: Mutex::new(0) })
    }

    /// A room with a fake Slurm of this release and our plugins, installed and configured as the README says.
    pub fn room(&self, release: &Release) -> Result<Room> {
        let number = {
            let mut rooms = self.rooms.lock().unwrap();
            *rooms += 1;
            *rooms
        };
        let room = Room(self.folder.path().join(format!("room-{number}-{}", release.name)));
        for folder in [room.plugins(), room.conf(), room.state(), room.ipuof()] {
            fs::create_dir_all(folder)?;
        }
        // Not symbolic links: the plugins look for Slurm's where they lie themselves.
        for plugin in PLUGINS {
            fs::hard_link(self.folder.path().join(plugin), room.plugins().join(plugin))?;
        }
        for part in fs::read_dir(self.folder.path().join(release.series.to_string()))? {
            let part = part?;
            fs::hard_link(part.path(), room.plugins().join(part.file_name()))?;
        }
        fs::write(room.slurm_conf(), "")?;
        Ok(room)
    }
}

/// Compiles the libraries and stock selectors of a series.
fn build(folder: &Path, series: u32) -> Result<()> {
    fs::create_dir_all(folder)?;
    compile(&folder.join("libslurmfull.so"), series, &["slurm.c", "callers.c"], &[])?;
    SELECTORS.iter().try_for_each(|(name, _)| compile_selector(folder, series, name, &[]))
}

/// Compiles a stock selector of a series, with more words for the compiler.
pub fn compile_selector(folder: &Path, series: u32, name: &str, words: &[&str]) -> Result<()> {
    let (_, id) = SELECTORS.iter().find(|(known, _)| *known == name).context("a stock selector")?;
    let (name_word, id_word) = (format!("-DNAME=\"{name}\""), format!("-DID={id}"));
    let words = [&[name_word.as_str(), &id_word], words].concat();
    let object = folder.join(format!("select_{name}.so"));
    // What lies there may be a link to what others use.
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

/// Plays a scene in a process of its own, as all is found and judged once per process; returns what it said.
pub fn play(room: &Room, release: &Release, scene: Scene) -> Result<String> {
    let heard = room.0.join("heard");
    let output = fs::File::create(&heard)?;
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--exact", crate::ENTRY, "--nocapture", "--test-threads=1"])
        .envs(room.variables(&release.name, scene))
        .env("RUST_BACKTRACE", "0")
        .env("VIPU_FAILPOINTS", room.failpoints())
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()?;
    let ended = wait_for("a scene to end", LIMIT, || Ok(child.try_wait()?));
    if ended.is_err() {
        child.kill()?;
        child.wait()?;
    }
    let heard = String::from_utf8_lossy(&fs::read(heard)?).into_owned();
    match ended {
        // The harness is content with a test of another name, too.
        Ok(status) if status.success() && heard.contains(scenes::END) => Ok(heard),
        Ok(status) => bail!("Slurm {} ({scene:?}): {status}: {heard}", release.name),
        Err(late) => Err(late.context(format!("Slurm {} ({scene:?}): {heard}", release.name))),
    }
}

/// Does something for each item, a few at a time; the error tells of all that failed, each different failure once.
pub fn in_parallel<T: Send>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    let queue = Mutex::new(items.into_iter().collect::<Vec<_>>().into_iter());
    let failures = Mutex::new(Vec::new());
    let threads = thread::available_parallelism().map_or(1, usize::from);
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
