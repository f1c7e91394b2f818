//! The folder of one fake Slurm, as the test and its process both see it.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

/// A folder with plugins, configuration and state.
pub struct Installation(pub PathBuf);

/// What the process of an installation tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Everything: see `scenarios`.
    Whole,
    /// Load our plugins and say what came of it.
    Load,
    /// Load them with `other_cons_tres` among SelectTypeParameters.
    LoadOtherConsTres,
    /// Load our plugins in a slurmstepd, which is told little of slurm.conf.
    LoadInStepd,
    /// Go on as usual though the table of this release is wrong.
    WrongTable,
    /// Go on with a table that is wrong, for each member in turn from which on all members lie elsewhere.
    ShiftedTable,
    /// Taking over the jobs of an earlier slurmctld panics.
    AdoptionPanics,
    /// Taking them over comes to nothing as no thread can be started.
    AdoptionWithoutThreads,
}

const SCENARIOS: [(&str, Scenario); 8] = [
    ("whole", Scenario::Whole),
    ("load", Scenario::Load),
    ("load_other_cons_tres", Scenario::LoadOtherConsTres),
    ("load_in_stepd", Scenario::LoadInStepd),
    ("wrong_table", Scenario::WrongTable),
    ("shifted_table", Scenario::ShiftedTable),
    ("adoption_panics", Scenario::AdoptionPanics),
    ("adoption_without_threads", Scenario::AdoptionWithoutThreads),
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

    /// Where a test build looks for what it is to stop at.
    pub fn failpoints(&self) -> PathBuf {
        self.0.join("failpoints")
    }

    /// Installs our selector under the name that satisfies Slurm's tests for `cons_tres` in SelectType.
    pub fn use_alias(&self) -> Result<()> {
        let [own, alias] =
            ["select_vipu.so", "select_vipu_cons_tres.so"].map(|name| self.plugins().join(name));
        Ok(fs::rename(own, alias)?)
    }

    /// `SelectType`, by what is installed.
    pub fn select_type(&self) -> &'static str {
        let is_alias = self.plugins().join("select_vipu_cons_tres.so").exists();
        if is_alias { "select/vipu_cons_tres" } else { "select/vipu" }
    }

    /// What tells a process that it is one of ours, and Slurm's plugins where slurm.conf is.
    pub fn variables(&self, release: &str, scenario: Scenario) -> [(&'static str, PathBuf); 4] {
        let named = SCENARIOS.iter().find(|(_, known)| *known == scenario);
        let (scenario, _) = named.expect("every scenario has a name");
        [
            (INSTALLATION, self.0.clone()),
            (RELEASE, release.into()),
            (SCENARIO, scenario.into()),
            ("SLURM_CONF", self.slurm_conf()),
        ]
    }

    /// What this process is to run, if it is one of ours.
    pub fn of_this_process() -> Option<(Self, String, Scenario)> {
        let [installation, release, scenario] =
            [INSTALLATION, RELEASE, SCENARIO].map(|name| std::env::var(name).ok());
        let scenario = scenario?;
        let (_, scenario) =
            SCENARIOS.iter().find(|(name, _)| *name == scenario).expect("a scenario of that name");
        Some((Self(installation?.into()), release?, *scenario))
    }
}
