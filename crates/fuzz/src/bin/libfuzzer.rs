//! libFuzzer's loop around the target that the variable FUZZ_TARGET names. With FUZZ_SEEDS, the program also
//! writes the target's seeds and corpus into that folder, for the next run.
#![no_main]

use std::sync::LazyLock;

use fuzz::Target;

static CHECK: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    match Target::named(&name) {
        Some(target) => {
            if let Some(folder) = std::env::var_os("FUZZ_SEEDS") {
                for (number, input) in target.inputs().into_iter().enumerate() {
                    let written =
                        std::fs::write(std::path::Path::new(&folder).join(format!("seed{number}")), input);
                    assert!(written.is_ok(), "the folder FUZZ_SEEDS cannot be written");
                }
            }
            target.check
        }
        None => panic!("FUZZ_TARGET={name} is none of the targets"),
    }
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| CHECK(bytes));
