//! Fields that have one of a few words, and the word that an unknown one may stand for.

use serde_json::Value;

use super::Verdict;

/// The path of each field below `spec`, with its words.
const FIELDS: [(&[&str], &[&str]); 2] = [
    (&["cleanPodPolicy"], &["None", "Workers", "All"]),
    (&["restartPolicy", "type"], &["Never", "OnFailure", "Always", "ExitCode"]),
];

/// Checks the words in a spec, which need not be that of an IPUJob yet.
pub(super) fn check(spec: &Value, verdict: &mut Verdict) {
    if let Some(word) = spec["restartPolicy"].as_str() {
        let kind = nearest(word, FIELDS[1].1);
        verdict.refuse(
            "spec.restartPolicy",
            format_args!("it is an object with a type, not a word; write restartPolicy: {{type: {kind}}}"),
        );
    }
    for (path, words) in FIELDS {
        let value = path.iter().try_fold(spec, |value, member| value.get(member));
        let Some(word) = value.and_then(Value::as_str).filter(|word| !words.contains(word)) else { continue };
        verdict.refuse(
            format!("spec.{}", path.join(".")),
            format_args!(
                "'{word}' is unknown; write {} (known are {})",
                nearest(word, words),
                words.join(", ")
            ),
        );
    }
}

/// The word that is most like another. Upper and lower case do not count.
fn nearest<'a>(word: &str, words: &[&'a str]) -> &'a str {
    let likeness = |known: &&str| {
        let likeness = strsim::jaro_winkler(&word.to_lowercase(), &known.to_lowercase());
        // A whole number in the order of the likeness, which is between 0 and 1.
        (likeness * 1e6).round() as u32
    };
    words.iter().copied().max_by_key(likeness).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k8s_the_nearest_word_is_named() {
        let words = FIELDS[1].1;
        for (word, meant) in [("never", "Never"), ("on-failure", "OnFailure"), ("Exitcodes", "ExitCode")] {
            assert_eq!(nearest(word, words), meant);
        }
    }
}
