//! The options that choose a part of the document.

use vipu_status::{Job, Status};

use crate::arguments::Common;
use crate::error::Failure;
use crate::surroundings::Surroundings;

/// The model and the user that the options name.
pub(crate) struct Selection {
    model: Option<String>,
    user: Option<u32>,
}

impl Selection {
    pub(crate) fn new(
        status: &Status,
        common: &Common,
        surroundings: &Surroundings,
    ) -> Result<Self, Failure> {
        if let Some(model) = &common.model
            && !status.models.iter().any(|known| known.name == *model)
        {
            let known: Vec<_> = status.models.iter().map(|model| model.name.clone()).collect();
            let kind = if common.model_is_configured { "model in svipu.toml:" } else { "model" };
            return Err(Failure::unknown(kind, model, &known));
        }
        let user = match (&common.user, common.me) {
            (_, true) => Some(surroundings.user),
            (Some(user), _) => Some(user_id(user, surroundings)?),
            (None, false) => None,
        };
        Ok(Self { model: common.model.clone(), user })
    }

    /// The jobs of a user, or of all users.
    pub(crate) fn of_user(user: Option<u32>) -> Self {
        Self { model: None, user }
    }

    /// The user that the options name.
    pub(crate) fn user(&self) -> Option<u32> {
        self.user
    }

    /// Leaves out what the options do not name.
    pub(crate) fn apply(&self, mut status: Status) -> Status {
        status.models.retain(|model| self.has_model(&model.name));
        status
            .partitions
            .retain(|entry| self.has_model(&entry.model) && self.has_owner(entry.job.as_deref()));
        for jobs in [&mut status.line, &mut status.not_in_line] {
            jobs.retain(|entry| self.has_model(&entry.model) && self.has_owner(entry.job.as_deref()));
        }
        status
    }

    /// Whether the options choose the jobs of this owner. A hidden owner is nobody's.
    pub(crate) fn has_owner(&self, job: Option<&Job>) -> bool {
        self.user.is_none_or(|user| job.is_some_and(|job| job.user == user))
    }

    /// Whether the options choose this model.
    pub(crate) fn has_model(&self, name: &str) -> bool {
        self.model.as_ref().is_none_or(|model| model == name)
    }
}

fn user_id(user: &str, surroundings: &Surroundings) -> Result<u32, Failure> {
    let id = surroundings.users.id(user).or_else(|| user.parse().ok());
    id.ok_or_else(|| Failure::Unknown {
        kind: "user",
        name: crate::safe::cut(user, 40),
        known: "give a name that this host knows, or a number".to_owned(),
    })
}
