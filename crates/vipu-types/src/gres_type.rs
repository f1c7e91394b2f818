//! The type of a `vipu` GRES.

use std::fmt;

use crate::ModelName;
use crate::names::BadName;

/// The word between `vipu` and the count, in the `Gres=` of a node and in the request of a job.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GresType {
    /// A model. The count is a number of IPUs: `vipu:pod64:16`.
    Model(ModelName),
    /// A number of IPUs, as in the vendor's guide. The count is a number of partitions with so many IPUs:
    /// `vipu:16:4`.
    Size(u64),
}

impl GresType {
    /// Reads the word. Slurm compares types as texts, so that a number has one spelling only.
    ///
    /// # Errors
    /// The word is neither a number nor the name of a model.
    pub fn new(word: &str) -> Result<Self, BadName> {
        const RULE: &str = "a number of IPUs without a zero before it";
        if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_digit()) {
            return ModelName::new(word).map(Self::Model);
        }
        let size = word.parse().ok().filter(|size: &u64| size.to_string() == word);
        size.map(Self::Size).ok_or_else(|| BadName::new("type", word.to_owned(), RULE))
    }

    /// The model of the IPUs. Sizes are those of one model, whose file is `vipu.conf`.
    pub fn model(&self) -> ModelName {
        match self {
            Self::Model(model) => model.clone(),
            Self::Size(_) => ModelName::of_sizes(),
        }
    }

    /// The count that stands for one partition with this number of IPUs.
    pub fn count_of(&self, ipus: u64) -> u64 {
        match self {
            Self::Model(_) => ipus,
            Self::Size(_) => 1,
        }
    }
}

impl fmt::Display for GresType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(model) => model.fmt(f),
            Self::Size(ipus) => ipus.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_a_size_or_a_model() {
        assert_eq!(GresType::new("16"), Ok(GresType::Size(16)));
        assert_eq!(GresType::new("pod16").map(|of| of.model().to_string()), Ok("pod16".into()));
        assert_eq!(GresType::Size(16).model().as_str(), "vipu");
        for bad in ["016", "16k", "1_6", "99999999999999999999", "-1", ""] {
            assert!(GresType::new(bad).is_err(), "{bad}");
        }
    }
}
