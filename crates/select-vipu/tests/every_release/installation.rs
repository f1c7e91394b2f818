//! The folder of one fake Slurm, for the test and for the process that it starts.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

/// A folder with plugins, configuration and state.
pub struct Installation(pub PathBuf);

/// The test that the process of an installation runs.
#[derive(Clone, Copy, Debug)]
pub enum Scenario {
    /// All usual calls; see `scenarios`.
    Whole,
    /// Load our plugins and print the results.
    Load,
    /// Load our plugins with `other_cons_tres` among SelectTypeParameters.
    LoadOtherConsTres,
    /// Load our plugins in a slurmstepd, which knows little of slurm.conf.
    LoadInStepd,
    /// Schedule jobs although the table of this release is wrong.
    WrongTable,
    /// Schedule jobs with a wrong table: for each member in turn, it and all later members are shifted.
    ShiftedTable,
    /// Read the reservations.
    Reservations,
    /// Read the reservations with a table that lacks their members.
    UnknownReservations,
    /// The adoption of an earlier slurmctld's jobs panics.
    AdoptionPanics,
    /// The adoption fails because no thread can be started.
    AdoptionWithoutThreads,
}

const SCENARIOS: [Scenario; 10] = [
    Scenario::Whole,
    Scenario::Load,
    Scenario::LoadOtherConsTres,
    Scenario::LoadInStepd,
    Scenario::WrongTable,
    Scenario::ShiftedTable,
    Scenario::Reservations,
    Scenario::UnknownReservations,
    Scenario::AdoptionPanics,
    Scenario::AdoptionWithoutThreads,
];

const INSTALLATION: &str = "EVERY_RELEASE_INSTALLATION";
const RELEASE: &str = "EVERY_RELEASE_RELEASE";
const SCENARIO: &str = "EVERY_RELEASE_SCENARIO";

impl Installation {
    pub fn plugins(&self) -> PathBuf {
        self.0.join("plugins")
    }

    pub fn conf(&self) -> PathBuf {
        self.0.join("conf")
    }

    pub fn slurm_conf(&self) -> PathBuf {
        self.conf().join("slurm.conf")
    }

    pub fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    pub fn ipuof(&self) -> PathBuf {
        self.0.join("ipuof")
    }

    /// Returns the folder in which a test build finds its active failpoints.
    pub fn failpoints(&self) -> PathBuf {
        self.0.join("failpoints")
    }

    /// Renames our selector to a name that satisfies Slurm's tests for `cons_tres` in SelectType.
    pub fn use_alias(&self) -> Result<()> {
        let [own, alias] =
            ["select_vipu.so", "select_vipu_cons_tres.so"].map(|name| self.plugins().join(name));
        Ok(fs::rename(own, alias)?)
    }

    /// Returns `SelectType` for the installed selector.
    pub fn select_type(&self) -> &'static str {
        let is_alias = self.plugins().join("select_vipu_cons_tres.so").exists();
        if is_alias { "select/vipu_cons_tres" } else { "select/vipu" }
    }

    /// Returns the variables that tell a process its scenario, and its plugins the place of slurm.conf.
    pub fn variables(&self, release: &str, scenario: Scenario) -> [(&'static str, PathBuf); 4] {
        [
            (INSTALLATION, self.0.clone()),
            (RELEASE, release.into()),
            (SCENARIO, format!("{scenario:?}").into()),
            ("SLURM_CONF", self.slurm_conf()),
        ]
    }

    /// Returns the scenario of this process, if the test started it.
    pub fn of_this_process() -> Option<(Self, String, Scenario)> {
        let [installation, release, scenario] =
            [INSTALLATION, RELEASE, SCENARIO].map(|name| std::env::var(name).ok());
        let scenario = scenario?;
        let scenario = SCENARIOS.into_iter().find(|known| format!("{known:?}") == scenario);
        Some((Self(installation?.into()), release?, scenario.expect("a scenario of that name")))
    }
}
