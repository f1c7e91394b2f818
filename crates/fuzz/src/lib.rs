//! What reads bytes that others wrote, each as a function of any bytes: it must return, soon, without a panic, and what
//! it has read must read the same when it is written again.
//!
//! `cargo xtask fuzz <target>` has libFuzzer run one of them, by stable Rust; the tests replay the corpus that such runs
//! have left in `corpus/`, and go on from there for some seconds.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a property that does not hold is to stop the run")]

pub mod mutation;
mod targets;

pub use targets::TARGETS;

/// One thing that is fuzzed.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is that of its folder in `corpus/`.
    pub name: &'static str,
    /// Reads the bytes, and panics if what must hold does not.
    pub check: fn(&[u8]),
    /// Inputs that mean something, to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// The target of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Where its corpus is.
    #[must_use]
    pub fn corpus(&self) -> std::path::PathBuf {
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(self.name)
    }
}
