//! The texts of the files.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use vipu_types::ModelName;

use super::Generate;
use super::pods::Pods;
use crate::error::Failure;
use crate::safe;

/// The files of a site, each with its name.
pub(super) struct Files([(String, String); 3]);

impl Files {
    /// The files of the model `name`. It has a file of its own if the user gave the name.
    pub(super) fn new(
        options: &Generate,
        own: Option<&ModelName>,
        name: &str,
        keys: &str,
        pods: &Pods,
    ) -> Self {
        let (file, models) = match own {
            Some(model) => (format!("{model}.conf"), format!("the model {model}")),
            None => ("vipu.conf".to_owned(), "all models".to_owned()),
        };
        let seen: String = pods.lines.iter().map(|line| format!("# {line}\n")).collect();
        // A job gets a power of two at most.
        let most = 1_usize << pods.largest.ilog2();
        let conf = format!(
            "# {file}, beside slurm.conf on the slurmctld hosts: the settings of {models}.\n\
             {seen}{keys}MaxIpusPerJob={most}\n"
        );
        let slurm = format!(
            "# Lines of slurm.conf. Replace SelectType, keep your SelectTypeParameters, add vipu to a list that is there\n\
             # (GresTypes=gpu,vipu), and add Gres to the lines of your nodes.\n\
             SelectType=select/vipu\n\
             SelectTypeParameters=CR_CPU\n\
             GresTypes=vipu\n\
             JobSubmitPlugins=vipu\n\
             PropagateResourceLimitsExcept=MEMLOCK\n\
             # The nodes that reach the Pods. Each node offers a whole Pod.\n\
             NodeName={nodes} Gres=vipu:{name}:no_consume:{largest}\n\
             # If jobs with IPUs are to have a Slurm partition of their own.\n\
             PartitionName=ipu Nodes={nodes}\n",
            nodes = options.nodes,
            largest = pods.largest,
        );
        let plugstack = format!(
            "# Add this line to plugstack.conf on nodes and submit hosts.\n\
             required spank_ipuof.so ipuof_dir={}\n",
            options.ipuof_dir
        );
        Self([(file, conf), ("slurm.conf.add".into(), slurm), ("plugstack.conf.add".into(), plugstack)])
    }

    /// All texts, for the terminal.
    pub(super) fn text(&self) -> String {
        self.0.each_ref().map(|(_, text)| text.as_str()).join("\n")
    }

    /// Writes the files, and tells their paths.
    pub(super) fn write(&self, folder: &Path) -> Result<String, Failure> {
        let failed = |path: &Path, why| Failure::Conf(format!("cannot write {}: {why}", path.display()));
        fs::create_dir_all(folder).map_err(|why| failed(folder, why))?;
        let paths = self.0.each_ref().map(|(name, _)| folder.join(name));
        // Either all files are written or, in most cases, none.
        if let Some(path) = paths.iter().find(|path| path.symlink_metadata().is_ok()) {
            return Err(Failure::Conf(format!("{} exists: give another --output", path.display())));
        }
        let mut written = String::new();
        for (path, (_, text)) in paths.iter().zip(&self.0) {
            let file = OpenOptions::new().write(true).create_new(true).open(path);
            file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|why| failed(path, why))?;
            written += &format!("wrote {}\n", safe::cut(&path.display().to_string(), safe::LINE));
        }
        Ok(written)
    }
}
