//! What a call of job_submit takes, ours and that of a Lua script that does the like, on the same request in the same slurmctld.

use anyhow::{Context, Result, ensure};

use crate::Cluster;

/// Its file, in target/release: `cargo build --release --package stopwatch`.
const STOPWATCH: &str = "job_submit_stopwatch.so";

/// What a site without slurm-vipu would check and complete.
const SCRIPT: &str = include_str!("submit_cost.lua");

/// What ours may take at most, as a part of what the script takes.
pub const TARGET: f64 = 0.2;

/// A request, and how it ends.
const REQUESTS: [(&str, &str); 4] = [
    ("none", ""),
    ("accepted", "--gres=vipu:pod64:16"),
    ("completed", "--gres=vipu:4"),
    ("refused", "--gres=vipu:pod64:3"),
];

/// What both sides took for a request.
#[derive(Debug)]
pub struct Timed {
    /// What became of the request.
    pub outcome: &'static str,
    /// The options of sbatch.
    pub request: &'static str,
    /// Median of job_submit/lua, in nanoseconds.
    pub lua: f64,
    /// Median of job_submit/vipu, in nanoseconds.
    pub vipu: f64,
}

impl Timed {
    /// Ours to the script's.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.vipu / self.lua
    }
}

/// Measures each request so often, on a cluster of its own.
///
/// # Errors
/// When the cluster does not do what it should, or the two sides do not come to the same.
pub fn measure(rounds: usize) -> Result<Vec<Timed>> {
    let settings = Cluster::settings().nodes(1).more_plugin(STOPWATCH).conf_file("job_submit.lua", SCRIPT);
    settings.slurm_conf("JobSubmitPlugins=stopwatch,lua,vipu").run(|cluster| {
        let rounds = (0..rounds).flat_map(|_| REQUESTS);
        rounds.map(|(outcome, request)| one(cluster, outcome, request)).collect()
    })
}

fn one(cluster: &Cluster, outcome: &'static str, request: &'static str) -> Result<Timed> {
    let options: Vec<_> = request.split_whitespace().collect();
    let told = cluster.sbatch_command("true", &options)?.output()?.stderr;
    let side = |name: &str| {
        let mark = format!("stopwatch: {name} ");
        let line = told.lines().find_map(|line| Some(line.split_once(&mark)?.1));
        line.and_then(read).with_context(|| format!("nothing of {name} in: {told}"))
    };
    let ((lua, lua_code, lua_gres), (vipu, vipu_code, vipu_gres)) = (side("lua")?, side("vipu")?);
    let same = (lua_code == 0) == (vipu_code == 0) && (lua_code != 0 || lua_gres == vipu_gres);
    ensure!(same && (outcome == "refused") == (lua_code != 0), "{request}: {told}");
    Ok(Timed { outcome, request, lua, vipu })
}

/// `1234 ns, code 0, gres:vipu:pod64:4`
fn read(line: &str) -> Option<(f64, i32, &str)> {
    let (nanoseconds, rest) = line.split_once(" ns, code ")?;
    let (code, gres) = rest.split_once(", ").unwrap_or((rest.trim_end_matches(','), ""));
    Some((nanoseconds.parse().ok()?, code.parse().ok()?, gres.trim()))
}
