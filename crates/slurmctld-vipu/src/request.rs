//! What a GRES request comes to on this site, or what would be valid instead.

use std::fmt;

use vipu_types::{GresRequest, IpuCount, ModelName, NotASize, RequestError};

use crate::models::{Model, Models};

/// A request that can be met: by which model, with how many IPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) model: ModelName,
    pub(crate) size: IpuCount,
}

impl Resolved {
    /// The request in full, as Slurm shall keep it.
    pub(crate) fn canonical(&self) -> GresRequest {
        GresRequest { model: Some(self.model.clone()), count: self.size.get().into() }
    }
}

/// Why a request cannot be met, in one line for the user's terminal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("vipu: {0}")]
    Grammar(#[from] RequestError),
    #[error("vipu: {why}; valid: {valid}")]
    NotASize { why: NotASize, valid: Valid },
    #[error("vipu: a job on {model} gets at most {largest} IPUs; valid: {valid}")]
    TooLarge { model: ModelName, largest: u32, valid: Valid },
    #[error("vipu: there is no model {asked}; {models}")]
    NoSuchModel { asked: ModelName, models: Offer },
    #[error("vipu: which model? write --gres=vipu:<model>:<IPUs>; {0}")]
    WhichModel(Offer),
}

impl Refusal {
    /// Whether no partition on any system could be what was asked for, whatever the configuration.
    pub(crate) fn is_for_good(&self) -> bool {
        matches!(self, Refusal::Grammar(_) | Refusal::NotASize { .. })
    }
}

/// Requests that would be accepted, as they are to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Valid(Vec<GresRequest>);

impl fmt::Display for Valid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, request) in self.0.iter().enumerate() {
            write!(f, "{}--gres={request}", if i == 0 { "" } else { " or " })?;
        }
        Ok(())
    }
}

/// What models there are, with their sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer(Vec<(ModelName, u32)>);

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no node has a vipu GRES");
        }
        f.write_str("models: ")?;
        for (i, (model, largest)) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { "; " };
            write!(f, "{separator}{model} (1, 2, 4 ... {} IPUs)", size_below(*largest))?;
        }
        Ok(())
    }
}

impl Models {
    /// Judges a request. Without a model it goes where there is exactly one choice.
    pub(crate) fn resolve(&self, request: &GresRequest) -> Result<Resolved, Refusal> {
        let (name, model) = self.choose(request)?;
        let valid = |sizes: &[u64]| {
            let fitting = sizes.iter().filter(|size| (1..=u64::from(model.largest)).contains(*size));
            Valid(fitting.map(|&count| GresRequest { model: Some(name.clone()), count }).collect())
        };
        let size = IpuCount::new(request.count).map_err(|why| {
            let valid = match why {
                NotASize::Zero => valid(&[1]),
                NotASize::NotPowerOfTwo { below, above, .. } => {
                    valid(&[below.min(size_below(model.largest)), above])
                }
                NotASize::TooLarge(_) => valid(&[size_below(model.largest)]),
            };
            Refusal::NotASize { why, valid }
        })?;
        if size.get() > model.largest {
            let largest = size_below(model.largest);
            let valid = valid(&[largest]);
            return Err(Refusal::TooLarge { model: name.clone(), largest: model.largest, valid });
        }
        Ok(Resolved { model: name.clone(), size })
    }

    fn choose(&self, request: &GresRequest) -> Result<(&ModelName, &Model), Refusal> {
        match &request.model {
            Some(asked) => self
                .0
                .get_key_value(asked)
                .ok_or_else(|| Refusal::NoSuchModel { asked: asked.clone(), models: self.offer() }),
            None => match self.0.first_key_value() {
                Some(only) if self.0.len() == 1 => Ok(only),
                _ => Err(Refusal::WhichModel(self.offer())),
            },
        }
    }

    fn offer(&self) -> Offer {
        Offer(self.0.iter().map(|(name, model)| (name.clone(), model.largest)).collect())
    }
}

/// The largest partition size not above `limit`.
fn size_below(limit: u32) -> u64 {
    limit.checked_ilog2().map_or(0, |log| 1 << log)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn models(limits: &[(&str, u32)]) -> Models {
        let known =
            limits.iter().map(|&(name, largest)| (ModelName::new(name).unwrap(), Model::of_size(largest)));
        Models(known.collect())
    }

    fn answer(models: &Models, tres: &str) -> String {
        let request = GresRequest::find(tres).unwrap().unwrap();
        models.resolve(&request).map_or_else(|why| why.to_string(), |done| done.canonical().to_string())
    }

    #[test]
    fn one_model_completes_every_request() {
        let one = models(&[("pod64", 64)]);
        for (asked, meaning) in [
            ("vipu", "vipu:pod64:1"),
            ("vipu:4", "vipu:pod64:4"),
            ("vipu:pod64", "vipu:pod64:1"),
            ("vipu:pod64:64", "vipu:pod64:64"),
        ] {
            assert_eq!(answer(&one, asked), meaning);
        }
    }

    #[test]
    fn a_refusal_names_what_would_be_valid() {
        let one = models(&[("pod64", 64)]);
        for (asked, line) in [
            (
                "vipu:pod64:3",
                "vipu: 3 IPUs is not a power of two; the nearest sizes are 2 and 4; \
                 valid: --gres=vipu:pod64:2 or --gres=vipu:pod64:4",
            ),
            (
                "vipu:65",
                "vipu: 65 IPUs is not a power of two; the nearest sizes are 64 and 128; valid: --gres=vipu:pod64:64",
            ),
            ("vipu:0", "vipu: a partition has at least 1 IPU; valid: --gres=vipu:pod64:1"),
            ("vipu:128", "vipu: a job on pod64 gets at most 64 IPUs; valid: --gres=vipu:pod64:64"),
            ("vipu:pod99:4", "vipu: there is no model pod99; models: pod64 (1, 2, 4 ... 64 IPUs)"),
        ] {
            assert_eq!(answer(&one, asked), line);
        }
        assert_eq!(
            answer(&models(&[]), "vipu:4"),
            "vipu: which model? write --gres=vipu:<model>:<IPUs>; no node has a vipu GRES"
        );
    }

    #[test]
    fn two_models_need_a_word() {
        let two = models(&[("pod16", 16), ("pod64", 64)]);
        assert_eq!(
            answer(&two, "vipu:4"),
            "vipu: which model? write --gres=vipu:<model>:<IPUs>; \
             models: pod16 (1, 2, 4 ... 16 IPUs); pod64 (1, 2, 4 ... 64 IPUs)"
        );
        assert_eq!(answer(&two, "vipu:pod16:4"), "vipu:pod16:4");
    }

    #[test]
    fn only_what_no_system_has_is_refused_for_good() {
        let one = models(&[("pod64", 64)]);
        for (asked, for_good) in
            [("vipu:3", true), ("vipu:0", true), ("vipu:128", false), ("vipu:pod9:1", false)]
        {
            let request = GresRequest::find(asked).unwrap().unwrap();
            assert_eq!(one.resolve(&request).unwrap_err().is_for_good(), for_good, "{asked}");
        }
    }
}
