//! Waiting for conditions, with a limit.

use std::{
    sync::OnceLock,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, ensure};

const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(80);
/// A pause is as long as the look before it, up to this. Otherwise looks into containers, which start processes
/// of the engine, hold both processors.
const LONGEST_PAUSE_AFTER_LOOK: Duration = Duration::from_millis(500);
/// The time in which a second begins even on a machine that stands still for a while.
const NEXT_SECOND: Duration = Duration::from_secs(60);
const FIRST_NOTICE: Duration = Duration::from_secs(3);

pub fn say(line: impl AsRef<str>) {
    static START: OnceLock<Instant> = OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed();
    eprintln!("[{:6.1} s] {}", elapsed.as_secs_f64(), line.as_ref());
}

/// Waits until `found` has a value. After `limit` the error names `what`.
pub fn wait_for<T>(what: &str, limit: Duration, mut found: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let start = Instant::now();
    let mut pause = SHORTEST_PAUSE;
    let mut notice = FIRST_NOTICE;
    loop {
        let look = Instant::now();
        if let Some(value) = found().with_context(|| format!("while waiting for {what}"))? {
            return Ok(value);
        }
        let after_look = look.elapsed().min(LONGEST_PAUSE_AFTER_LOOK);
        let waited = start.elapsed();
        ensure!(waited < limit, "gave up after {:.1} s waiting for {what}", waited.as_secs_f64());
        if waited >= notice {
            say(format!("still waiting for {what}"));
            notice += notice;
        }
        thread::sleep(pause.max(after_look));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Waits until the next second begins: a node refuses a launch in the second in which it heard of the end before.
pub fn next_second() -> Result<()> {
    let now = || Ok::<_, anyhow::Error>(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs());
    let begun = now()?;
    wait_until("the next second", NEXT_SECOND, || Ok(now()? > begun))
}

pub fn wait_until(what: &str, limit: Duration, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    wait_for(what, limit, || Ok(holds()?.then_some(())))
}
