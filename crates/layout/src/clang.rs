//! Reading a tree's headers with libclang, by way of bindgen.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io,
    os::fd::AsFd as _,
    path::Path,
};

use anyhow::{Context, Result, anyhow, bail};
use bindgen::BindgenError;
use slurm_release::{CONSTANTS, STRUCTS};
use tempfile::TempDir;

use crate::{
    bindings::{self, Bindings},
    source::Source,
};

/// What a constant is called in the bindings: a variable of ours, since bindgen evaluates few macros itself.
pub const CONSTANT: &str = "slurm_vipu_";

/// Whether headers can be read here: libclang is there, and finds its own headers and libc's.
pub fn check() -> Result<()> {
    load()?;
    read_text("#include <stddef.h>\n#include <pthread.h>\n", &[]).map(drop)
}

/// Declares what is measured, with the types it is made of.
pub fn read(source: &Source) -> Result<Bindings> {
    load()?;
    let generated = generated_headers(source)?;
    // Ours come first: a tree that was configured has its own.
    read_text(&wrapper(source.headers()), &[generated.path(), &source.root])
}

/// bindgen would panic without it.
fn load() -> Result<()> {
    if clang_sys::is_loaded() {
        return Ok(());
    }
    clang_sys::load().map_err(|_| {
        anyhow!(
            "there is no libclang to read Slurm's headers with: install clang (the package has this name in Debian, Fedora \
             and Rocky), or set LIBCLANG_PATH to the folder of libclang.so"
        )
    })
}

fn read_text(text: &str, include: &[&Path]) -> Result<Bindings> {
    let mut builder = bindgen::builder()
        .header_contents("slurm-vipu.h", text)
        .clang_args(["-std=gnu11", "-w", "-ferror-limit=0"])
        .clang_args(include.iter().map(|folder| format!("-I{}", folder.display())))
        .allowlist_var(format!("{CONSTANT}.*"))
        .formatter(bindgen::Formatter::None);
    for found in STRUCTS {
        builder = builder.allowlist_type(found.c_type).allowlist_type(bindings::tag(found.c_type));
    }
    match quietly(|| builder.generate())? {
        Ok(bindings) => Bindings::parse(&bindings.to_string()),
        Err(BindgenError::ClangDiagnostic(text)) => bail!(complaint(&text)),
        Err(other) => bail!("libclang cannot read this Slurm's headers: {other}"),
    }
}

/// Does something during which libclang keeps its errors for us, instead of printing every one of them too.
fn quietly<T>(work: impl FnOnce() -> T) -> Result<T> {
    let redirect = || {
        let kept = io::stderr().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stderr(File::options().write(true).open("/dev/null")?)?;
        io::Result::Ok(kept)
    };
    let kept = redirect().context("cannot redirect what libclang prints to /dev/null")?;
    let done = work();
    rustix::stdio::dup2_stderr(kept).context("cannot undo the redirection of what libclang prints")?;
    Ok(done)
}

/// What `./configure` would have made of the tree, as far as headers look at it: none of it moves a member.
fn generated_headers(source: &Source) -> Result<TempDir> {
    let number = source.version.0;
    let config = format!(
        "#define _GNU_SOURCE 1\n#define NDEBUG 1\n#define PACKAGE \"slurm\"\n#define VERSION \"{version}\"\n\
         #define SLURM_VERSION_STRING \"{version}\"\n#define SLURM_VERSION_NUMBER {number:#08x}\n\
         #define HAVE_STRLCPY 1\n#define HAVE_SETPROCTITLE 1\n",
        version = source.version,
    );
    let version = format!(
        "#undef SLURM_VERSION_NUMBER\n#define SLURM_VERSION_NUMBER {number:#08x}\n\
         #define SLURM_VERSION_NUM(a,b,c) (((a) << 16) + ((b) << 8) + (c))\n\
         #define SLURM_VERSION_MAJOR(a) (((a) >> 16) & 0xff)\n\
         #define SLURM_VERSION_MINOR(a) (((a) >> 8) & 0xff)\n\
         #define SLURM_VERSION_MICRO(a) ((a) & 0xff)\n",
    );
    let write = || {
        let folder = tempfile::Builder::new().prefix("slurm-vipu-layout-").tempdir()?;
        fs::create_dir(folder.path().join("slurm"))?;
        fs::write(folder.path().join("config.h"), config)?;
        fs::write(folder.path().join("slurm/slurm_version.h"), version)?;
        io::Result::Ok(folder)
    };
    write().context("cannot write headers into the folder for temporary files; free it, or set TMPDIR")
}

fn wrapper<'a>(headers: impl Iterator<Item = &'a str>) -> String {
    let mut text = "#include \"config.h\"\n".to_owned();
    for header in headers {
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(text, "#include \"{header}\"");
    }
    for (name, _) in CONSTANTS {
        let _ = writeln!(text, "static const unsigned long long {CONSTANT}{name} = {name};");
    }
    text
}

/// clang's errors in a line.
fn complaint(text: &str) -> String {
    let undeclared = |name: &str| text.contains(&format!("use of undeclared identifier '{name}'"));
    let missing: Vec<_> = CONSTANTS.iter().map(|(name, _)| *name).filter(|name| undeclared(name)).collect();
    if !missing.is_empty() {
        return format!("this Slurm has no {}: slurm-vipu has to be adapted", missing.join(", "));
    }
    let mut errors = text.lines().filter(|line| line.contains("error:"));
    let first = errors.next().unwrap_or_else(|| text.lines().next().unwrap_or_default());
    let more = match errors.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    format!(
        "libclang cannot read the headers: {first}{more}; see that the source tree is complete and that C's headers are \
         installed (Debian: clang, libc6-dev)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_are_measured_as_variables() {
        let text = wrapper(["slurm/slurm.h"].into_iter());
        assert!(
            text.starts_with("#include \"config.h\"\n#include \"slurm/slurm.h\"\nstatic const "),
            "{text}"
        );
        assert!(text.contains(" slurm_vipu_JOB_CONFIGURING = JOB_CONFIGURING;\n"), "{text}");
    }

    #[test]
    fn a_missing_constant_is_named() {
        let text = "x.h:9:1: error: use of undeclared identifier 'READ_LOCK'\nx.h:9:9: error: use of undeclared identifier 'NO_LOCK'\n";
        assert_eq!(complaint(text), "this Slurm has no NO_LOCK, READ_LOCK: slurm-vipu has to be adapted");
    }

    #[test]
    fn of_other_errors_the_first_is_shown() {
        let text = "x.h:9:1: fatal error: 'stddef.h' file not found\nx.h:10:9: error: expected ';'\n";
        let line = complaint(text);
        assert!(
            line.contains("headers: x.h:9:1: fatal error: 'stddef.h' file not found (and 1 more); see"),
            "{line}"
        );
        assert_eq!(line.lines().count(), 1);
    }
}
