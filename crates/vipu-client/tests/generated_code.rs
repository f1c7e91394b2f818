//! Checks that the messages of the API in `src/wire` are what `proto/` says. They are kept in the tree, because their
//! generator would be built before most crates of the workspace.

use std::fs;
use std::path::Path;

#[test]
fn the_messages_of_the_api_are_as_generated() {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let proto = crate_dir.join("proto");
    let files = ["user.proto", "version.proto"].map(|name| proto.join(name));
    let files = protox::compile(files, [proto]).unwrap();
    let fresh = tempfile::tempdir().unwrap();
    prost_build::Config::new().out_dir(fresh.path()).btree_map(["."]).compile_fds(files).unwrap();
    let fresh = fs::read_to_string(fresh.path().join("virmgrpc.rs")).unwrap();
    let kept = crate_dir.join("src/wire/virmgrpc.rs");
    if fs::read_to_string(&kept).unwrap_or_default() != fresh {
        fs::write(&kept, fresh).unwrap();
        panic!("{} was out of date, and is generated anew: commit it", kept.display());
    }
}
