//! The options of `svipu env` that name a container runtime.

use clap::Args;

/// The runtime for which options are printed, instead of variables for a shell.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct Container {
    /// Print options for docker run instead.
    #[arg(long)]
    docker: bool,
    /// Print options for podman run instead.
    #[arg(long)]
    podman: bool,
    /// Print options for apptainer exec and run instead; also for singularity.
    #[arg(long)]
    apptainer: bool,
    /// Print options for ch-run of Charliecloud instead.
    #[arg(long)]
    charliecloud: bool,
}

/// A program that starts containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContainerRuntime {
    Docker,
    Podman,
    Apptainer,
    Charliecloud,
}

impl Container {
    /// The runtime, if one is given.
    pub(crate) fn runtime(&self) -> Option<ContainerRuntime> {
        let given = [
            (self.docker, ContainerRuntime::Docker),
            (self.podman, ContainerRuntime::Podman),
            (self.apptainer, ContainerRuntime::Apptainer),
            (self.charliecloud, ContainerRuntime::Charliecloud),
        ];
        given.into_iter().find_map(|(is_given, runtime)| is_given.then_some(runtime))
    }
}
