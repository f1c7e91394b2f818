//! The models that a node offers, from its `Gres=` in slurm.conf.

use std::collections::{BTreeMap, BTreeSet};

use crate::{GresType, IpuCount, ModelName, Words, words};

/// A model as nodes offer it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offered {
    /// By its name, with the largest number of IPUs that a node gives it.
    ByName(u32),
    /// By the sizes of its partitions.
    BySizes(BTreeSet<IpuCount>),
}

impl Offered {
    /// The largest number of IPUs that a node offers for one job.
    pub fn largest(&self) -> u32 {
        match self {
            Self::ByName(ipus) => *ipus,
            Self::BySizes(sizes) => sizes.last().map_or(0, |size| size.get()),
        }
    }

    /// The sizes, if they are the GRES types.
    pub fn into_sizes(self) -> Option<BTreeSet<IpuCount>> {
        match self {
            Self::ByName(_) => None,
            Self::BySizes(sizes) => Some(sizes),
        }
    }
}

/// The models that nodes offer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfferedModels(pub BTreeMap<ModelName, Offered>);

impl OfferedModels {
    /// Whether a node offers sizes of partitions.
    pub fn has_sizes(&self) -> bool {
        self.0.values().any(|offered| matches!(offered, Offered::BySizes(_)))
    }

    /// Adds an element of a node, without its `vipu:`.
    ///
    /// # Errors
    /// The text says what is wrong, and what to write. [`bad_element`] makes a line of it.
    pub fn add(&mut self, element: &str) -> Result<(), Words> {
        let (of, count) = offered(element)?;
        let model = of.model();
        let new = match of {
            GresType::Model(_) => Offered::ByName(count),
            GresType::Size(ipus) => {
                let size = IpuCount::new(ipus).map_err(|why| words!("{why}; write {BY_SIZE}"))?;
                Offered::BySizes([size].into())
            }
        };
        match (self.0.get_mut(&model), new) {
            (Some(Offered::ByName(most)), Offered::ByName(count)) => *most = count.max(*most),
            (Some(Offered::BySizes(all)), Offered::BySizes(more)) => all.extend(more),
            (Some(_), _) => {
                return Err(words!(
                    "{model} is the model of sizes such as vipu:16, and nodes offer it by its name, too; write {BY_SIZE} on all nodes, \
                     or rename the model"
                ));
            }
            (None, new) => drop(self.0.insert(model, new)),
        }
        Ok(())
    }
}

/// The forms of an element.
const BY_NAME: &str = "Gres=vipu:<model>:no_consume:<IPUs>";
const BY_SIZE: &str = "Gres=vipu:<IPUs of a partition>:no_consume:<partitions>";

/// The elements of a node's `Gres=` that offer IPUs, without their `vipu:`.
pub fn ipu_elements(gres: &str) -> impl Iterator<Item = &str> {
    gres.split(',').filter_map(|element| element.trim().strip_prefix("vipu:"))
}

/// The types of a node's `Gres=` that offer IPUs. Elements that offer nothing are left out.
pub fn gres_types(gres: &str) -> BTreeSet<GresType> {
    ipu_elements(gres).filter_map(|element| Some(offered(element).ok()?.0)).collect()
}

/// Reads an element without its `vipu:`, for example `pod64:no_consume:64` or `16:no_consume:4`.
pub fn offered(element: &str) -> Result<(GresType, u32), Words> {
    // Slurm writes an index set such as `(S:0)` behind the count in some places.
    let element = element.split('(').next().unwrap_or(element);
    let mut words: Vec<_> = element.split(':').collect();
    words.retain(|word| !is_no_consume(word));
    let [of, count] = words[..] else {
        return Err(words!("needs a model and a number of IPUs; write {BY_NAME}"));
    };
    let of = GresType::new(of).map_err(|why| words!("{why}; write {BY_NAME} or {BY_SIZE}"))?;
    let (what, form) = match of {
        GresType::Model(_) => ("IPUs", BY_NAME),
        GresType::Size(_) => ("partitions", BY_SIZE),
    };
    let count = number(count).ok_or_else(|| words!("{count} is not a number of {what}; write {form}"))?;
    Ok((of, count))
}

/// Reads a count as Slurm writes it: a multiple of 1024 has the suffix K, for example `1K`.
fn number(text: &str) -> Option<u32> {
    match text.strip_suffix(['K', 'k']) {
        Some(thousands) => thousands.parse::<u32>().ok()?.checked_mul(1024),
        None => text.parse().ok(),
    }
}

/// The line about an element that [`OfferedModels::add`] refuses.
pub fn bad_element(node: &str, element: &str, why: &str) -> String {
    format!("node {node}: Gres=vipu:{element}: {why}")
}

/// The first element of a node's `Gres=`, if no element has the word `no_consume`. The word is one flag for
/// all GRES types of a node.
pub fn consumable_element(gres: &str) -> Option<&str> {
    let has_word = ipu_elements(gres).flat_map(|element| element.split(':')).any(is_no_consume);
    ipu_elements(gres).next().filter(|_| !has_word)
}

/// The line about an element that [`consumable_element`] finds on a node and on `others` more.
pub fn consumable(node: &str, others: usize, element: &str) -> String {
    let others = if others == 0 { String::new() } else { format!(" (and {others} more nodes)") };
    let good = with_no_consume(element).unwrap_or_else(|| "<model>:no_consume:<IPUs>".into());
    format!(
        "node {node}{others}: Gres=vipu:{element} lacks no_consume: Slurm counts the IPUs as the node's own, and jobs and steps \
         wait for one another; write Gres=vipu:{good}"
    )
}

/// The element with the word `no_consume`.
pub fn with_no_consume(element: &str) -> Option<String> {
    let (model, count) = element.rsplit_once(':')?;
    Some(format!("{model}:no_consume:{count}"))
}

fn is_no_consume(word: &str) -> bool {
    word.eq_ignore_ascii_case("no_consume")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The models of nodes with these elements, and the first error.
    fn models(elements: &[&str]) -> (OfferedModels, Option<Words>) {
        let mut models = OfferedModels::default();
        let errors: Vec<_> = elements.iter().filter_map(|element| models.add(element).err()).collect();
        (models, errors.into_iter().next())
    }

    #[test]
    fn an_element_that_offers_nothing_is_an_error_with_what_to_write() {
        for (element, told) in [
            ("no_consume:8", "needs a model and a number of IPUs; write Gres=vipu:<model>:no_consume:<IPUs>"),
            ("pod64:many", "many is not a number of IPUs; write Gres=vipu:<model>:no_consume:<IPUs>"),
            ("pod64:4194304K", "4194304K is not a number of IPUs; write Gres=vipu:<model>:no_consume:<IPUs>"),
            (
                "16:no_consume:x",
                "x is not a number of partitions; write Gres=vipu:<IPUs of a partition>:no_consume:<partitions>",
            ),
            (
                "12:no_consume:4",
                "12 IPUs is not a power of two; write Gres=vipu:<IPUs of a partition>:no_consume:<partitions>",
            ),
        ] {
            assert_eq!(models(&[element]).1.as_deref(), Some(told), "{element}");
        }
        let spelling = models(&["016:no_consume:4"]).1.unwrap();
        assert!(spelling.starts_with("type '016': a number of IPUs without a zero"), "{spelling}");
    }

    #[test]
    fn numbers_are_sizes_of_one_model() {
        let (found, error) =
            models(&["16:no_consume:4", "4:no_consume:1K(S:0)", "16:2", "pod16:no_consume:16"]);
        assert_eq!(error, None);
        let vipu = &found.0[&ModelName::of_sizes()];
        let sizes = [4, 16].map(|size| IpuCount::new(size).unwrap());
        assert_eq!((vipu, vipu.largest()), (&Offered::BySizes(sizes.into()), 16));
        assert_eq!(found.0[&ModelName::new("pod16").unwrap()], Offered::ByName(16));
    }

    #[test]
    fn a_model_has_a_name_or_sizes() {
        for elements in [["vipu:no_consume:64", "16:no_consume:4"], ["16:no_consume:4", "vipu:no_consume:64"]]
        {
            let error = models(&elements).1.unwrap();
            assert!(error.contains("nodes offer it by its name, too"), "{error}");
        }
    }

    #[test]
    fn a_count_may_have_the_suffix_that_slurm_writes() {
        assert_eq!(offered("pod1024:no_consume:1K").unwrap().1, 1024);
        assert_eq!(offered("pod1024:2k(S:0)").unwrap().1, 2048);
    }

    #[test]
    fn a_missing_no_consume_is_told_with_the_element_to_write() {
        let line = consumable("n1", 0, consumable_element("gpu:1,vipu:16:4").unwrap());
        assert!(
            line.contains("Gres=vipu:16:4 lacks") && line.ends_with("write Gres=vipu:16:no_consume:4"),
            "{line}"
        );
    }
}
