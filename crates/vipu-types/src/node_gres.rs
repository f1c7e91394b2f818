//! The models that a node offers, from its `Gres=` in slurm.conf.

use crate::ModelName;

/// The elements of a node's `Gres=` that offer IPUs, without their `vipu:`.
pub fn ipu_elements(gres: &str) -> impl Iterator<Item = &str> {
    gres.split(',').filter_map(|element| element.trim().strip_prefix("vipu:"))
}

/// Reads an element without its `vipu:`, for example `pod64:no_consume:64`.
///
/// # Errors
/// The text says what is wrong. [`bad_element`] makes a line of it.
pub fn offered_model(element: &str) -> Result<(ModelName, u32), String> {
    // Slurm writes an index set such as `(S:0)` behind the count in some places.
    let element = element.split('(').next().unwrap_or(element);
    let mut words: Vec<_> = element.split(':').collect();
    words.retain(|word| !is_no_consume(word));
    let [model, count] = words[..] else { return Err("needs a model and a number of IPUs".into()) };
    let count = number(count).ok_or_else(|| format!("{count} is not a number of IPUs"))?;
    Ok((ModelName::new(model).map_err(|why| why.to_string())?, count))
}

/// Reads a count as Slurm writes it: a multiple of 1024 has the suffix K, for example `1K`.
fn number(text: &str) -> Option<u32> {
    match text.strip_suffix(['K', 'k']) {
        Some(thousands) => thousands.parse::<u32>().ok()?.checked_mul(1024),
        None => text.parse().ok(),
    }
}

/// The line about an element that [`offered_model`] refuses.
pub fn bad_element(node: &str, element: &str, why: &str) -> String {
    format!("node {node}: Gres=vipu:{element}: {why}; write Gres=vipu:<model>:no_consume:<IPUs>")
}

/// The first element of a node's `Gres=`, if no element has the word `no_consume`. The word is one flag for
/// all models of a node.
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

    #[test]
    fn a_gres_without_a_model_or_a_number_is_an_error() {
        assert_eq!(offered_model("no_consume:8").unwrap_err(), "needs a model and a number of IPUs");
        assert_eq!(offered_model("pod64:many").unwrap_err(), "many is not a number of IPUs");
        assert_eq!(offered_model("pod64:4194304K").unwrap_err(), "4194304K is not a number of IPUs");
    }

    #[test]
    fn a_count_may_have_the_suffix_that_slurm_writes() {
        assert_eq!(offered_model("pod1024:no_consume:1K").unwrap().1, 1024);
        assert_eq!(offered_model("pod1024:2k(S:0)").unwrap().1, 2048);
    }
}
