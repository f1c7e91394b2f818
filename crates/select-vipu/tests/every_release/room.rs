//! The folder of one fake Slurm, as the test and the process that plays it both see it.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

/// A folder with plugins, configuration and state.
pub struct Room(pub PathBuf);

/// What a process does in its room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scene {
    /// Everything: see `scenes`.
    Whole,
    /// Load our plugins and say what came of it.
    Load,
    /// The same, with `other_cons_tres` among SelectTypeParameters.
    LoadOtherConsTres,
    /// Load our plugins in a slurmstepd, which is told little of slurm.conf.
    LoadInStepd,
    /// Go on as usual though the table of this release is wrong.
    Misled,
    /// The same, for each member in turn from which on all lie elsewhere.
    Shifted,
    /// Taking over the jobs of an earlier slurmctld panics.
    HalfWayPanic,
    /// It comes to nothing as no thread can be started.
    HalfWayThreads,
}

const SCENES: [(&str, Scene); 8] = [
    ("whole", Scene::Whole),
    ("load", Scene::Load),
    ("load_other_cons_tres", Scene::LoadOtherConsTres),
    ("load_in_stepd", Scene::LoadInStepd),
    ("misled", Scene::Misled),
    ("shifted", Scene::Shifted),
    ("half_way_panic", Scene::HalfWayPanic),
    ("half_way_threads", Scene::HalfWayThreads),
];

const ROOM: &str = "EVERY_RELEASE_ROOM";
const RELEASE: &str = "EVERY_RELEASE_RELEASE";
const SCENE: &str = "EVERY_RELEASE_SCENE";

impl Room {
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
    pub fn variables(&self, release: &str, scene: Scene) -> [(&'static str, PathBuf); 4] {
        let named = SCENES.iter().find(|(_, known)| *known == scene);
        let (scene, _) = named.expect("every scene has a name");
        [
            (ROOM, self.0.clone()),
            (RELEASE, release.into()),
            (SCENE, scene.into()),
            ("SLURM_CONF", self.slurm_conf()),
        ]
    }

    /// What this process is to play, if it is one of ours.
    pub fn of_this_process() -> Option<(Self, String, Scene)> {
        let [room, release, scene] = [ROOM, RELEASE, SCENE].map(|name| std::env::var(name).ok());
        let scene = scene?;
        let (_, scene) = SCENES.iter().find(|(name, _)| *name == scene).expect("a scene of that name");
        Some((Self(room?.into()), release?, *scene))
    }
}
