//! Slurm's own log: direct lines for the small plugins, a `tracing` subscriber for the rest.

use std::ffi::{CStr, c_char, c_int};
use std::io;
use std::sync::LazyLock;

use tracing::subscriber::Interest;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Filter, Layer as _, SubscriberExt as _};

use crate::record::c_string;
use crate::symbols;

/// The log levels of Slurm at which we write (`log_level_t`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
enum SlurmLevel {
    Error = 2,
    Info = 3,
    Debug = 5,
    Debug2 = 6,
}

type LogVar = unsafe extern "C" fn(c_int, *const c_char, ...);
type LogLevel = unsafe extern "C" fn() -> c_int;

static LOG_VAR: LazyLock<Option<LogVar>> = LazyLock::new(|| {
    // SAFETY: `void log_var(log_level_t, const char *, ...)` in every release.
    unsafe { symbols::function(c"slurm_log_var") }
});
static LOG_LEVEL: LazyLock<Option<LogLevel>> = LazyLock::new(|| {
    // SAFETY: `int get_log_level(void)` in every release.
    unsafe { symbols::function(c"get_log_level") }
});

/// Writes one error line, for instance `error: select/vipu: ...`.
pub fn error(text: &str) {
    write(SlurmLevel::Error, text);
}

/// Writes one line that an administrator is to find in slurmctld's log. In a command it is only a debug line.
pub fn info_of_slurmctld(text: &str) {
    write(if symbols::in_slurmctld() { SlurmLevel::Info } else { SlurmLevel::Debug }, text);
}

/// Writes one line at level debug.
pub fn debug(text: &str) {
    write(SlurmLevel::Debug, text);
}

fn write(level: SlurmLevel, text: &str) {
    const FORMAT: &CStr = c"%s";
    if let Some(log_var) = *LOG_VAR {
        let text = c_string(text);
        // SAFETY: a constant "%s" format with one C string; Slurm's log takes its own lock.
        unsafe { log_var(level as c_int, FORMAT.as_ptr(), text.as_ptr()) };
    } else {
        eprintln!("{text}");
    }
}

fn slurm_level(level: &Level) -> SlurmLevel {
    match *level {
        Level::ERROR => SlurmLevel::Error,
        Level::WARN | Level::INFO => SlurmLevel::Info,
        Level::DEBUG => SlurmLevel::Debug,
        Level::TRACE => SlurmLevel::Debug2,
    }
}

fn enabled(metadata: &Metadata<'_>) -> bool {
    // SAFETY: no lock needed; it reads three numbers of Slurm's log configuration.
    LOG_LEVEL.is_none_or(|level| slurm_level(metadata.level()) as c_int <= unsafe { level() })
}

/// Sends `tracing` events of the given crates to Slurm's log, at Slurm's level at that moment.
///
/// Events of libraries are left out. Slurm has no level for warnings: they are info.
pub fn trace_to_slurm(crates: &'static [&'static str]) {
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(ToSlurm)
        .without_time()
        .with_level(false)
        .with_target(false)
        .with_ansi(false)
        .with_filter(filter(crates));
    // A second call in one process changes nothing: the first subscriber stays.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer));
}

/// Lets through the events of these crates at Slurm's level at that moment.
fn filter<S>(crates: &'static [&'static str]) -> impl Filter<S> {
    // A verdict for good on a place in the code ignores later changes of Slurm's level. The crate does not change.
    dynamic_filter_fn(|metadata, _| enabled(metadata)).with_callsite_filter(|metadata| {
        let of_ours = metadata.target().split("::").next().is_some_and(|name| crates.contains(&name));
        if of_ours { Interest::sometimes() } else { Interest::never() }
    })
}

struct ToSlurm;

/// Collects one event and hands it over when it is complete.
struct Line {
    level: SlurmLevel,
    text: Vec<u8>,
}

impl<'a> MakeWriter<'a> for ToSlurm {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line { level: SlurmLevel::Info, text: Vec::new() }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Line {
        Line { level: slurm_level(metadata.level()), text: Vec::new() }
    }
}

impl io::Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.text);
        write(self.level, &format!("select/vipu: {}", text.trim_end()));
    }
}

#[cfg(test)]
mod tests {
    use tracing::subscriber::with_default;
    use tracing_subscriber::Registry;

    use super::*;

    #[test]
    fn a_place_in_a_library_is_decided_once() {
        let (of_library, of_ours) = with_default(Registry::default(), || {
            let of_library = tracing::info_span!(target: "h2::proto", "poll").metadata().unwrap();
            (of_library, tracing::info_span!(target: "driver::create", "create").metadata().unwrap())
        });
        let filter = filter(&["driver"]);
        let verdict = |place| Filter::<Registry>::callsite_enabled(&filter, place);
        assert!(verdict(of_library).is_never());
        assert!(verdict(of_ours).is_sometimes(), "Slurm's level can change");
    }
}
