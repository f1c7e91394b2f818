//! Fuzz targets: one for each reader of bytes that others wrote, as a function of any bytes. It must return, soon, without
//! a panic, and what it has read must read the same when it is written again. The target `jobs` takes job records of any
//! content through the front end.
//!
//! The tests replay the corpus and mutate it for some seconds. `cargo xtask fuzz <target>` runs libFuzzer on a target, with
//! the stable compiler.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a property that does not hold is to stop the run")]

mod corpus;
pub mod mutation;
mod targets;

use std::path::Path;

pub use targets::TARGETS;

/// One reader that is fuzzed.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is that of its file in `corpus/`.
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

    /// The inputs to start from: its seeds, and its corpus in `corpus/`.
    ///
    /// # Panics
    ///
    /// If its corpus cannot be read.
    #[must_use]
    pub fn inputs(&self) -> Vec<Vec<u8>> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/{}.txt", self.name));
        let mut inputs = (self.seeds)();
        inputs.extend(corpus::inputs(&std::fs::read_to_string(file).unwrap()).unwrap());
        inputs
    }
}
