//! libFuzzer's loop around the target that the variable FUZZ_TARGET names. With FUZZ_SEEDS, the program also
//! writes the target's seeds and corpus into that folder, for the next run.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use fuzz::Target;

static CHECK: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let Some(target) = Target::named(&name) else { panic!("FUZZ_TARGET={name} is none of the targets") };
    if let Some(folder) = std::env::var_os("FUZZ_SEEDS") {
        for (number, input) in target.inputs().into_iter().enumerate() {
            let written = std::fs::write(Path::new(&folder).join(format!("seed{number}")), input);
            assert!(written.is_ok(), "the folder FUZZ_SEEDS cannot be written");
        }
    }
    target.check
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| CHECK(bytes));
