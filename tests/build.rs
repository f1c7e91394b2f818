//! Compiles the SPANK plugin of a user, which the end-to-end tests carry with them: the containers of other releases
//! have no compiler.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a build script reports by panicking")]

use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "e2e/deliver/forger.c";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    let object = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("forger.so");
    let cc = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(object).arg(SOURCE).status();
    assert!(cc.expect("cc can be run").success(), "cc does not compile {SOURCE}");
}
