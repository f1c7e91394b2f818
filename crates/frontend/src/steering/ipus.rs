//! IPUs as an administrator names them.

use std::fmt;

use ledger::{Contact, DrainScope, ModelState, Place};
use vipu_types::{ControllerName, ModelName, Placement};

/// A model, a controller, or one IPU of a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ipus {
    Model(ModelName),
    Controller(ControllerName),
    Place(ControllerName, Place),
}

impl Ipus {
    /// Reads `MODEL`, `HOST:PORT` or `HOST:PORT/DOMAIN:INDEX`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (whole, place) = text.split_once('/').map_or((text, None), |(whole, place)| (whole, Some(place)));
        let controller = || whole.parse::<ControllerName>().map_err(|why| why.to_string());
        match place {
            Some(place) => Ok(Self::Place(controller()?, self::place(place)?)),
            None if whole.contains(':') => Ok(Self::Controller(controller()?)),
            None => Ok(Self::Model(ModelName::new(whole).map_err(|why| why.to_string())?)),
        }
    }

    /// Whether a drain is about exactly these IPUs, of any model.
    pub(super) fn is(&self, scope: &DrainScope) -> bool {
        let DrainScope { model, controller, place } = scope;
        match self {
            Self::Model(own) => own == model && controller.is_none() && place.is_none(),
            Self::Controller(own) => Some(own) == controller.as_ref() && place.is_none(),
            Self::Place(own, at) => Some(own) == controller.as_ref() && Some(*at) == *place,
        }
    }

    /// These IPUs in each of the models that has them.
    pub(super) fn among(&self, models: &[ModelState]) -> Result<Vec<DrainScope>, String> {
        let (controller, place) = match self {
            Self::Model(_) => (None, None),
            Self::Controller(controller) => (Some(controller), None),
            Self::Place(controller, place) => (Some(controller), Some(*place)),
        };
        let has = |model: &&ModelState| match self {
            Self::Model(name) => model.facts.model == *name,
            Self::Controller(own) | Self::Place(own, _) => model.facts.controllers.contains(own),
        };
        let with: Vec<_> = models.iter().filter(has).collect();
        if with.is_empty() {
            return Err(format!("{self} is unknown; known are {}", known(models)));
        }
        if let Self::Place(controller, place) = self {
            with.iter().try_for_each(|model| may_drain_place(model, controller, *place))?;
        }
        let scope = |model: &ModelState| DrainScope {
            model: model.facts.model.clone(),
            controller: controller.cloned(),
            place,
        };
        Ok(with.into_iter().map(scope).collect())
    }
}

impl From<&DrainScope> for Ipus {
    fn from(scope: &DrainScope) -> Self {
        match (&scope.controller, scope.place) {
            (None, _) => Self::Model(scope.model.clone()),
            (Some(controller), None) => Self::Controller(controller.clone()),
            (Some(controller), Some(place)) => Self::Place(controller.clone(), place),
        }
    }
}

/// The form that [`Ipus::parse`] reads.
impl fmt::Display for Ipus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(model) => write!(f, "{model}"),
            Self::Controller(controller) => write!(f, "{controller}"),
            Self::Place(controller, Place { domain, index }) => write!(f, "{controller}/{domain}:{index}"),
        }
    }
}

/// Reads `DOMAIN:INDEX`, the form in which svipu shows places.
fn place(text: &str) -> Result<Place, String> {
    let numbers = text
        .split_once(':')
        .and_then(|(domain, index)| Some(Place { domain: domain.parse().ok()?, index: index.parse().ok()? }));
    numbers.ok_or_else(|| {
        format!("'{}' is no place: write DOMAIN:INDEX, for example 0:5", vipu_types::shown(text))
    })
}

/// Whether slurm-vipu can keep this IPU free, and whether it exists.
fn may_drain_place(model: &ModelState, controller: &ControllerName, place: Place) -> Result<(), String> {
    if model.facts.is_pool {
        // The whole partition that has the IPU is drained.
        return Ok(());
    }
    if model.facts.placement != Placement::Explicit {
        return Err(format!(
            "{controller} itself chooses the IPUs of partitions (Placement=controller of {}), so that slurm-vipu \
             cannot keep one of them free: drain the controller, or take the IPU out of service there",
            model.facts.model
        ));
    }
    let pod = model.pods.iter().find(|pod| pod.id.controller == *controller);
    let Some(pod) = pod.filter(|pod| pod.contact == Contact::Reached) else { return Ok(()) };
    let domain = model.facts.domain_size.get().min(pod.ipus.next_power_of_two());
    match place.number(domain).filter(|ipu| *ipu < pod.ipus as usize) {
        Some(_) => Ok(()),
        None => Err(format!("{controller} has no {place}: it has {} IPUs, {domain} in a domain", pod.ipus)),
    }
}

/// The models and controllers.
fn known(models: &[ModelState]) -> String {
    let of_model = |model: &ModelState| {
        let controllers: Vec<_> = model.facts.controllers.iter().map(ToString::to_string).collect();
        format!("{} ({})", model.facts.model, controllers.join(", "))
    };
    if models.is_empty() {
        return "no models, because no node has a vipu GRES".to_owned();
    }
    models.iter().map(of_model).collect::<Vec<_>>().join(", ")
}
