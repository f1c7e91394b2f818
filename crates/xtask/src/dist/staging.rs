//! The files of a package in the places in which they are installed.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use nix::sys::stat::{Mode, umask};

use super::contents::{File, Package};
use crate::run;

/// The folder of the plugins. A Slurm that was not packaged names it in `PluginDir`.
pub const PLUGINS: &str = "/usr/lib/slurm-vipu";

/// The licences and the changes, which each package has.
const OF_EACH: [&str; 5] = ["LICENSING.md", "COPYING", "LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md"];

/// A family of systems, which decides the plugin directory of its Slurm packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Debian,
    RedHat,
    Any,
}

impl Family {
    /// The plugin directory of the family's own Slurm packages, where links to the plugins are, and the way from
    /// there to [`PLUGINS`].
    fn of_slurm(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Debian => Some(("/usr/lib/x86_64-linux-gnu/slurm-wlm", "../../slurm-vipu")),
            Self::RedHat => Some(("/usr/lib64/slurm", "../../lib/slurm-vipu")),
            Self::Any => None,
        }
    }
}

/// What the packages are made of, beside files of the tree.
pub struct Parts {
    /// The folder of the objects and programs.
    pub built: PathBuf,
    /// The folder of the documents that each package has: what the objects contain, and its licences.
    pub documents: PathBuf,
}

/// Copies the files of a package to their places below `tree`.
pub fn stage(package: &Package, family: Family, parts: &Parts, tree: &Path) -> Result<()> {
    // The modes of folders and some files follow it.
    umask(Mode::S_IWGRP | Mode::S_IWOTH);
    let stage = Stage { package, family, built: &parts.built, tree };
    package.files.iter().try_for_each(|file| stage.file(file))?;
    OF_EACH.iter().try_for_each(|name| stage.text(name, &stage.doc(name)))?;
    for document in fs::read_dir(&parts.documents)? {
        let document = document?;
        stage.copy(&document.path(), &stage.doc(&document.file_name().to_string_lossy()), 0o644)?;
    }
    Ok(())
}

/// Compresses a file, without its time.
pub fn gzip(file: &Path) -> Result<()> {
    let mut gzip = Command::new("gzip");
    gzip.args(["-9", "--no-name", "--force"]).arg(file);
    ensure!(gzip.status()?.success(), "gzip {} failed", file.display());
    Ok(())
}

struct Stage<'a> {
    package: &'a Package,
    family: Family,
    built: &'a Path,
    tree: &'a Path,
}

impl Stage<'_> {
    fn file(&self, file: &File) -> Result<()> {
        match file {
            File::Plugin(name) => self.beside_slurm(&format!("lib{name}.so"), &format!("{name}.so"), 0o644),
            File::Helper(name) => self.beside_slurm(name, name, 0o755),
            File::Program(name, _) => self.program(name),
            File::Text(from, to) => self.text(from, to),
            File::Examples(folder) => self.examples(&run::workspace().join(folder), "examples"),
            File::Completions(program) => self.completions(program),
        }
    }

    fn doc(&self, name: &str) -> String {
        format!("/usr/share/doc/{}/{name}", self.package.name)
    }

    /// Copies an object, and links to it from the plugin directory of the family's Slurm.
    fn beside_slurm(&self, from: &str, name: &str, mode: u32) -> Result<()> {
        self.copy(&self.built.join(from), &format!("{PLUGINS}/{name}"), mode)?;
        let Some((folder, back)) = self.family.of_slurm() else { return Ok(()) };
        fs::create_dir_all(self.at(folder))?;
        Ok(symlink(format!("{back}/{name}"), self.at(folder).join(name))?)
    }

    fn text(&self, from: &str, to: &str) -> Result<()> {
        self.copy(&run::workspace().join(from), to, 0o644)
    }

    /// Copies a folder with all that is below it. Programs stay programs.
    fn examples(&self, folder: &Path, into: &str) -> Result<()> {
        let into = format!("{into}/{}", folder.file_name().unwrap_or_default().display());
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                self.examples(&path, &into)?;
                continue;
            }
            let mode = if path.metadata()?.permissions().mode() & 0o100 == 0 { 0o644 } else { 0o755 };
            let name = path.file_name().unwrap_or_default().display();
            self.copy(&path, &self.doc(&format!("{into}/{name}")), mode)?;
        }
        Ok(())
    }

    fn program(&self, name: &str) -> Result<()> {
        self.copy(&self.built.join(name), &format!("/usr/bin/{name}"), 0o755)?;
        let pages = tempfile::tempdir()?;
        self.output(name, &["man", &pages.path().display().to_string()])?;
        for page in fs::read_dir(pages.path())? {
            let page = page?;
            let place = format!("/usr/share/man/man1/{}", page.file_name().to_string_lossy());
            self.copy(&page.path(), &place, 0o644)?;
            gzip(&self.at(&place))?;
        }
        Ok(())
    }

    fn completions(&self, program: &str) -> Result<()> {
        let of_zsh = if self.family == Family::Debian { "vendor-completions" } else { "site-functions" };
        let shells = [
            ("bash", format!("/usr/share/bash-completion/completions/{program}")),
            ("zsh", format!("/usr/share/zsh/{of_zsh}/_{program}")),
            ("fish", format!("/usr/share/fish/vendor_completions.d/{program}.fish")),
        ];
        for (shell, place) in shells {
            let script = self.output(program, &["completions", shell])?;
            let place = self.at(&place);
            fs::create_dir_all(place.parent().context("a file is in a folder")?)?;
            fs::write(place, script)?;
        }
        Ok(())
    }

    /// What a program writes to its output.
    fn output(&self, program: &str, words: &[&str]) -> Result<Vec<u8>> {
        let output = Command::new(self.built.join(program)).args(words).output()?;
        ensure!(output.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(output.stdout)
    }

    fn copy(&self, from: &Path, to: &str, mode: u32) -> Result<()> {
        let to = self.at(to);
        fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
        fs::copy(from, &to).with_context(|| from.display().to_string())?;
        Ok(fs::set_permissions(&to, fs::Permissions::from_mode(mode))?)
    }

    fn at(&self, place: &str) -> PathBuf {
        self.tree.join(place.trim_start_matches('/'))
    }
}
