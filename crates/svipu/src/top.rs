//! `svipu top`: a live screen.
//!
//! [`Top`] is the state. Documents, keys and the time change it, and it draws itself on a frame. [`Screen`] is
//! the terminal. [`watch`] connects the two.

mod draw;
mod keys;
mod lists;
mod overlay;
mod paint;
mod picture;
mod screen;
mod state;
mod still;

pub use screen::Screen;
pub use state::{Next, Top};

use std::fs;
use std::io::{self, IsTerminal as _};
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use nix::sys::signal::Signal;
use vipu_status::Status;

use crate::arguments::Command;
use crate::background::Background;
use crate::error::Failure;
use crate::read_document::Source;
use crate::svipu_toml::Configuration;
use crate::{Arguments, Output, Surroundings, Users, find_document};
use screen::Event;
use vipu_types::Words;

/// The time between two looks at the document and the clock.
const TICK: Duration = Duration::from_secs(1);

/// Shows the live screen until the user leaves it, or makes a picture of it.
pub fn watch(arguments: &Arguments, surroundings: Surroundings) -> Output {
    show(arguments, surroundings).unwrap_or_else(|failed| failed)
}

fn show(arguments: &Arguments, mut surroundings: Surroundings) -> Result<Output, Output> {
    let utf8 = surroundings.utf8();
    let failed = |failure: Failure| Output::of(&failure, utf8);
    let picture = arguments.picture();
    if picture.is_none() && !io::stdin().is_terminal() {
        return Err(failed(Failure::Live));
    }
    let configuration = Configuration::read(&surroundings).map_err(failed)?;
    let common = configuration.complete(&arguments.common, &Command::Top { svg: None });
    let path = find_document::find(common.status.as_deref(), configuration.status.as_deref(), &surroundings);
    let mut file = DocumentFile::new(path.map_err(failed)?, surroundings.user);
    let status = file.read().map_err(failed)?;
    if picture.is_none() {
        surroundings.users = Users::later().map_err(|why| failed(why.into()))?;
    }
    let top = Top::new(&Arguments { command: None, common }, surroundings, status)?;
    let mut output = Output::default();
    if picture.is_some() {
        output.put(top.svg(), picture);
        return Ok(output);
    }
    let reader = Reader::start(file).map_err(|why| failed(why.into()))?;
    follow(top, reader).map_err(|why| failed(why.into()))?;
    Ok(output)
}

/// Follows the keys, the document and the clock.
fn follow(mut top: Top, mut reader: Reader) -> io::Result<()> {
    let mut screen = Screen::enter()?;
    let mut looked = Instant::now();
    loop {
        screen.draw(|frame| top.draw(frame))?;
        for event in screen.wait(TICK.saturating_sub(looked.elapsed()))? {
            match event {
                Event::Key(key) => match top.key(key) {
                    Next::Stay => {}
                    Next::Suspend => screen.suspend()?,
                    Next::Quit => return Ok(()),
                },
                Event::Signal(Signal::SIGTSTP) => screen.suspend()?,
                Event::Signal(signal) => return screen.die(signal),
            }
        }
        if looked.elapsed() >= TICK {
            looked = Instant::now();
            top.tick(Timestamp::now().as_second());
            if !top.is_paused() {
                reader.newest().into_iter().for_each(|read| top.document(read));
                top.reading(reader.hangs());
            }
        }
    }
}

/// The facts about a file that differ between two documents: inode, length and time of the last change.
type Version = (u64, u64, i64, i64);

/// The file with the document.
struct DocumentFile {
    source: Source,
    /// The reader.
    user: u32,
    /// The version that was read last. None if there was no file.
    read: Option<Version>,
}

impl DocumentFile {
    fn new(source: Source, user: u32) -> Self {
        Self { source, user, read: None }
    }

    /// Reads the document.
    fn read(&mut self) -> Result<Status, Failure> {
        // A file that is replaced after this line is read once more.
        self.read = self.version();
        find_document::read(&self.source, self.user)
    }

    /// Whether the file is another one than at the last read. A document on another host may always be.
    fn has_changed(&self) -> bool {
        matches!(self.source, Source::Exporter(_)) || self.version() != self.read
    }

    /// The time of the last change of the inode also tells of new permissions, unlike that of the content.
    fn version(&self) -> Option<Version> {
        let Source::File(path) = &self.source else { return None };
        let facts = fs::metadata(path).ok()?;
        Some((facts.ino(), facts.len(), facts.ctime(), facts.ctime_nsec()))
    }
}

/// The reader of a document.
struct Reader(Background<(), Option<Read>>);

/// A document, or the reason why it cannot be read.
type Read = Result<Status, Words>;

impl Reader {
    /// Starts the thread.
    fn start(mut file: DocumentFile) -> io::Result<Self> {
        let read = move |()| file.has_changed().then(|| file.read().map_err(Failure::reason));
        Ok(Self(Background::start(read)?))
    }

    /// The newest document, if it is another one than before. A read that hangs is not waited for.
    fn newest(&mut self) -> Option<Read> {
        if self.hangs().is_none() {
            self.0.ask(());
        }
        self.0.answer().flatten()
    }

    /// The time for which a read has not ended.
    fn hangs(&self) -> Option<Duration> {
        self.0.due()
    }
}
