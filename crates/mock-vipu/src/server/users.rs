//! Users and their access keys. Without users, every client may call.

use tonic::Code;
use tonic::metadata::MetadataMap;

use crate::pod::Refusal;

/// The metadata of a call that hold the user's id and key. No public document names them; the mock chose.
const USER_ID: &str = "api-user-id";
const ACCESS_KEY: &str = "api-access-key";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub key: String,
}

/// Refuses a call without the name and key of a known user.
pub(crate) fn check(users: &[User], metadata: &MetadataMap) -> Result<(), Refusal> {
    let shown = |name| metadata.get(name).map(|value| value.as_bytes());
    let (name, key) = (shown(USER_ID), shown(ACCESS_KEY));
    let is_caller = |user: &User| name == Some(user.name.as_bytes()) && key == Some(user.key.as_bytes());
    if users.is_empty() || users.iter().any(is_caller) {
        return Ok(());
    }
    let text = "the user id or the access key is missing or wrong".to_owned();
    Err(Refusal { code: Code::Unauthenticated, text })
}
