//! Checks that the Slurm partitions of a job have nodes with IPUs.

use std::sync::{Mutex, MutexGuard, PoisonError};

use vipu_types::{GresType, Words, words};

use crate::slurm::SlurmPartitions;

/// The most Slurm partitions with IPUs that a refusal names.
const MOST_NAMES: usize = 8;

/// The most earlier answers that are kept. Users may write the names of Slurm partitions in any order.
const MOST_FOUND: usize = 31;

/// Slurm partitions that have IPUs of a GRES type, kept until nodes or Slurm partitions change. A look at each
/// submit would cost as much as the rest of its check.
#[derive(Default)]
pub(crate) struct Found(Mutex<Vec<(String, GresType)>>);

impl Found {
    /// Calls [`refuse`], unless the answer is known.
    pub(crate) fn refuse<P: SlurmPartitions>(
        &self,
        places: impl FnOnce() -> Option<P>,
        wanted: &str,
        of: &GresType,
    ) -> Option<Words> {
        if self.has(wanted, of) {
            return None;
        }
        let places = places()?;
        let refusal = refuse(&places, wanted, of);
        if refusal.is_none() {
            let mut found = self.lock();
            found.truncate(MOST_FOUND);
            found.insert(0, (wanted.to_owned(), of.clone()));
        }
        refusal
    }

    fn has(&self, wanted: &str, of: &GresType) -> bool {
        self.lock().iter().any(|(name, found)| name == wanted && found == of)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(String, GresType)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets all answers, because they may not hold any more.
    pub(crate) fn forget(&self) {
        self.lock().clear();
    }
}

/// The refusal of a job if none of these Slurm partitions has IPUs of this model. `wanted` is a list as users
/// write it. Slurm itself refuses an unknown name.
fn refuse(places: &impl SlurmPartitions, wanted: &str, of: &GresType) -> Option<Words> {
    let names: Vec<_> = wanted.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let lacks = |name: &&str| places.have(name, Some(of)) == Some(false);
    if names.is_empty() || !names.iter().all(lacks) {
        return None;
    }
    let has_others = names.iter().any(|name| places.have(name, None) == Some(true));
    let ipus = match of {
        GresType::Model(model) => format!("IPUs of {model}"),
        GresType::Size(ipus) => format!("partitions of {ipus} IPUs"),
    };
    let what = if has_others { &ipus } else { "IPUs" };
    let plural = if names.len() == 1 { "" } else { "s" };
    let mut others = places.names();
    others.retain(|name| places.have(name, Some(of)) == Some(true));
    others.truncate(MOST_NAMES);
    let advice = match &others[..] {
        [] => format!("no Slurm partition has a node with {ipus}"),
        others => format!("try {}", others.join(" or ")),
    };
    Some(words!("vipu: no node of Slurm partition{plural} {} has {what}; {advice}", names.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slurm partitions, each with the GRES types that its nodes offer.
    struct Fake(Vec<(&'static str, Vec<&'static str>)>);

    impl SlurmPartitions for Fake {
        fn names(&self) -> Vec<String> {
            self.0.iter().map(|(name, _)| (*name).to_owned()).collect()
        }

        fn have(&self, slurm_partition: &str, of: Option<&GresType>) -> Option<bool> {
            let (_, nodes) = self.0.iter().find(|(name, _)| *name == slurm_partition)?;
            Some(nodes.iter().any(|offered| of.is_none_or(|wanted| wanted.to_string() == *offered)))
        }
    }

    fn told(wanted: &str, of: &str) -> String {
        let partitions = Fake(vec![
            ("cpu", vec![]),
            ("gpu", vec![]),
            ("ipu", vec!["pod64"]),
            ("old", vec!["pod16"]),
            ("both", vec!["pod64", "pod16"]),
            ("sizes", vec!["16", "4"]),
        ]);
        refuse(&partitions, wanted, &GresType::new(of).unwrap()).map(String::from).unwrap_or_default()
    }

    #[test]
    fn a_good_answer_is_remembered_until_it_may_have_changed() {
        let (found, model) = (Found::default(), GresType::new("pod64").unwrap());
        let partitions = |models| Some(Fake(vec![("ipu", models)]));
        assert_eq!(found.refuse(|| partitions(vec!["pod64"]), "ipu", &model), None);
        assert_eq!(found.refuse(|| -> Option<Fake> { panic!("looked again") }, "ipu", &model), None);
        found.forget();
        assert!(found.refuse(|| partitions(vec![]), "ipu", &model).is_some());
        assert!(found.refuse(|| partitions(vec![]), "ipu", &model).is_some(), "a refusal is not remembered");
    }

    #[test]
    fn a_slurm_partition_without_ipus_is_refused_and_others_are_named() {
        let cpu = "vipu: no node of Slurm partition cpu has IPUs; try ipu or both";
        for (wanted, model, line) in [
            ("cpu", "pod64", cpu),
            ("gpu", "pod16", "vipu: no node of Slurm partition gpu has IPUs; try old or both"),
            ("cpu,gpu", "pod64", "vipu: no node of Slurm partitions cpu,gpu has IPUs; try ipu or both"),
            ("old", "pod64", "vipu: no node of Slurm partition old has IPUs of pod64; try ipu or both"),
            (
                "cpu",
                "pod4",
                "vipu: no node of Slurm partition cpu has IPUs; no Slurm partition has a node with IPUs of pod4",
            ),
            ("ipu", "4", "vipu: no node of Slurm partition ipu has partitions of 4 IPUs; try sizes"),
            ("sizes", "16", ""),
            ("cpu,ipu", "pod64", ""),
            ("ipu", "pod64", ""),
            ("both", "pod16", ""),
            ("no-such", "pod64", ""),
            ("cpu,no-such", "pod64", ""),
            ("", "pod64", ""),
        ] {
            assert_eq!(told(wanted, model), line, "{wanted} {model}");
        }
    }
}
