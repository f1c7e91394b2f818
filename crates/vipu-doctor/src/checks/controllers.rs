//! The answers of controllers.

use vipu_client::ErrorClass;

use crate::facts::{Controller, Facts};
use crate::finding::Finding;

/// Each controller answers, and accepts this side.
pub(super) fn answers(facts: &Facts) -> Vec<Finding> {
    let away =
        facts.controllers.iter().filter_map(|controller| Some((controller, controller.fault.as_ref()?)));
    let finding = |(controller, (class, words)): (&Controller, &(ErrorClass, String))| {
        let subject = format!("controller {} of {}", controller.name, controller.model);
        Finding::error(subject, words, fix(*class, words))
    };
    away.map(finding).collect()
}

fn fix(class: ErrorClass, words: &str) -> &'static str {
    let is_about_keys = ["certificate", "TLS", "(Api"].iter().any(|word| words.contains(word));
    match class {
        _ if is_about_keys => "see docs/controllers.md#tls-and-access-keys",
        ErrorClass::NotSent | ErrorClass::Unreachable | ErrorClass::Timeout => {
            "mend ApiHost or ApiPort, start vipu-server there, or open its port to this host"
        }
        ErrorClass::Denied | ErrorClass::Stranger => "see docs/controllers.md#tls-and-access-keys",
        _ => "see the log of vipu-server",
    }
}
