//! Fuzz targets, one for each reader of untrusted bytes. A target is a function of any bytes. It must return
//! soon, without a panic, and a value that it writes out must read back as an equal value. The target `jobs`
//! takes job records of any content through the front end.
//!
//! The tests replay the corpus and mutate it for some seconds. `cargo xtask fuzz <target>` runs libFuzzer on
//! a target, with the stable compiler.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a property that does not hold is to stop the run")]

mod corpus;
pub mod mutation;
mod targets;

use std::path::Path;

pub use targets::TARGETS;

/// A reader, with its check and its seeds.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The target's name, which is also the name of its file in `corpus/`.
    pub name: &'static str,
    /// Reads the bytes, and panics if a property does not hold.
    pub check: fn(&[u8]),
    /// Returns meaningful first inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// Returns the target with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Returns the target's seeds and its corpus in `corpus/`.
    pub fn inputs(&self) -> Vec<Vec<u8>> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/{}.txt", self.name));
        let mut inputs = (self.seeds)();
        inputs.extend(corpus::inputs(&std::fs::read_to_string(file).unwrap()).unwrap());
        inputs
    }
}
