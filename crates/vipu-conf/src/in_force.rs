//! The settings that hold after files were read again.

use std::collections::BTreeMap;

use vipu_types::ModelName;

use crate::error::LoadError;
use crate::files::Loaded;
use crate::keys::Settings;

/// The settings and the error of one model.
#[derive(Debug)]
pub struct Standing {
    /// The settings that hold: the last good ones, `None` if there never were any.
    pub settings: Option<Settings>,
    /// The error in the files as they are now.
    pub error: Option<LoadError>,
}

/// The settings that hold for each model. A file that became broken changes none of them.
#[derive(Debug, Default)]
pub struct InForce(BTreeMap<ModelName, Standing>);

impl InForce {
    /// Takes the loaded files into use, and forgets the models that are not in `loaded`.
    ///
    /// `earlier` returns the settings that an earlier process had. It is asked about a model whose file is
    /// broken and was never good since this process began.
    pub fn update(&mut self, loaded: Loaded, earlier: impl Fn(&ModelName) -> Option<Settings>) {
        self.0.retain(|model, _| loaded.contains_key(model));
        self.add(loaded, earlier);
    }

    /// Takes the loaded files into use as [`Self::update`] does, and leaves all other models unchanged.
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

    /// The settings and the error of a model; `None` if it was never loaded.
    pub fn get(&self, model: &ModelName) -> Option<&Standing> {
        self.0.get(model)
    }

    /// All models, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&ModelName, &Standing)> {
        self.0.iter()
    }
}
