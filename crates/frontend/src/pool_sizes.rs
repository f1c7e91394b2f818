//! Fits requests to the partitions of a pool, which has some sizes only.

use std::collections::BTreeSet;

use vipu_types::{IpuCount, Shape, Words, words};

use crate::frontend::Frontend;
use crate::limits::Standing;
use crate::refusal::in_words;
use crate::request::Taken;

/// Fits a request to the pool of its model, if it has one. A size that the pool lacks is rounded up, if the site
/// says so. Until the controllers answer, nobody knows the sizes of partitions that an administrator made.
/// Sizes that nodes offer as GRES types are the only ones that Slurm's selector finds.
pub(crate) fn fitted(frontend: &Frontend, taken: Taken, standing: &Standing) -> Result<Taken, Words> {
    let model = &taken.resolved.model;
    if taken.resolved.shape != Shape::default()
        && let Some(shared) = frontend.models().shared_partition(model)
    {
        return Err(words!(
            "vipu: all jobs of {model} share partition {shared}, whose shape is as it is: leave out the options for the \
             shape (--ipus and --ipu-model stay)"
        ));
    }
    let models = frontend.models();
    let of_pool = models.0.get(model).filter(|of_model| of_model.is_pool());
    let own = of_pool.and_then(|of_model| of_model.settings.as_ref());
    let pool = own.and_then(|own| own.pool.as_ref());
    let Some(((of_model, own), pool)) = of_pool.zip(own).zip(pool) else { return Ok(taken) };
    if taken.resolved.shape != Shape::default() {
        return Err(words!(
            "vipu: {model} has a pool of partitions, whose shapes are as they are: leave out the options for the shape \
             (--ipus and --ipu-model stay)"
        ));
    }
    let size = taken.resolved.size;
    let (seen, is_served) = {
        let ledger = frontend.ledger();
        (ledger.pool_sizes(model), ledger.pool_serves(model, size))
    };
    let is_on_nodes = |size: &IpuCount| of_model.sizes.as_ref().is_none_or(|sizes| sizes.contains(size));
    let are_all_known = pool.is_all_made() && !own.use_reconfig_partition;
    let are_unknown = seen.is_empty() && !are_all_known;
    if (are_unknown || is_served) && is_on_nodes(&size) {
        return Ok(taken);
    }
    let of_nodes = of_model.sizes.iter().flatten().copied().filter(|_| are_unknown);
    let sizes = pool.made_sizes().chain(seen).chain(of_nodes);
    let most = of_model.most(model, standing).ipus;
    let sizes: BTreeSet<_> = sizes.filter(|size| size.get() <= most && is_on_nodes(size)).collect();
    if sizes.contains(&size) || (sizes.is_empty() && of_model.sizes.is_none()) {
        return Ok(taken);
    }
    let words = || in_words(sizes.iter().copied());
    match sizes.range(size..).next() {
        Some(larger) if of_model.rounds_up() => Ok(taken.rounded_to(*larger, words())),
        _ if sizes.is_empty() => Err(words!(
            "vipu: there is no partition for {size} IPUs: no partition of the pool of {model} has a size that nodes offer"
        )),
        _ => {
            let valid = sizes.iter().map(|size| of_model.request(model, Some(size.get().into())));
            let valid: Vec<_> = valid.map(|request| format!("--gres={request}")).collect();
            Err(words!(
                "vipu: there is no partition for {size} IPUs: the pool of {model} has partitions of {}; valid: {}",
                words(),
                valid.join(" or ")
            ))
        }
    }
}
