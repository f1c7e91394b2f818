//! The uses of IPUs, with their marks and colours.

use vipu_status::{Ipus, OtherUse, State};

use crate::page::Tone;

/// The use of an IPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Used,
    Prepared,
    Kept,
    Leaving,
    Foreign,
    Unusable,
    Faulty,
    Suspected,
    Drained,
    Idle,
    Free,
}

impl Use {
    pub(crate) const ALL: [Self; 11] = [
        Self::Used,
        Self::Prepared,
        Self::Kept,
        Self::Leaving,
        Self::Foreign,
        Self::Unusable,
        Self::Faulty,
        Self::Suspected,
        Self::Drained,
        Self::Idle,
        Self::Free,
    ];

    /// The word and the mark, by which the use is known without colour. The map has letters for used IPUs.
    pub(crate) const fn name(self) -> (&'static str, char) {
        match self {
            Self::Used => ("used", 'U'),
            Self::Prepared => ("prepared", '+'),
            Self::Kept => ("kept", '='),
            Self::Leaving => ("leaving", '-'),
            Self::Foreign => ("foreign", '#'),
            Self::Unusable => ("out of use", '~'),
            Self::Faulty => ("faulty", '!'),
            Self::Suspected => ("suspected", '?'),
            Self::Drained => ("drained", '/'),
            Self::Idle => ("idle", '_'),
            Self::Free => ("free", '.'),
        }
    }

    /// The mark in a bar of blocks.
    pub(crate) const fn block(self) -> char {
        match self {
            Self::Idle => '▒',
            Self::Free => '░',
            _ => '█',
        }
    }

    pub(crate) const fn tone(self) -> Tone {
        match self {
            Self::Used => Tone::Green,
            Self::Prepared => Tone::Cyan,
            Self::Kept => Tone::Yellow,
            Self::Leaving => Tone::Blue,
            Self::Foreign => Tone::Magenta,
            Self::Unusable | Self::Faulty => Tone::Red,
            Self::Suspected => Tone::Alarm,
            Self::Drained => Tone::Plain,
            Self::Idle | Self::Free => Tone::Dim,
        }
    }

    /// The number of IPUs with this use. Idle ones can be had like free ones, and are not among these here.
    pub(crate) const fn count(self, ipus: &Ipus) -> u32 {
        match self {
            Self::Used => ipus.used,
            Self::Prepared => ipus.prepared,
            Self::Kept => ipus.kept,
            Self::Leaving => ipus.leaving,
            Self::Foreign => ipus.foreign,
            Self::Unusable => ipus.out_of_use,
            Self::Faulty => ipus.faulty,
            Self::Suspected => ipus.suspected,
            Self::Drained => ipus.drained,
            Self::Idle => ipus.idle,
            Self::Free => ipus.free.saturating_sub(ipus.idle),
        }
    }

    /// The use of the IPUs of a partition.
    pub(crate) const fn of(state: State) -> Self {
        match state {
            State::Preparing | State::Prepared => Self::Prepared,
            State::Creating | State::Ready | State::Running => Self::Used,
            State::Kept => Self::Kept,
            State::Failed | State::Ending | State::Resetting | State::Removing => Self::Leaving,
            State::Idle => Self::Idle,
        }
    }

    /// The use of IPUs without a job.
    pub(crate) const fn of_other(other: OtherUse) -> Self {
        match other {
            OtherUse::Foreign => Self::Foreign,
            OtherUse::OutOfUse => Self::Unusable,
            OtherUse::Faulty => Self::Faulty,
            OtherUse::Suspected => Self::Suspected,
        }
    }
}
