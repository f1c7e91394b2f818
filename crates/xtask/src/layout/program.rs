//! The C program that prints the measured values of a tree.
//!
//! The host's compiler builds it against the tree's own headers. Each value has its own line in the program.
//! If this Slurm lacks a value, the compiler complains of its line.

use std::{fs, io, process::Command};

use anyhow::{Context, Result, bail, ensure};
use slurm_release::{CONSTANTS, STRUCTS, table_file::Measured};
use tempfile::TempDir;

use super::source::{OLDEST, Source};

/// The beginning of the program. `KIND` is the kind of a member, from its address, because arrays are no
/// pointers.
const MAIN: &str = r#"#include <stddef.h>
#include <stdio.h>
#define KIND(at) _Generic((at), \
	_Bool *: "bool", unsigned char *: "u8", unsigned short *: "u16", unsigned *: "u32", int *: "i32", \
	unsigned long *: "u64", unsigned long long *: "u64", long *: "i64", long long *: "i64", \
	char **: "str", const char **: "str", char ***: "strs", \
	default: sizeof(*(at)) == sizeof(void *) && __builtin_classify_type(*(at)) == 5 ? "ptr" : "other")
int main(void) {
#line 1 "values"
"#;

pub fn measure(source: &Source) -> Result<Measured> {
    let values = values();
    let folder = write(source, &values)
        .context("cannot write headers into the folder for temporary files; free it, or set TMPDIR")?;
    let mut cc = Command::new("cc");
    // The generated headers come first, because a configured tree has its own.
    cc.args(["-std=gnu11", "-w", "-I.", "-I"]).arg(&source.root).args(["-o", "measure", "measure.c"]);
    let built = cc.env("LC_ALL", "C").current_dir(&folder).output();
    let built = built.context("there is no cc to read Slurm's headers with: install gcc")?;
    if !built.status.success() {
        bail!(complaint(&String::from_utf8_lossy(&built.stderr), &values));
    }
    let printed = Command::new(folder.path().join("measure")).output();
    let printed = printed.context("cannot run a program in the folder for temporary files; set TMPDIR")?;
    ensure!(printed.status.success(), "the measuring program failed: {}", printed.status);
    let pair = |line: &str| line.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    Ok(String::from_utf8(printed.stdout)?.lines().filter_map(pair).collect())
}

/// The values: for each its name in C, and the line that prints it.
fn values() -> Vec<(String, String)> {
    let mut values = Vec::new();
    for found in STRUCTS {
        let (name, c_type) = (found.name, found.c_type);
        values.push((c_type.to_owned(), format!(r#"printf("{name}=%zu\n", sizeof({c_type}));"#)));
        for (member, _) in found.members {
            let (place, kind) = (
                format!("__builtin_offsetof({c_type}, {member})"),
                format!("KIND(&(({c_type} *)0)->{member})"),
            );
            let line = format!(r#"printf("{name}.{member}=%zu %s\n", {place}, {kind});"#);
            values.push((format!("{c_type}.{member}"), line));
        }
    }
    let constant = |name: &str| format!(r#"printf("{name}=%llu\n", (unsigned long long)({name}));"#);
    values.extend(CONSTANTS.iter().map(|(name, _)| ((*name).to_owned(), constant(name))));
    values
}

/// Writes the program, and the parts of `./configure`'s output that headers look at. None of them moves a
/// member.
fn write(source: &Source, values: &[(String, String)]) -> io::Result<TempDir> {
    let include = |header| format!("#include \"{header}\"\n");
    let headers: String = ["config.h"].into_iter().chain(source.headers()).map(include).collect();
    let is_without_typedef = source.version.series() == OLDEST;
    let typedef = if is_without_typedef { "typedef struct job_details job_details_t;\n" } else { "" };
    let lines: String = values.iter().map(|(_, line)| format!("{line}\n")).collect();
    let config = ["_GNU_SOURCE", "NDEBUG", "HAVE_STRLCPY", "HAVE_SETPROCTITLE"];
    let config: String = config.iter().map(|word| format!("#define {word} 1\n")).collect();
    let version = format!("#define SLURM_VERSION_NUMBER {:#08x}\n", source.version.0);
    let folder = tempfile::Builder::new().prefix("slurm-vipu-layout-").tempdir()?;
    fs::create_dir(folder.path().join("slurm"))?;
    fs::write(folder.path().join("config.h"), config)?;
    fs::write(folder.path().join("slurm/slurm_version.h"), version)?;
    fs::write(folder.path().join("measure.c"), [&headers, typedef, MAIN, &lines, "}\n"].concat())?;
    Ok(folder)
}

fn complaint(said: &str, values: &[(String, String)]) -> String {
    let is_told = |line: usize| said.contains(&format!("values:{line}:"));
    let (mut missing, mut within) = (Vec::new(), String::new());
    for (line, (name, _)) in (1..).zip(values) {
        // The message leaves out the members of a missing struct.
        if is_told(line) && (within.is_empty() || !name.starts_with(&within)) {
            missing.push(name.as_str());
            within = format!("{name}.");
        }
    }
    let mut errors = said.lines().filter(|line| line.contains("error:") && !line.starts_with("values:"));
    let Some(first) = errors.next() else {
        return format!("this Slurm has no {}: slurm-vipu has to be adapted", missing.join(", "));
    };
    let more = match errors.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    format!(
        "cc cannot read the headers: {first}{more}; see that the source tree is complete and that C's headers are \
         installed (Debian: libc6-dev)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(header: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("src/slurmctld")).unwrap();
        fs::create_dir(folder.path().join("slurm")).unwrap();
        fs::write(folder.path().join("slurm/slurm.h"), header).unwrap();
        let meta = "Name: slurm\nMajor: 26\nMinor: 11\nMicro: 0\nAPI_CURRENT: 46\n";
        fs::write(folder.path().join("META"), meta).unwrap();
        measure(&Source::open(folder.path()).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn every_missing_value_is_named() {
        let said = refused("typedef struct { unsigned magic; } part_record_t;\n#define JOB_MAGIC 1\n");
        assert!(said.starts_with("this Slurm has no job_record_t, job_details_t, "), "{said}");
        assert!(said.contains(", part_record_t.name, ") && !said.contains("part_record_t.magic"), "{said}");
        assert!(said.contains(", DETAILS_MAGIC, ") && !said.contains("JOB_MAGIC"), "{said}");
        assert!(said.ends_with(": slurm-vipu has to be adapted"), "{said}");
    }

    #[test]
    fn only_the_first_of_other_errors_is_shown() {
        let said = refused("#include <no/such.h>\n");
        assert!(said.starts_with("cc cannot read the headers: ") && said.contains("no/such.h"), "{said}");
        assert_eq!(said.lines().count(), 1);
    }
}
