//! Generates the API's Rust code from `proto/`, without a protoc on the machine.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = protox::compile(["proto/user.proto", "proto/version.proto"], ["proto"])?;
    tonic_prost_build::configure()
        .build_server(std::env::var_os("CARGO_FEATURE_SERVER").is_some())
        .btree_map(".")
        .compile_fds(files)?;
    println!("cargo::rerun-if-changed=proto");
    Ok(())
}
