//! Images of the project's parts, with the files of the packages.

use std::{ffi::OsString, path::Path};

use anyhow::Result;
use testbed::say;

use super::contents::{CONTROLLER, LOGIN, MOCK, NODE, Package, TOOLS};
use super::staging::{self, Family, Parts};
use super::{FAST, Release, VERSION, time, write_documents};
use crate::image::{self, Suite};
use crate::run;

/// One image. `packages/images` has its Dockerfile.
struct Image {
    part: &'static str,
    packages: &'static [&'static Package],
}

const IMAGES: [Image; 3] = [
    Image { part: "files", packages: &[&LOGIN, &NODE, &CONTROLLER, &TOOLS] },
    Image { part: "tools", packages: &[&TOOLS] },
    Image { part: "mock", packages: &[&MOCK] },
];

/// The names of the images.
pub struct Names<'a> {
    pub registry: Option<&'a str>,
    pub tag: &'a str,
}

impl Names<'_> {
    pub fn of(&self, part: &str) -> String {
        let registry = self.registry.map(|registry| format!("{}/", registry.trim_end_matches('/')));
        format!("{}slurm-vipu-{part}:{}", registry.unwrap_or_default(), self.tag)
    }
}

/// Makes all images of built objects. Programs run on this suite.
pub fn make(built: &Path, suite: Suite, mirror: &str, names: &Names) -> Result<()> {
    let base = image::base(suite, mirror)?;
    let work = tempfile::tempdir()?;
    let parts = Parts { built: built.to_owned(), documents: work.path().join("documents") };
    let release = Release { version: VERSION, time: time()?, compression: FAST };
    write_documents(&release, &parts.documents)?;
    for Image { part, packages } in IMAGES {
        let (tree, name) = (work.path().join(part), names.of(part));
        packages.iter().try_for_each(|package| staging::stage(package, Family::Any, &parts, &tree))?;
        let dockerfile = run::workspace().join(format!("packages/images/{part}.Dockerfile"));
        let mut build = image::docker(&["build", "--tag", &name, "--build-arg", &format!("BASE={base}")]);
        build.arg(format!("--label=org.opencontainers.image.version={VERSION}"));
        build.args([OsString::from("--file"), dockerfile.into(), tree.into()]);
        run::visibly(build)?;
        say(format!("{name} is there"));
    }
    Ok(())
}
