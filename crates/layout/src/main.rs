//! Measures how a Slurm source tree lays out its records; `cargo xtask layout` runs it.
//!
//! In a program of its own for bindgen's sake: `cargo xtask` compiles without it.
#![forbid(unsafe_code)]

mod bindings;
mod clang;
mod measure;
mod source;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use slurm_release::table_file::{self, Measured};

use source::Source;

/// Measure how a Slurm source tree lays out its records.
#[derive(Parser)]
struct Arguments {
    /// Slurm's source tree; nothing is written into it.
    #[arg(long, value_name = "DIR", required_unless_present = "check")]
    source: Option<PathBuf>,
    /// The file to write.
    #[arg(long, value_name = "FILE", default_value = table_file::NAME)]
    out: PathBuf,
    /// Only see whether libclang and the headers it needs are there.
    #[arg(long, conflicts_with = "source")]
    check: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.source {
        Some(source) => run(source, &arguments.out),
        None => clang::check(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("layout: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(source: &Path, out: &Path) -> Result<()> {
    let source = Source::open(source)?;
    let measured = measure::measure(&clang::read(&source)?)?;
    write(&source, &measured, out)?;
    println!("Slurm {} measured: {} values", source.name, measured.len() + 1);
    println!("{}", compared(&source, &measured)?);
    println!(
        "written to {}; where it is needed its place is beside slurm.conf on every host that has the plugins, readable by all",
        out.display()
    );
    if source.is_unreleased() {
        println!(
            "note: {} is no release: the file holds for a Slurm built from exactly this tree, though the plugins take it for \
             every {}",
            source.name, source.version
        );
    }
    Ok(())
}

/// Writes the table file once the plugins can read it; until then an older one stays.
fn write(source: &Source, measured: &Measured, out: &Path) -> Result<()> {
    let mut new = OsString::from(out);
    new.push(".new");
    let new = PathBuf::from(new);
    let readable = || {
        let cannot = || format!("cannot write {}; choose another file with --out", out.display());
        fs::write(&new, table_file::render(source.version, source.soname, measured)).with_context(cannot)?;
        let table = table_file::parse(&fs::read_to_string(&new).with_context(cannot)?)?;
        ensure!(table.release.version == source.version, "it reads as {}", table.release.version);
        fs::rename(&new, out).with_context(cannot)
    };
    readable().inspect_err(|_| {
        // There may be none.
        let _ = fs::remove_file(&new);
    })
}

/// Whether the file is needed, in the light of what is built in.
fn compared(source: &Source, measured: &Measured) -> Result<String> {
    let version = source.version;
    let Some((soname, known)) = measure::built_in(version)? else {
        return Ok(format!("slurm-vipu does not know {version} by itself: its hosts need the file"));
    };
    let mut differences = measure::differences(&known, measured);
    if soname != source.soname {
        differences.push(format!("Soname: built in {soname}, here {}", source.soname));
    }
    if differences.is_empty() {
        return Ok(format!(
            "slurm-vipu knows {version} by itself, with the same values: the file is not needed"
        ));
    }
    Ok(format!(
        "slurm-vipu knows {version} by itself, but {} values differ (is this Slurm patched?): its hosts need the file\n  {}",
        differences.len(),
        differences.join("\n  ")
    ))
}
