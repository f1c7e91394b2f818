//! IPUs as an administrator names them.

use std::collections::BTreeSet;
use std::fmt;

use ledger::{Contact, DrainScope, DrainedPart, ModelView, Place, PodView};
use vipu_types::{ControllerName, ModelName, Placement, Words, shown, words};

/// A model, a partition of a pool, a controller, or neighbouring IPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ipus {
    /// A model. If no model has this name, a partition.
    Named(String),
    Controller(ControllerName),
    /// The IPUs from a place to an index of the same domain. Without a controller: that of the only one.
    Places(Option<ControllerName>, Place, u32),
}

impl Ipus {
    /// Reads `MODEL`, `PARTITION`, `HOST:PORT`, `DOMAIN:INDEX`, `DOMAIN:FIRST-LAST`, or one of these places after
    /// `HOST:PORT/`.
    pub(super) fn parse(text: &str) -> Result<Self, Words> {
        let (whole, place) = text.split_once('/').map_or((text, None), |(whole, place)| (whole, Some(place)));
        let controller = || whole.parse::<ControllerName>().map_err(Words::of);
        let places =
            |controller, text| places(text).map(|(first, last)| Self::Places(controller, first, last));
        // No host has a number as its name.
        let is_domain = |(host, _): (&str, &str)| host.bytes().all(|byte| byte.is_ascii_digit());
        match place {
            Some(place) => places(Some(controller()?), place),
            None if whole.split_once(':').is_some_and(is_domain) => places(None, whole),
            None if whole.contains(':') => Ok(Self::Controller(controller()?)),
            None => Ok(Self::Named(ModelName::new(whole).map_err(Words::of)?.to_string())),
        }
    }

    /// Whether a drain is about exactly these IPUs, or one of these places, of any model.
    pub(super) fn is(&self, scope: &DrainScope) -> bool {
        match (self, &scope.part) {
            (Self::Places(controller, first, last), DrainedPart::Ipu(place)) => {
                (controller.is_none() || *controller == scope.controller)
                    && place.domain == first.domain
                    && (first.index..=*last).contains(&place.index)
            }
            _ => *self == Self::from(scope),
        }
    }

    /// Refuses places without a controller if several controllers have drained ones of them.
    pub(super) fn must_be_of_one_controller(&self, drained: &[DrainScope]) -> Result<(), Words> {
        let controllers: BTreeSet<_> = drained.iter().map(|scope| &scope.controller).collect();
        match self {
            Self::Places(None, ..) if controllers.len() > 1 => {
                Err(words!("{self} is drained on several controllers: write HOST:PORT/{self}"))
            }
            _ => Ok(()),
        }
    }

    /// These IPUs in each of the models that has them.
    pub(super) fn among(&self, models: &[ModelView]) -> Result<Vec<DrainScope>, Words> {
        let scope = |model: &ModelView, controller: Option<&ControllerName>, part| DrainScope {
            model: model.facts.model.clone(),
            controller: controller.cloned(),
            part,
        };
        let on = |controller| models.iter().filter(move |it| it.facts.controllers.contains(controller));
        let scopes: Vec<_> = match self {
            Self::Named(name) => {
                let of_model = models.iter().find(|model| model.facts.model.as_str() == name);
                let of_pool = || models.iter().find_map(|model| in_pool(model, name));
                let whole = of_model.map(|model| scope(model, None, DrainedPart::All));
                whole.or_else(of_pool).into_iter().collect()
            }
            Self::Controller(controller) => {
                on(controller).map(|model| scope(model, Some(controller), DrainedPart::All)).collect()
            }
            Self::Places(controller, first, last) => {
                let all: BTreeSet<_> = models.iter().flat_map(|model| &model.facts.controllers).collect();
                let controller = match (controller, all.first()) {
                    (Some(controller), _) => controller,
                    (None, Some(only)) if all.len() == 1 => only,
                    _ => {
                        return Err(words!(
                            "each controller has {self}: write HOST:PORT/{self}; known are {}",
                            known(models)
                        ));
                    }
                };
                let at = |index| Place { index, ..*first };
                on(controller).try_for_each(|model| may_drain_place(model, controller, at(*last)))?;
                let scopes = |model| {
                    (first.index..=*last)
                        .map(move |it| scope(model, Some(controller), DrainedPart::Ipu(at(it))))
                };
                on(controller).flat_map(scopes).collect()
            }
        };
        match scopes.is_empty() {
            true => Err(words!("{self} is unknown; known are {}", known(models))),
            false => Ok(scopes),
        }
    }
}

/// The partition of this name in a pool of the model.
fn in_pool(model: &ModelView, name: &str) -> Option<DrainScope> {
    model.pods.iter().find_map(|PodView { id, pool, .. }| {
        let member = pool.iter().find(|member| member.partition.as_str() == name)?;
        let part = DrainedPart::Partition(member.partition.clone());
        Some(DrainScope { model: id.model.clone(), controller: Some(id.controller.clone()), part })
    })
}

impl From<&DrainScope> for Ipus {
    fn from(scope: &DrainScope) -> Self {
        match (&scope.controller, &scope.part) {
            (_, DrainedPart::Partition(partition)) => Self::Named(partition.to_string()),
            (None, _) => Self::Named(scope.model.to_string()),
            (Some(controller), DrainedPart::All) => Self::Controller(controller.clone()),
            (Some(controller), DrainedPart::Ipu(place)) => {
                Self::Places(Some(controller.clone()), *place, place.index)
            }
        }
    }
}

/// The form that [`Ipus::parse`] reads.
impl fmt::Display for Ipus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => write!(f, "{name}"),
            Self::Controller(controller) => write!(f, "{controller}"),
            Self::Places(controller, Place { domain, index }, last) => {
                controller.iter().try_for_each(|controller| write!(f, "{controller}/"))?;
                write!(f, "{domain}:{index}")?;
                if last == index { Ok(()) } else { write!(f, "-{last}") }
            }
        }
    }
}

/// Reads `DOMAIN:INDEX` or `DOMAIN:FIRST-LAST`, the forms in which svipu shows places.
fn places(text: &str) -> Result<(Place, u32), Words> {
    let numbers = text.split_once(':').and_then(|(domain, indices)| {
        let (first, last) = indices.split_once('-').unwrap_or((indices, indices));
        let (index, last) = (first.parse().ok()?, last.parse().ok()?);
        (index <= last).then_some((Place { domain: domain.parse().ok()?, index }, last))
    });
    let wanted = "write DOMAIN:INDEX or DOMAIN:FIRST-LAST, for example 0:5 or 0:8-11";
    numbers.ok_or_else(|| words!("'{}' is no place: {wanted}", shown(text)))
}

/// Whether slurm-vipu can keep this IPU free, and whether it exists.
fn may_drain_place(model: &ModelView, controller: &ControllerName, place: Place) -> Result<(), Words> {
    if model.facts.is_pool {
        return Err(words!(
            "the places of a pool change with its partitions (Pool of {}): drain the partition by its name",
            model.facts.model
        ));
    }
    if model.facts.placement != Placement::Explicit {
        return Err(words!(
            "{controller} itself chooses the IPUs of partitions (Placement=controller of {}), so that slurm-vipu \
             cannot keep one of them free: drain the controller, or take the IPU out of service there",
            model.facts.model
        ));
    }
    let pod = model.pods.iter().find(|pod| pod.id.controller == *controller);
    let Some(pod) = pod.filter(|pod| pod.contact == Contact::Reached) else {
        let domain = model.facts.domain_size;
        return match place.index < domain.get() {
            true => Ok(()),
            false => Err(words!("{controller} has no {place}: a domain has {domain} IPUs")),
        };
    };
    let domain = model.facts.domain_size.get().min(pod.ipus.next_power_of_two());
    match place.number(domain).filter(|ipu| *ipu < pod.ipus as usize) {
        Some(_) => Ok(()),
        None => Err(words!("{controller} has no {place}: it has {} IPUs, {domain} in a domain", pod.ipus)),
    }
}

/// The partitions of a pool that a refusal names.
const MOST_PARTITIONS: usize = 20;

/// The models with their controllers and the first partitions of their pools.
fn known(models: &[ModelView]) -> String {
    let of_model = |model: &ModelView| {
        let controllers: Vec<_> = model.facts.controllers.iter().map(ToString::to_string).collect();
        let pool = model.pods.iter().flat_map(|pod| &pod.pool).map(|member| member.partition.to_string());
        let all = model.pods.iter().map(|pod| pod.pool.len()).sum::<usize>();
        let more = (all > MOST_PARTITIONS).then(|| format!("and {} more", all - MOST_PARTITIONS));
        let names: Vec<_> = controllers.into_iter().chain(pool.take(MOST_PARTITIONS)).chain(more).collect();
        format!("{} ({})", model.facts.model, names.join(", "))
    };
    if models.is_empty() {
        return "no models, because no node has a vipu GRES".to_owned();
    }
    models.iter().map(of_model).collect::<Vec<_>>().join(", ")
}
