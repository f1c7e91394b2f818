//! Clusters from the example files in conf/, at the top of the tree.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::{Result, ensure};

use crate::{
    Layout, Settings,
    conf_files::{Addresses, node_name},
};

/// An example: the files of one folder in conf/.
#[derive(Debug, PartialEq, Eq)]
pub struct Example {
    folder: &'static str,
    files: &'static [(&'static str, &'static str)],
}

macro_rules! example {
    ($folder:literal: $($file:literal),+) => {
        Example {
            folder: $folder,
            files: &[$(($file, include_str!(concat!("../../../conf/", $folder, "/", $file)))),+],
        }
    };
}

pub static ONE_NODE: Example = example!("one-node": "gres.conf", "plugstack.conf", "slurm.conf", "vipu.conf");

pub static TWO_MODELS: Example =
    example!("two-models": "plugstack.conf", "pod16.conf", "pod64.conf", "slurm.conf");

/// The example with TLS, an access key, and no shared directory.
pub static SECURE: Example = example!("secure": "access", "plugstack.conf", "slurm.conf", "vipu.conf");

impl Example {
    pub fn file(&self, name: &str) -> Option<&'static str> {
        self.files.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }
}

/// A replacement for a name or path of the example that the test's machine does not have.
#[derive(Clone, Debug)]
pub enum Here {
    /// The address and port of the controller of this number, counted from 0.
    Controller(usize),
    IpuofDir,
    /// The folder in which nodes keep the files that they fetch.
    Steps,
    /// The node of this number, counted from 1. The node's line in slurm.conf also gets the address and the
    /// port.
    Node(u16),
    Folder(PathBuf),
}

impl Here {
    fn text(&self, layout: &Layout, at: &Addresses) -> String {
        match self {
            Self::Controller(number) => format!("127.0.0.1:{}", at.vipu[*number]),
            Self::IpuofDir => layout.ipuof().display().to_string(),
            Self::Steps => layout.steps().display().to_string(),
            Self::Node(number) => node_name(number - 1),
            Self::Folder(path) => path.display().to_string(),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Site {
    example: &'static Example,
    replaced: Vec<(&'static str, Here)>,
}

impl Settings {
    /// Uses the files of an example in place of the testbed's own, with these texts replaced everywhere. A
    /// text that no file has is an error. The cluster has one node for each replaced node name.
    pub fn example(mut self, example: &'static Example, replaced: &[(&'static str, Here)]) -> Self {
        let nodes = replaced.iter().filter(|(_, here)| matches!(here, Here::Node(_))).count();
        self.nodes = u16::try_from(nodes).unwrap_or(u16::MAX);
        self.site = Some(Site { example, replaced: replaced.into() });
        self
    }
}

impl Site {
    pub(crate) fn files(&self, layout: &Layout, at: &Addresses) -> Result<BTreeMap<&'static str, String>> {
        let conf = self.example.files.iter().filter(|(name, _)| name.ends_with(".conf"));
        let mut files: BTreeMap<_, _> = conf.map(|(name, text)| (*name, (*text).to_owned())).collect();
        for (text, here) in &self.replaced {
            replace(&mut files, text, &here.text(layout, at), self.example.folder)?;
            if let Here::Node(number) = here {
                let line = format!("NodeName={} ", node_name(number - 1));
                let port = at.first_slurmd + number - 1;
                let there = format!("{line}NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} ");
                replace(&mut files, &line, &there, self.example.folder)?;
            }
        }
        Ok(files)
    }
}

fn replace(files: &mut BTreeMap<&'static str, String>, text: &str, by: &str, folder: &str) -> Result<()> {
    ensure!(files.values().any(|file| file.contains(text)), "no file in conf/{folder} has '{text}'");
    files.values_mut().for_each(|file| *file = file.replace(text, by));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::Account;

    #[test]
    fn every_file_of_an_example_is_known() {
        let conf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conf");
        let names = |folder: &Path| {
            let entries = fs::read_dir(folder).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<_> = names.filter(|name| name != "README.md").collect();
            names.sort_unstable();
            names
        };
        let examples = [&ONE_NODE, &SECURE, &TWO_MODELS];
        assert_eq!(names(&conf), examples.map(|example| example.folder));
        for example in examples {
            let known: Vec<_> = example.files.iter().map(|(name, _)| *name).collect();
            assert_eq!(names(&conf.join(example.folder)), known);
        }
    }

    #[test]
    fn names_of_the_site_are_replaced() {
        let (uid, gid) = (nix::unistd::getuid().as_raw(), nix::unistd::getgid().as_raw());
        let layout = Layout::make(&Account { name: "me".to_owned(), uid, gid }).unwrap();
        let at = Addresses { slurmdbd: None, slurmctld: 1, first_slurmd: 7000, vipu: vec![8000, 8001] };
        let files = |replaced: &[(&'static str, Here)]| {
            Settings::default().example(&TWO_MODELS, replaced).site.unwrap().files(&layout, &at)
        };
        let read = files(&[
            ("vipu-pod64.example.org", Here::Controller(0)),
            ("vipu-pod16.example.org", Here::Controller(1)),
            ("ipu-pod64-001", Here::Node(1)),
            ("ipu-pod16-001", Here::Node(2)),
        ])
        .unwrap();
        assert!(read["pod16.conf"].contains("\nApiHost=127.0.0.1:8001\n"), "{read:?}");
        let line = "\nNodeName=ipu-pod64-002 NodeHostname=localhost NodeAddr=127.0.0.1 Port=7001 CPUs=";
        assert!(read["slurm.conf"].contains(line), "{read:?}");
        assert!(read["slurm.conf"].contains("Nodes=ipu-pod64-001,ipu-pod64-002 "), "{read:?}");
        let unknown = files(&[("/nowhere", Here::IpuofDir)]).unwrap_err().to_string();
        assert_eq!(unknown, "no file in conf/two-models has '/nowhere'");
    }
}
