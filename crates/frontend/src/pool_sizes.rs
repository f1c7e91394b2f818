//! Fits requests to the partitions of a pool, which has some sizes only.

use std::collections::BTreeSet;

use vipu_types::{IpuCount, ModelName, Shape};

use crate::frontend::Frontend;
use crate::limits::Standing;
use crate::request::Taken;

/// Fits a request to the pool of its model, if it has one. A size that the pool lacks is rounded up, if the site
/// says so. Until the controllers answer, nobody knows the sizes of partitions that an administrator made.
///
/// # Errors
/// The refusal, in one line for the user.
pub(crate) fn fitted(frontend: &Frontend, taken: Taken, standing: &Standing) -> Result<Taken, String> {
    let model = &taken.resolved.model;
    if taken.resolved.shape != Shape::default()
        && let Some(shared) = frontend.models(|models| models.shared_partition(model))
    {
        return Err(format!(
            "vipu: all jobs of {model} share partition {shared}, whose shape is as it is: leave out the options for the \
             shape (--ipus and --ipu-model stay)"
        ));
    }
    let of_model = frontend.models(|models| {
        let (name, model) = models.0.get_key_value(model).filter(|(_, model)| model.is_pool())?;
        let own = model.settings.as_ref()?;
        let pool = own.pool.as_ref()?;
        let made: BTreeSet<_> = pool.made_sizes().collect();
        let are_all_known = pool.is_all_made() && !own.use_reconfig_partition;
        Some((made, are_all_known, model.most(name, standing).ipus, model.rounds_up()))
    });
    let Some((made, are_all_known, most, rounds_up)) = of_model else { return Ok(taken) };
    if taken.resolved.shape != Shape::default() {
        return Err(format!(
            "vipu: {model} has a pool of partitions, whose shapes are as they are: leave out the options for the shape \
             (--ipus and --ipu-model stay)"
        ));
    }
    let size = taken.resolved.size;
    let (seen, is_served) = {
        let ledger = frontend.ledger();
        (ledger.pool_sizes(model), ledger.pool_serves(model, size))
    };
    if seen.is_empty() && !are_all_known {
        return Ok(taken);
    }
    let sizes: BTreeSet<_> = made.into_iter().chain(seen).filter(|size| size.get() <= most).collect();
    if sizes.is_empty() || sizes.contains(&size) || is_served {
        return Ok(taken);
    }
    match sizes.range(size..).next() {
        Some(larger) if rounds_up => Ok(taken.rounded_to(*larger, words(&sizes))),
        _ => Err(refusal(model, size, &sizes)),
    }
}

fn refusal(model: &ModelName, size: IpuCount, sizes: &BTreeSet<IpuCount>) -> String {
    let valid: Vec<_> = sizes.iter().map(|size| format!("--gres=vipu:{model}:{size}")).collect();
    format!(
        "vipu: there is no partition for {size} IPUs: the pool of {model} has partitions of {}; valid: {}",
        words(sizes),
        valid.join(" or ")
    )
}

/// The sizes in words, as in `4, 8 or 16 IPUs`.
fn words(sizes: &BTreeSet<IpuCount>) -> String {
    let all: Vec<_> = sizes.iter().map(ToString::to_string).collect();
    match all.split_last() {
        Some((last, [])) => format!("{last} IPUs"),
        Some((last, others)) => format!("{} or {last} IPUs", others.join(", ")),
        None => String::new(),
    }
}
