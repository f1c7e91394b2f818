//! Computes the number of the build (`BUILD`).

#![allow(clippy::expect_used, reason = "a build script reports by panicking")]

mod source_hash;

use std::env;
use std::path::Path;

/// The sources that decide how data crosses between the objects: the types of this crate, and the layouts of
/// Slurm's records.
const SOURCES: [&str; 4] =
    ["src", "../slurm-release/src", "../slurm-release/build.rs", "../slurm-release/layouts.json"];

fn main() {
    let here = env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let version = env::var("CARGO_PKG_VERSION").expect("set by cargo");
    let sources = SOURCES.map(|source| Path::new(&here).join(source));
    let build = source_hash::of(&sources, &version).expect("the sources can be read");
    println!("cargo::rustc-env=SLURM_HOST_BUILD={build}");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
}
