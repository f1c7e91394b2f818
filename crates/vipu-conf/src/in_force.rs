//! Which settings hold after files were read again.

use std::collections::BTreeMap;

use vipu_types::ModelName;

use crate::error::LoadError;
use crate::files::Loaded;
use crate::keys::Settings;

/// How one model stands.
#[derive(Debug)]
pub struct Standing {
    /// The settings that hold: the last good ones, none when there never were any.
    pub settings: Option<Settings>,
    /// What is wrong with the files as they are now.
    pub error: Option<LoadError>,
}

/// The settings that hold for each model: a file that became broken changes nothing.
#[derive(Debug, Default)]
pub struct InForce(BTreeMap<ModelName, Standing>);

impl InForce {
    /// Takes over what was read. Models that were not asked for any more are forgotten.
    ///
    /// For a model with a broken file and no good one since this process began, `earlier` is asked for the
    /// settings that an earlier process had.
    pub fn update(&mut self, loaded: Loaded, earlier: impl Fn(&ModelName) -> Option<Settings>) {
        self.0.retain(|model, _| loaded.contains_key(model));
        self.add(loaded, earlier);
    }

    /// Takes what was loaded into use as [`Self::update`] does, and leaves all other models as they were.
    pub fn add(&mut self, loaded: Loaded, earlier: impl Fn(&ModelName) -> Option<Settings>) {
        for (model, result) in loaded {
            let standing = match result {
                Ok(file) => Standing { settings: Some(file.settings), error: None },
                Err(error) => {
                    let here = self.0.remove(&model).and_then(|old| old.settings);
                    Standing { settings: here.or_else(|| earlier(&model)), error: Some(error) }
                }
            };
            self.0.insert(model, standing);
        }
    }

    /// How a model stands; `None` for one that was never loaded.
    #[must_use]
    pub fn get(&self, model: &ModelName) -> Option<&Standing> {
        self.0.get(model)
    }

    /// All models, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&ModelName, &Standing)> {
        self.0.iter()
    }
}
