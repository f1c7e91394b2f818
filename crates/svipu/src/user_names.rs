//! Names of users, for a screen that waits for no directory of users.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;

use crate::background::Background;

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
    use std::sync::mpsc::channel;

    use super::*;

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
