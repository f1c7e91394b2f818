//! The argument of `svipu ipu`.

use std::fmt;

use vipu_status::Place;

use crate::names;

/// The forms of a place on the command line.
const FORMS: &str = "write DOMAIN:INDEX, DOMAIN.INDEX, or one of them after HOST:PORT/, for example 0:16";

/// The IPUs that the user asks for.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// The controller of the Pod. None: each Pod that has the place.
    pub(crate) controller: Option<String>,
    pub(crate) place: Place,
}

impl Wanted {
    /// Reads `DOMAIN:INDEX`, `DOMAIN.INDEX` or one of these after `HOST:PORT/`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (controller, place) = match text.rsplit_once('/') {
            Some(("", _)) => return Err(FORMS.to_owned()),
            Some((controller, place)) => (Some(controller.to_owned()), place),
            None => (None, text),
        };
        let numbers = place.split_once([':', '.']).and_then(|(domain, index)| {
            Some(Place { domain: domain.parse().ok()?, index: index.parse().ok()? })
        });
        let place = numbers.ok_or(FORMS)?;
        Ok(Self { controller, place })
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(controller) = &self.controller {
            write!(f, "{controller}/")?;
        }
        f.write_str(&names::places(&[self.place]))
    }
}
