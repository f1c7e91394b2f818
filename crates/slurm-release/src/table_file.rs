//! The table file: one release's layout, measured by `cargo xtask layout` and read by the plugins.
//!
//! ```text
//! Release=26.11.0
//! Soname=46
//! JOB_MAGIC=4038801708
//! job_record=1304
//! job_record.job_id=424 u32
//! Checksum=89abcdef01234567
//! ```
//!
//! It has every struct, member and constant of [`STRUCTS`] and [`CONSTANTS`], and a checksum of all lines
//! before it. A table that was cut off or edited would make the plugins read wrong places. The file of an
//! older build may lack the structs that are an `Option` in [`Layout`].

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use crate::{CONSTANTS, Layout, Release, STRUCTS, Series, Version};

/// The name of the file. Its place is beside slurm.conf.
pub const NAME: &str = "slurm-layout.conf";

/// The measured values: keys and values of the file, without `Release`, `Soname` and `Checksum`.
pub type Measured = BTreeMap<String, String>;

/// The content of a table file.
#[derive(Debug)]
pub struct Table {
    /// The release that was measured.
    pub release: Release,
    /// The soname number of the release's libslurm.
    pub soname: u32,
}

/// The reason why a table file cannot be used, with advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableError {
    /// The file differs from what `cargo xtask layout` wrote.
    Damaged(String),
    /// The release differs from all known ones in more than places.
    Differs(String),
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(why) => write!(f, "it is damaged ({why}); make it again with `cargo xtask layout`"),
            Self::Differs(how) => write!(f, "{how}: that Slurm needs a newer slurm-vipu"),
        }
    }
}

impl std::error::Error for TableError {}

/// Reads the first table file in these folders.
///
/// # Errors
/// The path of a file that cannot be used, and the reason, in one line.
pub fn find(folders: impl IntoIterator<Item = PathBuf>) -> Result<Option<(PathBuf, Table)>, String> {
    for path in folders.into_iter().map(|folder| folder.join(NAME)) {
        let text = match read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            text => text.map_err(|error| error.to_string()),
        };
        let table = text.and_then(|text| parse(&text).map_err(|error| error.to_string()));
        return table
            .map(|table| Some((path.clone(), table)))
            .map_err(|why| format!("{}: {why}", path.display()));
    }
    Ok(None)
}

/// Reads a regular file. A FIFO would make the process wait for ever.
fn read(path: &Path) -> io::Result<String> {
    const LARGEST: u64 = 64 << 10;
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut text = String::new();
    File::open(path)?.take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// Writes a table file.
pub fn render(version: Version, soname: u32, measured: &Measured) -> String {
    let mut text = format!(
        "# How Slurm {version} lays out its records, for slurm-vipu. Measured by `cargo xtask layout`, not to be edited.\n\
         Release={version}\nSoname={soname}\n"
    );
    for (key, value) in measured {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{key}={value}");
    }
    sealed(text)
}

/// Adds the line with the checksum to the text.
pub fn sealed(text: String) -> String {
    let sum = checksum(&text);
    text + &format!("Checksum={sum:016x}\n")
}

/// Reads a table file.
///
/// # Errors
/// The table is damaged, or it differs from all known releases in a way that the plugins do not support.
pub fn parse(text: &str) -> Result<Table, TableError> {
    let (version, layout, soname) = read_table(text)?;
    // The plugins live as long as the process, and read one table.
    Ok(Table { release: Release { version, layout: Box::leak(Box::new(layout)) }, soname })
}

/// Checks that [`parse`] would read this, and keeps nothing in memory.
///
/// # Errors
/// The errors of [`parse`].
pub fn check(text: &str) -> Result<(), TableError> {
    read_table(text).map(drop)
}

fn read_table(text: &str) -> Result<(Version, Layout, u32), TableError> {
    let damaged = |why: &str| TableError::Damaged(why.to_owned());
    let (body, sum) =
        text.trim_end().rsplit_once("Checksum=").ok_or_else(|| damaged("it has no checksum"))?;
    if sum != format!("{:016x}", checksum(body)) {
        return Err(damaged("its checksum is wrong"));
    }
    let lines = body.lines().filter(|line| !line.starts_with('#'));
    let values: BTreeMap<_, _> = lines.filter_map(|line| line.split_once('=')).collect();
    let value = |key: &str| {
        values
            .get(key)
            .copied()
            .ok_or_else(|| damaged(&format!("it lacks {key}, which an older slurm-vipu did not measure")))
    };
    let number = |key: &str| value(key)?.parse::<u32>().map_err(|_| damaged(&format!("{key} is no number")));

    let version = value("Release")?.parse().map_err(|()| damaged("Release is no release"))?;
    for (name, known) in CONSTANTS {
        let found = number(name)?;
        if found != *known {
            return Err(differs(name, &found.to_string(), &known.to_string()));
        }
    }
    let place = |text: &str| text.parse::<u16>().map_err(|_| damaged(&format!("'{text}' is no place")));
    let layout = Layout::from_parts(
        |name| place(value(name)?),
        |name, member| {
            let key = format!("{name}.{member}");
            let (offset, kind) = value(&key)?.split_once(' ').ok_or_else(|| damaged(&key))?;
            let wanted = kind_of(name, member);
            let (offset, size) = (place(offset)?, place(value(name)?)?);
            match kind == wanted {
                true if offset.saturating_add(bytes_of(kind)) <= size => Ok(offset),
                true => Err(damaged(&format!("{key} lies outside its struct"))),
                false => Err(differs(&key, kind, wanted)),
            }
        },
    )?;
    if !layout.has_usable_locks() {
        let locks = "slurmctld_lock_t is not five locks in the known order with at most one more";
        return Err(TableError::Differs(locks.into()));
    }
    Ok((version, layout, number("Soname")?))
}

fn differs(what: &str, there: &str, known: &str) -> TableError {
    TableError::Differs(format!("{what} is {there} there and {known} in every known release"))
}

fn kind_of(name: &str, member: &str) -> &'static str {
    let members = STRUCTS.iter().find(|found| found.name == name).map_or(&[][..], |found| found.members);
    members.iter().find(|(found, _)| *found == member).map_or("", |(_, kind)| kind)
}

fn bytes_of(kind: &str) -> u16 {
    match kind {
        "bool" | "u8" => 1,
        "u16" => 2,
        "u32" => 4,
        _ => 8,
    }
}

/// FNV-1a, against accidents and not against forgery.
fn checksum(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

impl Table {
    /// The series of a Slurm whose libslurm has this soname number, for SPANK plugins.
    pub fn series_of_soname(&self, soname: u32) -> Option<Series> {
        (self.soname == soname).then(|| self.release.version.series())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A measurement with all members at place 8, except for those of the locks.
    fn measured() -> Measured {
        let size = |name| if name == "slurmctld_lock" { "24" } else { "1024" };
        let sizes = STRUCTS.iter().map(|found| (found.name.to_owned(), size(found.name).to_owned()));
        let place = |found: &str, nth| if found == "slurmctld_lock" { 4 * nth } else { 8 };
        let members = STRUCTS.iter().flat_map(|found| {
            let members = found.members.iter().enumerate();
            members.map(move |(nth, (member, kind))| {
                (format!("{}.{member}", found.name), format!("{} {kind}", place(found.name, nth)))
            })
        });
        let constants = CONSTANTS.iter().map(|(name, value)| ((*name).to_owned(), value.to_string()));
        sizes.chain(members).chain(constants).collect()
    }

    fn parse_with(change: impl FnOnce(&mut Measured)) -> Result<Table, String> {
        let mut measured = measured();
        change(&mut measured);
        parse(&render(Version(0x1a_0b_01), 46, &measured)).map_err(|damaged| damaged.to_string())
    }

    #[test]
    fn a_written_table_is_read() {
        let table = parse_with(|_| ()).unwrap();
        assert_eq!(table.release.version.to_string(), "26.11.1");
        assert_eq!(table.release.layout.job_record.job_id.offset(), 8);
        assert_eq!(table.release.layout.job_record.size, 1024);
        assert_eq!(table.series_of_soname(46), Some(Series::new(26, 11)));
        assert_eq!(table.series_of_soname(45), None);
    }

    #[test]
    fn an_older_table_may_lack_reservations() {
        let is_of_them = |key: &str| key == "slurmctld_resv" || key.starts_with("slurmctld_resv.");
        assert!(parse_with(|_| ()).unwrap().release.layout.slurmctld_resv.is_some());
        let older = parse_with(|m| m.retain(|key, _| !is_of_them(key))).unwrap();
        assert_eq!(older.release.layout.slurmctld_resv, None);
        let damaged = parse_with(|m| drop(m.remove("slurmctld_resv.licenses"))).unwrap_err();
        assert!(damaged.contains("it lacks slurmctld_resv.licenses"), "{damaged}");
    }

    #[test]
    fn a_file_is_looked_for_in_one_folder_after_the_other() {
        let folder = std::env::temp_dir().join(format!("vipu-table-{}", std::process::id()));
        let (first, second) = (folder.join("a"), folder.join("b"));
        for folder in [&first, &second] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let look = || find([first.clone(), second.clone()]);
        assert!(look().unwrap().is_none());
        std::fs::write(second.join(NAME), render(Version(0x1a_0b_01), 46, &measured())).unwrap();
        assert_eq!(look().unwrap().unwrap().0, second.join(NAME));
        std::fs::create_dir(first.join(NAME)).unwrap();
        assert!(look().unwrap_err().contains("no regular file"));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let text = render(Version(0x1a_0b_01), 46, &measured());
        // The end of the last line says nothing.
        for at in (0..text.len() - 1).step_by(7) {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            assert!(parse(&String::from_utf8_lossy(&bytes)).is_err(), "byte {at}");
            assert!(parse(&text[..at]).is_err(), "cut off at {at}");
        }
    }

    #[test]
    fn a_release_that_numbers_cannot_describe_is_refused() {
        let other_constant = parse_with(|m| drop(m.insert("JOB_COMPLETING".into(), "1".into()))).unwrap_err();
        assert!(other_constant.contains("JOB_COMPLETING is 1 there and 32768"), "{other_constant}");
        let other_kind =
            parse_with(|m| drop(m.insert("job_record.user_id".into(), "8 u64".into()))).unwrap_err();
        assert!(other_kind.contains("job_record.user_id is u64 there and u32"), "{other_kind}");
        let outside =
            parse_with(|m| drop(m.insert("job_record.user_id".into(), "1022 u32".into()))).unwrap_err();
        assert!(outside.contains("job_record.user_id lies outside its struct"), "{outside}");
        let seven = parse_with(|m| drop(m.insert("slurmctld_lock".into(), "28".into()))).unwrap_err();
        assert!(seven.contains("slurmctld_lock_t is not five locks"), "{seven}");
        let absent = parse_with(|m| drop(m.remove("part_record.name"))).unwrap_err();
        assert!(absent.contains("it lacks part_record.name"), "{absent}");
    }
}
