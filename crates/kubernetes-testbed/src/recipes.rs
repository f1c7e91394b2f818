//! The programs of a cluster and the images of Pods.

use std::path::PathBuf;

use anyhow::Result;

use crate::once::Recipe;

/// The address of Debian's packages. A proxy of apt's configuration is used.
const MIRROR: &str = "http://deb.debian.org/debian";

const PROGRAMS: Recipe = Recipe {
    name: "programs",
    script: include_str!("../recipes/programs.sh"),
    files: &[("main.go", include_str!("../recipes/main.go"))],
    time: "six minutes on two cores",
};

const PACK: (&str, &str) = ("pack.sh", include_str!("../recipes/pack.sh"));

const BUSYBOX: Recipe = Recipe {
    name: "busybox",
    script: include_str!("../recipes/busybox.sh"),
    files: &[PACK],
    time: "a second",
};

const OPENMPI: Recipe = Recipe {
    name: "openmpi",
    script: include_str!("../recipes/openmpi.sh"),
    files: &[PACK],
    time: "a minute",
};

/// The folder of the programs. Builds them if they are not there.
pub fn programs() -> Result<PathBuf> {
    PROGRAMS.folder(&[MIRROR])
}

/// An image that nodes have. A container without a command of its own waits in `sleep infinity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Image {
    /// Busybox alone. Each node has it.
    Busybox,
    /// Debian 12 with the package openmpi-bin.
    OpenMpi,
}

impl Image {
    /// The image's name in the manifest of a Pod, whose `imagePullPolicy` is not `Always`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Busybox => "testbed/busybox:local",
            Self::OpenMpi => "testbed/openmpi:local",
        }
    }

    /// The file that containerd imports. Makes it if it is not there.
    pub fn archive(self) -> Result<PathBuf> {
        let programs = programs()?;
        let folder = match self {
            Self::Busybox => BUSYBOX.folder(&[self.name(), &programs.display().to_string()]),
            Self::OpenMpi => OPENMPI.folder(&[self.name(), MIRROR]),
        };
        Ok(folder?.join("image.tar"))
    }
}
