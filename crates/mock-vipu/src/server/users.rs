//! Users and their access keys. Without users, anybody may call.

use std::collections::BTreeSet;

use tonic::Code;
use tonic::metadata::MetadataMap;

use crate::pod::{Allocations, Hardware, Refusal};

/// The metadata of a call that name the user and show its key. Our choice: no public document names them.
const USER_ID: &str = "api-user-id";
const ACCESS_KEY: &str = "api-access-key";

/// Somebody who may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The user id.
    pub name: String,
    /// The access key.
    pub key: String,
    /// What the user is granted.
    pub allocations: Allocations,
}

/// Why there cannot be such users.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadUser {
    /// Two users of one name.
    #[error("two users are called '{0}'")]
    Name(String),
    /// An allocation is granted that is not there.
    #[error("user '{user}' is granted allocation '{allocation}', which is not there")]
    Allocation {
        /// To whom.
        user: String,
        /// Which.
        allocation: String,
    },
}

/// All users; without any, everybody is granted everything.
#[derive(Debug)]
pub(crate) struct Users(Vec<User>);

impl Users {
    pub(crate) fn new(users: Vec<User>, hardware: &Hardware) -> Result<Self, BadUser> {
        let mut names = BTreeSet::new();
        for User { name, allocations, .. } in &users {
            if !names.insert(name) {
                return Err(BadUser::Name(name.clone()));
            }
            if let Allocations::Only(granted) = allocations
                && let Some(unknown) = granted.iter().find(|name| hardware.allocation(name).is_none())
            {
                return Err(BadUser::Allocation { user: name.clone(), allocation: unknown.clone() });
            }
        }
        Ok(Self(users))
    }

    /// What the sender of a call is granted.
    pub(crate) fn granted(&self, metadata: &MetadataMap) -> Result<&Allocations, Refusal> {
        if self.0.is_empty() {
            return Ok(&Allocations::All);
        }
        let told = |name| metadata.get(name).map(|value| value.as_bytes());
        let (name, key) = (told(USER_ID), told(ACCESS_KEY));
        let is_caller = |user: &&User| name == Some(user.name.as_bytes()) && key == Some(user.key.as_bytes());
        let text = || "the user id or the access key is missing or wrong".to_owned();
        let stranger = || Refusal { code: Code::Unauthenticated, text: text() };
        self.0.iter().find(is_caller).map(|user| &user.allocations).ok_or_else(stranger)
    }
}
