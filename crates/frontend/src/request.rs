//! Resolves a GRES request on this site. A request that cannot be met becomes a [`Refusal`].

use std::collections::BTreeSet;

use ledger::{Claim, Ledger};
use vipu_types::{Asked, GresRequest, GresType, IpuCount, JobOption, ModelName, NotASize, Shape};

use crate::limits::Standing;
use crate::models::{Model, Models, size_below};
use crate::refusal::{Fault, Refusal, Valid, Written, in_words};
use crate::slurm::Job;

/// The parts of a job's record or submit message that concern IPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// Its GRES list.
    pub(crate) tres: String,
    /// Its options, as Slurm keeps them.
    pub(crate) options: Vec<String>,
    /// Its Slurm partitions and its QOS.
    pub(crate) standing: Standing,
}

/// A request that can be met: its model, its number of IPUs, and its shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) model: ModelName,
    pub(crate) size: IpuCount,
    pub(crate) shape: Shape,
}

impl Resolved {
    /// Whether this claim was made for the request, in this run of this user's job. The options of a job
    /// cannot change, so its shape is not compared.
    pub(crate) fn is_claimed_by(&self, ledger: &Ledger, claim: &Claim, user: u32, restart: u16) -> bool {
        let claimed = (claim.user, claim.run.restart, &claim.model);
        claimed == (user, restart, &self.model) && ledger.serves(claim, self.size)
    }
}

/// A submitted or changed request that can be met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    asked: u64,
    pub(crate) resolved: Resolved,
    /// The sizes of partitions that made its number of IPUs be rounded up.
    sizes: String,
    /// Whether the user wrote a number without a type, and sizes are types here.
    lacks_type: bool,
}

impl Taken {
    /// A line for the user, if the job gets more IPUs than asked for, or should be written in another form.
    pub(crate) fn notice(&self, canonical: &GresRequest) -> Option<String> {
        let (asked, size) = (self.asked, self.resolved.size);
        let is_rounded = asked != u64::from(size.get());
        let meaning = match (is_rounded, self.lacks_type) {
            (true, _) => format!("{asked} IPUs are rounded up to {size}, as partitions have {}", self.sizes),
            (false, true) => format!("this is one partition of {}", in_words([size])),
            (false, false) => return None,
        };
        let advice = if self.lacks_type { format!("; write --gres={canonical}") } else { String::new() };
        Some(format!("vipu: {meaning}{advice}"))
    }

    /// This request with a size that the user gave in another way.
    pub(crate) fn with_size(self, size: IpuCount) -> Self {
        Self { asked: size.get().into(), resolved: Resolved { size, ..self.resolved }, ..self }
    }

    /// This request with another size, because there are only partitions with `sizes`.
    pub(crate) fn rounded_to(self, size: IpuCount, sizes: String) -> Self {
        Self { resolved: Resolved { size, ..self.resolved }, sizes, ..self }
    }
}

/// The request of a job that has no nodes and is not held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WaitingJob {
    user: u32,
    restart: u16,
    tres: String,
}

impl WaitingJob {
    /// None for a job that does not wait.
    pub(crate) fn of(job: impl Job) -> Option<Self> {
        let waits = job.is_pending() && !job.is_completing() && job.priority() != 0;
        let tres = job.tres_per_node()?;
        waits.then(|| Self { user: job.user(), restart: job.restart_count(), tres })
    }

    /// Its request, if it can be met.
    pub(crate) fn wanted(&self, models: &Models) -> Option<Resolved> {
        // Its options cannot have changed.
        let request = Request { tres: self.tres.clone(), ..Request::default() };
        models.find(&request).ok().flatten()
    }

    /// Whether this claim was made for its request.
    pub(crate) fn has_claimed(&self, wanted: &Resolved, ledger: &Ledger, claim: &Claim) -> bool {
        wanted.is_claimed_by(ledger, claim, self.user, self.restart)
    }
}

impl Models {
    /// The complete request, as Slurm keeps it.
    pub(crate) fn canonical(&self, wanted: &Resolved) -> GresRequest {
        GresRequest::of_one(self.gres_type(&wanted.model, wanted.size), wanted.size.get().into())
    }

    /// Resolves a new request. `None` if it asks for no IPUs.
    pub(crate) fn find_new(&self, request: &Request) -> Result<Option<Taken>, Refusal> {
        let (asked, gres) = self.parse(request)?;
        let written = if gres.is_none() { Written::Options } else { Written::Gres };
        let merged = asked.with_gres(gres).map_err(|why| self.refusal(why.into(), Valid::NONE))?;
        merged.map(|gres| self.resolve(&gres, written, asked.shape, &request.standing)).transpose()
    }

    /// Resolves the GRES list of a job that is changed. Options cannot change. Their number of IPUs does not
    /// count any more, and their model counts only if the list has none.
    pub(crate) fn find_changed(&self, request: &Request) -> Result<Option<Taken>, Refusal> {
        let (asked, gres) = self.parse(request)?;
        let with_model =
            |gres: GresRequest| GresRequest { of: gres.of.or_else(|| asked.gres_type()), ..gres };
        let resolve = |gres| self.resolve(&with_model(gres), Written::Gres, asked.shape, &request.standing);
        gres.map(resolve).transpose()
    }

    /// Resolves the request of an accepted job. Its GRES list is complete by now, and may have been changed
    /// since.
    pub(crate) fn find(&self, request: &Request) -> Result<Option<Resolved>, Refusal> {
        Ok(self.find_changed(request)?.map(|taken| taken.resolved))
    }

    /// Resolves the request of a job record. `None` if it asks for no IPUs.
    pub(crate) fn wanted(&self, job: impl Job) -> Result<Option<Resolved>, Refusal> {
        if !job.mentions_vipu() {
            return Ok(None);
        }
        let standing = Standing { slurm_partitions: job.slurm_partition(), qos: job.qos() };
        let (tres, options) = (job.tres_per_node().unwrap_or_default(), job.options(JobOption::PREFIX));
        self.find(&Request { tres, options, standing })
    }

    fn parse(&self, request: &Request) -> Result<(Asked, Option<GresRequest>), Refusal> {
        let gres = GresRequest::find(&request.tres).map_err(|why| self.refusal(why.into(), Valid::NONE))?;
        let asked = Asked::read(request.options.iter().map(String::as_str));
        Ok((asked.map_err(|why| self.refusal(why.into(), Valid::NONE))?, gres))
    }

    /// Resolves a request. Without a model it gets the only possible one.
    fn resolve(
        &self,
        request: &GresRequest,
        written: Written,
        shape: Shape,
        standing: &Standing,
    ) -> Result<Taken, Refusal> {
        let asked = request.ipus().unwrap_or(1);
        let (name, model) = self.choose(request, written, standing)?;
        let most = model.most(name, standing);
        let valid = |sizes: &[u64]| {
            let of_hosts =
                model.host_sizes().map(|all| all.into_iter().map(|size| size.get().into()).collect());
            let sizes: Vec<u64> = of_hosts.unwrap_or_else(|| sizes.to_vec());
            let fitting = sizes.into_iter().filter(|size| model.offers(*size, most.ipus));
            let requests = fitting.map(|ipus| model.request(name, Some(ipus))).collect();
            Valid { written, requests, needs_model: request.of.is_none() && self.0.len() > 1 }
        };
        if let (Some(GresType::Size(_)), Some(partitions)) =
            (&request.of, request.count.filter(|count| *count != 1))
        {
            let together = asked.saturating_mul(partitions);
            let sizes = if together > asked { &[asked, together][..] } else { &[asked] };
            return Err(self.refusal(Fault::NotOnePartition(partitions), valid(sizes)));
        }
        let largest = size_below(most.ipus);
        let only_size = model.only_size();
        if let Some(whole) = only_size.filter(|whole| model.size_for(asked, most.ipus) != Ok(*whole)) {
            return Err(self.refusal(Fault::NotWhole(name.clone(), whole), valid(&[whole.get().into()])));
        }
        let size = model.size_for(asked, most.ipus).map_err(|why| {
            let has_no_size = model.rounds_up() || asked > most.ipus.into();
            if matches!(why, NotASize::NotPowerOfTwo { .. }) && has_no_size {
                return self.refusal(Fault::TooLarge(most.to_string()), valid(&[largest]));
            }
            let nearest = match why {
                NotASize::Zero => valid(&[1]),
                NotASize::NotPowerOfTwo { below, above, .. } => valid(&[below.min(largest), above]),
                NotASize::TooLarge(_) => valid(&[largest]),
            };
            self.refusal(why.into(), nearest)
        })?;
        if size.get() > most.ipus {
            return Err(self.refusal(Fault::TooLarge(most.to_string()), valid(&[largest])));
        }
        shape
            .check(size, model.link_domain())
            .map_err(|why| self.refusal(Fault::Misfit(why), Valid::NONE))?;
        let resolved = Resolved { model: name.clone(), size, shape };
        let sizes = only_size.map_or_else(|| "1, 2, 4 ... IPUs".to_owned(), |whole| format!("{whole} IPUs"));
        let lacks_type = written == Written::Gres && request.of.is_none() && model.sizes.is_some();
        Ok(Taken { asked, resolved, sizes, lacks_type })
    }

    fn choose(
        &self,
        request: &GresRequest,
        written: Written,
        standing: &Standing,
    ) -> Result<(&ModelName, &Model), Refusal> {
        let ipus = request.ipus();
        let found = match &request.of {
            Some(of) => self.by_gres_type(of).ok_or_else(|| match of {
                GresType::Model(model) => Fault::NoSuchModel(model.clone()),
                GresType::Size(size) => Fault::NoSizes(*size),
            }),
            None => self.only_choice(ipus.unwrap_or(1), standing).ok_or(Fault::WhichModel(written)),
        };
        found.map_err(|fault| {
            let with_size = self.with_size(ipus.unwrap_or(1), standing);
            let requests = with_size.map(|(name, model)| model.request(name, ipus)).collect();
            self.refusal(fault, Valid { written, requests, needs_model: true })
        })
    }

    /// The model that a number alone means: the only model, or the only one with partitions of that size. If
    /// all models are too small it is the largest, for the refusal to name.
    fn only_choice(&self, count: u64, standing: &Standing) -> Option<(&ModelName, &Model)> {
        if self.0.len() == 1 {
            return self.0.first_key_value();
        }
        let mut with_size = self.with_size(count, standing);
        match (with_size.next(), with_size.next()) {
            (Some(only), None) => Some(only),
            (None, _) if IpuCount::new(count).is_ok() => self.0.iter().max_by_key(|(_, model)| model.largest),
            _ => None,
        }
    }

    /// The models that have a partition for this number of IPUs.
    fn with_size(&self, count: u64, standing: &Standing) -> impl Iterator<Item = (&ModelName, &Model)> {
        self.0.iter().filter(move |(name, model)| {
            let most = model.most(name, standing).ipus;
            let is_offered = |size: IpuCount| model.only_size().is_none_or(|only| only == size);
            model.size_for(count, most).is_ok_and(|size| size.get() <= most && is_offered(size))
        })
    }
}

impl Model {
    /// Whether nodes have partitions with this number of IPUs, and a job may have `most`.
    fn offers(&self, ipus: u64, most: u32) -> bool {
        let is_offered = |sizes: &BTreeSet<IpuCount>| sizes.iter().any(|size| u64::from(size.get()) == ipus);
        (1..=u64::from(most)).contains(&ipus) && self.sizes.as_ref().is_none_or(is_offered)
    }

    /// The partition size for this number of IPUs. A number between two sizes gets the larger one, if the
    /// site rounds up and `most` allows it. Between zero and a whole Pod there is no size, if jobs get whole Pods.
    fn size_for(&self, count: u64, most: u32) -> Result<IpuCount, NotASize> {
        match (IpuCount::new(count), self.only_size()) {
            (Ok(_) | Err(NotASize::NotPowerOfTwo { .. }), Some(only))
                if self.rounds_up() && count <= only.get().into() =>
            {
                Ok(only)
            }
            (Err(NotASize::NotPowerOfTwo { above, .. }), _)
                if self.rounds_up() && above <= u64::from(most) =>
            {
                IpuCount::new(above)
            }
            (as_asked, _) => as_asked,
        }
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
