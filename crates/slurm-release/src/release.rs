//! Numbers and names of Slurm releases.

use std::fmt;

use crate::{Layout, RELEASES, SERIES};

/// A Slurm release whose layouts are known.
#[derive(Debug)]
pub struct Release {
    /// Major, minor and micro number.
    pub version: Version,
    /// Its struct layouts.
    pub layout: &'static Layout,
}

/// `SLURM_VERSION_NUMBER`: one byte each for major, minor and micro. Shown as `22.05.8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32);

/// Major and minor number. Slurm keeps its interfaces within a series. Shown as `22.05`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series(u16);

impl Version {
    /// The series of this release.
    pub const fn series(self) -> Series {
        Series((self.0 >> 8) as u16)
    }

    /// The release with this number, if its layouts are known.
    pub fn known(self) -> Option<&'static Release> {
        RELEASES.iter().find(|release| release.version == self)
    }
}

impl Series {
    /// The series `major.minor`.
    pub const fn new(major: u8, minor: u8) -> Self {
        Self((major as u16) << 8 | minor as u16)
    }

    /// The `SLURM_VERSION_NUMBER` with micro 0, which Slurm requires of SPANK plugins.
    pub const fn first_version(self) -> Version {
        Version((self.0 as u32) << 8)
    }

    /// The series whose libslurm has this soname number.
    ///
    /// `slurm_api_version()` of every release returns the soname number shifted left by 16.
    pub fn of_soname(soname: u32) -> Option<Self> {
        SERIES.iter().find(|(known, _)| *known == soname).map(|(_, series)| *series)
    }
}

impl std::str::FromStr for Version {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let numbers: Result<Vec<u8>, _> = text.split('.').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[major, minor, micro]) => Ok(Self(u32::from_be_bytes([0, major, minor, micro]))),
            _ => Err(()),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.series(), self.0 & 0xff)
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 >> 8, self.0 & 0xff)
    }
}

/// All known releases in short form: `22.05.0-11, 23.02.0-8, ...`.
pub fn known_releases() -> String {
    let mut runs: Vec<(Version, Version)> = Vec::new();
    for release in RELEASES {
        match runs.last_mut() {
            Some((_, last)) if last.0 + 1 == release.version.0 => *last = release.version,
            _ => runs.push((release.version, release.version)),
        }
    }
    let run = |(first, last): &(Version, Version)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{}", last.0 & 0xff),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_release_is_found_under_its_own_number_and_name() {
        assert_eq!(RELEASES.len(), 72);
        for release in RELEASES {
            assert!(std::ptr::eq(release.version.known().unwrap(), release));
            assert_eq!(release.version.to_string().parse(), Ok(release.version));
        }
        assert!(
            Version(0x1a_05_04).known().is_none(),
            "26.05.4 was never measured, and its neighbours differ"
        );
        assert!(Version(0).known().is_none());
    }

    #[test]
    fn members_stay_inside_their_struct() {
        for release in RELEASES {
            let job = &release.layout.job_record;
            assert!(job.tres_per_node.offset() + 8 <= job.size.into(), "{}", release.version);
            assert!(release.layout.has_usable_locks(), "{}", release.version);
            assert!(release.layout.slurmctld_resv.is_some(), "{}", release.version);
        }
    }

    #[test]
    fn debian_12_reads_as_measured_on_the_running_daemon() {
        let layout = Version(0x16_05_08).known().unwrap().layout;
        assert_eq!(layout.job_record.job_id.offset(), 360);
        assert_eq!(layout.job_record.details.offset(), 208);
        assert_eq!(layout.job_details.prolog_running.offset(), 344);
    }

    #[test]
    fn sonames_name_the_series() {
        assert_eq!(Series::of_soname(38), Some(Series::new(22, 5)));
        assert_eq!(Series::of_soname(45).unwrap().first_version(), Version(0x1a_05_00));
        assert_eq!(Series::of_soname(7), None);
    }

    #[test]
    fn series_are_ordered_as_they_came() {
        assert!(
            Series::new(22, 5) < Series::new(23, 2) && Version(0x18_0b_05).series() == Series::new(24, 11)
        );
    }

    #[test]
    fn the_known_ones_fit_into_a_line() {
        let known = known_releases();
        assert!(
            known.starts_with("22.05.0-11, 23.02.0-8, ") && known.ends_with(", 26.05.0-3, 26.05.5"),
            "{known}"
        );
    }
}
