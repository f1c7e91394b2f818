//! plugstack.conf, with the files that it includes.

use std::io::{self, ErrorKind::IsADirectory, ErrorKind::NotFound};
use std::path::Path;
use std::sync::Arc;

use crate::problem::{Place, Problem, Reason};
use crate::{DEEPEST, Files, MOST_FILES};

/// A line that loads a SPANK plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plugin {
    /// The line.
    pub place: Place,
    /// Whether a job fails without the plugin.
    pub required: bool,
    /// The path as written. Without a folder it counts from PluginDir.
    pub path: String,
    /// The words behind the path.
    pub arguments: Vec<String>,
}

impl Plugin {
    /// The file name of the plugin.
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The value of the first argument `name=value`.
    pub fn argument(&self, name: &str) -> Option<&str> {
        self.arguments.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }
}

/// The lines of plugstack.conf, in the order in which Slurm reads them.
#[derive(Debug, Default)]
pub struct Plugstack {
    /// The lines that load plugins.
    pub plugins: Vec<Plugin>,
    /// The lines that include files.
    pub includes: Vec<Place>,
    /// The lines that Slurm passes over.
    pub problems: Vec<Problem>,
    /// The files that were read, plugstack.conf first.
    pub files: Vec<Arc<Path>>,
}

impl Plugstack {
    /// Reads plugstack.conf and the files that it includes.
    ///
    /// # Errors
    /// When plugstack.conf cannot be read. Slurm takes a missing one for an empty one.
    pub fn read(path: &Path, files: &mut dyn Files) -> io::Result<Self> {
        let text = files.read(path)?;
        let mut reader = Reader { files, stack: Self::default() };
        reader.text(path, &text, 0);
        Ok(reader.stack)
    }

    /// The first line that loads the plugin with this file name.
    pub fn plugin(&self, file_name: &str) -> Option<&Plugin> {
        self.plugins.iter().find(|plugin| plugin.file_name() == file_name)
    }
}

struct Reader<'a> {
    files: &'a mut dyn Files,
    stack: Plugstack,
}

impl Reader<'_> {
    fn text(&mut self, path: &Path, text: &str, depth: usize) {
        let file: Arc<Path> = path.into();
        self.stack.files.push(file.clone());
        // Slurm takes the CR of an end of line for a part of the last word.
        for (index, line) in text.split('\n').enumerate() {
            let place = Place { file: file.clone(), line: index + 1 };
            let taken = self.line(&place, line, depth);
            self.stack.problems.extend(taken.err().map(|reason| Problem { place, reason }));
        }
    }

    fn line(&mut self, place: &Place, line: &str, depth: usize) -> Result<(), Reason> {
        // A backslash escapes nothing here, and continues no line.
        let content = line.split(['#', '\0']).next().unwrap_or_default();
        let mut words = content.split([' ', '\t']).filter(|word| !word.is_empty());
        let Some(kind) = words.next().filter(|word| !word.trim().is_empty()) else { return Ok(()) };
        match (kind, words.next()) {
            ("include", Some(pattern)) => {
                self.stack.includes.push(place.clone());
                self.include(&place.file, pattern, depth)
            }
            ("required" | "optional", Some(path)) => {
                let arguments = words.map(ToOwned::to_owned).collect();
                let (place, path) = (place.clone(), path.to_owned());
                self.stack.plugins.push(Plugin { place, required: kind == "required", path, arguments });
                Ok(())
            }
            _ => Err(Reason::NoPlugin(content.trim().to_owned())),
        }
    }

    fn include(&mut self, file: &Path, pattern: &str, depth: usize) -> Result<(), Reason> {
        // A relative pattern counts from the folder of the file that has it.
        let pattern = file.parent().unwrap_or(Path::new("")).join(pattern);
        for path in self.files.matching(&pattern) {
            if depth == DEEPEST || self.stack.files.len() == MOST_FILES {
                return Err(Reason::TooManyFiles);
            }
            match self.files.read(&path) {
                Ok(text) => self.text(&path, &text, depth + 1),
                // As Slurm: a link to no file is like an empty file, and a folder has no lines.
                Err(why) if [NotFound, IsADirectory].contains(&why.kind()) => {}
                Err(why) => return Err(Reason::Unreadable { file: path.display().to_string(), why }),
            }
        }
        Ok(())
    }
}
