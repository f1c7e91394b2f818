//! Where the time of a run goes: a table of its phases.

use std::fmt::Write as _;
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::Result;

struct Phase {
    name: String,
    seconds: f64,
    /// The time in seconds for which the processors of this machine were busy meanwhile, also with other work.
    processor_seconds: f64,
}

/// The phases that have ended. Some run beside each other.
static ENDED: Mutex<Vec<Phase>> = Mutex::new(Vec::new());

/// Does the work of a phase.
pub fn phase<T>(name: impl Into<String>, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let (began, busy) = (Instant::now(), busy_seconds());
    let done = work();
    let (seconds, processor_seconds) = (began.elapsed().as_secs_f64(), busy_seconds() - busy);
    let mut ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    ended.push(Phase { name: name.into(), seconds, processor_seconds });
    done
}

/// The table of all phases.
pub fn table() -> String {
    let mut text = "| phase | s | s of processors |\n|---|---:|---:|\n".to_owned();
    for Phase { name, seconds, processor_seconds } in
        ENDED.lock().unwrap_or_else(PoisonError::into_inner).iter()
    {
        let _ = writeln!(text, "| {name} | {seconds:.0} | {processor_seconds:.0} |");
    }
    text
}

/// The time for which all processors together were busy since the machine started (proc_stat(5)).
fn busy_seconds() -> f64 {
    /// `USER_HZ` of all Linux architectures that Rust runs on.
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let words = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let ticks: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; a guest's time is in user, too.
    let idle = [3, 4];
    let busy = ticks.iter().take(8).enumerate().filter(|(place, _)| !idle.contains(place));
    busy.map(|(_, ticks)| ticks / TICKS).sum()
}
