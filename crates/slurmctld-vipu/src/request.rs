//! What a GRES request comes to on this site, or what would be valid instead.

use std::fmt;

use vipu_types::{
    Asked, BadValue, Contradiction, GresRequest, IpuCount, Misfit, ModelName, NotASize, RequestError, Shape,
};

use crate::models::{Model, Models};

/// What a job's record or submit message says of IPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// Its GRES list.
    pub(crate) tres: String,
    /// Its options, as Slurm keeps them.
    pub(crate) options: Vec<String>,
}

/// A request that can be met: by which model, with how many IPUs, divided and wired how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) model: ModelName,
    pub(crate) size: IpuCount,
    pub(crate) shape: Shape,
}

impl Resolved {
    /// The request in full, as Slurm shall keep it.
    pub(crate) fn canonical(&self) -> GresRequest {
        GresRequest { model: Some(self.model.clone()), count: Some(self.size.get().into()) }
    }
}

/// Why a request cannot be met, in one line for the user's terminal: what is wrong, the nearest valid requests,
/// and what there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}")]
pub(crate) struct Refusal {
    line: String,
    for_good: bool,
}

/// What is wrong with a request.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    Grammar(#[from] RequestError),
    #[error(transparent)]
    NotASize(#[from] NotASize),
    #[error(transparent)]
    BadValue(#[from] BadValue),
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
    #[error(transparent)]
    Misfit(#[from] Misfit),
    #[error("a job on {model} gets at most {largest} IPUs")]
    TooLarge { model: ModelName, largest: u32 },
    #[error("there is no model {0}")]
    NoSuchModel(ModelName),
    #[error("which model? write --gres=vipu:<model>:<IPUs>")]
    WhichModel,
}

impl Refusal {
    /// Whether no partition on any system could be what was asked for, whatever the configuration.
    pub(crate) fn is_for_good(&self) -> bool {
        self.for_good
    }
}

/// Requests that would be accepted, as they are to be written.
struct Valid(Vec<GresRequest>);

impl fmt::Display for Valid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, request) in self.0.iter().enumerate() {
            write!(f, "{}--gres={request}", if i == 0 { "; valid: " } else { " or " })?;
        }
        Ok(())
    }
}

/// What models there are, with their sizes.
struct Offer(Vec<(ModelName, u32)>);

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no node has a vipu GRES");
        }
        f.write_str("models: ")?;
        for (i, (model, largest)) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            write!(f, "{separator}{model} (1, 2, 4 ... {} IPUs)", size_below(*largest))?;
        }
        Ok(())
    }
}

impl Models {
    /// What a new request comes to; `None` when there are no IPUs in it.
    pub(crate) fn find_new(&self, request: &Request) -> Result<Option<Resolved>, Refusal> {
        let (asked, gres) = self.parse(request)?;
        let merged = asked.with_gres(gres).map_err(|why| self.refusal(why.into(), vec![]))?;
        merged.map(|gres| self.resolve(&gres, asked.shape)).transpose()
    }

    /// What the request of a job comes to that was taken. Its GRES list has number and model by now, and may have
    /// been changed since; the options cannot be.
    pub(crate) fn find(&self, request: &Request) -> Result<Option<Resolved>, Refusal> {
        let (asked, gres) = self.parse(request)?;
        gres.map(|gres| self.resolve(&gres, asked.shape)).transpose()
    }

    fn parse(&self, request: &Request) -> Result<(Asked, Option<GresRequest>), Refusal> {
        let gres = GresRequest::find(&request.tres).map_err(|why| self.refusal(why.into(), vec![]))?;
        let asked = Asked::read(request.options.iter().map(String::as_str));
        Ok((asked.map_err(|why| self.refusal(why.into(), vec![]))?, gres))
    }

    /// Judges a request. Without a model it goes where there is exactly one choice.
    fn resolve(&self, request: &GresRequest, shape: Shape) -> Result<Resolved, Refusal> {
        let (name, model) = self.choose(request)?;
        let valid = |sizes: &[u64]| {
            let fitting = sizes.iter().filter(|size| (1..=u64::from(model.largest)).contains(*size));
            fitting.map(|&count| GresRequest { model: Some(name.clone()), count: Some(count) }).collect()
        };
        let most = size_below(model.largest);
        let size = IpuCount::new(request.ipus()).map_err(|why| {
            let nearest = match why {
                NotASize::Zero => valid(&[1]),
                NotASize::NotPowerOfTwo { below, above, .. } => valid(&[below.min(most), above]),
                NotASize::TooLarge(_) => valid(&[most]),
            };
            self.refusal(why.into(), nearest)
        })?;
        if size.get() > model.largest {
            let fault = Fault::TooLarge { model: name.clone(), largest: model.largest };
            return Err(self.refusal(fault, valid(&[most])));
        }
        shape.check(size, model.link_domain()).map_err(|why| self.refusal(why.into(), vec![]))?;
        Ok(Resolved { model: name.clone(), size, shape })
    }

    fn choose(&self, request: &GresRequest) -> Result<(&ModelName, &Model), Refusal> {
        let found = match &request.model {
            Some(asked) => self.0.get_key_value(asked).ok_or_else(|| Fault::NoSuchModel(asked.clone())),
            None => self.only_choice(request.ipus()).ok_or(Fault::WhichModel),
        };
        found.map_err(|fault| {
            let same_size =
                |(name, _): (&ModelName, _)| GresRequest { model: Some(name.clone()), ..request.clone() };
            self.refusal(fault, self.with_size(request.ipus()).map(same_size).collect())
        })
    }

    /// The model that is meant by a number alone: the only one, or the only one with partitions of that size; of
    /// several that are all too small the largest, for the refusal to name.
    fn only_choice(&self, count: u64) -> Option<(&ModelName, &Model)> {
        if self.0.len() == 1 {
            return self.0.first_key_value();
        }
        let mut with_size = self.with_size(count);
        match (with_size.next(), with_size.next()) {
            (Some(only), None) => Some(only),
            (None, _) if IpuCount::new(count).is_ok() => self.0.iter().max_by_key(|(_, model)| model.largest),
            _ => None,
        }
    }

    /// The models with partitions of this size.
    fn with_size(&self, count: u64) -> impl Iterator<Item = (&ModelName, &Model)> {
        let is_size = IpuCount::new(count).is_ok();
        self.0.iter().filter(move |(_, model)| is_size && u64::from(model.largest) >= count)
    }

    fn refusal(&self, fault: Fault, valid: Vec<GresRequest>) -> Refusal {
        let offer = self.0.iter().map(|(name, model)| (name.clone(), model.largest)).collect();
        let for_good = matches!(
            fault,
            Fault::Grammar(_) | Fault::NotASize(_) | Fault::BadValue(_) | Fault::Contradiction(_)
        );
        Refusal { line: format!("vipu: {fault}{}; {}", Valid(valid), Offer(offer)), for_good }
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

    fn asks(tres: &str, options: &[&str]) -> Request {
        let option = |option: &&str| format!("_SLURM_SPANK_OPTION_spank_ipuof_{option}");
        Request { tres: tres.into(), options: options.iter().map(option).collect() }
    }

    fn answer(models: &Models, tres: &str) -> String {
        answer_to(models, &asks(tres, &[]))
    }

    fn answer_to(models: &Models, request: &Request) -> String {
        let found = models.find_new(request);
        found.map_or_else(|why| why.to_string(), |done| done.unwrap().canonical().to_string())
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
        assert_eq!(one.find(&asks("gpu:2", &[])), Ok(None));
    }

    #[test]
    fn a_refusal_names_what_would_be_valid_and_what_there_is() {
        let one = models(&[("pod64", 64)]);
        for (asked, line) in [
            (
                "vipu:pod64:3",
                "3 IPUs is not a power of two; valid: --gres=vipu:pod64:2 or --gres=vipu:pod64:4",
            ),
            ("vipu:65", "65 IPUs is not a power of two; valid: --gres=vipu:pod64:64"),
            ("vipu:0", "a partition has at least 1 IPU; valid: --gres=vipu:pod64:1"),
            ("vipu:128", "a job on pod64 gets at most 64 IPUs; valid: --gres=vipu:pod64:64"),
            ("vipu:pod99:4", "there is no model pod99; valid: --gres=vipu:pod64:4"),
            ("vipu:pod99:3", "there is no model pod99"),
            ("vipu:4,vipu:8", "'vipu:4' and 'vipu:8': a job has one partition, ask for vipu once"),
        ] {
            assert_eq!(answer(&one, asked), format!("vipu: {line}; models: pod64 (1, 2, 4 ... 64 IPUs)"));
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
            "vipu: which model? write --gres=vipu:<model>:<IPUs>; valid: --gres=vipu:pod16:4 or \
             --gres=vipu:pod64:4; models: pod16 (1, 2, 4 ... 16 IPUs), pod64 (1, 2, 4 ... 64 IPUs)"
        );
        assert_eq!(answer(&two, "vipu:pod16:4"), "vipu:pod16:4");
        let no_size = "vipu: which model? write --gres=vipu:<model>:<IPUs>; models: pod16 (";
        assert!(answer(&two, "vipu:3").starts_with(no_size), "{}", answer(&two, "vipu:3"));
    }

    #[test]
    fn a_size_that_only_one_model_has_needs_none() {
        let three = models(&[("pod16", 16), ("pod16b", 16), ("pod64", 64)]);
        assert_eq!(answer(&three, "vipu:32"), "vipu:pod64:32");
        assert!(answer(&three, "vipu:16").starts_with("vipu: which model?"));
        assert!(
            answer(&three, "vipu:128").starts_with(
                "vipu: a job on pod64 gets at most 64 IPUs; valid: --gres=vipu:pod64:64; models: "
            ),
            "{}",
            answer(&three, "vipu:128")
        );
    }

    #[test]
    fn options_are_part_of_the_request() {
        let one = models(&[("pod64", 64)]);
        for (tres, options, meaning) in [
            ("", &["ipus=16"][..], "vipu:pod64:16"),
            ("gres:gpu:2", &["ipus=16", "ipu_model=pod64"], "vipu:pod64:16"),
            ("vipu:pod64", &["ipus=16"], "vipu:pod64:16"),
        ] {
            assert_eq!(answer_to(&one, &asks(tres, options)), meaning);
        }
        for (tres, options, line) in [
            ("", &["ipus=3"][..], "vipu: 3 IPUs is not a power of two; valid: --gres=vipu:pod64:2 or"),
            ("vipu:8", &["ipus=16"], "vipu: --ipus=16 and --gres=vipu:8 are two numbers of IPUs"),
            ("vipu:8", &["ipu_gcds=3"], "vipu: --ipu-gcds=3: 8 IPUs cannot be divided"),
            ("vipu:8", &["ipu_sync=x"], "vipu: --ipu-sync=x: one of c2-compatible, "),
        ] {
            let answer = answer_to(&one, &asks(tres, options));
            assert!(answer.starts_with(line), "{answer}");
        }
        // Of a job that was taken the list counts, which an administrator may have changed.
        let changed = one.find(&asks("gres:vipu:pod64:8", &["ipus=16"])).unwrap().unwrap();
        assert_eq!(changed.size.get(), 8);
    }

    #[test]
    fn only_what_no_system_has_is_refused_for_good() {
        let one = models(&[("pod64", 64)]);
        for (asked, for_good) in
            [("vipu:3", true), ("vipu:0", true), ("vipu:128", false), ("vipu:pod9:1", false)]
        {
            assert_eq!(one.find(&asks(asked, &[])).unwrap_err().is_for_good(), for_good, "{asked}");
        }
    }
}
