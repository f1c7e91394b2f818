//! The objects and programs for sites, built against glibc 2.28 with Zig's linker.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use testbed::programs;

use super::contents::{File, PACKAGES};
use super::glibc;
use crate::{build, image, needed_packages, run};

/// Zig has the stubs of every glibc. PyPI has both programs.
const ZIG: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.1"];

pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds everything. Returns the folder with the results.
pub fn objects() -> Result<PathBuf> {
    let tools = tools()?;
    let workspace = run::workspace().canonicalize()?;
    let folder = workspace.join("target/for-sites");
    let target = format!("{TARGET}.{}", glibc::NEWEST);
    let mut cargo = run::cargo_command(&["zigbuild", "--release", "--locked", "--target", &target]);
    cargo.args(packages());
    let path = env::var_os("PATH").unwrap_or_default();
    let paths = [tools.join("bin")].into_iter().chain(env::split_paths(&path));
    cargo.env("PATH", env::join_paths(paths)?);
    cargo.env("CARGO_TARGET_DIR", &folder);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", without_paths(&workspace)?);
    run::visibly(cargo)?;
    Ok(folder.join(TARGET).join("release"))
}

/// Gathers the objects and programs that the tests have built. Returns the folder.
pub fn tested_objects() -> Result<PathBuf> {
    let folder = run::workspace().join("target/tested");
    for file in PACKAGES.iter().flat_map(|package| package.files) {
        let (built, name) = match file {
            File::Plugin(name) => (programs::own_plugin(&format!("{name}.so"))?, format!("lib{name}.so")),
            File::Helper(programs::HELPER) => (programs::own_helper()?, programs::HELPER.into()),
            File::Helper(name) | File::Program(name, _) => (programs::find(name)?, (*name).into()),
            _ => continue,
        };
        let copy = folder.join(name);
        image::stage_file(&built, &copy)?;
        // The tests' programs have symbols, which make packages slow.
        let mut strip = Command::new("strip");
        strip.arg(copy);
        run::visibly(strip)?;
    }
    Ok(folder.canonicalize()?)
}

/// The cargo arguments that select everything that is shipped.
pub fn packages() -> impl Iterator<Item = &'static str> {
    let files = PACKAGES.iter().flat_map(|package| package.files);
    let programs = files.filter_map(|file| match file {
        File::Helper(of) | File::Program(_, of) => Some(["--package", *of]),
        _ => None,
    });
    build::plugin_packages().chain(programs.flatten())
}

/// Flags that leave the folders of this build out of messages.
fn without_paths(workspace: &Path) -> Result<String> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let home = home.context("neither CARGO_HOME nor HOME is set")?.canonicalize()?;
    let flag = |from: &Path, to| format!("--remap-path-prefix={}={to}", from.display());
    Ok([flag(workspace, "slurm-vipu"), flag(&home, "cargo")].join("\x1f"))
}

/// A Python environment with Zig and cargo-zigbuild. Returns its folder.
fn tools() -> Result<PathBuf> {
    // The versions are in the name, so that other ones are installed anew.
    let folder = run::workspace().join("target/dist-tools").join(ZIG.join(","));
    if !folder.join("bin/cargo-zigbuild").exists() {
        let has_venv = Command::new("python3").args(["-c", "import ensurepip"]).status()?.success();
        if !has_venv {
            needed_packages::install_missing(&needed_packages::PYTHON)?;
        }
        let mut create = Command::new("python3");
        create.args(["-m", "venv", "--clear"]).arg(&folder);
        run::visibly(create)?;
        let mut install = Command::new(folder.join("bin/pip"));
        install.args(["install", "--quiet", "--disable-pip-version-check"]).args(ZIG);
        run::visibly(install)?;
    }
    Ok(folder.canonicalize()?)
}
