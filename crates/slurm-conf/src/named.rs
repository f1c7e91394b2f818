//! Lines that name nodes or Slurm partitions, with the values that they inherit.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::problem::Place;
use crate::slurm_conf::Line;

/// A value, and where it is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// The key as written.
    pub key: String,
    /// The value.
    pub value: String,
    /// The line that gives it, which may be a DEFAULT line.
    pub place: Place,
}

/// Attributes by their keys in small letters.
type Attributes = BTreeMap<String, Attribute>;

/// A line that names nodes or a Slurm partition.
#[derive(Clone, Debug)]
pub struct Named {
    /// The name, or a host list.
    pub name: String,
    /// The line.
    pub place: Place,
    own: Attributes,
    inherited: Arc<Attributes>,
}

impl Named {
    /// The attribute of this key: the last of the line, or that of the DEFAULT lines.
    pub fn get(&self, key: &str) -> Option<&Attribute> {
        let key = key.to_ascii_lowercase();
        self.own.get(&key).or_else(|| self.inherited.get(&key))
    }

    /// A line that inherits nothing.
    pub(crate) fn alone(line: &Line) -> Self {
        let (name, place) = (line.pair.value.clone(), line.place.clone());
        Self { name, place, own: own(line), inherited: Arc::default() }
    }
}

/// The lines but the DEFAULT lines, whose values all lines below them inherit.
pub(crate) fn with_defaults<'a>(lines: impl Iterator<Item = &'a Line>) -> Vec<Named> {
    let mut inherited = Arc::<Attributes>::default();
    let mut all = Vec::new();
    for line in lines {
        if line.pair.value.eq_ignore_ascii_case("DEFAULT") {
            Arc::make_mut(&mut inherited).extend(own(line));
        } else {
            all.push(Named { inherited: inherited.clone(), ..Named::alone(line) });
        }
    }
    all
}

/// The attributes of a line itself. The last of a key counts.
fn own(line: &Line) -> Attributes {
    let attribute = |pair: &crate::Pair| {
        let (key, value) = (pair.key.clone(), pair.value.clone());
        (key.to_ascii_lowercase(), Attribute { key, value, place: line.place.clone() })
    };
    line.more.iter().map(attribute).collect()
}
