//! What a scheduler asks, one question after the other.

use std::hint::black_box;

use vipu_types::GresRequest;

use super::Scene;

/// One question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// What of a job's request for GRES is for IPUs.
    Request,
    /// Yes: there is room, and nobody is in line.
    Go,
    /// Yes: the job is through before those in line can start.
    GoBehindLine,
    /// The same, a second after the last question.
    GoASecondLater,
    /// Yes: nobody in line is pushed back wherever the controller puts the partition.
    GoAnywhere,
    /// No: there is no such block.
    NoRoom,
    /// All that is asked for a job that finds no block and whose Slurm partition has a limit.
    Refusal,
    /// No: the job would be in the way of one in line.
    InTheWay,
    /// When it can start, behind all in line.
    Forecast,
    /// The same, a second after the last question.
    ForecastASecondLater,
    /// The same, after an event.
    ForecastAfterEvent,
    /// Who has to go, of 1,000 that may be preempted.
    Victims,
}

impl Case {
    pub const ALL: [Self; 12] = [
        Self::Request,
        Self::Go,
        Self::GoBehindLine,
        Self::GoASecondLater,
        Self::GoAnywhere,
        Self::NoRoom,
        Self::Refusal,
        Self::InTheWay,
        Self::Forecast,
        Self::ForecastASecondLater,
        Self::ForecastAfterEvent,
        Self::Victims,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Go => "fits_now",
            Self::GoBehindLine => "fits_now_behind_a_line",
            Self::GoASecondLater => "fits_now_a_second_later",
            Self::GoAnywhere => "fits_now_wherever_it_is_put",
            Self::NoRoom => "no_room",
            Self::Refusal => "refusal",
            Self::InTheWay => "in_the_way",
            Self::Forecast => "forecast",
            Self::ForecastASecondLater => "forecast_a_second_later",
            Self::ForecastAfterEvent => "forecast_after_an_event",
            Self::Victims => "victims",
        }
    }

    /// Whether a Pod of this size can be asked: one with a single domain has no other than the first in line
    /// waits for.
    pub fn is_possible(self, ipus: u32) -> bool {
        self != Self::GoAnywhere || ipus > super::DOMAIN
    }
}

/// A question, with whom to ask.
pub struct Question {
    case: Case,
    scene: Scene,
    candidates: Vec<ledger::Candidate>,
}

impl Question {
    pub fn new(case: Case, ipus: u32) -> Self {
        let scene = match case {
            Case::Request | Case::Go | Case::Victims => Scene::new(ipus),
            Case::GoAnywhere => Scene::with_choice(ipus),
            _ => Scene::with_line(ipus),
        };
        Self { case, candidates: scene.candidates(), scene }
    }

    /// Makes ready for the next [`Question::ask`]; not part of its cost.
    pub fn prepare(&mut self) {
        match self.case {
            Case::GoASecondLater | Case::ForecastASecondLater => self.scene.tick(),
            Case::ForecastAfterEvent => self.scene.stir(),
            _ => {}
        }
    }

    /// Asks. Panics when the answer is not the one that the case is about.
    pub fn ask(&mut self) {
        let (minute, day) = (60, 24 * 3600);
        let as_expected = match self.case {
            Case::Request => {
                let tres = black_box("gres:gpu:tesla:2,gres:vipu:pod64:16");
                matches!(GresRequest::find(tres), Ok(Some(_)))
            }
            Case::Go => self.scene.may_start(day),
            Case::GoAnywhere => self.scene.may_start(day),
            Case::GoBehindLine | Case::GoASecondLater => self.scene.may_start(minute),
            Case::NoRoom => !self.scene.large_may_start(),
            Case::Refusal => self.scene.is_refused(),
            Case::InTheWay => !self.scene.may_start(day),
            Case::Forecast | Case::ForecastASecondLater | Case::ForecastAfterEvent => {
                self.scene.forecast().is_some()
            }
            Case::Victims => self.scene.victims(&self.candidates).is_some_and(|victims| !victims.is_empty()),
        };
        assert!(as_expected, "{} was answered otherwise", self.case.name());
    }
}
