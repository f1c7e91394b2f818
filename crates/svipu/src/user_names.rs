//! The names of users.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;

use nix::unistd::{Uid, User};

use crate::background::Background;

/// The source of the names of users.
pub enum Users {
    /// The databases of the host, with the answers so far. A host may ask a server for each name.
    Host(RefCell<HashMap<u32, Option<String>>>),
    /// The databases of the host, which a thread asks.
    Later(UserNames),
    /// A list, for tests.
    List(Vec<(u32, String)>),
}

impl Users {
    /// The names on this host, for a screen that waits for none.
    pub(crate) fn later() -> io::Result<Self> {
        UserNames::start(name_on_host).map(Self::Later)
    }

    /// Tells which users are shown next, so that their names can be asked for.
    pub(crate) fn learn(&self, users: impl Iterator<Item = u32>) {
        if let Self::Later(names) = self {
            names.learn(users);
        }
    }

    /// The name of a user.
    pub(crate) fn name(&self, id: u32) -> Option<String> {
        match self {
            Self::Host(known) => known.borrow_mut().entry(id).or_insert_with(|| name_on_host(id)).clone(),
            Self::Later(names) => names.name(id),
            Self::List(list) => Some(list.iter().find(|(known, _)| *known == id)?.1.clone()),
        }
    }

    /// The id of a user.
    pub(crate) fn id(&self, name: &str) -> Option<u32> {
        match self {
            Self::Host(_) | Self::Later(_) => Some(User::from_name(name).ok()??.uid.as_raw()),
            Self::List(list) => Some(list.iter().find(|(_, known)| known == name)?.0),
        }
    }
}

fn name_on_host(id: u32) -> Option<String> {
    Some(User::from_uid(Uid::from_raw(id)).ok()??.name)
}

/// The names that are known so far. A thread asks the host for the others.
pub struct UserNames(RefCell<Names>);

struct Names {
    /// None also as long as there is no answer.
    known: HashMap<u32, Option<String>>,
    thread: Background<u32, (u32, Option<String>)>,
}

impl UserNames {
    /// Starts the thread, which gets names by `lookup`.
    pub(crate) fn start(lookup: impl Fn(u32) -> Option<String> + Send + 'static) -> io::Result<Self> {
        let thread = Background::start(move |id| (id, lookup(id)))?;
        Ok(Self(RefCell::new(Names { known: HashMap::new(), thread })))
    }

    /// Asks for the names of these users, and takes the answers that have come.
    pub(crate) fn learn(&self, users: impl Iterator<Item = u32>) {
        let Names { known, thread } = &mut *self.0.borrow_mut();
        for id in users {
            if let Entry::Vacant(new) = known.entry(id) {
                new.insert(None);
                thread.ask(id);
            }
        }
        known.extend(std::iter::from_fn(|| thread.answer()));
    }

    /// The name of a user, if it is known.
    pub(crate) fn name(&self, id: u32) -> Option<String> {
        self.0.borrow().known.get(&id)?.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn cli_svipu_top_waits_for_no_name() {
        let (answer, answers) = channel();
        let names = UserNames::start(move |id| if id == 0 { None } else { answers.recv().ok() }).unwrap();
        // A lookup that waited for its answer would not return.
        names.learn([0, 1000].into_iter());
        assert_eq!(names.name(1000), None);
        answer.send("alice".to_owned()).unwrap();
        while names.name(1000).is_none() {
            names.learn([1000].into_iter());
        }
        assert_eq!((names.name(1000).as_deref(), names.name(0)), (Some("alice"), None));
    }
}
